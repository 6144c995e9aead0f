"""Segments: which groups of queries are answered worse, what that costs, and who is better there.

The groups come from fields that are named, or from all that group the queries (`query_fields`).
The best system is compared with itself on the rest of the queries, and the systems are compared
with each other in each group: one that is better on the whole may be worse there (Simpson's
paradox). Groups of fewer than ten queries, or all but ten, are shown and not tested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field, FiniteFloat, field_validator, model_validator

from rankscope.diagnosis.analysis import Analysed, Config, Estimate, Inputs, analysis
from rankscope.diagnosis.query_fields import DERIVED, Query, QueryFields
from rankscope.diagnosis.show import part_table, titled
from rankscope.document.blocks import Block, sentences
from rankscope.errors import InputError, counted, shown
from rankscope.findings import Finding, declare
from rankscope.part import Part
from rankscope.statistics.groups import group_change, subset_tests
from rankscope.statistics.intervals import FEWEST, agreeing
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.paired_differences import Differences
from rankscope.statistics.sentences import listed, p_text
from rankscope.statistics.tests import corrected

MOST_FIELDS = 30
"""So many fields of the metadata are looked at unasked, those first that most queries have."""

MOST_GROUPS = 50
"""Of one field so many groups are looked at, the largest first."""

MOST_ROWS = 8
"""So many groups are shown at most: who reads more acts on none."""

MOST_TABLES = 3
"""Of fields that nobody named, so many are shown group by group, the costliest first."""

ALIKE = 0.5
"""Two groups that share this part of their queries are one; the costlier is named."""

PHRASES = {
    "length": "of {} words",
    "constraints": "with {} constraints",
    "overlap": "with {} of their words in the best relevant document",
}
"""How queries with a label of a derived field are called."""

_ID = re.compile(r"(^|.*[_\-. ])(id|ids|uuid|guid|hash|url|uri)|.*[a-z]I[dD]s?")

REVERSED = declare(
    "RS601",
    "groups-reversed",
    "warning",
    unit="group",
    advice="decide by the groups that matter to you, or weigh them as your users ask",
    meaning="""A system is ahead of another on the whole, and behind it by more than chance in a
    group of queries (a reversal, as in Simpson's paradox); corrected over all groups of all
    fields.""",
)
WEAK_GROUPS = declare(
    "RS604",
    "weak-group",
    "note",
    unit="query",
    advice="look at what these queries have in common, the costliest group first",
    meaning="""A group of queries on which the best system does worse than on the rest, by more than
    chance (a permutation of labels, corrected over all groups of all fields).""",
)


class SegmentsConfig(Config):
    """Which groups of queries to look at: a list of fields, or fields with their cut points."""

    fields: tuple[str, ...] = ()
    """Fields of the queries' metadata, or ``length``, ``constraints``, ``overlap``; none: all that
    group the queries."""
    cuts: dict[str, tuple[FiniteFloat, ...]] = Field(default_factory=dict)
    """By field: the numbers at which ranges begin. Without them a length is below 8, below 16 or
    above, constraints are below 3, below 5 or above, and others fall into four ranges."""

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, data: Any) -> Any:
        """Take a field, a list of fields, or cut points by field."""
        if isinstance(data, str):
            return {"fields": [data]}
        if isinstance(data, Mapping) and not {"fields", "cuts"} & data.keys():
            return {
                "fields": list(data),
                "cuts": {name: cuts for name, cuts in data.items() if cuts},
            }
        return {"fields": data} if isinstance(data, list | tuple) else data

    @field_validator("fields")
    @classmethod
    def _each_once(cls, fields: tuple[str, ...]) -> tuple[str, ...]:
        for place, field in enumerate(fields):
            if field in fields[:place]:
                raise InputError(f"{shown(field)} appears twice; keep one")
        return fields


class GroupChange(Estimate):
    """How much better a system is than another one in a group, with its interval."""

    p_corrected: float
    """Of the test of pairs, corrected over all groups of all fields."""


class QueryGroup(Part):
    """Queries that have the same in a field."""

    field: str
    """What the queries are grouped by."""
    label: str
    """What those of this group share."""
    n: int
    """How many they are."""
    means: dict[str, Estimate]
    """By system: the mean of the main measure."""
    changes: dict[str, GroupChange] = Field(default_factory=dict)
    """By system: its mean minus that of the system it is compared with; empty if not tested."""
    rest: float | None = None
    """The mean of the best system over all other queries; null: the group is not tested."""
    difference: Estimate | None = None
    """Its mean in the group minus that; the interval is for all groups at once."""
    p: float | None = None
    """Whether a random choice of as many queries would differ so much: a permutation of labels."""
    p_corrected: float | None = None
    """Corrected by Holm over all groups of all fields."""
    cost: float = 0.0
    """How much its overall mean would gain if the group did as well as the rest; at least 0."""

    @property
    def name(self) -> str:
        """Field and label."""
        return f"{self.field} = {self.label}"

    @property
    def phrase(self) -> str:
        """Which queries these are, behind the word "queries"."""
        known = PHRASES.get(self.field)
        return f"with {self.name}" if known is None else known.format(self.label)

    @property
    def mean(self) -> float | None:
        """The mean of the best system in the group."""
        return (
            None
            if self.rest is None or self.difference is None
            else self.rest + self.difference.value
        )

    def is_apart(self, alpha: float) -> bool:
        """Tell whether the group differs from the rest by more than chance."""
        return self.p_corrected is not None and self.p_corrected <= alpha

    def is_weak(self, alpha: float) -> bool:
        """Tell whether the group is below the rest by more than chance."""
        return self.cost > 0 and self.is_apart(alpha)


class Segments(Analysed):
    """Groups of queries: what they cost the best system, and every system's means within them."""

    measure: str
    """The main measure."""
    system: str
    """The best system, which is compared with itself on the rest of the queries."""
    base: str | None
    """The system that others are compared with in each group: the baseline or, without one, the
    second best, with which the best is compared; null: there is one system only."""
    alpha: float
    """A corrected p-value up to this counts as a difference."""
    queries: int
    """How many queries count."""
    named: bool
    """Whether the fields were named, and not chosen."""
    groups: tuple[QueryGroup, ...]
    """By field, in the order of its labels."""
    unlabelled: dict[str, int]
    """By field: of how many queries it is not known what they have."""
    skipped: dict[str, str]
    """Fields that are not looked at, or not in full, with the reason; the first 20."""


def _check(config: SegmentsConfig, queries: Sequence[Query]) -> None:
    """Refuse a field that no query has."""
    known = QueryFields(queries)
    for field in config.fields:
        known.check(field, "segments")


@analysis(
    title="Groups of queries",
    needs=("scores", "queries"),
    written="segments: {category: [], length: [8, 16]}",
    check=_check,
    place=20,
)
def segments(config: SegmentsConfig, inputs: Inputs) -> Segments:
    """Groups of queries: which are answered worse, what that costs, what differs there."""
    matrix = inputs.main_matrix()
    column = {query_id: place for place, query_id in enumerate(matrix.query_ids)}
    _check(config, inputs.queries)
    known = QueryFields(
        [query for query in inputs.queries if query[0] in column], inputs.qrels, inputs.corpus
    )
    inputs.require(
        config.fields or len(known.queries) >= 2 * FEWEST,
        f"without a field that is named it needs at least {2 * FEWEST} queries, and the text of "
        f"{len(known.queries)} is known",
    )
    by_field, skipped = _grouped(config, known, len(column))
    inputs.require(by_field or config.fields, "nothing that is known about the queries groups them")
    members = [
        (field, label, [column[query_id] for query_id in query_ids])
        for field, groups in by_field.items()
        for label, query_ids in list(groups.items())[:MOST_GROUPS]
    ]
    pairs = _pairs(matrix, inputs)
    result = Segments(
        measure=str(inputs.main),
        system=inputs.focus,
        base=matrix.systems[pairs[0][0]] if pairs else None,
        alpha=inputs.settings.alpha,
        queries=len(column),
        named=bool(config.fields),
        groups=tuple(_compared(matrix, members, pairs, inputs)),
        unlabelled={
            field: len(column) - len({query for queries in groups.values() for query in queries})
            for field, groups in by_field.items()
        },
        skipped=skipped,
    )
    findings = (*_reversals(result, matrix, pairs), *_weak(result, members))
    return result.model_copy(update={"findings": findings})


@segments.show
def _show(result: Segments) -> Iterator[Block | None]:
    tested = [group for group in result.groups if group.difference is not None]
    costly = sorted((group for group in tested if group.cost), key=lambda group: -group.cost)
    apart = [group for group in tested if group.is_apart(result.alpha)]
    notes = list(_notes(result, tested, apart))
    if not any(group.is_weak(result.alpha) for group in apart):
        size = counted(len(tested), "group")
        yield sentences([f"{result.system}: none of {size} is below the rest by more than chance."])
    if not costly:
        yield sentences(notes, "quiet")
    yield part_table(
        costly[:MOST_ROWS],
        "What costs most",
        notes=notes,
        legend=("cost",),
        columns="name: group | n: queries | mean | rest | difference | p_corrected: p | cost",
    )
    fields = dict.fromkeys(group.field for group in result.groups)
    if not result.named:
        order = sorted(apart, key=lambda group: -group.cost)
        fields = dict.fromkeys(list(dict.fromkeys(group.field for group in order))[:MOST_TABLES])
    base = titled(result.base or "")
    for field in fields:
        unknown = result.unlabelled[field]
        yield part_table(
            [group for group in result.groups if group.field == field],
            f"By {field}",
            notes=[f"not known for {counted(unknown, 'query')}"] if unknown else [],
            columns=f"label: group | n: queries | means: {{}} | changes: {{}} over {base}",
        )


def _notes(
    result: Segments, tested: Sequence[QueryGroup], apart: Sequence[QueryGroup]
) -> Iterator[str]:
    """Say how groups were tested, what is above the rest, and what was not looked at."""
    yield (
        f"{result.measure} of {result.system} over {counted(result.queries, 'query')}, in the "
        f"group and in all others; p by a permutation of labels, corrected by Holm over "
        f"{counted(len(tested), 'group')}"
    )
    # the rest of a weak group is above it because it is below
    weak = {group.field for group in apart if group.is_weak(result.alpha)}
    strong = [group for group in apart if not group.cost and group.field not in weak]
    if strong:
        names = [f"{group.name} ({group.mean:.3f} against {group.rest:.3f})" for group in strong]
        yield f"above the rest by more than chance: {listed(names, 3)}"
    if len(tested) < len(result.groups):
        untested = counted(len(result.groups) - len(tested), "group")
        yield f"not tested: {untested} with fewer than {FEWEST} queries in or outside of them"
    by_reason: dict[str, list[str]] = {}
    for field, reason in result.skipped.items():
        by_reason.setdefault(reason, []).append(field)
    for reason, fields in by_reason.items():
        yield f"left out: {', '.join(fields)} ({reason})"


# --- which groups --------------------------------------------------------------------------------


def _is_testable(size: int, queries: int) -> bool:
    """Tell whether a group and the rest are both large enough for a mean to say something."""
    return FEWEST <= size <= queries - FEWEST


def _grouped(
    config: SegmentsConfig, known: QueryFields, queries: int
) -> tuple[dict[str, dict[str, list[str]]], dict[str, str]]:
    """Return the queries of each field and label, and why other fields are left out."""
    often = sorted(known.metadata, key=lambda field: -len(known.metadata[field]))
    derived = [field for field in DERIVED if field not in known.metadata]
    grouped, skipped = {}, {}
    for field in config.fields or (*often[:MOST_FIELDS], *derived):
        reason = known.lacking(field)
        groups = {} if reason else known.groups(field, config.cuts.get(field, ()))
        if not reason and not config.fields:
            reason = _useless(field, groups, known, queries)
        if len(groups) > MOST_GROUPS and not reason:
            skipped[field] = f"only the {MOST_GROUPS} largest of {len(groups):,} groups"
        if reason:
            skipped[field] = reason
        else:
            grouped[field] = groups
    return grouped, dict(list(skipped.items())[:20])


def _useless(
    field: str, groups: Mapping[str, Sequence[str]], known: QueryFields, queries: int
) -> str:
    """Say why the groups of a field that nobody named are of no use; '' if they are."""
    values = known.values(field)
    if field in known.metadata and _ID.fullmatch(field):
        return "an id, by its name"
    if 2 * len(values) < queries:
        return f"known for fewer than half of {counted(queries, 'query')}"
    numbers = {value for value in values.values() if isinstance(value, int)}
    if field in known.metadata and len(numbers) == len(values) > MOST_GROUPS:
        return "a different number for every query"
    testable = [members for members in groups.values() if _is_testable(len(members), queries)]
    held = len({query_id for members in testable for query_id in members})
    if not testable or (field in known.metadata and 2 * held < queries):
        return f"{counted(len(groups), 'group')}, too few of at least {FEWEST} queries"
    return ""


# --- what differs --------------------------------------------------------------------------------


def _pairs(matrix: Matrix, inputs: Inputs) -> list[tuple[int, int]]:
    """Pair the others with the baseline; without one, the best system with the second best."""
    places = range(len(matrix.systems))
    if inputs.baseline is not None:
        base = matrix.systems.index(inputs.baseline)
        return [(base, system) for system in places if system != base]
    best = matrix.systems.index(inputs.focus)
    others = [system for system in places if system != best]
    means = [inputs.sign * matrix.mean(0, system) for system in places]
    return [(max(others, key=means.__getitem__), best)] if others else []


def _compared(
    matrix: Matrix,
    members: Sequence[tuple[str, str, list[int]]],
    pairs: Sequence[tuple[int, int]],
    inputs: Inputs,
) -> Iterator[QueryGroup]:
    """Compare each group with the rest, and the systems in it."""
    queries = matrix.shape[2]
    fast = inputs.settings.model_copy(update={"test": "t", "interval": "t"})
    parts = [matrix.only_queries(columns) for _, _, columns in members]
    tested = [Differences.of(part, pairs, fast, family=len(parts)) for part in parts]
    p_corrected = np.array([rows.p for rows in tested])  # [groups, pairs]
    if p_corrected.size:
        p_corrected = np.apply_along_axis(corrected, 0, p_corrected, fast.correction)
    large = [columns for _, _, columns in members if _is_testable(len(columns), queries)]
    rest = _rest(matrix, large, inputs)
    names = [matrix.systems[system] for _, system in pairs]
    for (field, label, columns), part, rows, p_values in zip(
        members, parts, tested, p_corrected, strict=True
    ):
        means = zip(
            matrix.systems, part.means()[0].tolist(), part.mean_intervals(fast), strict=True
        )
        intervals = rows.intervals(p_values, fast.alpha)
        changes = zip(names, rows.mean.tolist(), intervals, p_values.tolist(), strict=True)
        yield QueryGroup(
            field=field,
            label=label,
            n=len(columns),
            means={name: Estimate.between(mean, interval) for name, mean, interval in means},
            changes={
                name: GroupChange(value=value, low=ends.low, high=ends.high, p_corrected=p)
                for name, value, ends, p in changes
            },
            **(next(rest) if _is_testable(len(columns), queries) else {}),
        )


def _rest(matrix: Matrix, groups: Sequence[list[int]], inputs: Inputs) -> Iterator[dict[str, Any]]:
    """Compare the best system in each group with itself on the rest of the queries."""
    scale, settings = matrix.scales[0], inputs.settings
    values = matrix.values[0, [matrix.systems.index(inputs.focus)]]
    inside = np.zeros((len(groups), matrix.shape[2]), np.bool_)
    for row, columns in zip(inside, groups, strict=True):
        row[columns] = True
    p_values = subset_tests(values, inside)[0]
    level = 1 - (1 - settings.level) / max(len(groups), 1)
    for row, p, p_corrected in zip(inside, p_values, corrected(p_values), strict=True):
        difference, interval = group_change(
            values[:, row], values[:, ~row], level=level, bounds=scale.change
        )
        interval = agreeing(interval, difference, p_corrected, settings.alpha)
        loss = -difference if scale.higher_is_better else difference
        yield {
            "rest": float(values[:, ~row].mean()),
            "difference": Estimate.between(difference, interval),
            "p": p,
            "p_corrected": p_corrected,
            "cost": max(loss * float(row.mean()), 0.0),
        }


# --- findings ------------------------------------------------------------------------------------


def _weak(result: Segments, members: Sequence[tuple[str, str, list[int]]]) -> Iterator[Finding]:
    """Name the groups below the rest that cost most, one of those about the same queries.

    The length and the constraints often tell the same story: of two groups that share at least half
    of the queries that either holds, the costlier is named.
    """
    named: list[set[int]] = []
    order = sorted(zip(result.groups, members, strict=True), key=lambda pair: -pair[0].cost)
    for group, (_, _, columns) in order:
        queries = set(columns)
        is_known = any(len(queries & other) >= ALIKE * len(queries | other) for other in named)
        if not group.is_weak(result.alpha) or is_known or len(named) == MOST_TABLES:
            continue
        named.append(queries)
        yield WEAK_GROUPS.finding(
            f"{result.system} scores {group.mean:.3f} on the {group.n:,} of {result.queries:,} "
            f"queries {group.phrase}, and {group.rest:.3f} on the rest "
            f"({p_text(group.p_corrected or 0.0)} corrected)",
            count=group.n,
            gain=group.cost,
        )


def _reversals(
    result: Segments, matrix: Matrix, pairs: Sequence[tuple[int, int]]
) -> Iterator[Finding]:
    """Name the groups in which a system is shown to differ the other way than on the whole."""
    for base, system in pairs:
        whole = float(matrix.query_differences([(base, system)]).mean())
        name = matrix.systems[system]
        against = [
            group
            for group in result.groups
            if name in group.changes
            and group.changes[name].value * whole < 0
            and group.changes[name].p_corrected * len(pairs) <= result.alpha
        ]
        if against:
            groups = [
                f"{group.name} ({group.changes[name].value:+.3f} on {counted(group.n, 'query')}, "
                f"{p_text(group.changes[name].p_corrected)} corrected)"
                for group in against
            ]
            yield REVERSED.finding(
                f"{name} against {matrix.systems[base]}: {result.measure} differs by {whole:+.3f} "
                f"on the whole, and the other way where {listed(groups, 3)}",
                count=len(against),
            )
