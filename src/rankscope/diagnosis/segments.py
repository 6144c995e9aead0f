"""Segments: which groups of queries a system answers worse, and what that costs its mean.

An analysis. The groups come from fields that are named, or from all that are sensible
(`segment_fields`). Each group is compared with the rest of the queries (`segment_costs`), and the
systems are compared within each group (`rankscope.statistics.strata`, `contradictions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator, model_validator

from rankscope.diagnosis.analysis import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.diagnosis.contradictions import best_pair, pairs_with, proven_contradictions
from rankscope.diagnosis.labels import Query, check_field
from rankscope.diagnosis.query_traits import Known, lacking
from rankscope.diagnosis.segment_advice import WEAK_GROUPS, segment_advice, weak_groups
from rankscope.diagnosis.segment_costs import SegmentCost, segment_costs
from rankscope.diagnosis.segment_fields import Conditions, automatic_groupings, grouping_of
from rankscope.diagnosis.segment_means import (
    SMALL_GROUPS,
    TOO_MANY_GROUPS,
    Segment,
    compared_groups,
    scored_queries,
    segment_of,
    segment_table,
)
from rankscope.errors import InputError, shown
from rankscope.findings import Finding, NotApplicable
from rankscope.statistics.intervals import FEWEST
from rankscope.statistics.matrix import Matrix
from rankscope.statistics.strata import STRATA_DISAGREE

if TYPE_CHECKING:
    from rankscope.diagnosis.segment_fields import Grouping
    from rankscope.document.blocks import Section

SHOWN_FIELDS = 3
"""Of fields that nobody named, so many are compared group by group, the costliest first."""


class Segments(Analysed):
    """Groups of queries: what they cost, and every system's means within them."""

    measure: str | None
    """The main measure, which reports show; null if none is a mean."""
    baseline: str | None
    """The system that others are compared with; null: none."""
    alpha: float
    """A corrected p-value up to this counts as a difference."""
    segments: tuple[Segment, ...]
    """By field: those that were named, or of all fields the costliest ones with groups that differ
    from the rest by more than chance; these by the main measure only, by Student's t, corrected
    over all groups of all fields."""
    system: str
    """The best system, which reports and advice are about."""
    queries: int = 0
    """How many queries count."""
    automatic: bool = False
    """Whether the fields were chosen, and not named."""
    costs: tuple[SegmentCost, ...] = ()
    """Each system in each group of at least 10 queries, against the rest; the costliest first."""
    small: int = 0
    """Groups that are not among these, because they or the rest have fewer than 10 queries."""
    skipped: dict[str, str] = Field(default_factory=dict)
    """Fields that are not looked at, with the reason; the first 20."""


class SegmentsConfig(AnalysisConfig):
    """Which groups of queries to look at; may be written as a list of fields."""

    fields: tuple[str, ...] = ()
    """Fields of the queries' metadata, or ``words``, ``characters``, ``complexity``,
    ``question word``, ``rarity``, ``relevant documents``, ``overlap``; none: all that are
    sensible."""
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


@dataclass(frozen=True, eq=False)
class _Groups:
    """What is looked at: the groups of all fields, and what is known about their queries."""

    known: Known
    columns: dict[str, int]
    groupings: Sequence[Grouping]
    skipped: dict[str, str]

    @property
    def unknown(self) -> int:
        """How many scored queries nothing is known about."""
        return len(self.columns) - len(self.known.queries)

    @property
    def artefacts(self) -> frozenset[str]:
        """Derived fields by which the highest value that can be reached may differ.

        With one relevant document P@10 cannot exceed 0.1: such a group is no failure of a system.
        """
        field = "relevant documents"
        return frozenset() if field in self.known.fields else frozenset({field})


def _look(config: SegmentsConfig, inputs: Inputs) -> Segments | NotApplicable:
    assert inputs.scores is not None
    assert inputs.queries is not None
    matrix = Matrix.of_scores(inputs.scores, only_means=True)
    columns, known = scored_queries(matrix, inputs.queries, inputs.qrels, inputs.corpus)
    if not config.fields:
        reason = _too_little(matrix, known)
        if reason:
            return SEGMENTS.not_applicable(reason)
        groupings, skipped = automatic_groupings(known, columns, config.bins)
        if not groupings:
            return SEGMENTS.not_applicable("nothing that is known about the queries groups them")
        return _compared(inputs, matrix, _Groups(known, columns, groupings, skipped))
    segments, findings = segment_table(
        inputs.scores,
        inputs.queries,
        config.fields,
        baseline=inputs.baseline,
        settings=inputs.settings,
        bins=config.bins,
        qrels=inputs.qrels,
        corpus=inputs.corpus,
    )
    groupings = [grouping_of(known, columns, field, config.bins) for field in config.fields]
    skipped = {field: reason for field in config.fields if (reason := lacking(known, field))}
    groups = _Groups(known, columns, groupings, skipped)
    return _compared(inputs, matrix, groups, named=segments, findings=findings)


def _too_little(matrix: Matrix, known: Known) -> str:
    """Say why groups cannot be chosen; '' if they can."""
    if not matrix.scales:
        return "no measure is a mean over queries"
    if len(known.queries) < 2 * FEWEST:
        are = "is" if len(known.queries) == 1 else "are"
        return (
            f"without a field that is named it needs at least {2 * FEWEST} queries, and there "
            f"{are} {len(known.queries)}"
        )
    return ""


def _compared(
    inputs: Inputs,
    matrix: Matrix,
    groups: _Groups,
    *,
    named: Sequence[Segment] | None = None,
    findings: Sequence[Finding] = (),
) -> Segments:
    """Compare groups with the rest, and each other; ``named``: the tables of fields asked for."""
    assert inputs.scores is not None
    alpha, focus = inputs.settings.alpha, inputs.focus
    conditions = Conditions.of(groups.groupings if matrix.scales else (), len(groups.columns))
    costs = segment_costs(matrix, conditions, inputs.settings)
    weak = [cost for cost in costs if cost.system == focus and cost.is_weak(alpha)]
    strong = [cost for cost in costs if cost.system == focus and cost.is_strong(alpha)]
    blamed = [cost for cost in weak if cost.field not in groups.artefacts]
    segments = named
    if segments is None:
        segments = _different(inputs, matrix, groups, [*weak, *strong])
    measure = matrix.scales[0].name if matrix.scales else None
    queries = len(groups.columns)
    advice = segment_advice(
        blamed, conditions, inputs.scores.measures[0], several=len(matrix.systems) > 1
    )
    return Segments(
        measure=measure,
        baseline=inputs.baseline,
        alpha=alpha,
        segments=tuple(segments),
        system=focus,
        queries=queries,
        automatic=named is None,
        costs=tuple(costs),
        small=conditions.small,
        skipped=groups.skipped,
        findings=(
            *findings,
            *_contradicted(inputs, matrix, conditions, is_named=named is not None),
            *weak_groups(blamed, queries),
        ),
        # of another measure than the main one a gain says nothing
        advice=advice if measure == inputs.scores.measures[0] else (),
    )


def _contradicted(
    inputs: Inputs, matrix: Matrix, conditions: Conditions, *, is_named: bool
) -> list[Finding]:
    """Look for contradictions of the whole, unless `segment_table` did for fields it was given."""
    if not matrix.scales or (is_named and inputs.baseline is not None):
        return []
    pairs = pairs_with(matrix, inputs.baseline) or best_pair(matrix)
    return proven_contradictions(matrix, conditions.groupings, pairs, inputs.settings)


def _different(
    inputs: Inputs, matrix: Matrix, groups: _Groups, costs: Sequence[SegmentCost]
) -> list[Segment]:
    """Compare the systems by the main measure in the first fields whose groups differ."""
    conditions = Conditions.of(groups.groupings, len(groups.columns))
    by_field = {grouping.field: grouping for grouping in conditions.groupings}
    fast = inputs.settings.model_copy(update={"test": "t", "interval": "t"})
    segments = []
    for field in list(dict.fromkeys(cost.field for cost in costs))[:SHOWN_FIELDS]:
        compared = compared_groups(
            matrix.only_measures(1),
            by_field[field].members,
            inputs.baseline,
            fast,
            family=len(conditions.names),
        )
        segments.append(segment_of(by_field[field], compared, groups.unknown))
    return segments


def _check(config: SegmentsConfig, queries: Sequence[Query]) -> None:
    for field in config.fields:
        try:
            check_field(queries, field)
        except InputError as error:
            raise InputError(f"segments: {error}") from None


def _section(result: Segments) -> Section:
    from rankscope.diagnosis.segment_tables import segment_section  # noqa: PLC0415

    return segment_section(SEGMENTS.title, result)


SEGMENTS = register(
    Analysis(
        name="segments",
        title="Groups of queries",
        summary="Groups of queries: which are answered worse, what that costs, what differs there.",
        config=SegmentsConfig,
        written="segments: [category, words]",
        result=Segments,
        needs=("scores", "queries"),
        uses=("qrels", "corpus"),
        look=_look,
        section=_section,
        check=_check,
        codes=(STRATA_DISAGREE, SMALL_GROUPS, TOO_MANY_GROUPS, WEAK_GROUPS),
        place=20,
    )
)
