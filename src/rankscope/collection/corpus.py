"""The corpus: what is searched, as documents of several named fields.

`Corpus` holds the documents in memory; `stream_corpus` and `stream_doc_ids` pass over a file of any
size once, one document at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rankscope.collection.markup import read_documents
from rankscope.errors import UnknownNameError
from rankscope.files import PathLike
from rankscope.tables.columns import RecordLayout, TextFormat
from rankscope.tables.records import RecordTable, Row, identify, read_records

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "Corpus",
    "Document",
    "read_corpus",
    "stream_corpus",
]

TITLES = ("title", "product_title", "headline", "name")
"""What a title may be called; the first that a document has is its title."""
_TEXTS = ("text", "contents", "content", "body", "passage", "abstract", "product_description")

CORPUS = RecordLayout(
    kind="corpus",
    headerless={2: ("_id", "text"), 3: ("_id", "title", "text")},
    noun="document",
    id_column="doc_id",
    id_names=("_id", "doc_id", "docid", "docno", "id", "pid", "corpus_id", "product_id"),
    text_names=(*_TEXTS, *TITLES),
    columns=("title", "text"),
    markup={"trec": TextFormat(r"<(DOC[\s>]|[?!])", read_documents)},
    read_only=("parquet", "xlsx", "trec"),
)


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its id and its fields under the names they were given."""

    doc_id: str
    fields: Mapping[str, object]

    @property
    def title(self) -> str:
        """The field ``title``, or the first of its other names; empty if there is none."""
        return self._first(TITLES)

    @property
    def text(self) -> str:
        """The field ``text``, or the first of its other names; empty if there is none."""
        return self._first(_TEXTS)

    @property
    def body(self) -> str:
        r"""The text, and behind it the other fields that hold text or lists of it, by name.

        >>> Document("d1", {"title": "Soup", "text": "Boil.", "ingredients": ["leek"]}).body
        'Boil.\ningredients: leek'
        """
        used = {name for names in (TITLES, _TEXTS) for name in names if name in self.fields}
        texts = [self.text] if self.text else []
        for name, value in self.fields.items():
            if name not in used and isinstance(value, str | list | tuple) and value:
                lines = _as_text(value).splitlines()
                comma = " " if all(line.endswith((".", "!", "?")) for line in lines) else ", "
                texts.append(f"{name}: {comma.join(lines)}")
        return "\n".join(texts)

    @property
    def as_row(self) -> Row:
        """The fields and the id, as a corpus is made of them."""
        return {**self.fields, "_id": self.doc_id}

    def _first(self, names: Sequence[str]) -> str:
        present = (name for name in names if self.fields.get(name) is not None)
        return document_text(self, [next(present, names[0])])


def document_text(document: Document, fields: Iterable[str]) -> str:
    r"""Return the named fields as one text, a line for each and for each item of a list.

    A field the document does not have, or that is empty, adds nothing.

    >>> soup = Document("d1", {"title": "Soup", "ingredients": ["leek", "salt"]})
    >>> document_text(soup, ["title", "ingredients", "notes"])
    'Soup\nleek\nsalt'
    """
    return "\n".join(text for name in fields if (text := _as_text(document.fields.get(name))))


def _as_text(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return "\n".join(text for item in value if (text := _as_text(item)))
    return json.dumps(value) if isinstance(value, bool | int | float) else str(value)


class Corpus(RecordTable):
    """Documents by id.

    Made from a dict (``{"d1": "text"}`` or ``{"d1": {"title": ..., "text": ...}}``), from rows
    (mappings, `Document` objects, ``(id, text)`` or ``(id, title, text)`` tuples), or from any
    frame with the Arrow PyCapsule interface. Fields keep their names. Iterating gives ids. Two are
    equal if they hold the same ids with the same content, in any order.

    >>> corpus = Corpus({"d1": {"title": "Soup", "text": "Boil.", "minutes": 20}})
    >>> corpus["d1"].title, corpus.field("minutes")
    ('Soup', [20])
    """

    __slots__ = ()

    layout = CORPUS

    def __getitem__(self, doc_id: str) -> Document:
        row = self._frame.row(self._position(doc_id))
        return Document(doc_id, self._fields(row))

    def documents(self) -> Iterator[Document]:
        """Iterate over the documents, in the order given."""
        return (Document(doc_id, fields) for doc_id, fields in self.rows())

    def positions(self, doc_ids: pl.Series | Sequence[str]) -> pl.Series:
        """Return the place of each document, from 0; -1 for one that is not in the corpus.

        >>> Corpus({"d1": "Boil.", "d2": "Fry."}).positions(["d2", "d3"]).to_list()
        [1, -1]
        """
        places = self._frame.select("id", pl.int_range(pl.len(), dtype=pl.Int64).alias("place"))
        asked = pl.DataFrame({"id": pl.Series(doc_ids, dtype=pl.String)})
        joined = asked.join(places, on="id", how="left", maintain_order="left")
        return joined["place"].fill_null(-1)

    def texts(self, positions: Sequence[int] | npt.NDArray[np.int64] | None = None) -> pl.Series:
        r"""Return title and text of all documents, or of those at some places, as one text each.

        Each is a line, where it is not empty, under whatever name the corpus has them. Where there
        are no titles, this takes no memory.

        >>> Corpus({"d1": {"title": "Soup", "text": "Boil."}, "d2": "Fry."}).texts().to_list()
        ['Soup\nBoil.', 'Fry.']
        """
        frame = self._frame if positions is None else self._frame[positions]
        joined = frame["text"].fill_null("")
        if (frame["title"] != "").any():
            lines = pl.col("title", "text").replace("", None)
            both = pl.concat_str(lines, separator="\n", ignore_nulls=True)
            joined = frame.select(both).to_series()
        is_unclear = frame["title"].is_null() | frame["text"].is_null()  # among other fields?
        rows = (is_unclear & frame["extras"].is_not_null()).arg_true()
        if not len(rows):
            return joined
        documents = (Document(row[0], self._fields(row)) for row in frame[rows].iter_rows())
        parts = ((document.title, document.text) for document in documents)
        return joined.scatter(rows, ["\n".join(filter(None, both)) for both in parts])

    @property
    def fields(self) -> list[str]:
        """The names of all fields that some document has, in order of first appearance."""
        return list(dict.fromkeys(name for _, fields in self.rows() for name in fields))

    def field(self, name: str) -> list[object]:
        """Return one field of every document, in order; None where a document lacks it.

        A field of a nested ``metadata`` object counts, too, unless one beside it has its name.
        """
        if name in self.layout.columns and self._frame["extras"].null_count() == len(self):
            values: list[object] = self._frame[name].to_list()
        else:
            values = [_value(fields, name) for _, fields in self.rows()]
        if len(self) and all(value is None for value in values):
            known = self.fields
            if name not in known:
                raise UnknownNameError("field", name, known)
        return values


def _value(fields: Row, name: str) -> object:
    nested = fields.get("metadata")
    if name not in fields and isinstance(nested, dict):
        return nested.get(name)
    return fields.get(name)


def read_corpus(path: PathLike, *, format: str | None = None, doc: str | None = None) -> Corpus:
    """Read a corpus from a file, or from standard input (``-``), into memory.

    Formats: ``jsonl`` (as in BEIR), ``json``, ``tsv``, ``csv``, ``parquet`` and TREC
    documents (``trec``: ``<DOC>``), found from content and name unless ``format`` names one;
    compressed or not. A folder, or a pattern (``docs/*.gz``), is read file by file.
    ``doc`` names the column of the id, where it goes by no known name.
    """
    return Corpus._read(path, format, doc)


def stream_corpus(
    path: PathLike, *, format: str | None = None, doc: str | None = None
) -> Iterator[Document]:
    """Pass over the documents of a file once, holding one (of parquet: one batch) at a time.

    An id that appears twice is not noticed: that would mean to remember all of them. A ``json``
    file, and parquet that is compressed or piped, is held in memory whole.
    """
    layout = CORPUS.keyed(doc)
    for record in read_records(path, layout, format=format):
        yield Document(*identify(record, layout))


def stream_doc_ids(
    path: PathLike, *, format: str | None = None, doc: str | None = None
) -> Iterator[str]:
    """Pass over the document ids of a file once.

    Like `stream_corpus`, but the other fields may go unchecked.
    """
    layout = CORPUS.keyed(doc)
    for record in read_records(path, layout, format=format):
        yield identify(record, layout)[0]
