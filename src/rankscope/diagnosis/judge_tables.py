"""The tables of the analysis of judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.diagnosis.judge_comparisons import FINAL, MAJORITY, QRELS
from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Table,
    ends,
    sentences,
    shortened,
    text_columns,
)
from rankscope.errors import counted
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.rater_agreement import RELIABLE, TENTATIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.diagnosis.judge_comparisons import JudgeComparison
    from rankscope.diagnosis.judges import AgainPair, Judges, RaterSummary
    from rankscope.diagnosis.rater_orders import RaterOrder, RaterOrders
    from rankscope.statistics.rater_agreement import RaterAgreement

SHOWN = 12
"""So many raters or pairs of raters a table shows; the JSON holds all."""

FEW = 5
"""Up to so many judges the grades of a pair are written in the order of the judges."""

CONFUSIONS = 3
"""So many tables of confusion are shown: those of the judges that are right least often."""


def judge_blocks(result: Judges) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Return the blocks of the section, and its details."""
    blocks: list[Block] = []
    if len(result.raters) > 1:
        blocks.append(_agreement_table(result))
    details: list[Block] = [_rater_table(result)]
    if result.pairs:
        details.append(_pair_table(result))
    if result.orders is not None:
        details.append(_order_table(result.orders))
    elif result.orders_reason:
        details.append(sentences([f"The systems by rater: {result.orders_reason}"]))
    alone = [f"{judge} is compared with nothing: {why}" for judge, why in _alone(result)]
    if result.comparisons:
        details.append(_comparison_table(result.comparisons, alone))
        worst = sorted(result.comparisons, key=lambda row: row.accuracy)[:CONFUSIONS]
        details += [_confusion_table(row) for row in worst if row.confusion]
    elif alone:
        details.append(sentences(alone))
    if result.repeats:
        details.append(_repeat_table(result))
    if result.again and result.show:
        details.append(_again_table(result))
    if not blocks:
        blocks, details = details[:1], details[1:]
    return tuple(blocks), tuple(details)


def _alone(result: Judges) -> list[tuple[str, str]]:
    return list(result.not_compared.items())[:SHOWN]


def _value(agreement: RaterAgreement) -> Cell:
    if agreement.value is None:
        return Cell("undefined")
    return Cell(agreement.value, ends(agreement.interval))


def _agreement_table(result: Judges) -> Table:
    named = {
        "Krippendorff's alpha, ordinal": result.agreement.ordinal,
        "Krippendorff's alpha, interval": result.agreement.interval,
        "Krippendorff's alpha, nominal": result.agreement.nominal,
        "Fleiss' kappa": result.agreement.fleiss,
    }
    each = f"{result.ratings / max(result.items, 1):.2f}"
    notes = [
        (
            f"{counted(len(result.raters), 'judge')}, {counted(result.items, 'pair')} of query and "
            f"document with {each} ratings on average; {result.shared:,} have at least two, and on "
            f"{result.disputed:,} the judges differ"
        ),
        (
            "1: perfect agreement, 0: what chance would give; intervals by bootstrap over queries "
            f"(over pairs, with fewer than {FEWEST} queries)"
        ),
        (
            f"Krippendorff's thresholds: conclusions can be drawn from {RELIABLE} on, tentative "
            f"ones from {TENTATIVE} on; grades are an order (ordinal), numbers (interval) or names"
        ),
    ]
    reasons = dict.fromkeys(each.reason for each in named.values() if each.reason)
    notes += [f"undefined: {reason}" for reason in reasons]
    rows = tuple((Cell(name), _value(each)) for name, each in named.items())
    return Table((Column("agreement", "text"), Column("value", digits=3)), rows, notes=tuple(notes))


def _rater_table(result: Judges) -> Table:
    ordered = sorted(
        result.raters,
        key=lambda row: (
            not (row.deviation.is_apart or row.deviation.is_biased),
            1.0 if row.majority_equal is None else row.majority_equal,
        ),
    )
    several = any(row.deviation.others is not None for row in result.raters)
    columns = [
        Column("judge", "text"),
        Column("pairs"),
        Column("mean grade", digits=3),
        Column("bias", digits=3, signed=True),
        Column("as majority", digits=3),
    ]
    notes = [
        (
            "bias: mean difference to the mean grade of the others; as majority: share of pairs "
            "with the most frequent grade of the others (without those apart), where at least half "
            "of its pairs have one"
        )
    ]
    if several:
        titles = ("with others", "others", "alpha without")
        columns += [Column(title, digits=3) for title in titles]
        notes += [
            (
                "with others, and others among themselves: 1 − squared distance / that by chance "
                "(as in alpha, interval), on pairs that at least three judged; alpha without: that "
                "of the others alone (ordinal)"
            ),
            (
                "↑ and ↓ mark judges that are significantly apart, corrected by Holm over judges "
                "and both questions (bias, agreement)"
            ),
        ]
    if len(result.raters) > SHOWN:
        notes.append(f"{len(result.raters) - SHOWN:,} more judges are in the JSON")
    rows = tuple(_rater_row(row)[: len(columns)] for row in ordered[:SHOWN])
    return Table(tuple(columns), rows, title="The judges", notes=tuple(notes))


def _rater_row(row: RaterSummary) -> tuple[Cell, ...]:
    deviation = row.deviation
    bias, agreement = Cell(deviation.bias), Cell(deviation.agreement)
    if deviation.is_biased and deviation.bias is not None:
        bias = Cell(deviation.bias, marker="↑" if deviation.bias > 0 else "↓", tone="bad")
    if deviation.is_apart:
        agreement = Cell(deviation.agreement, marker="↓", tone="bad")
    return (
        Cell(row.rater),
        Cell(row.ratings),
        Cell(row.mean),
        bias,
        Cell(row.majority_equal),
        agreement,
        Cell(deviation.others),
        Cell(row.alpha_without),
    )


def _pair_table(result: Judges) -> Table:
    ordered = sorted(
        result.pairs, key=lambda row: 2.0 if row.kappa.value is None else row.kappa.value
    )
    rows = tuple(
        (
            Cell(row.first),
            Cell(row.second),
            Cell(row.items),
            Cell(row.equal),
            _value(row.kappa),
            _value(row.quadratic),
        )
        for row in ordered[:SHOWN]
    )
    notes = ["Cohen's kappa, plain and with quadratic weights (far grades weigh more)"]
    if len(ordered) > SHOWN:
        notes.append(f"those that agree least; the JSON holds all {len(ordered):,}")
    return Table(
        (
            *text_columns("judge", "judge"),
            Column("pairs"),
            Column("equal", digits=3),
            Column("kappa", digits=3),
            Column("quadratic", digits=3),
        ),
        rows,
        title="Two judges at a time",
        notes=tuple(notes),
        name_columns=2,
    )


def _order_table(orders: RaterOrders) -> Table:
    systems = list(orders.means)
    rows = [_order_row("judgments given", orders, systems)]
    rows += [_order_row(order.rater, order, systems) for order in orders.raters]
    if orders.median is not None:
        rows.append(_order_row("median of all", orders.median, systems))
    notes = [
        (
            f"{orders.measure} by whose grades; τ: Kendall's correlation with the order by the "
            "judgments given; pairs that a judge left out keep the grade given"
        ),
        *(f"no order by {name}: {why}" for name, why in orders.left_out.items()),
    ]
    swaps = [
        f"by {order.rater}: {', '.join(f'{s.behind} ahead of {s.ahead}' for s in order.swaps[:4])}"
        for order in orders.raters
        if order.swaps
    ]
    return Table(
        (
            Column("grades of", "text"),
            *(Column(system) for system in systems),
            Column("τ", digits=3),
        ),
        tuple(rows),
        title="The systems by judge",
        notes=(*notes, *(swaps or ["no judge puts two systems in another order"])),
        best="best mean",
    )


def _order_row(name: str, order: RaterOrder | RaterOrders, systems: list[str]) -> tuple[Cell, ...]:
    return (
        Cell(name),
        *(Cell(order.means[system], best=system == order.order[0]) for system in systems),
        Cell(getattr(order, "tau", None)),
    )


def _comparison_table(comparisons: tuple[JudgeComparison, ...], alone: list[str]) -> Table:
    ordered = sorted(comparisons, key=lambda row: row.accuracy)[:SHOWN]
    rows = tuple(
        (
            Cell(row.judge),
            Cell(row.items),
            Cell(row.accuracy),
            Cell(row.constant_accuracy, note=f"{row.constant:g}"),
            Cell(row.p_corrected),
            Cell(row.within_one),
            _value(row.quadratic),
            Cell(row.squared_error),
            Cell(row.constant_squared_error),
        )
        for row in ordered
    )
    names = {
        FINAL: "the final grade, which may hold the judge's own vote",
        QRELS: "the qrels given, which may be made of the judge's own grades",
        MAJORITY: "the majority of the other judges, without those that are apart",
    }
    by_reference: dict[str, list[str]] = {}
    for row in comparisons:
        by_reference.setdefault(names.get(row.reference, row.reference), []).append(row.judge)
    used = [
        f"{reference} (for {', '.join(judges[:SHOWN])})" if len(by_reference) > 1 else reference
        for reference, judges in by_reference.items()
    ]
    return Table(
        (
            Column("judge", "text"),
            Column("pairs"),
            Column("right", digits=3),
            Column("constant", digits=3),
            Column("p", "p"),
            Column("within 1", digits=3),
            Column("kappa²", digits=3),
            Column("error", digits=3),
            Column("of mean", digits=3),
        ),
        rows,
        title="Each judge against the reference",
        notes=(
            f"reference: {'; '.join(used)}",
            *alone,
            (
                "right: share of pairs with its grade; constant: that of always giving its most "
                "frequent grade (in parentheses); p: of the difference, McNemar's exact test with "
                "Holm's correction over the judges"
            ),
            (
                "kappa²: Cohen's kappa with quadratic weights; error: mean squared error; of mean: "
                "that of always giving the mean grade"
            ),
        ),
    )


def _confusion_table(row: JudgeComparison) -> Table:
    rows = tuple(
        (Cell(f"{grade:g}"), *(Cell(count) for count in counts), Cell(sum(counts)))
        for grade, counts in zip(row.grades, row.confusion, strict=True)
    )
    total = (
        Cell("all"),
        *(Cell(sum(counts[place] for counts in row.confusion)) for place in range(len(row.grades))),
        Cell(row.items),
    )
    return Table(
        (
            Column(f"grade of {row.judge}", "text"),
            *(Column(f"{grade:g}") for grade in row.grades),
            Column("all"),
        ),
        (*rows, total),
        title=f"{row.judge} against {row.reference}",
        notes=(f"pairs by grade of {row.judge} (rows) and of {row.reference} (columns)",),
    )


def _repeat_table(result: Judges) -> Table:
    ordered = sorted(result.repeats, key=lambda row: row.equal)[:SHOWN]
    rows = tuple(
        (
            Cell(row.rater),
            Cell(row.items),
            Cell(row.repeats),
            Cell(row.equal),
            Cell(row.all_equal),
            _value(row.kappa),
            _value(row.quadratic),
            _value(row.alpha),
        )
        for row in ordered
    )
    return Table(
        (
            Column("judge", "text"),
            Column("pairs"),
            Column("ratings"),
            *(
                Column(title, digits=3)
                for title in ("equal", "all equal", "kappa", "quadratic", "alpha")
            ),
        ),
        rows,
        title="Each judge against itself",
        notes=(
            (
                "pairs that were judged again, ratings of a pair at most; equal, kappa, quadratic: "
                "between the first two ratings; alpha: ordinal, between all"
            ),
        ),
    )


def _again_table(result: Judges) -> Table:
    shown = result.again[: result.show]
    names = [row.rater for row in result.raters]
    rows = tuple(
        (
            Cell(shortened(pair.text or pair.query_id)),
            Cell(shortened(f"{pair.doc_id} {pair.title or ''}".strip())),
            Cell(_grades(pair, names)),
            Cell(", ".join(f"{name} {rank}" for name, rank in pair.ranks.items()) or "–"),
        )
        for pair in shown
    )
    more = len(result.again) - len(shown)
    settled = " → the final one" if any(pair.final is not None for pair in shown) else ""
    on_top = (
        f"{result.disputed_on_top:,} of them within the first {result.cutoff} of some system, "
        "which come first"
    )
    return Table(
        text_columns("query", "document", "grades", "ranks"),
        rows,
        title="Pairs to judge again",
        notes=(
            (
                f"the judges differ on {counted(result.disputed, 'pair')}, {on_top}; then by the "
                "difference between the highest and the lowest grade"
            ),
            *((f"grades of {', '.join(names)}{settled}",) if len(names) <= FEW else ()),
            *((f"{more:,} more are in the JSON",) if more else ()),
        ),
        name_columns=2,
    )


def _grades(pair: AgainPair, names: list[str]) -> str:
    """Write the grades: those of all judges in their order if they are few, else as they are."""
    listed: Sequence[float | None] = sorted(pair.grades.values())
    if len(names) <= FEW:
        listed = [pair.grades.get(name) for name in names]
    grades = " ".join("–" if grade is None else f"{grade:g}" for grade in listed)
    return grades if pair.final is None else f"{grades} → {pair.final:g}"
