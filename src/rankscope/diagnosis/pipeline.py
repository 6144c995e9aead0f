"""A pipeline: runs of systems that build on each other, ranked, judged and brought together.

What every look at stages begins with; `stages` says what each of them did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.diagnosis.ranked_run import RELEVANT, RankedRun
from rankscope.diagnosis.rankings import Rankings
from rankscope.diagnosis.stage_roles import NEARLY_ALL, Lookup, Seen, Step
from rankscope.errors import UnknownNameError
from rankscope.measures.judged import JudgedRun, place_in
from rankscope.measures.language import Measure
from rankscope.scoring.inputs import has_identical, without_identical

if TYPE_CHECKING:
    from rankscope.diagnosis.stages import StageSpec
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.scores import Scores


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Systems that build on each other."""

    judgments: Judgments
    runs: Mapping[str, Run]
    stages: Sequence[StageSpec]
    scores: Scores
    """Of all the runs."""
    shared: Rankings | None = None
    """The rankings of the runs, if they were made already."""
    _lookups: dict[str, Lookup] = field(default_factory=dict, init=False)
    _steps: dict[tuple[str, str], Step] = field(default_factory=dict, init=False)

    @property
    def keeps_identical(self) -> bool:
        """Whether documents with the id of their own query count."""
        return self.scores.profile.identical_ids

    @cached_property
    def systems(self) -> list[str]:
        """The systems that are looked at; one without run or scores is an error."""
        names = list(
            dict.fromkeys(name for spec in self.stages for name in (spec.system, *spec.of))
        )
        for name in names:
            if name not in self.runs:
                raise UnknownNameError("run", name, self.runs)
            self.scores.run(name)
        return names

    @cached_property
    def ranked(self) -> dict[str, RankedRun]:
        """By system: its judged documents and their ranks."""
        runs: dict[str, Any] = {
            name: self.runs[name] if self.keeps_identical else without_identical(self.runs[name])
            for name in self.systems
        }
        return {name: RankedRun.of(self.judgments, run) for name, run in runs.items()}

    @cached_property
    def rankings(self) -> Rankings | None:
        """What every system put where; None where pieces of text are judged and not documents."""
        from rankscope.runs.table import as_run  # noqa: PLC0415

        if self.judgments.gold is not None:
            return None
        runs = {name: self.runs[name] for name in self.systems}
        identical = [name for name, run in runs.items() if has_identical(run)]
        if self.keeps_identical or not identical:
            return self.shared or Rankings.of(self.judgments, runs)
        without = {name: as_run(without_identical(runs[name]), name=name) for name in identical}
        return Rankings.of(self.judgments, {**runs, **without})

    def step(self, below: str, above: str) -> Step | None:
        """Return a stage beside a system that it builds on; None where there are no rankings."""
        if self.rankings is None:
            return None
        if (below, above) not in self._steps:
            for name in (below, above):
                self._lookups.setdefault(name, Lookup(self.rankings.systems[name]))
            self._steps[below, above] = Step(self._lookups[below], self._lookups[above])
        return self._steps[below, above]

    def seen(self, spec: StageSpec) -> Seen | None:
        """Tell what a stage does with what it builds on: as was said, or as the runs show."""
        if not spec.of:
            return None
        if len(spec.of) > 1:
            return Seen("fuse")
        if spec.kind == "rerank" and spec.depth is not None:
            return Seen("rerank", spec.depth, "given")
        step = self.step(spec.of[0], spec.system)
        return None if step is None else step.seen()

    def has_new_documents(self, of: Sequence[str], system: str) -> bool:
        """Tell whether a stage has documents that no system below has, in more than a few queries.

        Then what these have is no ceiling. Also if that cannot be seen.
        """
        steps = [step for name in of if (step := self.step(name, system)) is not None]
        if not steps:
            return True
        is_new = np.logical_and.reduce([step.is_new for step in steps])
        queries = np.unique(steps[0].above.query[is_new])
        answered = np.count_nonzero(steps[0].above.sizes)
        return bool(len(queries) > (1 - NEARLY_ALL) * answered)

    def best(self, names: Sequence[str]) -> str:
        """Return the run with the best mean of the first measure; of equal ones the first."""
        first = self.scores.measures[0]
        sign = 1 if Measure.parse(first).definition.higher_is_better else -1
        return max(names, key=lambda name: sign * self.scores.run(name).means[first])

    def counted(self, system: str) -> BoolArray:
        """By query of the judgments: whether it is in the means of a system."""
        averaged = set(self.scores.run(system).query_ids)
        ids = self.judgments.query_ids
        return np.fromiter((query_id in averaged for query_id in ids), np.bool_, len(ids))

    def relevant(self, *names: str) -> IntArray:
        """Return the relevant documents that systems have at any rank, as rows of judgments."""
        parts = [
            self.ranked[name].doc[self.ranked[name].judged.hit_grade >= RELEVANT] for name in names
        ]
        return np.unique(np.concatenate(parts))

    def together(self, *names: str) -> JudgedRun:
        """Return all documents that systems have as one run, those with the best grades first.

        How many documents there are is at most the sum: measures that ask for the number are not
        for such a run.
        """
        ranked = [self.ranked[name] for name in names]
        first = ranked[0].judged
        doc, where = np.unique(np.concatenate([run.doc for run in ranked]), return_index=True)
        grade: FloatArray = np.concatenate([run.judged.hit_grade for run in ranked])[where]
        query: IntArray = np.concatenate([run.judged.hit_query for run in ranked])[where]
        order = np.lexsort((doc, -grade, query))
        retrieved = np.sum([run.judged.retrieved for run in ranked], axis=0)
        return JudgedRun(
            query_ids=first.query_ids,
            retrieved=retrieved,
            in_run=np.logical_or.reduce([run.judged.in_run for run in ranked]),
            hit_query=query[order],
            hit_rank=place_in(query[order]),
            hit_grade=grade[order],
            judged_query=first.judged_query,
            judged_grade=first.judged_grade,
            max_grade=first.max_grade,
        )
