"""Every measure agrees with its naive twin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from measures.naive import TWINS
from measures.variants import BUILT_IN, VARIANTS
from measures.worlds import World, worlds
from rankscope.measures.definition import NEARNESS
from rankscope.measures.language import Measure
from rankscope.measures.registry import computation, compute


def expected(measure: Measure, world: World) -> list[float]:
    options = dict(computation(measure).options)
    options.pop("cutoff", None)
    condense = measure.options["judged_only"]
    queries = [query.condensed() if condense else query for query in world.queries]
    return [TWINS[measure.name](query, measure.cutoff, **options) for query in queries]


def test_every_measure_has_a_twin() -> None:
    assert sorted(TWINS) == sorted(definition.name for definition in BUILT_IN)


@settings(max_examples=40, deadline=None)
@given(world=worlds())
def test_agrees_with_twin(world: World) -> None:
    for measure in VARIANTS:
        found = compute(measure, world.judged_run)
        assert found.dtype == float
        assert found.tolist() == pytest.approx(expected(measure, world), abs=1e-9), measure


def test_every_parameter_is_varied() -> None:
    varied = {(measure.name, name) for measure in VARIANTS for name, _ in measure.params}
    for definition in BUILT_IN:
        for parameter in definition.parameters:
            if parameter.name not in ("judged_only", "rel") and parameter not in NEARNESS:
                assert (definition.name, parameter.name) in varied
