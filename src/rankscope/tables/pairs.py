"""Pairs: the common shape of qrels and runs, immutable and columnar.

Rows are (query, document, number), kept together by query in the order in which queries first
appeared, and within a query in the order given. A query may have no documents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from rankscope.errors import InputError, UnknownNameError, counted
from rankscope.files import source_name
from rankscope.tables.columns import NO_QUESTIONS, UNREAD, Questions, Reading
from rankscope.tables.detection import format_for
from rankscope.tables.frames import to_pandas
from rankscope.tables.writing import pair_pieces, write_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from rankscope.files import PathLike
    from rankscope.tables.columns import PairLayout
    from rankscope.tables.rows import Rows

    Ints = NDArray[np.int64]


_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def repeated_rows(offsets: Ints, *keys: pl.Series) -> Ints:
    """Return the rows whose keys appeared in the same group before, in row order.

    Rows are compared by hash; the few of which two hashes meet are compared by their text.
    """
    groups = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint64), np.diff(offsets))
    marks = groups * _SPREAD
    for key in keys:
        marks = marks * _SPREAD + key.hash().to_numpy()
    marked = pl.Series(marks)
    if marked.n_unique() == len(marked):
        return np.empty(0, np.int64)
    suspects = marked.is_duplicated().arg_true()
    rows = pl.DataFrame([pl.Series("group", groups), *keys])[suspects]
    return suspects.filter(~rows.to_struct().is_first_distinct()).to_numpy().astype(np.int64)


class PairTable(ABC):
    """Query–document pairs with a number each; `Qrels` and `Run` are the two kinds."""

    __slots__ = ("_columns", "_index", "_offsets", "_query_ids", "_questions", "_reading")

    layout: PairLayout
    _query_ids: pl.Series
    _offsets: NDArray[np.int64]
    _columns: pl.DataFrame  # doc_id, the value, and what else the kind has; rows grouped by query
    _index: dict[str, int] | None
    _questions: Questions
    _reading: Reading

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed; make a new one")

    def __getstate__(self) -> dict[str, Any]:
        slots = (name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ()))
        return {name: getattr(self, name) for name in slots}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)

    @classmethod
    def _trusted(
        cls,
        query_ids: pl.Series,
        offsets: NDArray[np.int64],
        columns: pl.DataFrame,
        **slots: object,
    ) -> Self:
        """Make a table of columns with a row for each pair, and the slots that its kind adds.

        The rows of query i are ``offsets[i]:offsets[i + 1]``. For tables rankscope made itself;
        nothing is checked, grouped, sorted or copied.
        """
        table = object.__new__(cls)
        offsets.flags.writeable = False
        table._set(_query_ids=query_ids, _offsets=offsets, _columns=columns, _index=None)
        table._set(**{"_questions": NO_QUESTIONS, "_reading": UNREAD, **slots})
        return table

    def _fill(self, query_id: pl.Series, columns: pl.DataFrame, rows: Rows) -> None:
        """Set the content, once, from rows in any order; some queries may have none."""
        stretches = query_id.rle().struct  # a query has several if its rows are not together
        ids = stretches.field("value").alias("query_id")
        sizes = stretches.field("len").to_numpy()
        if ids.n_unique() < len(ids):
            unique = ids.unique(maintain_order=True)
            numbers = pl.int_range(len(unique), eager=True)
            codes = ids.replace_strict(unique, numbers, return_dtype=pl.Int64).to_numpy()
            of_rows, ids = np.repeat(codes, sizes), unique
            sizes = np.bincount(of_rows, minlength=len(ids))
            columns = columns[np.argsort(of_rows, kind="stable")]
        if len(rows.queries) > len(ids):  # those with documents are in this order already
            known = dict(zip(ids, sizes.tolist(), strict=True))
            sizes = np.array([known.get(each, 0) for each in rows.queries])
            ids = pl.Series("query_id", rows.queries, dtype=pl.String)
        offsets = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        offsets.flags.writeable = False
        self._set(_query_ids=ids, _offsets=offsets, _columns=columns, _index=None)
        self._set(_questions=rows.questions, _reading=rows.reading)

    def _set(self, **slots: object) -> None:
        for slot, value in slots.items():
            object.__setattr__(self, slot, value)

    @property
    def query_ids(self) -> list[str]:
        """The queries, in order of first appearance."""
        return self._query_ids.to_list()

    @property
    def questions(self) -> Questions:
        """What the queries ask, where the table was read with ids and words."""
        return self._questions

    @property
    def is_numbered(self) -> bool:
        """Whether its queries have no ids, and are known by their place, from 1 on."""
        return self._reading.by_position

    @property
    def reading(self) -> Reading:
        """How the table was read: its shape, and the columns of the roles."""
        return self._reading

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each query's rows begin; one more entry than queries. Read-only."""
        return self._offsets

    @property
    def doc_ids(self) -> pl.Series:
        """The document ids of all rows, grouped by query."""
        return self._columns["doc_id"]

    @property
    def values(self) -> pl.Series:
        """The numbers of all rows, grouped by query."""
        return self._columns[self.layout.value]

    def __len__(self) -> int:
        return self._columns.height

    def __iter__(self) -> Iterator[str]:
        return iter(self.query_ids)

    def _position(self, query_id: object) -> int | None:
        if self._index is None:
            index = {query: place for place, query in enumerate(self.query_ids)}
            self._set(_index=index)
        return (self._index or {}).get(query_id)  # type: ignore[call-overload, no-any-return]

    def __contains__(self, query_id: object) -> bool:
        return self._position(query_id) is not None

    def __getitem__(self, query_id: str) -> dict[str, Any]:
        """Return one query's documents and numbers, in the order given."""
        place = self._position(query_id)
        if place is None:
            raise UnknownNameError("query", query_id, self.query_ids)
        low, high = int(self._offsets[place]), int(self._offsets[place + 1])
        return self._documents(self._columns.slice(low, high - low))

    def _documents(self, part: pl.DataFrame) -> dict[str, Any]:
        """Return the rows of one query as a dict."""
        return dict(zip(part["doc_id"], part[self.layout.value], strict=True))

    def _sorted(self) -> pl.DataFrame:
        value = self.layout.value
        frame = self.to_polars().with_columns(pl.col(value).cast(pl.Float64))
        return frame.sort(*(name for name in frame.columns if name != value))

    def __eq__(self, other: object) -> bool:
        """Equal: the same queries, documents and numbers, in whatever order."""
        if not isinstance(other, PairTable) or other.layout is not self.layout:
            return NotImplemented
        if len(self) != len(other) or set(self.query_ids) != set(other.query_ids):
            return False
        return self._sorted().equals(other._sorted())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = self.to_polars().head(4)
        with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
            preview = str(shown) if len(self) else ""
        rows, queries = f"{len(self):,}", f"{len(self._query_ids):,}"
        return f"{self._title()}: {rows} rows, {queries} queries\n{preview}".rstrip()

    def _title(self) -> str:
        return type(self).__name__

    def to_polars(self) -> pl.DataFrame:
        """Return a new Polars frame: query_id, doc_id, the number, and the kind's other columns."""
        lengths = np.diff(self._offsets)
        codes = np.repeat(np.arange(len(lengths)), lengths)
        query_id = self._query_ids.gather(codes).alias("query_id")
        return self._columns.select(query_id, pl.all())

    def to_pandas(self) -> pd.DataFrame:
        """Return a new pandas frame."""
        return to_pandas(self.to_polars(), needed_for=f"{type(self).__name__}.to_pandas")

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return ``{query_id: {doc_id: number}}``, queries without documents included."""
        docs, values = self.doc_ids.to_list(), self.values.to_list()
        edges = self._offsets.tolist()
        return {
            query_id: dict(zip(docs[low:high], values[low:high], strict=True))
            for query_id, low, high in zip(self.query_ids, edges, edges[1:], strict=False)
        }

    def write(self, path: PathLike, *, format: str | None = None, lossy: bool = False) -> None:
        """Write a file, all at once or not at all; the format is found from the name.

        What the format cannot hold (queries without documents, outside JSON) is an error, or
        dropped if ``lossy``.
        """
        chosen = format_for(path, format, self.layout)
        lost = "" if lossy else self.unwritable(chosen)
        if lost:
            raise InputError(
                f"{source_name(path)}: {chosen} cannot hold {lost}; write json, or drop them "
                "(lossy, --lossy)"
            )
        write_pieces(path, pair_pieces(self, chosen))

    def unwritable(self, format: str) -> str:
        """Say what of this table a format cannot hold; '' if it holds all."""
        empty = int((np.diff(self._offsets) == 0).sum())
        if format != "json" and empty:
            return f"{counted(empty, 'query')} without documents"
        return ""

    @abstractmethod
    def trec_columns(self) -> pl.DataFrame:
        """Return the columns of this table's TREC file, in order."""
