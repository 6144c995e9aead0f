"""The documents of one query, as people have them.

Ids, ``{id: number}``, (id, number) pairs, records, documents of LangChain, LlamaIndex and Haystack
(known by their attributes; nothing is imported), and what an engine answers to one query: Chroma,
Elasticsearch and OpenSearch, Qdrant, Pinecone, OpenAI. Each becomes a list of (id, number or None).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import Any, Literal

from rankscope.errors import InputError, counted, shown
from rankscope.tables.columns import ALIASES, find_name, folded

Kind = Literal["qrels", "run"]
Listed = list[tuple[Any, Any]]

_TEXTS = ("page_content", "content", "text", "node", "payload")
_METADATA = ("metadata", "meta", "payload", "_source", "attributes")
_IDS = ("ref_doc_id", "id", "_id", "node_id", "id_", "doc_id", "docno", "docid", "chunk_id")
_MORE_IDS = ("document_id", "corpus_id", "passage_id", "file_id", "pid", "uuid", "key")
_SCORES = ("score", "_score", "similarity", "relevance_score", "@search.score")
_TERMS = ("hpo_id", "term_id", "mondo_id", "concept_id")
_TERM = re.compile(r"[A-Za-z][\w.-]*:\d+|[A-Z]{2,}_\d{4,}")
_PARTS = ("ids", "metadatas", "distances")


def documents_of(value: Any, kind: Kind, field: str | None, where: str) -> Listed:
    """Return the documents of one query with their numbers, None where they have none.

    ``field`` is where records and documents have their id, if the caller named it. A set is refused
    in a run, as it has no order.
    """
    hits = hits_in(value)
    if hits is not None:
        value = hits
    elif is_chroma(value):
        return chroma_documents(value, field, where)
    if isinstance(value, Mapping):
        lacking = next((doc_id for doc_id, number in value.items() if number is None), None)
        if lacking is not None:
            raise InputError(f"{where}: the number of {shown(lacking)} is missing; give it one")
        return list(value.items())
    if isinstance(value, str | int) or _is_scalar_array(value):
        return [(value, None)]
    if not isinstance(value, Iterable) or isinstance(value, bytes):
        raise InputError(
            f"{where} has {shown(type(value).__name__)}; expected {{doc_id: number}} or a list of "
            "ids"
        )
    if isinstance(value, Set) and kind == "run":
        raise InputError(
            f"{where} has a set, which has no order; give a list, best document first, or "
            "{doc_id: score}"
        )
    if hasattr(value, "tolist"):
        value = value.tolist()
    items = [
        (item, None) if type(item) is str else one_document(item, field, where, kind)
        for item in value
    ]
    if kind == "run":
        unscored = sum(number is None for _, number in items)
        if 0 < unscored < len(items):
            raise InputError(
                f"{where} has {unscored} documents without a score among {len(items)}; give a "
                "score to all or none"
            )
    return items


def _is_scalar_array(value: object) -> bool:
    return hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0


def is_document(item: object) -> bool:
    """Tell whether this is a document with its metadata, as an object or as a record."""
    if isinstance(item, str | list | tuple | int | Set):
        return False
    if isinstance(item, Mapping):
        names = item.keys()
        return any(name in names for name in ("id", "_id", "doc_id", "node", "file_id", *_METADATA))
    has_text = any(hasattr(item, name) for name in _TEXTS)
    return has_text and any(hasattr(item, name) for name in (*_METADATA, "node"))


def one_document(item: Any, field: str | None, where: str, kind: Kind = "run") -> tuple[Any, Any]:
    """Return the id and the number of one of a list; the number is None if it has none."""
    if isinstance(item, list | tuple) and len(item) == 2:
        doc_id, value = item
        return (_id_of(doc_id, field, where) if is_document(doc_id) else doc_id), value
    if isinstance(item, Mapping):
        names = [str(name) for name in item]
        grades = find_name(names, ALIASES["grade"]) if kind == "qrels" else None
        scored = grades or find_name(names, _SCORES if kind == "run" else ())
        value = None if scored is None else item[scored]
        rank = find_name(names, ALIASES["rank"])
        if value is None and kind == "run" and rank is not None and _is_number(item[rank]):
            value = -item[rank]
        return _id_of(item, field, where), value
    if is_document(item):
        return _id_of(item, field, where), getattr(item, "score", None) if kind == "run" else None
    return item, None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _id_of(document: Any, field: str | None, where: str) -> Any:
    """Return the id that the caller named, the one in the metadata (``doc_id``), or its own.

    A LlamaIndex node that was cut from a document has that document's id.
    """
    node = _get(document, "node")
    inner = document if node is None else node
    fields: dict[Any, Any] = {}
    for name in _METADATA:
        metadata = _get(inner, name)
        fields.update(metadata if isinstance(metadata, Mapping) else {})
    if field is not None:
        named = fields.get(field, _get(inner, field))
        if named is not None:
            return named
    else:
        if fields.get("doc_id") is not None:
            return fields["doc_id"]
        mine = (
            _first(inner, (*_IDS, *_MORE_IDS))
            if isinstance(inner, Mapping)
            else _first(inner, _IDS)
        )
        mine = fields.get("id") if mine is None else mine
        if mine is None and isinstance(inner, Mapping):
            known = find_name([str(name) for name in inner], ALIASES["doc_id"])
            mine = None if known is None else inner[known]
        if mine is not None and not isinstance(mine, list | dict):
            return mine
    wanted = "id" if field is None else shown(field)
    is_record = isinstance(inner, Mapping) and not fields
    known_names = ", ".join(shown(name, 30) for name in list(inner if is_record else fields)[:8])
    place = "; it" if is_record else ", neither of its own nor in its metadata, which"
    raise InputError(
        f"{where}: a document has no {wanted}{place} holds {known_names or 'nothing'}; name the "
        "field that is its id (doc=)"
    )


def _first(item: Any, names: tuple[str, ...]) -> Any:
    return next((_get(item, name) for name in names if _get(item, name) is not None), None)


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


# --- what engines answer


def hits_in(answer: Any) -> Sequence[Any] | None:
    """Return the entries of an engine's answer to one query, best first; None if it is none.

    Elasticsearch and OpenSearch (``hits.hits``), Qdrant (``points``), Pinecone (``matches``),
    OpenAI (``data`` of files), as JSON or as the objects of their clients.
    """
    if isinstance(answer, list | tuple | str | int | Set):
        return None
    hits = _get(answer, "hits")
    if isinstance(hits, Mapping) and isinstance(hits.get("hits"), list):
        return list(hits["hits"])
    if isinstance(answer, Mapping) and isinstance(answer.get("result"), Mapping):
        answer = answer["result"]
    for name, beside in _ENTRIES:
        held = _get(answer, name)
        if isinstance(held, list | tuple) and all(map(_is_entry, held)):
            names = set(answer) if isinstance(answer, Mapping) else set(dir(answer))
            if not names - {name} or names & beside or not isinstance(answer, Mapping):
                return held
    return None


_ENTRIES = (
    ("points", frozenset({"status", "time", "next_page_offset"})),
    ("matches", frozenset({"namespace", "usage"})),
    ("data", frozenset({"object", "search_query", "has_more"})),
)


def _is_entry(item: object) -> bool:
    return is_document(item) or (hasattr(item, "id") and hasattr(item, "score"))


def is_answer(data: object) -> bool:
    """Tell whether this is what an engine answers."""
    return is_chroma(data) or (
        (not isinstance(data, Iterable) or isinstance(data, Mapping))
        and (hits_in(data) is not None)
    )


def is_chroma(data: object) -> bool:
    """Tell whether this is what a Chroma collection answers, to one query or to several."""
    if not isinstance(data, Mapping):
        return False
    if "metadatas" in data:
        return True
    return "ids" in data and any(name in data for name in ("distances", "documents", "included"))


def chroma_queries(answer: Mapping[str, Any], where: str) -> list[dict[str, list[Any]]]:
    """Return a Chroma answer as one for each query: lists of entries, equally long."""
    given = {part: answer[part] for part in _PARTS if answer.get(part) is not None}
    if all(isinstance(lists, list) for lists in given.values()) and not any(
        isinstance(item, list) for lists in given.values() for item in lists
    ):
        given = {part: [lists] for part, lists in given.items()}  # one query
    sizes = {part: _sizes(lists, where, part) for part, lists in given.items()}
    if not sizes.keys() & {"ids", "metadatas"}:
        raise InputError(f"{where}: an answer of Chroma without ids and metadatas; ask for ids")
    first, counts = next(iter(sizes.items()))
    for part, others in sizes.items():
        if others != counts:
            raise InputError(
                f"{where}: {first} has lists of {counts} entries and {part} of {others}; give one "
                "of each for every entry of every query"
            )
    return [{part: lists[at] for part, lists in given.items()} for at in range(len(counts))]


def _sizes(lists: object, where: str, part: str) -> list[int]:
    """Return how many entries a part of an answer has for each query."""
    by_query: list[Any] = lists if isinstance(lists, list) else [lists]
    for entries in by_query:
        if not isinstance(entries, list):
            raise InputError(
                f"{where}: {part} holds {shown(entries)}; expected a list of entries for each query"
            )
    return [len(entries) for entries in by_query]


def chroma_documents(answer: Mapping[str, Any], field: str | None, where: str) -> Listed:
    """Return what Chroma found for one query: the closest first.

    Entries of an index are often several for one term, such as its synonyms: where the metadata
    name the term, it is what was retrieved, and counts once, at its best rank.
    """
    queries = chroma_queries(answer, where)
    if len(queries) != 1:
        raise InputError(
            f"{where}: has {counted(len(queries), 'list')} for one query; give every query its own"
        )
    (entries,) = queries
    name = chroma_field(queries, field, where)
    if name is not None and name in _names(entries.get("metadatas", [])):
        ids = [item[name] for item in entries["metadatas"]]
    else:
        name, ids = None, entries.get("ids", [])
    distances = entries.get("distances")
    numbers = [None] * len(ids) if distances is None else [_near(d, where) for d in distances]
    nearest: dict[Any, Any] = {}
    for doc_id, number in zip(ids, numbers, strict=True):
        if not isinstance(doc_id, str | int):
            raise InputError(f"{where}: an id is {shown(doc_id)}; expected text or a whole number")
        if name is None and doc_id in nearest:
            return list(zip(ids, numbers, strict=True))  # twice: whoever takes it says so
        known = nearest.setdefault(doc_id, number)
        nearest[doc_id] = number if known is not None and number > known else known
    return list(nearest.items())


def _near(distance: Any, where: str) -> float:
    number = float(distance) if isinstance(distance, int | float) else float("nan")
    if number - number != 0 or isinstance(distance, bool):
        raise InputError(f"{where}: a distance is {shown(distance)}; expected a finite number")
    return -number


def _names(metadata: Iterable[Mapping[str, Any] | None]) -> dict[str, None]:
    return dict.fromkeys(str(name) for item in islice(metadata, 100) for name in item or {})


def chroma_field(answers: Iterable[Mapping[str, Any]], field: str | None, where: str) -> str | None:
    """Return the field of the metadata that names what was retrieved; None if the ids do.

    It is the same for all answers: the one that the caller named, one for terms (``hpo_id``, or ids
    such as HP:0001250), or, where there are no ids, the only one that is called an id.
    """
    entries = [query for answer in answers for query in chroma_queries(answer, where)]
    records = [item or {} for query in entries for item in query.get("metadatas", [])]
    has_ids = all("ids" in query for query in entries)
    for item in records:
        if not isinstance(item, Mapping):
            raise InputError(
                f"{where}: metadatas hold {shown(item)}; expected an object for each entry"
            )
    if not records:
        return None
    names = _names(records)
    shared = [n for n in names if all(item.get(n) is not None for item in records)]
    named = [n for n in shared if folded(n).endswith("id") or folded(n) in ("docno", "asin")]
    if field is not None and (field in names or not has_ids):
        chosen, wanted = (field if field in shared else None), field
    else:
        terms = [n for n in named if all(_TERM.fullmatch(str(item[n])) for item in records)]
        chosen = find_name(shared, _TERMS) or next(iter(terms), None)
        wanted = find_name(names, _TERMS) or ""  # or an entry of the index is taken for a term
        if chosen is None and not wanted and not has_ids:
            only = named[0] if len(named) == 1 else None
            chosen = find_name(named, ALIASES["doc_id"]) or only
        elif chosen is None and not wanted:
            return None
    if chosen is not None:
        return chosen
    lacking = next((item for item in records if not wanted or item.get(wanted) is None), {})
    holds = ", ".join(map(shown, list(lacking)[:8])) or "nothing"
    missing = f"no {shown(wanted)}" if wanted else "no id that all entries have"
    raise InputError(
        f"{where}: an entry has {missing} in its metadata, which hold {holds}; name the field that "
        "is the id of a document (doc=), or give ids"
    )
