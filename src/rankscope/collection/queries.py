"""Queries: what is asked, each with an id, a text and whatever else is known about it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rankscope.collection.markup import read_topics
from rankscope.files import PathLike
from rankscope.tables.columns import RecordLayout, TextFormat
from rankscope.tables.records import RecordTable, Row

__all__ = ["Queries", "read_queries"]

QUERIES = RecordLayout(
    kind="queries",
    suffixes={".trec": "trec", ".topics": "trec", ".sgml": "trec", ".xml": "trec"},
    headerless={2: ("_id", "text")},
    noun="query",
    id_column="query_id",
    id_names=(
        *("_id", "query_id", "qid", "case_id", "id", "question_id", "search_id", "query_no", "qno"),
        *("topic_id", "number", "num"),
    ),
    text_names=(
        *("text", "query", "question", "query_text", "user_input", "user_query"),
        *("contents", "title"),
    ),
    columns=("text",),
    needs_text=True,
    markup={"trec": TextFormat("<", read_topics)},
    read_only=("parquet", "xlsx", "trec"),
)


class Queries(RecordTable):
    """What is asked: an id, a text, and any other field as metadata.

    Made from a dict (``{"q1": "text"}`` or ``{"q1": {"text": ..., "lang": "de"}}``), from rows
    (mappings, or ``(id, text)`` tuples), or from any frame with the Arrow PyCapsule interface. Ids
    are text exactly as given; whole numbers become their decimal text. A question without an id is
    its own id, as it is in qrels and runs. Iterating gives ids. Two are
    equal if they hold the same ids with the same content, in any order.

    >>> queries = Queries({"q1": "who wrote Faust", "q2": {"text": "wer schrieb", "lang": "de"}})
    >>> queries["q1"], queries.metadata_of("q2")
    ('who wrote Faust', {'lang': 'de'})
    """

    __slots__ = ()

    layout = QUERIES

    def __getitem__(self, query_id: str) -> str:
        return str(self._frame["text"][self._position(query_id)])

    def items(self) -> Iterator[tuple[str, str]]:
        """Iterate over (query_id, text) pairs."""
        return zip(self._frame["id"], self._frame["text"], strict=True)

    @property
    def metadata(self) -> dict[str, Row]:
        """The metadata of every query; see `metadata_of`."""
        return dict(zip(self.ids, map(_flat, self._frame["extras"]), strict=True))

    def metadata_of(self, query_id: str) -> Row:
        """Return every field but id and text; those in a nested ``metadata`` object are merged in.

        A field beside the nested object wins over one of the same name in it.
        """
        return _flat(self._frame["extras"][self._position(query_id)])


def _flat(extras: str | None) -> Row:
    fields: Row = json.loads(extras) if extras else {}
    nested = fields.get("metadata")
    if not isinstance(nested, dict):
        return fields
    del fields["metadata"]
    return {**nested, **fields}


def read_queries(path: PathLike, *, format: str | None = None, query: str | None = None) -> Queries:
    """Read queries from a file, or from standard input (``-``).

    Formats: ``jsonl`` (as in BEIR), ``json``, ``tsv``, ``csv``, ``parquet``, topics as SGML or XML
    (``trec``), found from content and name unless ``format`` names
    one; compressed or not. Of a folder that is a collection, its queries
    are read, and of one that holds case files, all of their cases. ``query`` names the column
    of the id, where it goes by no known name.
    """
    return Queries._read(path, format, query)
