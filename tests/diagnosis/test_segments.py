"""Segments: planted groups are found, and where nothing is planted nothing is."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.segments import SEGMENTS, Segments, SegmentsConfig
from rankscope.findings import NotApplicable
from rankscope.scoring.inputs import as_judgments
from rankscope.statistics.settings import Settings

stats: Any = import_module("scipy.stats")
FAST = Settings(resamples=200)


def ids(count: int) -> list[str]:
    return [f"q{number:04}" for number in range(count)]


def inputs(
    ranks: dict[str, Any], metadata: Callable[[int], Any], measures: Any = "RR", **given: Any
) -> Inputs:
    """Make a world in which each query has one relevant document, at the given rank; 0: nowhere."""
    count = len(next(iter(ranks.values())))
    names = ids(count)
    qrels = {query_id: {"d": 1} for query_id in names}
    runs = {
        system: {
            query_id: [*(f"x{n}" for n in range(rank - 1)), "d"] if rank else ["x"]
            for query_id, rank in zip(names, places, strict=True)
        }
        for system, places in ranks.items()
    }
    queries = [(query_id, "a text", metadata(number)) for number, query_id in enumerate(names)]
    values: dict[str, Any] = {
        "scores": rs.evaluate(qrels, runs, measures),
        "qrels": as_judgments(qrels),
        "queries": queries,
        "settings": FAST,
    }
    return Inputs(**values | given)


def look(given: Inputs, *fields: str, **config: Any) -> Segments:
    answer = SEGMENTS.answer(SegmentsConfig(fields=fields, **config), given)
    assert isinstance(answer, Segments)
    back = Segments.model_validate(json.loads(json.dumps(answer.to_dict(), allow_nan=False)))
    assert back.to_dict() == answer.to_dict()
    return answer


def codes(answer: Segments) -> list[str]:
    return [finding.code for finding in answer.findings]


KINDS = ["good"] * 60 + ["bad"] * 20
RANKS = [1, 2, 1] * 20 + [4, 5, 2, 0] * 5


# --- what a group costs


def test_intervals_are_those_of_the_formula() -> None:
    """Welch's interval, or that of the pooled variance if it is wider; for both groups at once."""
    answer = look(inputs({"a": RANKS}, lambda n: {"kind": KINDS[n]}), "kind")
    values = np.array([1 / rank if rank else 0.0 for rank in RANKS])
    bad, good = values[60:], values[:60]
    errors = bad.var(ddof=1) / 20, good.var(ddof=1) / 60
    freedom = sum(errors) ** 2 / (errors[0] ** 2 / 19 + errors[1] ** 2 / 59)
    pooled = (19 * bad.var(ddof=1) + 59 * good.var(ddof=1)) / 78 * (1 / 20 + 1 / 60)
    reach = stats.t.ppf(1 - 0.05 / 2 / 2, freedom) * np.sqrt(max(sum(errors), pooled))
    worst = answer.costs[0]
    interval = worst.difference_interval
    assert (interval.low, interval.high) == pytest.approx(
        (worst.difference - reach, worst.difference + reach)
    )
    low, high = stats.t.interval(0.95, 19, bad.mean(), bad.std(ddof=1) / np.sqrt(20))
    assert (worst.interval.low, worst.interval.high) == pytest.approx((low, high))


def test_a_planted_group_is_named_with_its_gain() -> None:
    answer = look(inputs({"a": RANKS, "b": [2] * 80}, lambda n: {"kind": KINDS[n]}))
    assert (answer.automatic, answer.system) == (True, "a")
    [finding] = answer.findings
    assert (finding.code, finding.severity, finding.count) == ("RS604", "note", 1)
    assert [advice.gain for advice in answer.advice] == [answer.costs[0].cost]
    assert [segment.field for segment in answer.segments] == ["kind"]


def test_less_is_better() -> None:
    """A group with more documents above the relevant one costs, though its mean is higher."""
    ranks = [max(rank, 1) for rank in RANKS]
    measures = ["FallOut(collection=100)"]
    answer = look(inputs({"a": ranks}, lambda n: {"kind": KINDS[n]}, measures))
    worst = answer.costs[0]
    # the bad ones have 3, 4, 1 and 0 others above, the good ones 0, 1 and 0, of 99
    assert worst.difference == pytest.approx((8 / 4 - 1 / 3) / 99)
    assert (worst.label, worst.difference > 0, worst.cost > 0) == ("bad", True, True)
    assert worst.cost == pytest.approx(worst.difference * 20 / 80)
    assert len(answer.advice) == 1


def test_groups_about_the_same_queries_are_advised_once() -> None:
    def metadata(n: int) -> Any:
        return {"kind": KINDS[n], "level": KINDS[n - 1], "other": KINDS[(n * 7) % 80]}

    answer = look(inputs({"a": RANKS}, metadata))
    assert answer.findings[0].count == 2  # kind and level
    assert len(answer.advice) == 1


def test_no_advice_about_the_number_of_relevant_documents() -> None:
    names = ids(80)
    qrels = {
        query_id: {f"d{n}": 1 for n in range(1 if number < 30 else 5)}
        for number, query_id in enumerate(names)
    }
    run = {query_id: [f"d{n}" for n in range(5)] for query_id in names}
    queries: list[Any] = [(query_id, "a text", {}) for query_id in names]
    given = Inputs(
        scores=rs.evaluate(qrels, {"a": run}, ["P@5"]),
        qrels=as_judgments(qrels),
        queries=queries,
        settings=FAST,
    )
    answer = look(given)
    worst = answer.costs[0]
    assert (worst.field, worst.label) == ("relevant documents", "1")
    assert worst.is_weak(0.05)
    assert (answer.findings, answer.advice) == ((), ())


# --- which fields


def test_sensible_fields_are_chosen() -> None:
    def metadata(n: int) -> Any:
        return {
            "kind": KINDS[n],
            "copy": KINDS[n].upper(),
            "source_id": f"s{n % 2}",
            "docId": n % 2,
            "number": n * 3,
            "title": f"title {n}",
            "same": "x",
            "share": (n * 37 % 80) / 7,
            "flag": n % 3 == 0,
            "tags": ["a", "b"][: 1 + n % 2],
            "style": {"level": n % 4},
            "rare": "yes" if n < 15 else None,
            **({"seldom": "x"} if n < 15 else {}),
            **({"hardly": "x"} if n < 3 else {}),
            f"d{n}": [{"label": "x"}],  # keyed by documents
        }

    answer = look(inputs({"a": RANKS}, metadata))
    assert {cost.field for cost in answer.costs} == {"kind", "share", "flag", "tags", "style.level"}
    said = ("copy", "source_id", "docId", "number", "title", "same", "rare", "seldom")
    own = ("words", "characters", "complexity", "question word", "rarity", "relevant documents")
    assert answer.skipped.keys() == {*said, *own, "overlap"}


def test_small_groups_are_not_tested() -> None:
    kinds = ["x"] * 35 + ["y"] * 35 + ["z"] * 9 + ["u"]
    answer = look(inputs({"a": [1] * 70 + [0] * 10}, lambda n: {"kind": kinds[n]}))
    assert {cost.label for cost in answer.costs} == {"x", "y"}
    assert answer.small == 2
    assert codes(answer) == []  # what nobody asked for does not warn
    named = look(inputs({"a": [1] * 70 + [0] * 10}, lambda n: {"kind": kinds[n]}), "kind")
    assert codes(named) == ["RS602"]
    assert [group.n for group in named.segments[0].groups] == [35, 35, 9, 1]


def test_why_it_cannot_look() -> None:
    for given, word in (
        (inputs({"a": [1] * 19}, lambda n: {"kind": n % 2}), "19"),
        (inputs({"a": [1] * 30}, lambda n: {"kind": n % 2}, ["NumRet"]), "mean"),
        (inputs({"a": [1] * 30}, lambda _: {}), "groups"),
        (inputs({"a": [1] * 30}, lambda _: {}, queries=[("other", "x", {})]), "0"),
    ):
        answer = SEGMENTS.answer(SegmentsConfig(), given)
        assert isinstance(answer, NotApplicable)
        assert word in answer.reason


def test_odd_data() -> None:
    """One query, all the same, only sums."""
    for ranks in ([1], [0] * 39 + [1], [1] * 40):
        given = inputs({"a": ranks, "b": ranks}, lambda n: {"kind": n % 2}, ["RR", "NumRet"])
        assert look(given, "kind").advice == ()
    sums = look(inputs({"a": [1] * 40}, lambda n: {"kind": n % 2}, ["NumRet"]), "kind")
    assert (sums.measure, sums.costs) == (None, ())


# --- contradictions of the whole


def labelled(labels: Any) -> Callable[[int], Any]:
    """Return metadata of queries: a row of labels for each field."""
    return lambda n: {f"f{number}": f"x{row[n]}" for number, row in enumerate(labels)}


@pytest.mark.parametrize("baseline", ["a", None])
def test_a_paradox_is_seen_unasked(baseline: str | None) -> None:
    """The second is better on one kind of queries and worse on all others."""
    kinds = ["big"] * 30 + ["x"] * 12 + ["y"] * 12 + ["z"] * 12
    first, second = [2] * len(kinds), [1 if kind == "big" else 3 for kind in kinds]
    given = inputs(
        {"a": first, "b": second, "worst": [9] * len(first)},
        lambda n: {"kind": kinds[n], "odd": n % 2},
        baseline=baseline,
    )
    answer = look(given)
    [finding] = [finding for finding in answer.findings if finding.code == "RS601"]
    assert finding.severity == "warning"


# --- no false alarms


def test_random_fields_raise_no_alarm() -> None:
    """All of it, in 15 worlds with 20 random fields: no more findings than alpha allows."""
    random = np.random.default_rng(6)
    alarms = 0
    for _ in range(15):
        labels = random.integers(0, 4, size=(20, 80))
        ranks = {name: np.minimum(random.geometric(0.3, 80), 15) for name in "ab"}
        answer = look(inputs(ranks, labelled(labels)))
        alarms += bool(answer.findings or answer.advice)
    assert alarms <= 3
