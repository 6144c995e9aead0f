"""The pytest plugin: a fixture ``rankscope`` that fails a test on a regression, or below a limit.

::

    def test_search_is_no_worse(rankscope):
        rankscope.assert_no_regression("baseline.json", "candidate.run", qrels="qrels.tsv")

    def test_search_is_good(rankscope):
        rankscope.assert_at_least("candidate.run", {"nDCG@10": 0.4}, qrels="qrels.tsv")

Loaded by every pytest run where rankscope is installed, so nothing heavy is imported here.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from rankscope.integrations.asserting import assert_at_least, warn_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.measures.language import Measure
    from rankscope.statistics.gate import GateResult


class UndecidedWarning(UserWarning):
    """The data show neither a regression nor that there is none."""


class Gatekeeper:
    """What the fixture ``rankscope`` gives."""

    assert_at_least = staticmethod(assert_at_least)

    def assert_no_regression(
        self,
        baseline: Any,
        candidate: Any,
        measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
        **options: Any,
    ) -> GateResult:
        """Fail on a regression: a drop that is both significant and larger than ``max_drop``.

        Takes what `rankscope.gate` takes: score files, `Scores`, or, with ``qrels``, runs as paths,
        dicts or tables, and all of its options. The message is the gate's table and answer; an
        undecided one gives an `UndecidedWarning`, or fails with ``undecided="fail"``. What makes
        the scores of a run mean less than they seem gives a `DataWarning`; runs that cannot be
        scored or compared raise `rankscope.InputError`.
        """
        __tracebackhide__ = True
        from rankscope.document.terminal import as_text  # noqa: PLC0415
        from rankscope.reports.gating import gate_document  # noqa: PLC0415
        from rankscope.statistics.gate import gate  # noqa: PLC0415

        result = gate(baseline, candidate, measures, **options)
        if not result.passed:
            raise AssertionError("\n" + as_text(gate_document(result)))
        warn_of(result.findings, stacklevel=2)
        if result.answer == "undecided":
            warnings.warn(result.sentence, UndecidedWarning, stacklevel=2)
        for note in result.notes:
            warnings.warn(note, UndecidedWarning, stacklevel=2)
        return result


@pytest.fixture(scope="session")
def rankscope() -> Gatekeeper:
    """Check retrieval runs: ``rankscope.assert_no_regression(baseline, candidate, …)``."""
    return Gatekeeper()
