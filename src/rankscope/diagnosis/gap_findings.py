"""What is worth knowing of gaps: the findings and the advice of the analysis in `gaps`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankscope.diagnosis.gap_kinds import least_worth
from rankscope.diagnosis.registry import Advice
from rankscope.errors import counted
from rankscope.findings import Finding, declare

if TYPE_CHECKING:
    from rankscope.diagnosis.gaps import Gaps, SystemGaps

DEEP = 100
"""Answers that are cut above this may hide documents that a reranker could look at, unless another
depth is set."""

MOST_OF_IT = 0.8
"""A shallower reranking that wins this share of all that one could is named."""

RANKING_PROBLEM = declare(
    "RS651",
    "ranking-problem",
    "note",
    unit="system",
    advice="work on the order first: a reranker, better weights, another scoring function",
    meaning="""For many queries (0.3 of them, unless set otherwise) a relevant document is retrieved
    but is not the first, and the best order would gain much of the main measure: the order is the
    problem, or part of it.""",
)
RETRIEVAL_PROBLEM = declare(
    "RS652",
    "retrieval-problem",
    "note",
    unit="system",
    advice="work on what is retrieved first: indexing, the words of queries, a second retriever",
    meaning="""Many relevant documents (0.3 of those that fit above the cutoff, unless set
    otherwise) are not retrieved at all, and much of the main measure is lost by that, so that no
    reranker can mend it.""",
)
HIDDEN_BY_DEPTH = declare(
    "RS653",
    "retrieval-hidden-by-depth",
    "note",
    unit="system",
    advice="fetch deeper runs, to tell what is ranked too low from what is not retrieved",
    meaning="""Much seems not to be retrieved, but the run is cut above the depth that a reranker
    could look at: the missing documents may follow right below the cut.""",
)


def gap_findings(result: Gaps) -> list[Finding]:
    """Name the systems that have each problem, all in one finding."""
    depth, systems = result.depth, result.systems
    low = [
        system
        for system in systems
        if system.kind in ("ranking", "both") and system.loss in ("mostly ranking", "both")
    ]
    short = [system for system in systems if system.loss == "too short to tell"]
    lacking = [
        system
        for system in systems
        if system.kind in ("retrieval", "both") and system.loss in ("mostly retrieval", "both")
    ]
    deep = result.thresholds.depth or DEEP
    hidden = [*short, *(each for each in lacking if each.is_cut and each.run_depth < deep)]
    findings = []
    if low:
        listed = ", ".join(f"{system.system} for {system.not_first:.0%}" for system in low)
        findings.append(
            RANKING_PROBLEM.finding(
                f"a relevant document is in the first {depth:,} but not on top: {listed} of the "
                "queries",
                count=len(low),
                evidence={"depth": depth, "systems": _evidence(low)},
            )
        )
    if lacking:
        listed = ", ".join(
            f"{system.system} lacks {system.not_retrieved:.0%}" for system in lacking
        )
        findings.append(
            RETRIEVAL_PROBLEM.finding(
                f"relevant documents are not in the first {depth:,}: {listed} of them",
                count=len(lacking),
                evidence={"depth": depth, "systems": _evidence(lacking)},
            )
        )
    if hidden:
        listed = ", ".join(f"{system.system} at {system.run_depth:,}" for system in hidden)
        findings.append(
            HIDDEN_BY_DEPTH.finding(
                f"answers are cut ({listed} documents): what is not retrieved may follow right "
                "below, where a reranker could still find it",
                count=len(hidden),
                evidence={"run_depth": {system.system: system.run_depth for system in hidden}},
            )
        )
    return findings


def _evidence(systems: Sequence[SystemGaps]) -> dict[str, dict[str, float]]:
    return {
        system.system: {"not_first": system.not_first, "not_retrieved": system.not_retrieved}
        for system in systems
    }


def _missing(system: SystemGaps) -> str:
    return f"{system.missing:,} of {counted(system.relevant, 'relevant document')}"


def gap_advice(result: Gaps, system: SystemGaps) -> list[Advice]:
    """Say what either fix would win, where that is worth a sentence; the larger part first."""
    worth = least_worth(system.ideal, result.thresholds)
    measure, depth = result.measure, min(result.depth, system.run_depth)
    share_of_all = 1 - system.left_out / result.queries  # gains are of the mean over all queries
    of_which = (
        f" on the {result.queries - system.left_out:,} queries that it has"
        if system.left_out
        else ""
    )
    best = system.now + system.ranking.gain
    advice = []
    if system.ranking.gain >= worth:
        enough = next(
            step for step in system.reranked if step.gain >= MOST_OF_IT * system.ranking.gain
        )
        whole = f"{system.ranking.gain:+.3f}"
        of_it = f"{enough.gain:+.3f}"
        first = f", of which its first {enough.depth:,} give {of_it}" if of_it != whole else ""
        depth_needed = depth if first else min(enough.depth, depth)
        advice.append(
            Advice(
                text=f"Ranking: the first {depth_needed:,} documents of {system.system} in the "
                f"best order would give {measure} of {best:.3f} against {system.now:.3f} "
                f"now{of_which} ({whole}{first})",
                gain=system.ranking.gain * share_of_all,
            )
        )
    if system.retrieval.gain >= worth:
        best_order = f"even in the best order {system.system}"  # where only lower grades count
        if system.relevant:
            best_order = (
                f"{_missing(system)} ({system.missing / system.relevant:.0%}) are not among the "
                f"first {depth:,} of {system.system}{of_which}; even in the best order it"
            )
        text = (
            f"Retrieval: {best_order} would stay {system.retrieval.gain:.3f} below the best "
            f"possible {measure} of {system.ideal:.3f}"
        )
        if system.is_short:
            text = (
                f"Depth: {system.system} holds only {counted(system.run_depth, 'document')} per "
                f"query: fetch deeper before concluding; up to {system.retrieval.gain:.3f} of "
                f"{measure} is lost by what may follow right below"
            )
        advice.append(Advice(text=text, gain=system.retrieval.gain * share_of_all))
    return sorted(advice, key=lambda sentence: -sentence.gain)
