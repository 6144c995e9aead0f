"""Segments: every system's means within groups of queries, and what differs in each group.

After `evaluation` and `statistics`, before `records`; the groups come from `diagnosis.labels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.diagnosis.labels import (
    MOST,
    OTHER,
    Labels,
    Query,
    check_field,
    labels_of,
    query_labels,
)
from rankscope.diagnosis.values import Table, changes_between, intervals_of, pair_test
from rankscope.errors import UnknownNameError, counted, shown
from rankscope.findings import Finding
from rankscope.statistics.arrays import row_means
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.pairwise import Settings
from rankscope.statistics.strata import Strata, stratify

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray
    from rankscope.scoring.evaluate import Scores
    from rankscope.statistics.intervals import Interval

__all__ = ["Group", "GroupMean", "Labels", "Segmented", "query_labels", "segment_table"]


@dataclass(frozen=True, slots=True)
class GroupMean:
    """One system's mean of one measure in a group, and its difference to the baseline there."""

    system: str
    measure: str
    mean: float
    interval: Interval
    difference: float | None = None
    difference_interval: Interval | None = None
    p_corrected: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        change = self.difference_interval
        return {
            "system": self.system,
            "measure": self.measure,
            "mean": self.mean,
            "interval": self.interval.to_dict(),
            "difference": self.difference,
            "difference_interval": None if change is None else change.to_dict(),
            "p_corrected": self.p_corrected,
        }


@dataclass(frozen=True, slots=True)
class Group:
    """Queries that share a label."""

    label: str
    n: int
    means: tuple[GroupMean, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "label": self.label,
            "n": self.n,
            "means": [one.to_dict() for one in self.means],
        }


@dataclass(frozen=True, slots=True)
class Segmented:
    """The queries grouped by one field."""

    field: str
    binned: bool
    groups: tuple[Group, ...]
    unlabelled: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "field": self.field,
            "binned": self.binned,
            "groups": [group.to_dict() for group in self.groups],
            "unlabelled": self.unlabelled,
        }


def segment_table(
    scores: Scores,
    queries: Sequence[Query],
    fields: Sequence[str],
    *,
    baseline: str | None,
    settings: Settings = Settings(),  # noqa: B008  (frozen)
    bins: int = 4,
) -> tuple[list[Segmented], list[Finding]]:
    """Compare the systems within groups of queries, field by field.

    ``queries`` are (id, text, metadata); which groups there are says `query_labels`. Only queries
    that all runs are scored on count. One that is scored and not among ``queries`` is unlabelled.

    Intervals and tests are those of ``settings``. p-values are corrected over the groups of a
    field, for each system and measure by itself. Measures that are no mean over queries (sums,
    GMAP) are left out.

    Findings: most groups contradict the whole (RS601, one for a field and system; a note where that
    may be chance), groups of fewer than 10 queries (RS602), too many labels (RS603).
    """
    if baseline is not None and baseline not in scores.runs:
        raise UnknownNameError("run", baseline, scores.runs)
    table = Table(scores)
    scored = set(table.query_ids)
    asked = [query for query in queries if query[0] in scored]
    unknown = len(scored) - len({query_id for query_id, _, _ in asked})
    found, findings = [], []
    for field in dict.fromkeys(fields):
        check_field(queries, field)
        labels = labels_of(asked, field, bins=bins)
        labels = replace(labels, unlabelled=labels.unlabelled + unknown)
        rows = {query_id: row for row, query_id in enumerate(table.query_ids)}
        members: dict[str, list[int]] = {label: [] for label in labels.groups}
        for query_id, own in labels.of.items():
            for label in own:
                members[label].append(rows[query_id])
        groups = _groups(table, members, baseline, settings)
        found.append(Segmented(field, labels.binned, groups, labels.unlabelled))
        findings += _many(labels) + _small(field, groups)
        if baseline is not None:
            findings += _contradicted(table, members, baseline, field, settings.alpha)
    return found, findings


def _groups(
    table: Table, members: dict[str, list[int]], baseline: str | None, settings: Settings
) -> tuple[Group, ...]:
    """Return every group's means and, with a baseline, the differences to it."""
    base = None if baseline is None else table.systems.index(baseline)
    if not table.scales or not members:
        return tuple(Group(label, len(own), ()) for label, own in members.items())
    numbers = [_numbers(table, table.values[:, :, own], base, settings) for own in members.values()]
    raw = np.stack([one.p for one in numbers])
    adjusted = np.apply_along_axis(corrected, 0, raw, settings.correction)
    groups = []
    for (label, own), one, p_values in zip(members.items(), numbers, adjusted, strict=True):
        means = []
        for place, system in enumerate(table.systems):
            for row, scale in enumerate(table.scales):
                at = row * len(table.systems) + place
                mean = GroupMean(system, scale.name, one.means[at], one.intervals[at])
                if base is not None and place != base:
                    mean = replace(
                        mean,
                        difference=one.differences[at],
                        difference_interval=one.difference_intervals[at],
                        p_corrected=float(p_values[at]),
                    )
                means.append(mean)
        groups.append(Group(label, len(own), tuple(means)))
    return tuple(groups)


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """What a group's values say, one entry for each measure and system."""

    means: list[float]
    intervals: list[Interval]
    differences: list[float]
    difference_intervals: list[Interval]
    p: FloatArray


def _numbers(table: Table, part: FloatArray, base: int | None, settings: Settings) -> _Numbers:
    """Work on all rows of a group at once, so that all share one set of resamples."""
    count, systems, queries = part.shape
    size = count * systems
    bounds = [scale.bounds for scale in table.scales for _ in range(systems)]
    rows = part.reshape(size, queries)
    if base is None:
        intervals = intervals_of(rows, bounds, settings)
        return _Numbers(row_means(rows).tolist(), intervals, [], [], np.ones(size))
    changes = changes_between(part[:, [base]], part).reshape(size, queries)
    spread = [scale.change for scale in table.scales for _ in range(systems)]
    intervals = intervals_of(np.concatenate([rows, changes]), bounds + spread, settings)
    tests = paired_tests(changes, test=pair_test(settings), **settings.resampling)
    return _Numbers(
        means=row_means(rows).tolist(),
        intervals=intervals[:size],
        differences=row_means(changes).tolist(),
        difference_intervals=intervals[size:],
        p=np.array([test.p for test in tests]),
    )


def _contradicted(
    table: Table, members: dict[str, list[int]], baseline: str, field: str, alpha: float
) -> list[Finding]:
    """Ask `stratify` whether the groups contradict the whole; one finding for a system.

    A query that is in several groups counts once in each. The finding is about the signs of the
    differences, which turn by chance where nothing differs: it is a note only, unless the whole or
    a group against it differs by a t test.
    """
    rows = [row for own in members.values() for row in own]
    named = [label for label, own in members.items() for _ in own]
    if not rows:
        return []
    base = table.systems.index(baseline)
    found = []
    for at, system in enumerate(table.systems):
        seen: dict[str, Finding] = {}
        for scale, values in zip(table.scales, table.values, strict=True):
            changes = changes_between(values[base, rows], values[at, rows])
            strata = stratify(np.zeros(len(rows)), changes, named, test="t", interval="t")
            if strata.finding is not None:
                seen[scale.name] = _weighed(strata, changes, alpha)
        if seen:
            found.append(_told(seen, field, system, baseline))
    return found


def _weighed(strata: Strata, changes: FloatArray, alpha: float) -> Finding:
    """Return the finding of strata, as a note if what it is about may be chance."""
    assert strata.finding is not None
    [whole] = paired_tests(changes, test="t")
    against = [one.p_corrected for one in strata.strata if one.difference * strata.difference < 0]
    by_chance = min(whole.p, *against) > alpha
    if by_chance:
        return strata.finding.model_copy(update={"severity": "note"})
    return strata.finding


def _told(seen: dict[str, Finding], field: str, system: str, baseline: str) -> Finding:
    """Put the findings of several measures into one, in the words of the first warning."""
    measure, first = min(seen.items(), key=lambda item: item[1].severity == "note")
    others = [name for name in seen if name != measure]
    also = f"; likewise {', '.join(others)}" if others else ""
    message = f"{system} against {baseline} by {field}, {measure}: {first.message}{also}"
    evidence = {
        "field": field,
        "system": system,
        "baseline": baseline,
        "differences": {name: one.evidence for name, one in seen.items()},
    }
    return first.model_copy(update={"message": message, "evidence": evidence})


def _small(field: str, groups: Sequence[Group]) -> list[Finding]:
    """Warn of groups with too few queries for a bootstrap."""
    small = [group for group in groups if group.n < FEWEST]
    if not small:
        return []
    names = ", ".join(f"{shown(group.label, 40)} ({group.n})" for group in small[:3])
    more = f" and {len(small) - 3} more" if len(small) > 3 else ""
    have = "has" if len(small) == 1 else "have"
    return [
        Finding(
            code="RS602",
            name="small-groups",
            severity="warning",
            message=(
                f"{counted(len(small), 'group')} by {field} {have} fewer than {FEWEST} queries: "
                f"{names}{more}"
            ),
            advice="read their means as anecdotes; ask more queries of the kind, or join groups",
            count=len(small),
            unit="group",
            evidence={"field": field, "groups": {group.label: group.n for group in small}},
        )
    ]


def _many(labels: Labels) -> list[Finding]:
    """Warn of labels that were put together."""
    if not labels.merged:
        return []
    total = labels.merged + len(labels.groups) - 1
    return [
        Finding(
            code="RS603",
            name="too-many-groups",
            severity="warning",
            message=(
                f"{labels.field} has {total:,} different labels; the {MOST - 1} largest groups "
                f"are shown and the other {labels.merged:,} labels are together in {OTHER!r}"
            ),
            advice="group by a field with fewer labels",
            count=total,
            unit="label",
            evidence={"field": labels.field, "labels": total, "merged": labels.merged},
        )
    ]
