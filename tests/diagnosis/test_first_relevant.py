"""First relevant documents: a naive twin that reads lists, and the edges."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

import pytest

import rankscope as rs
from diagnosis.test_cutoffs import world
from rankscope.diagnosis.first_relevant import FIRST_RELEVANT, FirstRelevant, SystemFirst
from rankscope.document.blocks import Plot, Table
from rankscope.findings import NotApplicable


def answered(qrels: Any, runs: Any, measure: str = "RR@10") -> Any:
    diagnosis = rs.diagnose(qrels, runs, [measure], only="first_relevant")
    json.loads(diagnosis.to_json())
    str(diagnosis)
    return getattr(diagnosis.analyses, "first_relevant")  # noqa: B009


def look(qrels: Any, runs: Any, measure: str = "RR@10") -> FirstRelevant:
    answer = answered(qrels, runs, measure)
    assert isinstance(answer, FirstRelevant)
    return answer


def at_ranks(*ranks: int | None, length: int = 150) -> tuple[Any, Any]:
    """Make judgments with one relevant document a query, and a run that has it at these ranks."""
    qrels, run = {}, {}
    for number, rank in enumerate(ranks):
        documents = [f"x{place}" for place in range(length)]
        if rank is not None:
            documents[rank - 1] = "a"
        qrels[f"q{number:03}"] = {"a": 1}
        run[f"q{number:03}"] = documents
    return qrels, {"s": run}


def naive(qrels: Any, run: Any, least: float) -> list[float]:
    """Return the rank of the first relevant document by query; infinite where there is none."""
    ranks = []
    for query_id, grades in qrels.items():
        if not any(grade >= least for grade in grades.values()):
            continue
        ordered = sorted(
            run.get(query_id, {}).items(), key=lambda pair: (pair[1], pair[0]), reverse=True
        )
        places = [
            float(rank)
            for rank, (doc, _) in enumerate(ordered, start=1)
            if grades.get(doc, 0) >= least
        ]
        ranks.append(min(places, default=float("inf")))
    return ranks


@pytest.mark.parametrize(("measure", "least"), [("RR@10", 1), ("nDCG@10", 1), ("RR(rel=2)@5", 2)])
@pytest.mark.parametrize("seed", range(4))
def test_against_reading_the_lists(seed: int, measure: str, least: float) -> None:
    qrels, runs = world(seed)
    result = look(qrels, runs, measure)
    for system in result.systems:
        ranks = naive(qrels, runs[system.system], least)
        assert system.queries == len(ranks)
        assert result.no_relevant == len(qrels) - len(ranks)
        for part, count in zip(result.ranges, system.counts, strict=True):
            high = float("inf") if part.high is None else part.high
            inside = [rank for rank in ranks if part.low <= rank <= high and rank < float("inf")]
            assert count == len(inside), part
        assert system.not_retrieved == ranks.count(float("inf"))
        middle = median(ranks)
        assert system.median == (None if middle == float("inf") else middle)
        cutoff = result.cutoff
        assert system.in_top == sum(rank <= cutoff for rank in ranks) / len(ranks)
        assert system.by_rank == tuple(
            pytest.approx(sum(rank <= k for rank in ranks) / len(ranks))
            for k in range(1, len(system.by_rank) + 1)
        )
    second = result.systems[1]
    assert second.missing == sum(
        any(grade >= least for grade in qrels[query_id].values())
        for query_id in qrels
        if query_id not in runs["second"]
    )


def only(result: FirstRelevant) -> SystemFirst:
    [system] = result.systems
    return system


def test_ranks_are_counted_in_ranges() -> None:
    result = look(*at_ranks(1, 1, 2, 3, 4, 5, 6, 10, 11, 20, 21, 50, 51, 100, 101, 150, None))
    system = only(result)
    titles = [part.title for part in result.ranges]
    assert titles == ["1", "2", "3", "4–5", "6–10", "11–20", "21–50", "51–100", "deeper"]
    assert system.counts == (2, 1, 1, 2, 2, 2, 2, 2, 2)
    assert system.not_retrieved == 1
    assert system.median == 11
    assert system.in_top == 8 / 17
    assert len(system.by_rank) == 100
    assert sum(system.counts) + system.not_retrieved == system.queries == 17


def test_ranges_end_where_answers_do() -> None:
    result = look(*at_ranks(1, 9, length=10))
    assert [part.title for part in result.ranges] == ["1", "2", "3", "4–5", "6–10"]
    assert len(only(result).by_rank) == 10


def test_half_that_is_not_retrieved_has_no_median() -> None:
    assert only(look(*at_ranks(1, 2, None, None))).median is None
    assert only(look(*at_ranks(1, 2, 4, None))).median == 3
    assert only(look(*at_ranks(7))).median == 7


def test_ties_are_broken_as_they_were_scored() -> None:
    qrels = {"q": {"b": 1}}
    tied = {"s": {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}}
    assert only(look(qrels, tied)).counts[:3] == (0, 1, 0), "the higher id first: c, b, a"


def test_no_relevant_document_is_not_applicable() -> None:
    answer = answered({"q": {"a": 1}}, {"s": {"q": ["a"]}}, "nDCG(gain={1:0})@10")
    assert answer == NotApplicable(name="first_relevant", reason="no query has a relevant document")


def test_an_empty_answer_has_nothing_retrieved() -> None:
    qrels = {"q": {"a": 1}, "r": {"a": 1}}
    result = look(qrels, {"s": {"q": ["a"], "r": []}})
    assert (only(result).not_retrieved, only(result).missing) == (1, 0)
    result = look(qrels, {"s": {"q": ["a"]}})
    assert (only(result).not_retrieved, only(result).missing) == (1, 1)


def test_the_section_has_a_plot_and_a_table() -> None:
    qrels, runs = at_ranks(1, 3, None)
    plot, table = FIRST_RELEVANT.section(look(qrels, runs)).details
    assert isinstance(plot, Plot)
    assert isinstance(table, Table)
    [curve] = plot.curves
    assert curve.points[:3] == ((1.0, 1 / 3), (2.0, 1 / 3), (3.0, 2 / 3))
    values = [cell.value for cell in table.rows[0]]
    assert values[:4] == ["s", 1, 0, 1]
    assert values[-3:] == [1, 3.0, "66.7%"]


def test_queries_without_relevant_documents_are_said() -> None:
    qrels, runs = at_ranks(1, 2)
    qrels["none"] = {"a": 0}
    runs["s"]["none"] = ["a"]
    result = look(qrels, runs)
    _, table = FIRST_RELEVANT.section(result).details
    assert isinstance(table, Table)
    assert "left out: 1 query without a relevant document" in table.notes
