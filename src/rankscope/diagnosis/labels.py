"""Labels: the groups that queries fall into, by something that is known about them.

A field is a key of the queries' metadata (``style.difficulty`` reaches into objects), or one of two
that every query has: ``words`` (pieces between blanks) and ``characters``. Further names are taken
for what `query_traits` derives (`DERIVED`). Metadata of such a name wins.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rankscope.errors import InputError, UnknownNameError

Query = tuple[str, str, Mapping[str, Any]]
"""Id, text and metadata."""

BUILT_IN: dict[str, Callable[[str], int]] = {
    "words": lambda text: len(text.split()),
    "characters": len,
}

DERIVED = ("complexity", "question word", "rarity", "relevant documents", "overlap")
"""Fields that `query_traits` derives from texts, qrels and documents."""

MOST = 50
"""No more groups by text than this; what is smaller is put together."""

OTHER = "(other)"
"""The group of all labels that have no group of their own."""

LARGEST = 1e300
"""A larger number is taken as text."""

DEEPEST = 20
"""Metadata is looked into down to this depth."""

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?", re.ASCII)

Number = int | float


@dataclass(frozen=True, slots=True)
class Labels:
    """Which groups each query is in, and the groups in the order they are shown."""

    field: str
    binned: bool
    """Whether the groups are ranges of numbers."""
    groups: tuple[str, ...]
    of: dict[str, tuple[str, ...]]
    """By query id; a query with a list of labels is in several groups, one without is not here."""
    unlabelled: int
    merged: int = 0
    """How many labels were put together as `OTHER`."""


def labels_of(queries: Sequence[Query], field: str, *, bins: int) -> Labels:
    """Group queries by a field of their metadata, or by ``words`` or ``characters``.

    - Numbers, also written as text, fall into at most ``bins`` ranges of about equal size (equal
      numbers are never parted); up to ``bins`` + 1 different ones are each a group. A range of
      fractions holds its lower end and not its upper one.
    - True and False are ``yes`` and ``no``.
    - Text is a label as it is. Groups come by size, then name; of more than `MOST` the smallest
      are put together.
    - A list puts the query in the group of each of its entries; lists in it are passed over.
    - Nothing, blank text, an empty list, an object and what is no finite number give no label.

    >>> labels = labels_of([("q1", "cat", {}), ("q2", "white cat", {})], "words", bins=4)
    >>> labels.groups, labels.of["q2"]
    (('1', '2'), ('2',))
    """
    if bins < 1:
        raise InputError(f"bins must be a whole number from 1 up, not {bins}")
    values = field_values(queries, field)
    return grouped_values(values, field, bins, len(queries) - len(values))


def check_field(queries: Sequence[Query], field: str) -> None:
    """Refuse a field that no query has, with the nearest that one has."""
    if field in BUILT_IN or field in DERIVED:
        return
    for _, _, metadata in queries:
        exists, value = _looked_up(metadata, field)
        if exists and not isinstance(value, Mapping):
            return
    known = dict.fromkeys(name for _, _, metadata in queries for name in leaves(metadata))
    names = list({**known, **dict.fromkeys(BUILT_IN)})
    error = UnknownNameError("field of the queries", field, [*names, *DERIVED])
    if not {*error.nearest} & {*DERIVED}:  # then the fields of the queries themselves are listed
        error = UnknownNameError("field of the queries", field, names)
    raise InputError(str(error))


def _has_field(queries: Sequence[Query], field: str) -> bool:
    """Tell whether the metadata of any query has a field."""
    return any(_looked_up(metadata, field)[0] for _, _, metadata in queries)


def metadata_fields(queries: Sequence[Query]) -> dict[str, int]:
    """Return every field of the queries' metadata, with how many queries have it."""
    return dict(Counter(name for _, _, metadata in queries for name in leaves(metadata)))


def numbers_every_query(queries: Sequence[Query], field: str) -> bool:
    """Tell whether a field is a whole number, a different one for every query that has it."""
    numbers = [_number(value) for value in field_values(queries, field).values()]
    whole = {number for number in numbers if isinstance(number, int)}
    return 1 < len(whole) == len(numbers)


def field_values(queries: Sequence[Query], field: str) -> dict[str, Any]:
    """Return by query what it has in a field, where that can be a label."""
    measured = None if _has_field(queries, field) else BUILT_IN.get(field)
    values = {}
    for query_id, text, metadata in queries:
        value = _looked_up(metadata, field)[1] if measured is None else measured(text)
        value = _usable(value)
        if value is not None:
            values[query_id] = value
    return values


def _looked_up(metadata: Any, field: str, depth: int = 0) -> tuple[bool, Any]:
    """Return whether a field is there and what it holds; a key with dots in it goes first."""
    if not isinstance(metadata, Mapping) or depth > DEEPEST:
        return False, None
    if field in metadata:
        return True, metadata[field]
    for dot in re.finditer(r"\.", field):
        inner = metadata.get(field[: dot.start()])
        exists, value = _looked_up(inner, field[dot.end() :], depth + 1)
        if exists:
            return True, value
    return False, None


def leaves(metadata: Mapping[str, Any], before: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the fields of metadata that are no objects, as dotted paths."""
    for name, value in metadata.items():
        if isinstance(value, Mapping):
            if depth < DEEPEST:
                yield from leaves(value, f"{before}{name}.", depth + 1)
        else:
            yield f"{before}{name}"


def _usable(value: Any) -> Any:
    """Return a value that can be a label, a list of such values, or None."""
    if isinstance(value, list | tuple | set | frozenset):
        return [label for label in map(_label, value) if label is not None] or None
    return _label(value)


def _label(value: Any) -> Any:
    """Return a single value, or None if it says nothing."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if isinstance(value, Mapping | list | tuple | set | frozenset) else value


def grouped_values(values: Mapping[str, Any], field: str, bins: int, unlabelled: int) -> Labels:
    """Group queries by what each has in a field, as `query_labels` says."""
    if any(isinstance(value, list) for value in values.values()):
        return _by_text(values, field, unlabelled)
    if all(isinstance(value, bool) for value in values.values()):
        labels = {query_id: label_text(value) for query_id, value in values.items()}
        groups = tuple(name for name in ("yes", "no") if name in labels.values())
        return Labels(field, False, groups, _single(labels), unlabelled)
    numbers: dict[str, Number] = {}
    for query_id, value in values.items():
        number = _number(value)
        if number is None:
            return _by_text(values, field, unlabelled)
        numbers[query_id] = number
    starts, names = number_ranges(list(numbers.values()), bins)
    labels = {
        query_id: names[bisect_right(starts, number) - 1] for query_id, number in numbers.items()
    }
    binned = len(names) < len(set(numbers.values()))
    return Labels(field, binned, tuple(names), _single(labels), unlabelled)


def _single(labels: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {query_id: (label,) for query_id, label in labels.items()}


def _number(value: Any) -> Number | None:
    """Return a number, also of its text; a whole one as int."""
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return None
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST:
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _by_text(values: Mapping[str, Any], field: str, unlabelled: int) -> Labels:
    """Make a group of each label; a query with several is in several."""
    of = {
        query_id: tuple(dict.fromkeys(map(label_text, value)))
        if isinstance(value, list)
        else (label_text(value),)
        for query_id, value in values.items()
    }
    sizes = Counter(label for labels in of.values() for label in labels)
    groups = sorted(sizes, key=lambda label: (-sizes[label], label))
    merged = 0
    if len(groups) > MOST:
        largest = set(groups[: MOST - 1])
        merged = len(groups) - len(largest)
        of = {
            query_id: tuple(dict.fromkeys(label if label in largest else OTHER for label in labels))
            for query_id, labels in of.items()
        }
        groups = [*(label for label in groups if label in largest and label != OTHER), OTHER]
    return Labels(field, False, tuple(groups), of, unlabelled, merged)


def label_text(value: Any) -> str:
    """Return what a value is called as a label; True and False are ``yes`` and ``no``."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _plain(value) if isinstance(value, int | float) else str(value)


def _plain(number: Number) -> str:
    """Write a number as short as it can be read back."""
    return repr(number).removesuffix(".0")


def number_ranges(numbers: Sequence[Number], bins: int) -> tuple[list[Number], list[str]]:
    """Return where each range begins, and its name."""
    ordered = sorted(numbers)
    distinct = sorted(set(numbers))
    if len(distinct) <= bins + 1:
        return list(distinct), [_plain(number) for number in distinct]
    quantiles = (ordered[math.ceil(len(ordered) * n / bins) - 1] for n in range(1, bins))
    # each ends a range; the last range keeps at least the highest number
    ends = list(dict.fromkeys(min(end, distinct[-2]) for end in quantiles))
    whole = all(isinstance(number, int) for number in distinct)
    if whole:
        starts = [distinct[0], *(end + 1 for end in ends)]
        tops = [*ends, distinct[-1]]
        names = [_span(low, high) for low, high in zip(starts, tops, strict=True)]
        if ends and starts[-1] < distinct[-1]:
            names[-1] = f"{starts[-1]}+"
        return starts, names
    cuts = [_between(end, distinct[bisect_right(distinct, end)]) for end in ends]
    if not cuts:
        return [distinct[0]], [_span(distinct[0], distinct[-1])]
    names = [_span(low, high) for low, high in pairwise(cuts)]
    return [distinct[0], *cuts], [f"below {_plain(cuts[0])}", *names, f"{_plain(cuts[-1])}+"]


def _span(low: Number, high: Number) -> str:
    """Name a range.

    >>> _span(1, 4), _span(5, 5), _span(-3, 2)
    ('1–4', '5', '-3 to 2')
    """
    if low == high:
        return _plain(low)
    return f"{_plain(low)} to {_plain(high)}" if low < 0 else f"{_plain(low)}–{_plain(high)}"


def _between(below: Number, above: Number) -> Number:
    """Return the shortest number that is above one and not above the other.

    >>> _between(0.2391, 0.2618)
    0.25
    """
    for digits in range(-15, 16):
        for near in ((below + above) / 2, above):
            number = round(near, digits)
            if below < number <= above:
                return int(number) if float(number).is_integer() else number
    return above
