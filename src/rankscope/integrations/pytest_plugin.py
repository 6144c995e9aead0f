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
    from rankscope.runs.order import Order
    from rankscope.statistics.gate import GateResult
    from rankscope.statistics.paired import Test


class PowerWarning(UserWarning):
    """A test passed that could not have seen a drop as large as the margin."""


class DataWarning(UserWarning):
    """The scores of a run mean less than they seem: it lacks queries, all its scores are equal."""


class Gatekeeper:
    """What the fixture ``rankscope`` gives."""

    def assert_no_regression(
        self,
        baseline: Any,
        candidate: Any,
        measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
        *,
        qrels: Any = None,
        max_drop: float = 0.01,
        alpha: float = 0.05,
        power: float = 0.8,
        require_power: bool = False,
        test: Test = "permutation",
        resamples: int = 10_000,
        seed: int = 0,
        profile: str | None = None,
        baseline_run: str | None = None,
        candidate_run: str | None = None,
        order: Order = "score",
    ) -> GateResult:
        """Fail on a drop that is both significant and larger than ``max_drop``.

        Takes what `rankscope.gate` takes: score files, `Scores`, or, with ``qrels``, runs as paths,
        dicts or tables. The message is the gate's table and verdict; a test that could not
        have seen such a drop gives a `PowerWarning`, or fails with ``require_power``. What makes
        the scores of a run mean less than they seem gives a `DataWarning`; runs that cannot be
        scored or compared raise `rankscope.InputError`.
        """
        __tracebackhide__ = True
        from rankscope.document.terminal import as_text  # noqa: PLC0415
        from rankscope.reports.gating import gate_document  # noqa: PLC0415
        from rankscope.statistics.gate import gate  # noqa: PLC0415

        result = gate(
            baseline,
            candidate,
            measures,
            qrels=qrels,
            max_drop=max_drop,
            alpha=alpha,
            power=power,
            require_power=require_power,
            test=test,
            resamples=resamples,
            seed=seed,
            profile=profile,
            baseline_run=baseline_run,
            candidate_run=candidate_run,
            order=order,
        )
        if not result.passed:
            raise AssertionError("\n" + as_text(gate_document(result)))
        for finding in result.findings:
            text = f"{finding.system}: {finding.message} [{finding.code}]; {finding.advice}"
            warnings.warn(text, DataWarning, stacklevel=2)
        for check in result.checks:
            if check.warning:
                warnings.warn(f"{check.measure} {check.warning}", PowerWarning, stacklevel=2)
        return result


@pytest.fixture(scope="session")
def rankscope() -> Gatekeeper:
    """Compare retrieval runs: ``rankscope.assert_no_regression(baseline, candidate, …)``."""
    return Gatekeeper()
