"""How alike the answers of two systems are, and what the two could reach together.

For `rankscope.diagnosis.agreements`: all queries of a pair of systems at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.ranked_run import RELEVANT
from rankscope.measures.registry import aggregate
from rankscope.part import Part, PrivateText
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.list_agreement import rbo_by_query, taus_by_query
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.paired import paired_tests

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import KeyArray, Ranking, Rankings
    from rankscope.diagnosis.registry import Inputs
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray

DEEPEST_CUTOFF = 50
"""τ and Jaccard look no further down."""

FAR = 5
"""A relevant document among the first k of one system is a contribution if it is not among the
first `FAR`·k of the other."""


ROUNDING = 1e-9
"""An overlap nearer to 1 than this is 1."""


class Spread(Part):
    """A number of each query, over the queries that have it."""

    mean: float | None
    """The mean; null if no query has it."""
    low: float | None
    """A tenth of the queries are below this."""
    median: float | None
    """Half of the queries are."""
    high: float | None
    """Nine tenths are."""
    queries: int
    """How many queries have it."""


class Together(Part):
    """What choosing one of two systems for each query could reach by the main measure."""

    better: str
    """The one with the better mean."""
    mean: float
    """That mean."""
    oracle: float
    """The mean if for each query the better answer of the two were given."""
    gain: float
    """How much better that is; not negative."""
    interval: Interval
    """Of the gain, by Student's t."""
    first_better: int
    """Queries that the first system answers better."""
    second_better: int
    """Queries that the second does."""


class Retrieved(Part):
    """Which relevant documents two systems retrieve, at whatever rank."""

    both: int
    """Relevant documents that both retrieve, over all queries."""
    first_only: int
    """That only the first does."""
    second_only: int
    """That only the second does."""
    first_recall: float
    """Mean share of a query's relevant documents that the first retrieves, over queries that have
    any."""
    second_recall: float
    """That the second does."""
    union_recall: float
    """That either does."""


class Contribution(Part):
    """What one system has on top and the other has not nearly so far up."""

    of: str
    """The system that contributes."""
    to: str
    """The system that lacks it."""
    documents: int
    """Relevant documents among the first k of the one and not among the first 5k of the other."""
    queries: int
    """Queries that have any."""
    share: float
    """Mean over queries: such documents, of the relevant ones that fit into the first k."""
    p_corrected: float
    """Of a t test of that share against 0, corrected by Holm over all pairs."""


class Apart(Part):
    """A query that two systems answer differently."""

    query_id: str
    """The query."""
    text: PrivateText
    """What it asks; null if it is not known."""
    rbo: float
    """The rank-biased overlap of the two answers."""
    first_value: float | None
    """The main measure of the first system."""
    second_value: float | None
    """That of the second."""


class PairAgreement(Part):
    """How alike the answers of two systems are."""

    first: str
    """A system."""
    second: str
    """Another."""
    rbo: Spread
    """Rank-biased overlap, extrapolated; over queries that either answers."""
    jaccard: Spread
    """Documents among the first k of both, of those among the first k of either."""
    tau: Spread
    """Kendall's τ of the documents among the first k of both; queries with at least two."""
    tau_ap: Spread
    """τ_AP of the same, the mean of both ways."""
    same: int
    """Queries with the same documents in the same order among the first k."""
    disjoint: int
    """Queries without a common document there."""
    together: Together | None
    """What choosing one of the two for each query could gain at most; null if the main measure is
    no mean. A fusion may reach more."""
    retrieved: Retrieved | None
    """Which relevant documents each retrieves; null if nothing is relevant."""
    contributions: tuple[Contribution, ...]
    """What each has on top and the other has not; none where answers are no longer than twice k, so
    that this cannot be told from noise at their end."""
    apart: tuple[Apart, ...]
    """Queries on which they differ most: by the main measure, then by rank-biased overlap."""


@dataclass(frozen=True, eq=False)
class _Top:
    """The first documents of a system, by key."""

    ranking: Ranking
    depth: int

    @cached_property
    def _rows(self) -> IntArray:
        rows = np.flatnonzero(self.ranking.top(self.depth))
        return rows[np.argsort(self.ranking.key[rows])]

    @cached_property
    def key(self) -> KeyArray:
        return self.ranking.key[self._rows]

    @cached_property
    def query(self) -> IntArray:
        return self.ranking.query[self._rows]

    @cached_property
    def rank(self) -> IntArray:
        return self.ranking.rank[self._rows]

    @cached_property
    def relevant(self) -> tuple[KeyArray, IntArray, IntArray]:
        """Key, query and rank of all relevant documents, at whatever rank; by key."""
        rows = np.flatnonzero(self.ranking.grade >= RELEVANT)
        rows = rows[np.argsort(self.ranking.key[rows])]
        return self.ranking.key[rows], self.ranking.query[rows], self.ranking.rank[rows]


def _places(keys: KeyArray, wanted: KeyArray) -> tuple[IntArray, BoolArray]:
    """Return where each wanted key is among sorted keys, and whether it is there."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return at, keys[at] == wanted


@dataclass(frozen=True, eq=False)
class Answers:
    """What all systems answered, and how it is compared."""

    inputs: Inputs
    cutoff: int
    """k: how many first documents τ and Jaccard compare."""
    depth: int
    """How many first documents rank-biased overlap compares."""
    p: float
    """Its persistence."""
    show: int
    """How many queries are named on which two systems differ."""

    @property
    def rankings(self) -> Rankings:
        """What every system put where."""
        return self.inputs.rankings

    @cached_property
    def tops(self) -> dict[str, _Top]:
        """By system: its first documents."""
        depth = max(self.depth, self.cutoff)
        return {name: _Top(ranking, depth) for name, ranking in self.rankings.systems.items()}

    @cached_property
    def total(self) -> IntArray:
        """By query: how many documents are relevant."""
        query = self.rankings.judged_query[self.rankings.judged_grade >= RELEVANT]
        return np.bincount(query, minlength=len(self.rankings.query_ids))

    @cached_property
    def matrix(self) -> Matrix | None:
        """The values of the main measure; None if it is no mean."""
        assert self.inputs.scores is not None
        if self.inputs.main.definition.aggregate != "mean":
            return None
        return Matrix.of_scores(self.inputs.scores.only([str(self.inputs.main)]))

    @cached_property
    def values(self) -> dict[str, FloatArray]:
        """By system and query: the main measure; NaN where a query does not count."""
        assert self.inputs.scores is not None
        number = {query_id: place for place, query_id in enumerate(self.rankings.query_ids)}
        values = {}
        for name in self.rankings.systems:
            scores = self.inputs.scores.run(name)
            values[name] = np.full(len(number), np.nan)
            values[name][[number[query_id] for query_id in scores.query_ids]] = scores.values[0]
        return values


def compare_answers(context: Answers, first: str, second: str) -> PairAgreement:
    """Compare two systems."""
    depth, cutoff = context.depth, context.cutoff
    left, right = context.tops[first], context.tops[second]
    sizes = [top.ranking.sizes for top in (left, right)]
    at, shared = _places(right.key, left.key)
    query, mine, other = left.query[shared], left.rank[shared], right.rank[at[shared]]
    deep = (mine <= depth) & (other <= depth)
    overlap = rbo_by_query(
        query[deep],
        mine[deep],
        other[deep],
        np.minimum(sizes[0], depth),
        np.minimum(sizes[1], depth),
        context.p,
    )
    answered = (sizes[0] > 0) | (sizes[1] > 0)
    top = (mine <= cutoff) & (other <= cutoff)
    queries = len(overlap)
    tau, tau_ap = taus_by_query(query[top], mine[top], other[top], queries)
    common = np.bincount(query[top], minlength=queries)
    either = np.minimum(sizes[0], cutoff) + np.minimum(sizes[1], cutoff) - common
    jaccard = np.where(answered, common / np.maximum(either, 1), np.nan)
    aligned = np.bincount(query[top & (mine == other)], minlength=queries)
    return PairAgreement(
        first=first,
        second=second,
        rbo=_spread(np.where(answered, overlap, np.nan)),
        jaccard=_spread(jaccard),
        tau=_spread(tau),
        tau_ap=_spread(tau_ap),
        same=int((answered & (aligned == either)).sum()),
        disjoint=int((answered & (common == 0)).sum()),
        together=_together(context, first, second),
        retrieved=_documents(context, left, right),
        contributions=_contributions(context, first, second),
        apart=_apart(context, first, second, overlap, answered),
    )


def _spread(values: FloatArray) -> Spread:
    known = values[~np.isnan(values)]
    if not len(known):
        return Spread(mean=None, low=None, median=None, high=None, queries=0)
    low, median, high = np.quantile(known, [0.1, 0.5, 0.9]).tolist()
    return Spread(mean=float(known.mean()), low=low, median=median, high=high, queries=len(known))


def _together(context: Answers, first: str, second: str) -> Together | None:
    """Take the better answer of each query."""
    matrix = context.matrix
    if matrix is None:
        return None
    scale, values = matrix.scales[0], matrix.oriented(0)
    places = [matrix.systems.index(name) for name in (first, second)]
    left, right = (values[place] for place in places)
    best = max(places, key=lambda place: float(values[place].mean()))
    either = np.maximum(left, right)
    gains = either - values[best]
    [interval] = mean_intervals(
        gains[np.newaxis],
        method="t",
        level=context.inputs.settings.level,
        bounds=(0.0, max(scale.bounds[1] - scale.bounds[0], 0.0)),
    )
    turned = either if scale.higher_is_better else -either
    return Together(
        better=matrix.systems[best],
        mean=matrix.mean(0, best),
        oracle=aggregate(context.inputs.main, turned),
        gain=float(gains.mean()),
        interval=interval,
        first_better=int((left > right).sum()),
        second_better=int((right > left).sum()),
    )


def _documents(context: Answers, left: _Top, right: _Top) -> Retrieved | None:
    """Count the relevant documents that each retrieves."""
    total = context.total
    judged = total > 0
    if not judged.any():
        return None
    keys, query, _ = left.relevant
    _, shared = _places(right.relevant[0], keys)
    queries = len(total)
    mine = np.bincount(query, minlength=queries)
    other = np.bincount(right.relevant[1], minlength=queries)
    both = np.bincount(query[shared], minlength=queries)

    def recall(documents: IntArray) -> float:
        return float((documents[judged] / total[judged]).mean())

    return Retrieved(
        both=int(both.sum()),
        first_only=int((mine - both).sum()),
        second_only=int((other - both).sum()),
        first_recall=recall(mine),
        second_recall=recall(other),
        union_recall=recall(mine + other - both),
    )


def _contributions(context: Answers, first: str, second: str) -> tuple[Contribution, ...]:
    """Find what each system has on top and the other has not nearly so far up."""
    cutoff, total = context.cutoff, context.total
    judged = total > 0
    if not judged.any():
        return ()
    contributions = []
    for giver, taker in ((first, second), (second, first)):
        # at the end of a short answer noise alone takes documents out and in
        if int(context.rankings.systems[taker].sizes.max()) <= 2 * cutoff:
            return ()
        keys, query, rank = context.tops[giver].relevant
        known, _, known_rank = context.tops[taker].relevant
        at, shared = _places(known, keys)
        has = shared.copy()
        has[shared] = known_rank[at[shared]] <= FAR * cutoff
        new = query[(rank <= cutoff) & ~has]
        counts = np.bincount(new, minlength=len(total))[judged]
        shares = counts / np.minimum(total[judged], cutoff)
        [test] = paired_tests(shares[np.newaxis], test="t")
        contributions.append(
            Contribution(
                of=giver,
                to=taker,
                documents=len(new),
                queries=int((counts > 0).sum()),
                share=float(shares.mean()),
                p_corrected=test.p,
            )
        )
    return tuple(contributions)


def _apart(
    context: Answers, first: str, second: str, overlap: FloatArray, answered: BoolArray
) -> tuple[Apart, ...]:
    """Return the queries on which two systems differ most."""
    values = [context.values[name] for name in (first, second)]
    change = np.nan_to_num(np.abs(values[0] - values[1]))
    order = np.lexsort((overlap, -change))
    order = order[answered[order] & ((change > 0) | (overlap < 1 - ROUNDING))[order]][
        : context.show
    ]
    texts = {query_id: text for query_id, text, _ in context.inputs.queries or ()}

    def value(side: int, query: int) -> float | None:
        number = float(values[side][query])
        return None if np.isnan(number) else number

    return tuple(
        Apart(
            query_id=context.rankings.query_ids[query],
            text=texts.get(context.rankings.query_ids[query]),
            rbo=float(overlap[query]),
            first_value=value(0, query),
            second_value=value(1, query),
        )
        for query in order.tolist()
    )
