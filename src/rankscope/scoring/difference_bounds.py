"""Bounds of a difference: how far unjudged documents could move one run against another.

A document that both runs retrieve has one grade, whoever finds it. So the bounds of a difference
are much closer than the bounds of both means (`rankscope.scoring.bounds`) taken together: what two
runs have in common moves both. Queries are independent, so the lowest and highest difference of the
mean are the means of those of each query.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.measures.judged import JudgedRun
from rankscope.measures.language import DEFAULT_MEASURES
from rankscope.measures.registry import compute
from rankscope.runs.order import ranked
from rankscope.scoring.bounds import DifferenceBounds, World, check_hole_grade, rules_of
from rankscope.scoring.by_language import refuse_mixed
from rankscope.scoring.inputs import as_judgments, as_one_run, documents_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.measures.language import Measure
    from rankscope.runs.order import Precision, Ties
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.rules import Profile, QueryPolicy

ENUMERATED = 8
"""Up to so many unjudged documents of a query, all ways to grade them are tried."""

CLOSE = 500
"""Up to so many of them the bound for AP counts the partners of each document one by one."""

_COUNTS = ("P", "R", "R_cap", "F")
"""Measures that are the number of relevant documents down to k over what their total decides."""

_SUMS = ("DCG", "nDCG", "RBP")
"""Measures that are a sum of gain times discount over what the number of relevant decides."""

_FIRST = ("RR", "Success")
"""Measures that look at the first relevant document only."""

EXACT = frozenset((*_COUNTS, *_SUMS, *_FIRST))
"""Measures whose differences have exact bounds, however many documents are unjudged."""


def difference_bounds(
    qrels: Any,
    base: Any,
    run: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    hole_grade: float = 1.0,
    profile: str | Profile = "rankscope",
    ties: Ties | None = None,
    precision: Precision | None = None,
    queries: QueryPolicy | None = None,
) -> list[DifferenceBounds]:
    """Return the lowest and highest difference run − base over all ways to judge what is unjudged.

    Looked at are the unjudged documents of either run down to the measure's cutoff. Each gets grade
    0 or ``hole_grade``, the same in both runs; if it is relevant it also counts where relevant
    documents are counted (R, the ideal ranking).

    Exact for P, R, F, nDCG, DCG and RBP (with x documents relevant, the difference is a sum over
    which the divisor has no say, so the best x are known, and all x are tried), for RR and Success
    (one relevant document is enough for either end), and for any measure where no query has more
    than `ENUMERATED` such documents. For AP the bound is safe and may be wide. Anything else has no
    bound. Judgments by subtopic, and what is no mean over queries, have none either.

    >>> qrels = {"q": {"a": 1}}
    >>> [bound] = difference_bounds(qrels, {"q": ["a", "x"]}, {"q": ["x", "a"]}, "RR")
    >>> bound.difference, bound.lowest, bound.highest  # x relevant: the run finds it first
    (-0.5, -0.5, 0.0)
    """
    check_hole_grade(hole_grade)
    judgments = as_judgments(qrels)
    refuse_mixed(judgments)
    runs = [as_one_run(side, judgments)[1] for side in (base, run)]
    pairs: dict[Profile, _Two] = {}
    table = []
    for measure, rules in rules_of(measures, profile, ties, precision, queries):
        if rules not in pairs:
            pairs[rules] = _Two(judgments, runs, rules, hole_grade)
        table.append(pairs[rules].bounds(measure))
    return table


class _Two:
    """Two runs aligned under some rules."""

    def __init__(self, judgments: Judgments, runs: list[Any], rules: Profile, grade: float) -> None:
        self._worlds = [World(judgments, run, rules) for run in runs]
        self._judgments = judgments
        self._rules = rules
        self._grade = grade
        self._keep = self._worlds[0].keep & self._worlds[1].keep

    @cached_property
    def _ranks(self) -> list[list[dict[str, int]]]:
        """By query and run: the rank of each document."""
        return [
            [
                {
                    doc_id: rank
                    for rank, (doc_id, _) in enumerate(
                        ranked(
                            documents_of(world.run, query_id).items(),
                            ties=self._rules.ties,
                            precision=self._rules.precision,
                        ),
                        start=1,
                    )
                }
                for world in self._worlds
            ]
            for query_id in self._judgments.query_ids
        ]

    def bounds(self, measure: Measure) -> DifferenceBounds:
        values = [compute(measure, world.judged)[self._keep] for world in self._worlds]
        difference = float(np.mean(values[1]) - np.mean(values[0])) if len(values[0]) else 0.0
        about: dict[str, Any] = {
            "measure": str(measure),
            "difference": difference,
            "grade": self._grade,
        }
        definition = measure.definition
        questions = list(self._questions(measure))
        unjudged = sum(len(question.ranks[0]) for question in questions)
        note = ""
        if measure.needs:
            note = f"{measure} needs {measure.needs}"
        elif definition.aggregate != "mean":
            note = f"{measure} is no mean over queries"
        elif not questions:
            note = "no query is measured"
        answers = [] if note else [question.ends(measure) for question in questions]
        if not note and any(answer is None for answer in answers):
            note = f"more than {ENUMERATED} documents of a query are unjudged"
        if note:
            return DifferenceBounds(
                **about, lowest=None, highest=None, exact=False, unjudged=unjudged, note=note
            )
        ends = [answer for answer in answers if answer is not None]
        return DifferenceBounds(
            **about,
            lowest=float(np.mean([low for low, _, _ in ends])),
            highest=float(np.mean([high for _, high, _ in ends])),
            exact=all(exact for _, _, exact in ends),
            unjudged=unjudged,
        )

    def _questions(self, measure: Measure) -> Iterator[_Question]:
        """Yield the queries that count, each with its documents in both runs."""
        highest = max(self._judgments.max_grade, self._grade)
        depth = measure.cutoff
        for number in np.flatnonzero(self._keep).tolist():
            grades = self._judgments.by_query[self._judgments.query_ids[number]]
            known = {doc_id: grade for doc_id, grade in grades.items() if grade >= 0}
            places = self._ranks[number]
            holes = list(
                dict.fromkeys(
                    doc_id
                    for ranks in places
                    for doc_id, rank in ranks.items()
                    if doc_id not in known and (depth is None or rank <= depth)
                )
            )
            yield _Question(
                known=_ranks_in(places, known),
                grades=np.array(list(known.values()), dtype=np.float64),
                ranks=_ranks_in(places, holes),
                retrieved=(len(places[0]), len(places[1])),
                grade=self._grade,
                max_grade=highest,
            )


def _ranks_in(places: list[dict[str, int]], documents: Iterable[str]) -> IntArray:
    """Return the ranks of documents in both runs, ``[2, documents]``; 0 if not retrieved."""
    table = [[ranks.get(doc_id, 0) for doc_id in documents] for ranks in places]
    return np.array(table, dtype=np.int64).reshape(2, -1)


Ends = tuple[float, float, bool]
"""Lowest, highest, and whether both are reached."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One query: judged and unjudged documents with their ranks in both runs (0: not retrieved)."""

    known: IntArray
    """``[2, judged]``: ranks of judged documents."""
    grades: FloatArray
    """``[judged]``: their grades."""
    ranks: IntArray
    """``[2, unjudged]``: ranks of the unjudged ones that matter."""
    retrieved: tuple[int, int]
    grade: float
    max_grade: float

    def ends(self, measure: Measure) -> Ends | None:
        """Return the lowest and highest difference; None if they are not known."""
        count = self.ranks.shape[1]
        if measure.options["judged_only"] and count > ENUMERATED:
            return None  # ranks themselves depend on what is judged
        if count <= ENUMERATED:
            ways = (np.arange(2**count)[:, np.newaxis] >> np.arange(count)) & 1
            return self._of_ways(measure, ways.astype(np.bool_))
        if measure.name in (*_COUNTS, *_SUMS):
            return self._of_ways(measure, self._best_of_each_size(measure))
        if measure.name in _FIRST:
            nothing = np.zeros((1, count), np.bool_)
            return self._of_ways(measure, np.vstack([nothing, np.eye(count, dtype=np.bool_)]))
        if measure.name == "AP" and measure.options["norm"] == "rel":
            return self._of_average_precision(measure)
        return None

    def _of_ways(self, measure: Measure, ways: BoolArray) -> Ends:
        """Measure both runs under each of some ways ``[ways, unjudged]`` to judge."""
        changes = compute(measure, self._judged(1, ways)) - compute(measure, self._judged(0, ways))
        return float(changes.min()), float(changes.max()), True

    def _judged(self, side: int, ways: BoolArray) -> JudgedRun:
        """Return a run with a query for each way to judge."""
        size = len(ways)
        numbers = np.arange(size)
        ranks = np.concatenate([self.known[side], self.ranks[side]])
        grades = np.hstack(
            [np.tile(self.grades, (size, 1)), np.where(ways, self.grade, 0.0)]
        )  # [ways, judged]
        there = np.flatnonzero(ranks > 0)
        there = there[np.argsort(ranks[there])]
        ordered = -np.sort(-grades, axis=1)
        return JudgedRun(
            query_ids=tuple(map(str, numbers.tolist())),
            retrieved=np.full(size, self.retrieved[side]),
            in_run=np.full(size, self.retrieved[side] > 0),
            hit_query=np.repeat(numbers, len(there)),
            hit_rank=np.tile(ranks[there], size),
            hit_grade=grades[:, there].ravel(),
            judged_query=np.repeat(numbers, grades.shape[1]),
            judged_grade=ordered.ravel(),
            max_grade=self.max_grade,
        )

    def _best_of_each_size(self, measure: Measure) -> BoolArray:
        """Return, for each number of relevant documents, those that move the difference furthest.

        With their number fixed the divisor is fixed, and the difference is a sum in which each
        document has its weight: by what more (or less) it is worth at its rank in the second run.
        """
        weights = self._weights(measure, self.ranks)
        gain = weights[1] - weights[0]
        is_binary = measure.options.get("gain") == "binary"
        if measure.name in ("P", "DCG") or (measure.name == "RBP" and is_binary):
            return np.stack([gain > 0, gain < 0])  # nothing depends on how many are relevant
        order = np.argsort(-gain, kind="stable")
        count = len(order)
        place = np.empty(count, dtype=np.int64)
        place[order] = np.arange(count)
        sizes = np.arange(count + 1)[:, np.newaxis]
        return np.vstack([place < sizes, place >= count - sizes])

    def _weights(self, measure: Measure, ranks: IntArray) -> FloatArray:
        """Return what a relevant document is worth at some ranks, but for its gain."""
        seen = ranks > 0
        if measure.cutoff is not None:
            seen &= ranks <= measure.cutoff
        if measure.name in _COUNTS:
            return seen.astype(np.float64)
        factors = measure.definition.factors
        assert factors is not None
        discount = factors(self._judged(0, np.zeros((1, self.ranks.shape[1]), np.bool_)),
                           **measure.options).discount  # fmt: skip
        table = np.array([0.0, *map(discount, range(1, int(ranks.max(initial=0)) + 1))])
        return np.where(seen, table[ranks], 0.0)

    def _of_average_precision(self, measure: Measure) -> Ends:
        """Return safe bounds of AP's difference.

        R·AP is Σ y_i/r_i over relevant documents plus Σ y_i·y_j/max(r_i, r_j) over pairs of them.
        In the difference of two runs what both have alike cancels out, pair by pair. Of x relevant
        documents each has x − 1 partners: it adds no more than half of its x − 1 largest positive
        pairs, and the x largest such sums bound the whole.
        """
        rel: Any = measure.options["rel"]
        if self.grade < rel:
            return self._of_ways(measure, np.zeros((1, self.ranks.shape[1]), np.bool_))
        relevant = self.known[:, self.grades >= rel]
        count = self.ranks.shape[1]
        single, pairs, fixed = np.zeros(count), np.zeros((count, count)), 0.0
        for sign, known, ranks in zip((-1.0, 1.0), relevant, self.ranks, strict=True):
            everywhere = np.concatenate([known, ranks])
            if measure.cutoff is not None:
                everywhere = np.where(everywhere > measure.cutoff, 0, everywhere)
            later = np.maximum(everywhere[:, np.newaxis], everywhere)
            both = (everywhere[:, np.newaxis] > 0) & (everywhere > 0)
            worth = np.where(both, sign / np.maximum(later, 1), 0.0)  # [documents, documents]
            alone = np.diagonal(worth)
            size = len(known)
            fixed += (worth[:size, :size].sum() + alone[:size].sum()) / 2
            single += alone[size:] + worth[:size, size:].sum(axis=0)
            inside = worth[size:, size:].copy()
            np.fill_diagonal(inside, 0.0)
            pairs += inside
        total = relevant.shape[1]
        high = _largest(single, pairs, fixed, total)
        low = -_largest(-single, -pairs, -fixed, total)
        return max(low, -1.0), min(high, 1.0), False


def _largest(single: FloatArray, pairs: FloatArray, fixed: float, total: int) -> float:
    """Return a bound of (fixed + Σ y·single + Σ y·y·pairs) / (total + Σ y) over y of 0 and 1."""
    count = len(single)
    partners = np.sort(np.maximum(pairs, 0.0), axis=1)[:, ::-1].cumsum(axis=1) / 2  # [i, x − 1]
    best = fixed / total if total else 0.0
    everyone = single + partners[:, -1] if count > CLOSE else None
    for size in range(1, count + 1):
        if everyone is not None:
            worth = everyone
        else:
            worth = single + (partners[:, size - 2] if size > 1 else 0.0)
        chosen = np.partition(worth, count - size)[count - size :]
        best = max(best, (fixed + float(chosen.sum())) / (total + size))
    return best
