"""Experiments as documents: what changed between two, which there are, whether one still holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Cell,
    Column,
    Document,
    Section,
    Sentence,
    Sentences,
    Table,
    cells,
    ends,
    good_if,
    marked,
    marker_note,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.benchmark.changes import ExperimentComparison, SystemChange
    from rankscope.benchmark.listing import Listed
    from rankscope.benchmark.verify import Verification

_ALPHA = 0.05

SHORT = 16
"""How much of a digest people are shown: enough that nobody makes another manifest with it."""


@view
def changes_document(comparison: ExperimentComparison) -> Document:
    """Show what changed from one experiment to another; the verdict comes first."""
    same = "nothing: config, corpus and versions are the same"
    facts = [
        *_verdict(comparison.changes),
        f"different: {', '.join(comparison.differs) or same}",
    ]
    for names, where in ((comparison.only_before, "first"), (comparison.only_after, "second")):
        if names:
            facts.append(f"only in the {where}: {', '.join(names)}")
    return Document(
        f"{comparison.before} → {comparison.after}",
        (
            Section("Verdict", (sentences(facts),)),
            Section("Changes", (_changes_table(comparison.changes),)),
        ),
        subtitle=counted(comparison.queries, "query"),
        names=frozenset([comparison.before, comparison.after]),
    )


def _verdict(changes: Sequence[SystemChange]) -> list[str]:
    """Name what became better and worse."""
    lines = []
    for word in ("worse", "better"):
        named = [f"{row.system} on {row.measure}" for row in changes if row.verdict == word]
        if named:
            lines.append(f"{word}: {', '.join(named)}")
    return lines or ["can't tell"]


def _changes_table(changes: Sequence[SystemChange]) -> Table:
    rows = []
    for change in changes:
        cell = Cell(change.difference, ends(change.interval))
        if change.verdict in ("better", "worse"):
            is_better = change.verdict == "better"
            cell = marked(cell, change.p_corrected, alpha=_ALPHA, is_better=is_better)
        rows.append(
            (
                *cells(change.system, change.measure, change.before, change.after),
                cell,
                Cell(change.p_corrected),
            )
        )
    return Table(
        (
            *text_columns("system", "measure"),
            *map(Column, ("before", "after")),
            Column("difference", signed=True),
            Column("p", "p"),
        ),
        tuple(rows),
        notes=(
            (
                f"{marker_note('before', alpha=_ALPHA)}; permutation test, corrected by Holm over "
                "all rows; in brackets: 95% interval"
            ),
        ),
        name_columns=2,
    )


def listing_document(folder: str, experiments: Sequence[Listed]) -> Document:
    """Show the experiments of a folder, newest first."""
    sections = tuple(map(_listed, experiments))
    empty = Section("", (sentences([f"{folder} holds no experiment"]),))
    titles = ("folder", "experiment", "digest", "finished", "collection", "queries",
              "systems", "measure", "best", "value", "verdict", "problem")  # fmt: skip
    return Document(
        f"Experiments in {folder}",
        sections or (empty,),
        data=lambda: Table(
            text_columns(*titles),
            plain_rows(
                [
                    ", ".join(value) if isinstance(value, tuple | list) else value
                    for value in (getattr(listed, title) for title in titles)
                ]
                for listed in experiments
            ),
        ),
    )


def _listed(experiment: Listed) -> Section:
    if experiment.problem:
        broken = sentences([f"cannot be read: {experiment.problem}"], "bad")
        return Section(experiment.folder, (broken,))
    value = "" if experiment.value is None else f" {experiment.value:.4f}"
    finished = experiment.finished.replace("T", " ").removesuffix("Z")
    lines = [
        *([Sentence(experiment.verdict)] if experiment.verdict else []),
        Sentence(
            f"{experiment.collection}, {counted(experiment.queries, 'query')}; "
            f"{experiment.measure}{value} ({experiment.best}); "
            f"systems: {', '.join(experiment.systems)}"
        ),
        Sentence(
            f"finished {finished}, in {experiment.folder}; digest {experiment.digest[:SHORT]}",
            "quiet",
        ),
    ]
    return Section(experiment.experiment, (Sentences(tuple(lines)),))


@view
def verification_document(verification: Verification) -> Document:
    """Show whether an experiment is what was recorded, and what is not."""
    wrong = [check for check in verification.checks if check.problem]
    count = len(verification.checks)
    if wrong:
        failed = f"{len(wrong)} of {count} checks failed"
        answer = f"{failed}: this is not the experiment that was recorded"
    else:
        answer = (
            f"{verification.experiment} holds: {count} checks, every file, the scores of the runs "
            "and the verdict are as recorded"
        )
    lines = [Sentence(answer, good_if(not wrong))]
    lines += [Sentence(f"✗ {check.what}: {check.problem}", "bad") for check in wrong]
    lines.append(Sentence(f"digest {verification.digest}", "quiet"))
    return Document(
        f"Verification of {verification.experiment}",
        (Section("", (Sentences(tuple(lines)),)),),
        data=lambda: Table(
            text_columns("check", "problem"),
            plain_rows((check.what, check.problem) for check in verification.checks),
        ),
    )
