"""Approximate indexes: recall, the split of the loss, and filters."""

from __future__ import annotations

from typing import Any

import pytest

import rankscope as rs
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.approximation import (
    ApproximationConfig,
    Exactness,
    QueryExactness,
    approximation,
)

QRELS = {f"q{n}": {"d": 1} for n in range(8)}
RUN = {query_id: {"d": 2.0, "x": 1.0} for query_id in QRELS}


def exact(
    system: str,
    hits: list[int],
    *,
    stored: list[int] | None = None,
    filtered: list[float] | None = None,
) -> Exactness:
    return Exactness(
        system=system,
        k=10,
        tolerance=1e-5,
        documents=100,
        filters=filtered is not None,
        queries=tuple(
            QueryExactness(
                query_id=f"q{n}",
                wanted=10,
                hits=count,
                stored_hits=None if stored is None else stored[n],
                filtered=0.0 if filtered is None else filtered[n],
            )
            for n, count in enumerate(hits)
        ),
    )


def look(*systems: Exactness) -> Any:
    runs = {system.system: RUN for system in systems}
    inputs = Inputs(
        scores=rs.evaluate(QRELS, runs, ["nDCG@10"]),
        exactness={system.system: system for system in systems},
    )
    return approximation.answer(ApproximationConfig(), inputs)


def test_nothing_lost_to_the_index_is_nothing_to_the_last_digit() -> None:
    hits = [7, 9, 10, 3, 6, 7, 1]
    [row] = look(exact("a", hits, stored=hits)).systems
    assert row.lost_to_index == 0


def test_a_good_index_has_no_finding() -> None:
    result = look(exact("a", [10] * 7 + [9]))
    assert result.findings == ()
    assert result.systems[0].lost_to_quantisation is None
    poor = look(exact("a", [10, 8, 6, 8] * 2))
    assert [finding.code for finding in poor.findings] == ["RS751"]


def test_filters_that_cost_recall() -> None:
    hits = [10, 10, 10, 10, 9, 9, 2, 4]
    shares = [0.0, 0.0, 0.4, 0.4, 0.8, 0.8, 0.95, 0.98]
    result = look(exact("a", hits, filtered=shares))
    bands = [(band.more_than, band.up_to, band.queries) for band in result.by_filter]
    assert bands == [(0.0, 0.0, 2), (0.0, 0.5, 2), (0.5, 0.9, 2), (0.9, 0.99, 2)]
    assert result.by_filter[-1].recall == pytest.approx(0.3)
    assert "RS752" in [finding.code for finding in result.findings]
