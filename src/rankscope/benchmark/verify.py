"""Verify: is an experiment what its manifest says, and does what is recorded follow from its runs?

Every file is hashed, and everything that is computed is computed again (by `replay`): values by
query, means, intervals, tests, verdict, analyses, findings and pages. What only the systems know,
such as their answers, cannot be: for that, the manifest has a digest to be kept elsewhere. How long
they took is no part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import rankscope
from rankscope.benchmark.config.loading import config_hash
from rankscope.benchmark.differences import Difference, differences
from rankscope.benchmark.drawn_pages import pages
from rankscope.benchmark.experiment import report_file
from rankscope.benchmark.folders import LANGUAGE_REPORT, MANIFEST, REPORT, file_ref, inside
from rankscope.benchmark.replay import OtherRunError, Recorded, Replay, replay
from rankscope.document.views import Shown
from rankscope.errors import InputError, RankscopeError, counted, shown
from rankscope.files import read_bytes
from rankscope.part import FileRef, Part, Record, left_out
from rankscope.records.manifest import ExperimentManifest
from rankscope.records.report import BenchmarkReport, ExperimentTimings
from rankscope.records.table_names import TIMINGS
from rankscope.reports.explorer.packing import without_compression

EXACT = 1e-12
"""Values by query that differ by more are not the same."""


class Checked(Part):
    """One thing that was looked at."""

    what: str
    """What it is: a file, or what it should agree with."""
    problem: str = ""
    """What is wrong with it; '' if nothing."""
    unchecked: str | None = left_out()
    """Why it could not be looked at, where it could not."""


class Verification(Part, Shown):
    """All that was looked at."""

    experiment: str
    """The experiment's id."""
    folder: str
    """Where it is."""
    digest: str
    """The SHA-256 of its manifest, which holds those of all other files."""
    ok: bool
    """Whether everything holds that could be looked at."""
    checks: tuple[Checked, ...]
    """Everything that was looked at."""


def open_experiment(folder: Path) -> tuple[ExperimentManifest, BenchmarkReport]:
    """Read an experiment's manifest and report."""
    if not (folder / MANIFEST).is_file() and (folder / LANGUAGE_REPORT).is_file():
        raise InputError(
            f"{folder}: this is the table of several languages; name the folder of one of them, "
            "which are beside it"
        )
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"{folder}: not an experiment, {MANIFEST} is missing; name a folder that "
            "'rankscope benchmark run' wrote"
        )
    return ExperimentManifest.read(folder / MANIFEST), BenchmarkReport.read(folder / REPORT)


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of an experiment's manifest."""
    return hashlib.sha256(read_bytes(folder / MANIFEST)).hexdigest()


def verify(folder: Path, *, corpus: Path | None = None, digest: str = "") -> Verification:
    """Compute every hash and everything that follows from the runs again.

    ``corpus`` is the file that was searched: with it titles are checked, too. ``digest`` is that
    of the manifest as `benchmark run` printed it, or its beginning.

    Raises:
        InputError: this is no experiment, or another version of rankscope made it.
    """
    manifest, report = open_experiment(folder)
    version = manifest.versions.get("rankscope")
    if version != rankscope.__version__:
        raise InputError(
            f"{folder}: rankscope {shown(version)} made this experiment, and this is "
            f"{rankscope.__version__}, which may compute something differently; verify it with the "
            "version that made it"
        )
    recorded = Recorded(folder, manifest, report)
    current = digest_of(folder)
    checks = (
        *_files(folder, manifest),
        *_digest(current, digest),
        *_contents(recorded, corpus),
    )
    return Verification(
        experiment=manifest.experiment,
        folder=str(folder),
        digest=current,
        ok=not any(check.problem for check in checks),
        checks=checks,
    )


def _digest(current: str, expected: str) -> Iterator[Checked]:
    if expected:
        same = current.startswith(expected.lower())
        problem = f"has the digest {current}, and {expected} was expected"
        yield Checked(what=MANIFEST, problem="" if same else problem)


# --- files ---------------------------------------------------------------------------------------


def _files(folder: Path, manifest: ExperimentManifest) -> Iterator[Checked]:
    artifacts = [*manifest.artifacts]
    if (folder / TIMINGS).is_file():
        artifacts += ExperimentTimings.read(folder / TIMINGS).pages
    else:
        yield Checked(what=TIMINGS, problem="is missing")
    for artifact in artifacts:
        yield Checked(what=artifact.path, problem=_file_problem(folder, artifact))
    listed = {artifact.path for artifact in artifacts} | {MANIFEST, TIMINGS}
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name in sorted(names - listed):
        yield Checked(what=name, problem="is not in the manifest: it was added later")
    yield Checked(what="config", problem=_config_problem(manifest))


def _config_problem(manifest: ExperimentManifest) -> str:
    try:
        same = config_hash(manifest.config) == manifest.config_sha256
    except ValueError:  # infinite numbers and broken text, which are never written
        same = False
    return "" if same else "its hash differs from the one recorded: the manifest was changed"


def _file_problem(folder: Path, recorded: FileRef) -> str:
    try:
        current = file_ref(inside(folder, recorded.path), folder)
    except FileNotFoundError:
        return "is missing"
    except (OSError, ValueError, RankscopeError) as error:
        return f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return "" if current == recorded else "was changed: its hash differs from the one recorded"


# --- what is computed ----------------------------------------------------------------------------


def _contents(recorded: Recorded, corpus: Path | None) -> Iterator[Checked]:
    """Make the experiment again, and compare everything."""
    try:
        replayed = replay(recorded, corpus)
    except OtherRunError as error:
        yield Checked(what=f"run of {error}", problem="is not the one that was scored")
        return
    except Exception as error:  # the folder may hold anything
        sentence = " ".join(str(error).split())
        yield Checked(what="what is computed", problem=f"cannot be computed again ({sentence})")
        return
    comparing = _Comparing(recorded, replayed)
    for checks in (comparing.tables(), comparing.reports(), comparing.pages()):
        yield from checks
    if replayed.taken_over:
        yield Checked(
            what=f"analyses {', '.join(replayed.taken_over)}",
            unchecked="they looked at the corpus or at training questions, which are not in the "
            "folder; name the corpus with --corpus",
        )
    if replayed.out_of_reach:
        codes = ", ".join(sorted(replayed.out_of_reach))
        yield Checked(
            what=f"titles, size and hash of the corpus, findings {codes}",
            unchecked="the corpus was not given; name its file with --corpus",
        )


class _Comparing:
    """Compares an experiment that was made again with what is recorded."""

    def __init__(self, recorded: Recorded, replayed: Replay) -> None:
        self._recorded = recorded
        self._experiment = replayed.experiment
        self._out_of_reach = replayed.out_of_reach

    def tables(self) -> Iterator[Checked]:
        """Compare questions, judgments, values by query and results."""
        for name, table in self._experiment.tables():
            yield Checked(what=f"{name}, its content", problem=self._table_problem(name, table))

    def _table_problem(self, name: str, table: pl.DataFrame) -> str:
        try:
            recorded = self._recorded.table(name)
        except Exception as error:  # likewise
            return f"cannot be read ({error})"
        if recorded.columns != table.columns:
            return f"has the columns {', '.join(recorded.columns)}"
        if len(recorded) != len(table):
            return f"has {counted(len(recorded), 'row')}, and {len(table):,} follow from the runs"
        apart = [column for column in table.columns if not _same(recorded[column], table[column])]
        if not apart:
            return ""
        return f"is not what follows from the runs: {', '.join(apart)}"

    def reports(self) -> Iterator[Checked]:
        """Compare the records, field by field."""
        recorded = self._recorded
        files = {artifact.path: artifact for artifact in recorded.manifest.artifacts}
        report, evaluations = self._experiment.reports(
            lambda name: files.get(name, FileRef(path=name, sha256="", bytes=0)),
            created=recorded.report.created,
        )
        for name, evaluation in evaluations.items():
            apart = self._differences(recorded.evaluation(name), evaluation)
            yield self._checked(f"{report_file(name)}, its content", apart)
        of_report = self._differences(recorded.report, report)
        for field in report.to_dict():
            within = [apart for apart in of_report if apart.keys[0] == field]
            yield self._checked(f"{REPORT}: {field}", within)
        manifest = self._experiment.manifest(
            report,
            models=recorded.manifest.models,
            git=recorded.manifest.git,
            machine=recorded.manifest.machine,
            artifacts=recorded.manifest.artifacts,
        )
        apart = self._differences(recorded.manifest, manifest)
        yield self._checked(f"{MANIFEST}, its content", apart)
        yield from self._identities()

    def _identities(self) -> Iterator[Checked]:
        """Compare ids, which are hashes of what is recorded."""
        manifest, benchmark = self._recorded.manifest, self._experiment.benchmark
        computed = benchmark.experiment
        problem = f"is {manifest.experiment}, and {computed} follows from what is recorded"
        same = manifest.experiment == computed
        yield Checked(what="id of the experiment", problem="" if same else problem)
        for name, described in benchmark.systems.items():
            # the key of a system that asks others changes with these when they get the corpus
            if name in manifest.keys and not described.asks_others:
                yield self._identity(name, manifest.keys[name])

    def _identity(self, name: str, key: str) -> Checked:
        """Compare a system with its key, which was made before it was given the corpus."""
        what = f"identity of {name}"
        system = next(each for each in self._recorded.report.systems if each.name == name)
        if "${" in str(system.spec):
            return Checked(
                what=what, unchecked="it has values of the environment, which are not recorded"
            )
        identity = system.run.identity
        before = identity.model_copy(update={"snapshot": None})
        same = key in (identity.key, before.key)
        return Checked(what=what, problem="" if same else "is not what its key is the hash of")

    def pages(self) -> Iterator[Checked]:
        """Draw the pages of the report again."""
        try:
            recorded = self._recorded
            drawn = pages(recorded.report, recorded.manifest, recorded.folder)
        except Exception:  # a record may have the right form and fit together nowhere
            yield Checked(what=f"{REPORT}, its pages", problem="cannot be drawn from what it says")
            return
        for name, text in drawn.items():
            try:
                there = read_bytes(inside(self._recorded.folder, name)).decode("utf-8", "replace")
                same = there == text or without_compression(there) == without_compression(text)
            except (OSError, RankscopeError) as error:
                yield Checked(what=f"{name}, its content", problem=f"cannot be read ({error})")
                continue
            apart = [] if same else [Difference((), f"it does not show what {REPORT} says")]
            yield self._checked(f"{name}, its content", apart)

    @staticmethod
    def _differences(recorded: Record, again: Record) -> list[Difference]:
        plain = (_without_files(json.loads(record.to_json())) for record in (recorded, again))
        return list(differences(*plain))

    def _checked(self, what: str, apart: list[Difference]) -> Checked:
        """Say where a record differs."""
        if not apart:
            return Checked(what=what)
        more = f", and {counted(len(apart) - 1, 'more difference')}" if len(apart) > 1 else ""
        sentence = f"{apart[0].sentence}{more}"
        return Checked(what=what, problem=sentence)


_ELSEWHERE = ("source", "line")
"""What a place of a finding says of files that are not in the folder."""


def _without_files(data: Any, *, is_place: bool = False) -> Any:
    """Leave out in which files and lines findings are."""
    if isinstance(data, list):
        return [_without_files(entry, is_place=is_place) for entry in data]
    if not isinstance(data, dict):
        return data
    return {
        key: _without_files(value, is_place=key == "places" and "severity" in data)
        for key, value in data.items()
        if not (is_place and key in _ELSEWHERE)
    }


def _same(recorded: pl.Series, again: pl.Series) -> bool:
    """Tell whether two columns hold the same; numbers, up to the order of additions."""
    if recorded.dtype != again.dtype:
        return False
    if not recorded.dtype.is_float():
        return recorded.equals(again, null_equal=True)
    if not (recorded.is_null() == again.is_null()).all():
        return False
    return not ((recorded - again).abs() > EXACT * (1 + again.abs())).any()
