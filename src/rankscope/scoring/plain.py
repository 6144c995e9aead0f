"""What plain dicts hold, ``{query_id: {doc_id: number}}``: ids as text and finite numbers.

Dicts are scored as they are, so this costs no more than it must: numbers are taken all at once, and
each is looked at only if that fails; a run's ids are looked at only where one could be meant by
a judgment and yet not be found, because one is a whole number and the other its digits.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.tables.ids import id_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankscope.measures.judged import FloatArray

    Documents = Mapping[str, float]
    ByQuery = Mapping[str, Documents]

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,99}")
"""How a whole number is written as an id; ``007`` is text and no number's digits."""

_PACKED = 1 << 12
"""So many numbers are taken at once,"""

_SEVERAL = 16
"""unless queries have more than so many on average: then those of one query are."""


def is_plain(data: object) -> bool:
    """Tell whether data is ``{text: {text: number}}`` and can be used without being copied.

    One key and one value of each query are looked at, not all.
    """
    if not isinstance(data, Mapping):
        return False
    for query_id in data:
        documents = data[query_id]
        if type(documents) is not dict and not isinstance(documents, Mapping):
            return False
        if type(query_id) is not str and not isinstance(query_id, str):
            return False
        for doc_id in documents:
            if type(doc_id) is not str and not isinstance(doc_id, str):
                return False
            number = documents[doc_id]
            if type(number) is not float and isinstance(number, Mapping):
                return False
            break
    return True


def holds_numbers(data: Mapping[Any, Any]) -> bool:
    """Tell ``{query: {doc: number}}`` from other mappings, by the first document."""
    for documents in data.values():
        if not isinstance(documents, Mapping):
            return False
        for number in documents.values():
            return hasattr(number, "__float__") and not isinstance(number, bool)
    return True


def numeric_ids(qrels: ByQuery) -> dict[str, frozenset[int]]:
    """Return by query the judged ids that are a whole number's digits, as numbers.

    Raises:
        TypeError: an id is not text.
    """
    numeric = {}
    for query_id, documents in qrels.items():
        # the lowest id tells whether any can begin with a sign or a digit, and that all are text
        if documents and min(documents)[:1] <= "9":
            numbers = _numbers_in(documents)
            if numbers:
                numeric[query_id] = numbers
    return numeric


def _numbers_in(doc_ids: Iterable[str]) -> frozenset[int]:
    """Return ids that are a whole number's digits, as numbers; where all are, ``007`` is 7 too.

    A number that no id means does no harm: ids are still compared as text.
    """
    try:
        return frozenset(map(int, doc_ids))
    except ValueError:
        return frozenset(int(doc_id) for doc_id in doc_ids if _WHOLE.fullmatch(doc_id))


def holds(documents: Mapping[Any, float], doc_id: str) -> bool:
    """Tell whether a document is among some, whether its id is text or a whole number."""
    return doc_id in documents or (
        _WHOLE.fullmatch(doc_id) is not None and int(doc_id) in documents
    )


def text_id(doc_id: Any) -> str:
    """Return an id as text; a whole number becomes its digits."""
    try:
        return id_text(doc_id)
    except ValueError as error:
        raise InputError(f"a document id is {error}") from None


def text_ids(documents: Mapping[Any, float], query_id: str) -> dict[str, float]:
    """Return a query's documents with every id as text."""
    by_id = {text_id(doc_id): number for doc_id, number in documents.items()}
    if len(by_id) < len(documents):
        others = (text_id(doc_id) for doc_id in documents if not isinstance(doc_id, str))
        twice = next(doc_id for doc_id in others if doc_id in documents)
        raise InputError(
            f"query {shown(query_id)}: the document {shown(twice)} appears twice, as text and as a "
            "whole number; keep each document once per query"
        )
    return by_id


def numbers_of(
    documents: Sequence[Documents], size: int, query_ids: Iterable[str], what: str
) -> FloatArray:
    """Return the numbers of some queries one after the other, ``size`` in all.

    Packing them is the quickest way that takes numbers only (NumPy would read text too); what is no
    number, or is not finite, is looked for only if there is some.
    """
    try:
        if size > _SEVERAL * len(documents):
            packed = [struct.pack(f"{len(each)}d", *each.values()) for each in documents]
        else:
            values: Any = chain.from_iterable([each.values() for each in documents])
            counts = [_PACKED] * (size // _PACKED) + [size % _PACKED]
            packed = [struct.pack(f"{count}d", *islice(values, count)) for count in counts]
        numbers = np.frombuffer(b"".join(packed))
        if np.isfinite(numbers).all():
            return numbers
    except (struct.error, TypeError, ValueError, ArithmeticError):
        pass
    _check(documents, query_ids, what)
    values = chain.from_iterable(each.values() for each in documents)
    return np.fromiter(map(_as_float, values), np.float64, size)


def _as_float(value: Any) -> float:
    """Return a finite number as a float; NaN for anything else."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, ArithmeticError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _check(documents: Sequence[Documents], query_ids: Iterable[str], what: str) -> None:
    for query_id, each in zip(query_ids, documents, strict=True):
        for doc_id, value in each.items():
            if math.isnan(_as_float(value)):
                raise InputError(
                    f"query {shown(query_id)}, document {shown(doc_id)}: the {what} is "
                    f"{shown(value)}; expected a finite number"
                )
