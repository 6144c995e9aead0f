"""Into MLflow: metrics with the ends of their intervals, params, the report and the record.

``log`` takes what `evaluate`, `compare`, `gate`, `evaluate_retriever` and `run_benchmark` return.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import singledispatch
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rankscope
from rankscope.benchmark.run import Result
from rankscope.document.blocks import Column, Document, Table, plain_rows
from rankscope.document.csv_text import as_csv
from rankscope.document.pages import page
from rankscope.document.views import document_of
from rankscope.errors import InputError, MissingExtraError
from rankscope.integrations.metrics import metrics_of
from rankscope.retrieval.golden import RetrieverScores
from rankscope.scoring.scores import Scores
from rankscope.statistics.compare import Comparison
from rankscope.statistics.gate import GateResult
from rankscope.tables.parquet import parquet_frame

if TYPE_CHECKING:
    from rankscope.document.blocks import Value

LONGEST_PARAM = 1_000
"""Longer params are cut; MLflow refuses some lengths."""

LONGEST_NAME = 200
"""Longer names of metrics are cut, as MLflow takes 250 characters."""

LONGEST_REASON = 200
"""Longer messages of MLflow are cut; the whole is in the exception that led to ours."""


def log(
    result: object,
    *,
    name: str | None = None,
    project: str | None = None,
    prefix: str = "",
    params: Mapping[str, object] | None = None,
    step: int | None = None,
) -> str:
    """Log a result into the active run, or else into a new one; return the id of that run.

    A new run is called ``name`` and belongs to the experiment ``project``. ``prefix`` is put before
    all names, to log several results into one run; ``params`` are logged beside what the result
    itself says; ``step`` is that of the metrics.

    Raises:
        InputError: MLflow does not take the result, or a run is active and a new one is named.
        MissingExtraError: MLflow, or what its store needs, is not installed.
    """
    try:
        mlflow = import_module("mlflow")
    except ModuleNotFoundError as error:
        if error.name != "mlflow":
            raise
        raise MissingExtraError("mlflow", needed_for="logging to MLflow", extra="mlflow") from None
    _check_store(mlflow)
    active = mlflow.active_run()
    if active is not None and (name is not None or project is not None):
        raise InputError(
            "a run is active already, so name and project would change nothing; leave them out, or "
            "end that run first"
        )
    facts = facts_of(result)
    start = f"{prefix}/" if prefix else ""
    metrics = {f"{start}{key}": value for key, value in metrics_of(result).items()}
    known = {"rankscope.version": rankscope.__version__, **facts.params, **(params or {})}
    texts = {f"{start}{key}": str(value)[:LONGEST_PARAM]
             for key, value in known.items() if value is not None}  # fmt: skip
    place = f"rankscope/{_plain_name(prefix)}" if prefix else "rankscope"
    try:
        with nullcontext(active) if active is not None else _new_run(mlflow, name, project) as run:
            mlflow.log_metrics(_renamed(metrics), step=step)
            mlflow.log_params(_renamed(texts))
            with tempfile.TemporaryDirectory(prefix="rankscope-") as folder:
                for file, text in facts.files.items():
                    path = Path(folder) / file
                    path.write_text(text, encoding="utf-8", errors="backslashreplace")
                mlflow.log_artifacts(folder, artifact_path=place)
            return str(run.info.run_id)
    except Exception as error:  # MLflow's own, which may be of any class
        reason = " ".join(str(error).split())[:LONGEST_REASON] or type(error).__name__
        raise InputError(
            f"MLflow did not take the result: {reason}; check MLFLOW_TRACKING_URI, and that its "
            "server or file can be written"
        ) from error


def _new_run(mlflow: Any, name: str | None, project: str | None) -> Any:
    experiment = None
    if project is not None:  # set_experiment would change it for all that follows
        known = mlflow.get_experiment_by_name(project)
        experiment = mlflow.create_experiment(project) if known is None else known.experiment_id
    return mlflow.start_run(run_name=name, experiment_id=experiment)


def _check_store(mlflow: Any) -> None:
    """Refuse a database without the packages that MLflow's small package leaves out."""
    scheme = mlflow.get_tracking_uri().partition(":")[0].partition("+")[0]
    if scheme in ("mssql", "mysql", "postgresql", "sqlite"):  # sqlite is its default
        for package in ("sqlalchemy", "alembic"):
            if find_spec(package) is None:
                raise MissingExtraError(
                    package, needed_for=f"MLflow's store ({scheme})", extra="mlflow"
                )


# --- what there is to log ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Facts:
    """What is logged of a result beside its metrics."""

    params: Mapping[str, object]
    """What was measured, on what."""
    files: dict[str, str] = field(default_factory=dict)
    """By name: the report, the record and the values by query, where the result has them."""


@singledispatch
def facts_of(result: object) -> Facts:
    """Return what is logged of a result beside its metrics."""
    raise TypeError(f"a {type(result).__name__} cannot be logged")


def _score_files(scores: Scores, texts: Mapping[str, str] | None) -> dict[str, str]:
    """Return the files of scores, with a row for each run and query."""
    rows = (
        (run, query_id, *([] if texts is None else [texts.get(query_id)]), *values)
        for run in scores.runs
        for query_id, values in zip(
            scores.run(run).query_ids, scores.run(run).values.T.tolist(), strict=True
        )
    )
    titles = ["run", "query_id", *([] if texts is None else ["text"]), *scores.measures]
    return {
        "report.html": page(document_of(scores)),
        "record.json": scores.record().to_json(),
        "per_query.csv": _csv(titles, rows),
    }


def _csv(titles: Iterable[str], rows: Iterable[Iterable[Value]]) -> str:
    table = Table(tuple(map(Column, titles)), plain_rows(tuple(row) for row in rows))
    return as_csv(Document("per_query", (), data=lambda: table))


def _score_params(scores: Scores) -> dict[str, object]:
    return {
        "measures": ", ".join(scores.measures),
        "runs": ", ".join(scores.runs),
        "profile": scores.profile.name,
        "qrels_sha256": scores.record(per_query=False).qrels.sha256,
    }


@facts_of.register
def _of_scores(scores: Scores) -> Facts:
    return Facts(_score_params(scores), _score_files(scores, None))


@facts_of.register
def _of_retriever(scores: RetrieverScores) -> Facts:
    return Facts({**_score_params(scores), "k": scores.k}, _score_files(scores, scores.texts))


@facts_of.register
def _of_comparison(comparison: Comparison) -> Facts:
    return Facts(
        {
            "measures": ", ".join(comparison.measures),
            "runs": ", ".join(comparison.runs),
            "baseline": comparison.baseline,
            "profile": comparison.profile,
            "test": comparison.family,
            "seed": comparison.settings.seed,
        },
        {"report.html": page(document_of(comparison)), "record.json": comparison.to_json()},
    )


@facts_of.register
def _of_gate(result: GateResult) -> Facts:
    return Facts(
        {
            "measures": ", ".join(check.measure for check in result.checks),
            "baseline": result.baseline,
            "candidate": result.candidate,
            "answer": result.answer,
            "max_drop": result.max_drop,
            "profile": result.profile,
            "qrels_sha256": result.qrels.sha256,
            "seed": result.test.seed,
        },
        {"report.html": page(document_of(result)), "record.json": result.to_json()},
    )


@facts_of.register
def _of_benchmark(result: Result) -> Facts:
    report = result.report
    measures = [info.measure for info in report.measures]
    return Facts(
        {
            "benchmark": report.name,
            "experiment": report.experiment,
            "collection": report.collection.name,
            "split": report.collection.split,
            "measures": ", ".join(measures),
            "systems": ", ".join(system.name for system in report.systems),
            "baseline": report.baseline,
            "depth": report.depth,
            "profile": report.profile,
            "qrels_sha256": report.collection.qrels_sha256,
        },
        {
            "report.html": (result.folder / "BenchmarkReport.html").read_text("utf-8"),
            "record.json": report.to_json(),
            "per_query.csv": _csv(["run", "query_id", *measures], _system_values(result, measures)),
        },
    )


def _system_values(result: Result, measures: list[str]) -> list[tuple[Value, ...]]:
    """Return the values of all systems by query, from the files of the experiment."""
    rows: list[tuple[Value, ...]] = []
    for system in result.report.systems:
        values: dict[str, dict[str, float]] = {}
        path = str(result.folder / system.per_query.path)
        frame = parquet_frame(path, source=path)
        for query_id, measure, value in frame.select("query_id", "measure", "value").iter_rows():
            values.setdefault(query_id, {})[measure] = value
        rows += [
            (system.name, query_id, *map(by_measure.get, measures))
            for query_id, by_measure in values.items()
        ]
    return rows


# --- names ---------------------------------------------------------------------------------------


def _renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    names = mlflow_names(values)
    return {names[key]: value for key, value in values.items()}


def mlflow_names(names: Iterable[str]) -> dict[str, str]:
    """Return for each name the one that MLflow gets; no two are the same.

    MLflow takes letters, digits and ``_-. /``, in names that are clean paths: ``nDCG@10`` becomes
    ``nDCG_at_10``, any other sign an underscore or nothing. Names that would then
    be the same, and those that are cut, end with a hash of the whole name.

    >>> mlflow_names(["nDCG@10.low", "a+b/AP", "a*b/AP"])
    {'nDCG@10.low': 'nDCG_at_10.low', 'a+b/AP': 'a_b/AP-b24155bb', 'a*b/AP': 'a_b/AP-b84d1875'}
    """
    plain = {name: _plain_name(name) for name in names}
    times = Counter(text.casefold() for text in plain.values())
    return {
        name: f"{text[:LONGEST_NAME].rstrip('/')}-{_hash(name)}"
        if times[text.casefold()] > 1 or len(text) > LONGEST_NAME
        else text
        for name, text in plain.items()
    }


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _plain_name(name: str) -> str:
    plain = re.sub(r"[^\w.\- /]", "_", name.replace(")", "").replace("@", "_at_"))
    steps = (
        f"_{step}" if step in ("", ".") or step.startswith("..") else step
        for step in plain.split("/")
    )
    return "/".join(steps)
