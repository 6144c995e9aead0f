"""Segments: every system's means within groups of queries, and what differs in each group.

An analysis; the groups come from `labels`, the comparison within each from
`rankscope.statistics.strata`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator, model_validator

from rankscope.diagnosis.labels import MOST, OTHER, Labels, Query, check_field, labels_of
from rankscope.diagnosis.registry import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Cell, Column, Section, Table, ends, marked, marker_note
from rankscope.errors import InputError, UnknownNameError, counted, shown
from rankscope.findings import Finding, NotApplicable, declare
from rankscope.part import Part
from rankscope.statistics.arrays import row_means
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import FEWEST, Interval
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.settings import Settings
from rankscope.statistics.strata import STRATA_DISAGREE, by_group, disagreement

if TYPE_CHECKING:
    from rankscope.scoring.evaluate import Scores
    from rankscope.statistics.arrays import FloatArray

SMALL_GROUPS = declare(
    "RS602",
    "small-groups",
    "warning",
    unit="group",
    advice="read their means as anecdotes; ask more queries of the kind, or join groups",
    meaning=f"A group of queries has fewer than {FEWEST} queries, so its means say little.",
)
TOO_MANY_GROUPS = declare(
    "RS603",
    "too-many-groups",
    "warning",
    unit="label",
    advice="group by a field with fewer labels",
    meaning=f"""A field has more than {MOST} different labels; the smallest groups are put together
    as `{OTHER}`.""",
)


class SegmentMean(Part):
    """One system's mean in one group of queries."""

    system: str
    """The system."""
    measure: str
    """The measure."""
    mean: float
    """Over the group's queries."""
    interval: Interval
    """Of the mean."""
    difference: float | None = None
    """To the baseline in the same group; null for the baseline, or without one."""
    difference_interval: Interval | None = None
    """Of the difference."""
    p_corrected: float | None = None
    """Of the difference, corrected over the groups."""


class SegmentGroup(Part):
    """Queries that share a label."""

    label: str
    """The label; numbers are binned."""
    n: int
    """How many queries."""
    means: tuple[SegmentMean, ...]
    """By system and measure."""


class Segment(Part):
    """The queries grouped by one thing that is known about them."""

    field: str
    """Which: a field of the queries' metadata, or ``words`` (how many the query has)."""
    binned: bool
    """Whether labels are ranges of numbers."""
    groups: tuple[SegmentGroup, ...]
    """The groups, in a sensible order."""
    unlabelled: int
    """Queries of which it is not known."""


class Segments(Analysed):
    """Every system's means within groups of queries."""

    measure: str | None
    """The main measure, which reports show; null if none is a mean."""
    baseline: str | None
    """The system that others are compared with; null: none."""
    alpha: float
    """A corrected p-value up to this counts as a difference."""
    segments: tuple[Segment, ...]
    """By field."""


class SegmentsConfig(AnalysisConfig):
    """Which groups of queries to look at; may be written as a list of fields."""

    fields: tuple[str, ...] = ()
    """Fields of the queries' metadata, or ``words`` or ``characters``."""
    bins: int = Field(default=4, ge=1)
    """How many ranges numbers are put into."""

    @model_validator(mode="before")
    @classmethod
    def _listed(cls, data: Any) -> Any:
        """Take a list of fields, or a single one, for a config that says no more."""
        if isinstance(data, str):
            return {"fields": [data]}
        return {"fields": data} if isinstance(data, list | tuple) else data

    @field_validator("fields")
    @classmethod
    def _each_once(cls, fields: tuple[str, ...]) -> tuple[str, ...]:
        for place, field in enumerate(fields):
            if field in fields[:place]:
                raise InputError(f"{shown(field)} appears twice; keep one")
        return fields


def segment_table(
    scores: Scores,
    queries: Sequence[Query],
    fields: Sequence[str],
    *,
    baseline: str | None,
    settings: Settings | None = None,
    bins: int = 4,
) -> tuple[list[Segment], list[Finding]]:
    """Compare the systems within groups of queries, field by field.

    ``queries`` are (id, text, metadata); which groups there are says `query_labels`. Only queries
    that all runs are scored on count. One that is scored and not among ``queries`` is unlabelled.

    Intervals and tests are those of ``settings``. p-values are corrected over the groups of a
    field, for each system and measure by itself. Measures that are no mean over queries (sums,
    GMAP) are left out.

    Findings: most groups contradict the whole (RS601, one for a field and system; a note where that
    may be chance), groups of fewer than 10 queries (RS602), too many labels (RS603).
    """
    settings = settings or Settings()
    if baseline is not None and baseline not in scores.runs:
        raise UnknownNameError("run", baseline, scores.runs)
    matrix = Matrix.of_scores(scores, only_means=True)
    column_of = {query_id: column for column, query_id in enumerate(matrix.query_ids)}
    scored = [query for query in queries if query[0] in column_of]
    unknown = len(column_of) - len({query_id for query_id, _, _ in scored})
    segments, findings = [], []
    for field in dict.fromkeys(fields):
        check_field(queries, field)
        labels = labels_of(scored, field, bins=bins)
        members: dict[str, list[int]] = {label: [] for label in labels.groups}
        for query_id, labels_of_query in labels.of.items():
            for label in labels_of_query:
                members[label].append(column_of[query_id])
        segment = Segment(
            field=field,
            binned=labels.binned,
            groups=tuple(_groups(matrix, members, baseline, settings)),
            unlabelled=labels.unlabelled + unknown,
        )
        segments.append(segment)
        findings += _too_many(labels) + _too_small(segment)
        if baseline is not None:
            findings += _contradicted(matrix, members, baseline, field, settings.alpha)
    return segments, findings


def _groups(
    matrix: Matrix, members: Mapping[str, Sequence[int]], baseline: str | None, settings: Settings
) -> list[SegmentGroup]:
    """Return every group's means and, with a baseline, the differences to it."""
    measures, systems, _ = matrix.shape
    if not measures:
        return [
            SegmentGroup(label=name, n=len(places), means=()) for name, places in members.items()
        ]
    pairs = _pairs(matrix, baseline)
    pair_of = {system: place for place, (_, system) in enumerate(pairs)}
    groups = []
    for group in by_group(matrix, members, pairs, settings):
        means = []
        for system, name in enumerate(matrix.systems):
            for measure, scale in enumerate(matrix.scales):
                row = measure * systems + system
                mean = SegmentMean(
                    system=name,
                    measure=scale.name,
                    mean=group.means[row],
                    interval=group.intervals[row],
                )
                if system in pair_of:
                    row = measure * len(pairs) + pair_of[system]
                    difference = group.differences[row]
                    mean = mean.model_copy(
                        update={
                            "difference": difference.mean,
                            "difference_interval": difference.interval,
                            "p_corrected": group.p_corrected[row],
                        }
                    )
                means.append(mean)
        groups.append(SegmentGroup(label=group.label, n=group.n, means=tuple(means)))
    return groups


def _pairs(matrix: Matrix, baseline: str | None) -> list[tuple[int, int]]:
    """Pair every other system with the baseline, if there is one."""
    if baseline is None:
        return []
    base = matrix.systems.index(baseline)
    return [(base, system) for system in range(len(matrix.systems)) if system != base]


def _contradicted(
    matrix: Matrix, members: Mapping[str, Sequence[int]], baseline: str, field: str, alpha: float
) -> list[Finding]:
    """Ask whether the groups contradict the whole; one finding for a system.

    A query that is in several groups counts once in each. The finding is about the signs of the
    differences, which turn by chance where nothing differs: it is a note only, unless the whole or
    a group against it differs by a t test.
    """
    columns = [column for places in members.values() for column in places]
    pairs = _pairs(matrix, baseline)
    if not columns or not pairs or not matrix.scales:
        return []
    changes = matrix.only_queries(columns).differences(pairs)  # [m * pairs, columns]
    by_label = {
        label: matrix.only_queries(places).differences(pairs) for label, places in members.items()
    }
    means = {label: row_means(rows) for label, rows in by_label.items()}
    whole = row_means(changes)
    findings = []
    for place, (_, system) in enumerate(pairs):
        seen: dict[str, Finding] = {}
        for measure, scale in enumerate(matrix.scales):
            row = measure * len(pairs) + place
            differences = {label: float(values[row]) for label, values in means.items()}
            finding = disagreement(float(whole[row]), differences)
            if finding is not None:
                rows = {label: values[row] for label, values in by_label.items()}
                if _may_be_chance(changes[row], rows, alpha):
                    finding = finding.model_copy(update={"severity": "note"})
                seen[scale.name] = finding
        if seen:
            findings.append(_one_finding(seen, field, matrix.systems[system], baseline))
    return findings


def _may_be_chance(whole: FloatArray, groups: Mapping[str, FloatArray], alpha: float) -> bool:
    """Tell whether neither the whole nor a group against it differs by a t test."""
    [overall] = paired_tests(whole, test="t")
    tests = [paired_tests(changes, test="t")[0].p for changes in groups.values()]
    direction = row_means(whole[None])[0]
    against = [
        p
        for p, changes in zip(corrected(tests, "holm"), groups.values(), strict=True)
        if row_means(changes[None])[0] * direction < 0
    ]
    return bool(min(overall.p, *against) > alpha)


def _one_finding(seen: dict[str, Finding], field: str, system: str, baseline: str) -> Finding:
    """Put the findings of several measures into one, in the words of the first warning."""
    measure, first = min(seen.items(), key=lambda item: item[1].severity == "note")
    others = [name for name in seen if name != measure]
    also = f"; likewise {', '.join(others)}" if others else ""
    message = f"{system} against {baseline} by {field}, {measure}: {first.message}{also}"
    evidence = {
        "field": field,
        "system": system,
        "baseline": baseline,
        "differences": {name: finding.evidence for name, finding in seen.items()},
    }
    return first.model_copy(update={"message": message, "evidence": evidence})


def _too_small(segment: Segment) -> list[Finding]:
    """Warn of groups with too few queries for a bootstrap."""
    small = [group for group in segment.groups if group.n < FEWEST]
    if not small:
        return []
    names = ", ".join(f"{shown(group.label, 40)} ({group.n})" for group in small[:3])
    more = f" and {len(small) - 3} more" if len(small) > 3 else ""
    have = "has" if len(small) == 1 else "have"
    return [
        SMALL_GROUPS.finding(
            f"{counted(len(small), 'group')} by {segment.field} {have} fewer than {FEWEST} "
            f"queries: {names}{more}",
            count=len(small),
            evidence={"field": segment.field, "groups": {group.label: group.n for group in small}},
        )
    ]


def _too_many(labels: Labels) -> list[Finding]:
    """Warn of labels that were put together."""
    if not labels.merged:
        return []
    total = labels.merged + len(labels.groups) - 1
    return [
        TOO_MANY_GROUPS.finding(
            f"{labels.field} has {total:,} different labels; the {MOST - 1} largest groups "
            f"are shown and the other {labels.merged:,} labels are together in {OTHER!r}",
            count=total,
            evidence={"field": labels.field, "labels": total, "merged": labels.merged},
        )
    ]


# --- the analysis --------------------------------------------------------------------------------


def _look(config: SegmentsConfig, inputs: Inputs) -> Segments | NotApplicable:
    assert inputs.scores is not None
    assert inputs.queries is not None
    if not config.fields:
        return SEGMENTS.not_applicable("no field of the queries is named")
    segments, findings = segment_table(
        inputs.scores,
        inputs.queries,
        config.fields,
        baseline=inputs.baseline,
        settings=inputs.settings,
        bins=config.bins,
    )
    means = [mean for segment in segments for group in segment.groups for mean in group.means]
    return Segments(
        measure=means[0].measure if means else None,
        baseline=inputs.baseline,
        alpha=inputs.settings.alpha,
        segments=tuple(segments),
        findings=tuple(findings),
    )


def _check(config: SegmentsConfig, queries: Sequence[Query]) -> None:
    for field in config.fields:
        try:
            check_field(queries, field)
        except InputError as error:
            raise InputError(f"segments: {error}") from None


def _section(result: Segments) -> Section:
    """Show the first measure of each system in each group, and its difference to the baseline."""
    tables = [_table(result, segment) for segment in result.segments if segment.groups]
    return Section(SEGMENTS.title, details=tuple(tables))


def _table(result: Segments, segment: Segment) -> Table:
    main = segment.groups[0].means[0].measure
    systems = list(dict.fromkeys(mean.system for group in segment.groups for mean in group.means))
    rows = []
    for group in segment.groups:
        means = {mean.system: mean for mean in group.means if mean.measure == main}
        cells = (_cell(result, means.get(system)) for system in systems)
        rows.append((Cell(group.label), Cell(group.n), *cells))
    notes = [f"{main} with its interval; the JSON holds the other measures"]
    if result.baseline is not None:
        notes.append(
            f"in parentheses: the difference to {result.baseline}; "
            f"{marker_note(result.baseline, alpha=result.alpha)}, corrected over the groups"
        )
    if segment.unlabelled:
        notes.append(f"not known for {counted(segment.unlabelled, 'query')}")
    title = "number of words" if segment.field == "words" else segment.field
    return Table(
        (
            Column("group", "text"),
            Column("queries"),
            *(Column(system, digits=3) for system in systems),
        ),
        tuple(rows),
        title=f"By {title}",
        notes=tuple(notes),
    )


def _cell(result: Segments, mean: SegmentMean | None) -> Cell:
    if mean is None:
        return Cell()
    cell = Cell(mean.mean, ends(mean.interval), change=mean.difference)
    is_better = Scale.of(mean.measure).is_better(mean.difference or 0.0)
    return marked(cell, mean.p_corrected, alpha=result.alpha, is_better=is_better)


SEGMENTS = register(
    Analysis(
        name="segments",
        title="Groups of queries",
        summary="Every system's means within groups of queries, and what differs in each group.",
        config=SegmentsConfig,
        written="segments: [category, words]",
        result=Segments,
        needs=("scores", "queries"),
        look=_look,
        section=_section,
        check=_check,
        codes=(STRATA_DISAGREE, SMALL_GROUPS, TOO_MANY_GROUPS),
        place=20,
    )
)
