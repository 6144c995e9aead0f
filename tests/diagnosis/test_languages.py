"""Languages: numbers derived by hand, no alarm where nothing differs, and any name is safe."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.diagnosis.language_means import Languages, SystemLanguages, language_table
from rankscope.diagnosis.language_section import languages_section
from rankscope.diagnosis.languages import LANGUAGES, LanguagesConfig
from rankscope.diagnosis.registry import Inputs
from rankscope.document.blocks import (
    Chart,
    Document,
    Findings,
    Heatmap,
    Section,
    Sentences,
    Table,
)
from rankscope.document.csv_text import as_csv
from rankscope.document.latex import as_latex
from rankscope.document.markdown import as_markdown
from rankscope.document.pages import page
from rankscope.document.terminal import as_text
from rankscope.errors import InputError
from rankscope.findings import NotApplicable
from rankscope.statistics.settings import Settings

stats: Any = import_module("scipy.stats")
FAST = Settings(resamples=100, interval="t")
HITS = "Success@5"

# five queries each: all found, none, three
HAND = {"de": [1, 1, 1, 1, 1], "en": [0, 0, 0, 0, 0], "fr": [1, 0, 1, 0, 1]}
DE_EN = 2 / 252  # all ones in one of two groups of five: 2 / (10 choose 5)
EN_FR = 2 * 10 / 120  # three ones of ten all in one group: 2 (5 choose 3) / (10 choose 3)
DE_FR = 2 * 10 / 45  # two zeros of ten all in one group


def arrays(by_language: dict[str, Any]) -> dict[str, Any]:
    return {language: np.array(values, dtype=float) for language, values in by_language.items()}


def table(by_system: dict[str, Any], measure: str = HITS, **options: Any) -> Languages:
    values = {measure: {system: arrays(given) for system, given in by_system.items()}}
    result = language_table(values, options.pop("settings", FAST), **options)
    back = Languages.model_validate(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert back.to_dict() == result.to_dict()
    assert languages_section(result).all_blocks
    return result


def only(result: Languages) -> SystemLanguages:
    [row] = result.systems
    return row


# --- by hand


def test_numbers_by_hand() -> None:
    result = table({"a": HAND})
    row = only(result)
    assert result.languages == ("de", "en", "fr")
    assert [(mean.language, mean.n, mean.mean) for mean in row.languages] == [
        ("de", 5, 1.0),
        ("en", 5, 0.0),
        ("fr", 5, 0.6),
    ]
    assert row.mean == pytest.approx(1.6 / 3)
    # deviations 7/15, -8/15, 1/15; divided by the number of languages
    assert row.variance == pytest.approx((49 + 64 + 1) / 225 / 3)
    assert row.variance == pytest.approx(np.var([1.0, 0.0, 0.6]))
    assert row.spread == 1.0
    assert row.worst == row.shown
    pair = row.worst
    assert pair is not None
    assert (pair.better, pair.worse, pair.difference, pair.paired) == ("de", "en", 1.0, False)
    assert pair.p == pytest.approx(DE_EN)
    assert (pair.family, row.pairs, row.differing) == (3, 3, 1)
    assert pair.p_corrected == pytest.approx(3 * DE_EN)


def test_intervals_of_means_are_those_of_elsewhere() -> None:
    values = [1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1]
    row = only(table({"a": {"de": values, "en": [1, 0]}}, settings=Settings()))
    interval = row.languages[0].interval
    qrels = {f"q{n:02}": {"d": 1} for n in range(12)}
    run = {q: ["d"] if hit else ["x"] for q, hit in zip(qrels, values, strict=True)}
    assert interval == rs.evaluate(qrels, run, [HITS]).intervals[HITS]
    assert (interval.method, row.languages[1].interval.method) == ("bca", "t")  # type: ignore[union-attr]


def test_wilson_is_for_hits_only() -> None:
    wilson = Settings(interval="wilson", resamples=100)
    values = {HITS: {"a": arrays(HAND)}, "RR": {"a": arrays({"de": [0.5, 1], "en": [1, 0]})}}
    hits, ranks = language_table(values, wilson).systems
    assert {mean.interval.method for mean in hits.languages if mean.interval} == {"wilson"}
    assert {mean.interval.method for mean in ranks.languages if mean.interval} == {"t"}


def test_all_tests_of_all_systems_are_one_family() -> None:
    same = {"de": [1, 0, 1], "en": [1, 0, 1]}
    first, second = table({"a": HAND, "b": same}).systems
    assert first.worst is not None
    assert first.worst.family == 4
    assert first.worst.p_corrected == pytest.approx(4 * DE_EN)
    assert (second.worst, second.shown, second.pairs) == (None, None, 1)  # nothing to tell apart


def test_each_measure_is_a_family_unless_all_are_one() -> None:
    values = {HITS: {"a": arrays(HAND)}, "RR": {"a": arrays(HAND)}}
    for family, size in (("measure", 3), ("all", 6)):
        chosen = Settings(family=family, resamples=100)  # type: ignore[arg-type]
        result = language_table(values, chosen)
        for row in result.systems:
            assert row.worst is not None
            assert row.worst.family == size
        assert result.systems[0].worst.p_corrected == pytest.approx(size * DE_EN)  # type: ignore[union-attr]
        assert len(result.findings) == 1  # only of the main measure


def test_the_second_and_third_pair_are_corrected_by_holm() -> None:
    """With the first pair gone the others decide: their p-values are multiplied by less."""
    row = only(table({"a": {"en": HAND["en"], "fr": HAND["fr"]}}))
    assert row.worst is not None
    assert (row.worst.better, row.worst.worse) == ("fr", "en")
    assert row.worst.p_corrected == row.worst.p == pytest.approx(EN_FR)
    assert row.worst.interval.low <= 0 < row.worst.interval.high
    row = only(table({"a": {"de": HAND["de"], "fr": HAND["fr"]}}))
    assert row.worst is not None
    assert row.worst.p == pytest.approx(DE_FR)


def test_the_worst_pair_need_not_be_the_one_that_is_shown() -> None:
    """Two queries of nl are furthest from de, and say little; forty of fr say enough."""
    by_language = {"de": [0.9, 1.0] * 20, "fr": [0.5, 0.4] * 20, "nl": [0.3, 0.0]}
    result = table({"a": by_language}, "RR")
    row = only(result)
    assert row.worst is not None
    assert row.shown is not None
    assert (row.worst.better, row.worst.worse) == ("de", "nl")
    assert (row.shown.better, row.shown.worse) == ("de", "fr")
    assert row.worst.p_corrected > 0.05 >= row.shown.p_corrected
    [finding] = result.findings
    assert "0.950 in de (40 queries) and 0.450 in fr (40 queries)" in finding.message


def test_less_is_better() -> None:
    by_language = {"de": [0.1, 0.0, 0.1, 0.1] * 5, "en": [0.6, 0.7, 0.5, 0.8] * 5}
    result = table({"a": by_language}, "FallOut(collection=100)")
    pair = only(result).worst
    assert pair is not None
    assert (pair.better, pair.worse) == ("de", "en")
    assert pair.difference == pytest.approx(0.075 - 0.65)
    assert pair.interval.low < pair.difference < pair.interval.high < 0
    [sentences, _] = languages_section(result).blocks
    assert isinstance(sentences, Sentences)
    assert sentences.sentences[0].text.startswith("a: better in de than in en by 0.5750 [0.")


# --- translations


def cases(count: int) -> list[str]:
    return [f"c{number:02}" for number in range(count)]


def test_translations_are_compared_case_by_case() -> None:
    random = np.random.default_rng(1)
    hard = random.random(30)
    de, en = hard, np.clip(hard - 0.03 + random.normal(0, 0.03, 30), 0, 1)
    order = random.permutation(30)
    ids = cases(30)
    apart = only(table({"a": {"de": de, "en": en}}, "RR"))
    together = only(
        table(
            {"a": {"de": de, "en": en[order]}},
            "RR",
            cases={"de": ids, "en": [ids[place] for place in order]},
        )
    )
    assert together.worst is not None
    assert apart.worst is not None
    assert (together.worst.paired, apart.worst.paired) == (True, False)
    assert together.worst.p == pytest.approx(stats.ttest_rel(de, en).pvalue)
    assert together.worst.p < 0.01
    assert apart.worst.p > 0.5
    assert together.worst.difference == pytest.approx(apart.worst.difference)
    ends = stats.ttest_rel(de, en).confidence_interval(0.95)
    interval = together.worst.interval
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high))


@pytest.mark.parametrize(
    "named",
    [
        {"de": ["c1", "c2", "c3"], "en": ["c1", "c2", "c4"]},
        {"de": ["c1", "c1", "c3"], "en": ["c1", "c1", "c3"]},
        {"de": ["c1", "c2", "c3"]},
    ],
)
def test_other_cases_are_not_paired(named: Any) -> None:
    by_language = {"de": [1, 0, 1], "en": [0, 0, 1]}
    pair = only(table({"a": by_language}, cases=named)).worst
    assert pair is not None
    assert not pair.paired


def test_cases_must_fit() -> None:
    with pytest.raises(InputError, match="a, de: expected a case for each of 5 queries, got 2"):
        table({"a": HAND}, cases={"de": ["c1", "c2"]})


# --- small and empty


def test_a_language_of_one_query_is_shown_and_not_tested() -> None:
    result = table({"a": HAND | {"nl": [1]}})
    row = only(result)
    single = row.of("nl")
    assert single is not None
    assert (single.n, single.mean, single.interval) == (1, 1.0, None)
    assert row.pairs == 3  # as without it
    assert row.variance == pytest.approx(np.var([1.0, 0.0, 0.6, 1.0]))
    [_, shown] = languages_section(result).blocks
    assert isinstance(shown, Table)
    assert shown.notes[-1].endswith("but in mean and variance: nl")
    alone = table({"a": {"nl": [1], "de": [0]}})
    assert (only(alone).worst, only(alone).pairs, only(alone).spread) == (None, 0, 1.0)
    [sentences, _] = languages_section(alone).blocks
    assert isinstance(sentences, Sentences)
    assert "nothing is tested" in sentences.sentences[0].text


def test_a_system_may_lack_a_language() -> None:
    result = table({"a": HAND, "b": {"fr": [1, 1], "nl": [0, 1], "en": []}})
    assert result.languages == ("de", "en", "fr", "nl")
    second = result.systems[1]
    assert [mean.language for mean in second.languages] == ["fr", "nl"]
    assert (second.mean, second.pairs) == (0.75, 1)
    [_, shown] = languages_section(result).blocks
    assert isinstance(shown, Table)
    assert [cell.value for cell in shown.rows[1][1:5]] == [None, None, 1.0, 0.5]
    assert [column.note for column in shown.columns[1:5]] == ["5", "5", "", "2"]


@pytest.mark.parametrize("values", [{}, {"RR": {}}, {"RR": {"a": {}}}, {"RR": {"a": {"de": []}}}])
def test_nothing_is_refused(values: Any) -> None:
    with pytest.raises(InputError, match="at least one"):
        language_table(values)


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(InputError, match="NaN"):
        language_table({"RR": {"a": {"de": np.array([float("nan")])}}})


@pytest.mark.parametrize("value", [0.0, 1.0, 1 / 3])
def test_constant_scores(value: float) -> None:
    result = table({"a": {"de": [value] * 7, "en": [value] * 3, "fr": [value] * 12}}, "RR")
    row = only(result)
    assert (row.variance, row.spread, row.worst, row.shown) == (0.0, 0.0, None, None)
    assert row.mean == pytest.approx(value)
    assert result.findings == ()


def test_thirty_languages() -> None:
    random = np.random.default_rng(4)
    names = [f"l{number:02}" for number in range(30)]
    result = table({s: {name: random.random(9) for name in names} for s in "abc"}, "RR")
    assert [row.pairs for row in result.systems] == [435] * 3
    assert result.systems[0].worst is not None
    assert result.systems[0].worst.family == 3 * 435
    assert result.findings == ()
    section = languages_section(result)
    [_, summary] = section.blocks
    [bars, heat, by_language] = section.details
    assert isinstance(summary, Table)
    assert isinstance(by_language, Table)
    assert isinstance(bars, Chart)
    assert [bar.label for bar in bars.bars] == names
    assert isinstance(heat, Heatmap)
    assert heat.columns == ("a", "b", "c")
    assert [row.label for row in heat.rows] == names
    assert [row[0].value for row in summary.rows] == ["a", "b", "c"]
    assert [row[0].value for row in by_language.rows] == names
    text = as_text(Document("", (Section("", section.all_blocks),)))
    assert max(map(len, text.splitlines())) <= 100


# --- how often it is right


def test_no_alarm_where_nothing_differs() -> None:
    """Two systems, four languages of different sizes, one of them with ten times the queries."""
    random = np.random.default_rng(5)
    alarms = 0
    for _ in range(200):
        values = {
            system: {
                language: 1 / random.geometric(0.4, size)
                for language, size in (("de", 100), ("en", 40), ("fr", 20), ("nl", 10))
            }
            for system in "ab"
        }
        alarms += bool(table(values, "RR").findings)
    assert alarms <= 17  # 10 expected at most; P(> 17 | 5 %) is 0.01


def test_a_planted_difference_is_seen() -> None:
    random = np.random.default_rng(6)
    seen = 0
    for _ in range(20):
        values = {
            language: np.clip(random.normal(mean, 0.2, 60), 0, 1)
            for language, mean in (("de", 0.7), ("en", 0.7), ("fr", 0.5))
        }
        result = table({"a": values}, "RR")
        pair = only(result).shown
        seen += pair is not None and pair.worse == "fr"
    assert seen >= 19


LANGUAGE_VALUES = st.lists(st.integers(0, 4).map(lambda part: part / 4), min_size=1, max_size=9)
WORLDS = st.dictionaries(
    st.sampled_from("ab"),
    st.dictionaries(st.sampled_from(["de", "en", "fr", "nl"]), LANGUAGE_VALUES, min_size=1),
    min_size=1,
)


@settings(max_examples=60, deadline=None)
@given(WORLDS, st.booleans(), st.sampled_from([0.01, 0.05, 0.3]))
def test_interval_and_corrected_p_agree(world: Any, paired: bool, alpha: float) -> None:
    if paired:
        size = min(len(values) for given in world.values() for values in given.values())
        world = {
            system: {language: values[:size] for language, values in given.items()}
            for system, given in world.items()
        }
    named = dict.fromkeys(["de", "en", "fr", "nl"], cases(size)) if paired else None
    chosen = Settings(resamples=100, interval="t", alpha=alpha)
    for row in table(world, "RR", cases=named, settings=chosen).systems:
        assert (row.shown is None) == (row.differing == 0)
        assert row.spread >= 0
        assert row.variance == pytest.approx(np.var([mean.mean for mean in row.languages]))
        for pair in (row.worst, row.shown):
            if pair is not None:
                holds_zero = pair.interval.low <= 0 <= pair.interval.high
                assert holds_zero == (pair.p_corrected > alpha)
                assert pair.interval.low <= pair.difference <= pair.interval.high
                assert pair.p <= pair.p_corrected
                assert pair.difference > 0
                if all(mean.n > 1 for mean in row.languages) and pair == row.worst:
                    assert pair.difference == pytest.approx(row.spread)


# --- the analysis


def inputs(
    languages: list[Any], ranks: dict[str, list[int]], measures: Any = "RR", **more: Any
) -> Inputs:
    """Make a world of queries with one relevant document each, at the given rank."""
    names = [f"q{number:03}" for number in range(len(languages))]
    runs = {
        system: {
            name: [*(f"x{n}" for n in range(rank - 1)), "d"]
            for name, rank in zip(names, places, strict=True)
        }
        for system, places in ranks.items()
    }
    queries = [
        (name, "a text", {} if language is None else {"language": language})
        for name, language in zip(names, languages, strict=True)
    ]
    given: dict[str, Any] = {
        "scores": rs.evaluate({name: {"d": 1} for name in names}, runs, measures),
        "queries": queries,
        "settings": FAST,
    }
    return Inputs(**given | more)


def look(world: Inputs, **config: Any) -> Languages:
    answer = LANGUAGES.answer(LanguagesConfig(**config), world)
    assert isinstance(answer, Languages)
    return answer


def refused(world: Inputs, **config: Any) -> str:
    answer = LANGUAGES.answer(LanguagesConfig(**config), world)
    assert isinstance(answer, NotApplicable)
    return answer.reason


NAMED = ["en"] * 20 + ["de"] * 40
PLACES = [4, 5] * 10 + [1, 2] * 20


def test_found() -> None:
    result = look(inputs(NAMED, {"a": PLACES, "b": [1, 2] * 30}))
    assert result.languages == ("de", "en")  # the largest first
    differ, mixed = result.findings
    assert (differ.code, differ.severity, differ.count) == ("RS606", "warning", 1)
    assert differ.message == (
        "a: RR is 0.750 in de (40 queries) and 0.225 in en (20 queries), a difference of 0.525 "
        "(p < 0.0001 corrected for 2 tests)"
    )
    assert (mixed.code, mixed.severity, mixed.count) == ("RS607", "note", 2)
    assert mixed.message == "the mean over all 60 queries mixes 2 languages: de 40, en 20"
    [sentences, shown] = LANGUAGES.section(result).blocks
    assert isinstance(sentences, Sentences)
    assert isinstance(shown, Table)
    first, second = (sentence.text for sentence in sentences.sentences)
    assert first.startswith("a: better in de than in en by 0.5250 [0.")
    assert second == "b: no two languages are shown to differ by more than chance."
    assert [f"{column.title} {column.note}".strip() for column in shown.columns] == [
        "system",
        "de 40",
        "en 20",
        "mean",
        "variance",
        "worst pair",
        "difference",
        "p",
    ]
    assert [cell.value for cell in shown.rows[0][:3]] == ["a", 0.75, pytest.approx(0.225)]
    assert (shown.rows[0][6].marker, shown.rows[0][6].tone) == ("†", "bad")


def test_nothing_found() -> None:
    result = look(inputs(["de", "en"] * 20, {"a": [1, 1, 2, 2] * 10}))
    assert result.findings == ()  # nor are languages of the same size mixed unevenly


def test_all_measures_that_are_means() -> None:
    world = inputs(NAMED, {"a": PLACES}, ["NumRet", "RR", "R@3"])
    result = look(world)
    assert [row.measure for row in result.systems] == ["RR", "R@3"]
    assert result.measure == "RR"
    *_, details = LANGUAGES.section(result).details
    assert isinstance(details, Table)
    assert details.title == "R@3"
    asked = look(world, measures=("recall_3",))
    assert [row.measure for row in asked.systems] == ["R@3"]


def test_not_applicable() -> None:
    world = inputs([None] * 4, {"a": [1] * 4})
    assert refused(world) == "no query has its language in the field language"
    assert refused(inputs(["de"] * 4, {"a": [1] * 4})) == (
        "there is only one language, de (4 queries)"
    )
    two = inputs(["de", "en"] * 2, {"a": [1] * 4}, ["RR", "NumRet"])
    assert refused(two, field="langage").startswith("unknown field of the queries 'langage'")
    assert refused(two, measures=("NumRet",)) == "NumRet is no mean over queries"
    assert "unknown measure in these scores" in refused(two, measures=("P@7",))
    none = inputs(["de", "en"] * 2, {"a": [1] * 4}, ["NumRet"])
    assert refused(none) == "no measure is a mean over queries"


def test_what_a_config_says_is_the_same_when_it_was_recorded() -> None:
    """A record holds the defaults too: `benchmark verify` must give the same reason from it."""
    world = inputs([None] * 4, {"a": [1] * 4})
    recorded = LanguagesConfig.model_validate(LanguagesConfig().to_dict())
    assert LANGUAGES.answer(recorded, world) == LANGUAGES.answer(LanguagesConfig(), world)


def test_a_field_that_was_named_must_be_there() -> None:
    queries = inputs(["de", "en"], {"a": [1, 1]}).queries
    assert LANGUAGES.check is not None
    assert queries is not None
    LANGUAGES.check(LanguagesConfig(), [("q", "text", {})])  # nobody named it
    LANGUAGES.check(LanguagesConfig(field="language"), queries)
    with pytest.raises(InputError, match=r"languages: unknown field .* nearest: language"):
        LANGUAGES.check(LanguagesConfig(field="langage"), queries)


def test_missing_and_odd_languages() -> None:
    languages = ["German"] * 6 + [" English "] * 6 + [None, "", ["fr"], ["fr", "de"], False, 7]
    result = look(inputs(languages, {"a": [1, 2] * 9}))
    row = only(result)
    # of YAML, an unquoted no (Norwegian) is false; a list of one is that one; two are no language
    assert [(mean.language, mean.n) for mean in row.languages] == [
        ("English", 6),
        ("German", 6),
        ("7", 1),
        ("fr", 1),
        ("no", 1),
    ]
    assert result.unlabelled == 3
    [mixed] = result.findings
    assert mixed.message == (
        "the mean over all 18 queries mixes 5 languages: English 6, German 6, 7 1, fr 1, no 1, and "
        "3 without a language"
    )
    [_, shown] = LANGUAGES.section(result).blocks
    assert isinstance(shown, Table)
    assert shown.notes[-1] == "3 queries without a language are in no column"


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
    values = np.array([1, 1 / 2, 1, 1, 1 / 2, 1 / 3] * 5).reshape(-1, 2)
    exact = stats.ttest_rel(values[:, 0], values[:, 1]).pvalue
    flips = 2 * 0.5**10  # ten of fifteen differ, all in the same direction
    assert pair.p == pytest.approx(max(exact, flips))
    partly = [
        (*query[:2], query[2] if number else {"language": "de"})
        for number, query in enumerate(queries)
    ]
    other = only(look(Inputs(scores=world.scores, queries=partly, settings=FAST))).worst
    assert other is not None
    assert not other.paired


# --- hostile names

HOSTILE = [
    "<script>alert(1)</script>",
    "two\nlines",
    "__proto__",
    "constructor",
    "a | b `c` [d](e)",
    "\x1b[31mred",
    "$\\input{x}$ & 100%",
    "=1+1",
    "l" * 300,
    "\u202edrawkcab",
]


class Scripts(HTMLParser):
    """Collects the texts of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tag = ""
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, _: Any) -> None:
        self.tag = tag

    def handle_data(self, data: str) -> None:
        if self.tag == "script":
            self.texts.append(data)


@pytest.mark.parametrize("names", [HOSTILE[:5], HOSTILE[5:], HOSTILE])
def test_hostile_names(names: list[str]) -> None:
    """Few names are columns, many are rows."""
    random = np.random.default_rng(8)
    values = {
        name: np.clip(random.normal(place % 2, 0.1, 12), 0, 1) for place, name in enumerate(names)
    }
    result = table({"<b>a</b>": values}, "RR")
    assert result.findings
    assert result.languages == tuple(names)
    section = languages_section(result)
    document = Document("x", (Section("f", (Findings(result.findings),)), section))
    text = as_text(Document("x", (Section("s", section.all_blocks),)))
    assert not {"\x1b", "\u202e"} & set(text)
    assert max(map(len, text.splitlines())) <= 100
    html = page(document)
    scripts = Scripts()
    scripts.feed(html)
    assert not any("alert" in script for script in scripts.texts)
    assert "<b>a</b>" not in html
    assert not {"\x1b", "\u202e"} & set(html)
    markdown = as_markdown(document)
    assert "<script" not in markdown
    lines = [line for line in markdown.splitlines() if line.startswith("| &lt;b&gt;a&lt;/b&gt; ")]
    width = len(names) + 6 if len(names) <= 8 else 6  # name, languages and summary in one row
    assert [len(re.findall(r"(?<!\\)\|", line)) - 1 for line in lines] == [width]
    assert "\\input{x}" not in as_latex(document)
    head, *rows = csv.reader(io.StringIO(as_csv(document)))
    assert [len(row) for row in rows] == [len(head)]
