"""Analyses: each is one registered unit that asks one question about systems that were scored.

From a registration follow the stage of a benchmark with its key in the cache, the section of the
config, the field in the record with its JSON schema, the section of reports, and the documentation.
An analysis says what it found, that it found nothing, or that it is not applicable and why; it is
never silent. To add one, write a module in this package that registers an `Analysis`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    get_type_hints,
)

from pydantic import ConfigDict, Field, create_model

from rankscope.document.blocks import Section
from rankscope.errors import InputError, InvalidDataError
from rankscope.findings import Code, Finding, NotApplicable
from rankscope.measures.language import Measure
from rankscope.part import High, Low, Part
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.sentences import listed
from rankscope.statistics.settings import Settings

if TYPE_CHECKING:
    from rankscope.collection.corpus import Corpus
    from rankscope.collection.decisions import Decisions
    from rankscope.collection.ratings import Ratings
    from rankscope.diagnosis.approximation import Exactness
    from rankscope.diagnosis.document_texts import DocumentTexts
    from rankscope.diagnosis.query_fields import Query
    from rankscope.diagnosis.rankings import Rankings
    from rankscope.diagnosis.repeats import Repeats
    from rankscope.diagnosis.stages import StageSpec
    from rankscope.diagnosis.swept_options import Swept
    from rankscope.document.blocks import Block
    from rankscope.measures.judged import FloatArray
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.scored_runs import Scores
    from rankscope.statistics.intervals import Interval

DEFAULT_CUTOFF = 10
"""How many documents of an answer are looked at where the main measure has no cutoff."""

Need: TypeAlias = str
"""What an analysis looks at: one of the `NEEDS`, which are fields of `Inputs`."""

NEEDS: dict[Need, str] = {
    "scores": "no scores were given",
    "runs": "no runs were given",
    "qrels": "no qrels were given",
    "queries": "no queries were given",
    "corpus": "no corpus was given",
    "titles": "no corpus was given",
    "pipeline": "nothing is known about how the systems build on each other",
    "decisions": "no decisions were given",
    "ratings": "no ratings of several judges were given",
    "training": "no training questions were given",
    "costs": "nothing is known about what the systems cost",
    "search": "a corpus and queries were not both given",
    "exactness": "no system searches vectors approximately that rankscope loaded; what an index of "
    "yours loses is not known",
    "repeats": "no system was asked more than once (repeat)",
    "sweeps": "no system has a sweep",
}
"""What analyses may need, and what is said where it was not given."""


class Search(Protocol):
    """Plain lexical search in the corpus, with which baselines are made.

    It is made by whoever has a corpus and queries: retrieval comes later in the flow.
    """

    @property
    def obstacle(self) -> str:
        """Why nothing can be searched, and what to do about it; '' if it can."""

    def run(self, part: Literal["title", "text"], depth: int, language: str) -> Run:
        """Search titles only, or all text, for every query.

        Raises:
            RankscopeError: there is nothing to search, or an option is wrong.
        """


NOT_GIVEN: Any = None


class _NotApplicableError(Exception):
    """What `Inputs.require` raises."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What analyses look at.

    What was not given is None, whatever its type says: an analysis is only asked if all is there
    that it names as its ``needs``, and asks `has` before it looks at anything else.
    """

    scores: Scores = NOT_GIVEN
    """Values by query, of all systems."""
    runs: Mapping[str, Run] = NOT_GIVEN
    """The runs that were scored, by system."""
    qrels: Judgments = NOT_GIVEN
    """The judgments they were scored against."""
    queries: Sequence[Query] = NOT_GIVEN
    """Ids, texts and metadata."""
    corpus: Corpus = NOT_GIVEN
    """The documents."""
    titles: Callable[[str], str | None] = NOT_GIVEN
    """From a document's id to its title, or the beginning of its text; None if not known."""
    pipeline: Sequence[StageSpec] = NOT_GIVEN
    """The systems as stages: which builds on which."""
    decisions: Decisions = NOT_GIVEN
    """What a router or gate decided, query by query."""
    ratings: Ratings = NOT_GIVEN
    """Who judged what, and how."""
    training: Sequence[Query] = NOT_GIVEN
    """The questions that something was trained on."""
    costs: Mapping[str, Mapping[str, float]] = NOT_GIVEN
    """By system: latency, money and the like, by name; less is better."""
    costs_are_times: bool = False
    """Whether the costs were taken by the clock: they differ from one run to the next, so they are
    shown and no finding rests on them."""
    search: Search = NOT_GIVEN
    """Plain search in the corpus for the queries."""
    exactness: Mapping[str, Exactness] = NOT_GIVEN
    """By system that searches vectors approximately: its answers against exact ones."""
    repeats: Repeats = NOT_GIVEN
    """Runs of systems that were asked more than once."""
    sweeps: Mapping[str, Swept] = NOT_GIVEN
    """By system that a sweep stands for: its values."""
    baseline: str | None = None
    """The system that others are compared with; None: all with each other."""
    depth: int | None = None
    """How many documents the runs were asked for; None if that is not known."""
    documents: int | None = None
    """How many documents there are to be found; None if that is not known."""
    settings: Settings = field(default_factory=Settings)
    """How differences are tested."""

    def has(self, *needs: Need) -> bool:
        """Tell whether all of these were given."""
        return all(getattr(self, need) is not None for need in needs)

    def require(self, fits: object, otherwise: str) -> None:
        """Make the analysis not applicable if there is nothing to look at, with the reason."""
        if not fits:
            raise _NotApplicableError(otherwise)

    @cached_property
    def rankings(self) -> Rankings:
        """What every system put where; made once for all analyses."""
        from rankscope.diagnosis.rankings import Rankings  # noqa: PLC0415

        return Rankings.of(self.qrels, self.runs)

    @cached_property
    def texts(self) -> DocumentTexts:
        """What documents are called, and which have the same text; read once for all analyses."""
        from rankscope.diagnosis.document_texts import DocumentTexts  # noqa: PLC0415

        return DocumentTexts(self.corpus, self.titles)

    @cached_property
    def query_texts(self) -> dict[str, str]:
        """By query: what it asks, where that is known."""
        queries = self.queries if self.has("queries") else ()
        return {query_id: text for query_id, text, _ in queries}

    @cached_property
    def main(self) -> Measure:
        """The main measure: the first that was asked for."""
        return Measure.parse(self.scores.measures[0])

    @property
    def sign(self) -> int:
        """1 if more of the main measure is better, or -1."""
        return 1 if self.main.definition.higher_is_better else -1

    @property
    def cutoff(self) -> int:
        """How many documents of an answer are looked at: as many as the main measure does."""
        return self.main.cutoff or DEFAULT_CUTOFF

    @cached_property
    def means(self) -> dict[str, float]:
        """By system: its mean of the main measure."""
        main = self.scores.measures[0]
        return {name: self.scores.run(name).means[main] for name in self.scores.runs}

    @cached_property
    def focus(self) -> str:
        """The system that advice is about: the best by the main measure."""
        return self.best_of(self.scores.runs)

    def best_of(self, systems: Iterable[str]) -> str:
        """Return the system with the best mean of the main measure; of equal ones the first."""
        return max(systems, key=lambda name: self.sign * self.means[name])

    def matrix(self) -> Matrix:
        """Return the values of all measures that are means, over the queries of all systems."""
        try:
            matrix = Matrix.of_scores(self.scores, only_means=True)
        except InputError as error:
            raise _NotApplicableError(str(error)) from error
        self.require(matrix.scales, "no measure is a mean over queries")
        return matrix

    def main_matrix(self) -> Matrix:
        """Return the values of the main measure, over the queries that all systems have."""
        matrix, main = self.matrix(), self.scores.measures[0]
        self.require(matrix.scales[0].name == main, f"{main} is no mean over queries")
        return matrix.only_measure(0)

    def p_values(self, scores: Scores, measure: Measure) -> Callable[[str, str], float | None]:
        """Return what tells how sure two systems differ, as all are compared with each other.

        The p-value is corrected; None where the measure is no mean, or runs share no query.
        """
        from rankscope.statistics.comparison import compare_scores  # noqa: PLC0415

        try:
            compared = compare_scores(scores.only([str(measure)]), settings=self.settings)
        except InputError:
            return lambda *_: None
        return lambda *systems: compared.pairs.select(among=systems)[0].p_corrected


class Config(Part):
    """What can be configured of an analysis; a key that is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class Analysed(Part):
    """The result of an analysis; without findings it found nothing to remark."""

    findings: tuple[Finding, ...] = ()
    """What a reader should know."""


class Row(Part):
    """What an analysis says of one system."""

    system: str
    """The system."""


class Estimate(Part):
    """A mean with its interval."""

    value: float
    """The mean."""
    low: Low
    """The lower end of its interval; null where there is none."""
    high: High
    """The upper end of its interval; null where there is none."""

    @classmethod
    def of(cls, values: FloatArray, level: float, bounds: tuple[float, float]) -> Estimate:
        """Estimate a mean over questions, by Student's t."""
        [interval] = mean_intervals(values, method="t", level=level, bounds=bounds)
        return cls.between(float(values.mean()), interval)

    @classmethod
    def between(cls, value: float, interval: Interval) -> Estimate:
        """Take a value with its interval."""
        return cls(value=value, low=interval.low, high=interval.high)


OneConfig = TypeVar("OneConfig", bound=Config)
Result = TypeVar("Result", bound=Analysed)
OneRow = TypeVar("OneRow", bound=Row)


def found(
    code: Code,
    rows: Sequence[OneRow],
    sentence: Callable[[OneRow], str],
    gain: Callable[[OneRow], float] | None = None,
    *,
    focus: str,
) -> Iterator[Finding]:
    """Make one finding of the systems that it is true of; none if there are none.

    The sentence is about the system in ``focus``, or the one with the largest gain, and names the
    others. Only what the system in focus could gain is counted for the summary.
    """
    if not rows:
        return
    first = max(rows, key=lambda row: (row.system == focus, 0.0 if gain is None else gain(row)))
    others = [row.system for row in rows if row is not first]
    likewise = f"; likewise {listed(others, 5)}" if others else ""
    counts = gain is not None and first.system == focus
    yield code.finding(
        sentence(first) + likewise, count=len(rows), gain=gain(first) if gain and counts else None
    )


Blocks: TypeAlias = Callable[[Result], Iterable["Block | None"]]
"""What makes the blocks of a section; None where there is nothing to show."""

Finds: TypeAlias = Callable[[Result, Inputs], Iterable[Finding]]
"""What says what a reader should know of a result."""


@dataclass(slots=True, eq=False)
class Analysis(Generic[OneConfig, Result]):
    """One question, and all that follows from asking it."""

    look: Callable[[OneConfig, Inputs], Result]
    """From config and inputs to the result; it has the analysis's name, and its docstring begins
    with what it answers."""
    config: type[OneConfig]
    """What can be configured; it must have defaults for everything."""
    result: type[Result]
    """What it makes."""
    title: str
    """Of its section in reports."""
    needs: tuple[Need, ...]
    """What it cannot do without."""
    place: int
    """Where it comes among other analyses in reports: the lowest first."""
    written: str = ""
    """How its section in the config is written; '' if there is nothing to configure."""
    check: Callable[[OneConfig, Sequence[Query]], None] | None = None
    """Refuses a config that does not fit the queries, before anything is made."""
    blocks: Blocks[Result] = lambda _: ()
    """From the result to the blocks of its section."""
    finds: Finds[Result] = lambda *_: ()
    """From the result to its findings."""

    @property
    def name(self) -> str:
        """Of its stage, of its section in the config, and of its field in the record."""
        return self.look.__name__

    @property
    def summary(self) -> str:
        """What it answers, in one sentence."""
        return " ".join((self.look.__doc__ or "").partition("\n\n")[0].split())

    @property
    def codes(self) -> tuple[Code, ...]:
        """The findings it can make: those that its module declares or imports."""
        known = vars(import_module(self.look.__module__)).values()
        return tuple(value for value in known if isinstance(value, Code))

    def show(self, blocks: Blocks[Result]) -> Blocks[Result]:
        """Make the section of what the decorated function yields; a terminal has the first."""
        self.blocks = blocks
        return blocks

    def find(self, finds: Finds[Result]) -> Finds[Result]:
        """Let the decorated function say what a reader should know of a result."""
        self.finds = finds
        return finds

    def section(self, result: Result) -> Section:
        """Make its section of a report."""
        made = tuple(block for block in self.blocks(result) if block is not None)
        return Section(self.title, made[:1], made[1:])

    def answer(self, config: OneConfig, inputs: Inputs) -> Result | NotApplicable:
        """Look, if all is given that it needs."""
        for need in self.needs:
            if not inputs.has(need):
                return self.not_applicable(NEEDS[need])
        try:
            result = self.look(config, inputs)
        except (_NotApplicableError, InvalidDataError) as error:
            return self.not_applicable(str(error))
        findings = (*result.findings, *self.finds(result, inputs))
        return result.model_copy(update={"findings": findings})

    def not_applicable(self, reason: str) -> NotApplicable:
        """Say why it cannot look."""
        return NotApplicable(name=self.name, reason=reason)

    def of(self, analyses: Part) -> Result | None:
        """Return its result in a record's ``analyses``; None if there is none."""
        answer = getattr(analyses, self.name, None)
        return answer if isinstance(answer, self.result) else None


AnyAnalysis = Analysis[Any, Any]

_ANALYSES: dict[str, AnyAnalysis] = {}


def analysis(
    *, title: str, needs: tuple[Need, ...], place: int, **more: Any
) -> Callable[[Callable[[OneConfig, Inputs], Result]], Analysis[OneConfig, Result]]:
    """Register the decorated function as the analysis of its name; each can be taken once.

    Its annotations say what its config and its result are; ``more`` are further fields of
    `Analysis`. What it finds follows, under ``.find``, and the blocks of its section, under
    ``.show``.
    """

    def registered(look: Callable[[OneConfig, Inputs], Result]) -> Analysis[OneConfig, Result]:
        if look.__name__ in _ANALYSES:
            raise ValueError(f"two analyses are called {look.__name__}")
        config, _, result = get_type_hints(look).values()
        made = Analysis(look, config, result, title, needs, place, **more)
        _ANALYSES[look.__name__] = made
        return made

    return registered


def all_analyses() -> list[AnyAnalysis]:
    """Return every analysis, in the order of reports."""
    package = import_module("rankscope.diagnosis")
    for module in pkgutil.iter_modules(package.__path__, "rankscope.diagnosis."):
        import_module(module.name)
    return sorted(_ANALYSES.values(), key=lambda analysis: (analysis.place, analysis.name))


def analyses_model() -> type[Part]:
    """Return the part of a record that has a field for each analysis."""
    fields: Any = {
        analysis.name: (
            analysis.result | NotApplicable | None,
            Field(default=None, description=f"{analysis.summary} Null: it was not asked for."),
        )
        for analysis in all_analyses()
    }
    return create_model(
        "Analyses", __base__=Part, __doc__="What analyses found, by name.", **fields
    )
