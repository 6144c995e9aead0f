"""The pytest plugin: a fixture ``rankscope`` that fails a test on a regression, or below a limit.

::

    def test_search_is_no_worse(rankscope):
        rankscope.assert_no_regression("baseline.json", "candidate.run", qrels="qrels.tsv")

    def test_search_is_good(rankscope):
        rankscope.assert_at_least("candidate.run", {"nDCG@10": 0.4}, qrels="qrels.tsv")

Loaded by every pytest run where rankscope is installed, so nothing heavy is imported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rankscope.integrations.asserting import (
    QualityError,
    assert_at_least,
    assert_no_regression,
)

if TYPE_CHECKING:
    from collections.abc import Generator


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: Any) -> Generator[None, Any, Any]:
    """Let the verdict be the first that is read, also in the short summary."""
    report = yield
    error = call.excinfo and call.excinfo.value
    if isinstance(error, QualityError) and hasattr(report.longrepr, "reprcrash"):
        before = f"{QualityError.__module__}.{QualityError.__qualname__}: "
        crash, entries = report.longrepr.reprcrash, report.longrepr.reprtraceback.reprentries
        if crash is not None:
            crash.message = f"rankscope: {error}".partition("\n")[0]
        for entry in entries:
            entry.lines = [line.replace(before, "rankscope: ", 1) for line in entry.lines]
    return report
