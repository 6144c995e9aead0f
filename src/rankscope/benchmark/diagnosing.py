"""Analyses as stages of a benchmark: what each may look at, and how its answer is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rankscope.benchmark.artifacts import Content
from rankscope.benchmark.basis import Benchmark, make_stage
from rankscope.benchmark.config.collection_files import CROSS_VALIDATION
from rankscope.benchmark.plan import Output, Results, Stage, Step
from rankscope.diagnosis.analysis import (
    NOT_GIVEN,
    Analysed,
    AnyAnalysis,
    Inputs,
    Need,
    all_analyses,
)
from rankscope.diagnosis.approximation import Exactness
from rankscope.diagnosis.query_fields import Query
from rankscope.diagnosis.repeats import Repeats
from rankscope.diagnosis.swept_options import Swept
from rankscope.findings import NotApplicable
from rankscope.retrieval.fetch import Fetched
from rankscope.retrieval.lexical.plain_search import PlainSearch
from rankscope.scoring.scores import Scores

Answer = Analysed | NotApplicable
"""What an analysis says."""


def analysis_stages(
    benchmark: Benchmark, evidence: Evidence, known: Mapping[str, Answer | None]
) -> dict[str, Stage[Answer]]:
    """Make a stage for each analysis that is asked for; those ``known`` have their answers."""
    asked = [each for each in all_analyses() if each.name in benchmark.loaded.config.analyses]
    stages = {}
    for analysis in asked:
        if analysis.name not in known:
            stages[analysis.name] = _analyse(benchmark, analysis, evidence)
        elif (answer := known[analysis.name]) is not None:
            stages[analysis.name] = _kept(analysis, answer)
    return stages


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What an analysis says is kept with whether it is a result or a reason for none."""

    analysis: AnyAnalysis

    def pack(self, made: Answer, /) -> Content:
        """Return what is kept."""
        return Content({"applies": isinstance(made, Analysed), "answer": made.to_dict()})

    def unpack(self, content: Content, /) -> Answer:
        """Make the answer again."""
        model = self.analysis.result if content.data["applies"] else NotApplicable
        answer: Answer = model.model_validate(content.data["answer"])
        return answer


class Evidence:
    """All that analyses may look at; what they share is made once for all of them."""

    def __init__(
        self,
        benchmark: Benchmark,
        fetches: Mapping[str, Stage[Fetched]],
        score: Stage[Scores],
        *,
        again: Mapping[str, Sequence[Stage[Fetched]]],
        exactness: Mapping[str, Stage[Exactness]],
    ) -> None:
        loaded, self.collection = benchmark.loaded, benchmark.collection
        self.fetches, self.score = fetches, score
        self.again, self.exactness = again, exactness
        self._is_rebuilt = loaded.config.repeat.rebuild
        info = self.collection.info
        self.given = Inputs(
            pipeline=benchmark.pipeline(),
            baseline=loaded.config.baseline,
            depth=loaded.config.depth,
            documents=None if info.chunks_sha256 else info.documents,
            settings=benchmark.settings,
            sweeps={
                name: Swept(point.of, point.options) for name, point in loaded.config.swept.items()
            }
            or NOT_GIVEN,
        )
        self._made: tuple[Scores, Inputs] | None = None

    def inputs(self, results: Results) -> Inputs:
        """Return what there is to look at, of the systems that could be scored."""
        scores = results[self.score]
        if self._made is None or self._made[0] is not scores:
            self._made = scores, self._inputs(results, scores)
        return self._made[1]

    def _inputs(self, results: Results, scores: Scores) -> Inputs:
        collection, given = self.collection, self.given
        fetched = {
            name: results[stage] for name, stage in self.fetches.items() if name in scores.runs
        }
        # of chunks, the ids are not those that are judged
        corpus = collection.corpus if collection.chunking is None else None
        asked = [
            query
            for query in collection.queries
            if query.query_id not in collection.judgments.no_answer
        ]
        optional: dict[str, Any] = {
            "corpus": corpus,
            "decisions": collection.decisions,
            "ratings": collection.ratings,
            "training": self._training(),
            "costs": _costs(fetched) or None,
            "exactness": {name: results[stage] for name, stage in self.exactness.items()} or None,
            "repeats": self._repeats(results) if self.again else None,
            "search": None if corpus is None else PlainSearch(corpus, asked),
        }
        return replace(
            given,
            scores=scores,
            runs={name: answer.run for name, answer in fetched.items()},
            pipeline=[
                replace(spec, of=tuple(name for name in spec.of if name in scores.runs))
                for spec in given.pipeline
                if spec.system in scores.runs
            ],
            baseline=given.baseline if given.baseline in scores.runs else None,
            qrels=collection.judgments,
            queries=[(query.query_id, query.text, query.metadata) for query in asked],
            titles=collection.title_of,
            costs_are_times=True,
            **optional,
        )

    def _repeats(self, results: Results) -> Repeats:
        runs = {name: [results[each].run for each in again] for name, again in self.again.items()}
        return Repeats(runs, self._is_rebuilt)

    def _training(self) -> list[Query] | None:
        """Return the questions that were learnt from, where they are others than those asked."""
        training = self.collection.training
        if training is None or self.collection.info.training in (None, CROSS_VALIDATION):
            return None
        return [(query.query_id, query.text, query.metadata) for query in training.queries]

    def hashes(self) -> dict[Need, Any]:
        """Return what decides each thing that may be looked at, as plain data."""
        info, runs = self.collection.info, [stage.key for stage in self.fetches.values()]
        return {
            "scores": self.score.key,
            "runs": runs,
            "qrels": info.qrels_sha256,
            "queries": info.queries_sha256,
            "corpus": info.corpus_sha256,
            "titles": info.corpus_sha256,
            "pipeline": [asdict(spec) for spec in self.given.pipeline],
            "decisions": info.decisions_sha256,
            "ratings": info.ratings_sha256,
            "training": info.training,
            "costs": runs,
            "search": [info.corpus_sha256, info.queries_sha256],
            "exactness": [stage.key for stage in self.exactness.values()],
            "repeats": [stage.key for stages in self.again.values() for stage in stages],
            "sweeps": {
                name: [point.of, dict(point.options)]
                for name, point in (self.given.sweeps if self.given.has("sweeps") else {}).items()
            },
        }


def _costs(fetched: Mapping[str, Fetched]) -> dict[str, dict[str, float]]:
    """Return how long each system took for a query; what is read from a file took no time."""
    costs: dict[str, dict[str, float]] = {}
    for name, answer in fetched.items():
        times = {"p50, ms": answer.timings.p50, "p95, ms": answer.timings.p95}
        if answer.identity.kind != "run":
            costs[name] = {key: 1000 * time for key, time in times.items() if time is not None}
    return {name: times for name, times in costs.items() if times}


def _analyse(benchmark: Benchmark, analysis: AnyAnalysis, evidence: Evidence) -> Stage[Answer]:
    """Make the stage of an analysis; what it looks at decides what its key holds."""
    config = benchmark.loaded.config.analyses[analysis.name]

    def work(results: Results, _: Step) -> Output[Answer]:
        if not results[evidence.score].runs:
            return Output(analysis.not_applicable("no system could be scored"))
        return Output(analysis.answer(config, evidence.inputs(results)))

    needs: list[Stage[Any]] = [*evidence.fetches.values(), evidence.score]
    needs += [stage for stages in evidence.again.values() for stage in stages]
    needs += evidence.exactness.values()
    parts = analysis.key_parts(config, evidence.given, evidence.hashes())
    return make_stage(analysis.name, work, AnswerForm(analysis), needs, parts)


def _kept(analysis: AnyAnalysis, answer: Answer) -> Stage[Answer]:
    """Make a stage that has its answer already."""
    work: Callable[[Results, Step], Output[Answer]] = lambda *_: Output(answer)  # noqa: E731
    return make_stage(analysis.name, work, AnswerForm(analysis), [], [])
