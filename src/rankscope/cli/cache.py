"""``rankscope cache list``, ``prune`` and ``verify``."""

from __future__ import annotations

from pathlib import Path

import click

from rankscope.cli.options import TARGET, format_option
from rankscope.cli.output import emit

_FOLDER = click.argument(
    "folder", type=click.Path(path_type=Path), metavar="DIR", default="benchmarks"
)


@click.command(name="list")
@_FOLDER
@format_option()
@TARGET
def list_(*, folder: Path, format: str, target: str | None) -> None:
    """Show what a cache holds, by kind, with sizes.

    DIR is the folder that 'benchmark run' wrote to, or a cache itself.
    """
    from rankscope.retrieval.kept_entries import cache_contents, cache_folder

    emit(cache_contents(cache_folder(folder)), format=format, target=target)


@click.command()
@_FOLDER
@click.option(
    "--max-size",
    "size",
    metavar="SIZE",
    help="Remove until the rest fits, such as 5GB; what was not used for the longest time first.",
)
@click.option(
    "--unused",
    type=click.FloatRange(0),
    metavar="DAYS",
    help="Remove what was not used for so many days.",
)
@click.option("--all", "everything", is_flag=True, help="Remove everything.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@format_option()
@TARGET
def prune(
    *,
    folder: Path,
    size: str | None,
    unused: float | None,
    everything: bool,
    dry_run: bool,
    format: str,
    target: str | None,
) -> None:
    """Remove entries from a cache; all of them can be made again.

    DIR is the folder that 'benchmark run' wrote to, or a cache itself. Experiments are not touched.
    """
    from rankscope.files import size_in_bytes
    from rankscope.retrieval.kept_entries import cache_folder
    from rankscope.retrieval.kept_entries import prune as prune_cache

    if size is None and unused is None and not everything:
        raise click.UsageError("say what to remove: --max-size 5GB, --unused 30 or --all")
    most = 0 if everything else None if size is None else size_in_bytes(size, "--max-size")
    pruned = prune_cache(cache_folder(folder), max_bytes=most, unused_days=unused, dry_run=dry_run)
    emit(pruned, format=format, target=target)


@click.command()
@_FOLDER
@click.option("--remove", is_flag=True, help="Remove what cannot be used.")
@format_option()
@TARGET
def verify(*, folder: Path, remove: bool, format: str, target: str | None) -> int:
    """Read every entry of a cache: is it whole, and under its own key?

    DIR is the folder that 'benchmark run' wrote to, or a cache itself. Exit 1 if one is not. Such
    an entry does no harm: it counts as absent.
    """
    from rankscope.cli import ANSWER_IS_NO
    from rankscope.retrieval.kept_entries import cache_folder, check_cache

    check = check_cache(cache_folder(folder), remove=remove)
    emit(check, format=format, target=target)
    return 0 if check.ok else ANSWER_IS_NO
