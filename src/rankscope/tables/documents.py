"""One document of a list, as people have it: an id, a pair, a record, a framework's object.

Nothing is imported: LangChain's `Document`, LlamaIndex's nodes and Haystack's `Document` are known
by their attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, shown
from rankscope.tables.columns import find_columns
from rankscope.tables.table_options import saw_columns

if TYPE_CHECKING:
    from rankscope.tables.columns import PairLayout

_TEXTS = ("page_content", "content", "text", "node")
"""What tells a framework's document from other objects, beside its metadata."""
_METADATA = ("metadata", "meta")
_IDS = ("ref_doc_id", "id", "_id", "node_id", "id_", "doc_id", "docid", "docno", "chunk_id")


def is_document(item: object) -> bool:
    """Tell whether this is a document with its metadata, as an object or as a record."""
    if isinstance(item, str | list | tuple | int):
        return False
    if isinstance(item, Mapping):
        names = item.keys()
        return any(name in names for name in ("id", "_id", "doc_id", "node", *_METADATA))
    return any(hasattr(item, name) for name in _TEXTS) and any(
        hasattr(item, name) for name in (*_METADATA, "node")
    )


def listed_document(item: Any, layout: PairLayout, source: str) -> tuple[Any, Any]:
    """Return the id and the value of one of a list; the value is None if it has none."""
    if isinstance(item, list | tuple) and len(item) == 2:
        doc_id, value = item
        return (_id_of(doc_id, layout, source) if is_document(doc_id) else doc_id), value
    if isinstance(item, Mapping):
        roles = find_columns([str(name) for name in item], layout)
        value = item.get(roles.get(layout.value, ""))
        rank = item.get(roles.get("rank", ""))
        if value is None and isinstance(rank, int | float):
            value = -rank
        column = roles.get("doc_id", "")
        is_named = layout.keys.get("doc_id") in (None, column)
        is_plain = is_named and isinstance(item.get(column), str | int)
        return (item[column] if is_plain else _id_of(item, layout, source)), value
    if is_document(item):
        value = _get(item, "score") if layout.value == "score" else None
        return _id_of(item, layout, source), value
    if "doc_id" in layout.required:
        key = shown(layout.keys["doc_id"])
        raise InputError(
            f"{source}: expected documents with a field {key} (doc_key), got the id {shown(item)}"
        )
    return item, None


def _id_of(document: Any, layout: PairLayout, source: str) -> Any:
    """Return the id in the metadata (``doc_id``), or the document's own, or what the user named.

    A LlamaIndex node that was cut from a document has that document's id.
    """
    key = layout.keys.get("doc_id")
    node = _get(document, "node")
    inner = document if node is None else node
    fields: dict[Any, Any] = {}
    for name in _METADATA:
        metadata = _get(inner, name)
        fields.update(metadata if isinstance(metadata, Mapping) else {})
    named = None if key is None else fields.get(key, _get(inner, key))
    if key is not None:
        names = [*fields, *(inner if isinstance(inner, Mapping) else ())]
        saw_columns([str(name) for name in names], {} if named is None else {"doc_id": key})
    if named is not None:
        return named
    if "doc_id" not in layout.required:
        if fields.get("doc_id") is not None:
            return fields["doc_id"]
        framework_id = _first(inner, _IDS)
        framework_id = fields.get("id") if framework_id is None else framework_id
        if framework_id is not None:
            return framework_id
    wanted = "id" if key is None else shown(key)
    is_record = isinstance(inner, Mapping) and not fields
    known = ", ".join(shown(name, 30) for name in list(inner if is_record else fields)[:8])
    where = "" if is_record else ", neither of its own nor in its metadata, which"
    raise InputError(
        f"{source}: a document has no {wanted}{where or '; it'} holds {known or 'nothing'}; name "
        "the field that is its id (doc_key; id_field of a system)"
    )


def _first(item: Any, names: tuple[str, ...]) -> Any:
    return next((_get(item, name) for name in names if _get(item, name) is not None), None)


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
