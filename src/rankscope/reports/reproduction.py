"""How to repeat a benchmark: commands for all of it and for every system, config, hashes, versions.

The page of a benchmark is drawn before its manifest is written: what only the manifest holds is
named then, and shown where it is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Block,
    Code,
    Section,
    Table,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.errors import RankscopeError
from rankscope.measures.language import Measure
from rankscope.records.table_names import ANNOTATIONS, ONTOLOGY, QRELS
from rankscope.scoring.rules import PROFILES

if TYPE_CHECKING:
    from rankscope.records.manifest import ExperimentManifest
    from rankscope.records.report import BenchmarkReport, SystemRecord

TITLE = "How to repeat it"

_MANIFEST = "ExperimentManifest.json"
_TAKE_CONFIG = (
    "python -c \"import json; print(json.dumps(json.load(open('DIR/ExperimentManifest.json', "
    "encoding='utf-8'))['config']))\" > config.yaml"
)


def reproduction_section(
    report: BenchmarkReport, *, manifest: ExperimentManifest | None = None
) -> Section:
    """Say how to repeat a benchmark; DIR is the folder of its page."""
    return Section(
        TITLE,
        details=(
            sentences(["DIR is the folder of this page; put its path in the place of DIR."]),
            *_checked(),
            *_run_again(manifest),
            *_numbers_again(report),
            *_config(manifest),
            _hashes(report),
            *_surroundings(report, manifest),
        ),
        part="method",
        finding="Commands that make it again, the config, hashes and versions.",
    )


def command_of(report: BenchmarkReport, system: SystemRecord, measures: Sequence[str]) -> str:
    """Return the command that computes means of a system again, from the files in the folder."""
    path = f"DIR/{system.run.file.path}"
    run = f"run={path}" if "=" in path else path  # or it would be taken for a name
    words = ["rankscope", "evaluate", f"DIR/{QRELS}", run]
    for measure in measures:
        words += ["-m", _as_asked(report, system, measure)]
    if report.profile != "rankscope":
        words += ["--profile", report.profile]
    ontology = report.collection.ontology
    if ontology is not None and any(map(_is_soft, measures)):
        words += ["--ontology", f"DIR/{ONTOLOGY}"]
        words += ["--annotations", f"DIR/{ANNOTATIONS}"] if ontology.annotations_sha256 else []
    return " ".join(map(quote, words))


def _is_soft(measure: str) -> bool:
    try:
        return Measure.parse(measure).is_soft
    except RankscopeError:
        return False


def _as_asked(report: BenchmarkReport, system: SystemRecord, measure: str) -> str:
    """Return the name that the profile turns into this measure.

    A profile may read a name as another measure; its own name might be read so once more.
    """
    rules = PROFILES.get(report.profile)
    asked = next((value.asked for value in system.measures if value.measure == measure), measure)
    try:
        if rules is None or str(rules.meaning(Measure.parse(measure))) == measure:
            return measure
        Measure.parse(asked)
    except RankscopeError:
        return measure
    return asked


# --- blocks --------------------------------------------------------------------------------------


def _checked() -> Iterator[Block]:
    text = "Check that files are those of the manifest, and that scores follow from the runs:"
    yield sentences([text])
    yield Code("rankscope benchmark verify DIR", "sh")


def _run_again(manifest: ExperimentManifest | None) -> Iterator[Block]:
    """Say how everything is made anew, the runs included."""
    if manifest is None:
        text = (
            "Make all of it anew, runs included, with the config that "
            f"{_MANIFEST} holds; paths in it start from the folder of the original config:"
        )
        yield sentences([text])
        yield Code(_TAKE_CONFIG, "sh")
        yield Code("rankscope benchmark run config.yaml --fresh", "sh")
        return
    changes = "".join(
        f" --set {quote(f'{key}={json.dumps(value, ensure_ascii=False)}')}"
        for key, value in manifest.overrides.items()
    )
    text = "Make all of it anew, runs included; CONFIG is the file with the config:"
    yield sentences([text])
    yield Code(f"rankscope benchmark run CONFIG{changes} --fresh", "sh")


def _numbers_again(report: BenchmarkReport) -> Iterator[Block]:
    scored = [system for system in report.systems if system.measures]
    if not scored:
        return
    yield sentences(
        [("Compute the means of a system again, from its run; --format json prints every digit:")]
    )
    for system in scored:
        yield Code(command_of(report, system, [value.measure for value in system.measures]), "sh")
    if cautions := list(_cautions(report)):
        yield sentences(cautions, listed=True)


def _cautions(report: BenchmarkReport) -> Iterator[str]:
    """Say where these commands may print something else than the report."""
    if any(value.interval for system in report.systems for value in system.measures):
        yield (
            "intervals are made with the seed and the method of the config, and may differ from "
            "what evaluate prints in their last digits"
        )
    if report.rules.get("queries", "all") != "all":
        yield (
            "a query that was answered with no document is in the mean of the report, as 0; a run "
            f"file has no line for it, and under the rules of {report.profile} evaluate takes it "
            "for missing"
        )
    lost = [system.name for system in report.systems if not system.measures]
    if lost:
        yield f"there is no number to repeat for {', '.join(lost)}"


def _config(manifest: ExperimentManifest | None) -> Iterator[Block]:
    if manifest is not None:
        yield sentences(["The config, with what was overridden; secrets are names of variables:"])
        yield Code(json.dumps(manifest.config, indent=2, ensure_ascii=False), "json")


def _hashes(report: BenchmarkReport) -> Table:
    """Give what was searched, asked, judged and answered by content."""
    collection = report.collection
    rows = [
        ("corpus", collection.corpus_sha256),
        ("queries", collection.queries_sha256),
        ("judgments", collection.qrels_sha256),
        ("ontology", collection.ontology and collection.ontology.sha256),
        ("annotations", collection.ontology and collection.ontology.annotations_sha256),
        ("chunks", collection.chunks_sha256),
        ("decisions", collection.decisions_sha256),
        ("ratings", collection.ratings_sha256),
        *((f"run of {system.name}", system.run.run_id) for system in report.systems),
    ]
    shown = [(name, digest) for name, digest in rows if digest]
    return Table(
        text_columns("what", "SHA-256 of its content"), plain_rows(shown), title="By content"
    )


def _surroundings(report: BenchmarkReport, manifest: ExperimentManifest | None) -> Iterator[Block]:
    """Give versions, git state, seed and machine."""
    if manifest is None:
        seed = (
            "" if report.comparison is None else f" The seed is {report.comparison.settings.seed}."
        )
        text = (
            f"{_MANIFEST} in the same folder holds the config, the versions of all packages, the "
            "models, the state of git and the machine; BenchmarkReport.json holds every number of "
            f"this page.{seed}"
        )
        yield sentences([text])
        return
    machine = manifest.machine
    memory = "" if machine.memory is None else f", {machine.memory / 2**30:.1f} GiB"
    rows = [
        ("experiment", manifest.experiment),
        ("config", manifest.config_sha256),
        ("seed", str(manifest.seed)),
        ("git", _git(manifest)),
        (
            "machine",
            f"{machine.system} {machine.release}, {machine.machine}, {machine.cores} cores{memory}",
        ),
        *manifest.versions.items(),
    ]
    yield Table(text_columns("", ""), plain_rows(rows), title="Where it ran")


def _git(manifest: ExperimentManifest) -> str:
    state = manifest.git
    if state is None:
        return "the config is in no repository"
    changed = {True: ", with changes", False: "", None: ", perhaps with changes"}[state.dirty]
    return f"{state.commit}{changed}"
