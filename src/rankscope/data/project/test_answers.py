"""Fails when the recorded answers are worse than they have to be, and shows the worst questions."""

from pathlib import Path

import rankscope

GOLDEN = Path(__file__).parent / "golden.json"


def test_answers_are_good_enough() -> None:
    """The limits are a beginning: raise them as the search gets better."""
    rankscope.assert_at_least(GOLDEN, {"hit_rate@5": 0.5, "nDCG@5": 0.4}, qrels=GOLDEN)
