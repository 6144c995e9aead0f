"""Decisions: what a router or a gate decided for each query.

One row for each query; every column but the id may be missing, and so may single values:

- ``route``: where the query was sent; ``best`` (where it should go) and ``allowed`` (where it may
  go) hold one or several routes, ``routes`` the candidates, the likeliest first.
- ``retrieved`` and ``needed``: whether documents were retrieved, and whether they should have been.

Several routes in one cell are a list, or text separated by ``;`` or ``|``. `COLUMNS` lists other
names of the columns.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from rankscope.collection.cells import Reader, read_cells, whole
from rankscope.errors import InputError, shown
from rankscope.tables.cases import NO, YES
from rankscope.tables.columns import ALIASES, RecordLayout, folded, id_text
from rankscope.tables.table_columns import written_list

# --- cells


def _route(value: Any) -> str:
    """Return the name of a route; experts may be numbered."""
    try:
        text = "" if value is None else id_text(whole(value))
        text.encode()
    except ValueError:
        raise ValueError("the name of a route") from None
    return text.strip()


def _routes(value: Any) -> list[str] | None:
    """Return several routes; None for an empty list, which says nothing."""
    if isinstance(value, str):
        text = value.strip()
        listed = written_list(text, bare=True) if re.fullmatch(r"(?s)\[.*\]", text) else text
        value = re.split(r"[;|]", listed) if isinstance(listed, str) else listed
    elif not isinstance(value, list | tuple | set | frozenset):
        value = [value]
    return list(dict.fromkeys(filter(None, map(_route, value)))) or None


def _truth(value: Any) -> bool:
    word = str(value).strip().casefold()
    yes, no = {*YES, "retrieve", "retrieved"}, {*NO, "skip", "skipped"}
    if word not in yes | no:
        raise ValueError("yes or no (true or false, 1 or 0)")
    return word in yes


class Column(NamedTuple):
    """A column: how its cells are read, their type, and its other names."""

    read: Reader
    dtype: Any
    others: str


_ROUTES = pl.List(pl.String)

COLUMNS: Mapping[str, Column] = {
    "route": Column(_route, pl.String, "routed_to selected_route expert selected_expert"),
    "best": Column(
        _routes,
        _ROUTES,
        "best_route optimal_route gold_route correct_route expected_route target_route "
        "best_expert optimal_expert gold_expert correct_expert expected_expert target_expert",
    ),
    "allowed": Column(
        _routes, _ROUTES, "allowed_routes allowed_experts acceptable_routes acceptable_experts"
    ),
    "routes": Column(_routes, _ROUTES, "ranked_routes candidate_routes experts ranked_experts"),
    "retrieved": Column(_truth, pl.Boolean, "gate did_retrieve gate_decision retrieve"),
    "needed": Column(_truth, pl.Boolean, "should_retrieve needs_retrieval retrieval_needed"),
}
"""The columns of decisions; case, blanks, dashes and underscores of names do not matter."""

_BY_NAME = {
    folded(known): name
    for name, column in COLUMNS.items()
    for known in (name, *column.others.split())
}

DECISIONS = RecordLayout(
    kind="decisions",
    noun="decision",
    id_column="query_id",
    id_names=tuple(dict.fromkeys(["query_id", "qid", "_id", "id", *ALIASES["query_id"]])),
    text_names=tuple(_BY_NAME),
)


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """Decisions by query; made by `as_decisions`. The module says what the columns are."""

    _frame: pl.DataFrame

    @property
    def query_ids(self) -> list[str]:
        """The queries, in the order given."""
        return self._frame["query_id"].to_list()

    @property
    def columns(self) -> tuple[str, ...]:
        """What is known of at least one query, by its name in `COLUMNS`."""
        return tuple(name for name in self._frame.columns if name != "query_id")

    def column(self, name: str) -> pl.Series:
        """Return a column; all values are null where nothing is known."""
        if name in self._frame.columns:
            return self._frame[name]
        return pl.Series(name, [None] * len(self), dtype=COLUMNS[name].dtype)

    def only(self, query_ids: Collection[str]) -> Decisions:
        """Return the decisions for some queries; the columns stay, even if nothing is left."""
        return Decisions(self._frame.filter(pl.col("query_id").is_in(list(query_ids))))

    def lacking(self, *names: str) -> str | None:
        """Name the first of some columns that is missing, for a reason; None if all are there."""
        missing = next((name for name in names if name not in self.columns), None)
        if missing is None:
            return None
        others = ", ".join(COLUMNS[missing].others.split()[:3])
        return f"the decisions have no column {missing} (or {others})"

    def to_polars(self) -> pl.DataFrame:
        """Return all columns, one row for each query."""
        return self._frame

    def __len__(self) -> int:
        return self._frame.height


def as_decisions(data: Any) -> Decisions:
    """Take decisions in any form: a file (csv, tsv, JSON, JSON lines or Parquet), a frame, rows.

    >>> decisions = as_decisions([{"query_id": "q1", "expert": "law", "best": "law|tax"}])
    >>> decisions.column("best").to_list(), "needed" in decisions.columns
    ([['law', 'tax']], False)
    """
    if isinstance(data, Decisions):
        return data
    records = list(read_cells(data, DECISIONS, _column_of))
    if not records:
        raise InputError("there is no decision; give at least one query with what was decided")
    held = {
        name: pl.Series(name, [cells.get(name) for _, _, cells in records], dtype=column.dtype)
        for name, column in COLUMNS.items()
    }
    known = [values for values in held.values() if values.null_count() < len(records)]
    if not known:
        names = shown(", ".join(map(str, records[0][0].fields)))
        problem = f"no decision among the columns {names}; name what was decided "
        raise records[0][0].error(problem + ", ".join(COLUMNS))
    query_ids = pl.Series("query_id", [query_id for _, query_id, _ in records], dtype=pl.String)
    return Decisions(pl.DataFrame([query_ids, *known]))


def _column_of(name: str) -> tuple[str, Reader] | None:
    column = _BY_NAME.get(folded(name))
    return None if column is None else (column, COLUMNS[column].read)
