"""The pytest plugin: a fixture ``rankscope`` that fails a test on a regression.

::

    def test_search_is_no_worse(rankscope):
        rankscope.assert_no_regression("baseline.json", "candidate.run", qrels="qrels.tsv")

Loaded by every pytest run where rankscope is installed, so nothing heavy is imported here.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.measures.language import Measure
    from rankscope.statistics.gate import GateResult


class UndecidedWarning(UserWarning):
    """The data show neither a regression nor that there is none."""


class DataWarning(UserWarning):
    """The scores of a run mean less than they seem: it lacks queries, all its scores are equal."""


class Gatekeeper:
    """What the fixture ``rankscope`` gives."""

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
        for finding in result.findings:
            text = f"{finding.system}: {finding.message} [{finding.code}]; {finding.advice}"
            warnings.warn(text, DataWarning, stacklevel=2)
        if result.answer == "undecided":
            warnings.warn(result.sentence, UndecidedWarning, stacklevel=2)
        for note in result.notes:
            warnings.warn(note, UndecidedWarning, stacklevel=2)
        return result


@pytest.fixture(scope="session")
def rankscope() -> Gatekeeper:
    """Compare retrieval runs: ``rankscope.assert_no_regression(baseline, candidate, …)``."""
    return Gatekeeper()
