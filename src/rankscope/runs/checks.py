"""The checks of a run: its lines, scores, ranks and depth, and what it answers.

Errors make a run unusable and are what `read_run` refuses; warnings and notes are for
`rankscope runs validate`. Every check has a stable code. Those that compare the run with judgments,
a list of queries or a corpus say so where these are not given.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rankscope.errors import counted, shown
from rankscope.findings import PLACES_SHOWN, Checks, Place, Seen
from rankscope.runs import order
from rankscope.runs.mismatch import empty_message, gold_outside_message, nothing_in_common
from rankscope.runs.run_codes import (
    EMPTY,
    EQUAL_SCORES,
    GOLD_OUTSIDE,
    NO_DOCUMENT_IN_COMMON,
    NO_QUERY_IN_COMMON,
    ORDER_AGAINST_SCORE,
    QUERIES_MISSING,
    UNKNOWN_DOCUMENTS,
)
from rankscope.runs.run_rows import scores_of
from rankscope.runs.under_test import FLAT, RunUnderTest
from rankscope.tables import row_checks
from rankscope.tables.grouping import repeated_rows

RUN_CHECKS: Checks[RunUnderTest] = Checks()


# --- lines and scores ------------------------------------------------------------------------


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
    "RS105", "error", advice="give the document a finite score, or leave it out of the run"
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
    repeated = repeated_rows(run.offsets, run.doc_id)
    return run.seen("the document appears more than once for this query", repeated)


@RUN_CHECKS.add(
    "RS107",
    "note",
    unit="file",
    advice="write it as TREC lines for tools that expect them: rankscope convert RUN OUT.run",
)
def not_six_columns(run: RunUnderTest) -> Seen | None:
    """The file does not have the six columns of a TREC run; looked for with `--strict`."""
    if not run.strict or run.format in (None, "trec"):
        return None
    return run.seen_run(f"the file is {run.format}, not the six columns of a TREC run")


# --- ranks and order -------------------------------------------------------------------------


@RUN_CHECKS.add(
    "RS111",
    "warning",
    advice="number the documents of a query 1, 2, 3, …; the ranks are ignored, scores decide",
)
def rank_not_unique(run: RunUnderTest) -> Seen | None:
    """Two documents of a query have the same rank, or one has none."""
    if run.by_rank is None:
        return None
    rows, rank = run.by_rank
    again = np.append([False], (rank[1:] == rank[:-1]) & run.same_query) if rank.size else rank > 0
    bad = np.flatnonzero(again | np.isnan(rank))
    return run.seen("a rank is missing, or there twice for this query", rows[bad])


@RUN_CHECKS.add(
    "RS113",
    "warning",
    unit="query",
    advice="scores decide, as in trec_eval; if the ranks are what you mean, write scores that fall "
    "with the rank",
)
def rank_against_score(run: RunUnderTest) -> Seen | None:
    """The order by rank is not the order by score."""
    if run.by_rank is None or "score" not in run.rows.frame.columns:
        return None
    score = run.score[run.by_rank[0]]
    queries = run.queries_where(score[1:] > score[:-1])
    return run.seen_queries("a document with a worse rank has a better score", queries)


@RUN_CHECKS.under(ORDER_AGAINST_SCORE)
def order_against_score(run: RunUnderTest) -> Seen | None:
    """See lists without ranks whose scores mostly rise somewhere."""
    has_score = "score" in run.rows.frame.columns
    if run.by_rank is not None or not has_score or run.format in FLAT:
        return None
    rises = run.queries_where(run.score[1:] > run.score[:-1])
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
    by_score = order.falling(run.offsets, run.score)
    score = run.score if by_score is None else run.score[by_score]
    tied = (score[1:] == score[:-1]) & run.same_query
    if not tied.any():
        return None
    straddling = {}
    for cutoff in sorted({10, run.max_depth}):
        deep = run.offsets[:-1][run.lengths > cutoff]
        straddling[cutoff] = int(np.count_nonzero(tied[deep + cutoff - 1]))
    documents = int(np.count_nonzero(np.append(tied, False) | np.append([False], tied)))
    where = [
        f"rank {cut} in {counted(count, 'query')}" for cut, count in straddling.items() if count
    ]
    return run.seen_queries(
        f"{counted(documents, 'document')} share a score with another of the same query; "
        f"ties straddle {' and '.join(where) or 'no cutoff'}",
        run.queries_where(tied),
        documents=documents,
        straddling={str(cutoff): count for cutoff, count in straddling.items()},
    )


@RUN_CHECKS.under(EQUAL_SCORES)
def all_scores_equal(run: RunUnderTest) -> Seen | None:
    """See a run in which the score never decides."""
    several = np.flatnonzero(run.lengths > 1).tolist()
    if not several or ((run.score[1:] != run.score[:-1]) & run.same_query).any():
        return None
    return run.seen_queries(
        f"all documents of a query have the same score ({counted(len(several), 'query')}), so "
        "their ids decide the order",
        [run.answered[number] for number in several],
    )


# --- depth -----------------------------------------------------------------------------------


@RUN_CHECKS.add(
    "RS131",
    "warning",
    unit="query",
    advice="cut the run at the limit, or name the limit that holds with max_depth (--max-depth)",
)
def too_deep(run: RunUnderTest) -> Seen | None:
    """A query has more documents than `--max-depth`."""
    most = int(run.lengths.max(initial=0))
    deep = [run.answered[at] for at in np.flatnonzero(run.lengths > run.max_depth).tolist()]
    message = f"more than {run.max_depth} documents for a query, up to {most:,}"
    return run.seen_queries(message, deep, deepest=most)


# --- against judgments, queries and a corpus -------------------------------------------------


@RUN_CHECKS.under(QUERIES_MISSING)
def judged_queries_missing(run: RunUnderTest) -> Seen | None:
    """See queries that count as 0."""
    judged = run.qrels.query_ids
    missing = run.missing(judged)
    if len(missing) == len(judged):
        return None  # said by no-query-in-common
    few = ", ".join(shown(query_id) for query_id in missing[:PLACES_SHOWN])
    more = ", …" if len(missing) > PLACES_SHOWN else ""
    of = f"{len(missing):,} of {len(judged):,}"
    message = f"{of} judged queries are missing from the run ({few}{more})"
    return run.seen_queries(message, missing)


@RUN_CHECKS.add(
    "RS162", "warning", unit="query", advice="run the system on every query of the list"
)
def listed_queries_missing(run: RunUnderTest) -> Seen | None:
    """Queries of the list are not in the run."""
    missing = run.missing(run.listed_queries)
    of = f"{len(missing):,} of {len(run.listed_queries):,}"
    return run.seen_queries(f"{of} queries are missing from the run", missing)


@RUN_CHECKS.add(
    "RS163", "warning", unit="query", advice="check that the run was made from this list of queries"
)
def unknown_queries(run: RunUnderTest) -> Seen | None:
    """The run has queries that are not in the list."""
    listed = set(run.listed_queries)
    unknown = [query_id for query_id in run.query_ids if query_id not in listed]
    return run.seen_queries("the run has queries that are not in the list", unknown)


@RUN_CHECKS.under(UNKNOWN_DOCUMENTS)
def unknown_documents(run: RunUnderTest) -> Seen | None:
    """See documents that cannot have been found."""
    unknown = pl.Series(sorted(run.absent[0]), dtype=pl.String)
    rows = run.doc_id.is_in(unknown.implode()).arg_true().to_numpy()
    seen = run.seen(f"{len(rows):,} lines name documents that are not in the corpus", rows)
    return seen and Seen(seen.message, len(unknown), seen.places, {"lines": len(rows)})


@RUN_CHECKS.under(GOLD_OUTSIDE)
def gold_outside_corpus(run: RunUnderTest) -> Seen | None:
    """See relevant documents that nobody can find."""
    absent = pl.Series(sorted(run.absent[1]), dtype=pl.String)
    gold = run.qrels.to_polars().filter(pl.col("grade") > 0)
    outside = gold.filter(pl.col("doc_id").is_in(absent.implode()))
    if not len(outside):
        return None
    pairs = list(outside.select("query_id", "doc_id").iter_rows())
    places = tuple(Place("qrels", query_id=query, doc_id=doc) for query, doc in pairs)
    message = gold_outside_message([doc for _, doc in pairs], len(gold))
    return Seen(message, outside["doc_id"].n_unique(), places[:PLACES_SHOWN])


@RUN_CHECKS.under(NO_QUERY_IN_COMMON)
def no_query_in_common(run: RunUnderTest) -> Seen | None:
    """See ids of queries that do not meet."""
    qrels = run.qrels
    if not len(qrels) or not run.query_ids or any(map(qrels.__contains__, run.query_ids)):
        return None
    return run.seen_run(
        nothing_in_common("query", run.query_ids, qrels.query_ids, run.doc_id, qrels.doc_ids)
    )


@RUN_CHECKS.under(NO_DOCUMENT_IN_COMMON)
def no_document_in_common(run: RunUnderTest) -> Seen | None:
    """See ids of documents that do not meet, though queries do."""
    qrels = run.qrels
    judged, retrieved = qrels.doc_ids.unique(), run.doc_id.unique(maintain_order=True)
    if not any(map(qrels.__contains__, run.query_ids)) or not len(retrieved):
        return None
    if retrieved.is_in(judged.implode()).any():
        return None
    if run.has_corpus:
        named_outside, judged_outside = run.absent
        if len(named_outside) < len(retrieved) and len(judged_outside) < len(judged):
            return None  # documents of both are in one corpus: their ids are right
    return run.seen_run(
        nothing_in_common("document", retrieved, qrels.doc_ids, run.query_ids, qrels.query_ids)
    )


STRICT = frozenset({"RS107", "RS111", "RS113", "RS131", "RS161", "RS162"})
"""What a strict validation fails on beside errors: the rules for runs that are handed in."""
