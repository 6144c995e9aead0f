"""Diagnose: every analysis that the config asks for looks at what the steps before it made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rankscope.benchmark.collection_files import CROSS_VALIDATION
from rankscope.benchmark.prepare import Benchmark
from rankscope.benchmark.steps import Steps
from rankscope.benchmark.systems import Systems, naming
from rankscope.diagnosis.analysis import Analysed, Inputs, all_analyses
from rankscope.diagnosis.approximation import Exactness, approximation
from rankscope.diagnosis.query_fields import Query
from rankscope.diagnosis.repeats import Repeats
from rankscope.diagnosis.swept_options import Swept
from rankscope.findings import NotApplicable
from rankscope.retrieval.engines.compared_exactly import Compared, approximate, exactness
from rankscope.retrieval.fetch import Fetched
from rankscope.retrieval.lexical.plain_search import PlainSearch
from rankscope.scoring.scored_runs import Scores

Answer = Analysed | NotApplicable
"""What an analysis says."""


def diagnose(
    benchmark: Benchmark,
    systems: Systems,
    fetched: Mapping[str, Sequence[Fetched]],
    scores: Scores,
    steps: Steps,
) -> dict[str, Answer]:
    """Return what every analysis says, by name."""
    exact = _compared_exactly(benchmark, systems, fetched, steps)
    inputs = _inputs(benchmark, fetched, scores, exact)
    configs, answers = benchmark.loaded.config.analyses, {}
    for analysis in all_analyses():
        if analysis.name in configs:
            with steps.step(analysis.name):
                answers[analysis.name] = (
                    analysis.answer(configs[analysis.name], inputs)
                    if scores.runs
                    else analysis.not_applicable("no system could be scored")
                )
    return answers


def _inputs(
    benchmark: Benchmark,
    fetched: Mapping[str, Sequence[Fetched]],
    scores: Scores,
    exact: Mapping[str, Exactness],
) -> Inputs:
    """Return what there is to look at, of the systems that could be scored."""
    config, collection = benchmark.loaded.config, benchmark.collection
    scored = {name: fetched[name] for name in scores.runs}
    # of chunks, the ids are not those that are judged
    corpus = collection.corpus if collection.chunking is None else None
    set_aside = frozenset(collection.judgments.no_answer)
    asked = [query for query in collection.queries if query.query_id not in set_aside]
    again = {
        name: [answer.run for answer in answers[1:]]
        for name, answers in fetched.items()
        if len(answers) > 1
    }
    sweeps = {name: Swept(point.of, point.options) for name, point in config.swept.items()}
    optional: dict[str, Any] = {
        "corpus": corpus,
        "decisions": collection.decisions,
        "ratings": collection.ratings,
        "training": _training(benchmark),
        "costs": _costs(scored) or None,
        "search": None if corpus is None else PlainSearch(corpus, asked),
        "exactness": exact or None,
        "repeats": Repeats(again, config.repeat.rebuild) if again else None,
        "sweeps": sweeps or None,
    }
    return Inputs(
        scores=scores,
        runs={name: answers[0].run for name, answers in scored.items()},
        qrels=collection.judgments,
        queries=[(query.query_id, query.text, query.metadata) for query in asked],
        titles=collection.title_of,
        pipeline=[
            replace(stage, of=tuple(name for name in stage.of if name in scores.runs))
            for stage in benchmark.systems.values()
            if stage.system in scores.runs
        ],
        costs_are_times=True,
        **optional,
        baseline=config.baseline if config.baseline in scores.runs else None,
        depth=config.depth,
        documents=None if collection.info.chunks_sha256 else collection.info.documents,
        settings=benchmark.settings,
    )


def _training(benchmark: Benchmark) -> list[Query] | None:
    """Return the questions that were learnt from, where they are others than those asked."""
    training = benchmark.collection.training
    if training is None or benchmark.collection.info.training in (None, CROSS_VALIDATION):
        return None
    return [(query.query_id, query.text, query.metadata) for query in training.queries]


def _costs(fetched: Mapping[str, Sequence[Fetched]]) -> dict[str, dict[str, float]]:
    """Return how long each system took for a query; what is read from a file took no time."""
    costs: dict[str, dict[str, float]] = {}
    for name, (answer, *_) in fetched.items():
        times = {"p50, ms": answer.timings.p50, "p95, ms": answer.timings.p95}
        if answer.identity.kind != "run":
            costs[name] = {key: 1000 * time for key, time in times.items() if time is not None}
    return {name: times for name, times in costs.items() if times}


def _compared_exactly(
    benchmark: Benchmark,
    systems: Systems,
    fetched: Mapping[str, Sequence[Fetched]],
    steps: Steps,
) -> dict[str, Exactness]:
    """Compare systems that search vectors approximately with exact search, if that is asked for."""
    loaded, collection = benchmark.loaded, benchmark.collection
    config = loaded.config.analyses.get(approximation.name)
    if config is None or collection.chunking is not None:
        return {}
    depth = loaded.config.depth
    settings = Compared(min(config.k, depth), depth, config.tolerance)
    compared = {}
    for name in (name for name in fetched if approximate(systems[name]) is not None):
        with steps.step(f"exactness {name}"), naming(name):
            engine = approximate(systems.indexed(name))
            assert engine is not None
            run = fetched[name][0].run
            compared[name] = exactness(engine, collection.queries, run, settings, name)
    return compared
