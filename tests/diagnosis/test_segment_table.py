"""Segments: groups hold the queries they say, and each group is its own comparison."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import rankscope as rs
from rankscope.diagnosis.labels import MOST, OTHER, Labels, check_field, labels_of
from rankscope.diagnosis.segment_means import Segment, segment_table
from rankscope.errors import InputError, UnknownNameError
from rankscope.findings import Finding
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.settings import Settings
from rankscope.statistics.tests import corrected, paired_tests

FAST = Settings(resamples=200)


def labels(values: list[Any], *, bins: int = 4) -> Labels:
    """Label queries by what each has in one field; ... stands for no field at all."""
    queries = [
        (str(n), "", {} if value is ... else {"field": value}) for n, value in enumerate(values)
    ]
    return labels_of(queries, "field", bins=bins)


def sizes(found: Labels) -> dict[str, int]:
    counts = Counter(label for own in found.of.values() for label in own)
    return {label: counts[label] for label in found.groups}


# --- labels


def test_words_and_characters_are_always_there() -> None:
    queries: list[Any] = [("a", "one", {}), ("b", " two  words ", {}), ("c", "", {"words": "many"})]
    assert labels_of(queries[:2], "words", bins=4).of == {"a": ("1",), "b": ("2",)}
    assert labels_of(queries[:2], "characters", bins=4).groups == ("3", "12")
    own = labels_of(queries, "words", bins=4)  # metadata of that name wins
    assert (own.of, own.unlabelled) == ({"c": ("many",)}, 2)


def test_few_numbers_are_groups_in_their_order() -> None:
    found = labels([10, 2, 2, 30.0, "4"])
    assert sizes(found) == {"2": 2, "4": 1, "10": 1, "30": 1}
    assert not found.binned
    assert labels([0.5, -1.25, 3]).groups == ("-1.25", "0.5", "3")


def test_many_numbers_fall_into_ranges() -> None:
    found = labels(list(range(1, 13)))
    assert sizes(found) == {"1–3": 3, "4–6": 3, "7–9": 3, "10+": 3}
    assert found.binned
    # half are 1; a range never parts equal numbers
    assert sizes(labels([1] * 8 + [2, 3, 4, 5, 6, 7, 8, 9])) == {"1": 8, "2–5": 4, "6+": 4}
    # most are the highest; the last range holds them alone
    assert sizes(labels([1, 2, 3, 9, 9, 9, 9, 9], bins=2)) == {"1–3": 3, "4+": 5}
    assert sizes(labels([1, 2, 3, 4, 4, 4, 4, 4], bins=2)) == {"1–3": 3, "4": 5}
    assert sizes(labels([1, 2, 9], bins=1)) == {"1–9": 3}
    assert sizes(labels([-5, -4, -3, -2, -1, 0, 1, 2])) == {
        "-5 to -4": 2,
        "-3 to -2": 2,
        "-1 to 0": 2,
        "1+": 2,
    }


def test_fractions_fall_into_ranges_with_short_ends() -> None:
    values = [0.113, 0.187, 0.2391, 0.2618, 0.40001, 0.48, 0.5102, 0.7]
    assert sizes(labels(values)) == {"below 0.2": 2, "0.2–0.3": 2, "0.3–0.5": 2, "0.5+": 2}
    assert labels([0.5, 10**400]).groups == ("0.5", str(10**400))  # too large to reckon with


def test_text_goes_by_size_then_name() -> None:
    assert sizes(labels(["b", "a", "c", "c", " a "])) == {"a": 2, "c": 2, "b": 1}
    assert sizes(labels([1, "x", True, 2.5])) == {"1": 1, "2.5": 1, "x": 1, "yes": 1}
    assert sizes(labels([False, True, False])) == {"yes": 1, "no": 2}
    assert labels(["007", "12"]).groups == ("007", "12")  # an id, no number


def test_a_list_puts_a_query_in_several_groups() -> None:
    found = labels([["hard", "de"], ["de", "de"], [], "de", ["x", None, 3, ["y"]]])
    assert sizes(found) == {"de": 3, "3": 1, "hard": 1, "x": 1}
    assert found.of["0"] == ("hard", "de")
    assert found.unlabelled == 1


def test_what_says_nothing_is_unlabelled() -> None:
    found = labels(["a", None, "", "  ", [], [[]], {"b": 1}, float("nan"), float("inf"), ...])
    assert (found.groups, found.unlabelled) == (("a",), 9)
    nothing = labels([None, ""])  # the field is there, and empty
    assert (nothing.groups, nothing.unlabelled) == ((), 2)


def test_too_many_labels_are_put_together() -> None:
    values = [f"label {n}" for n in range(60)] + ["label 59"] * 2 + [["label 57", "label 58"]]
    found = labels(values)
    assert len(found.groups) == MOST
    assert found.groups[0] == "label 59"
    assert found.groups[-1] == OTHER
    assert found.merged == 60 - (MOST - 1)
    assert set(found.of) == set(map(str, range(len(values))))
    assert labels([f"label {n}" for n in range(MOST)]).merged == 0


def test_fields_inside_objects() -> None:
    queries: list[Any] = [
        ("1", "", {"style": {"level": {"name": "hard"}}}),
        ("2", "", {"style.level": {"name": "easy"}}),
        ("3", "", {"style": "none", "style.level.name": "dotted"}),
    ]
    found = labels_of(queries, "style.level.name", bins=4).of
    assert found == {"1": ("hard",), "2": ("easy",), "3": ("dotted",)}


NUMBERS = st.one_of(
    st.integers(-1000, 1000), st.floats(-1e6, 1e6, allow_nan=False), st.integers(0, 10**30)
)


@examples(max_examples=60, deadline=None)
@given(values=st.lists(NUMBERS, min_size=1, max_size=60), bins=st.integers(1, 6))
def test_ranges_are_in_order_and_hold_every_number(values: list[Any], bins: int) -> None:
    found = labels(values, bins=bins)
    assert found.unlabelled == 0
    assert len(found.groups) <= bins + 1
    assert len(set(found.groups)) == len(found.groups)
    place = {label: number for number, label in enumerate(found.groups)}
    pairs = sorted((value, place[found.of[str(n)][0]]) for n, value in enumerate(values))
    groups = [group for _, group in pairs]
    assert groups == sorted(groups)  # a larger number never stands in an earlier range
    assert set(groups) == set(range(len(found.groups)))  # no range is empty
    by_value: dict[Any, set[int]] = {}
    for value, group in pairs:
        by_value.setdefault(value, set()).add(group)
    assert all(len(own) == 1 for own in by_value.values())


# --- the table

IDS = [f"q{number:03}" for number in range(60)]
KINDS = ["de"] * 30 + ["en"] * 20 + ["fr"] * 10
QUERIES: list[Any] = [(one, "w " * (n % 7), {"lang": KINDS[n]}) for n, one in enumerate(IDS)]
MEASURES = ["nDCG@5", "RR", "NumRet"]


def scored(measures: list[str] = MEASURES, systems: str = "abc", **options: Any) -> rs.Scores:
    random = np.random.default_rng(3)
    qrels = {query: {f"d{n}": n % 3 for n in range(6)} for query in IDS}
    runs = {
        name: {query: {f"d{n}": float(random.random()) for n in range(8)} for query in IDS}
        for name in systems
    }
    if "drop" in options:
        del runs[systems[-1]][options.pop("drop")]
    return rs.evaluate(qrels, runs, measures, **options)


def segmented(
    scores: rs.Scores, *fields: str, **options: Any
) -> tuple[list[Segment], list[Finding]]:
    queries = options.pop("queries", QUERIES)
    options = {"settings": FAST, "baseline": "a", **options}
    return segment_table(scores, queries, fields, **options)


def test_differences_of_a_group_are_those_of_the_statistics() -> None:
    """Corrected over the groups; intervals are for all three groups at once, and agree with p."""
    scores, kinds = scored(), np.array(KINDS)
    [found], _ = segmented(scores, "lang")
    assert {group.label: group.n for group in found.groups} == {"de": 30, "en": 20, "fr": 10}
    own, base = (np.array(list(scores.values("RR", system).values())) for system in "ba")
    parts = [(own - base)[kinds == group.label] for group in found.groups]
    raw = [paired_tests(part, test="t")[0].p for part in parts]
    p_values = corrected(raw)
    for group, part, alone, p in zip(found.groups, parts, raw, p_values, strict=True):
        [mean] = [one for one in group.means if (one.system, one.measure) == ("b", "RR")]
        level = 1 - 0.05 * alone / p
        [expected] = mean_intervals(part, method="t", level=level, bounds=(-1, 1))
        assert mean.difference == pytest.approx(part.mean())
        assert mean.p_corrected == pytest.approx(p)
        assert mean.difference_interval is not None
        ends = (mean.difference_interval.low, mean.difference_interval.high)
        assert ends == pytest.approx((expected.low, expected.high))


def test_fields_and_means() -> None:
    scores = scored()
    for baseline in ("a", None):
        found, _ = segmented(scores, "lang", "words", baseline=baseline)
        assert [one.field for one in found] == ["lang", "words"]
        for one in found:
            assert Segment.model_validate(one.to_dict()) == one
            [means] = {len(group.means) for group in one.groups}
            assert means == 3 * 2  # a sum over queries has no interval
    assert all(one.difference is None for group in found[0].groups for one in group.means)
    [found_sums], _ = segmented(scored(["NumRet"]), "lang")
    assert [len(group.means) for group in found_sums.groups] == [0, 0, 0]


def test_queries_that_count() -> None:
    scores = scored(queries="both", drop=IDS[0])  # one run lacks it
    queries = [*QUERIES[:-1], ("other", "", {"lang": "xx", "rare": "yes"})]
    [found], _ = segmented(scores, "lang", queries=queries)
    assert [(group.label, group.n) for group in found.groups] == [("de", 29), ("en", 20), ("fr", 9)]
    assert found.unlabelled == 1  # the last is scored, and nothing is known about it
    [rare], _ = segmented(scores, "rare", queries=queries)
    assert (rare.groups, rare.unlabelled) == ((), 59)


def test_too_many_groups_are_a_warning() -> None:
    queries = [(one, "", {"id": f"x{one}"}) for one in IDS]
    _, findings = segmented(scored(["RR"], systems="a"), "id", queries=queries, baseline=None)
    assert [one.code for one in findings] == ["RS603", "RS602"]


def test_groups_that_disagree_by_chance_are_a_note() -> None:
    kinds = ["x"] * 10 + ["y"] * 10 + ["z"] * 10
    ids = [f"q{number:02}" for number in range(30)]
    good, bad = {"d": 2.0, "u": 1.0}, {"d": 1.0, "u": 2.0}
    # better on 6 of x and worse on 1, better on 1 of y and of z and worse on 2: 8 against 5
    turns = [1] * 6 + [-1] + [0] * 3 + ([1] + [-1] * 2 + [0] * 7) * 2
    runs = {
        "a": {q: bad if turn >= 0 else good for q, turn in zip(ids, turns, strict=True)},
        "b": {q: good if turn > 0 else bad for q, turn in zip(ids, turns, strict=True)},
    }
    scores = rs.evaluate({query: {"d": 1} for query in ids}, runs, ["RR"])
    queries = [(query, "", {"kind": kind}) for query, kind in zip(ids, kinds, strict=True)]
    _, [finding] = segmented(scores, "kind", queries=queries)
    assert (finding.code, finding.severity) == ("RS601", "note")


def test_refusals() -> None:
    queries: list[Any] = [("1", "", {"language": "de", "style": {"level": 1}})]
    for field, nearest in (
        ("langage", "nearest: language"),
        ("style", "nearest: style.level"),
        ("complexty", "nearest: complexity"),
        ("zzz", "characters, language, style.level, words"),
    ):
        with pytest.raises(InputError, match=nearest):
            check_field(queries, field)
    with pytest.raises(InputError, match="bins"):
        labels([1], bins=0)
    with pytest.raises(UnknownNameError, match="bm25"):
        segmented(scored(), "lang", baseline="bm25")
