"""Baselines: means beside those of chance, plain search and the best ranking."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis import reference_rankings
from rankscope.diagnosis.above_baselines import Row, improvements
from rankscope.diagnosis.baselines import Baselines
from rankscope.errors import MissingExtraError
from rankscope.findings import NotApplicable
from rankscope.retrieval.lexical import plain_search
from rankscope.retrieval.protocol import Query
from rankscope.statistics.matrix import Scale
from rankscope.statistics.settings import Settings


def look(qrels: Any, runs: Any, measures: Any, **given: Any) -> Baselines:
    diagnosis = rs.diagnose(qrels, runs, measures, only="baselines", **given)
    answer = getattr(diagnosis.analyses, "baselines")  # noqa: B009
    assert isinstance(answer, Baselines)
    json.dumps(answer.to_dict(), allow_nan=False)
    return answer


def known(documents: int) -> dict[str, Any]:
    return {"configs": {"baselines": {"documents": documents}}}


def codes(result: Baselines) -> list[str]:
    return [finding.code for finding in result.findings]


ONE_TARGET = {f"q{n}": {f"d{n}": 1} for n in range(20)}
FILLER = [f"x{n}" for n in range(30)]


def ranked(positions: dict[str, int]) -> dict[str, list[str]]:
    """Make a run in which each query's target has a rank."""
    return {
        query_id: [*FILLER[: rank - 1], f"d{query_id[1:]}", *FILLER[rank:]]
        for query_id, rank in positions.items()
    }


GOOD = ranked({query_id: 1 + n % 3 for n, query_id in enumerate(ONE_TARGET)})


# --- random --------------------------------------------------------------------------------------


def test_the_number_of_documents_is_that_of_the_corpus() -> None:
    corpus = {f"d{n}": "text" for n in range(20)} | dict.fromkeys(FILLER, "text")
    result = look(ONE_TARGET, {"good": GOOD}, ["Success@5"], corpus=corpus, **known(7))
    assert result.documents == 50
    assert result.means[0].random is not None
    assert result.means[0].random.mean == pytest.approx(0.1)
    # half of the targets are in no corpus: nobody can find them by chance
    part = {name: text for name, text in corpus.items() if name not in {f"d{n}" for n in range(10)}}
    result = look(ONE_TARGET, {"good": GOOD}, ["Success@5"], corpus=part)
    assert result.means[0].random is not None
    assert result.means[0].random.mean == pytest.approx(10 / 20 * 5 / 40)


def test_without_a_number_of_documents_the_rest_is_there() -> None:
    result = look(ONE_TARGET, {"good": GOOD}, ["Success@1", "RR"])
    assert result.documents is None
    assert set(result.absent) == {"random", "title-only", "full text"}
    assert [row.ideal for row in result.means] == [1.0, 1.0]
    assert result.improvements == ()
    qrels = {"q": {"a": 1, "b": 1, "c": 0}}
    assert "random" in look(qrels, {"s": {"q": ["a"]}}, ["R@1"], **known(2)).absent


def random_runs(count: int, seed: int, documents: int = 40) -> dict[str, dict[str, list[str]]]:
    random = np.random.default_rng(seed)
    names = [f"d{n}" for n in range(documents)]
    return {
        f"s{place}": {
            query_id: [names[at] for at in random.permutation(documents)] for query_id in ONE_TARGET
        }
        for place in range(count)
    }


@pytest.mark.parametrize("measure", ["Success@5", "AP"])
def test_random_systems_are_hardly_ever_shown_to_be_better(measure: str) -> None:
    result = look(ONE_TARGET, random_runs(24, 0), [measure], **known(40))
    verdicts = [row.verdict for row in result.against_random]
    assert verdicts.count("not shown to be better") >= 22  # 24 systems at 0.05 over each pair
    alone = look(ONE_TARGET, random_runs(1, 0), [measure], **known(40))
    assert codes(alone) == ["RS661"]
    assert [row.gain for row in alone.advice] == [pytest.approx(1 - alone.means[0].systems["s0"])]
    [improvement] = alone.improvements
    assert improvement.interval.low <= 0 <= improvement.interval.high


def test_a_system_upside_down_is_worse_than_random() -> None:
    worst = {query_id: [*FILLER, f"d{query_id[1:]}"] for query_id in ONE_TARGET}
    result = look(ONE_TARGET, {"bad": worst, "good": GOOD}, ["RR"], **known(31))
    assert [row.verdict for row in result.against_random] == ["worse", "better"]
    [finding] = result.findings
    assert (finding.code, finding.system) == ("RS662", "bad")
    assert result.advice == ()  # it is about the best system


def test_a_single_lucky_query_is_judged_by_its_chance() -> None:
    """One query with its target first of 200: a random ranking does so in 1 of 200 cases."""
    result = look({"q": {"a": 1}}, {"s": {"q": ["a", "b"]}}, ["Success@1"], **known(200))
    [row] = result.against_random
    assert row.verdict == "better"
    assert 0.001 < row.p_better < 0.01
    [improvement] = result.improvements
    assert improvement.interval.low > 0
    result = look({"q": {"a": 1}}, {"s": {"q": ["a", "b"]}}, ["Success@1"], **known(10))
    assert result.against_random[0].verdict == "not shown to be better"
    assert result.improvements[0].interval.low <= 0


def test_with_too_much_to_draw_a_bound_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_rankings, "DRAWN", 100)
    for measure in ("Success@5", "AP"):
        result = look(ONE_TARGET, {"good": GOOD} | random_runs(1, 1), [measure], **known(50))
        good, chance = result.against_random
        assert good.method == chance.method == "Cantelli's inequality"
        assert good.verdict == "better"
        assert chance.verdict == "not shown to be better"
    row = look(ONE_TARGET, {"good": GOOD}, ["Success@5"], **known(50)).against_random[0]
    z = (1 - 0.1) / math.sqrt(0.1 * 0.9 / 20)
    assert row.p_better == pytest.approx(1 / (1 + z**2))


# --- plain search --------------------------------------------------------------------------------

ANIMALS = ["otter", "badger", "heron", "lynx", "newt", "stoat", "adder", "raven", "finch", "carp"]
CORPUS = {
    f"d{n}": {
        "title": animal if n < 5 else "notes",
        "text": f"a page about nothing but one {animal}",
    }
    for n, animal in enumerate(ANIMALS)
} | {f"x{n}": {"title": f"filler {n}", "text": f"other words {n}"} for n in range(30)}
ASKED = {f"q{n}": f"where is the {animal}" for n, animal in enumerate(ANIMALS)}
TARGETS = {f"q{n}": {f"d{n}": 1} for n in range(10)}
COLLECTION: dict[str, Any] = {"corpus": CORPUS, "queries": ASKED}


def found_first(count: int) -> dict[str, list[str]]:
    """Make a run that has the target first in some queries, and 6th in others."""
    return {
        f"q{n}": [f"d{n}", *FILLER[:6]] if n < count else [*FILLER[:5], f"d{n}"] for n in range(10)
    }


def test_plain_search_of_the_tutorial() -> None:
    """Title-only 50 %, full text 100 % (+50 pp): five of ten animals are in titles."""
    measures = ["Success@1", "RR"]
    runs = {"agent": found_first(8)}
    result = look(TARGETS, runs, measures, **COLLECTION)
    assert result.absent == {}
    assert result.documents == 40
    titles, texts, agent = result.improvements[:3]
    assert (titles.against, texts.against, agent.against) == ("random", "title-only", "full text")
    assert texts.difference == 0.5
    assert texts.relative == 1.0
    # 5 of 10 differ by 1: Student's t with 9 degrees of freedom
    reach = 2.2621571628 * math.sqrt(10 / 9 * 0.25) / math.sqrt(10)
    assert texts.interval.low == pytest.approx(0.5 - reach)
    assert agent.verdict == "no difference shown"
    assert agent.interval.low <= 0 <= agent.interval.high
    assert codes(result) == ["RS663"]
    [advice] = result.advice
    assert advice.gain == pytest.approx(0.2)


def test_a_system_that_plain_search_beats() -> None:
    result = look(TARGETS, {"agent": found_first(0)}, ["Success@1"], **COLLECTION)
    assert [code for code in codes(result) if code != "RS661"] == ["RS664"]
    assert result.improvements[2].verdict == "worse"
    assert result.improvements[2].interval.high < 0
    assert max(advice.gain for advice in result.advice) == 1.0


def test_a_system_that_is_plain_search_is_not_blamed_for_it() -> None:
    run = plain_search.PlainSearch(rs.Corpus(CORPUS), [Query(*pair) for pair in ASKED.items()]).run(
        "text", 10
    )
    result = look(TARGETS, {"bm25": run}, ["RR"], **COLLECTION)
    assert result.improvements[-1].difference == 0
    assert (codes(result), result.advice) == ([], ())


def test_the_same_mean_is_not_the_same_for_every_query() -> None:
    """One query up and one down: the means are equal, and an interval says how surely."""
    rows = [Row("base", np.array([1.0, 0.5, 0.0]), 0.5), Row("s", np.array([0.5, 1.0, 0.0]), 0.5)]
    [row] = improvements(Scale.of("RR"), rows[:1], rows[1:], Settings(), tested=True)
    assert (row.difference, row.is_same) == (0, False)
    [row] = improvements(Scale.of("RR"), rows[:1], rows[:1], Settings(), tested=True)
    assert (row.difference, row.is_same) == (0, True)


@pytest.mark.parametrize(
    ("document", "config", "absent"),
    [
        ("some words", {}, {"title-only": "no titles"}),
        ({"title": "word"}, {}, {"title-only": "nothing but titles"}),
        ({"minutes": 5}, {}, {"title-only": "no titles", "full text": "no text"}),
        ("words", {"search_up_to": 9}, {"title-only": "search_up_to (9)", "full text": "10"}),
        ("words", {"language": "klingon"}, {"title-only": "titles", "full text": "klingon"}),
    ],
)
def test_what_cannot_be_searched_is_said(
    document: Any, config: Any, absent: dict[str, str]
) -> None:
    corpus = {f"d{n}": document for n in range(10)}
    given = {"corpus": corpus, "queries": ASKED, "configs": {"baselines": config}}
    result = look(TARGETS, {"s": found_first(8)}, ["RR"], **given)
    assert result.absent.keys() == absent.keys()
    for name, word in absent.items():
        assert word in result.absent[name]


def test_without_the_engine_the_rest_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str, *, package: str, needed_for: str) -> None:
        raise MissingExtraError(package, needed_for=needed_for, extra="retrieval")

    monkeypatch.setattr(plain_search, "check_engine", missing)
    result = look(TARGETS, {"s": found_first(8)}, ["RR"], **COLLECTION)
    assert "rankscope[retrieval]" in result.absent["title-only"]
    assert result.absent["title-only"] == result.absent["full text"]
    assert result.means[0].random is not None


# --- edges ---------------------------------------------------------------------------------------


def test_measures_that_are_no_means_are_left_out() -> None:
    result = look(TARGETS, {"s": found_first(8)}, ["NumRelRet", "RR", "GMAP"], **known(40))
    assert result.left_out == ("NumRelRet", "GMAP")
    assert result.measure == "RR"
    diagnosis = rs.diagnose(TARGETS, {"s": found_first(8)}, ["NumRet"], only="baselines")
    assert isinstance(getattr(diagnosis.analyses, "baselines"), NotApplicable)  # noqa: B009


def test_a_profile_that_leaves_queries_out() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 0, "b": 0}, "q3": {"c": 1}}
    runs = {"s": {"q1": ["a"], "q2": ["b"], "q3": ["a", "c"]}}
    result = look(qrels, runs, ["R@1"], profile="sentence-transformers", **known(10))
    assert result.means[0].random is not None
    assert result.means[0].systems == {"s": 0.5}
    assert result.means[0].random.mean == pytest.approx(0.1)
