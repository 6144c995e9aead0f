"""Segments: planted groups are found, and where nothing is planted nothing is."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import rankscope as rs
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.segments import QueryGroup, Segments, SegmentsConfig, segments
from rankscope.findings import NotApplicable
from rankscope.scoring.inputs import as_judgments
from rankscope.statistics.settings import Settings
from rankscope.statistics.tests import corrected, skew_p

stats: Any = import_module("scipy.stats")


def inputs(
    ranks: dict[str, Any], metadata: Callable[[int], Any], measures: Any = "RR", **given: Any
) -> Inputs:
    """Make a world in which each query has one relevant document, at the given rank; 0: nowhere."""
    names = [f"q{number:04}" for number in range(len(next(iter(ranks.values()))))]
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
        "settings": Settings(),
    }
    return Inputs(**values | given)


def look(given: Inputs, *fields: str, **config: Any) -> Segments:
    answer = segments.answer(SegmentsConfig(fields=fields, **config), given)
    assert isinstance(answer, Segments)
    back = Segments.model_validate(json.loads(json.dumps(answer.to_dict(), allow_nan=False)))
    assert back.to_dict() == answer.to_dict()
    assert segments.section(answer).all_blocks
    return answer


def codes(answer: Segments) -> list[str]:
    return [finding.code for finding in answer.findings]


def worst(answer: Segments) -> QueryGroup:
    return max(answer.groups, key=lambda group: group.cost)


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
    group = worst(answer)
    assert group.difference is not None
    assert group.difference.value == pytest.approx(bad.mean() - good.mean())
    assert (group.difference.low, group.difference.high) == pytest.approx(
        (group.difference.value - reach, group.difference.value + reach)
    )
    assert group.cost == pytest.approx(20 / 80 * (good.mean() - bad.mean()))
    low, high = stats.t.interval(0.95, 19, bad.mean(), bad.std(ddof=1) / np.sqrt(20))
    assert (group.means["a"].low, group.means["a"].high) == pytest.approx((low, high))


def test_changes_are_those_of_a_paired_test_corrected_over_all_groups_of_all_fields() -> None:
    random = np.random.default_rng(1)
    ranks = {"a": random.geometric(0.3, 80), "b": random.geometric(0.5, 80)}
    given = inputs(ranks, lambda n: {"kind": KINDS[n], "odd": n % 4 > 1}, baseline="a")
    answer = look(given, "kind", "odd")
    assert given.scores is not None
    own, base = (np.array(list(given.scores.values("RR", system).values())) for system in "ba")
    wheres = [np.array(KINDS) == "good", np.array(KINDS) == "bad"]
    odd = np.arange(80) % 4 > 1
    wheres += [odd, ~odd]
    raw = []
    for where in wheres:
        tested = stats.ttest_rel(own[where], base[where])
        changes, size, free = (own - base)[where], np.abs([tested.statistic]), np.array([tested.df])
        raw.append(max(tested.pvalue, skew_p(changes[np.newaxis], size, free)[0]))
    found = sorted(group.changes["b"].p_corrected for group in answer.groups)
    assert found == pytest.approx(sorted(corrected(raw)))
    for group in answer.groups:
        change = group.changes["b"]
        assert (change.low <= 0 <= change.high) == (change.p_corrected > 0.05)


def test_a_planted_group_is_named_with_its_gain() -> None:
    answer = look(inputs({"a": RANKS, "b": [9] * 80}, lambda n: {"kind": KINDS[n]}))
    assert (answer.named, answer.system, answer.base) == (False, "a", "b")
    [finding] = answer.findings
    assert (finding.code, finding.severity, finding.count) == ("RS604", "note", 20)
    assert finding.gain == worst(answer).cost


def test_groups_about_the_same_queries_are_named_once() -> None:
    def metadata(n: int) -> Any:
        return {"kind": KINDS[n], "level": KINDS[n - 1], "other": KINDS[(n * 7) % 80]}

    answer = look(inputs({"a": RANKS}, metadata))
    assert sum(group.is_weak(0.05) for group in answer.groups) == 2  # kind and level
    assert codes(answer) == ["RS604"]


# --- which fields


def test_sensible_fields_are_chosen() -> None:
    def metadata(n: int) -> Any:
        return {
            "kind": KINDS[n],
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
            f"d{n}": [{"label": "x"}],  # keyed by documents
        }

    answer = look(inputs({"a": RANKS}, metadata))
    fields = {group.field for group in answer.groups}
    assert fields == {"kind", "share", "flag", "tags", "style.level"}
    assert {"source_id", "docId", "number", "title", "same", "rare", "seldom"} < {*answer.skipped}


def test_cut_points() -> None:
    for form in ({"fields": ["n"], "cuts": {"n": [20, 50]}}, {"n": [20, 50]}):
        config = SegmentsConfig.model_validate(form)
        answer: Any = segments.answer(config, inputs({"a": RANKS}, lambda n: {"n": n}))
        sizes = {group.label: group.n for group in answer.groups}
        assert sizes == {"up to 19": 20, "20–49": 30, "50+": 30}
    listed = SegmentsConfig(fields=("a", "length"))
    assert SegmentsConfig.model_validate(["a", "length"]) == listed
    assert SegmentsConfig.model_validate({"a": None, "length": []}) == listed
    assert SegmentsConfig.model_validate("a").fields == ("a",)
    assert SegmentsConfig.model_validate(listed.to_dict()) == listed  # as it was recorded
    with pytest.raises(ValidationError, match="number"):
        SegmentsConfig.model_validate({"a": ["x"]})


def test_small_groups_are_shown_and_not_tested() -> None:
    kinds = ["x"] * 35 + ["y"] * 35 + ["z"] * 9 + ["u"]
    answer = look(inputs({"a": [1] * 70 + [0] * 10}, lambda n: {"kind": kinds[n]}), "kind")
    assert codes(answer) == []
    tested = {group.label: group.difference is not None for group in answer.groups}
    assert tested == {"x": True, "y": True, "z": False, "u": False}
    assert [group.n for group in answer.groups] == [35, 35, 9, 1]


def test_why_it_cannot_look() -> None:
    for given, word in (
        (inputs({"a": [1] * 19}, lambda n: {"kind": n % 2}), "19"),
        (inputs({"a": [1] * 30}, lambda n: {"kind": n % 2}, ["NumRet"]), "mean"),
        (inputs({"a": [1] * 30}, lambda _: {}), "groups"),
        (inputs({"a": [1] * 30}, lambda _: {}, queries=[("other", "x", {})]), "0"),
    ):
        answer = segments.answer(SegmentsConfig(), given)
        assert isinstance(answer, NotApplicable)
        assert word in answer.reason


# --- the reversal alarm


@pytest.mark.parametrize("baseline", ["a", None])
def test_a_paradox_is_seen(baseline: str | None) -> None:
    """The second is better on one kind of queries and worse on all others."""
    kinds = ["big"] * 30 + ["x"] * 12 + ["y"] * 12 + ["z"] * 12
    first, second = [2] * len(kinds), [1 if kind == "big" else 3 for kind in kinds]
    given = inputs(
        {"a": first, "b": second, "worst": [9] * len(first)},
        lambda n: {"kind": kinds[n], "odd": n % 2},
        baseline=baseline,
    )
    [finding] = [finding for finding in look(given).findings if finding.code == "RS601"]
    assert (finding.severity, finding.count) == ("warning", 3)


def test_a_group_that_differs_the_other_way_by_chance_is_no_paradox() -> None:
    # better on 6 of x and worse on 1, better on 1 of y and of z and worse on 2: 8 against 5
    turns = [1] * 6 + [-1] + [0] * 3 + ([1] + [-1] * 2 + [0] * 7) * 2
    ranks = {"a": [2] * 30, "b": [2 - turn for turn in turns]}
    given = inputs(ranks, lambda n: {"kind": "xyz"[n // 10]}, baseline="a")
    assert codes(look(given, "kind")) == []


def labelled(labels: Any) -> Callable[[int], Any]:
    """Return metadata of queries: a row of labels for each field."""
    return lambda n: {f"f{number}": f"x{row[n]}" for number, row in enumerate(labels)}


def test_random_fields_raise_no_alarm() -> None:
    """All of it, in 15 worlds with 20 random fields: no more findings than alpha allows."""
    random = np.random.default_rng(6)
    alarms = 0
    for _ in range(15):
        labels = random.integers(0, 4, size=(20, 80))
        ranks = {name: np.minimum(random.geometric(0.3, 80), 15) for name in "ab"}
        alarms += bool(look(inputs(ranks, labelled(labels))).findings)
    assert alarms <= 3
