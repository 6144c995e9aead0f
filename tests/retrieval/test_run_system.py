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


@settings(max_examples=40, deadline=None)
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
    run = system.ready_run(queries, depth)
    assert run is not None
    assert [list(run[query_id].items()) for query_id in asked] == expected
