"""Assertions for tests: a run that must reach what is asked of it, or not be worse than another.

Imported by the pytest plugin, so nothing heavy is loaded before it is used.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, RankscopeError, counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.findings import Finding
    from rankscope.integrations.limits import Limit
    from rankscope.measures.language import Measure
    from rankscope.scoring.scored_runs import Scores
    from rankscope.statistics.gate import GateResult

__all__ = ["QualityError", "assert_at_least"]


class QualityError(AssertionError):
    """A run misses a limit or is a regression; the first line of the message is the verdict."""

    __module__ = "rankscope"  # tracebacks name it as it is imported


class DataWarning(UserWarning):
    """The scores of a run mean less than they seem: it lacks queries, all its scores are equal."""


class CantTellWarning(UserWarning):
    """The data show neither a regression nor that there is none."""


def warn_of(findings: Iterable[Finding], *, stacklevel: int) -> None:
    """Warn of what makes the scores of a run mean less than they seem."""
    for finding in findings:
        text = f"{finding.system}: {finding.message} [{finding.code}]; {finding.advice}"
        warnings.warn(text, DataWarning, stacklevel=stacklevel + 1)


def assert_at_least(
    candidate: Any,
    limits: Mapping[str, float],
    *,
    qrels: Any = None,
    worst: int = 10,
    texts: Any = None,
    **options: Any,
) -> Scores:
    """Raise an `AssertionError` unless the mean of each measure reaches its limit.

    ``candidate`` is a `Scores`, the result of `rankscope.evaluate_retriever`, or, with ``qrels``, a
    run in any form, or a table that holds both; ``options`` are then those of `rankscope.evaluate`,
    such as the columns ``query``, ``relevant`` and ``retrieved``. ``limits`` is what each
    measure must be at least, or at most where lower is better; one that could not be reached or not
    be missed is an `InputError`. The message begins with what was
    missed, with the interval of the mean, and lists the ``worst`` queries, by their ``texts`` (a
    dict, `Queries` or a file; those of a golden set are known). What makes scores mean less than
    they seem is a `DataWarning`.

    >>> scores = assert_at_least({"q": ["b", "a"]}, {"MRR": 0.5}, qrels={"q": ["a"]})
    >>> scores["RR"]
    0.5
    """
    __tracebackhide__ = True
    from rankscope.integrations.limits import Limit  # noqa: PLC0415

    try:
        if not isinstance(limits, Mapping) or not limits:
            raise InputError(
                f"expected limits by measure, such as {{'nDCG@10': 0.35}}, got {limits!r}"
            )
        scores = _scores(candidate, limits, qrels, options)
        asked = [Limit(scores.name_of(measure), value) for measure, value in limits.items()]
        missed = [
            (run.name, limit)
            for limit in asked
            for run in scores.scored
            if not limit.is_reached(run.means[limit.measure])
        ]
        known = _texts(texts, candidate, qrels) if missed or texts is not None else {}
    except RankscopeError as error:
        raise _without_trace(error) from None
    if missed:
        raise QualityError(_message(scores, missed, worst, known))
    warn_of(scores.findings, stacklevel=2)
    return scores


def assert_no_regression(
    baseline: Any,
    candidate: Any,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    texts: Any = None,
    **options: Any,
) -> GateResult:
    """Fail on a regression: a drop that is both significant and larger than ``max_drop``.

    Takes what `rankscope.gate` takes: score files, `Scores`, or, with ``qrels``, runs as paths,
    dicts or tables, and all of its options; also what `rankscope.evaluate_retriever` returns. The
    message begins with the answer, has the gate's table, and lists the worst losses, by their
    ``texts`` (a dict, `Queries` or a file; those of a golden set are known). "Can't tell"
    gives a `CantTellWarning`, or fails with ``cant_tell="fail"``. What makes the scores of a run
    mean less than they seem gives a `DataWarning`; runs that cannot be scored or compared raise
    `rankscope.InputError`.
    """
    __tracebackhide__ = True
    from rankscope.statistics.gate import gate  # noqa: PLC0415

    try:
        result = gate(baseline, candidate, measures, **options)
        is_shown = not result.passed or texts is not None
        known = _texts(texts, candidate, options.get("qrels")) if is_shown else {}
    except RankscopeError as error:
        raise _without_trace(error) from None
    if not result.passed:
        from rankscope.reports.gating import failure_text  # noqa: PLC0415

        raise QualityError(failure_text(result, known))
    warn_of(result.findings, stacklevel=2)
    if result.answer == "can't tell":
        warnings.warn(result.sentence, CantTellWarning, stacklevel=2)
    for note in result.notes:
        warnings.warn(note, CantTellWarning, stacklevel=2)
    return result


def _without_trace(error: RankscopeError) -> RankscopeError:
    """Return an error without the calls that led to it.

    The sentence says what to do; where in rankscope it was noticed helps nobody.
    """
    return error if os.environ.get("RANKSCOPE_DEBUG") else error.with_traceback(None)


def _scores(candidate: Any, limits: Mapping[str, float], qrels: Any, options: Any) -> Scores:
    """Return scores as they are, those of a result, or those of a run."""
    from rankscope.scoring.evaluate import evaluate  # noqa: PLC0415
    from rankscope.scoring.scored_runs import Scores  # noqa: PLC0415

    if isinstance(candidate, Scores):
        if qrels is not None or options:
            given = ", ".join(["qrels"] * (qrels is not None) + list(options))
            raise InputError(f"these are scores already, and {given} would change nothing")
        return candidate
    if qrels is None and "retrieved" not in options:
        raise InputError(
            "a run needs qrels=… to be scored with, and a table that holds both the columns "
            "relevant=… and retrieved=…; Scores need none"
        )
    gold, run = (candidate, None) if qrels is None else (qrels, candidate)
    return evaluate(gold, run, list(limits), **options)


def _texts(texts: Any, candidate: Any, qrels: Any) -> dict[str, str]:
    """Return the texts of queries by id, as far as they are given or in the golden set."""
    from rankscope.collection.queries import Queries, read_queries  # noqa: PLC0415
    from rankscope.files import is_path  # noqa: PLC0415
    from rankscope.retrieval.golden import RetrieverScores, texts_in  # noqa: PLC0415

    if texts is None:
        return candidate.texts if isinstance(candidate, RetrieverScores) else texts_in(qrels)
    if is_path(texts):
        return dict(read_queries(texts).items())
    return dict((texts if isinstance(texts, Queries) else Queries(texts)).items())


def _message(
    scores: Scores, missed: list[tuple[str, Limit]], worst: int, texts: Mapping[str, str]
) -> str:
    """Return what was missed, in the first line, and behind it the worst queries of each limit."""
    from rankscope.document.blocks import shortened  # noqa: PLC0415

    parts = []
    for run, limit in missed:
        verdict = limit.sentence(scores.run(run).means[limit.measure])
        if interval := scores.intervals_of(run).get(limit.measure):
            verdict += f"; 95% interval [{interval.low:.4f}, {interval.high:.4f}]"
        lines = [f"{run}: {verdict}" if len(scores.runs) > 1 else verdict]
        values = scores.worst(worst, measure=limit.measure, run=run) if worst else {}
        if values:
            lines.append(f"{counted(len(values), 'query')} with the worst {limit.measure}:")
        for query_id, value in values.items():
            text = texts.get(query_id, query_id)
            label = query_id if text == query_id else f"{text} ({query_id})"
            lines.append(f"  {value:.4f}  {shortened(label)}")
        if values:
            first = next(iter(values))
            lines.append(f"To see why: rankscope.explain(qrels, run, {first!r}, {limit.measure!r})")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
