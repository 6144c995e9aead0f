"""Groups that a stage makes worse: a better mean may hide a kind of query that pays for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.labels import labels_of, leaves
from rankscope.part import Part
from rankscope.statistics.arrays import row_means
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import FEWEST, Interval
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.pairwise import (
    agreeing,
    difference_intervals,
    differences_alone,
    family_level,
    repeat_noises,
)
from rankscope.statistics.settings import MOST_RESAMPLES

if TYPE_CHECKING:
    from rankscope.diagnosis.labels import Query
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.matrix import Matrix
    from rankscope.statistics.settings import Settings

MOST_FIELDS = 20
"""No more fields than this are looked at unless they are named: each takes power from the rest."""

MANY = 500
"""Of more queries the t test says the same as one that asks for no normal distribution."""

BINS = 4
"""Numbers are put into so many ranges."""


class HarmedGroup(Part):
    """A group of queries that a stage makes worse."""

    system: str
    """The stage."""
    of: str
    """The system below."""
    field: str
    """What the queries share: a field of their metadata, or ``words`` (how many there are)."""
    label: str
    """Its value."""
    n: int
    """How many queries."""
    difference: float
    """In the main measure: mean of the stage minus that of the system below, in the group."""
    interval: Interval
    """Of the difference; it holds for all groups that were tested."""
    p_corrected: float
    """Of a paired test, corrected over all groups of all fields and stages."""
    overall: float
    """The difference over all queries."""


@dataclass(frozen=True, slots=True, eq=False)
class Harm:
    """What was tested, and what was seen."""

    groups: tuple[HarmedGroup, ...] = ()
    fields: tuple[str, ...] = ()
    tests: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Tested:
    """One group of queries and one stage."""

    pair: int
    field: str
    label: str
    part: Matrix
    changes: FloatArray
    p: float


def harmed_groups(
    matrix: Matrix,
    pairs: Sequence[tuple[int, int]],
    queries: Sequence[Query],
    settings: Settings,
    fields: Sequence[str] | None = None,
) -> Harm:
    """Find the groups of queries that a stage makes worse in the first measure of a matrix.

    ``pairs`` are (system below, stage). Groups of fewer than 10 queries are not tested, nor is a
    field with a single group, nor (unless ``fields`` names it) one with so many labels that some
    were put together. A group counts if both a t test and the test of ``settings`` say so: the
    first is fast and the second asks for no normal distribution. The larger of the two p-values is
    corrected over all groups of all fields and stages. How far systems move by themselves counts.
    """
    column_of = {query_id: column for column, query_id in enumerate(matrix.query_ids)}
    scored = [query for query in queries if query[0] in column_of]
    named = [*_fields(scored), "words"][:MOST_FIELDS] if fields is None else list(fields)
    changes = matrix.differences(pairs)[: len(pairs)]  # those of the first measure
    scale = matrix.scales[0]
    by_t = settings.model_copy(update={"test": "t"})
    tested: list[_Tested] = []
    looked_at = []
    for field in dict.fromkeys(named):
        labels = labels_of(scored, field, bins=BINS)
        if len(labels.groups) < 2 or (fields is None and labels.merged):
            continue
        members: dict[str, list[int]] = {label: [] for label in labels.groups}
        for query_id, labels_of_query in labels.of.items():
            for label in labels_of_query:
                members[label].append(column_of[query_id])
        large = {label: places for label, places in members.items() if len(places) >= FEWEST}
        looked_at += [field] if large else []
        for label, places in large.items():
            part = matrix.only_measure(0).only_queries(places)
            rows = part.differences(pairs)
            tests = differences_alone(part, pairs, by_t)
            tested += [
                _Tested(pair, field, label, part, row, change.test.p)
                for pair, (row, change) in enumerate(zip(rows, tests, strict=True))
            ]
    if not tested:
        return Harm(fields=tuple(looked_at))
    means = [float(row_means(group.changes[np.newaxis])[0]) for group in tested]
    p_values = [
        max(group.p, _confirmed(group.changes, settings, len(tested)))
        if group.p <= settings.alpha and mean and not scale.is_better(mean)
        else group.p
        for group, mean in zip(tested, means, strict=True)
    ]
    level = family_level(settings.level, len(tested), settings)
    overall = row_means(changes).tolist()
    groups = []
    adjusted = corrected(p_values, settings.added).tolist()
    for group, mean, p in zip(tested, means, adjusted, strict=True):
        if p > settings.alpha or not mean or scale.is_better(mean):
            continue
        below, system = pair = pairs[group.pair]
        noises = repeat_noises(group.part, [pair])
        [interval] = difference_intervals(group.part, [pair], level, noises)
        groups.append(
            HarmedGroup(
                system=matrix.systems[system],
                of=matrix.systems[below],
                field=group.field,
                label=group.label,
                n=len(group.changes),
                difference=mean,
                interval=agreeing(interval, mean, p, settings.alpha),
                p_corrected=p,
                overall=overall[group.pair],
            )
        )
    return Harm(tuple(groups), tuple(looked_at), len(tested))


def _confirmed(changes: FloatArray, settings: Settings, family: int) -> float:
    """Return the p-value of the test that was asked for, with enough resamples for the family."""
    if len(changes) > MANY:
        return 0.0
    needed = min(round(10 * family / settings.alpha), MOST_RESAMPLES)
    resamples = max(settings.resamples, needed)
    [test] = paired_tests(
        changes, test=settings.single_test, resamples=resamples, seed=settings.seed
    )
    return test.p


def _fields(queries: Sequence[Query]) -> list[str]:
    """Return the fields of the queries' metadata, as paths with dots."""
    return list(dict.fromkeys(name for _, _, metadata in queries for name in leaves(metadata)))
