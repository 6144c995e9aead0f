"""The checks of a run by itself: its lines, scores, ranks, ties and depth.

Errors make a run unusable and are what `read_run` refuses; warnings and notes are for
`rankscope runs validate`. Every check has a stable code; `checks_against` holds those that compare
a run with qrels, queries and a corpus.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.errors import counted, shown
from rankscope.findings import PLACES_SHOWN, Checks, Place, Seen
from rankscope.runs import order
from rankscope.runs.mismatch import empty_message
from rankscope.runs.run_codes import EMPTY, EQUAL_SCORES, ORDER_AGAINST_SCORE
from rankscope.runs.table import scores_of
from rankscope.tables import row_checks
from rankscope.tables.grouping import Groups, group_by_query, repeated_rows
from rankscope.tables.rows import as_ids, as_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankscope.tables.rows import Rows


class RunUnderTest:
    """A run's rows with what the checks share: groups, scores, the order by score.

    Arrays are in grouped order (all rows of a query together, as given within it); `places` turns
    positions in that order into places in the file.
    """

    def __init__(self, rows: Rows, *, depth: int = 100) -> None:
        self.rows = rows
        self.depth = depth

    @cached_property
    def groups(self) -> Groups:
        """Rows by query."""
        if self.rows.groups is not None:
            return self.rows.groups
        query_id = as_ids(self.rows.frame["query_id"], self.rows)
        return group_by_query(query_id.fill_null("") if query_id.null_count() else query_id)

    def _grouped(self, column: pl.Series) -> pl.Series:
        return column if self.groups.order is None else column.gather(self.groups.order)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each query's rows begin."""
        return self.groups.offsets

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many rows each query has."""
        return np.diff(self.offsets)

    def queries_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the queries that some rows belong to."""
        return np.unique(order.groups_of(self.offsets, rows))

    @cached_property
    def query_ids(self) -> list[str]:
        """The queries of the run."""
        return self.groups.query_ids.to_list() + list(self.rows.empty_queries)

    @cached_property
    def doc_id(self) -> pl.Series:
        """The document of every row."""
        return self._grouped(as_ids(self.rows.frame["doc_id"], self.rows).cast(pl.String))

    @cached_property
    def score(self) -> NDArray[np.float64]:
        """The score of every row; NaN where there is no number."""
        return self._grouped(scores_of(self.rows)).fill_null(float("nan")).to_numpy()

    @cached_property
    def rank(self) -> NDArray[np.float64] | None:
        """The rank of every row, NaN where there is no number; None without such a column."""
        if "rank" not in self.rows.frame.columns:
            return None
        rank = as_numbers(self.rows.frame["rank"]).cast(pl.Float64)
        return self._grouped(rank).fill_null(float("nan")).to_numpy()

    @cached_property
    def same_query(self) -> NDArray[np.bool_]:
        """Whether row i and row i + 1 belong to one query."""
        rows = int(self.offsets[-1])
        same = np.ones(max(rows - 1, 0), bool)
        same[self.offsets[1:-1] - 1] = False  # no group is empty
        return same

    @cached_property
    def by_score(self) -> NDArray[np.float64]:
        """The scores, best first within each query."""
        by_score = order.falling(self.offsets, self.score)
        return self.score if by_score is None else self.score[by_score]

    @cached_property
    def by_rank(self) -> NDArray[np.int64] | None:
        """The rows of each query by rank; None if they are in this order already."""
        if self.rank is None:
            return None
        return order.best_first(self.offsets, -self.rank, self.doc_id.gather, ties="given")

    def places(self, positions: NDArray[np.integer]) -> tuple[Place, ...]:
        """Return where the first rows are, in the order of the file."""
        rows = positions if self.groups.order is None else self.groups.order[positions]
        if len(rows) > PLACES_SHOWN:
            rows = np.partition(rows, PLACES_SHOWN)[:PLACES_SHOWN]
        return tuple(self.rows.place(int(row)) for row in np.sort(rows))

    def query_places(self, numbers: NDArray[np.integer]) -> tuple[Place, ...]:
        """Return places that name queries by their numbers."""
        source = self.rows.source
        ids = self.query_ids
        return tuple(Place(source, query_id=ids[int(n)]) for n in numbers[:PLACES_SHOWN])

    def seen(self, message: str, positions: NDArray[np.integer]) -> Seen | None:
        """Say something about rows at some positions; nothing if there are none."""
        return Seen(message, len(positions), self.places(positions)) if positions.size else None

    def seen_queries(
        self, message: str, numbers: NDArray[np.integer], **evidence: object
    ) -> Seen | None:
        """Say something about queries, by their numbers; nothing if there are none."""
        if not numbers.size:
            return None
        return Seen(message, len(numbers), self.query_places(numbers), evidence)


RUN_CHECKS: Checks[RunUnderTest] = Checks()


@RUN_CHECKS.under(EMPTY)
def empty(run: RunUnderTest) -> Seen | None:
    """See a run without a line, or without a document for any query."""
    return row_checks.no_row(run.rows, empty_message(len(run.rows.empty_queries)))


@RUN_CHECKS.add(
    "RS102", "error", advice="write every line as query_id Q0 doc_id rank score tag, in UTF-8"
)
def malformed_line(run: RunUnderTest) -> Seen | None:
    """A line does not have the columns of its format, or holds bytes that are not UTF-8."""
    return row_checks.malformed(run.rows)


@RUN_CHECKS.add("RS103", "error", advice="give every line a query id and a document id, or drop it")
def missing_id(run: RunUnderTest) -> Seen | None:
    """A query id or a document id is empty."""
    return row_checks.id_missing(run.rows)


@RUN_CHECKS.add("RS104", "error", advice="write the score as a decimal number")
def score_not_a_number(run: RunUnderTest) -> Seen | None:
    """A score cannot be read as a number: text, a decimal comma, nothing at all."""
    role = "score" if "score" in run.rows.frame.columns else "rank"
    return row_checks.not_a_number(run.rows, scores_of(run.rows), role)


@RUN_CHECKS.add(
    "RS105",
    "error",
    advice="find out why the system gave no finite score, and leave the document out or score it",
)
def score_not_finite(run: RunUnderTest) -> Seen | None:
    """A score is NaN or infinite, or too large for double precision."""
    return row_checks.not_finite(run.rows, scores_of(run.rows))


@RUN_CHECKS.add(
    "RS106",
    "error",
    advice="keep each document once per query; where chunks share a document id, keep the best one",
)
def duplicate_document(run: RunUnderTest) -> Seen | None:
    """A document appears twice for one query, so it would count twice."""
    if run.rows.is_unique:
        return None
    repeated = repeated_rows(run.offsets, run.doc_id)
    return run.seen("the document appears more than once for this query", repeated)


@RUN_CHECKS.add(
    "RS111",
    "warning",
    advice="number the documents of a query 1, 2, 3, …; the ranks are ignored, scores decide",
)
def duplicate_rank(run: RunUnderTest) -> Seen | None:
    """Two documents of a query have the same rank."""
    if run.rank is None:
        return None
    by_rank = run.by_rank
    rank = run.rank if by_rank is None else run.rank[by_rank]
    twice = np.flatnonzero((rank[1:] == rank[:-1]) & run.same_query) + 1
    positions = twice if by_rank is None else by_rank[twice]
    return run.seen("a rank appears more than once for this query", positions)


@RUN_CHECKS.add(
    "RS112",
    "warning",
    unit="query",
    advice="number the documents of a query 1, 2, 3, … without gaps; the ranks are ignored, "
    "scores decide",
)
def ranks_not_contiguous(run: RunUnderTest) -> Seen | None:
    """The ranks of a query do not run from 1 (or 0) without gaps; lines may have been lost."""
    if run.rank is None or not run.rank.size:
        return None
    by_rank = run.by_rank
    rank = run.rank if by_rank is None else run.rank[by_rank]
    jumps = np.flatnonzero((rank[1:] - rank[:-1] != 1) & run.same_query)
    first = rank[run.offsets[:-1]]
    elsewhere = np.flatnonzero((first != 0) & (first != 1))
    queries = np.union1d(run.queries_of(jumps), elsewhere)
    return run.seen_queries("the ranks of a query do not run from 1 (or 0) without gaps", queries)


@RUN_CHECKS.add(
    "RS113",
    "warning",
    unit="query",
    advice="scores decide, as in trec_eval; if the ranks are what you mean, write scores that fall "
    "with the rank",
)
def rank_against_score(run: RunUnderTest) -> Seen | None:
    """The order by rank is not the order by score."""
    if run.rank is None or "score" not in run.rows.frame.columns:
        return None
    by_rank = run.by_rank
    score = run.score if by_rank is None else run.score[by_rank]
    queries = run.queries_of(np.flatnonzero((score[1:] > score[:-1]) & run.same_query))
    return run.seen_queries("a document with a worse rank has a better score", queries)


@RUN_CHECKS.under(ORDER_AGAINST_SCORE)
def order_against_score(run: RunUnderTest) -> Seen | None:
    """See lists without ranks whose scores mostly rise somewhere."""
    if run.rank is not None or "score" not in run.rows.frame.columns:
        return None
    rises = run.queries_of(np.flatnonzero((run.score[1:] > run.score[:-1]) & run.same_query))
    several = int(np.count_nonzero(run.lengths > 1))
    if 2 * len(rises) <= several:
        return None
    of = f"{len(rises):,} of {counted(several, 'query')}"
    return run.seen_queries(f"scores and the order of the lists disagree in {of}", rises)


@RUN_CHECKS.add(
    "RS121",
    "warning",
    unit="query",
    advice="ties are broken by document id, descending; write scores with more digits, or break "
    "ties yourself, so that the order is the system's own",
)
def tied_scores(run: RunUnderTest) -> Seen | None:
    """Documents of a query have equal scores.

    The message tells in how many queries a tie straddles rank 10 and the depth.
    """
    score = run.by_score
    tied = (score[1:] == score[:-1]) & run.same_query
    if not tied.any():
        return None
    straddling = {cutoff: _straddling(run, tied, cutoff) for cutoff in {10, run.depth}}
    queries = run.queries_of(np.flatnonzero(tied))
    documents = int(np.count_nonzero(np.append(tied, False) | np.append([False], tied)))
    by_cutoff = sorted(straddling.items())
    shares = " and ".join(f"rank {cutoff} in {counted(n, 'query')}" for cutoff, n in by_cutoff if n)
    return run.seen_queries(
        f"{counted(documents, 'document')} share a score with another of the same query; "
        f"ties straddle {shares or 'no cutoff'}",
        queries,
        documents=documents,
        straddling={str(cutoff): n for cutoff, n in by_cutoff},
    )


def _straddling(run: RunUnderTest, tied: NDArray[np.bool_], cutoff: int) -> int:
    """Count queries whose documents at ranks ``cutoff`` and ``cutoff + 1`` are tied."""
    deep = run.offsets[:-1][run.lengths > cutoff]
    return int(np.count_nonzero(tied[deep + cutoff - 1]))


@RUN_CHECKS.under(EQUAL_SCORES)
def all_scores_equal(run: RunUnderTest) -> Seen | None:
    """See a run in which the score never decides."""
    several = np.flatnonzero(run.lengths > 1)
    if not several.size or ((run.score[1:] != run.score[:-1]) & run.same_query).any():
        return None
    message = (
        f"all documents of a query have the same score ({counted(len(several), 'query')}), so "
        "their ids decide the order"
    )
    return run.seen_queries(message, several)


@RUN_CHECKS.add(
    "RS122",
    "note",
    unit="query",
    advice="trec_eval 9 reads scores in single precision and ties these; rescale the scores if its "
    "numbers must agree",
)
def equal_in_single_precision(run: RunUnderTest) -> Seen | None:
    """Scores differ in double precision and are equal in single, which trec_eval 9 uses."""
    score = run.by_score
    with np.errstate(over="ignore", under="ignore"):
        single = score.astype(np.float32)
    lost = (single[1:] == single[:-1]) & (score[1:] != score[:-1]) & run.same_query
    count = int(np.count_nonzero(lost))
    if not count:
        return None
    queries = run.queries_of(np.flatnonzero(lost))
    message = f"{counted(count, 'pair')} of neighbouring scores differ only in double precision"
    return run.seen_queries(message, queries, pairs=count)


@RUN_CHECKS.add(
    "RS131",
    "warning",
    unit="query",
    advice="cut the run at the limit, or name the limit that holds with --depth",
)
def too_deep(run: RunUnderTest) -> Seen | None:
    """A query has more documents than `--depth`."""
    most = int(run.lengths.max(initial=0))
    message = f"more than {run.depth} documents for a query, up to {most:,}"
    return run.seen_queries(message, np.flatnonzero(run.lengths > run.depth), deepest=most)


@RUN_CHECKS.add(
    "RS132",
    "warning",
    unit="query",
    advice="expected if the system returns fewer hits; otherwise raise its top-k",
)
def incomplete(run: RunUnderTest) -> Seen | None:
    """A query has fewer documents than `--depth`; the message gives the distribution."""
    lengths = np.concatenate([run.lengths, np.zeros(len(run.rows.empty_queries), np.int64)])
    queries = np.flatnonzero(lengths < run.depth)
    if not queries.size:
        return None
    lowest, *quartiles, highest = np.quantile(lengths, [0, 0.25, 0.5, 0.75, 1], method="nearest")
    spread = f"{lowest} to {highest}, quartiles {', '.join(str(q) for q in quartiles)}"
    return run.seen_queries(
        f"fewer than {run.depth} documents for a query ({spread})",
        queries,
        min=int(lowest),
        quartiles=[int(q) for q in quartiles],
        max=int(highest),
    )


@RUN_CHECKS.add(
    "RS141",
    "note",
    advice="if queries are documents of the corpus, leave each one out of its own results",
)
def query_is_document(run: RunUnderTest) -> Seen | None:
    """A query's own id is among its results."""
    ids = run.groups.query_ids
    alike = np.repeat(ids.hash().to_numpy(), run.lengths) == run.doc_id.hash().to_numpy()
    rows = np.flatnonzero(alike)
    query = order.groups_of(run.offsets, rows)
    rows = rows[(run.doc_id.gather(rows) == ids.gather(query)).to_numpy()]
    return run.seen("a document has the id of the query it was found for", rows)


@RUN_CHECKS.add(
    "RS151",
    "warning",
    unit="tag",
    advice="keep one run per file; split it, or give all lines one tag",
)
def several_tags(run: RunUnderTest) -> Seen | None:
    """The lines of one file carry different run tags."""
    if "tag" not in run.rows.frame.columns:
        return None
    tag = run.rows.frame["tag"]
    stretches = tag.rle().struct.field("value").cast(pl.String)
    tags = stretches.drop_nulls().unique(maintain_order=True).to_list()
    if len(tags) < 2:
        return None
    rows = (tag.cast(pl.String) != tags[0]).arg_true()[:PLACES_SHOWN]
    names = ", ".join(shown(name, 30) for name in tags[:PLACES_SHOWN])
    return Seen(
        f"{len(tags)} run tags in one file ({names}{', …' if len(tags) > PLACES_SHOWN else ''})",
        len(tags),
        tuple(run.rows.place(int(row)) for row in rows),
    )
