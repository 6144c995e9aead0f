"""Score and compare: the values of every system by query, and what differs between systems.

Each run is aligned with the judgments once for each set of rules; every step that follows looks at
the same values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rankscope.benchmark.prepare import Benchmark
from rankscope.measures.language import Measure
from rankscope.runs.table import Run
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.plans import meant
from rankscope.scoring.rules import profile_named
from rankscope.scoring.scored_runs import Scores
from rankscope.scoring.soundness import KnownCorpus
from rankscope.statistics.clusters import Sample
from rankscope.statistics.comparison import Comparison, compare_scores
from rankscope.statistics.intervals import Interval
from rankscope.statistics.matrix import Matrix


def score(benchmark: Benchmark, runs: Mapping[str, Sequence[Run]]) -> Scores:
    """Score systems by their runs; those but the first say how far a system moves by itself."""
    config, collection = benchmark.loaded.config, benchmark.collection
    profile = profile_named(config.profile)
    if not runs:
        asked = {str(each.measure): each.asked for each in meant(config.measures, profile)}
        return Scores([], asked, profile, collection.judgments)
    corpus, info = None, collection.info
    if info.documents is not None and info.chunks_sha256 is None:  # else these are chunks
        corpus = KnownCorpus(depth=min(config.depth, info.documents))
    first = {name: each[0] for name, each in runs.items()}
    scores = evaluate(collection.judgments, first, config.measures, profile=profile, corpus=corpus)
    repeated = {name: each[1:] for name, each in runs.items() if len(each) > 1}
    for name, others in repeated.items():
        again = {str(time): run for time, run in enumerate(others)}
        more = evaluate(collection.judgments, again, config.measures, profile=profile).scored
        scored = [run.with_repeats(more) if run.name == name else run for run in scores.scored]
        scores = replace(scores, scored=scored)
    return scores


def compare(benchmark: Benchmark, scores: Scores) -> Comparison | None:
    """Compare all systems; with a broken baseline, all with each other.

    None, if fewer than two systems were scored, or nothing is measured that can be tested.
    """
    tested = [
        measure
        for measure in scores.measures
        if Measure.parse(measure).definition.aggregate not in ("geometric", "pooled")
    ]
    if len(scores.runs) < 2 or not tested:
        return None
    baseline = benchmark.loaded.config.baseline
    return compare_scores(
        scores.only(tested),
        baseline=baseline if baseline in scores.runs else None,
        settings=benchmark.settings,
        clusters=benchmark.clusters,
        all_pairs=True,
    )


def intervals(
    benchmark: Benchmark, scores: Scores, comparison: Comparison | None
) -> dict[tuple[str, str], Interval]:
    """Return the intervals of means by system and measure: of the comparison, or a lone system."""
    if comparison is not None:
        return {(mean.run, mean.measure): mean.interval for mean in comparison.means}
    matrix = Matrix.of_scores(scores, only_means=True) if scores.runs else None
    if matrix is None or not matrix.scales:
        return {}
    sample = Sample.of(matrix.query_ids, benchmark.clusters, None)
    owners = [(system, scale.name) for scale in matrix.scales for system in matrix.systems]
    ends = replace(matrix, sample=sample).mean_intervals(benchmark.settings)
    return dict(zip(owners, ends, strict=True))
