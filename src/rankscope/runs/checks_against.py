"""The checks of a run against what it answers: qrels, listed queries, a corpus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import shown
from rankscope.findings import PLACES_SHOWN, Checks, Place, Seen, Unable
from rankscope.runs.mismatch import gold_outside_message, nothing_in_common
from rankscope.runs.run_codes import (
    GOLD_OUTSIDE,
    NO_DOCUMENT_IN_COMMON,
    NO_QUERY_IN_COMMON,
    QUERIES_MISSING,
    UNKNOWN_DOCUMENTS,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from rankscope.collection.qrels import Qrels
    from rankscope.runs.checks import RunUnderTest

_NO_QRELS = Unable("no qrels were given")
_NO_QUERIES = Unable("no queries were given")


@dataclass(frozen=True, eq=False)
class RunAgainst:
    """A run and what it is held against; what was not given is None.

    ``corpus_ids`` is read once, as a stream.
    """

    run: RunUnderTest
    qrels: Qrels | None = None
    query_ids: list[str] | None = None
    corpus_ids: Iterable[str] | None = None
    no_qrels: Unable = _NO_QRELS
    """Why there are no qrels, where there are none."""

    @cached_property
    def absent(self) -> tuple[set[str], set[str]]:
        """The documents that the run names, and those that the qrels name, outside the corpus."""
        named = set(self.run.doc_id.unique().to_list())
        judged = set() if self.qrels is None else set(self.qrels.doc_ids.unique().to_list())
        for doc_id in self.corpus_ids or ():
            named.discard(doc_id)
            judged.discard(doc_id)
        return named, judged

    @property
    def same_corpus(self) -> bool:
        """Whether documents of the run and of the qrels are known to be in one corpus."""
        if self.corpus_ids is None or self.qrels is None:
            return False
        named, judged = self.absent
        return (
            len(named) < self.run.doc_id.n_unique() and len(judged) < self.qrels.doc_ids.n_unique()
        )

    def seen(self, message: str, query_ids: list[str]) -> Seen | None:
        """Say something about queries; nothing if there are none."""
        if not query_ids:
            return None
        source = self.run.rows.source
        places = tuple(Place(source, query_id=query_id) for query_id in query_ids[:PLACES_SHOWN])
        return Seen(message, len(query_ids), places)


AGAINST_CHECKS: Checks[RunAgainst] = Checks()


def _absent(query_ids: Iterable[str], known: Container[str]) -> list[str]:
    return [query_id for query_id in query_ids if query_id not in known]


@AGAINST_CHECKS.under(QUERIES_MISSING)
def judged_queries_missing(against: RunAgainst) -> Seen | Unable | None:
    """Queries of the qrels are not in the run; they count as 0 in every mean."""
    if against.qrels is None:
        return against.no_qrels
    judged = against.qrels.query_ids
    missing = _absent(judged, set(against.run.query_ids))
    if len(missing) == len(judged):
        return None  # said by no-query-in-common
    few = ", ".join(shown(query_id) for query_id in missing[:PLACES_SHOWN])
    more = ", …" if len(missing) > PLACES_SHOWN else ""
    message = (
        f"{len(missing):,} of {len(judged):,} judged queries are missing from the run ({few}{more})"
    )
    return against.seen(message, missing)


@AGAINST_CHECKS.add(
    "RS162", "warning", unit="query", advice="run the system on every query of the list"
)
def listed_queries_missing(against: RunAgainst) -> Seen | Unable | None:
    """Queries of the list are not in the run."""
    if against.query_ids is None:
        return _NO_QUERIES
    missing = _absent(against.query_ids, set(against.run.query_ids))
    of = len(against.query_ids)
    return against.seen(f"{len(missing):,} of {of:,} queries are missing from the run", missing)


@AGAINST_CHECKS.add(
    "RS163", "warning", unit="query", advice="check that the run was made from this list of queries"
)
def unknown_queries(against: RunAgainst) -> Seen | Unable | None:
    """The run has queries that are not in the list."""
    if against.query_ids is None:
        return _NO_QUERIES
    unknown = _absent(against.run.query_ids, set(against.query_ids))
    return against.seen("the run has queries that are not in the list", unknown)


@AGAINST_CHECKS.add(
    "RS164", "note", unit="query", advice="they are left out of every measure, as in trec_eval"
)
def unjudged_queries(against: RunAgainst) -> Seen | Unable | None:
    """The run has queries that nobody judged; no measure uses them."""
    if against.qrels is None:
        return against.no_qrels
    unjudged = _absent(against.run.query_ids, against.qrels)
    if len(unjudged) == len(against.run.query_ids):
        return None  # said by no-query-in-common
    return against.seen("the run has queries without judgments", unjudged)


@AGAINST_CHECKS.under(UNKNOWN_DOCUMENTS)
def unknown_documents(against: RunAgainst) -> Seen | Unable | None:
    """See documents that cannot have been found."""
    if against.corpus_ids is None:
        return Unable("no corpus was given")
    docs, unknown = against.run.doc_id, against.absent[0]
    if not unknown:
        return None
    rows = docs.is_in(pl.Series(sorted(unknown), dtype=pl.String).implode()).arg_true()
    message = f"{len(rows):,} lines name documents that are not in the corpus"
    places = against.run.places(rows.to_numpy())
    return Seen(message, len(unknown), places, {"lines": len(rows)})


@AGAINST_CHECKS.under(GOLD_OUTSIDE)
def gold_outside_corpus(against: RunAgainst) -> Seen | Unable | None:
    """See relevant documents that nobody can find."""
    if against.corpus_ids is None:
        return Unable("no corpus was given")
    if against.qrels is None:
        return against.no_qrels
    absent = pl.Series(sorted(against.absent[1]), dtype=pl.String)
    gold = against.qrels.to_polars().filter(pl.col("grade") > 0)
    outside = gold.filter(pl.col("doc_id").is_in(absent.implode()))
    if not len(outside):
        return None
    pairs = list(outside.select("query_id", "doc_id").iter_rows())
    places = tuple(Place("qrels", query_id=query, doc_id=doc) for query, doc in pairs)
    message = gold_outside_message([doc for _, doc in pairs], len(gold))
    return Seen(message, outside["doc_id"].n_unique(), places[:PLACES_SHOWN])


@AGAINST_CHECKS.under(NO_QUERY_IN_COMMON)
def no_query_in_common(against: RunAgainst) -> Seen | Unable | None:
    """Run and qrels share no query id; the message guesses why."""
    run, qrels = against.run, against.qrels
    if qrels is None:
        return against.no_qrels
    if not len(qrels) or not run.query_ids or _share_queries(run, qrels):
        return None
    message = nothing_in_common("query", run.query_ids, qrels.query_ids, run.doc_id, qrels.doc_ids)
    return Seen(message, 1, (Place(run.rows.source),))


@AGAINST_CHECKS.under(NO_DOCUMENT_IN_COMMON)
def no_document_in_common(against: RunAgainst) -> Seen | Unable | None:
    """Run and qrels share queries and no document id; the message guesses why."""
    run, qrels = against.run, against.qrels
    if qrels is None:
        return against.no_qrels
    if not len(qrels) or not run.doc_id.len() or not _share_queries(run, qrels):
        return None
    if run.doc_id.is_in(qrels.doc_ids.unique().implode()).any() or against.same_corpus:
        return None
    retrieved = run.doc_id.unique(maintain_order=True)
    message = nothing_in_common(
        "document", retrieved, qrels.doc_ids, run.query_ids, qrels.query_ids
    )
    return Seen(message, 1, (Place(run.rows.source),))


def _share_queries(run: RunUnderTest, qrels: Qrels) -> bool:
    return any(query_id in qrels for query_id in run.query_ids)
