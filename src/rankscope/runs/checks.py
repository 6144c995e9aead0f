"""The checks of a run: its lines, scores, ranks and depth, and what it answers.

Errors make a run unusable and are what `read_run` refuses; warnings and notes are for
`rankscope runs validate`. Every check has a stable code, and scoring a run makes some of these
findings too; so nothing here loads Polars. Checks that compare the run with judgments, a list of
queries or a corpus say so where these are not given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.errors import counted, shown
from rankscope.findings import PLACES_SHOWN, Checks, Place, Seen
from rankscope.runs.mismatch import empty_message, gold_outside_message, nothing_in_common

if TYPE_CHECKING:
    from rankscope.runs.validation import RunUnderTest

RUN_CHECKS: Checks[RunUnderTest] = Checks()


# --- lines and scores ------------------------------------------------------------------------


@RUN_CHECKS.add("RS101", "error", unit="file")
def empty(run: RunUnderTest) -> Seen | None:
    """The run holds no line of data, or no document for any of its queries.

    Do: make the run again and check the format of the queries it was made from.
    """
    return run.rows.seen_empty(empty_message(len(run.rows.empty_queries)))


@RUN_CHECKS.add("RS102", "error")
def malformed_line(run: RunUnderTest) -> Seen | None:
    """A line does not have the columns of its format, or holds bytes that are not UTF-8.

    Do: write every line as query_id Q0 doc_id rank score tag, in UTF-8.
    """
    return run.rows.seen_malformed()


@RUN_CHECKS.add("RS103", "error")
def missing_id(run: RunUnderTest) -> Seen | None:
    """A query id or a document id is empty.

    Do: give every line a query id and a document id, or drop it.
    """
    return run.rows.seen_without_id()


@RUN_CHECKS.add("RS104", "error")
def score_not_a_number(run: RunUnderTest) -> Seen | None:
    """A score cannot be read as a finite number: text, a decimal comma, NaN, nothing at all.

    Do: give every document its score as a decimal number, or leave it out of the run.
    """
    role = "score" if run.has_scores else "rank"
    return run.rows.seen_without_number(run.scores, role)


@RUN_CHECKS.add("RS106", "error")
def duplicate_document(run: RunUnderTest) -> Seen | None:
    """A document appears twice for one query, so it would count twice.

    Do: keep each document once per query; where chunks share a document id, keep the best one.
    """
    repeats = run.is_repeated("doc_id")
    return run.seen_rows("the document appears more than once for this query", repeats)


@RUN_CHECKS.add("RS107", "note", unit="file")
def not_six_columns(run: RunUnderTest) -> Seen | None:
    """The file does not have the six columns of a TREC run; looked for with `--strict`.

    Do: write it as TREC lines for tools that expect them: rankscope convert RUN OUT.run.
    """
    if not run.strict or run.format in (None, "trec"):
        return None
    return run.seen_run(f"the file is {run.format}, not the six columns of a TREC run")


# --- ranks and order -------------------------------------------------------------------------


@RUN_CHECKS.add("RS111", "warning")
def rank_not_unique(run: RunUnderTest) -> Seen | None:
    """Two documents of a query have the same rank, or one has none.

    Do: number the documents of a query 1, 2, 3, …; the ranks are ignored, scores decide.
    """
    if not run.has_ranks:
        return None
    bad = run.frame["rank"].is_null() | run.is_repeated("rank")
    return run.seen_rows("a rank is missing, or there twice for this query", bad)


@RUN_CHECKS.add("RS113", "warning", unit="query")
def rank_against_score(run: RunUnderTest) -> Seen | None:
    """The order by rank is not the order by score.

    Do: scores decide, as in trec_eval; if the ranks are what you mean, write scores that fall with
    the rank.
    """
    if not run.has_ranks or not run.has_scores:
        return None
    queries = run.where("rises_by_rank")
    return run.seen_queries("a document with a worse rank has a better score", queries)


@RUN_CHECKS.add("RS114", "warning", unit="query")
def order_against_score(run: RunUnderTest) -> Seen | None:
    """In most queries scores rise down the list: distances, or scores from before a rerank.

    In dicts of scores only those that never fall are taken for distances; a TREC file in any order
    is fine if its ranks agree with its scores, and rows of a flat table in any order.

    Do: higher scores are better and decide; negate distances, or keep the order of the lists with
    order="given".
    """
    if run.has_ranks or not run.has_scores or not run.rows.is_list:
        return None
    rises = run.where("rises")
    if 2 * len(rises) <= run.several:
        return None
    of = f"{len(rises):,} of {counted(run.several, 'query')}"
    return run.seen_queries(f"scores and the order of the lists disagree in {of}", rises)


@RUN_CHECKS.add("RS121", "warning", unit="query")
def tied_scores(run: RunUnderTest) -> Seen | None:
    """Documents of a query have equal scores.

    Do: ties are broken by document id, descending; write scores with more digits, or break ties
    yourself, so that the order is the system's own.
    """
    documents = sum(run.by_query["tied"])
    return run.seen_queries(
        f"{counted(documents, 'document')} share a score with another of the same query",
        run.where("tied"),
    )


@RUN_CHECKS.add("RS123", "warning", unit="query")
def all_scores_equal(run: RunUnderTest) -> Seen | None:
    """All documents of each query have the same score: their ids decide, and not the system.

    Do: write the system's scores, or keep the order of the lists with order="given".
    """
    level = run.where("is_level")
    if len(level) < run.several:
        return None
    return run.seen_queries(
        f"all documents of a query have the same score ({counted(len(level), 'query')}), so "
        "their ids decide the order",
        level,
    )


# --- depth -----------------------------------------------------------------------------------


@RUN_CHECKS.add("RS131", "warning", unit="query")
def too_deep(run: RunUnderTest) -> Seen | None:
    """A query has more documents than `--max-depth`.

    Do: cut the run at the limit, or name the limit that holds with max_depth (--max-depth).
    """
    deep = run.where("is_deep")
    most = max(run.lengths, default=0)
    message = f"more than {run.max_depth} documents for a query, up to {most:,}"
    return run.seen_queries(message, deep)


# --- against judgments, queries and a corpus -------------------------------------------------


@RUN_CHECKS.add("RS161", "warning", unit="query")
def judged_queries_missing(run: RunUnderTest) -> Seen | None:
    """Queries of the qrels are not in the run.

    They count as 0 in every mean, unless the rules leave them out.

    Do: run the system on these queries too.
    """
    judged = run.qrels.query_ids
    missing = run.missing(judged)
    if len(missing) == len(judged):
        return None  # said by no-query-in-common
    few = ", ".join(shown(query_id) for query_id in missing[:PLACES_SHOWN])
    more = ", …" if len(missing) > PLACES_SHOWN else ""
    of = f"{len(missing):,} of {len(judged):,}"
    message = f"{of} judged queries are missing from the run ({few}{more})"
    return run.seen_queries(message, missing)


@RUN_CHECKS.add("RS162", "warning", unit="query")
def listed_queries_missing(run: RunUnderTest) -> Seen | None:
    """Queries of the list are not in the run.

    Do: run the system on every query of the list.
    """
    missing = run.missing(run.listed_queries)
    of = f"{len(missing):,} of {len(run.listed_queries):,}"
    return run.seen_queries(f"{of} queries are missing from the run", missing)


@RUN_CHECKS.add("RS163", "warning", unit="query")
def unknown_queries(run: RunUnderTest) -> Seen | None:
    """The run has queries that are not in the list.

    Do: check that the run was made from this list of queries.
    """
    listed = set(run.listed_queries)
    unknown = [query_id for query_id in run.query_ids if query_id not in listed]
    return run.seen_queries("the run has queries that are not in the list", unknown)


@RUN_CHECKS.add("RS165", "error", unit="document")
def unknown_documents(run: RunUnderTest) -> Seen | None:
    """The run names documents that are not in the corpus.

    Do: check that the run was made from this corpus, and that ids were not changed on the way.
    """
    unknown = run.outside[0]
    named = run.frame["doc_id"].is_in(list(unknown))
    seen = run.seen_rows(f"{named.sum():,} lines name documents that are not in the corpus", named)
    return seen and Seen(seen.message, len(unknown), seen.places)


@RUN_CHECKS.add("RS166", "warning", unit="document")
def gold_outside_corpus(run: RunUnderTest) -> Seen | None:
    """Relevant documents of the qrels are not in the corpus.

    Do: nobody can find them, so recall stays below 1; add them to the corpus, or take them out of
    the qrels.
    """
    absent, qrels = run.outside[1], run.qrels.to_polars()
    pairs = zip(qrels["query_id"], qrels["doc_id"], qrels["grade"], strict=True)
    gold = [(query_id, doc_id) for query_id, doc_id, grade in pairs if grade > 0]
    outside = [(query_id, doc_id) for query_id, doc_id in gold if doc_id in absent]
    if not outside:
        return None
    places = tuple(Place("qrels", query_id=query, doc_id=doc) for query, doc in outside)
    doc_ids = [doc_id for _, doc_id in outside]
    return Seen(gold_outside_message(doc_ids, len(gold)), len(set(doc_ids)), places)


@RUN_CHECKS.add("RS171", "error", unit="file")
def no_query_in_common(run: RunUnderTest) -> Seen | None:
    """Run and qrels share no query id; the message guesses why.

    Do: make the query ids of run and qrels the same.
    """
    qrels = run.qrels
    if not len(qrels) or not run.query_ids or any(map(qrels.__contains__, run.query_ids)):
        return None
    documents = run.frame["doc_id"], qrels.doc_ids
    return run.seen_run(nothing_in_common("query", run.query_ids, qrels.query_ids, *documents))


@RUN_CHECKS.add("RS172", "error", unit="file")
def no_document_in_common(run: RunUnderTest) -> Seen | None:
    """No document that the run retrieved is judged for any query; the message guesses why.

    It is a warning for fewer than ten queries, and where a corpus is known that holds documents of
    both.

    Do: make the document ids of run and qrels the same; if they do match, confirm it with
    corpus=….
    """
    qrels = run.qrels
    judged, retrieved = set(qrels.doc_ids), dict.fromkeys(run.frame["doc_id"])
    if not any(map(qrels.__contains__, run.query_ids)) or not retrieved:
        return None
    if any(doc_id in judged for doc_id in retrieved):
        return None
    if run.reference.corpus_ids is not None:
        named_outside, judged_outside = run.outside
        if len(named_outside) < len(retrieved) and len(judged_outside) < len(judged):
            return None  # documents of both are in one corpus: their ids are right
    return run.seen_run(
        nothing_in_common("document", retrieved, qrels.doc_ids, run.query_ids, qrels.query_ids)
    )


STRICT = frozenset({"RS107", "RS111", "RS113", "RS131", "RS161", "RS162"})
"""What a strict validation fails on beside errors: the rules for runs that are handed in."""
