"""Means of systems within groups of queries, and what differs in each group, field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankscope.diagnosis.contradictions import contradictions, pairs_with
from rankscope.diagnosis.labels import MOST, OTHER, Labels, Query, check_field
from rankscope.diagnosis.query_traits import Known
from rankscope.diagnosis.segment_fields import Grouping, grouping_of
from rankscope.errors import UnknownNameError, counted, shown
from rankscope.findings import Finding, declare
from rankscope.part import Part
from rankscope.statistics.intervals import FEWEST, Interval
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.settings import Settings
from rankscope.statistics.strata import by_group

if TYPE_CHECKING:
    from rankscope.collection.corpus import Corpus
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.scores import Scores

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
    """Which: a field of the queries' metadata, or a derived one such as ``words``."""
    binned: bool
    """Whether labels are ranges of numbers."""
    groups: tuple[SegmentGroup, ...]
    """The groups, in a sensible order."""
    unlabelled: int
    """Queries of which it is not known."""


def segment_table(
    scores: Scores,
    queries: Sequence[Query],
    fields: Sequence[str],
    *,
    baseline: str | None,
    settings: Settings | None = None,
    bins: int = 4,
    qrels: Judgments | None = None,
    corpus: Corpus | None = None,
) -> tuple[list[Segment], list[Finding]]:
    """Compare the systems within groups of queries, field by field.

    ``queries`` are (id, text, metadata); which groups there are says `labels_of`. Only queries
    that all runs are scored on count. One that is scored and not among ``queries`` is unlabelled.
    Some derived fields (`query_traits`) need ``qrels`` and ``corpus``.

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
    columns, known = scored_queries(matrix, queries, qrels, corpus)
    segments, findings = [], []
    for field in dict.fromkeys(fields):
        check_field(queries, field)
        grouping = grouping_of(known, columns, field, bins)
        groups = compared_groups(matrix, grouping.members, baseline, settings)
        segment = segment_of(grouping, groups, len(columns) - len(known.queries))
        segments.append(segment)
        findings += _too_many(grouping.labels) + _too_small(segment)
        if baseline is not None:
            findings += contradictions(matrix, grouping.members, baseline, field, settings.alpha)
    return segments, findings


def scored_queries(
    matrix: Matrix,
    queries: Sequence[Query],
    qrels: Judgments | None,
    corpus: Corpus | None,
) -> tuple[dict[str, int], Known]:
    """Return the column of each query that is scored, and what is known about them."""
    columns = {query_id: column for column, query_id in enumerate(matrix.query_ids)}
    scored = {query[0]: query for query in queries if query[0] in columns}
    return columns, Known(list(scored.values()), qrels, corpus)


def segment_of(grouping: Grouping, groups: Sequence[SegmentGroup], unknown: int) -> Segment:
    """Put groups together; ``unknown``: how many scored queries nothing is known about."""
    labels = grouping.labels
    return Segment(
        field=labels.field,
        binned=labels.binned,
        groups=tuple(groups),
        unlabelled=labels.unlabelled + unknown,
    )


def compared_groups(
    matrix: Matrix,
    members: Mapping[str, Sequence[int]],
    baseline: str | None,
    settings: Settings,
    family: int | None = None,
) -> list[SegmentGroup]:
    """Return every group's means and, with a baseline, the differences to it."""
    measures, systems, _ = matrix.shape
    if not measures:
        return [
            SegmentGroup(label=name, n=len(places), means=()) for name, places in members.items()
        ]
    pairs = pairs_with(matrix, baseline)
    pair_of = {system: place for place, (_, system) in enumerate(pairs)}
    groups = []
    for group in by_group(matrix, members, pairs, settings, family=family):
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
                    mean = mean.model_copy(
                        update={
                            "difference": group.differences[row],
                            "difference_interval": group.difference_intervals[row],
                            "p_corrected": group.p_corrected[row],
                        }
                    )
                means.append(mean)
        groups.append(SegmentGroup(label=group.label, n=group.n, means=tuple(means)))
    return groups


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
