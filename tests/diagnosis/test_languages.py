"""Languages: numbers derived by hand, and no alarm where nothing differs."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.languages import (
    Languages,
    LanguagesConfig,
    SystemLanguages,
    language_table,
    languages,
)
from rankscope.findings import NotApplicable
from rankscope.statistics.settings import Settings

stats: Any = import_module("scipy.stats")
FAST = Settings(resamples=100, interval="t")
HITS = "Success@5"

# five queries each: all found, none, three
HAND = {"de": [1, 1, 1, 1, 1], "en": [0, 0, 0, 0, 0], "fr": [1, 0, 1, 0, 1]}
DE_EN = 2 / 252  # all ones in one of two groups of five: 2 / (10 choose 5)


def arrays(by_language: dict[str, Any]) -> dict[str, Any]:
    return {language: np.array(values, dtype=float) for language, values in by_language.items()}


def table(by_system: dict[str, Any], measure: str = HITS, **options: Any) -> Languages:
    values = {measure: {system: arrays(given) for system, given in by_system.items()}}
    result = language_table(values, options.pop("settings", FAST), **options)
    back = Languages.model_validate(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert back.to_dict() == result.to_dict()
    assert languages.section(result).all_blocks
    return result


def only(result: Languages) -> SystemLanguages:
    [row] = result.systems
    return row


# --- by hand


def test_each_measure_is_a_family() -> None:
    values = {HITS: {"a": arrays(HAND)}, "RR": {"a": arrays(HAND)}}
    result = language_table(values, FAST)
    for row in result.systems:
        assert row.worst is not None
        assert row.worst.p_corrected == pytest.approx(3 * DE_EN)
    assert len(result.findings) == 1  # only of the main measure


def test_the_worst_pair_is_one_that_is_shown_to_differ() -> None:
    """Two queries of nl are furthest from de, and say little; forty of fr say enough."""
    by_language = {"de": [0.9, 1.0] * 20, "fr": [0.5, 0.4] * 20, "nl": [0.3, 0.0]}
    result = table({"a": by_language}, "RR")
    row = only(result)
    assert row.worst is not None
    assert (row.worst.better, row.worst.worse, row.differing) == ("de", "fr", 1)
    assert row.worst.p_corrected <= 0.05
    assert len(result.findings) == 1


# --- translations


def test_translations_are_compared_case_by_case() -> None:
    random = np.random.default_rng(1)
    hard = random.random(30)
    de, en = hard, np.clip(hard - 0.03 + random.normal(0, 0.03, 30), 0, 1)
    order = random.permutation(30)
    ids = [f"c{number:02}" for number in range(30)]
    apart = only(table({"a": {"de": de, "en": en}}, "RR"))
    named = {"de": ids, "en": [ids[place] for place in order]}
    together = only(table({"a": {"de": de, "en": en[order]}}, "RR", cases=named))
    assert together.worst is not None
    assert apart.worst is not None
    assert (together.worst.paired, apart.worst.paired) == (True, False)
    assert together.worst.p == pytest.approx(stats.ttest_rel(de, en).pvalue)
    assert together.worst.p < 0.01 < apart.worst.p
    assert together.worst.difference.value == pytest.approx(apart.worst.difference.value)
    ends = stats.ttest_rel(de, en).confidence_interval(0.95)
    interval = together.worst.difference
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high))


# --- small and empty


def test_a_language_of_one_query_is_shown_and_not_tested() -> None:
    result = table({"a": HAND | {"nl": [1]}})
    row = only(result)
    single = row.means["nl"]
    assert (row.queries["nl"], single.value, single.high) == (1, 1.0, float("inf"))
    assert row.pairs == 3  # as without it
    assert row.variance == pytest.approx(np.var([1.0, 0.0, 0.6, 1.0]))
    alone = table({"a": {"nl": [1], "de": [0]}})
    assert (only(alone).worst, only(alone).pairs, only(alone).spread) == (None, 0, 1.0)


# --- how often it is right


def test_no_alarm_where_nothing_differs() -> None:
    """Two systems, four languages of different sizes, one of them with ten times the queries."""
    random = np.random.default_rng(5)
    alarms = 0
    for _ in range(60):
        values = {
            system: {
                language: 1 / random.geometric(0.4, size)
                for language, size in (("de", 100), ("en", 40), ("fr", 20), ("nl", 10))
            }
            for system in "ab"
        }
        alarms += bool(table(values, "RR").findings)
    assert alarms <= 7  # 3 expected at most; P(> 7 | 5 %) is 0.01


LANGUAGE_VALUES = st.lists(st.integers(0, 4).map(lambda part: part / 4), min_size=1, max_size=9)
WORLDS = st.dictionaries(
    st.sampled_from("ab"),
    st.dictionaries(st.sampled_from(["de", "en", "fr", "nl"]), LANGUAGE_VALUES, min_size=1),
    min_size=1,
)


@settings(max_examples=30, deadline=None)
@given(WORLDS, st.booleans(), st.sampled_from([0.01, 0.05, 0.3]))
def test_interval_and_corrected_p_agree(world: Any, paired: bool, alpha: float) -> None:
    size = 0
    if paired:
        size = min(len(values) for given in world.values() for values in given.values())
        world = {
            system: {language: values[:size] for language, values in given.items()}
            for system, given in world.items()
        }
    cases = list(map(str, range(size))) if paired else []
    named = dict.fromkeys(("de", "en", "fr", "nl"), cases) if paired else None
    chosen = Settings(resamples=100, interval="t", alpha=alpha)
    for row in table(world, "RR", cases=named, settings=chosen).systems:
        assert row.spread >= 0
        assert row.variance == pytest.approx(np.var([mean.value for mean in row.means.values()]))
        pair = row.worst
        if pair is None:
            assert row.differing == 0
            continue
        assert (row.differing > 0) == (pair.p_corrected <= alpha)
        difference = pair.difference
        assert (difference.low <= 0 <= difference.high) == (pair.p_corrected > alpha)
        assert difference.low <= difference.value <= difference.high
        assert pair.p <= pair.p_corrected
        assert difference.value > 0


# --- the analysis


def inputs(
    named: list[Any], ranks: dict[str, list[int]], measures: Any = "RR", **more: Any
) -> Inputs:
    """Make a world of queries with one relevant document each, at the given rank."""
    names = [f"q{number:03}" for number in range(len(named))]
    runs = {
        system: {
            name: [*(f"x{n}" for n in range(rank - 1)), "d"]
            for name, rank in zip(names, places, strict=True)
        }
        for system, places in ranks.items()
    }
    queries = [
        (name, "a text", {} if language is None else {"language": language})
        for name, language in zip(names, named, strict=True)
    ]
    given: dict[str, Any] = {
        "scores": rs.evaluate({name: {"d": 1} for name in names}, runs, measures),
        "queries": queries,
        "settings": FAST,
    }
    return Inputs(**given | more)


def look(world: Inputs, **config: Any) -> Languages:
    answer = languages.answer(LanguagesConfig(**config), world)
    assert isinstance(answer, Languages)
    return answer


def refused(world: Inputs, **config: Any) -> str:
    answer = languages.answer(LanguagesConfig(**config), world)
    assert isinstance(answer, NotApplicable)
    return answer.reason


NAMED = ["en"] * 20 + ["de"] * 40
PLACES = [4, 5] * 10 + [1, 2] * 20


def test_found() -> None:
    result = look(inputs(NAMED, {"a": PLACES, "b": [1, 2] * 30}))
    assert result.languages == ("de", "en")  # the largest first
    [differ] = result.findings
    assert (differ.code, differ.severity, differ.count) == ("RS606", "warning", 1)
    assert look(inputs(["de", "en"] * 20, {"a": [1, 1, 2, 2] * 10})).findings == ()
    measures = look(inputs(NAMED, {"a": PLACES}, ["NumRet", "RR", "R@3"])).systems
    assert [row.measure for row in measures] == ["RR", "R@3"]  # means only


def test_not_applicable() -> None:
    two = inputs(["de", "en"] * 2, {"a": [1] * 4}, ["RR", "NumRet"])
    for world, config, word in (
        (inputs([None] * 4, {"a": [1] * 4}), {}, "language"),
        (inputs(["de"] * 4, {"a": [1] * 4}), {}, "de"),
        (two, {"field": "langage"}, "langage"),
        (inputs(["de", "en"] * 2, {"a": [1] * 4}, ["NumRet"]), {}, "mean"),
    ):
        assert word in refused(world, **config)


def test_translations_by_their_field() -> None:
    world = inputs(["de", "en"] * 15, {"a": [1, 2, 1, 1, 2, 3] * 5})
    assert world.queries is not None
    queries = [
        (name, text, {**metadata, "parallel_id": number // 2})
        for number, (name, text, metadata) in enumerate(world.queries)
    ]
    pair = only(look(Inputs(scores=world.scores, queries=queries, settings=FAST))).worst
    assert pair is not None
    assert pair.paired
