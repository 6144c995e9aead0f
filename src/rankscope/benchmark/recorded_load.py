"""A load test in the record of an experiment: its report, pages and manifest are written again.

The experiment is put together anew beside its place, of its own files and the new ones, and put
there all at once, as a benchmark does. Before, every file is compared with the manifest: what was
changed in the meantime must not get a new hash, which would hide it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from rankscope.benchmark.basis import Benchmark
from rankscope.benchmark.drawn_pages import pages
from rankscope.benchmark.folders import (
    MANIFEST,
    REPORT,
    Unfinished,
    experiment_folders,
    file_ref,
    inside,
    unfinished,
)
from rankscope.errors import InputError, shown
from rankscope.files import replacing
from rankscope.part import FileRef
from rankscope.records import BenchmarkReport, ExperimentManifest
from rankscope.runs.load_record import LoadRecord
from rankscope.temporary import lock, unlock

_CHARTS = "charts/"
"""Where the pictures of pages are: some may be drawn no more."""


def experiment_of(benchmark: Benchmark, output: Path) -> Path | None:
    """Return the experiment of a benchmark, if it is there.

    It has the same id, unless a system has no stated snapshot: then ids differ from process to
    process, and it is the latest of the same config, collection and version of rankscope.
    """
    folder = output / benchmark.experiment
    if (folder / MANIFEST).is_file():
        return folder
    same = []
    for other in experiment_folders(output):
        try:
            manifest = ExperimentManifest.read(other / MANIFEST)
        except (InputError, OSError):
            continue
        if (
            manifest.config_sha256 == benchmark.loaded.sha256
            and manifest.collection == benchmark.collection.info
            and manifest.versions.get("rankscope") == benchmark.versions.get("rankscope")
        ):
            same.append((manifest.finished, other))
    return max(same)[1] if same else None


def check_unchanged(folder: Path) -> None:
    """Refuse an experiment to which nothing could be added, before something is measured for it.

    Raises:
        InputError: the experiment was changed since it was written.
    """
    _unchanged(folder)


def write_load(folder: Path, load: LoadRecord) -> None:
    """Write a load test into the record of an experiment; an earlier one of the system is replaced.

    Raises:
        InputError: the experiment was changed since it was written, or cannot be written.
    """
    handle = lock(folder.parent)  # two load tests at a time: the later one keeps the earlier
    try:
        manifest, report = _unchanged(folder)
        report = _with_load(report, load)
        with unfinished(folder.parent, folder.name) as filling:
            _fill(filling, folder, manifest, report)
    finally:
        unlock(handle)


def _unchanged(folder: Path) -> tuple[ExperimentManifest, BenchmarkReport]:
    """Read an experiment all of whose files are those of its manifest."""
    manifest = ExperimentManifest.read(folder / MANIFEST)
    for artifact in manifest.artifacts:
        try:
            same = file_ref(inside(folder, artifact.path), folder) == artifact
        except (OSError, InputError):
            same = False
        if not same:
            raise InputError(
                f"{folder}: {shown(artifact.path)} is not the file that its manifest describes, so "
                "nothing is added to this experiment; see 'rankscope benchmark verify', and run "
                "the benchmark again with --fresh"
            )
    return manifest, BenchmarkReport.read(inside(folder, REPORT))


def _with_load(report: BenchmarkReport, load: LoadRecord) -> BenchmarkReport:
    systems = [
        system.model_copy(update={"load": load}) if system.name == load.system else system
        for system in report.systems
    ]
    return report.model_copy(update={"systems": systems})


def _fill(
    filling: Unfinished, folder: Path, manifest: ExperimentManifest, report: BenchmarkReport
) -> None:
    """Put together an experiment: the old files but for the report and its pages, and these."""
    listed = {artifact.path for artifact in manifest.artifacts}
    drawn = {name for name in listed if name.startswith(_CHARTS)} | {REPORT}
    drawn |= {name for name in listed if name.endswith((".html", ".md"))}
    kept = [artifact for artifact in manifest.artifacts if artifact.path not in drawn]
    for artifact in kept:
        _take(inside(folder, artifact.path), filling.path(artifact.path))
    for path in folder.rglob("*"):  # the user's, which no manifest lists
        name = path.relative_to(folder).as_posix()
        is_ours = name in listed or name == MANIFEST
        if not is_ours and (path.is_file() or path.is_symlink()):
            shutil.copy2(path, filling.path(name), follow_symlinks=False)
    texts = {REPORT: report.to_json(), **pages(report, manifest, filling.folder)}
    for name, text in texts.items():
        _write(filling, name, text)
    new = [file_ref(filling.path(name), filling.folder) for name in texts]
    artifacts: list[FileRef] = sorted([*kept, *new], key=lambda artifact: Path(artifact.path))
    _write(filling, MANIFEST, manifest.model_copy(update={"artifacts": artifacts}).to_json())


def _take(source: Path, target: Path) -> None:
    """Give a file a second name, as it is never changed in its place; or else copy it."""
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def _write(filling: Unfinished, name: str, text: str) -> None:
    with replacing(filling.path(name)) as sink:
        sink.write(text.encode())
