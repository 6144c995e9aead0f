"""Experiments as documents: what changed between two, which there are, whether one still holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Answer,
    Axis,
    Document,
    Point,
    Points,
    Section,
    Sentence,
    Sentences,
    Table,
    cells,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import counted
from rankscope.reports.system_tables import (
    FEW,
    OUTCOME_TONES,
    change_cells,
    change_columns,
    outcome_of,
)
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.benchmark.changes import ExperimentComparison
    from rankscope.benchmark.listing import Listed
    from rankscope.benchmark.verify import Verification
    from rankscope.statistics.system_pairs import Pair


@view
def changes_document(comparison: ExperimentComparison) -> Document:
    """Show what became better or worse from one experiment to another, then what is different."""
    changes = comparison.changes
    main = next((change.measure for change in changes), "")
    order = {"worse": 0, "better": 1}
    ranked = sorted(changes, key=lambda change: order.get(change.verdict, 2))
    first = [each for each in ranked if each.verdict in order or each.measure == main]
    rest = [change for change in ranked if change not in first]
    headline, evidence = _verdict(changes)
    labelled = {
        "Different": comparison.differs or ["nothing but the runs"],
        "Only in the first": comparison.only_before,
        "Only in the second": comparison.only_after,
        "Test": ["paired test, corrected by Holm over all systems and measures"],
    }
    points = (Point(label, (", ".join(each),)) for label, each in labelled.items() if each)
    counts = f"{counted(len(rest), 'more change')}, of which none can be told."
    others = Section("Other measures", (_changes_table(rest),), finding=counts)
    blocks = (_changes_table(first), Points(tuple(points)))
    return Document(
        f"{comparison.before} → {comparison.after}",
        (others,) if rest else (),
        subtitle=counted(comparison.queries, "query"),
        answer=Answer(headline, evidence=evidence, blocks=blocks),
        names=frozenset({comparison.before, comparison.after}.union(c.system for c in changes)),
        data=lambda: _changes_table(changes),
    )


def _verdict(changes: Sequence[Pair]) -> tuple[str, str]:
    """Say which systems became worse and better, the worse first, and on which measures."""
    heads, lines = [], []
    for word in ("worse", "better"):
        by_system: dict[str, list[str]] = {}
        for change in changes:
            if change.verdict == word:
                by_system.setdefault(change.system, []).append(change.measure)
        named = [f"{name} on {listed(measures, FEW)}" for name, measures in by_system.items()]
        if named:
            heads.append(f"{word}: {listed(by_system, FEW)}")
            lines.append(f"{word.capitalize()}: {'; '.join(named[:FEW])}")
    if heads:
        headline = "; ".join(heads)
        return f"{headline[0].upper()}{headline[1:]}", f"{'. '.join(lines)}."
    if all(change.difference == 0 for change in changes):
        return "Nothing changed", "Every mean is the same."
    return "No change can be told", "No system is better or worse on any measure."


def _changes_table(changes: Sequence[Pair]) -> Table:
    rows = tuple(
        (
            *cells(change.system, change.measure),
            *change_cells(change, outcome_of(change), OUTCOME_TONES[change.verdict]),
        )
        for change in changes
    )
    columns = (*text_columns("system", "measure"), *change_columns("before", "after", "result"))
    return Table(columns, rows, name_columns=2, axis=Axis(0.0))


def listing_document(folder: str, experiments: Sequence[Listed]) -> Document:
    """Show the experiments of a folder, newest first."""
    shown = Table(
        text_columns("experiment", "finished", "collection", "best", "verdict"),
        plain_rows(map(_listed, experiments)),
    )
    return Document(
        f"Experiments in {folder}",
        (Section("", (shown if experiments else sentences([f"{folder} holds no experiment"]),)),),
    )


def _listed(experiment: Listed) -> tuple[str, ...]:
    if experiment.problem:
        return (experiment.folder, "", "", "", f"cannot be read: {experiment.problem}")
    value = "" if experiment.value is None else f" {experiment.value:.3f}"
    return (
        experiment.experiment,
        experiment.finished.replace("T", " ")[:16],
        f"{experiment.collection}, {counted(experiment.queries, 'question')}",
        f"{experiment.best}, {experiment.measure}{value}",
        experiment.verdict,
    )


@view
def verification_document(verification: Verification) -> Document:
    """Show whether an experiment is what was recorded, and what is not."""
    wrong = [check for check in verification.checks if check.problem]
    count = len(verification.checks)
    answer = (
        f"{verification.experiment} holds: {count} checks, every file, the scores of the runs and "
        "the verdict are as recorded"
    )
    if wrong:
        failed = f"{len(wrong)} of {count} checks failed"
        answer = f"{failed}: this is not the experiment that was recorded"
    lines = (
        Sentence(answer, "bad" if wrong else "good"),
        *(Sentence(f"✗ {check.what}: {check.problem}", "bad") for check in wrong),
        Sentence(f"digest {verification.digest}", "quiet"),
    )
    return Document(
        f"Verification of {verification.experiment}",
        (Section("", (Sentences(lines),)),),
        data=lambda: Table(
            text_columns("check", "problem"),
            plain_rows((check.what, check.problem) for check in verification.checks),
        ),
    )
