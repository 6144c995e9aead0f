"""Align: rank a run and join it with the judgments, once and in one place.

The result is a `JudgedRun`: only judged documents that were retrieved, with their ranks. A rank is
found by counting: a document comes after those with a higher score, and after those with the same
score that the tie rule puts first. Counts add up over parts of a run, so a run that comes in pieces
needs no other way.

There are three sources and one result: `align_tables` joins `Run` tables by hash, block by block
(equal hashes are then compared as text); `align_dicts` looks plain dicts up as they are;
`scan_hits` takes what was counted in a pass over a file's bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from rankscope.errors import InputError, UnknownNameError, counted, shown
from rankscope.measures.judged import JudgedRun
from rankscope.runs.lazy_run import LazyRun
from rankscope.runs.order import Precision, Ties
from rankscope.scoring.rules import QueryPolicy
from rankscope.scoring.soundness import Lists, refuse_broken

if TYPE_CHECKING:
    from collections.abc import Collection

    from rankscope.measures.judged import BoolArray, FloatArray, IntArray
    from rankscope.measures.term_lists import Terms
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.soundness import KnownCorpus


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Judged retrieved documents by query and rank, and how many documents each query has.

    Queries are numbered as in the judgments, those a run lacks included.
    """

    query: IntArray
    rank: IntArray
    grade: FloatArray
    tie_first: IntArray
    """By hit: the rank of the first document that has its score."""
    tie_size: IntArray
    """By hit: how many documents of its query have its score, itself included."""
    doc_ids: Callable[[], list[str]]
    """The documents by hit; made when asked for."""
    retrieved: IntArray
    """By query: how many documents it has."""
    tied_at: dict[int, int]
    """For each cutoff asked for: how many queries have a tie across it."""
    lists: Lists
    """How scores go down the lists, as given."""
    are_alike: bool | None = None
    """Whether the judged queries that have documents all have the same ones, if that is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """A judged run with what the accounting tells about it."""

    judged: JudgedRun
    missing: tuple[str, ...]
    """Judged queries the run lacks."""
    unjudged: int
    """How many queries of the run nobody judged."""
    hits: Hits
    by_gain: JudgedRun | None = None
    """The same for measures that sum up gains, where gold can be covered in part."""
    unit: str = ""
    """What gold is measured in, where it is spans or texts: characters or words."""


_RULES: dict[str, tuple[str, ...]] = {
    "tie rule": get_args(Ties),
    "precision": get_args(Precision),
    "policy for queries": get_args(QueryPolicy),
}


def align(
    judgments: Judgments,
    run: Run | LazyRun | Mapping[str, Mapping[str, float]],
    *,
    ties: Ties = "trec",
    precision: Precision = "double",
    queries: QueryPolicy = "all",
    cutoffs: tuple[int, ...] = (),
    name: str = "",
    corpus: KnownCorpus | None = None,
    sound: bool = True,
) -> Aligned:
    """Rank a run, break its ties and join it with the judgments.

    ``cutoffs`` are the ranks across which ties are counted. A run about which no number could mean
    anything is refused under its ``name`` (see `soundness`), unless ``sound`` is false: for
    ``trec-eval``, which scores whatever NIST's program scores.
    """
    for (rule, words), chosen in zip(_RULES.items(), (ties, precision, queries), strict=True):
        if chosen not in words:
            raise UnknownNameError(rule, chosen, words)

    if judgments.gold is not None:
        return _aligned_pieces(judgments, run, queries, cutoffs, name)

    def check(hits: Hits) -> None:
        if sound:
            title = name or getattr(run, "name", "run")
            refuse_broken(judgments, run, hits, name=title, corpus=corpus)

    if isinstance(run, Mapping) or judgments.alignments is None:
        return _aligned(judgments, run, ties, precision, queries, cutoffs, check)
    key = (id(run), ties, precision, queries)  # the run is kept too, so its id stays its own
    _, known = judgments.alignments.get(key, (run, None))
    if known is None or not set(cutoffs) <= known.hits.tied_at.keys():
        known = _aligned(judgments, run, ties, precision, queries, cutoffs, check)
        judgments.alignments[key] = run, known
    return known


def _aligned(  # noqa: PLR0917
    judgments: Judgments,
    run: Run | LazyRun | Mapping[str, Mapping[str, float]],
    ties: Ties,
    precision: Precision,
    queries: QueryPolicy,
    cutoffs: tuple[int, ...],
    check: Callable[[Hits], None],
) -> Aligned:
    ids = judgments.query_ids
    if isinstance(run, LazyRun) and judgments.ontology is not None:
        run = run.loaded
    if isinstance(run, Mapping):
        from rankscope.scoring.align_dicts import hits_in_dicts  # noqa: PLC0415

        known = run.keys()
        hits = hits_in_dicts(judgments, run, ties, precision, cutoffs)
    else:
        hits = _hits(judgments, run, ties, precision, cutoffs)
        known = dict.fromkeys(run.query_ids).keys()
    check(hits)
    present, missing = _present(ids, known, queries)
    judged = JudgedRun(
        query_ids=ids,
        retrieved=hits.retrieved,
        in_run=present,
        hit_query=hits.query,
        hit_rank=hits.rank,
        hit_grade=hits.grade,
        judged_query=judgments.judged_query,
        judged_grade=judgments.judged_grade,
        max_grade=judgments.max_grade,
        subtopics=judgments.subtopics(hits),
        terms=None if judgments.ontology is None else _terms(judgments, run, ties, precision),
        of_judgments=judgments.remembered,
    )
    if missing and queries == "both":
        judged = judged.only(present)
    set_aside = sum(query_id in known for query_id in judgments.no_answer)
    return Aligned(judged, missing, len(known) - (len(ids) - len(missing)) - set_aside, hits)


def _hits(
    judgments: Judgments,
    run: Run | LazyRun,
    ties: Ties,
    precision: Precision,
    cutoffs: tuple[int, ...],
) -> Hits:
    """Return the hits in a table, or in a file by its scan, as long as no table is there."""
    if isinstance(run, LazyRun):
        scan = run.scan_for(judgments, precision)
        if scan is not None:
            from rankscope.scoring.scan_hits import hits_in_scan  # noqa: PLC0415

            return hits_in_scan(judgments, scan, ties, cutoffs)
        run = run.loaded
    from rankscope.scoring.align_tables import hits_in_table  # noqa: PLC0415

    return hits_in_table(judgments, run, ties, precision, cutoffs)


def _terms(
    judgments: Judgments,
    run: Run | LazyRun | Mapping[str, Mapping[str, float]],
    ties: Ties,
    precision: Precision,
) -> Terms | None:
    from rankscope.scoring.judged_terms import terms_of  # noqa: PLC0415

    table = run.loaded if isinstance(run, LazyRun) else run
    return terms_of(judgments, table, ties=ties, precision=precision)


def _present(
    ids: tuple[str, ...], known: Collection[str], queries: QueryPolicy
) -> tuple[BoolArray, tuple[str, ...]]:
    """Return by query whether the run has it, and those it lacks."""
    present = np.fromiter(map(known.__contains__, ids), np.bool_, len(ids))
    missing = tuple(ids[number] for number in np.flatnonzero(~present).tolist())
    if missing and queries == "strict":
        are = "is" if len(missing) == 1 else "are"
        raise InputError(
            f"{counted(len(missing), 'judged query')} {are} missing from the run, "
            f"{shown(missing[0])} first; complete the run, or count missing queries as 0"
        )
    return present, missing


def _aligned_pieces(
    judgments: Judgments, run: Any, queries: QueryPolicy, cutoffs: tuple[int, ...], name: str
) -> Aligned:
    """Align retrieved pieces with gold that is spans or texts; see `rankscope.scoring.coverage`."""
    from rankscope.scoring.coverage import span_hits  # noqa: PLC0415

    if not hasattr(run, "pieces"):
        raise InputError(
            "the golden set holds spans or texts and the run ids; only evaluate, compare and gate "
            "take spans and texts, and then for both"
        )
    covered = span_hits(judgments, run, name or run.name)
    ids, known = judgments.query_ids, run.pieces.keys()
    retrieved = np.array(covered.retrieved, np.int64)
    present, missing = _present(ids, known, queries)

    def judged_run(hits: list[tuple[int, int, float]]) -> JudgedRun:
        return JudgedRun(
            query_ids=ids,
            retrieved=retrieved,
            in_run=present,
            hit_query=np.array([query for query, _, _ in hits], np.int64),
            hit_rank=np.array([rank for _, rank, _ in hits], np.int64),
            hit_grade=np.array([grade for _, _, grade in hits], np.float64),
            judged_query=judgments.judged_query,
            judged_grade=judgments.judged_grade,
            max_grade=judgments.max_grade,
            spans=covered.spans,
        )

    whole, gained = judged_run(covered.whole), judged_run(covered.gained)
    hits = Hits(
        query=gained.hit_query,
        rank=gained.hit_rank,
        grade=gained.hit_grade,
        tie_first=gained.hit_rank,
        tie_size=np.ones_like(gained.hit_rank),
        doc_ids=list,
        retrieved=retrieved,
        tied_at=dict.fromkeys(cutoffs, 0),
        lists=Lists(),
    )
    refuse_broken(judgments, run, hits, name=name or run.name)
    if missing and queries == "both":
        whole, gained = whole.only(present), gained.only(present)
    set_aside = sum(query_id in known for query_id in judgments.no_answer)
    unjudged = len(known) - (len(ids) - len(missing)) - set_aside
    return Aligned(whole, missing, unjudged, hits, gained, covered.unit)
