"""Into an experiment tracker: what ``result.log(to=…)`` does.

An `Entry` is what there is to log, the same for every tracker: metrics, params, tables and files.
What a tracker calls them, and which names it takes, is one function for each.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import singledispatch
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rankscope
from rankscope.benchmark.run import Result
from rankscope.document.blocks import Column, Document, Table, plain_rows
from rankscope.document.csv_text import as_csv
from rankscope.document.markdown import escaped
from rankscope.document.pages import page
from rankscope.document.views import document_of
from rankscope.errors import InputError, MissingExtraError, RankscopeError, UnknownNameError
from rankscope.integrations.metrics import metrics_of
from rankscope.retrieval.golden import RetrieverResult
from rankscope.scoring.evaluate import Scores
from rankscope.statistics.compare import Comparison
from rankscope.statistics.gate import GateResult

if TYPE_CHECKING:
    from rankscope.document.blocks import Value

LONGEST_PARAM = 1_000
"""Longer params are cut; MLflow refuses some lengths."""

LONGEST_NAME = 200
"""Longer names of metrics are cut for MLflow, which takes 250 characters."""

LONGEST_REASON = 200
"""Longer messages of trackers are cut; the whole is in the exception that led to ours."""


@dataclass(frozen=True, slots=True)
class Entry:
    """All that is logged of one result."""

    metrics: dict[str, float]
    """By name, as in ``--format metrics``."""
    params: dict[str, str]
    """What was measured, on what, by which version."""
    files: dict[str, str]
    """The report and the record, by file name."""
    table: Table
    """The values behind the means, as far as the result has them."""
    table_name: str
    """What the table is called: per_query, pairs, losses."""

    def named(self, prefix: str) -> Entry:
        """Return the same with a prefix before the names of metrics and params."""
        if not prefix:
            return self
        return replace(
            self,
            metrics={f"{prefix}/{name}": value for name, value in self.metrics.items()},
            params={f"{prefix}/{name}": value for name, value in self.params.items()},
        )

    @contextmanager
    def written(self) -> Iterator[Path]:
        """Yield a folder that holds all files for a while."""
        as_table = as_csv(Document(self.table_name, (), data=lambda: self.table))
        with tempfile.TemporaryDirectory(prefix="rankscope-") as folder:
            for name, text in {**self.files, f"{self.table_name}.csv": as_table}.items():
                (Path(folder) / name).write_text(text, encoding="utf-8", errors="backslashreplace")
            yield Path(folder)


def log(
    result: object,
    *,
    to: str,
    name: str | None,
    project: str | None,
    prefix: str,
    params: Mapping[str, object],
    step: int | None,
) -> str:
    """Log a result; see `rankscope.document.views.Tracked.log`."""
    if to not in _TRACKERS:
        raise UnknownNameError("tracker", to, _TRACKERS)
    try:
        tracker = import_module(to)
    except ModuleNotFoundError as error:
        if error.name != to:
            raise
        raise MissingExtraError(to, needed_for=f"log(to={to!r})", extra=to) from None
    entry = entry_of(result)
    more = {key: str(value)[:LONGEST_PARAM] for key, value in params.items()}
    entry = replace(entry, params={**entry.params, **more}).named(prefix)
    try:
        return _TRACKERS[to](tracker, entry, name=name, project=project, prefix=prefix, step=step)
    except RankscopeError:
        raise
    except Exception as error:  # a tracker's own, which may be of any class
        reason = " ".join(str(error).split())[:LONGEST_REASON] or type(error).__name__
        raise InputError(f"{to} did not take the result: {reason}; {_REMEDIES[to]}") from error


# --- what there is to log ------------------------------------------------------------------------


@singledispatch
def entry_of(result: object) -> Entry:
    """Return what is logged of a result."""
    raise TypeError(f"a {type(result).__name__} cannot be logged")


def _entry(
    result: Any,
    *,
    record: str,
    params: Mapping[str, object],
    table: Table,
    table_name: str,
    html: str | None = None,
) -> Entry:
    known = {"rankscope.version": rankscope.__version__, **params}
    return Entry(
        metrics=metrics_of(result),
        params={
            key: str(value)[:LONGEST_PARAM] for key, value in known.items() if value is not None
        },
        files={
            "report.html": page(document_of(result)) if html is None else html,
            "record.json": record,
        },
        table=table,
        table_name=table_name,
    )


def _table(titles: Iterable[str], rows: Iterable[Iterable[Value]]) -> Table:
    return Table(tuple(map(Column, titles)), plain_rows(tuple(row) for row in rows))


def _score_params(scores: Scores) -> dict[str, object]:
    return {
        "measures": ", ".join(scores.measures),
        "runs": ", ".join(scores.runs),
        "profile": scores.profile.name,
        "qrels_sha256": scores.record(per_query=False).qrels.sha256,
    }


def _per_query(scores: Scores, texts: Mapping[str, str] | None = None) -> Table:
    """Return a row for each run and query, with a column for each measure."""
    text_titles = [] if texts is None else ["text"]
    return _table(
        ["run", "query_id", *text_titles, *scores.measures],
        (
            (run, query_id, *([] if texts is None else [texts.get(query_id)]), *values)
            for run in scores.runs
            for query_id, values in zip(
                scores.run(run).query_ids, scores.run(run).values.T.tolist(), strict=True
            )
        ),
    )


@entry_of.register
def _of_scores(scores: Scores) -> Entry:
    return _entry(
        scores,
        record=scores.record().to_json(),
        params=_score_params(scores),
        table=_per_query(scores),
        table_name="per_query",
    )


@entry_of.register
def _of_retriever(result: RetrieverResult) -> Entry:
    return _entry(
        result,
        record=result.scores.record().to_json(),
        params={**_score_params(result.scores), "k": result.k},
        table=_per_query(result.scores, result.texts),
        table_name="per_query",
    )


@entry_of.register
def _of_comparison(comparison: Comparison) -> Entry:
    return _entry(
        comparison,
        record=comparison.to_json(),
        params={
            "measures": ", ".join(comparison.measures),
            "runs": ", ".join(comparison.runs),
            "baseline": comparison.baseline,
            "profile": comparison.profile,
            "test": comparison.family,
            "seed": comparison.settings.seed,
        },
        table=_table(
            ("measure", "base", "system", "base mean", "system mean", "difference", "low", "high",
             "p", "verdict", "wins", "ties", "losses"),
            (
                (pair.measure, pair.base, pair.system, pair.base_mean, pair.system_mean,
                 pair.difference, interval.low, interval.high, pair.p_corrected, pair.verdict,
                 pair.wins, pair.ties, pair.losses)
                for pair in comparison.pairs
                for interval in [pair.simultaneous or pair.interval]
            ),
        ),
        table_name="pairs",
    )  # fmt: skip


@entry_of.register
def _of_gate(result: GateResult) -> Entry:
    return _entry(
        result,
        record=result.to_json(),
        params={
            "measures": ", ".join(check.measure for check in result.checks),
            "baseline": result.baseline,
            "candidate": result.candidate,
            "answer": result.answer,
            "max_drop": result.max_drop,
            "profile": result.profile,
            "qrels_sha256": result.qrels.sha256,
            "seed": result.test.seed,
        },
        table=_table(
            ("measure", "query_id", "baseline", "candidate", "change"),
            (
                (check.measure, loss.query_id, loss.baseline, loss.candidate, loss.change)
                for check in result.checks
                for loss in check.broken or check.worst
            ),
        ),
        table_name="losses",
    )


@entry_of.register
def _of_benchmark(result: Result) -> Entry:
    report = result.report
    return _entry(
        report,
        record=report.to_json(),
        params={
            "benchmark": report.name,
            "experiment": report.experiment,
            "collection": report.collection.name,
            "split": report.collection.split,
            "measures": ", ".join(info.measure for info in report.measures),
            "systems": ", ".join(system.name for system in report.systems),
            "baseline": report.baseline,
            "depth": report.depth,
            "profile": report.profile,
            "qrels_sha256": report.collection.qrels_sha256,
        },
        table=_system_values(result),
        table_name="per_query",
        html=(result.folder / "BenchmarkReport.html").read_text("utf-8"),
    )


def _system_values(result: Result) -> Table:
    """Return the values of all systems by query, from the files of the experiment."""
    from rankscope.tables.parquet import recorded_frame  # noqa: PLC0415

    measures = [info.measure for info in result.report.measures]
    rows: list[tuple[Value, ...]] = []
    for system in result.report.systems:
        values: dict[str, dict[str, float]] = {}
        path = result.folder / system.per_query.path
        frame = recorded_frame(path, system.per_query.sha256, source=str(path))
        for query_id, measure, value in frame.select("query_id", "measure", "value").iter_rows():
            values.setdefault(query_id, {})[measure] = value
        rows += [
            (system.name, query_id, *map(by_measure.get, measures))
            for query_id, by_measure in values.items()
        ]
    return _table(["run", "query_id", *measures], rows)


# --- trackers ------------------------------------------------------------------------------------

_DATABASES = ("mssql", "mysql", "postgresql", "sqlite")
"""Schemes of MLflow's tracking URI that are databases; sqlite is its default."""

_NOT_IN_MLFLOW = re.compile(r"[^\w.\- /]")


def mlflow_names(names: Iterable[str]) -> dict[str, str]:
    """Return for each name the one that MLflow gets; no two are the same.

    MLflow takes letters, digits and ``_-. /``, in names that are clean paths: ``nDCG@10`` becomes
    ``nDCG_at_10``, any other sign an underscore or nothing. Names that would then
    be the same, and those that are cut, end with a hash of the whole name.

    >>> mlflow_names(["nDCG@10.low", "a+b/AP", "a*b/AP"])
    {'nDCG@10.low': 'nDCG_at_10.low', 'a+b/AP': 'a_b/AP-b24155bb', 'a*b/AP': 'a_b/AP-b84d1875'}
    """
    plain = {name: _mlflow_name(name) for name in names}
    times = Counter(text.casefold() for text in plain.values())
    return {
        name: f"{text[:LONGEST_NAME].rstrip('/')}-{_hash(name)}"
        if times[text.casefold()] > 1 or len(text) > LONGEST_NAME
        else text
        for name, text in plain.items()
    }


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _mlflow_name(name: str) -> str:
    plain = _NOT_IN_MLFLOW.sub("_", name.replace(")", "").replace("@", "_at_"))
    steps = (
        f"_{step}" if step in ("", ".") or step.startswith("..") else step
        for step in plain.split("/")
    )
    return "/".join(steps)


def _to_mlflow(
    mlflow: Any,
    entry: Entry,
    *,
    name: str | None,
    project: str | None,
    prefix: str,
    step: int | None,
) -> str:
    def write() -> str:
        names = mlflow_names(entry.metrics)
        mlflow.log_metrics(
            {names[metric]: value for metric, value in entry.metrics.items()}, step=step
        )
        keys = mlflow_names(entry.params)
        mlflow.log_params({keys[key]: value for key, value in entry.params.items()})
        place = f"rankscope/{_mlflow_name(prefix)}" if prefix else "rankscope"
        with entry.written() as folder:
            mlflow.log_artifacts(str(folder), artifact_path=place)
        return str(mlflow.active_run().info.run_id)

    scheme = re.match(r"[a-z]*", mlflow.get_tracking_uri())
    if scheme is not None and scheme[0] in _DATABASES:  # which MLflow's small package leaves out
        for package in ("sqlalchemy", "alembic"):
            if find_spec(package) is None:
                raise MissingExtraError(
                    package, needed_for=f"MLflow's store ({scheme[0]})", extra="mlflow"
                )
    if mlflow.active_run() is not None:
        _refuse_new_run(name, project)
        return write()
    experiment = None
    if project is not None:  # set_experiment would change it for all that follows
        known = mlflow.get_experiment_by_name(project)
        experiment = mlflow.create_experiment(project) if known is None else known.experiment_id
    with mlflow.start_run(run_name=name, experiment_id=experiment):
        return write()


def _refuse_new_run(name: str | None, project: str | None) -> None:
    """Refuse what would be for a new run, where one is active."""
    given = [
        f"{option}={value!r}"
        for option, value in (("name", name), ("project", project))
        if value is not None
    ]
    if given:
        raise InputError(
            f"a run is active already, and {' and '.join(given)} would change nothing; "
            "leave it out, or end that run first"
        )


def _to_wandb(
    wandb: Any,
    entry: Entry,
    *,
    name: str | None,
    project: str | None,
    prefix: str,
    step: int | None,
) -> str:
    run, is_new = wandb.run, wandb.run is None
    if is_new:
        run = wandb.init(project=project or "rankscope", name=name)
    else:
        _refuse_new_run(name, project)
    start = f"{prefix}/" if prefix else ""
    try:
        run.config.update(entry.params, allow_val_change=True)
        titles = [column.title for column in entry.table.columns]
        rows = [[cell.value for cell in row] for row in entry.table.rows]
        shown = {
            f"{start}{entry.table_name}": wandb.Table(columns=titles, data=rows),
            f"{start}report": wandb.Html(entry.files["report.html"], inject=False),
        }
        run.log({**entry.metrics, **shown}, step=step)
        artifact = wandb.Artifact(f"rankscope-{run.id}", type="evaluation")
        with entry.written() as folder:
            artifact.add_dir(str(folder), name=prefix or None)
            run.log_artifact(artifact)
        return str(run.id)
    finally:
        if is_new:
            run.finish()


def _to_trackio(
    trackio: Any,
    entry: Entry,
    *,
    name: str | None,
    project: str | None,
    prefix: str,
    step: int | None,
) -> str:
    run = trackio.context_vars.current_run.get()
    is_new = run is None
    if is_new:
        run = trackio.init(project=project or "rankscope", name=name)
    else:
        _refuse_new_run(name, project)
    start = f"{prefix}/" if prefix else ""
    try:
        run.config.update(entry.params)
        titles = [column.title for column in entry.table.columns]
        rows = [  # trackio takes text for Markdown
            [escaped(cell.value) if isinstance(cell.value, str) else cell.value for cell in row]
            for row in entry.table.rows
        ]
        table = trackio.Table(columns=titles, data=rows)
        trackio.log({**entry.metrics, f"{start}{entry.table_name}": table}, step=step)
        with entry.written() as folder:
            label = "-".join(filter(None, ["rankscope", prefix]))
            trackio.log_artifact(folder, name=label, type="evaluation")
        return str(run.name)
    finally:
        if is_new:
            trackio.finish()


_REMEDIES = {
    "mlflow": "check MLFLOW_TRACKING_URI, and that its server or file can be written",
    "trackio": "check TRACKIO_DIR, and that it can be written",
    "wandb": "run wandb login, or log without a network with WANDB_MODE=offline",
}
"""What to do when a tracker refuses a result."""

_TRACKERS: dict[str, Callable[..., str]] = {
    "mlflow": _to_mlflow,
    "trackio": _to_trackio,
    "wandb": _to_wandb,
}
