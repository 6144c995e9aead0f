"""Many runs at once: each is a piece of work for a worker, and only its scores come back.

A single run in a large file is not: its parts are the pieces (`rankscope.scale.run_parts`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, RankscopeError
from rankscope.files import can_be_read_again, is_path
from rankscope.runs.run_files import LazyRun, NamedFile, name_in_file, run_names
from rankscope.runs.table import Run, read_run
from rankscope.scale.executors import Workers
from rankscope.scale.run_cuts import PartedFile, check_seen
from rankscope.scale.run_parts import RunParts, divided
from rankscope.scoring.bounds import BoundsTable, bounds_of
from rankscope.scoring.evaluate import score
from rankscope.scoring.inputs import is_several
from rankscope.scoring.scored_runs import RunScores
from rankscope.scoring.scoring_options import DEFAULT
from rankscope.tables.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.files import PathLike
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.scoring_options import Scoring

_BATCH = 16  # runs that are handed to a worker together, at most


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of each run."""

    judgments: Judgments
    measures: tuple[str, ...]
    scoring: Scoring = DEFAULT
    """By which rules."""
    bounds: Mapping[str, Any] | None = None
    """Options of `rankscope.bounds`, where these are wanted; ``holes`` for every run, else for runs
    with ties."""

    @property
    def can_be_asked_elsewhere(self) -> bool:
        """Whether a worker needs no more than this and the file."""
        of_ids = self.judgments.gold is None and self.judgments.ontology is None
        has_known_columns = self.scoring.columns == Columns()
        return of_ids and has_known_columns and self.scoring.corpus is None

    @property
    def alone(self) -> Question:
        """The same for one who does all the work."""
        return replace(self, scoring=replace(self.scoring, executor=None))


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a worker says about one run."""

    scored: RunScores | None = None
    bounds: BoundsTable | None = None
    problem: str = ""


class ScoredRun(LazyRun):
    """Stands for a run that was scored elsewhere, and is not in memory."""

    def __init__(self, path: PathLike, name: str, answer: Answer) -> None:
        super().__init__(name)
        self._path = path
        self.scored = answer.scored
        self.bounds = answer.bounds

    def _load(self) -> Run:
        if is_several(self._path):
            return RunParts(self._path, name=self.name).loaded
        return read_run(self._path, name=self.name)


def answers(files: Sequence[tuple[str, str, int]], question: Question) -> list[Answer]:
    """Score runs, each by its name, path and size; what is wrong with one is its answer."""
    return [_answer(NamedFile.of(path, name), question, size) for name, path, size in files]


def _answer(run: NamedFile | RunParts, question: Question, size: int = -1) -> Answer:
    try:
        if size >= 0:
            check_seen(str(run), size)
        scores = score(question.judgments, [run], question.measures, question.scoring).scores
        scored, table, more = scores.run(), None, question.bounds
        if more is not None and (more["holes"] or scored.counts["tied_hits"]):
            table = bounds_of(question.judgments, run, question.measures, question.scoring, **more)
    except RankscopeError as error:
        return Answer(problem=str(error))
    return Answer(scored, table)


def names_of(paths: Sequence[PathLike]) -> dict[str, PathLike]:
    """Return files by the names that their runs have, as `rankscope.evaluate` finds them."""
    heads = [SimpleNamespace(name=_name(path)) for path in paths]
    return dict(zip(run_names(heads, paths), paths, strict=True))


def _name(path: PathLike) -> str:
    try:
        file = None if is_several(path) else PartedFile.open(path)
    except RankscopeError:  # a worker says what is wrong
        file = None
    return name_in_file(path, None if file is None else file.tag)


def spread(runs: Any, question: Question) -> Any:
    """Return runs with those in files replaced by runs that are scored by workers."""
    if not question.can_be_asked_elsewhere:
        return runs
    if is_path(runs):
        if is_several(runs) or not can_be_read_again(runs):
            return runs
        if question.scoring.is_plain and PartedFile.open(runs) is not None:
            return RunParts(runs, executor=question.scoring.executor)
        ((_, run),) = score_files(names_of([runs]), question).items()
        return run
    if isinstance(runs, list | tuple) and runs and all(map(_is_file, runs)):
        return score_files(names_of(runs), question)
    by_name = isinstance(runs, Mapping) and runs and all(map(_is_file, runs.values()))
    if by_name:
        return score_files({str(name): path for name, path in runs.items()}, question)
    return runs


def _is_file(run: Any) -> bool:
    return is_path(run) and can_be_read_again(run)


def score_files(
    files: Mapping[str, PathLike],
    question: Question,
    *,
    each: Callable[[ScoredRun], None] | None = None,
    broken: Callable[[str, str], None] | None = None,
    step: Callable[[int, int], None] | None = None,
) -> dict[str, ScoredRun]:
    """Score the runs in files, by name; ``each`` gets every run when it is scored, in order.

    A run that is broken is told to ``broken``, by name and problem, and the others go on.

    Raises:
        RankscopeError: a run is broken, and nobody is told; or all are.
    """
    scored: dict[str, ScoredRun] = {}
    for done, (name, answer) in enumerate(_answers(files, question), start=1):
        if answer.problem:
            if broken is None:
                raise _refusal(files[name], name, question, answer.problem)
            broken(name, answer.problem)
        else:
            scored[name] = ScoredRun(files[name], name, answer)
            if each is not None:
                each(scored[name])
        if step is not None:
            step(done, len(files))
    if not scored:
        raise InputError("every run is broken; what is wrong with each is said above")
    return {name: scored[name] for name in files if name in scored}


def _answers(files: Mapping[str, PathLike], question: Question) -> Iterator[tuple[str, Answer]]:
    """Yield the answers for all runs by name, in order."""
    executor = question.scoring.executor
    named = [NamedFile.of(os.path.abspath(path), name) for name, path in files.items()]
    with Workers(executor) as workers:
        if executor is not None and len(named) < workers.count and question.scoring.is_plain:
            for run in named:  # few: their parts are shared
                yield run.run_name, _answer(divided(run, executor) or run, question.alone)
            return
        asked = [
            (run.run_name, str(run), os.path.getsize(run) if os.path.isfile(run) else -1)
            for run in named
        ]
        size = min(-(-len(asked) // (4 * workers.count)) or 1, _BATCH)
        batches = [asked[low : low + size] for low in range(0, len(asked), size)]
        results_of = workers.map(answers, batches, question.alone)
        yield from zip(files, chain.from_iterable(results_of), strict=True)


def _refusal(path: PathLike, name: str, question: Question, problem: str) -> RankscopeError:
    """Return what is wrong with a run, as it is raised without workers."""
    file = NamedFile.of(os.fspath(path), name)
    try:
        score(question.judgments, [file], question.measures, question.alone.scoring)
    except RankscopeError as error:
        return error
    return InputError(problem)
