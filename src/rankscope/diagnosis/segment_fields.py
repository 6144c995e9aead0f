"""Fields: which groups of queries are looked at, those that were named or all that are sensible."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankscope.diagnosis.labels import (
    DERIVED,
    Labels,
    numbers_every_query,
)
from rankscope.diagnosis.query_traits import Known, field_labels, lacking
from rankscope.errors import counted
from rankscope.statistics.intervals import FEWEST

if TYPE_CHECKING:
    from rankscope.statistics.arrays import BoolArray

MOST_FIELDS = 100
"""So many fields of the metadata are looked at unasked, those first that most queries have."""

MOST_SKIPPED = 20
"""So many fields that are left out are named, with the reason."""

_ID = re.compile(r"(^|.*[_\-. ])(id|ids|uuid|guid|hash|url|uri)|.*[a-z]I[dD]s?")


@dataclass(frozen=True, eq=False)
class Grouping:
    """The groups of one field, by the columns of their queries."""

    labels: Labels
    members: Mapping[str, Sequence[int]]
    """By label, in the order they are shown: the columns of its queries."""

    @property
    def field(self) -> str:
        """The field."""
        return self.labels.field


@dataclass(frozen=True, eq=False)
class Conditions:
    """All groups that are large enough to be tested, of all fields: a row of a table for each."""

    queries: int
    groupings: Sequence[Grouping]
    small: int
    """How many groups are too small to be tested, or all but too few queries are in them."""

    @classmethod
    def of(cls, groupings: Sequence[Grouping], queries: int) -> Conditions:
        """Take the groups that can be compared with the rest."""
        large = [
            Grouping(
                grouping.labels,
                {
                    label: columns
                    for label, columns in grouping.members.items()
                    if _is_testable(len(columns), queries)
                },
            )
            for grouping in groupings
        ]
        total = sum(len(grouping.members) for grouping in groupings)
        return cls(queries, large, total - sum(len(grouping.members) for grouping in large))

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """By row: field and label."""
        return [
            (grouping.field, label) for grouping in self.groupings for label in grouping.members
        ]

    @cached_property
    def table(self) -> BoolArray:
        """Which queries meet which condition, as ``[conditions, queries]``."""
        table = np.zeros((len(self.names), self.queries), dtype=bool)
        places = (columns for grouping in self.groupings for columns in grouping.members.values())
        for row, columns in zip(table, places, strict=True):
            row[list(columns)] = True
        return table


def _is_testable(size: int, queries: int) -> bool:
    """Tell whether a group and the rest are both large enough for a mean to say something."""
    return FEWEST <= size <= queries - FEWEST


def grouping_of(known: Known, columns: Mapping[str, int], field: str, bins: int) -> Grouping:
    """Group queries by a field."""
    labels = field_labels(known, field, bins=bins)
    members: dict[str, list[int]] = {label: [] for label in labels.groups}
    for query_id, labels_of_query in labels.of.items():
        for label in labels_of_query:
            members[label].append(columns[query_id])
    return Grouping(labels, members)


def automatic_groupings(
    known: Known, columns: Mapping[str, int], bins: int
) -> tuple[list[Grouping], dict[str, str]]:
    """Return the groupings of all sensible fields, and why others are left out.

    Of the metadata: fields that at least half of the queries have, and whose groups of at least
    `FEWEST` queries hold at least half of all queries. Left out are ids (by name, or a different
    whole number for every query), texts that are different for nearly every query, what is the same
    for all, and what groups queries as an earlier field does. Then what can be derived: number of
    words (of characters, if the number of words is the same for all), complexity, question word,
    rarity, number of relevant documents, overlap.
    """
    chosen: list[Grouping] = []
    skipped: dict[str, str] = {}
    partitions: dict[frozenset[tuple[int, ...]], str] = {}

    def consider(field: str, *, derived: bool) -> bool:
        reason = lacking(known, field) if derived else _looks_like_id(field)
        if not reason:
            grouping = grouping_of(known, columns, field, bins)
            if not derived and grouping.labels.binned and numbers_every_query(known.queries, field):
                reason = "a different number for every query"
            reason = reason or _groups_nothing(grouping, len(columns), derived=derived)
            partition = frozenset(tuple(sorted(places)) for places in grouping.members.values())
            if not reason and partition in partitions:
                reason = f"the same groups as {partitions[partition]}"
        if reason:
            skipped[field] = reason
            return False
        partitions[partition] = field
        chosen.append(grouping)
        return True

    known_for = known.fields
    often = sorted(
        (field for field, count in known_for.items() if 2 * count >= len(columns)),
        key=lambda field: -known_for[field],
    )
    for field in often[:MOST_FIELDS]:
        consider(field, derived=False)
    for field in known_for:
        if field not in often and known_for[field] >= FEWEST:
            skipped[field] = f"known for {known_for[field]:,} of {counted(len(columns), 'query')}"
    if "words" not in known_for and not consider("words", derived=True):
        consider("characters", derived=True)
    for field in DERIVED:
        if field not in known_for:
            consider(field, derived=True)
    return chosen, dict(list(skipped.items())[:MOST_SKIPPED])


def _looks_like_id(field: str) -> str:
    return "an id, by its name" if _ID.fullmatch(field) else ""


def _groups_nothing(grouping: Grouping, queries: int, *, derived: bool) -> str:
    """Say why groups are of no use; '' if they are."""
    sizes = {label: len(columns) for label, columns in grouping.members.items()}
    labels = grouping.labels
    labelled = queries - labels.unlabelled
    if not sizes:
        return "nothing is known"
    if len(sizes) == 1 and labelled == queries:
        return "the same for all queries"
    testable = [label for label, size in sizes.items() if _is_testable(size, queries)]
    held = {column for label in testable for column in grouping.members[label]}
    if not testable or labels.merged or (not derived and 2 * len(held) < queries):
        total = len(sizes) + max(labels.merged - 1, 0)
        return f"{counted(total, 'group')}, too few of at least {FEWEST} queries"
    return ""
