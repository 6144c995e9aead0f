"""Baselines as a section: sentences as reports of search quality have them, and tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Notes,
    Section,
    Sentence,
    Sentences,
    Table,
    Tone,
    cells,
    good_if,
)
from rankscope.document.text import number, percent
from rankscope.errors import counted
from rankscope.measures.language import Measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.diagnosis.above_baselines import AboveBaseline
    from rankscope.diagnosis.baselines import Baselines, MeasureBaselines

TITLE = "Baselines"

MOST_SENTENCES = 5
"""Of more systems only the table shows how each does."""

DRAWN = "~"
"""Marks what was drawn and not computed."""


def baselines_section(result: Baselines) -> Section:
    """Say the main measure in words, and all in tables."""
    blocks: list[Block] = []
    lines = _sentences(result)
    if lines:
        blocks.append(Sentences(tuple(lines)))
    details: list[Block] = [_means(result)]
    if result.improvements:
        details.append(_improvements(result))
    reasons = _reasons(result)
    if reasons:
        details.append(Notes(tuple(reasons)))
    return Section(TITLE, tuple(blocks), tuple(details))


# --- sentences -----------------------------------------------------------------------------------


def _sentences(result: Baselines) -> list[Sentence]:
    """Say what baselines and systems reach: "title-only 48 %, full text 73 % (+25 pp)"."""
    rows = result.improvements
    if not rows:
        return []
    systems = [row for row in rows if row.system in result.means[0].systems]
    steps = [row for row in rows if row.system not in result.means[0].systems]
    first = rows[0]
    parts = [f"{first.against} {_value(result, first.base_mean)}"]
    parts += [_gained(result, row) for row in steps]
    lines = [Sentence(f"{result.measure}: {', '.join(parts)}")]
    if len(systems) > 1 and all(row.verdict == "worse" for row in systems):
        lines.insert(0, Sentence(f"All systems are worse than {_plain(systems[0])}", "warning"))
    if len(systems) <= MOST_SENTENCES:
        lines += [_of_system(result, row) for row in systems]
    return lines


def _plain(row: AboveBaseline) -> str:
    return f"plain BM25 over {'titles' if row.against == 'title-only' else row.against}"


def _of_system(result: Baselines, row: AboveBaseline) -> Sentence:
    if row.is_same and row.verdict is not None:
        mean = _value(result, row.mean)
        return Sentence(f"{row.system} {mean}, the same as {_plain(row)} for every query")
    chance = {test.system: test.verdict for test in result.against_random}
    verdict = row.verdict or chance.get(row.system)
    text = _gained(result, row)
    if verdict is None:
        return Sentence(text)
    tone: Tone = "plain" if verdict == "better" else "warning"
    if verdict in ("better", "worse"):
        return Sentence(f"{text}, {verdict} than {row.against}", tone)
    return Sentence(f"{text}, not shown to be better than {row.against}", tone)


def _gained(result: Baselines, row: AboveBaseline) -> str:
    """Return a name with its mean, and what it gains: "full text 73 % (+25 pp)"."""
    if result.in_points:
        change = f"{_points(row.difference)} pp"
    elif row.relative is None or row.against == "random":
        change = number(row.difference, signed=True)
    else:
        change = f"{number(row.difference, signed=True)}, {_points(row.relative)} %"
    return f"{row.system} {_value(result, row.mean)} ({change})"


def _value(result: Baselines, mean: float) -> str:
    """Return a mean in per cent, with one decimal below 100; as it is where it has no scale."""
    if not result.in_points:
        return f"{mean:.4f}"
    return percent(round(mean, 3)) if round(mean, 3) or not mean else percent(float(f"{mean:.1g}"))


def _points(share: float) -> str:
    """Return ``+25`` for 0.25, with a decimal where there is one."""
    rounded = round(100 * share, 1)
    return f"{rounded:+g}" if rounded else "0"


# --- tables --------------------------------------------------------------------------------------


def _means(result: Baselines) -> Table:
    """Put baselines and systems side by side, measure by measure."""
    names = list(result.means[0].systems)
    has = {
        "random": any(row.random for row in result.means),
        "title-only": any(row.title_only is not None for row in result.means),
        "full text": any(row.full_text is not None for row in result.means),
    }
    columns = [name for name, is_there in has.items() if is_there]
    rows = tuple((Cell(row.measure), *_mean_cells(row, columns, names)) for row in result.means)
    notes = [
        f"means over {counted(result.queries, 'query')}",
        "ideal: the judged documents in the best order",
    ]
    if has["random"]:
        uncut = any(Measure.parse(row.measure).cutoff is None for row in result.means)
        deep = f"; without a cutoff, of the first {result.depth:,}, as many as runs have"
        notes.append(
            f"random: the mean expected of all {result.documents:,} documents in random order"
            f"{deep if uncut else ''}"
        )
    drawn = [row.random for row in result.means if row.random and row.random.draws]
    if drawn:
        worst = max(mean.error or 0.0 for mean in drawn)
        fewest = min(mean.draws for mean in drawn)
        notes.append(
            f"{DRAWN} not by formula: mean of {fewest:,} random rankings, standard error at most "
            f"{worst:.1g}"
        )
    if "title-only" in columns or "full text" in columns:
        notes.append("title-only, full text: BM25 with nothing tuned over these (k1 = 1.5)")
    if result.left_out:
        notes.append(f"left out, as they are no means over queries: {', '.join(result.left_out)}")
    return Table(
        (Column("measure", "text"), *(Column(name) for name in (*columns, *names, "ideal"))),
        rows,
        notes=tuple(notes),
        columns_are="system",
    )


def _mean_cells(row: MeasureBaselines, columns: Sequence[str], names: Sequence[str]) -> list[Cell]:
    shown = []
    for name in columns:
        if name == "random":
            mean = row.random
            marker = DRAWN if mean is not None and mean.draws else ""
            value = None if mean is None else mean.mean
            shown.append(Cell(value, marker=marker, tone="quiet"))
        else:
            shown.append(Cell(row.title_only if name == "title-only" else row.full_text))
    shown += [Cell(row.systems[name]) for name in names]
    return [*shown, Cell(row.ideal, tone="quiet")]


def _improvements(result: Baselines) -> Table:
    """Show differences by the main measure with their intervals, and in per cent."""
    rows = result.improvements
    scale, digits, unit = (100.0, 1, "pp") if result.in_points else (1.0, 4, "")
    lines: list[tuple[Cell, ...]] = []
    for row in rows:
        relative = None if row.relative is None else 100 * row.relative
        if row.against == "random":  # thousands of per cent of next to nothing
            relative = None
        lines.append(
            (*cells(row.system, row.mean, row.against), _change(row, scale), Cell(relative))
        )
    columns = [
        Column("system", "text"),
        Column("mean"),
        Column("against", "text"),
        Column("difference", digits=digits, signed=True, note=unit),
        Column("relative", digits=1, signed=True, note="%"),
    ]
    in_points = "in percentage points (pp) " if unit else ""
    how = f"with its {percent(result.level)} interval (Student's t)"
    notes = [f"difference {in_points}{how}, and relative to the mean it is compared with"]
    same = [row.system for row in rows if row.is_same]
    if len(same) == len(rows):
        notes = [f"difference {in_points}and relative to the mean it is compared with"]
    if same:
        notes.append(f"no interval: the same value for every query ({', '.join(same)})")
    tested = [row for row in rows if row.verdict is not None]
    if tested:
        several = f", corrected over {len(tested)} systems; their intervals hold at once"
        notes.append(
            f"↑ better, ↓ worse than {tested[0].against} at p ≤ {result.alpha:g}"
            f"{several if len(tested) > 1 else ''}"
        )
    if result.against_random:
        notes.append(_against_random(result))
    if all(row.against == "random" for row in rows):
        columns, lines = columns[:-1], [line[:-1] for line in lines]
        notes[0] = f"difference {in_points}with its {percent(result.level)} interval (Student's t)"
    return Table(
        tuple(columns),
        tuple(lines),
        title=f"Improvement in {result.measure}",
        notes=tuple(notes),
    )


def _change(row: AboveBaseline, scale: float) -> Cell:
    if row.is_same:
        return Cell(0.0)
    both = (scale * row.interval.low, scale * row.interval.high)
    cell = Cell(scale * row.difference, both)
    if row.verdict not in ("better", "worse"):
        return cell
    is_good = row.verdict == "better"
    return replace(cell, marker="↑" if is_good else "↓", tone=good_if(is_good))


def _against_random(result: Baselines) -> str:
    """Say which systems are better than chance, and how that was found."""
    by_verdict: dict[str, list[str]] = {}
    for row in result.against_random:
        by_verdict.setdefault(row.verdict, []).append(row.system)
    parts = [
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {verdict}"
        for verdict, names in by_verdict.items()
    ]
    method = result.against_random[0].method
    return f"against a random ranking ({method}): {'; '.join(parts)}"


def _reasons(result: Baselines) -> list[str]:
    """Say which baselines are not there, and why; those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in result.absent.items():
        by_reason.setdefault(reason, []).append(name)
    return [
        f"{' and '.join(names)} could not be made: {reason}" for reason, names in by_reason.items()
    ]
