"""Fails when the search is worse than it has to be, and shows the questions that fail."""

from pathlib import Path

from retriever import search

import rankscope

GOLDEN = Path(__file__).parent / "golden.json"


def test_search_is_good_enough() -> None:
    """The limits are a beginning: raise them as the search gets better."""
    result = rankscope.evaluate_retriever(search, GOLDEN, k=5)
    rankscope.assert_at_least(result, {"hit_rate@5": 0.5, "nDCG@5": 0.4})
