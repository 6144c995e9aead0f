"""Align: rank a run and join it with the judgments, once and in one place.

The result is a `JudgedRun`: only judged documents that were retrieved, with their ranks. A rank is
found by counting: a document comes after those with a higher score, and after those with the same
score that the tie rule puts first. Counts add up over parts of a run, so a run that comes in pieces
needs no other way.

There are three sources and one result: `scan_tables` joins `Run` tables by hash (equal hashes are
then compared as text), `scans` pass over a file's bytes, and `dicts` looks up plain dicts as they
are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, counted, shown
from rankscope.measures.judged import JudgedRun
from rankscope.runs.run_files import LazyRun
from rankscope.scoring.dicts import found_in_dicts
from rankscope.scoring.inputs import without_identical
from rankscope.scoring.rules import OURS
from rankscope.scoring.scans import Hits
from rankscope.scoring.soundness import refuse_broken

if TYPE_CHECKING:
    from collections.abc import Collection

    from rankscope.measures.judged import BoolArray
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.rules import Profile
    from rankscope.scoring.soundness import KnownCorpus

    AnyRun = Run | LazyRun | Mapping[str, Mapping[str, float]]


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
    """What gold is measured in, where it is spans or texts: characters, words or passages."""
    templated: int = 0
    """How many retrieved passages find several gold passages at once."""

    def counting(self, rules: Profile) -> BoolArray:
        """Return by query whether it counts by some rules."""
        counts = self.judged.in_run | (rules.queries != "both")
        return counts & (self.judged.graded(1.0) > 0) if rules.no_relevant == "out" else counts


def align(
    judgments: Judgments,
    run: AnyRun,
    rules: Profile = OURS,
    *,
    strict: bool = False,
    cutoffs: tuple[int, ...] = (),
    name: str = "",
    corpus: KnownCorpus | None = None,
    sound: bool = True,
) -> Aligned:
    """Rank a run, break its ties by the rules and join it with the judgments.

    ``strict`` refuses a run that lacks judged queries; ``cutoffs`` are the ranks across which ties
    are counted. A run about which no number could mean anything is refused under its ``name`` (see
    `soundness`), unless ``sound`` is false: for ``trec-eval``, which scores whatever NIST's program
    scores.
    """
    title = name or getattr(run, "name", "run")
    if judgments.gold is not None:
        return _aligned_pieces(judgments, run, strict, cutoffs, title)
    if not rules.identical_ids:
        run = without_identical(run)

    def aligned() -> Aligned:
        hits, known = _hits(judgments, run, rules, cutoffs)
        if sound:
            refuse_broken(judgments, run, hits, name=title, corpus=corpus)
        more: dict[str, Any] = {}
        if judgments.has_subtopics:
            more["subtopics"] = judgments.subtopics(hits)
        if judgments.ontology is not None:
            from rankscope.scoring.judged_terms import terms_of  # noqa: PLC0415

            table = run.loaded if isinstance(run, LazyRun) else run
            more["terms"] = terms_of(judgments, table, rules)
        return _joined(judgments, hits, known, strict, **more)

    if isinstance(run, Mapping) or judgments.alignments is None:
        return aligned()
    key = (
        id(run),
        rules.ties,
        rules.precision,
        strict,
    )  # the run is kept too, so its id stays its own
    _, before = judgments.alignments.get(key, (run, None))
    if before is None or not set(cutoffs) <= before.hits.tied_at.keys():
        before = aligned()
        judgments.alignments[key] = run, before
    return before


def _hits(
    judgments: Judgments,
    run: AnyRun,
    rules: Profile,
    cutoffs: tuple[int, ...],
) -> tuple[Hits, Collection[str]]:
    """Return the hits in a run, and its queries; of a file by its scan, as long as it has one."""
    scan, known = None, None
    if isinstance(run, Mapping):
        known = run.keys()
        hits = found_in_dicts(judgments, run, rules.ties, rules.precision, cutoffs)
        if hits is not None:
            return hits, known
        run = {query_id: run[query_id] for query_id in judgments.query_ids if query_id in known}
    elif isinstance(run, LazyRun) and judgments.ontology is None:
        scan = run.scan_for(judgments, rules.precision)
    if scan is None:
        from rankscope.runs.table import as_run  # noqa: PLC0415
        from rankscope.scoring.scan_tables import scan_of  # noqa: PLC0415

        scan = scan_of(as_run(run), judgments, rules.precision)
    known = dict.fromkeys(scan.query_ids).keys() if known is None else known
    return Hits.in_scan(judgments, scan, rules.ties, cutoffs), known


def _joined(
    judgments: Judgments, hits: Hits, known: Collection[str], strict: bool, **more: Any
) -> Aligned:
    """Join hits with what the judgments hold; ``known`` are the queries of the run."""
    ids = judgments.query_ids
    present = np.fromiter(map(known.__contains__, ids), np.bool_, len(ids))
    missing = tuple(ids[number] for number in np.flatnonzero(~present).tolist())
    if missing and strict:
        are = "is" if len(missing) == 1 else "are"
        raise InputError(
            f"{counted(len(missing), 'judged query')} {are} missing from the run, "
            f"{shown(missing[0])} first; complete the run, or count missing queries as 0"
        )
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
        of_judgments=judgments.remembered,
        **more,
    )
    set_aside = sum(query_id in known for query_id in judgments.no_answer)
    return Aligned(judged, missing, len(known) - (len(ids) - len(missing)) - set_aside, hits)


def _aligned_pieces(
    judgments: Judgments, run: Any, strict: bool, cutoffs: tuple[int, ...], name: str
) -> Aligned:
    """Align retrieved pieces with gold that is spans or texts; see `rankscope.scoring.coverage`."""
    from rankscope.scoring.coverage import found_in  # noqa: PLC0415

    if not hasattr(run, "pieces"):
        raise InputError("gold holds spans or texts, and the run ids; give both alike")
    covered = found_in(judgments, run, name, cutoffs)
    refuse_broken(judgments, run, covered.gained, name=name)
    whole, by_gain = (
        _joined(judgments, hits, run.pieces.keys(), strict, spans=covered.spans)
        for hits in (covered.whole, covered.gained)
    )
    return replace(
        whole,
        hits=covered.gained,
        by_gain=by_gain.judged,
        unit=covered.unit,
        templated=covered.templated,
    )
