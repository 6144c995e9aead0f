"""What unjudged documents give cause to say: findings, and advice for the summary.

From what `rankscope.diagnosis.holes` computed; where unjudged means nonrelevant by design it is not
asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.diagnosis.analysis import Advice
from rankscope.errors import counted
from rankscope.findings import declare

if TYPE_CHECKING:
    from rankscope.diagnosis.analysis import Inputs
    from rankscope.diagnosis.holes import DepthShare, Holes
    from rankscope.diagnosis.reversals import Conclusion
    from rankscope.findings import Finding

MOST_NAMED = 5
"""Of more systems advice does not give the shares of all."""

DOUBTFUL = 0.05
"""From this chance on that it is turned round, a conclusion is in doubt."""

UNEVEN = 0.05
"""Shares that differ by less than this are alike, whatever a test says."""

MANY = 0.2
"""From this share of the first k documents on it is worth a finding."""

MANY_UNJUDGED = declare(
    "RS675",
    "many-unjudged",
    "warning",
    unit="document",
    advice="judge the pairs that diagnose --pool writes, or compare condensed-list values",
    meaning="""At least a fifth of the first k documents of a system are unjudged, though
    nonrelevant documents were judged: its values are too low by an unknown amount.""",
)

UNEVEN_UNJUDGED = declare(
    "RS676",
    "uneven-unjudged",
    "warning",
    unit="document",
    advice="judge the pairs that diagnose --pool writes before you compare these systems",
    meaning="""Of two systems that are compared, one has significantly more unjudged documents among
    its first k (paired t test over queries, corrected by Holm, and at least 5 points of a
    hundred), and that could change which of them is better: the comparison favours the other.""",
)

OPEN_CONCLUSION = declare(
    "RS677",
    "conclusion-open-to-unjudged",
    "warning",
    unit="document",
    advice="judge the pairs that diagnose --pool writes before you act on the difference",
    meaning="""Two systems are shown to differ, and their order would be undone if some of their
    unjudged documents were relevant; the chance of that is at least 5 % if they are relevant as
    often as judged ones that as many systems rank there. Where no difference is shown, more queries
    matter and not these documents.""",
)


def _on_top(result: Holes) -> dict[str, DepthShare]:
    """By system: what is unjudged among the first k."""
    return {
        system.system: share
        for system in result.systems
        for share in system.shares
        if share.depth == result.cutoff
    }


def hole_findings(result: Holes, inputs: Inputs) -> list[Finding]:
    """Name systems with many unjudged documents, and comparisons that these could change."""
    findings = []
    shares = _on_top(result)
    for name, share in shares.items():
        if share.share is not None and share.share >= MANY:
            findings.append(
                MANY_UNJUDGED.finding(
                    f"{share.share:.0%} of the first {result.cutoff} documents of {name} are "
                    f"unjudged, and count as nonrelevant{_negative(result)}",
                    count=share.unjudged,
                    evidence={"system": name} | share.to_dict(),
                )
            )
    settled = [{row.better, row.worse} for row in result.conclusions if row.verdict == "certain"]
    for row in result.uneven:
        is_uneven = row.p_corrected <= inputs.settings.alpha and row.difference >= UNEVEN
        if is_uneven and {row.more, row.less} not in settled:
            more, less = shares[row.more], shares[row.less]
            findings.append(
                UNEVEN_UNJUDGED.finding(
                    f"{more.share or 0:.0%} of the first {result.cutoff} documents of {row.more} "
                    f"are unjudged, and {less.share or 0:.0%} of {row.less}'s: the comparison "
                    f"favours {row.less}{_negative(result)}",
                    count=more.unjudged,
                    evidence=row.to_dict(),
                )
            )
    findings += [
        OPEN_CONCLUSION.finding(
            f"{conclusion.better} is better than {conclusion.worse} by "
            f"{conclusion.difference:.4f} on {result.judged_by}; {reversing(conclusion)}",
            count=conclusion.unjudged,
            evidence=conclusion.to_dict(),
        )
        for conclusion in result.conclusions
        if _is_doubtful(conclusion, inputs.settings.alpha)
    ]
    return findings


def reversing(conclusion: Conclusion) -> str:
    """Say what would undo a conclusion that is open, and how probable the reverse is."""
    return (
        f"the difference would be gone if about {conclusion.needed} of "
        f"{counted(conclusion.unjudged, 'unjudged document')} were relevant (the chance of a "
        f"reversal is about {conclusion.chance:.0%} if unjudged documents are as often relevant as "
        "judged ones that as many systems retrieve)"
    )


def _negative(result: Holes) -> str:
    return " (negative grades count as unjudged)" if result.negative else ""


def _is_doubtful(conclusion: Conclusion, alpha: float) -> bool:
    """Tell whether a difference that is shown could well be undone."""
    is_shown = conclusion.p_corrected is not None and conclusion.p_corrected <= alpha
    return is_shown and conclusion.verdict == "open" and (conclusion.chance or 0.0) >= DOUBTFUL


def hole_advice(result: Holes, inputs: Inputs, findings: list[Finding]) -> list[Advice]:
    """Say what is in doubt: whether the best system is the best, or else its value."""
    focus, shares = inputs.focus, _on_top(result)
    if not result.judge:
        return []
    judge = f"judge the {len(result.judge)} pairs of --pool first"
    doubtful = [
        row
        for row in result.conclusions
        if _is_doubtful(row, inputs.settings.alpha) and focus in {row.better, row.worse}
    ]
    if doubtful and result.judged_by == result.measure:
        row = max(doubtful, key=lambda row: row.chance or 0.0)
        return [
            Advice(
                text=f"Judgments: {row.better} is better than {row.worse} by {row.difference:.3f} "
                f"in {result.measure}; {reversing(row)}; {judge}",
                gain=row.difference,
            )
        ]
    share = shares[focus]
    value = next(
        row for row in result.values if row.system == focus and row.measure == result.measure
    )
    is_uneven = any(
        finding.code == UNEVEN_UNJUDGED.code and finding.evidence["more"] == focus
        for finding in findings
    )
    is_striking = share.share is not None and (share.share >= MANY or is_uneven)
    if not is_striking or value.value is None or value.condensed is None:
        return []
    others = ", ".join(
        f"{name}: {other.share:.0%}"
        for name, other in shares.items()
        if name != focus and other.share is not None and len(shares) <= MOST_NAMED
    )
    return [
        Advice(
            text=f"Judgments: {share.share:.0%} of the first {result.cutoff} documents of "
            f"{focus} are unjudged{f' ({others})' if others else ''}; without them its "
            f"{result.measure} would be {value.condensed:.3f} instead of {value.value:.3f}; "
            f"{judge}",
            gain=abs(value.condensed - value.value),
        )
    ]
