"""From a corpus to the text that is searched: fields, their weights, and the hash of the result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, overload

import numpy as np
import polars as pl
from pydantic import BeforeValidator, WithJsonSchema

from rankscope.collection.corpus import Corpus, Document, document_text
from rankscope.errors import shown
from rankscope.runs.order import by_id_descending

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _weights(value: Any) -> dict[str, int]:
    """Take fields as a list, or as a table of whole-number weights."""
    if isinstance(value, str) and value:
        return {value: 1}
    if isinstance(value, list | tuple) and value:
        if all(isinstance(name, str) and name for name in value) and len({*value}) == len(value):
            return dict.fromkeys(value, 1)
    elif isinstance(value, Mapping) and value:
        whole = all(isinstance(w, int) and not isinstance(w, bool) for w in value.values())
        if whole and all(isinstance(name, str) and name for name in value):
            weights = dict(value)
            if all(1 <= weight <= 100 for weight in weights.values()):
                return weights
    raise ValueError("a list of different fields, or a table of fields and whole weights 1 to 100")


_NAMES = {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}
_WEIGHT = {"type": "integer", "minimum": 1, "maximum": 100}
_TABLE = {"type": "object", "additionalProperties": _WEIGHT, "minProperties": 1}

Fields = Annotated[
    dict[str, int],
    BeforeValidator(_weights),
    WithJsonSchema({"anyOf": [{"type": "string"}, _NAMES, _TABLE]}),
]
"""Fields of documents, each with how often it counts."""


_PART = 4096  # documents whose texts are looked at together


class Column(Sequence[str]):
    """Texts of a corpus in some order, which stay where they are: only what is asked for is copied.

    ``order`` is where each is among all ``texts``.
    """

    def __init__(self, texts: pl.Series, order: ArrayLike) -> None:
        self._texts = texts
        self._order = np.array(order, np.int64)

    def chosen(self, places: Sequence[int]) -> Column:
        """Return some of the texts."""
        return Column(self._texts, self._order[places])

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return self._texts.gather(self._order[at]).to_list()
        return str(self._texts[int(self._order[at])])

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.parts())

    def parts(self) -> Iterator[list[str]]:
        """Yield them in order, some at a time."""
        for low in range(0, len(self), _PART):
            yield self[low : low + _PART]


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """The text of every document, in the order of ids from high to low by bytes.

    ``snapshot`` is a hash of ids and texts: two corpora with the same one are searched alike.
    """

    doc_ids: list[str]
    texts: Column
    snapshot: str
    _positions: dict[str, int] = field(default_factory=dict)

    def text_of(self, doc_id: str) -> str:
        """Return the text of one document."""
        if not self._positions:
            self._positions.update({known: at for at, known in enumerate(self.doc_ids)})
        return self.texts[self._positions[doc_id]]

    def parts(self) -> Iterator[list[str]]:
        """Yield the texts in order, some at a time."""
        return self.texts.parts()

    @classmethod
    def of(cls, corpus: Corpus, fields: Mapping[str, int] | None) -> Texts:
        """Join the fields of each document, a field as often as its weight says."""
        ids = corpus.ids
        if fields is None:
            series = corpus.texts()
        else:
            columns = [
                [field_text(name, value) for value in corpus.field(name)]
                for name, weight in fields.items()
                for _ in range(weight)
            ]
            rows = zip(*columns, strict=True)
            joined = ["\n".join(part for part in row if part) for row in rows]
            series = pl.Series(joined, dtype=pl.String)
        order = by_id_descending(ids)
        ids, texts = [ids[at] for at in order], Column(series, order)
        return cls(ids, texts, _hash(ids, texts))

    def searchable(self) -> Texts:
        """Return the documents that have a text."""
        kept = [at for at, text in enumerate(self.texts) if text.strip()]
        if len(kept) == len(self.doc_ids):
            return self
        return Texts([self.doc_ids[at] for at in kept], self.texts.chosen(kept), self.snapshot)

    def empty(self) -> list[str]:
        """Return the documents that have no text."""
        pairs = zip(self.doc_ids, self.texts, strict=True)
        return [doc_id for doc_id, text in pairs if not text.strip()]


def field_text(name: str, value: object) -> str:
    """Return what a document holds in one field as text."""
    if value is None or isinstance(value, str):
        return value or ""
    return document_text(Document("", {name: value}), [name])


def _hash(ids: list[str], texts: Iterable[str]) -> str:
    """Hash ids and texts, each with its length, so that none can pass for a part of another."""
    running = hashlib.sha256()
    for doc_id, text in zip(ids, texts, strict=True):
        name, content = doc_id.encode(), text.encode()
        running.update(b"%d %d\n" % (len(name), len(content)))
        running.update(name)
        running.update(content)
    return running.hexdigest()


def without_text(texts: Texts) -> tuple[str, ...]:
    """Say in one sentence which documents can never be found; nothing if there are none."""
    empty = texts.empty()
    if not empty:
        return ()
    have = "has" if len(empty) == 1 else "have"
    note = (
        f"{len(empty):,} of {len(texts.doc_ids):,} documents {have} no text to search and cannot "
        f"be found, such as {shown(empty[-1])}; name other fields if this is not meant"
    )
    return (note,)
