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
from rankscope.errors import counted
from rankscope.statistics.matrix import Scale
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.diagnosis.stage_roles import Role
    from rankscope.diagnosis.stages import StageChange, StageRow, Stages


def stages_section(result: Stages) -> Section:
    """Show what each stage changed, and how far a reranker is from what it could reach."""
    stages = result.stages
    if not any(stage.of for stage in stages):
        return Section("Stages")
    changes = _changes_table(stages, result.alpha)
    details: list[Block] = [_means_table(stages), *_other_changes(stages)]
    details += _improvements_table(stages)
    details += _limits_table(stages)
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
            counts: tuple[Value, ...] = (stage.kept, stage.promoted, stage.lost)
            whole = counts if place == 0 else ("", "", "")
            ceiling: Value = stage.ceiling.get(main, "") if place == 0 else ""
            rows.append(
                (
                    Cell(f"{stage.system} ({_kind(stage)})"),
                    Cell(change.of),
                    marked(cell, change.decisive_p, alpha=alpha, is_better=is_better),
                    Cell(change.decisive_p),
                    *([Cell(ceiling)] if with_ceiling else []),
                    *cells(*whole),
                )
            )
    cutoff = stages[0].cutoff
    notes = [
        (
            f"kept, gained, lost: relevant documents in the top {cutoff}, against the best of the "
            "systems the stage builds on"
        ),
        (
            f"† better (↑) or worse (↓) at p ≤ {alpha:g}, ‡ at p ≤ {alpha / 5:g}; corrected over "
            "all pairs of systems"
        ),
    ]
    if with_ceiling:
        notes.insert(0, f"ceiling: {main} if the documents it is given were in the best order")
    return Table(
        (
            *text_columns("stage", "against"),
            Column(f"change in {main}", digits=3, signed=True),
            Column("p", "p"),
            *([Column("ceiling", digits=3)] if with_ceiling else []),
            *map(Column, ("kept", "gained", "lost")),
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
            [
                f"{stage.system} ({_kind(stage)})",
                *(stage.measures.get(measure) for measure in measures),
            ]
            for stage in stages
        ),
        title="What each stage has",
    )


_ROLES: dict[Role, str] = {
    "rerank": "reranker",
    "rerank and cut": "reranker that cuts",
    "filter": "filter",
    "fuse": "fusion",
    "same": "no change",
    "other": "stage",
}


def _kind(stage: StageRow) -> str:
    """Name what a stage is: its kind or, where only the runs tell, what it does."""
    if stage.kind != "stage" or stage.role is None:
        return stage.kind
    return _ROLES[stage.role]


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


def _improvements_table(stages: Sequence[StageRow]) -> list[Table]:
    """Return the changes in per cent of what was there."""
    rows = [
        cells(
            stage.system, change.of, change.measure, change.base_mean, change.mean, change.percent
        )
        for stage in stages
        for change in stage.improvements
    ]
    if not rows:
        return []
    note = (
        "improvement: (after − before) / before × 100, of the means over the queries that all "
        "systems have; – where the mean before is 0"
    )
    return [
        Table(
            (
                *text_columns("stage", "against", "measure"),
                Column("before", digits=3),
                Column("after", digits=3),
                Column("improvement in %", digits=1, signed=True),
            ),
            tuple(rows),
            title="Improvement in per cent",
            notes=(note,),
            name_columns=3,
        )
    ]


def _limits_table(stages: Sequence[StageRow]) -> list[Table]:
    """Return how far stages are from the best order of their input."""
    main = _main(stages)
    shown = [stage for stage in stages if stage.ceiling or stage.input_recall is not None]
    with_dropped = any(stage.dropped is not None for stage in shown)
    rows: list[tuple[Cell, ...]] = []
    for stage in shown:
        value, ceiling = stage.measures.get(main), stage.ceiling.get(main)
        room = None if value is None or ceiling is None else ceiling - value
        recall = (stage.input_recall, stage.output_recall)
        rows.append(
            (
                Cell(stage.system),
                _depth_cell(stage),
                *cells(*recall, value, ceiling, room),
                *([Cell(stage.dropped)] if with_dropped else []),
            )
        )
    titles = ["looks at", "recall before", "recall after", main, "ceiling", "headroom"]
    limits = (
        f"ceiling: {main} if the documents it looks at were in the best order; headroom: how far "
        "that is; recall: within these documents, which reranking cannot change"
    )
    notes = [limits]
    if with_dropped:
        titles.append("dropped")
        notes.append(
            "dropped: relevant documents that the systems below have at some rank and the stage at "
            "none"
        )
    if any(stage.depth_source in ("seen", "at least") for stage in shown):
        notes.append("seen: nobody said how many documents it looks at; its run shows that")
    uncertain = [stage for stage in stages if stage.exceptions]
    notes += [
        f"{stage.system} is something else than a {_ROLES[stage.role or 'other']} for "
        f"{counted(stage.exceptions or 0, 'query')}"
        for stage in uncertain
    ]
    notes += [
        f"{stage.system} has documents that are not in {_run_of(stage.of)}, so it has no ceiling"
        for stage in stages
        if stage.role is not None and stage.input_recall is None
    ]
    only_rerankers = all(stage.kind == "rerank" or stage.role == "rerank" for stage in shown)
    table = Table(
        (
            Column("reranker" if only_rerankers else "stage", "text"),
            *(Column(title, digits=3) for title in titles),
        ),
        tuple(rows),
        title="What rerankers made of their input"
        if only_rerankers
        else "What each stage made of its input",
        notes=tuple(notes),
    )
    return [table] if rows else []


def _run_of(names: Sequence[str]) -> str:
    return f"the run{'s' if len(names) > 1 else ''} of {listed(names)}"


def _depth_cell(stage: StageRow) -> Cell:
    if stage.depth is None:
        return Cell("all")
    notes = {"seen": "seen", "at least": "or more, seen"}
    return Cell(stage.depth, note=notes.get(stage.depth_source or "", ""))


def _tops_table(stages: Sequence[StageRow]) -> Table:
    """Return what is in the top of the answers, by grade."""
    labels = sorted({label for stage in stages for label in stage.labels}, key=_label_order)
    cutoff = stages[0].cutoff
    rows: list[list[Value]] = [
        [
            stage.system,
            *(stage.labels.get(label, 0) for label in labels),
        ]
        for stage in stages
    ]
    titles = (label if label == "unjudged" else f"grade {label}" for label in labels)
    return Table(
        (Column("stage", "text"), *map(Column, titles)),
        plain_rows(rows),
        title=f"The first {cutoff} of each answer",
        notes=("how many documents of each grade are there, over all queries",),
    )


def _label_order(label: str) -> tuple[int, float, str]:
    """Sort grades from high to low, then words."""
    try:
        return 0, -float(label), label
    except ValueError:
        return 1, 0.0, label
