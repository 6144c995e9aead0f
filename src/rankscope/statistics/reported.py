"""Means that another tool reports, side by side: the result files of MTEB.

Such a file holds means and no values of queries. So there is no interval and no test here, and it
is said. Both layouts are read: ``{"scores": {"test": [{"hf_subset": "en", "ndcg_at_10": …}]}}``,
and the older ``{"mteb_dataset_name": …, "test": {"ndcg_at_10": …}}``, where there may be a subset
between split and scores. A folder is all result files in it, such as those of one model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rankscope.document.views import Shown
from rankscope.errors import FormatError, InputError, RankscopeError, UnknownNameError, shown
from rankscope.files import PathLike, read_bytes, source_name, suffix_of
from rankscope.measures.language import Measure, parse_measures
from rankscope.part import Part
from rankscope.tables.collection_folder import CollectionFolder, parts_of
from rankscope.tables.jsontext import parse_json, read_json

_MAIN = "main_score"
_WORDS = (b'"mteb_version"', b'"mteb_dataset_name"', b'"task_name"')
_LARGEST = 1 << 26


class ReportedMean(Part):
    """One mean of one file."""

    run: str
    """The system, by its model or its file."""
    task: str
    """The data set."""
    split: str
    """Its split."""
    subset: str
    """Its subset; 'default' where there are none."""
    measure: str
    """The measure by its canonical name, or main_score."""
    value: float
    """Its mean, as reported."""


class ReportedMeans(Part, Shown):
    """Means of several systems that another tool reports: without intervals and tests."""

    runs: tuple[str, ...]
    """The systems."""
    baseline: str
    """What the others are compared with: that which was named, or the first."""
    measures: tuple[str, ...]
    """The measures that are shown."""
    means: tuple[ReportedMean, ...]
    """By system, task, split, subset and measure."""


def is_result_file(path: PathLike) -> bool:
    """Tell whether this is a result file of MTEB, or a folder with some, and no table."""
    place = Path(os.fspath(path))
    if os.path.isdir(place):
        try:
            is_collection = CollectionFolder.open(place) is not None
        except (InputError, OSError):  # it holds several, or may not be looked into
            return False
        return not is_collection and any(_is_result(file) for file in _files(place))
    return _is_result(place)


def _files(place: Path) -> list[Path]:
    return [Path(part) for part in parts_of(place) if suffix_of(part) == ".json"][:10_000]


def _is_result(path: Path) -> bool:
    """Tell by a few words of it, before it is parsed: it may be a large table."""
    if suffix_of(path) != ".json" or not os.path.isfile(path) or path.stat().st_size > _LARGEST:
        return False
    try:
        content = read_bytes(path)
        if not any(word in content for word in _WORDS):
            return False
        return bool(_sections(read_json(content, source=source_name(path))))
    except RankscopeError:
        return False


def _sections(data: Any) -> dict[str, Any]:
    """Return the scores by split; {} if this is no result file."""
    if not isinstance(data, Mapping):
        return {}
    scores = data.get("scores")
    if isinstance(scores, Mapping) and ("task_name" in data or "mteb_version" in data):
        return {split: rows for split, rows in scores.items() if isinstance(rows, list)}
    if "mteb_dataset_name" in data or "mteb_version" in data:
        return {str(key): rows for key, rows in data.items() if isinstance(rows, Mapping)}
    return {}


def compare_reported(
    paths: Sequence[PathLike],
    measures: Sequence[str | Measure] | None = None,
    *,
    baseline: str | None = None,
) -> ReportedMeans:
    """Put the means of result files, or of folders of them, side by side.

    Without ``measures`` the main score of each task is shown.

    Raises:
        InputError: a file is no result file of MTEB, lacks a measure, or no task is in all.
    """
    runs = _names(paths)
    if baseline is not None and baseline not in runs:
        raise UnknownNameError("run", baseline, runs)
    asked = [str(p.measure) for p in parse_measures(measures)] if measures else [_MAIN]
    means: list[ReportedMean] = []
    for run, path in zip(runs, paths, strict=True):
        of_run = [mean for mean in _means(run, Path(os.fspath(path))) if mean.measure in asked]
        missing = [name for name in asked if name not in {mean.measure for mean in of_run}]
        if missing:
            raise InputError(
                f"{source_name(path)}: no {' and no '.join(map(shown, missing))} among what it "
                "reports; name a measure that it has, such as nDCG@10"
            )
        means += of_run
    if not _shared(means, runs):
        tasks = sorted({mean.task for mean in means})
        raise InputError(f"no task is in all of them; there are {', '.join(map(shown, tasks[:8]))}")
    return ReportedMeans(
        runs=runs, baseline=baseline or runs[0], measures=tuple(asked), means=tuple(means)
    )


def _shared(means: Sequence[ReportedMean], runs: Sequence[str]) -> bool:
    by_task: dict[tuple[str, str, str], set[str]] = {}
    for mean in means:
        by_task.setdefault((mean.task, mean.split, mean.subset), set()).add(mean.run)
    return any(len(present) == len(runs) for present in by_task.values())


def _names(paths: Sequence[PathLike]) -> tuple[str, ...]:
    """Name systems by the model that MTEB writes beside its results, or by their files."""
    places = [Path(os.fspath(path)) for path in paths]
    models = [_model(place) for place in places]
    if all(models) and len(set(models)) == len(models):
        return tuple(models)
    stems = [place.name.removesuffix(".json") for place in places]
    if len(set(stems)) == len(stems):
        return tuple(stems)
    names = tuple(source_name(path) for path in paths)
    if len(set(names)) < len(names):
        raise InputError("two of the files are the same; name each once")
    return names


def _model(place: Path) -> str:
    home = place if place.is_dir() else place.parent
    described = next(iter(sorted(home.rglob("model_meta.json"))), None) if place.is_dir() else None
    described = described or home / "model_meta.json"
    try:
        text = described.read_text()
        return str(parse_json(text, source="").get("name") or "")
    except (OSError, UnicodeError, RankscopeError, AttributeError):
        return ""


def _means(run: str, place: Path) -> Iterator[ReportedMean]:
    files = [file for file in _files(place) if _is_result(file)] if place.is_dir() else [place]
    for file in files:
        source = source_name(file)
        data: Any = read_json(read_bytes(file), source=source)
        sections = _sections(data)
        if not sections:
            raise FormatError("is no result file of MTEB", source=source)
        task = str(data.get("task_name") or data.get("mteb_dataset_name") or file.stem)
        for split, rows in sections.items():
            for subset, scores in _scores(rows):
                for name, value in _values(scores):
                    yield ReportedMean(
                        run=run, task=task, split=split, subset=subset, measure=name, value=value
                    )


def _scores(rows: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the scores of each subset of a split, in either layout."""
    if isinstance(rows, list):
        for row in rows:
            if isinstance(row, Mapping):
                yield str(row.get("hf_subset", "default")), row
    elif any(isinstance(value, Mapping) for value in rows.values()):
        for subset, row in rows.items():
            if isinstance(row, Mapping):
                yield str(subset), row
    else:
        yield "default", rows


def _values(scores: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the means by our names; what is no measure of ours is left out."""
    seen: set[str] = set()
    has_main = _is_number(scores.get(_MAIN))
    for name, value in scores.items():
        if not _is_number(value):
            continue
        measure = name if name == _MAIN else _canonical(str(name))
        if measure and measure not in seen:
            seen.add(measure)
            yield measure, float(value)
            if (
                measure == "nDCG@10" and not has_main
            ):  # the main score of retrieval, if none is said
                yield _MAIN, float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _canonical(name: str) -> str:
    try:
        return str(Measure.parse(name)) if len(name) < 60 else ""
    except RankscopeError:
        return ""
