"""Approximate indexes: recall, and the split of the loss."""

from __future__ import annotations

from typing import Any

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


def exact(system: str, hits: list[int], *, stored: list[int] | None = None) -> Exactness:
    return Exactness(
        system=system,
        k=10,
        tolerance=1e-5,
        documents=100,
        queries=tuple(
            QueryExactness(
                query_id=f"q{n}",
                wanted=10,
                hits=count,
                stored_hits=None if stored is None else stored[n],
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
