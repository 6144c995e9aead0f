"""``rankscope cases copy``."""

from __future__ import annotations

from shlex import quote

import click

from rankscope.cli.options import QUIET, OutputName
from rankscope.cli.output import print_line, program


@click.command()
@click.argument("folder", type=OutputName(), default="hpo")
@QUIET
def copy(*, folder: str, quiet: bool) -> None:
    """Copy the bundled clinical phrases to FOLDER, with a config that searches HPO for them.

    English and German 200 each, French, Spanish and Dutch 50 each. They are modest: one author, no
    clinician. The ontology itself is not bundled: hp.obo comes from its own site.
    """
    from rankscope.benchmark.project import copy_cases

    copied = copy_cases(folder)
    if quiet:
        return
    place, name = quote(folder), program()
    print_line(f"Copied to {folder}: {', '.join(copied)}")
    print_line("Next, with hp.obo (https://purl.obolibrary.org/obo/hp.obo) in the same folder:")
    print_line(f"  {name} cases validate {place}/cases/german --ontology {place}/hp.obo")
    print_line(f"  {name} benchmark run {place}/hpo.yaml")
