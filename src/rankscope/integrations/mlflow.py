"""Into MLflow: metrics with the ends of their intervals, params, the report and the record.

``log`` takes what `evaluate`, `compare`, `gate`, `evaluate_retriever` and `run_benchmark` return.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import rankscope
from rankscope.benchmark.run import Result
from rankscope.document.pages import page
from rankscope.document.views import document_of
from rankscope.errors import InputError, MissingExtraError, shown
from rankscope.integrations.metrics import metrics_of
from rankscope.part import Part
from rankscope.scoring.scored_runs import Scores
from rankscope.statistics.comparison import Comparison
from rankscope.statistics.gate import GateResult

LONGEST_PARAM = 1_000
"""Longer params are cut; MLflow refuses some lengths."""

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
        MissingExtraError: MLflow is not installed.
    """
    try:
        mlflow = import_module("mlflow")
    except ModuleNotFoundError as error:
        if error.name != "mlflow":
            raise
        raise MissingExtraError("mlflow", needed_for="logging to MLflow", extra="mlflow") from None
    active = mlflow.active_run()
    if active is not None and (name is not None or project is not None):
        raise InputError("a run is active already; leave out name and project, or end it first")
    known = {"rankscope.version": rankscope.__version__, **params_of(result), **(params or {})}
    texts = {name: str(value)[:LONGEST_PARAM] for name, value in known.items()}
    files = files_of(result)
    metrics = metrics_of(result)
    start = f"{prefix}/" if prefix else ""
    metric_names, param_names = mlflow_names(metrics, start), mlflow_names(texts, start)
    place = f"rankscope/{plain_name(prefix)}" if prefix else "rankscope"
    try:
        with nullcontext(active) if active is not None else _new_run(mlflow, name, project) as run:
            mlflow.log_metrics({metric_names[k]: metrics[k] for k in metrics}, step=step)
            mlflow.log_params({param_names[k]: texts[k] for k in texts})
            for file, text in files.items():
                mlflow.log_text(text, f"{place}/{file}")
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


def params_of(result: Any) -> dict[str, str]:
    """Return what a record says of itself in words and numbers, such as ``rules.ties``."""
    return dict(_plain(_record_of(result, per_query=False).to_dict()))


def _plain(data: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, str]]:
    for name, value in data.items():
        if isinstance(value, Mapping) and not start:
            yield from _plain(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            yield start + name, ", ".join(value)
        elif isinstance(value, str | int | float):
            yield start + name, str(value)


def _record_of(result: Any, *, per_query: bool = True) -> Part:
    if isinstance(result, Result):
        return result.report
    if isinstance(result, Scores):
        return result.record(per_query=per_query)
    if not isinstance(result, Comparison | GateResult):
        raise TypeError(f"a {type(result).__name__} cannot be logged")
    return result


def files_of(result: Any) -> dict[str, str]:
    """Return the page of a result and its record, which has the values by query, by file name."""
    if isinstance(result, Result):
        html = (result.folder / "BenchmarkReport.html").read_text("utf-8")
    else:
        html = page(document_of(result))
    files = {"report.html": html, "record.json": _record_of(result).to_json()}
    return {name: text.encode("utf-8", "backslashreplace").decode() for name, text in files.items()}


def mlflow_names(names: Iterable[str], start: str = "") -> dict[str, str]:
    """Return for each name the one that MLflow gets, behind a common start.

    MLflow takes letters, digits and ``_-. /``, in names that are clean paths: ``nDCG@10`` becomes
    ``nDCG_at_10``, any other sign an underscore or nothing. Two that would then be the same are
    refused.

    >>> mlflow_names(["nDCG@10.low", "a+b/AP"])
    {'nDCG@10.low': 'nDCG_at_10.low', 'a+b/AP': 'a_b/AP'}
    """
    plain: dict[str, str] = {}
    for name in names:
        text = plain_name(start + name)
        if text in plain.values():
            raise InputError(f"MLflow would call two numbers {shown(text)}; rename one of the runs")
        plain[name] = text
    return plain


def plain_name(name: str) -> str:
    """Return a name as a clean path of signs that MLflow takes."""
    plain = re.sub(r"[^\w.\- /]", "_", name.replace(")", "").replace("@", "_at_"))
    steps = (
        f"_{step}" if step in ("", ".") or step.startswith("..") else step
        for step in plain.split("/")
    )
    return "/".join(steps)
