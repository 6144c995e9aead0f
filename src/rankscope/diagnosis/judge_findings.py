"""What the analysis of judges says: its findings, and its advice for the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.diagnosis.analysis import Advice
from rankscope.diagnosis.judge_comparisons import FINAL, MAJORITY, QRELS, fails_constant
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.rater_agreement import RELIABLE, TENTATIVE

if TYPE_CHECKING:
    from rankscope.diagnosis.judge_comparisons import JudgeComparison
    from rankscope.diagnosis.judges import Judges, RaterSummary

INVERTED = -0.5
"""A judge that is apart, and whose grades correlate with the others' by at most this, seems to have
its scale upside down."""

LOW_AGREEMENT = declare(
    "RS685",
    "judges-disagree",
    "warning",
    unit="pair",
    advice="sharpen the instructions with examples of the pairs they differ on, and judge those "
    "pairs again before you trust small differences between systems",
    meaning="""The raters' agreement beyond chance, Krippendorff's alpha with ordinal distances, is
    below his thresholds: under 0.667 no conclusion should be drawn from the grades (a warning),
    under 0.8 only tentative ones (a note).""",
)

STANDS_OUT = declare(
    "RS686",
    "judge-apart",
    "warning",
    unit="judge",
    advice="look at the pairs on which they differ; if this judge misread the scale, leave its "
    "ratings out until it is instructed again",
    meaning="""One rater agrees significantly less with the others than they do among themselves, or
    grades significantly higher or lower than they do: by at least 0.1 in agreement, or a tenth of
    the range of grades. Its scale looks inverted where its grades correlate with theirs by -0.5 or
    less.""",
)

NO_BETTER = declare(
    "RS687",
    "judge-no-better-than-constant",
    "warning",
    unit="judge",
    advice="do not use this judge in place of the reference: always giving the most frequent grade "
    "is right as often",
    meaning="""A judge gives the reference's grade no more often than always saying its most
    frequent grade would (McNemar's exact test). It is a note where the judge is nearer to the
    reference by squared error than the mean grade is.""",
)

ORDER_DEPENDS = declare(
    "RS688",
    "order-depends-on-judge",
    "warning",
    unit="judge",
    advice="settle the grades of the pairs to judge again before choosing between these systems",
    meaning="""By the grades of one rater two systems are in another order than by the judgments
    given. It is a note where neither of the two differences is significant.""",
)

INCONSISTENT = declare(
    "RS689",
    "judge-contradicts-itself",
    "note",
    unit="judge",
    advice="take the median of several ratings of this judge, or make it deterministic",
    meaning="""A rater that judged the same pairs again agrees with itself no better than alpha
    0.667 (Krippendorff, ordinal).""",
)

CODES = (LOW_AGREEMENT, STANDS_OUT, NO_BETTER, ORDER_DEPENDS, INCONSISTENT)


def judge_findings(result: Judges, alpha: float) -> list[Finding]:
    """Name what a reader should know before trusting the grades.

    Judges that are apart come first: they may be why all together agree so little.
    """
    return [
        *_about_raters(result),
        *_about_agreement(result),
        *_about_constants(result, alpha),
        *_about_orders(result, alpha),
        *_about_repeats(result),
    ]


def _about_agreement(result: Judges) -> list[Finding]:
    ordinal = result.agreement.ordinal
    if ordinal.value is None or ordinal.items < FEWEST or ordinal.value >= RELIABLE:
        return []
    low = ordinal.value < TENTATIVE
    limits = (
        f"below {TENTATIVE}, under which no conclusion should be drawn from the grades"
        if low
        else f"below {RELIABLE}, under which conclusions are tentative"
    )
    ends = ordinal.interval
    between = "" if ends is None else f", {ends.low:.2f} to {ends.high:.2f}"
    return [
        LOW_AGREEMENT.finding(
            f"the alpha of {counted(len(result.raters), 'judge')} is {ordinal.value:.3f} "
            f"(Krippendorff, ordinal{between}) on {counted(ordinal.items, 'pair')}: {limits}",
            count=result.disputed,
            evidence={"alpha": ordinal.to_dict(), "thresholds": [TENTATIVE, RELIABLE]},
            severity="warning" if low else "note",
        )
    ]


def _about_raters(result: Judges) -> list[Finding]:
    findings = []
    for row in sorted(result.raters, key=_innocence):
        deviation = row.deviation
        reasons = []
        if deviation.is_apart:
            reasons.append(
                f"agrees less with the others ({deviation.agreement:.2f}) than they do among "
                f"themselves ({deviation.others:.2f})"
            )
        if deviation.is_biased and deviation.bias is not None:
            side = "higher" if deviation.bias > 0 else "lower"
            reasons.append(f"grades {abs(deviation.bias):.2f} {side} than they do")
        if reasons:
            before, after = result.agreement.ordinal.value, row.alpha_without
            change = ""
            if before is not None and after is not None:
                change = f"; without it alpha is {after:.2f}, with it {before:.2f} (ordinal)"
            who = row.rater
            if is_inverted(row):
                who = (
                    f"{row.rater}'s grades run against the others' (correlation "
                    f"{row.correlation:.2f}): its scale looks inverted; it"
                )
            findings.append(
                STANDS_OUT.finding(
                    f"{who} {' and '.join(reasons)}, on {counted(deviation.items, 'pair')}{change}",
                    evidence={"rater": row.rater, "alpha_without": after} | deviation.to_dict(),
                )
            )
    return findings


def is_inverted(row: RaterSummary) -> bool:
    """Tell whether a judge that is apart seems to have its scale upside down."""
    is_against = row.correlation is not None and row.correlation <= INVERTED
    return row.deviation.is_apart and is_against


def _innocence(row: RaterSummary) -> tuple[bool, bool, float]:
    """Return what judges are sorted by, so that the one most surely wrong comes first."""
    deviation = row.deviation
    behind = (deviation.others or 0.0) - (deviation.agreement or 0.0)
    return not is_inverted(row), not deviation.is_apart, -behind


def _about_constants(result: Judges, alpha: float) -> list[Finding]:
    findings = []
    family = len(result.comparisons)
    apart = {row.rater for row in result.raters if row.deviation.is_apart}
    for row in sorted(result.comparisons, key=lambda row: (row.judge not in apart, row.accuracy)):
        if not fails_constant(row, alpha=alpha, family=family):
            continue
        nearer = row.squared_error < row.constant_squared_error
        error = "below" if nearer else "not below"
        findings.append(
            NO_BETTER.finding(
                f"{row.judge} gives the grade of {_reference(row)} for {row.accuracy:.1%} of "
                f"{counted(row.items, 'pair')}, and always saying {row.constant:g} would for "
                f"{row.constant_accuracy:.1%} (p = {row.p_corrected:.2g}); its squared error of "
                f"{row.squared_error:.3f} is {error} that of always saying the mean "
                f"({row.constant_squared_error:.3f})",
                evidence=row.to_dict(),
                severity="note" if nearer else "warning",
            )
        )
    return findings


def _reference(row: JudgeComparison) -> str:
    names = {
        FINAL: "the final judgment",
        QRELS: "the qrels",
        MAJORITY: "the majority of the others",
    }
    return names.get(row.reference, row.reference)


def _about_orders(result: Judges, alpha: float) -> list[Finding]:
    if result.orders is None:
        return []
    findings = []
    for order in result.orders.raters:
        if not order.swaps:
            continue
        sure = [swap for swap in order.swaps if _is_sure(swap.p_judgments, swap.p_rater, alpha)]
        shown = max(sure or order.swaps, key=lambda swap: swap.by_judgments - swap.by_rater)
        more = len(order.swaps) - 1
        also = f", and {counted(more, 'more pair')} of systems in another order" if more else ""
        doubt = "" if sure else "; neither difference is significant"
        findings.append(
            ORDER_DEPENDS.finding(
                f"by the grades of {order.rater} {shown.behind} is ahead of {shown.ahead} by "
                f"{-shown.by_rater:.4f} on {result.orders.measure}, and by the judgments given "
                f"{shown.ahead} is ahead by {shown.by_judgments:.4f}{also}{doubt}",
                evidence=order.to_dict(),
                severity="warning" if sure else "note",
            )
        )
    return findings


def _is_sure(p_judgments: float | None, p_rater: float | None, alpha: float) -> bool:
    return any(p is not None and p <= alpha for p in (p_judgments, p_rater))


def _about_repeats(result: Judges) -> list[Finding]:
    return [
        INCONSISTENT.finding(
            f"{row.rater} gives {row.equal:.1%} of {counted(row.items, 'pair')} the same grade "
            f"again (alpha {row.alpha.value:.2f}, ordinal, over up to "
            f"{counted(row.repeats, 'rating')} of a pair)",
            evidence=row.to_dict(),
        )
        for row in result.repeats
        if row.items >= FEWEST and row.alpha.value is not None and row.alpha.value < TENTATIVE
    ]


def judge_advice(result: Judges, focus: str, alpha: float) -> list[Advice]:
    """Say what hangs on whose grades are taken, for the system that advice is about."""
    orders, ordinal = result.orders, result.agreement.ordinal
    assert orders is not None
    lines = []
    values = [order.means[focus] for order in orders.raters]
    doubt = (max(values) - min(values)) / 2
    swaps = [
        (order.rater, swap)
        for order in orders.raters
        for swap in order.swaps
        if focus in (swap.ahead, swap.behind)
    ]
    sure = [
        (rater, swap) for rater, swap in swaps if _is_sure(swap.p_judgments, swap.p_rater, alpha)
    ]
    low = ordinal.value is not None and ordinal.items >= FEWEST and ordinal.value < TENTATIVE
    if (low or sure) and result.again and len(values) > 1:
        parts = []
        if low:
            count = counted(len(result.raters), "judge")
            parts.append(f"the alpha of the {count} is only {ordinal.value:.2f} (ordinal)")
        if sure or swaps:
            rater, swap = (sure or swaps)[0]
            would = f"by {rater}'s grades {swap.behind} would be ahead of {swap.ahead}"
            parts.append(would)
        text = "; ".join(parts)
        pairs = counted(len(result.again), "pair")
        lines.append(
            Advice(
                text=f"{text[0].upper()}{text[1:]}: judge the {pairs} again on which they differ "
                f"most ({orders.measure} of {focus} is {min(values):.3f} to {max(values):.3f}, "
                "depending on the judge)",
                gain=doubt,
            )
        )
    return lines
