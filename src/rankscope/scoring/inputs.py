"""Qrels and runs as users give them: tables, plain dicts, frames, paths; one or several."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, cast

from rankscope.errors import InputError, shown
from rankscope.scoring.judgments import Judgments

__all__ = ["as_judgments", "as_one_run", "as_runs", "has_identical", "without_identical"]

_FRAME = "__arrow_c_stream__"


def _is_path(data: object) -> bool:
    return isinstance(data, str | os.PathLike)


def _is_plain(data: object) -> bool:
    """Tell whether data is ``{text: {text: number}}`` and can be used without being copied.

    One key and one value of each query are looked at, not all.
    """
    if not isinstance(data, Mapping):
        return False
    for query_id in data:
        documents = data[query_id]
        if type(documents) is not dict and not isinstance(documents, Mapping):
            return False
        if type(query_id) is not str and not isinstance(query_id, str):
            return False
        for doc_id in islice(documents, 1):
            if not isinstance(doc_id, str) or isinstance(documents[doc_id], Mapping):
                return False
    return True


def as_judgments(qrels: object) -> Judgments:
    """Take qrels in any form."""
    if isinstance(qrels, Judgments):
        return qrels
    if _is_plain(qrels):
        return Judgments(cast("Mapping[str, Mapping[str, float]]", qrels))
    from rankscope.collection.qrels import Qrels, read_qrels  # noqa: PLC0415

    if _is_path(qrels):
        return Judgments(read_qrels(cast("str", qrels)))
    return Judgments(qrels if isinstance(qrels, Qrels) else Qrels(qrels))


def as_run(run: object, name: str) -> Any:
    """Take one run in any form; plain dicts stay as they are."""
    if _is_plain(run):
        return run
    from rankscope.runs.table import Run, read_run  # noqa: PLC0415

    if _is_path(run):
        return read_run(cast("str", run))
    return run if isinstance(run, Run) else Run(run, name=name)


def _holds_runs(runs: Mapping[Any, Any]) -> bool:
    """Tell ``{name: run}`` from a run ``{query_id: {doc_id: score}}``."""
    for name in runs:
        value = runs[name]
        if isinstance(value, Mapping):
            for key in value:
                return isinstance(value[key], Mapping | list | tuple)
            continue  # an empty query says nothing
        return _is_path(value) or hasattr(value, "query_ids") or hasattr(value, _FRAME)
    return False


def as_runs(runs: object) -> tuple[dict[str, Any], bool]:
    """Take one run or several, in any form; also tell whether it was a single one."""
    if isinstance(runs, Mapping) and _holds_runs(runs):
        return {str(name): as_run(run, str(name)) for name, run in runs.items()}, False
    if isinstance(runs, list | tuple) and _lists_runs(runs):
        return _named([as_run(run, f"run{n}") for n, run in enumerate(runs, start=1)], runs), False
    run = as_run(runs, "run")
    return {getattr(run, "name", "run"): run}, True


def as_one_run(run: object) -> tuple[str, Any]:
    """Take exactly one run, in any form; return its name and itself."""
    named, _ = as_runs(run)
    if len(named) != 1:
        raise InputError(f"one run was expected, not {len(named)}; call this once for each")
    return next(iter(named.items()))


def _lists_runs(runs: Sequence[Any]) -> bool:
    """Tell a list of runs from a list of rows."""
    if not runs:
        raise InputError("there is no run in an empty list; give a run, or several by name")
    first = runs[0]
    if isinstance(first, Mapping):
        return all(isinstance(documents, Mapping | list) for documents in first.values())
    return _is_path(first) or hasattr(first, "query_ids") or hasattr(first, _FRAME)


def _named(taken: list[Any], given: Sequence[Any]) -> dict[str, Any]:
    """Name runs by their tags, or by their files where tags are the same."""
    names = [getattr(run, "name", f"run{n}") for n, run in enumerate(taken, start=1)]
    if len(set(names)) < len(names):
        names = [
            os.path.basename(os.fspath(source)).split(".")[0] if _is_path(source) else name
            for name, source in zip(names, given, strict=True)
        ]
    if len(set(names)) < len(names):
        names = [
            os.fspath(source) if _is_path(source) else f"{name}-{n}"
            for n, (name, source) in enumerate(zip(names, given, strict=True), start=1)
        ]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two runs are called {shown(twice)}; name them: {{name: run, …}}")
    return dict(zip(names, taken, strict=True))


def has_identical(run: Any) -> bool:
    """Tell whether a document has the id of its own query."""
    if isinstance(run, Mapping):
        return any(query_id in run[query_id] for query_id in run)
    rows = run.to_polars()
    return bool((rows["query_id"] == rows["doc_id"]).any())


def without_identical(run: Any) -> Any:
    """Return a run without documents that have the id of their own query."""
    if not has_identical(run):
        return run
    plain = run if isinstance(run, Mapping) else run.to_dict()
    return {
        query_id: {doc_id: score for doc_id, score in plain[query_id].items() if doc_id != query_id}
        for query_id in plain
    }
