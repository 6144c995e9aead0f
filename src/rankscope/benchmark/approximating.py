"""Approximate systems as stages of a benchmark: their answers against exact search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rankscope.benchmark.artifacts import PartForm
from rankscope.benchmark.basis import Benchmark, make_stage
from rankscope.benchmark.plan import Output, Results, Stage, Step
from rankscope.benchmark.systems import Systems, naming
from rankscope.diagnosis.approximation import approximation
from rankscope.diagnosis.exactness import Exactness
from rankscope.records.origin import fingerprint
from rankscope.retrieval.engines.compared_exactly import Compared, approximate, exactness
from rankscope.retrieval.fetch import Fetched


def exactness_stages(
    benchmark: Benchmark, systems: Systems, fetches: Mapping[str, Stage[Fetched]]
) -> dict[str, Stage[Exactness]]:
    """Make a stage for each system that searches vectors approximately, if that is asked for."""
    config = benchmark.loaded.config.analyses.get(approximation.name)
    if config is None or benchmark.collection.chunking is not None:
        return {}
    return {
        name: _compare(benchmark, systems, name, stage, config)
        for name, stage in fetches.items()
        if approximate(systems[name]) is not None
    }


def _compare(
    benchmark: Benchmark, systems: Systems, name: str, fetched: Stage[Fetched], config: Any
) -> Stage[Exactness]:
    depth = benchmark.loaded.config.depth
    settings = Compared(min(config.k, depth), depth, config.tolerance)

    def work(results: Results, _: Step) -> Output[Exactness]:
        with naming(name):
            engine = approximate(systems.indexed(name))
            assert engine is not None
            run, queries = results[fetched].run, benchmark.collection.queries
            return Output(exactness(engine, queries, run, settings, name))

    return make_stage(
        exactness_title(name), work, PartForm(Exactness), [fetched], [asdict(settings)]
    )


def exactness_title(name: str) -> str:
    """Return what the stage of a system is called."""
    return f"exactness {name}"


def without_vectors(name: str, depth: int) -> Stage[Exactness]:
    """Make the stage of a system whose vectors are gone: it compares nothing."""
    nothing = Exactness(system=name, k=depth, tolerance=0.0, documents=0, filters=False, queries=())
    title = exactness_title(name)
    return Stage(title, fingerprint(title), lambda *_: Output(nothing), PartForm(Exactness))
