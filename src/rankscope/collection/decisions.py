"""Decisions: what a router or a gate decided for each query.

One row for each query; every column but the id may be missing, and so may single values:

- ``route``: where the query was sent; ``best`` (where it should go) and ``allowed`` (where it may
  go) hold one or several routes, ``routes`` the candidates, the likeliest first.
- ``retrieved`` and ``needed``: whether documents were retrieved, and whether they should have been.
- ``confidence`` of the route and ``gate_confidence`` of the gate, from 0 to 1: how likely the
  decision is to be right, by what made it.

Several routes in one cell are a list, or text separated by ``;`` or ``|``. Columns may have other
names (`ALIASES`; case, blanks, dashes and underscores do not matter):

- ``route``: routed_to, selected_route, chosen_route, predicted_route, expert, selected_expert,
  chosen_expert, predicted_expert
- ``best``: best_route, optimal_route, gold_route, correct_route, expected_route, target_route,
  true_route, best_expert, optimal_expert, gold_expert, correct_expert, expected_expert,
  target_expert, true_expert, expected, gold, target, truth, correct, label
- ``allowed``: allowed_routes, allowed_experts, acceptable, acceptable_routes, acceptable_experts
- ``routes``: ranked_routes, candidate_routes, experts, ranked_experts
- ``retrieved``: gate, did_retrieve, gate_decision, retrieve
- ``needed``: should_retrieve, needs_retrieval, retrieval_needed
- ``confidence``: route_confidence, routing_confidence, router_confidence
- ``gate_confidence``: gating_confidence

A column ``correct``, ``truth`` or the like that says yes or no does not name a route, and is left
alone.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import polars as pl

from rankscope.errors import InputError, shown
from rankscope.files import PathLike, is_path
from rankscope.tables.cells import written_list
from rankscope.tables.columns import ALIASES as TABLE_ALIASES
from rankscope.tables.columns import RecordLayout, find_name, folded
from rankscope.tables.ids import id_text
from rankscope.tables.reading import read_records
from rankscope.tables.record_rows import Placed, identify, rows_of
from rankscope.tables.unanswered import NO, YES

ALIASES: Mapping[str, tuple[str, ...]] = {
    "route": (
        *("route", "routed_to", "selected_route", "chosen_route", "predicted_route"),
        *("expert", "selected_expert", "chosen_expert", "predicted_expert"),
    ),
    "best": (
        *("best", "best_route", "optimal_route", "gold_route", "correct_route", "expected_route"),
        *("target_route", "true_route"),
        *("best_expert", "optimal_expert", "gold_expert", "correct_expert", "expected_expert"),
        *("target_expert", "true_expert"),
        *("expected", "gold", "target", "truth", "correct", "label"),
    ),
    "allowed": (
        *("allowed", "allowed_routes", "allowed_experts"),
        *("acceptable", "acceptable_routes", "acceptable_experts"),
    ),
    "routes": ("routes", "ranked_routes", "candidate_routes", "experts", "ranked_experts"),
    "retrieved": ("retrieved", "gate", "did_retrieve", "gate_decision", "retrieve"),
    "needed": ("needed", "should_retrieve", "needs_retrieval", "retrieval_needed"),
    "confidence": ("confidence", "route_confidence", "routing_confidence", "router_confidence"),
    "gate_confidence": ("gate_confidence", "gating_confidence"),
}
"""For each column its names, the most telling first; case, blanks, dashes and underscores do not
matter."""

GENERAL = ("expected", "gold", "target", "truth", "correct", "label")
"""Names of ``best`` that may also be those of something else: yes or no is no route then."""

DECISIONS = RecordLayout(
    kind="decisions",
    formats=("csv", "tsv", "jsonl", "json", "parquet"),
    suffixes={},
    headerless={},
    noun="decision",
    id_column="query_id",
    id_names=tuple(dict.fromkeys(["query_id", "qid", "_id", "id", *TABLE_ALIASES["query_id"]])),
    text_names=tuple(name for names in ALIASES.values() for name in names),
    columns=(),
)

_TYPES: Mapping[str, Any] = {
    "route": pl.String,
    "best": pl.List(pl.String),
    "allowed": pl.List(pl.String),
    "routes": pl.List(pl.String),
    "retrieved": pl.Boolean,
    "needed": pl.Boolean,
    "confidence": pl.Float64,
    "gate_confidence": pl.Float64,
}


class Decisions:
    """Decisions by query, immutable; the module says what the columns are.

    Made of rows (mappings), of ``{query_id: {"route": …}}``, or of any frame with the Arrow
    PyCapsule interface; `read_decisions` reads files.

    >>> decisions = Decisions([{"query_id": "q1", "expert": "law", "best": "law|tax"}])
    >>> decisions.column("best").to_list(), "needed" in decisions.columns
    ([['law', 'tax']], False)
    """

    __slots__ = ("_frame",)

    def __init__(self, data: object) -> None:
        if isinstance(data, Decisions):
            self._frame: pl.DataFrame = data._frame
        else:
            self._frame = _collected(rows_of(data, DECISIONS.keyed()))

    @property
    def query_ids(self) -> list[str]:
        """The queries, in the order given."""
        return self._frame["query_id"].to_list()

    @property
    def columns(self) -> tuple[str, ...]:
        """What is known of at least one query, by the names that `ALIASES` begins with."""
        return tuple(name for name in self._frame.columns if name != "query_id")

    def column(self, name: str) -> pl.Series:
        """Return a column; all values are null where nothing is known."""
        if name in self._frame.columns:
            return self._frame[name]
        return pl.Series(name, [None] * len(self), dtype=_TYPES[name])

    def only(self, query_ids: Collection[str]) -> Decisions:
        """Return the decisions for some queries; the columns stay, even if nothing is left."""
        if isinstance(query_ids, str):
            raise TypeError("query_ids is text; give a list of ids")
        part = Decisions.__new__(Decisions)
        part._frame = self._frame.filter(pl.col("query_id").is_in(list(query_ids)))
        return part

    def lacking(self, *names: str) -> str | None:
        """Name the first of some columns that is missing, for a reason; None if all are there."""
        missing = next((name for name in names if name not in self.columns), None)
        if missing is None:
            return None
        others = ", ".join(ALIASES[missing][1:4])
        return f"the decisions have no column {missing} (or {others})"

    def to_polars(self) -> pl.DataFrame:
        """Return all columns, one row for each query."""
        return self._frame

    def fingerprint(self) -> str:
        """Return a hash of the content, whatever the order of rows."""
        lines = sorted(
            repr([value, *rest])
            for value, *rest in self._frame.select("query_id", *sorted(self.columns)).iter_rows()
        )
        content = "\n".join([*sorted(self.columns), *lines])
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def __len__(self) -> int:
        return self._frame.height

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decisions):
            return NotImplemented
        return self.fingerprint() == other.fingerprint()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Decisions({len(self)} queries: {', '.join(self.columns)})"


def read_decisions(path: PathLike, *, format: str | None = None) -> Decisions:
    """Read decisions from a file: csv, tsv, JSON, JSON lines or Parquet, compressed or not."""
    decisions = Decisions.__new__(Decisions)
    records = read_records(path, DECISIONS.keyed(), format=format)
    decisions._frame = _collected(records)
    return decisions


def as_decisions(data: Any) -> Decisions:
    """Take decisions in any form: a file, a frame, records, or a mapping by query."""
    return read_decisions(data) if is_path(data) else Decisions(data)


def _collected(records: Iterable[Placed]) -> pl.DataFrame:
    """Return rows as columns."""
    layout = DECISIONS.keyed()
    first: dict[str, int] = {}
    values: dict[str, list[Any]] = {name: [] for name in ALIASES}
    by_names: dict[tuple[str, ...], dict[str, str]] = {}
    for placed in records:
        origin, position, _ = placed
        query_id, fields = identify(placed, layout)
        if query_id in first:
            raise origin.error(
                f"query {shown(query_id)} was given before, at {origin.unit} {first[query_id]}; "
                "keep one decision for each query",
                position,
            )
        first[query_id] = position
        names = tuple(map(str, fields))
        if names not in by_names:
            by_names[names] = _columns_of(names)
        named = by_names[names]
        for column, cells in values.items():
            name = named.get(column)
            try:
                cells.append(None if name is None else _value(column, name, fields[name]))
            except ValueError as error:
                problem = f"query {shown(query_id)}: {shown(name, 30)} is {error}"
                raise origin.error(problem, position) from None
    if not first:
        raise InputError("there is no decision; give at least one query with what was decided")
    known = {name: cells for name, cells in values.items() if any(c is not None for c in cells)}
    if not known:
        given = ", ".join(dict.fromkeys(name for names in by_names for name in names))
        raise placed[0].error(
            f"no decision among the columns {shown(given) if given else '(none)'}; name what was "
            f"decided {', '.join(ALIASES)}"
        )
    columns = [pl.Series(name, cells, dtype=_TYPES[name]) for name, cells in known.items()]
    return pl.DataFrame([pl.Series("query_id", list(first), dtype=pl.String), *columns])


def _columns_of(names: tuple[str, ...]) -> dict[str, str]:
    """Map each column that is there to what it is called."""
    found_names = {column: find_name(names, aliases) for column, aliases in ALIASES.items()}
    return {column: name for column, name in found_names.items() if name is not None}


# --- single values -------------------------------------------------------------------------------


def _value(column: str, name: str, value: Any) -> Any:
    """Return what a cell says, None if it is empty; a ValueError says what is wrong with it."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if column == "best" and folded(name) in GENERAL and _is_yes_or_no(value):
        return None
    return _READERS[column](value)


def _is_yes_or_no(value: Any) -> bool:
    """Tell whether a value says yes or no; a number may be that of an expert."""
    word = str(value).strip().casefold()
    return (word in YES or word in NO) and not word.isdecimal()


def _route(value: Any) -> str:
    """Return the name of a route; experts may be numbered."""
    if isinstance(value, float) and value.is_integer():  # as frames hold numbers with gaps
        value = int(value)
    try:
        name = id_text(value).strip()
        name.encode()
    except UnicodeError:
        raise ValueError("not valid text; expected the name of a route") from None
    except ValueError:
        raise _unreadable(value, "the name of a route") from None
    return name


def _routes(value: Any) -> list[str] | None:
    """Return several routes; None for an empty list, which says nothing."""
    if isinstance(value, str):
        text = value.strip()
        listed = written_list(text, bare=True) if re.fullmatch(r"(?s)\[.*\]", text) else text
        value = re.split(r"[;|]", listed) if isinstance(listed, str) else listed
        value = [item for item in value if not isinstance(item, str) or item.strip()]
    elif not isinstance(value, list | tuple | set | frozenset):
        value = [value]
    names = [_route(item) for item in value]
    return list(dict.fromkeys(filter(None, names))) or None


_RETRIEVED = {"retrieve": True, "retrieved": True, "skip": False, "skipped": False}


def _truth(value: Any) -> bool:
    word = str(value).strip().casefold()
    if word in _RETRIEVED:
        return _RETRIEVED[word]
    if word in YES or word in NO:
        return word in YES
    raise _unreadable(value, "yes or no (true or false, 1 or 0)")


def _confidence(value: Any) -> float:
    expected = "a number from 0 to 1"
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise _unreadable(value, expected)
    if number > 1:
        hint = f"; write {number / 100:g} for {number:g} %" if 2 <= number <= 100 else ""
        raise ValueError(f"{shown(value, 40)}; expected {expected}{hint}")
    return number


def _unreadable(value: Any, expected: str) -> ValueError:
    remedy = "leave it empty where it is not known"
    return ValueError(f"{shown(value, 40)}; expected {expected}; {remedy}")


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "route": _route,
    "best": _routes,
    "allowed": _routes,
    "routes": _routes,
    "retrieved": _truth,
    "needed": _truth,
    "confidence": _confidence,
    "gate_confidence": _confidence,
}
