"""An existing run as a system: all at once or query by query, the answers are the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope import Run
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system

RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3", "q4"]),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9).map(float), max_size=6),
    max_size=4,
)


@settings(deadline=None)
@given(RUNS, st.integers(1, 7), st.permutations(["q1", "q2", "q3", "q9"]), st.booleans())
def test_all_at_once_is_search(
    answers: dict[str, dict[str, float]], depth: int, asked: list[str], ordered: bool
) -> None:
    if ordered:  # such that scores fall
        answers = {
            query_id: dict(sorted(scores.items(), key=lambda pair: -pair[1]))
            for query_id, scores in answers.items()
        }
    spec: dict[str, Any] = {"run": {"path": Run(answers)}}
    system = build_system(spec)
    queries = [Query(query_id, "text") for query_id in asked]
    expected = [ranking.pairs() for ranking in system.search(queries, depth)]
    fetched = fetch(system, queries, depth=depth)
    assert fetched.run.query_ids != [] or not queries
    assert [list(fetched.run[query_id].items()) for query_id in asked] == expected
    whole = system.ready_run(queries, depth)
    if whole is not None:
        assert [list(whole[query_id].items()) for query_id in asked] == expected


def test_the_part_that_is_asked_for_is_ready() -> None:
    system = build_system({"run": {"path": Run({"q1": {"a": 3.0, "b": 2.0}, "q2": {"c": 9.0}})}})
    whole = system.ready_run([Query("q2", ""), Query("q0", ""), Query("q1", "")], 1)
    assert whole is not None
    assert whole.to_dict() == {"q2": {"c": 9.0}, "q1": {"a": 3.0}, "q0": {}}
    tied = build_system({"run": {"path": Run({"q1": {"a": 3.0, "b": 3.0}})}})
    part = tied.ready_run([Query("q1", "")], 5)
    assert part is not None
    assert list(part["q1"]) == ["b", "a"], "in the one order of documents"
    rankings = tied.search([Query("q1", "")], 5)
    assert list(rankings[0].doc_ids) == ["b", "a"]
