"""Assertions for tests: a run that must reach what is asked of it.

Imported by the pytest plugin, so nothing heavy is loaded before it is used.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankscope.findings import Finding
    from rankscope.scoring.evaluate import Scores
    from rankscope.scoring.limits import Limit

__all__ = ["assert_at_least"]


class DataWarning(UserWarning):
    """The scores of a run mean less than they seem: it lacks queries, all its scores are equal."""


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
    texts: Mapping[str, str] | None = None,
    **options: Any,
) -> Scores:
    """Raise an `AssertionError` unless the mean of each measure reaches its limit.

    ``candidate`` is a `Scores`, the result of `rankscope.evaluate_retriever`, or, with ``qrels``, a
    run in any form (``options`` are then those of `rankscope.evaluate`). ``limits`` is what each
    measure must be at least, or at most where lower is better. The message begins with what was
    missed, with the interval of the mean, and lists the ``worst`` queries, by their ``texts`` where
    these are known. What makes scores mean less than they seem is a `DataWarning`.

    >>> scores = assert_at_least({"q": ["b", "a"]}, {"MRR": 0.5}, qrels={"q": ["a"]})
    >>> scores["RR"]
    0.5
    """
    __tracebackhide__ = True
    from rankscope.scoring.evaluate import Scores, evaluate  # noqa: PLC0415
    from rankscope.scoring.limits import Limit  # noqa: PLC0415

    if not limits:
        raise InputError("no limit was given; name one such as {'nDCG@10': 0.35}")
    scores = candidate if isinstance(candidate, Scores) else getattr(candidate, "scores", None)
    if not isinstance(scores, Scores):
        if qrels is None:
            raise InputError("a run needs qrels=… to be scored with; Scores need none")
        scores = evaluate(qrels, candidate, list(limits), **options)
    elif qrels is not None or options:
        given = ", ".join(["qrels"] * (qrels is not None) + list(options))
        raise InputError(f"these are scores already, and {given} would change nothing")
    known = texts if texts is not None else getattr(candidate, "texts", {})
    parts = [
        _missed(scores, name, Limit(scores.name_of(measure), value), worst, known)
        for measure, value in limits.items()
        for name in scores.runs
    ]
    if message := "\n\n".join(filter(None, parts)):
        raise AssertionError(message)
    warn_of(scores.findings, stacklevel=2)
    return scores


def _missed(scores: Scores, name: str, limit: Limit, worst: int, texts: Mapping[str, str]) -> str:
    """Say that a run misses a limit, and which queries are worst; '' if it reaches it."""
    mean = scores.run(name).means[limit.measure]
    if limit.is_reached(mean):
        return ""
    verdict = limit.sentence(mean)
    interval = scores.intervals_of(name).get(limit.measure)
    if interval is not None:
        verdict += f"; 95% interval [{interval.low:.4f}, {interval.high:.4f}]"
    values = scores.worst(worst, measure=limit.measure, run=name)
    wide = max(map(len, values))
    lines = [
        f"{name}: {verdict}" if len(scores.runs) > 1 else verdict,
        f"{counted(len(values), 'query')} with the worst {limit.measure}:",
        *(
            f"  {query_id:<{wide}}  {value:.4f}"
            + (f"  {shown(texts[query_id])}" if texts.get(query_id, query_id) != query_id else "")
            for query_id, value in values.items()
        ),
    ]
    return "\n".join(lines)
