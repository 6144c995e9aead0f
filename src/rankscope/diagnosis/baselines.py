"""Baselines: is a number good? Beside it: chance, plain search, and the best there is.

A random ranking, title-only and full-text BM25 where there is a corpus, and the ideal ranking of
what is judged; and what each system gains over the best of these that was made.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from rankscope.diagnosis.above_baselines import AboveBaseline, Row, improvements
from rankscope.diagnosis.analysis import (
    Advice,
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    register,
)
from rankscope.diagnosis.baseline_tables import baselines_section
from rankscope.diagnosis.reference_rankings import RandomRankings, ideal_values
from rankscope.errors import InputError, RankscopeError, counted
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate, compute
from rankscope.part import Part
from rankscope.scoring.align import align
from rankscope.scoring.inputs import without_identical
from rankscope.statistics.arrays import SAME, SMALLEST
from rankscope.statistics.correction import corrected
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.pairwise import agreeing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.runs.table import Run

RANDOM, TITLES, TEXTS = "random", "title-only", "full text"
"""What the baselines are called."""

NOT_BETTER_THAN_RANDOM = declare(
    "RS661",
    "not-better-than-random",
    "warning",
    unit="system",
    advice="check the ids and the order of scores first: search that works is far above chance",
    meaning="""By the main measure, documents in random order could do as well as a system: its mean
    is within what random rankings of all documents reach by chance (one-sided).""",
)

WORSE_THAN_RANDOM = declare(
    "RS662",
    "worse-than-random",
    "warning",
    unit="system",
    advice="look at the order: such a system has its scores upside down, as distances do",
    meaning="""By the main measure, a system is below what random rankings of all documents reach,
    by more than chance.""",
)

NOT_BETTER_THAN_BM25 = declare(
    "RS663",
    "not-better-than-bm25",
    "note",
    unit="system",
    advice="plain lexical search is cheaper; find out which queries gain before you build on more",
    meaning="""The best system is not shown to be better, by the main measure, than BM25 with
    nothing tuned, over the full text (or titles, if there is nothing else).""",
)

WORSE_THAN_BM25 = declare(
    "RS664",
    "worse-than-bm25",
    "warning",
    unit="system",
    advice="use plain lexical search, or put it beside the system and fuse both",
    meaning="""BM25 with nothing tuned is significantly better than the best system, by the main
    measure.""",
)


class RandomMean(Part):
    """What random rankings of all documents are worth."""

    mean: float
    """The mean over queries that is expected."""
    deviation: float | None
    """Standard deviation of that mean from one random ranking of all queries to the next; null
    where it was neither computed nor drawn."""
    draws: int
    """How many random rankings were drawn; 0: by formula."""
    error: float | None
    """Standard error of the mean where rankings were drawn; null: by formula."""


class MeasureBaselines(Part):
    """Means by one measure."""

    measure: str
    """The measure."""
    random: RandomMean | None
    """Of random rankings; null if it could not be made."""
    title_only: float | None
    """Of BM25 over titles; null if it could not be made."""
    full_text: float | None
    """Of BM25 over all text; null if it could not be made."""
    systems: dict[str, float]
    """By system."""
    ideal: float | None
    """Of the best ranking of the judged documents; null where a measure needs more than grades."""


class AgainstRandom(Part):
    """Whether a system is better than a random ranking, by the main measure."""

    system: str
    """The system."""
    mean: float
    """Its mean."""
    p_better: float
    """How often random rankings are at least as good, corrected over the systems; or a bound of
    that."""
    p_worse: float
    """How often random rankings are at most as good, likewise."""
    method: str
    """How these were found."""
    verdict: Literal["better", "not shown to be better", "worse"]
    """What they show."""


class Baselines(Analysed):
    """Means of systems beside those of baselines."""

    measure: str
    """The main measure."""
    in_points: bool
    """Whether it lies between 0 and 1, so that differences are percentage points."""
    queries: int
    """How many queries the means are over."""
    documents: int | None
    """How many documents there are; null: not known."""
    depth: int
    """How many documents a random ranking has where a measure has no cutoff."""
    absent: dict[str, str]
    """Which baselines could not be made, and why."""
    means: tuple[MeasureBaselines, ...]
    """By measure."""
    improvements: tuple[AboveBaseline, ...]
    """By the main measure: each baseline against the one before it, systems against the last."""
    against_random: tuple[AgainstRandom, ...]
    """By system; none where no random ranking could be made."""
    alpha: float
    """A corrected p-value up to this counts."""
    level: float
    """The confidence of intervals."""
    left_out: tuple[str, ...]
    """Measures that are no mean over queries."""


class BaselinesConfig(AnalysisConfig):
    """What baselines are made of."""

    documents: int | None = Field(default=None, ge=1)
    """How many documents there are to be found, where no corpus is given."""
    search_up_to: int = Field(default=50_000, ge=0)
    """A corpus of more documents is not searched for baselines; 0: none is."""
    language: str = "english"
    """Whose stemmer and stop words BM25 uses: one of PyStemmer's languages, or none for neither."""


def _look(config: BaselinesConfig, inputs: Inputs) -> Baselines | NotApplicable:
    assert inputs.scores is not None
    assert inputs.runs is not None
    assert inputs.qrels is not None
    if inputs.qrels.gold is not None:
        return BASELINES.not_applicable("what is to be found is passages, and not documents")
    try:
        matrix = Matrix.of_scores(inputs.scores, only_means=True)
    except InputError as error:
        return BASELINES.not_applicable(str(error))
    if not matrix.scales:
        return BASELINES.not_applicable("no measure is a mean over queries")
    return _Look(config, inputs, matrix).result()


class _Look:
    """One look: what is known of the collection, and the baselines that it allows."""

    def __init__(self, config: BaselinesConfig, inputs: Inputs, matrix: Matrix) -> None:
        assert inputs.scores is not None
        assert inputs.runs is not None
        assert inputs.qrels is not None
        self.config, self.inputs, self.matrix = config, inputs, matrix
        self.scores, self.judgments = inputs.scores, inputs.qrels
        self.measures = [Measure.parse(scale.name) for scale in matrix.scales]
        number = {query_id: place for place, query_id in enumerate(self.judgments.query_ids)}
        self.at: IntArray = np.array([number[query_id] for query_id in matrix.query_ids], np.int64)
        sizes = [int(ranking.sizes.max(initial=0)) for ranking in inputs.rankings.systems.values()]
        self.depth = max([1, *sizes])
        cutoffs = [measure.cutoff for measure in self.measures if measure.cutoff is not None]
        self.deepest = max([self.depth, *cutoffs])
        self.absent: dict[str, str] = {}
        self.documents = inputs.documents or config.documents
        self.rankings = self._rankings()
        self.searched = self._searched()

    def result(self) -> Baselines:
        means: list[MeasureBaselines] = []
        gained: list[AboveBaseline] = []
        against: list[AgainstRandom] = []
        for place, measure in enumerate(self.measures):
            chance, random = self._chance(measure)
            searches = [
                Row(name, values, aggregate(measure, values))
                for name, run in self.searched.items()
                if (values := self._values(measure, run)) is not None
            ]
            systems = [
                Row(
                    *(name, self.matrix.values[place, row], self.matrix.mean(place, row)),
                    again=self.matrix.repeats[name][place] if name in self.matrix.repeats else None,
                )
                for row, name in enumerate(self.matrix.systems)
            ]
            ideal = ideal_values(measure, self.judgments)
            by_name = {row.name: row.mean for row in searches}
            means.append(
                MeasureBaselines(
                    measure=str(measure),
                    random=random,
                    title_only=by_name.get(TITLES),
                    full_text=by_name.get(TEXTS),
                    systems={row.name: row.mean for row in systems},
                    ideal=None if ideal is None else aggregate(measure, ideal[self.at]),
                )
            )
            if place:
                continue
            if chance is not None and random is not None:
                searches.insert(0, Row(RANDOM, chance, random.mean))
                against = self._against_random(measure, random, systems)
            scale = self.matrix.scales[0]
            rows = improvements(
                scale, searches, systems, self.inputs.settings, tested=bool(by_name)
            )
            gained = self._agreeing(rows, against)
        main = self.matrix.scales[0]
        result = Baselines(
            measure=main.name,
            in_points=main.bounds == (0.0, 1.0),
            queries=len(self.at),
            documents=self.documents,
            depth=self.depth if self.documents is None else min(self.depth, self.documents),
            absent=self.absent,
            means=tuple(means),
            improvements=tuple(gained),
            against_random=tuple(against),
            alpha=self.inputs.settings.alpha,
            level=self.inputs.settings.level,
            left_out=tuple(
                name for name in self.scores.measures if Measure.parse(name) not in self.measures
            ),
        )
        findings, advice = _remarks(result, self.inputs, main)
        return result.model_copy(update={"findings": findings, "advice": advice})

    # --- random ----------------------------------------------------------------------------------

    def _rankings(self) -> RandomRankings | None:
        if self.documents is None:
            self.absent[RANDOM] = (
                "it is not known how many documents there are; give the corpus, or set "
                "baselines.documents"
            )
            return None
        placed = self._placed()
        most = np.bincount(self.judgments.judged_query[placed], minlength=1).max()
        if most > self.documents:
            self.absent[RANDOM] = (
                f"a query has {counted(int(most), 'judged document')}, more than the "
                f"{self.documents:,} that there are said to be"
            )
            return None
        return RandomRankings(
            self.judgments,
            self.documents,
            min(self.depth, self.documents),
            self.deepest,
            placed,
            self.inputs.settings.seed,
        )

    def _placed(self) -> BoolArray:
        """Tell by judgment, by query and grade, whether its document can be found at all."""
        if self.inputs.corpus is None:
            return np.ones(len(self.judgments.query), np.bool_)
        pairs = self.judgments.pairs
        ids = {doc_id: doc_id in self.inputs.corpus for doc_id in pairs["doc_id"].unique()}
        known = np.array([ids[doc_id] for doc_id in pairs["doc_id"]], np.bool_)
        grades = pairs["grade"].to_numpy().astype(np.float64)
        return known[np.lexsort((-grades, self.judgments.query))]

    def _chance(self, measure: Measure) -> tuple[FloatArray | None, RandomMean | None]:
        """Return what a random ranking is worth by query and on average."""
        chance = None if self.rankings is None else self.rankings.of(measure)
        if chance is None:
            return None, None
        values = chance.mean[self.at]
        variance = None if chance.variance is None else chance.variance[self.at]
        deviation = None if variance is None else math.sqrt(math.fsum(variance)) / len(values)
        error = None if deviation is None else deviation / math.sqrt(max(chance.draws, 1))
        return values, RandomMean(
            mean=aggregate(measure, values),
            deviation=deviation,
            draws=chance.draws,
            error=error if chance.draws else None,
        )

    def _against_random(
        self, measure: Measure, random: RandomMean, systems: Sequence[Row]
    ) -> list[AgainstRandom]:
        """Test each system against random rankings of the same queries, in both directions.

        Values of random rankings are skewed, so rankings are drawn and counted. Where too few can
        be, there are so many queries that Cantelli's inequality is enough: a mean z standard
        deviations away has p ≤ 1/(1 + z²), whatever the distribution.
        """
        assert self.rankings is not None
        settings = self.inputs.settings
        sign = 1 if measure.definition.higher_is_better else -1
        means = sign * np.array([row.mean for row in systems])
        draws = self.rankings.draws(measure)
        if draws + 1 >= 2 * len(systems) / settings.alpha:
            drawn = sign * self.rankings.drawn(measure)[:, self.at].mean(axis=1)
            rounding = SAME * max(1.0, float(np.abs(drawn).max()))
            as_good = (drawn >= means[:, np.newaxis] - rounding).sum(axis=1)
            as_bad = (drawn <= means[:, np.newaxis] + rounding).sum(axis=1)
            better, worse = (as_good + 1) / (draws + 1), (as_bad + 1) / (draws + 1)
            method = f"{draws:,} random rankings"
        else:
            deviation = random.deviation
            if deviation is None:
                drawn = self.rankings.drawn(measure)[:, self.at]
                deviation = math.sqrt(float(drawn.var(axis=0, ddof=1).sum())) / len(self.at)
            away = (means - sign * random.mean) / max(deviation, SMALLEST)
            bound = 1 / (1 + np.minimum(np.abs(away), 1e100) ** 2)
            better, worse = np.where(away > 0, bound, 1.0), np.where(away < 0, bound, 1.0)
            method = "Cantelli's inequality"
        better, worse = (corrected(np.clip(p, SMALLEST, 1), "holm") for p in (better, worse))
        return [
            AgainstRandom(
                system=row.name,
                mean=row.mean,
                p_better=float(p_better),
                p_worse=float(p_worse),
                method=method,
                verdict="better"
                if p_better <= settings.alpha
                else "worse"
                if p_worse <= settings.alpha
                else "not shown to be better",
            )
            for row, p_better, p_worse in zip(systems, better, worse, strict=True)
        ]

    def _agreeing(
        self, rows: list[AboveBaseline], tests: Sequence[AgainstRandom]
    ) -> list[AboveBaseline]:
        """Return improvements over a random ranking with intervals that agree with its tests."""
        by_system = {test.system: test for test in tests}
        scale = self.matrix.scales[0]
        agreed = []
        for row in rows:
            test = by_system.get(row.system) if row.against == RANDOM else None
            if test is not None:
                p = test.p_better if scale.is_better(row.difference) else test.p_worse
                interval = agreeing(row.interval, row.difference, p, self.inputs.settings.alpha)
                row = row.model_copy(update={"interval": interval})  # noqa: PLW2901
            agreed.append(row)
        return agreed

    # --- plain search ----------------------------------------------------------------------------

    def _searched(self) -> dict[str, Run]:
        """Search titles and full text; what cannot be searched is said."""
        search, most = self.inputs.search, self.config.search_up_to
        obstacle = ""
        if search is None:
            obstacle = (
                "a corpus and queries were not both given to diagnose; in a benchmark, add bm25 as "
                "a system"
            )
        elif (self.documents or 0) > most:
            obstacle = (
                f"there are {self.documents:,} documents, more than baselines.search_up_to "
                f"({most:,})"
            )
        elif search.obstacle:
            obstacle = search.obstacle
        if search is None or obstacle:
            self.absent |= {TITLES: obstacle, TEXTS: obstacle}
            return {}
        depth = min(self.deepest, self.documents or self.deepest)
        runs = {}
        for name, part in ((TITLES, "title"), (TEXTS, "text")):
            try:
                run = search.run(part, depth, self.config.language)  # type: ignore[arg-type]
            except RankscopeError as error:
                self.absent[name] = str(error)
                continue
            runs[name] = run
        return runs

    def _values(self, measure: Measure, run: Run) -> FloatArray | None:
        """Score a run as the systems were; None if the measure needs more than documents."""
        rules = self.scores.profile.rules_for(measure)
        aligned = align(
            self.judgments,
            run if rules.identical_ids else without_identical(run),
            ties=rules.ties,
            precision=rules.precision,
            sound=False,  # that titles alone find nothing is an answer
        )
        return compute(measure, aligned.judged)[self.at]


# --- findings and advice -------------------------------------------------------------------------


def _remarks(
    result: Baselines, inputs: Inputs, scale: Scale
) -> tuple[tuple[Finding, ...], tuple[Advice, ...]]:
    """Say which systems chance or plain search could replace."""
    findings, advice = [], []
    main = result.means[0]
    is_asked = inputs.main == Measure.parse(scale.name)  # else no gain by the main measure is known
    for test in result.against_random:
        assert main.random is not None
        if test.verdict == "better":
            continue
        code = WORSE_THAN_RANDOM if test.verdict == "worse" else NOT_BETTER_THAN_RANDOM
        sentence = (
            f"{test.system} is {test.verdict} than a random ranking of the {result.documents:,} "
            f"documents: {result.measure} of {test.mean:.4f} against {main.random.mean:.4f}"
        )
        evidence = test.to_dict() | {"measure": result.measure, "random": main.random.mean}
        findings.append(code.finding(sentence, evidence=evidence, system=test.system))
        if test.system == inputs.focus and main.ideal is not None and is_asked:
            advice.append(Advice(text=f"Baseline: {sentence}", gain=abs(main.ideal - test.mean)))
    tested = [row for row in result.improvements if row.verdict is not None]
    all_worse = len(tested) > 1 and all(row.verdict == "worse" for row in tested)
    for row in tested:
        if row.system != inputs.focus or row.verdict == "better" or row.is_same:
            continue
        where = "full text" if row.against == TEXTS else "titles"
        numbers = (
            f"{row.measure} of {row.mean:.4f} against {row.base_mean:.4f} ({row.difference:+.4f})"
        )
        if row.verdict == "worse":
            code = WORSE_THAN_BM25
            sentence = f"{row.system} is worse than plain BM25 over {where}: {numbers}"
            if all_worse:
                sentence = (
                    f"all {len(tested)} systems are worse than plain BM25 over {where}; the best, "
                    f"{row.system}: {numbers}"
                )
        else:
            code = NOT_BETTER_THAN_BM25
            sentence = (
                f"{row.system} is not shown to be better than plain BM25 over {where}: {numbers}"
            )
        findings.append(code.finding(sentence, evidence=row.to_dict(), system=row.system))
        loss = -row.difference if scale.higher_is_better else row.difference
        if loss > 0 and is_asked:
            advice.append(Advice(text=f"Baseline: {sentence}", gain=loss))
    return tuple(findings), tuple(advice)


BASELINES = register(
    Analysis(
        name="baselines",
        title="Baselines",
        summary="What chance, plain search over titles and full text, and the best ranking reach.",
        config=BaselinesConfig,
        written="baselines: {documents: 200}",
        result=Baselines,
        needs=("scores", "runs", "qrels"),
        uses=("corpus", "search"),
        look=_look,
        section=baselines_section,
        codes=(
            NOT_BETTER_THAN_RANDOM,
            WORSE_THAN_RANDOM,
            NOT_BETTER_THAN_BM25,
            WORSE_THAN_BM25,
        ),
        place=15,
    )
)
