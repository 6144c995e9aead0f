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
from rankscope.runs.table import scores_of
from rankscope.tables.grouping import Groups, group_by_query, repeated_rows
from rankscope.tables.rows import as_ids, as_numbers, missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankscope.tables.rows import Rows

__all__ = ["RUN_CHECKS", "RunUnderTest"]


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

    @property
    def group(self) -> NDArray[np.int64]:
        """The query's number of every row."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def queries_of(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the numbers of the queries that some rows belong to."""
        return np.unique(np.searchsorted(self.offsets, rows, side="right") - 1)

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
        score = self.score
        if not ((score[1:] > score[:-1]) & self.same_query).any():
            return score
        return score[np.lexsort((-score, self.group))]

    def places(self, positions: NDArray[np.integer]) -> tuple[Place, ...]:
        """Return where the first rows stand, in the order of the file."""
        rows = positions if self.groups.order is None else self.groups.order[positions]
        if len(rows) > PLACES_SHOWN:
            rows = np.partition(rows, PLACES_SHOWN)[:PLACES_SHOWN]
        return tuple(self.rows.place(int(row)) for row in np.sort(rows))

    def query_places(self, numbers: NDArray[np.integer]) -> tuple[Place, ...]:
        """Return places that name queries by their numbers."""
        source = self.rows.source
        ids = self.query_ids
        return tuple(Place(source, query_id=ids[int(n)]) for n in numbers[:PLACES_SHOWN])


RUN_CHECKS: Checks[RunUnderTest] = Checks()


@RUN_CHECKS.add(
    *("RS101", "empty", "error"),
    unit="file",
    advice="make the run again and check the format of the queries it was made from",
)
def empty(run: RunUnderTest) -> Seen | None:
    """The file holds no line of data."""
    if run.rows.frame.height or run.rows.malformed_count:
        return None
    return Seen("the run is empty", places=(Place(run.rows.source),))


@RUN_CHECKS.add(
    *("RS102", "malformed-line", "error"),
    unit="line",
    advice="write every line as query_id Q0 doc_id rank score tag, in UTF-8",
)
def malformed_line(run: RunUnderTest) -> Seen | None:
    """A line does not have the columns of its format, or holds bytes that are not UTF-8."""
    if not run.rows.malformed_count:
        return None
    lines = run.rows.malformed
    return Seen(
        lines[0].reason,
        run.rows.malformed_count,
        tuple(Place(run.rows.source, line.line) for line in lines),
    )


@RUN_CHECKS.add(
    *("RS103", "missing-id", "error"),
    unit="line",
    advice="give every line a query id and a document id, or drop it",
)
def missing_id(run: RunUnderTest) -> Seen | None:
    """A query id or a document id is empty."""
    if run.rows.ids_complete:
        return None
    frame = run.rows.frame
    lost = missing(as_ids(frame["query_id"], run.rows)) | missing(as_ids(frame["doc_id"], run.rows))
    rows = lost.arg_true().to_numpy()
    if not rows.size:
        return None
    places = tuple(run.rows.place(int(row)) for row in rows[:PLACES_SHOWN])
    return Seen("an id is missing", len(rows), places)


@RUN_CHECKS.add(
    *("RS104", "score-not-a-number", "error"),
    unit="line",
    advice="write the score as a decimal number",
)
def score_not_a_number(run: RunUnderTest) -> Seen | None:
    """A score cannot be read as a number: text, a decimal comma, nothing at all."""
    rows = scores_of(run.rows).is_null().arg_true().to_numpy()
    if not rows.size:
        return None
    column = run.rows.frame["score" if "score" in run.rows.frame.columns else "rank"]
    found = column[int(rows[0])]
    what = "is missing" if found is None else f"is {shown(found, 30)}, which is no number"
    places = tuple(run.rows.place(int(row)) for row in rows[:PLACES_SHOWN])
    return Seen(f"the {column.name} {what}", len(rows), places)


@RUN_CHECKS.add(
    *("RS105", "score-not-finite", "error"),
    unit="line",
    advice="find out why the system gave no finite score, and leave the document out or score it",
)
def score_not_finite(run: RunUnderTest) -> Seen | None:
    """A score is NaN or infinite, or too large for double precision."""
    score = scores_of(run.rows)
    rows = (~score.is_finite()).arg_true().to_numpy()
    if not rows.size:
        return None
    places = tuple(run.rows.place(int(row)) for row in rows[:PLACES_SHOWN])
    return Seen(f"the score is {score[int(rows[0])]}", len(rows), places)


@RUN_CHECKS.add(
    *("RS106", "duplicate-document", "error"),
    unit="line",
    advice="keep each document once per query; where chunks share a document id, keep the best one",
)
def duplicate_document(run: RunUnderTest) -> Seen | None:
    """A document appears twice for one query, so it would count twice."""
    repeated = repeated_rows(run.offsets, run.doc_id)
    if not repeated.size:
        return None
    message = "the document stands more than once for this query"
    return Seen(message, len(repeated), run.places(repeated))


@RUN_CHECKS.add(
    *("RS111", "duplicate-rank", "warning"),
    unit="line",
    advice="number the documents of a query 1, 2, 3, …; the ranks are ignored, scores decide",
)
def duplicate_rank(run: RunUnderTest) -> Seen | None:
    """Two documents of a query have the same rank."""
    if run.rank is None:
        return None
    order = _rank_order(run)
    rank = run.rank if order is None else run.rank[order]
    twice = np.flatnonzero((rank[1:] == rank[:-1]) & run.same_query) + 1
    if not twice.size:
        return None
    positions = twice if order is None else order[twice]
    message = "a rank stands more than once for this query"
    return Seen(message, len(twice), run.places(positions))


def _rank_order(run: RunUnderTest) -> NDArray[np.int64] | None:
    """Return the order by rank within queries; None if the rows are in it."""
    rank = run.rank
    if rank is None or not ((rank[1:] < rank[:-1]) & run.same_query).any():
        return None
    return np.lexsort((rank, run.group))


@RUN_CHECKS.add(
    *("RS112", "ranks-not-contiguous", "warning"),
    unit="query",
    advice="number the documents of a query 1, 2, 3, … without gaps; the ranks are ignored, "
    "scores decide",
)
def ranks_not_contiguous(run: RunUnderTest) -> Seen | None:
    """The ranks of a query do not run from 1 (or 0) without gaps; lines may have been lost."""
    if run.rank is None or not run.rank.size:
        return None
    order = _rank_order(run)
    rank = run.rank if order is None else run.rank[order]
    jumps = np.flatnonzero((rank[1:] - rank[:-1] != 1) & run.same_query)
    first = rank[run.offsets[:-1]]
    elsewhere = np.flatnonzero((first != 0) & (first != 1))
    queries = np.union1d(run.queries_of(jumps), elsewhere)
    if not queries.size:
        return None
    message = "the ranks of a query do not run from 1 (or 0) without gaps"
    return Seen(message, len(queries), run.query_places(queries))


@RUN_CHECKS.add(
    *("RS113", "rank-against-score", "warning"),
    unit="query",
    advice="scores decide, as in trec_eval; if the ranks are what you mean, write scores that fall "
    "with the rank",
)
def rank_against_score(run: RunUnderTest) -> Seen | None:
    """The order by rank is not the order by score."""
    if run.rank is None or "score" not in run.rows.frame.columns:
        return None
    order = _rank_order(run)
    score = run.score if order is None else run.score[order]
    queries = run.queries_of(np.flatnonzero((score[1:] > score[:-1]) & run.same_query))
    if not queries.size:
        return None
    message = "a document with a worse rank has a better score"
    return Seen(message, len(queries), run.query_places(queries))


@RUN_CHECKS.add(
    *("RS121", "tied-scores", "warning"),
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
    count = int(np.count_nonzero(tied))
    if not count:
        return None
    straddling = {cutoff: _straddling(run, tied, cutoff) for cutoff in {10, run.depth}}
    queries = run.queries_of(np.flatnonzero(tied))
    documents = int(np.count_nonzero(np.append(tied, False) | np.append([False], tied)))
    shares = " and ".join(f"rank {k} in {counted(n, 'query')}"
                          for k, n in sorted(straddling.items()))  # fmt: skip
    return Seen(
        f"{counted(documents, 'document')} share a score with another of the same query; "
        f"ties straddle {shares}",
        len(queries),
        run.query_places(queries),
        {
            "documents": documents,
            "straddling": {str(k): n for k, n in sorted(straddling.items())},
        },
    )


def _straddling(run: RunUnderTest, tied: NDArray[np.bool_], cutoff: int) -> int:
    """Count queries whose documents at ranks ``cutoff`` and ``cutoff + 1`` are tied."""
    deep = run.offsets[:-1][run.lengths > cutoff]
    return int(np.count_nonzero(tied[deep + cutoff - 1]))


@RUN_CHECKS.add(
    *("RS122", "equal-in-single-precision", "note"),
    unit="query",
    advice="trec_eval 9 reads scores in single precision and ties these; rescale the scores if its "
    "numbers must agree",
)
def equal_in_single_precision(run: RunUnderTest) -> Seen | None:
    """Scores differ in double precision and are equal in single, which trec_eval 9 reads."""
    score = run.by_score
    with np.errstate(over="ignore", under="ignore"):
        single = score.astype(np.float32)
    lost = (single[1:] == single[:-1]) & (score[1:] != score[:-1]) & run.same_query
    count = int(np.count_nonzero(lost))
    if not count:
        return None
    queries = run.queries_of(np.flatnonzero(lost))
    message = f"{counted(count, 'pair')} of neighbouring scores differ only in double precision"
    return Seen(message, len(queries), run.query_places(queries), {"pairs": count})


@RUN_CHECKS.add(
    *("RS131", "too-deep", "warning"),
    unit="query",
    advice="cut the run at the limit, or name the limit that holds with --depth",
)
def too_deep(run: RunUnderTest) -> Seen | None:
    """A query has more documents than `--depth`."""
    queries = np.flatnonzero(run.lengths > run.depth)
    if not queries.size:
        return None
    most = int(run.lengths.max())
    message = f"more than {run.depth} documents for a query, up to {most:,}"
    return Seen(message, len(queries), run.query_places(queries), {"deepest": most})


@RUN_CHECKS.add(
    *("RS132", "incomplete", "warning"),
    unit="query",
    advice="mark the run as incomplete and say why; measures deeper than the run count what is "
    "missing as not found",
)
def incomplete(run: RunUnderTest) -> Seen | None:
    """A query has fewer documents than `--depth`; the message gives the distribution."""
    lengths = np.concatenate([run.lengths, np.zeros(len(run.rows.empty_queries), np.int64)])
    queries = np.flatnonzero(lengths < run.depth)
    if not queries.size:
        return None
    lowest, *quartiles, highest = np.quantile(lengths, [0, 0.25, 0.5, 0.75, 1], method="nearest")
    spread = f"{lowest} to {highest}, quartiles {', '.join(str(q) for q in quartiles)}"
    return Seen(
        f"fewer than {run.depth} documents for a query ({spread})",
        len(queries),
        run.query_places(queries),
        {
            "min": int(lowest),
            "quartiles": [int(q) for q in quartiles],
            "max": int(highest),
        },
    )


@RUN_CHECKS.add(
    *("RS141", "query-is-document", "note"),
    unit="line",
    advice="if queries are documents of the corpus, leave each one out of its own results",
)
def query_is_document(run: RunUnderTest) -> Seen | None:
    """A query's own id is among its results."""
    ids = run.groups.query_ids
    alike = np.repeat(ids.hash().to_numpy(), run.lengths) == run.doc_id.hash().to_numpy()
    rows = np.flatnonzero(alike)
    query = np.searchsorted(run.offsets, rows, side="right") - 1
    rows = rows[(run.doc_id.gather(rows) == ids.gather(query)).to_numpy()]
    if not rows.size:
        return None
    message = "a document has the id of the query it was found for"
    return Seen(message, len(rows), run.places(rows))


@RUN_CHECKS.add(
    *("RS151", "several-tags", "warning"),
    unit="tag",
    advice="keep one run a file; split it, or give all lines one tag",
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
    rows = [int(row) for row in (tag.cast(pl.String) != tags[0]).arg_true()[:PLACES_SHOWN]]
    names = ", ".join(shown(name, 30) for name in tags[:PLACES_SHOWN])
    return Seen(
        f"{len(tags)} run tags in one file ({names}{', …' if len(tags) > PLACES_SHOWN else ''})",
        len(tags),
        tuple(run.rows.place(row) for row in rows),
    )
