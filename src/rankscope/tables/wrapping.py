"""Objects around a table: ``{"version": 2, "cases": [record, …]}``, and a collection in one object.

Files and APIs seldom give a bare list. Where an object holds exactly one list of records, that list
is the table; where it holds queries, relevant documents and a corpus, each kind has its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankscope.tables.columns import PairLayout, find_columns, find_list

if TYPE_CHECKING:
    from rankscope.tables.columns import Layout

_PARTS: Mapping[str, tuple[str, ...]] = {
    "queries": ("queries", "questions"),
    "qrels": ("relevant_docs", "qrels"),
    "corpus": ("corpus",),
}
"""What a collection in one object calls its parts."""


def unwrapped(data: Any, layout: Layout) -> Any:
    """Return the table in an object, or the object if it is the table."""
    if not isinstance(data, Mapping):
        return data
    part = _part(data, layout)
    if part is not None:
        return part
    lists = [value for value in data.values() if isinstance(value, list)]
    if len(lists) != 1 or not lists[0]:
        return data
    records = lists[0]
    if not all(isinstance(record, Mapping) for record in records):
        return data
    return records if any(_is_row(record, layout) for record in records) else data


def _part(data: Mapping[Any, Any], layout: Layout) -> Any:
    parts = {
        kind: next((data[name] for name in names if isinstance(data.get(name), Mapping)), None)
        for kind, names in _PARTS.items()
    }
    is_collection = parts["queries"] is not None and parts["qrels"] is not None
    return parts.get(layout.kind) if is_collection else None


def _is_row(record: Mapping[Any, Any], layout: Layout) -> bool:
    """Tell a row of the table from a document in the list of a query that has this key."""
    if not isinstance(layout, PairLayout):
        return True
    names, layout = [str(name) for name in record], layout.lenient
    return (
        "query_id" in find_columns(names, layout)
        or find_list(names, layout, lambda name: isinstance(record.get(name), list)) is not None
    )
