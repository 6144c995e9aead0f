"""How stages of a pipeline are shown: the section of the analysis in `stages`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Block,
    Cell,
    Column,
    Section,
    Table,
    Value,
    cells,
    ends,
    marked,
    plain_rows,
    text_columns,
)
from rankscope.statistics.matrix import Scale

if TYPE_CHECKING:
    from rankscope.diagnosis.stages import StageChange, StageRow, Stages


def stages_section(result: Stages) -> Section:
    """Show what each stage changed, and how far a reranker is from what it could reach."""
    stages = result.stages
    if not any(stage.of for stage in stages):
        return Section("Stages")
    changes = _changes_table(stages, result.alpha)
    details: list[Block] = [_means_table(stages)]
    details += _other_changes(stages)
    details += _rerankers_table(stages)
    details.append(_tops_table(stages))
    return Section("Stages", (changes,) if changes.rows else (), tuple(details))


def _main(stages: Sequence[StageRow]) -> str:
    return next(iter(stages[0].measures))


def _changes_table(stages: Sequence[StageRow], alpha: float) -> Table:
    """Return what each stage changed in the main measure."""
    main = _main(stages)
    with_ceiling = any(main in stage.ceiling for stage in stages)
    rows = []
    for stage in stages:
        changes = [change for change in stage.changes if change.measure == main]
        for place, change in enumerate(changes):
            is_better = Scale.of(main).is_better(change.difference)
            cell = Cell(change.difference, ends(change.interval))
            whole: list[Value] = [stage.promoted, stage.lost] if place == 0 else ["", ""]
            ceiling: Value = stage.ceiling.get(main, "") if place == 0 else ""
            rows.append(
                (
                    Cell(f"{stage.system} ({stage.kind})"),
                    Cell(change.of),
                    marked(cell, change.p, alpha=alpha, is_better=is_better),
                    Cell(change.p),
                    *([Cell(ceiling)] if with_ceiling else []),
                    *cells(*whole),
                )
            )
    cutoff = stages[0].cutoff
    notes = [
        (
            f"gained, lost: relevant documents gained / lost in the top {cutoff}, against the best "
            "of the systems the stage builds on"
        ),
        (
            f"† better (↑) or worse (↓) at p ≤ {alpha:g}, ‡ at p ≤ {alpha / 5:g}; paired test, not "
            "corrected"
        ),
    ]
    if with_ceiling:
        notes.insert(0, f"ceiling: {main} if the documents it looks at were in the best order")
    return Table(
        (
            *text_columns("stage", "against"),
            Column(f"change in {main}", digits=3, signed=True),
            Column("p", "p"),
            *([Column("ceiling", digits=3)] if with_ceiling else []),
            *map(Column, ("gained", "lost")),
        ),
        tuple(rows),
        notes=tuple(notes),
        name_columns=2,
    )


def _means_table(stages: Sequence[StageRow]) -> Table:
    measures = list(dict.fromkeys(measure for stage in stages for measure in stage.measures))
    return Table(
        (Column("stage", "text"), *(Column(measure, digits=3) for measure in measures)),
        plain_rows(
            [_described(stage), *(stage.measures.get(measure) for measure in measures)]
            for stage in stages
        ),
        title="What each stage has",
    )


def _described(stage: StageRow) -> str:
    of = f" of {' + '.join(stage.of)}" if stage.of else ""
    return f"{stage.system} ({stage.kind}{of})"


def _other_changes(stages: Sequence[StageRow]) -> list[Table]:
    """Return what the stages changed in all measures but the main one."""
    others = [measure for measure in stages[0].measures if measure != _main(stages)]
    rows = []
    for stage in stages:
        for below in stage.of:
            changes = {change.measure: change for change in stage.changes if change.of == below}
            cells = (_change_cell(changes.get(measure)) for measure in others)
            rows.append((Cell(stage.system), Cell(below), *cells))
    if not rows or not others:
        return []
    columns = (Column(measure, digits=3, signed=True) for measure in others)
    return [
        Table(
            (*text_columns("stage", "against"), *columns),
            tuple(rows),
            title="What each stage changed in other measures",
            name_columns=2,
        )
    ]


def _change_cell(change: StageChange | None) -> Cell:
    return Cell() if change is None else Cell(change.difference, ends(change.interval))


def _rerankers_table(stages: Sequence[StageRow]) -> list[Table]:
    """Return how far rerankers are from the best order of their input."""
    main = _main(stages)
    rows: list[list[Value]] = []
    for stage in stages:
        if not stage.ceiling and stage.input_recall is None:
            continue
        value, ceiling = stage.measures.get(main), stage.ceiling.get(main)
        room = None if value is None or ceiling is None else ceiling - value
        recall = (stage.input_recall, stage.output_recall)
        rows.append([stage.system, stage.depth, *recall, value, ceiling, room])
    titles = ("looks at", "recall before", "recall after", main, "ceiling", "headroom")
    note = (
        f"ceiling: {main} if the documents it looks at were in the best order; headroom: how far "
        "that is; recall: within these documents, which reranking cannot change"
    )
    table = Table(
        (Column("reranker", "text"), *(Column(title, digits=3) for title in titles)),
        plain_rows(rows),
        title="What rerankers made of their input",
        notes=(note,),
    )
    return [table] if rows else []


def _tops_table(stages: Sequence[StageRow]) -> Table:
    """Return what is in the top of the answers, by grade."""
    labels = sorted({label for stage in stages for label in stage.labels}, key=_label_order)
    cutoff = stages[0].cutoff
    rows: list[list[Value]] = [
        [
            stage.system,
            stage.promoted if stage.of else None,
            stage.lost if stage.of else None,
            *(stage.labels.get(label, 0) for label in labels),
        ]
        for stage in stages
    ]
    titles = (label if label == "unjudged" else f"grade {label}" for label in labels)
    return Table(
        (Column("stage", "text"), *map(Column, ("gained", "lost", *titles))),
        plain_rows(rows),
        title=f"The first {cutoff} of each answer",
        notes=(
            (
                f"gained, lost: relevant documents gained / lost in the top {cutoff}; grades: how "
                "many documents of each are there, over all queries"
            ),
        ),
    )


def _label_order(label: str) -> tuple[int, float, str]:
    """Sort grades from high to low, then words."""
    try:
        return 0, -float(label), label
    except ValueError:
        return 1, 0.0, label
