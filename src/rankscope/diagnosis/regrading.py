"""Regrading: the same runs scored by somebody else's grades.

Each run is aligned once, with the number of a pair in the place of its grade; from then on any
grades of the pairs give scores at the cost of the judged hits. The scores are those of `evaluate`
with the profile of the diagnosis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.collection.qrels import Qrels
from rankscope.scoring.align import align
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.judgments import Judgments
from rankscope.tables.columns import QRELS
from rankscope.tables.rows import Rows

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray, IntArray
    from rankscope.measures.language import Measure
    from rankscope.runs.table import Run
    from rankscope.scoring.align import Aligned
    from rankscope.scoring.rules import Profile
    from rankscope.scoring.scores import Scores

PAIR = ["query_id", "doc_id"]

_FIRST = 1_000_000
"""The number of the first pair, as a grade: above any level from which a document is relevant."""


@dataclass(frozen=True, eq=False)
class Regrading:
    """Runs that can be scored by any grades of numbered pairs."""

    pairs: pl.DataFrame
    """By number: query_id, doc_id; all pairs that are judged, and those added."""
    given: FloatArray
    """By number: the grade in the judgments; NaN for a pair that was added."""
    runs: Mapping[str, Run]
    measure: Measure
    profile: Profile
    _empty: tuple[str, ...]
    _aligned: Mapping[str, Aligned]

    @classmethod
    def of(
        cls,
        judgments: Judgments,
        runs: Mapping[str, Run],
        added: pl.DataFrame,
        measure: Measure,
        profile: Profile,
    ) -> Regrading:
        """Align runs with all judged pairs, and with those ``added`` for judged queries."""
        texts = [pl.col(name).cast(pl.String) for name in PAIR]
        judged = judgments.pairs.select(*texts, pl.col("grade").cast(pl.Float64))
        known = pl.DataFrame({"query_id": pl.Series(judgments.query_ids, dtype=pl.String)})
        more = added.select(*texts).unique(maintain_order=True).join(judged, on=PAIR, how="anti")
        more = more.join(known, on="query_id", how="semi", maintain_order="left")
        pairs = pl.concat([judged, more.with_columns(grade=pl.lit(None, pl.Float64))])
        present = set(pairs["query_id"].unique())
        empty = tuple(name for name in judgments.query_ids if name not in present)
        given = pairs["grade"].fill_null(float("nan")).to_numpy()
        regrading = cls(pairs.select(PAIR), given, runs, measure, profile, empty, {})
        numbers = np.arange(_FIRST, _FIRST + pairs.height, dtype=np.float64)
        numbered = regrading._judgments(numbers)
        rules = profile.rules_for(measure)
        cutoffs = () if measure.cutoff is None else (measure.cutoff,)
        aligned = {
            name: align(
                numbered,
                run,
                ties=rules.ties,
                precision=rules.precision,
                queries=rules.queries,
                cutoffs=cutoffs,
                name=name,
                sound=False,
            )
            for name, run in runs.items()
        }
        return replace(regrading, _aligned=aligned)

    def _judgments(self, grades: FloatArray) -> Judgments:
        """Make judgments of the pairs that have a grade; queries without any stay."""
        frame = self.pairs.with_columns(grade=pl.Series(grades)).filter(
            pl.col("grade").is_not_nan()
        )
        empty = self._empty
        if frame.height < self.pairs.height:
            lost = self.pairs.join(frame, on="query_id", how="anti")["query_id"]
            empty = (*empty, *lost.unique(maintain_order=True))
        rows = Rows(frame, "ratings", QRELS, ids_complete=True, empty_queries=empty)
        return Judgments(Qrels.from_rows(rows), remember=True)

    def numbers_of(self, pairs: pl.DataFrame) -> IntArray:
        """Return the number of each of some pairs; −1 where its query is not judged."""
        numbered = self.pairs.with_row_index("number")
        chosen = pairs.select(pl.col(name).cast(pl.String) for name in PAIR)
        joined = chosen.join(numbered, on=PAIR, how="left", maintain_order="left")["number"]
        return joined.cast(pl.Int64).fill_null(-1).to_numpy()

    def ranks(self, system: str) -> IntArray:
        """By number of the pair: its rank in a run, from 1; 0 where it was not retrieved."""
        hits = self._aligned[system].hits
        ranks = np.zeros(self.pairs.height, np.int64)
        ranks[_numbers(hits.grade)] = hits.rank
        return ranks

    def scores(self, grades: FloatArray) -> Scores:
        """Score all runs by these grades of the pairs, by number; NaN: not judged."""
        judgments = self._judgments(grades)
        rules = self.profile.rules_for(self.measure)
        ideals: dict[int, tuple[IntArray, FloatArray]] = {}  # most runs share what is judged
        judgments.alignments = {}
        for name, run in self.runs.items():
            judged = self._aligned[name].judged
            key = id(judged.judged_grade)
            if key not in ideals:
                ideals[key] = _best_first(
                    judged.judged_query, grades[_numbers(judged.judged_grade)]
                )
            aligned = _regraded(self._aligned[name], grades, ideals[key], judgments.max_grade)
            rule = (id(run), rules.ties, rules.precision, rules.queries)
            judgments.alignments[rule] = run, aligned
        return evaluate(judgments, self.runs, [self.measure], profile=self.profile)


def _numbers(grades: FloatArray) -> IntArray:
    return grades.astype(np.int64) - _FIRST


def _best_first(query: IntArray, grades: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return what is judged by query, highest grade first."""
    known = np.flatnonzero(~np.isnan(grades))
    order = known[np.lexsort((-grades[known], query[known]))]
    return query[order], grades[order]


def _regraded(
    aligned: Aligned, grades: FloatArray, ideal: tuple[IntArray, FloatArray], max_grade: float
) -> Aligned:
    """Return an alignment with other grades; pairs without one are not judged."""
    judged, hits = aligned.judged, aligned.hits
    by_hit = grades[_numbers(hits.grade)]
    keep = ~np.isnan(by_hit)
    in_judged = grades[_numbers(judged.hit_grade)]  # some queries may be left out there
    kept = ~np.isnan(in_judged)
    return replace(
        aligned,
        judged=replace(
            judged,
            hit_query=judged.hit_query[kept],
            hit_rank=judged.hit_rank[kept],
            hit_grade=in_judged[kept],
            judged_query=ideal[0],
            judged_grade=ideal[1],
            max_grade=max_grade,
        ),
        hits=replace(
            hits,
            query=hits.query[keep],
            rank=hits.rank[keep],
            grade=by_hit[keep],
            tie_first=hits.tie_first[keep],
            tie_size=hits.tie_size[keep],
            pair=hits.pair[keep],
        ),
    )
