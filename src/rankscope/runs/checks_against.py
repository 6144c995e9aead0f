"""The checks of a run against what it answers: qrels, listed queries, a corpus."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rankscope.errors import shown
from rankscope.findings import PLACES_SHOWN, Checks, Place, Seen, Unable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rankscope.collection.qrels import Qrels
    from rankscope.runs.checks import RunUnderTest

__all__ = ["AGAINST_CHECKS", "RunAgainst", "guess_mismatch"]


_NO_QRELS = Unable("no qrels were given")


@dataclass(frozen=True, slots=True, eq=False)
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

    def query_places(self, ids: list[str]) -> tuple[Place, ...]:
        """Return places that name queries."""
        source = self.run.rows.source
        return tuple(Place(source, query_id=query_id) for query_id in ids[:PLACES_SHOWN])


AGAINST_CHECKS: Checks[RunAgainst] = Checks()


@AGAINST_CHECKS.add(
    *("RS161", "judged-queries-missing", "warning"),
    unit="query",
    advice="run the system on these queries too; until then they count as 0 in every mean",
)
def judged_queries_missing(against: RunAgainst) -> Seen | Unable | None:
    """Queries of the qrels are not in the run; they count as 0 in every mean."""
    if against.qrels is None:
        return against.no_qrels
    found = set(against.run.query_ids)
    missing = [query_id for query_id in against.qrels.query_ids if query_id not in found]
    if not missing or len(missing) == len(against.qrels.query_ids):
        return None
    of = len(against.qrels.query_ids)
    message = f"{len(missing):,} of {of:,} judged queries are missing from the run"
    return Seen(message, len(missing), against.query_places(missing))


@AGAINST_CHECKS.add(
    *("RS162", "listed-queries-missing", "warning"),
    unit="query",
    advice="run the system on every query of the list",
)
def listed_queries_missing(against: RunAgainst) -> Seen | Unable | None:
    """Queries of the list are not in the run."""
    if against.query_ids is None:
        return Unable("no queries were given")
    found = set(against.run.query_ids)
    missing = [query_id for query_id in against.query_ids if query_id not in found]
    if not missing:
        return None
    message = f"{len(missing):,} of {len(against.query_ids):,} queries are missing from the run"
    return Seen(message, len(missing), against.query_places(missing))


@AGAINST_CHECKS.add(
    *("RS163", "unknown-queries", "warning"),
    unit="query",
    advice="check that the run was made from this list of queries",
)
def unknown_queries(against: RunAgainst) -> Seen | Unable | None:
    """The run has queries that are not in the list."""
    if against.query_ids is None:
        return Unable("no queries were given")
    known = set(against.query_ids)
    unknown = [query_id for query_id in against.run.query_ids if query_id not in known]
    if not unknown:
        return None
    message = "the run has queries that are not in the list"
    return Seen(message, len(unknown), against.query_places(unknown))


@AGAINST_CHECKS.add(
    *("RS164", "unjudged-queries", "note"),
    unit="query",
    advice="they are left out of every measure, as in trec_eval",
)
def unjudged_queries(against: RunAgainst) -> Seen | Unable | None:
    """The run has queries that nobody judged; no measure uses them."""
    if against.qrels is None:
        return against.no_qrels
    unjudged = [query_id for query_id in against.run.query_ids if query_id not in against.qrels]
    if not unjudged or len(unjudged) == len(against.run.query_ids):
        return None
    message = "the run has queries without judgments"
    return Seen(message, len(unjudged), against.query_places(unjudged))


@AGAINST_CHECKS.add(
    *("RS165", "unknown-documents", "error"),
    unit="document",
    advice="check that the run was made from this corpus, and that ids were not changed on the way",
)
def unknown_documents(against: RunAgainst) -> Seen | Unable | None:
    """The run names documents that are not in the corpus."""
    if against.corpus_ids is None:
        return Unable("no corpus was given")
    docs = against.run.doc_id
    pending = set(docs.unique().to_list())
    for doc_id in against.corpus_ids:
        pending.discard(doc_id)
    if not pending:
        return None
    rows = docs.is_in(pl.Series(sorted(pending), dtype=pl.String).implode()).arg_true()
    message = f"{len(rows):,} lines name documents that are not in the corpus"
    places = against.run.places(rows.to_numpy())
    return Seen(message, len(pending), places, {"lines": len(rows)})


@AGAINST_CHECKS.add(
    *("RS171", "no-query-in-common", "error"),
    unit="file",
    advice="make the query ids of run and qrels the same",
)
def no_query_in_common(against: RunAgainst) -> Seen | Unable | None:
    """Run and qrels share no query id; the message guesses why."""
    run, qrels = against.run, against.qrels
    if qrels is None:
        return against.no_qrels
    if not len(qrels) or not run.query_ids:
        return None
    if any(query_id in qrels for query_id in run.query_ids):
        return None
    guess = guess_mismatch(
        run.query_ids, qrels.query_ids, run.doc_id.head(1000), qrels.doc_ids.to_list()
    )
    example = f"the run has {_few(run.query_ids)}, the qrels have {_few(qrels.query_ids)}"
    places = (Place(run.rows.source),)
    return Seen(f"no query id in common with the qrels: {example}{guess}", 1, places)


@AGAINST_CHECKS.add(
    *("RS172", "no-document-in-common", "error"),
    unit="file",
    advice="make the document ids of run and qrels the same",
)
def no_document_in_common(against: RunAgainst) -> Seen | Unable | None:
    """Run and qrels share queries and no document id; the message guesses why."""
    run, qrels = against.run, against.qrels
    if qrels is None:
        return against.no_qrels
    if not len(qrels) or not run.doc_id.len():
        return None
    if not any(query_id in qrels for query_id in run.query_ids):
        return None
    if run.doc_id.is_in(qrels.doc_ids.unique().implode()).any():
        return None
    judged, found = qrels.doc_ids.to_list(), run.doc_id.unique(maintain_order=True).to_list()
    guess = guess_mismatch(found, judged, run.query_ids, qrels.query_ids)
    example = f"the run has {_few(found)}, the qrels have {_few(judged)}"
    places = (Place(run.rows.source),)
    return Seen(f"no document id in common with the qrels: {example}{guess}", 1, places)


def _few(ids: list[str]) -> str:
    return ", ".join(shown(one, 30) for one in ids[:2])


_WAYS: dict[str, Callable[[str], str]] = {
    "blanks around an id": str.strip,
    "upper and lower case": str.casefold,
    "leading zeros": lambda one: re.sub(r"(?<![0-9])0+(?=[0-9])", "", one),
    "a number written with a fraction": lambda one: re.sub(r"\.0+$", "", one),
    "a prefix": lambda one: re.sub(r"^[^0-9]*(?=[0-9])", "", one),
    "a folder or namespace before the id": lambda one: re.split(r"[/:#]", one)[-1],
    "a file ending": lambda one: re.sub(r"\.[A-Za-z]{1,5}$", "", one),
}


def guess_mismatch(
    mine: list[str], theirs: list[str], my_others: Iterable[str], their_others: Iterable[str]
) -> str:
    """Guess why two sets of ids do not meet: which one change would make most of them meet."""
    best, most = "", 0
    for reason, change in _WAYS.items():
        overlap = len({change(one) for one in mine} & {change(one) for one in theirs})
        if overlap > most:
            best, most = f"; they differ in {reason}", overlap
    crossed = min(len(set(mine) & set(their_others)), len(set(theirs) & set(my_others)))
    return (
        "; query and document columns seem to be swapped" if crossed and crossed >= most else best
    )
