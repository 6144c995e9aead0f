"""The pytest plugin: a fixture ``rankscope`` that fails a test on a regression, or below a limit.

::

    def test_search_is_no_worse(rankscope):
        rankscope.assert_no_regression("baseline.json", "candidate.run", qrels="qrels.tsv")

    def test_search_is_good(rankscope):
        rankscope.assert_at_least("candidate.run", {"nDCG@10": 0.4}, qrels="qrels.tsv")

Loaded by every pytest run where rankscope is installed, so nothing heavy is imported here.
"""

from __future__ import annotations

import pytest

from rankscope.integrations.asserting import assert_at_least, assert_no_regression


class Gatekeeper:
    """What the fixture ``rankscope`` gives."""

    assert_at_least = staticmethod(assert_at_least)
    assert_no_regression = staticmethod(assert_no_regression)

    def __repr__(self) -> str:
        return "<assertions of rankscope>"


@pytest.fixture(scope="session")
def rankscope() -> Gatekeeper:
    """Check retrieval runs: ``rankscope.assert_no_regression(baseline, candidate, …)``."""
    return Gatekeeper()
