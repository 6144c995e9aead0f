"""Baselines: means beside those of chance, plain search and the best ranking."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis.baselines import Baselines
from rankscope.findings import NotApplicable
from rankscope.retrieval.lexical import plain_search
from rankscope.retrieval.protocol import Query


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
    assert result.ladder[0].mean == pytest.approx(0.1)
    # half of the targets are in no corpus: nobody can find them by chance
    part = {name: text for name, text in corpus.items() if name not in {f"d{n}" for n in range(10)}}
    result = look(ONE_TARGET, {"good": GOOD}, ["Success@5"], corpus=part)
    assert result.ladder[0].mean == pytest.approx(10 / 20 * 5 / 40)


def test_without_a_baseline_there_is_no_answer() -> None:
    qrels: Any = {"q": {"a": 1, "b": 1, "c": 0}}
    for given in ({}, known(2)):  # there are more judged documents than that
        diagnosis = rs.diagnose(qrels, {"s": {"q": ["a"]}}, ["R@1"], only="baselines", **given)
        assert isinstance(getattr(diagnosis.analyses, "baselines"), NotApplicable)  # noqa: B009
    result = look(ONE_TARGET, {"good": GOOD}, ["ERR@5", "RR"], **known(50))
    assert "no formula" in result.absent["random"]
    assert [(row.system, row.gained) for row in result.ladder] == [("good", None)]


def random_runs(count: int, seed: int, documents: int = 40) -> dict[str, dict[str, list[str]]]:
    random = np.random.default_rng(seed)
    names = [f"d{n}" for n in range(documents)]
    return {
        f"s{place}": {
            query_id: [names[at] for at in random.permutation(documents)] for query_id in ONE_TARGET
        }
        for place in range(count)
    }


@pytest.mark.parametrize("measure", ["Success@5", "nDCG@10"])
def test_random_systems_are_not_shown_to_be_better(measure: str) -> None:
    result = look(ONE_TARGET, random_runs(24, 0), [measure], **known(40))
    assert {row.verdict for row in result.ladder[1:]} == {"can't tell"}
    alone = look(ONE_TARGET, random_runs(1, 0), [measure], **known(40))
    [finding] = alone.findings
    assert finding.code == "RS661"
    assert finding.gain == pytest.approx(1 - alone.ladder[1].mean)
    gained = alone.ladder[1].gained
    assert gained is not None
    assert gained.low <= 0 <= gained.high


def test_a_system_upside_down_is_named_and_a_good_one_is_not() -> None:
    worst = {query_id: [*FILLER, f"d{query_id[1:]}"] for query_id in ONE_TARGET}
    result = look(ONE_TARGET, {"bad": worst, "good": GOOD}, ["RR"], **known(31))
    assert [row.verdict for row in result.ladder] == [None, "can't tell", "better"]
    [finding] = result.findings
    assert finding.code == "RS661"
    assert "bad" in finding.message
    assert finding.gain is None  # it is not about the best system


def test_a_single_lucky_query_is_judged_by_its_chance() -> None:
    """One query with its target first of 200: a random ranking does so in 1 of 200 cases."""
    for documents, verdict in ((200, "better"), (10, "can't tell")):
        result = look({"q": {"a": 1}}, {"s": {"q": ["a", "b"]}}, ["Success@1"], **known(documents))
        row = result.ladder[1]
        assert row.p == pytest.approx(1 / documents)
        assert row.verdict == verdict
        assert row.gained is not None
        assert (row.gained.low > 0) == (verdict == "better")


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
    chance, titles, texts, agent = result.ladder
    assert [row.over for row in result.ladder] == [None, "random", "title-only", "full text"]
    assert chance.system == "random"
    assert titles.percent is None
    assert texts.gained is not None
    assert agent.gained is not None
    assert texts.gained.value == 0.5
    assert texts.percent == "+100.0%"
    assert texts.gained.low <= 0 < texts.gained.high  # 5 of 10 differ by 1: p = 1/16
    assert agent.verdict == "can't tell"
    assert agent.gained.low <= 0 <= agent.gained.high
    assert codes(result) == ["RS663"]
    assert result.findings[0].gain == pytest.approx(0.2)


def test_a_system_that_plain_search_beats() -> None:
    result = look(TARGETS, {"agent": found_first(0)}, ["Success@1"], **COLLECTION)
    assert [code for code in codes(result) if code != "RS661"] == ["RS664"]
    agent = result.ladder[3]
    assert agent.verdict == "worse"
    assert agent.gained is not None
    assert agent.gained.high < 0
    assert max(finding.gain or 0 for finding in result.findings) == 1.0


def test_a_system_that_is_plain_search_is_not_blamed_for_it() -> None:
    run = plain_search.PlainSearch(rs.Corpus(CORPUS), [Query(*pair) for pair in ASKED.items()]).run(
        "text", 10
    )
    result = look(TARGETS, {"bm25": run}, ["RR"], **COLLECTION)
    assert result.ladder[-1].verdict == "the same"
    assert codes(result) == []


def test_the_same_mean_is_not_the_same_for_every_query() -> None:
    """Plain search finds all: one query up and one down leaves the mean, and is not the same."""
    run = found_first(10) | {"q0": [*FILLER[:5], "d0"]}
    result = look(TARGETS, {"s": run, "all": found_first(10)}, ["Success@1"], **COLLECTION)
    assert [row.verdict for row in result.ladder[-2:]] == ["can't tell", "the same"]


# --- edges ---------------------------------------------------------------------------------------


def test_measures_that_are_no_means_are_left_out() -> None:
    result = look(TARGETS, {"s": found_first(8)}, ["NumRelRet", "RR", "GMAP"], **known(40))
    assert result.measure == "RR"
    diagnosis = rs.diagnose(TARGETS, {"s": found_first(8)}, ["NumRet"], only="baselines")
    assert isinstance(getattr(diagnosis.analyses, "baselines"), NotApplicable)  # noqa: B009
