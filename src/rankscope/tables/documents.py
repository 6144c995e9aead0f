"""The documents of one query, as people have them, and what engines answer.

Ids, ``{id: number}``, (id, number) pairs, records, documents of LangChain, LlamaIndex and Haystack
(known by their attributes; nothing is imported), and the answers of Chroma, Elasticsearch and
OpenSearch, Qdrant, Pinecone and OpenAI. Each becomes a list of (id, number or None).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from math import isfinite
from typing import Any, Literal

from rankscope.errors import InputError, counted, shown
from rankscope.tables.columns import ALIASES, find_name, folded

Documents = list[tuple[Any, Any]]

METADATA = ("metadata", "meta", "payload", "_source", "attributes")
"""Where documents of frameworks and entries of engines have what they know besides their id."""
_TEXTS = ("page_content", "content", "text", "node", "payload")
_IDS = ("ref_doc_id", "id", "_id", "node_id", "id_", "doc_id", "docno", "docid", "chunk_id")
_IDS_OF_RECORDS = (*ALIASES["doc_id"], "file_id", "uuid", "key")
_SCORES = ("score", "_score", "similarity", "relevance_score", "@search.score")
_TERMS = ("hpo_id", "mondo_id", "onto_id", "ontology_id", "term_id", "concept_id")


def is_list(value: object) -> bool:
    """Tell a list, a set, a dict, an array or another series from one value."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def is_missing(value: object) -> bool:
    """Tell no value, or an empty cell."""
    return value is None or (isinstance(value, str) and not value)


def documents_of(
    value: Any, kind: Literal["qrels", "run"], field: str | None, where: str
) -> Documents:
    """Return the documents of one query with their numbers, None where they have none.

    ``field`` is where records and documents have their id, if the caller named it. A set is refused
    in a run, as it has no order.
    """
    answers = answers_in(value, where)
    if answers is not None and len(answers) != 1:
        raise InputError(
            f"{where}: has {counted(len(answers), 'list')} for one query; give every query its own"
        )
    value = value if answers is None else answers[0]
    if isinstance(value, Mapping):
        lacking = next((doc_id for doc_id, number in value.items() if number is None), None)
        if lacking is not None:
            raise InputError(f"{where}: the number of {shown(lacking)} is missing; give it one")
        return list(value.items())
    if isinstance(value, str | int) or getattr(value, "ndim", 1) == 0:
        return [(value, None)]
    if not is_list(value):
        raise InputError(
            f"{where} has {shown(type(value).__name__)}; expected {{doc_id: number}} or a list of "
            "ids"
        )
    if isinstance(value, Set) and kind == "run":
        raise InputError(
            f"{where} has a set, which has no order; give a list, best document first, or "
            "{doc_id: score}"
        )
    items = list(value.tolist() if hasattr(value, "tolist") else value)
    if isinstance(value, Entries) and field is None and items:
        ids = [] if value.have_ids else [name for name in items[0] if folded(name).endswith("id")]
        field = find_name(items[0], _TERMS) or (ids[0] if len(ids) == 1 else None)
    documents = [
        (item, None) if type(item) is str else one_document(item, field, where, kind)
        for item in items
    ]
    if isinstance(value, Entries) and not (value.have_ids and field is None):
        return _closest(documents)
    unscored = sum(number is None for _, number in documents)
    if kind == "run" and 0 < unscored < len(documents):
        raise InputError(
            f"{where} has {unscored} documents without a score among {len(documents)}; give a "
            "score to all or none"
        )
    return documents


# --- one document


def is_document(item: object) -> bool:
    """Tell whether this is a document with its metadata, as an object or as a record."""
    if isinstance(item, str | list | tuple | int | Set):
        return False
    if isinstance(item, Mapping):
        return not item.keys().isdisjoint(("id", "_id", "doc_id", "node", "file_id", *METADATA))
    has_text = any(hasattr(item, name) for name in _TEXTS)
    return has_text and any(hasattr(item, name) for name in (*METADATA, "node"))


def one_document(
    item: Any, field: str | None, where: str, kind: Literal["qrels", "run"] = "run"
) -> tuple[Any, Any]:
    """Return the id and the number of one of a list; the number is None if it has none."""
    if isinstance(item, list | tuple) and len(item) == 2:
        doc_id, number = item
        return (_id_of(doc_id, field, where) if is_document(doc_id) else doc_id), number
    if isinstance(item, Mapping):
        scores = find_name(item, ALIASES["grade"] if kind == "qrels" else _SCORES)
        rank = find_name(item, ALIASES["rank"]) if kind == "run" else None
        number = None if scores is None else item[scores]
        if number is None and rank is not None and type(item[rank]) in (int, float):
            number = -item[rank]
        return _id_of(item, field, where), number
    if is_document(item):
        return _id_of(item, field, where), getattr(item, "score", None) if kind == "run" else None
    return item, None


def _id_of(document: Any, field: str | None, where: str) -> Any:
    """Return the id that the caller named, the one in the metadata (``doc_id``), or its own.

    A LlamaIndex node that was cut from a document has that document's id.
    """
    node = value_of(document, "node")
    inner = document if node is None else node
    metadata: dict[Any, Any] = {}
    for name in METADATA:
        held = value_of(inner, name)
        metadata.update(held if isinstance(held, Mapping) else {})
    if field is not None:
        ids = [metadata.get(field), value_of(inner, field)]
    else:
        of_its_own = [value_of(inner, name) for name in _IDS]
        ids = [metadata.get("doc_id"), *of_its_own, metadata.get("id")]
        if isinstance(inner, Mapping):
            ids.append(inner.get(find_name(inner, _IDS_OF_RECORDS)))
    doc_id = next((each for each in ids if each is not None), None)
    if doc_id is not None:
        return doc_id
    is_record = isinstance(inner, Mapping) and not metadata
    names = ", ".join(shown(name, 30) for name in list(inner if is_record else metadata)[:8])
    place = "; it" if is_record else ", neither of its own nor in its metadata, which"
    raise InputError(
        f"{where}: a document has no {'id' if field is None else shown(field)}{place} holds "
        f"{names or 'nothing'}; name the field that is its id (doc=)"
    )


def value_of(item: Any, name: str) -> Any:
    """Return a field of a record, or an attribute of an object; None if there is none."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


# --- what engines answer


def is_answer(data: object) -> bool:
    """Tell whether this is what an engine answers."""
    return is_chroma(data) or (
        (not isinstance(data, Iterable) or isinstance(data, Mapping)) and _hits_in(data) is not None
    )


def answers_in(data: Any, where: str) -> list[Any] | None:
    """Return what an engine found for each query it was asked; None if this is no answer of one."""
    if is_chroma(data):
        return _entries(data, where)
    hits = _hits_in(data)
    return None if hits is None else [hits]


def _hits_in(answer: Any) -> Sequence[Any] | None:
    """Return the entries of an engine's answer to one query, best first; None if it is none.

    Elasticsearch and OpenSearch (``hits.hits``), Qdrant (``points``), Pinecone (``matches``),
    OpenAI (``data`` of files), as JSON or as the objects of their clients.
    """
    if isinstance(answer, list | tuple | str | int | Set):
        return None
    hits = value_of(answer, "hits")
    if isinstance(hits, Mapping) and isinstance(hits.get("hits"), list):
        return list(hits["hits"])
    if isinstance(answer, Mapping) and isinstance(answer.get("result"), Mapping):
        answer = answer["result"]
    for name, beside in (
        ("points", {"status", "time", "next_page_offset"}),
        ("matches", {"namespace", "usage"}),
        ("data", {"object", "search_query", "has_more"}),
    ):
        held = value_of(answer, name)
        if isinstance(held, list | tuple) and all(
            is_document(item) or (hasattr(item, "id") and hasattr(item, "score")) for item in held
        ):
            names = answer.keys() if isinstance(answer, Mapping) else beside
            if names == {name} or not beside.isdisjoint(names):
                return held
    return None


# --- Chroma


class Entries(list[dict[str, Any]]):
    """What Chroma found for one query: an index may have several entries for one document."""

    have_ids = False


def is_chroma(data: object) -> bool:
    """Tell whether this is what a Chroma collection answers, to one query or to several."""
    if not isinstance(data, Mapping):
        return False
    beside = ("distances", "documents", "included")
    return "metadatas" in data or ("ids" in data and not data.keys().isdisjoint(beside))


def _entries(answer: Mapping[str, Any], where: str) -> list[Entries]:
    """Return what Chroma found for each query, closest first: metadata, id and score."""
    names = ("metadatas", "ids", "distances")
    parts = {name: answer[name] for name in names if answer.get(name) is not None}
    if not parts.keys() & {"ids", "metadatas"}:
        raise InputError(f"{where}: an answer of Chroma without ids and metadatas; ask for ids")
    if not any(isinstance(item, list) for part in parts.values() if is_list(part) for item in part):
        parts = {name: [part] for name, part in parts.items()}  # to one query
    sizes = {}
    for name, part in parts.items():
        lists = part if isinstance(part, list) else [part]
        wrong = next((each for each in lists if not isinstance(each, list)), None)
        if wrong is not None:
            raise InputError(
                f"{where}: {name} holds {shown(wrong)}; expected a list of entries for each query"
            )
        sizes[name] = [len(entries) for entries in lists]
        first = next(iter(sizes))
        if sizes[name] != sizes[first]:
            raise InputError(
                f"{where}: {first} has lists of {sizes[first]} entries and {name} of "
                f"{sizes[name]}; give one of each for every entry of every query"
            )
    records = [record or {} for lists in parts.get("metadatas", ()) for record in lists]
    for record in records:
        if not isinstance(record, Mapping):
            raise InputError(
                f"{where}: metadatas hold {shown(record)}; expected an object for each entry"
            )
    fields = dict.fromkeys(["score", "rank", *(name for record in records for name in record)])
    queries = []
    for of_query in zip(*parts.values(), strict=True):
        entries = Entries()
        entries.have_ids = "ids" in parts
        for entry in zip(*of_query, strict=True):
            of_part = dict(zip(parts, entry, strict=True))
            entries.append({**fields, **(of_part.get("metadatas") or {})})
            entries[-1].update({"score": None, "rank": None})  # those of the metadata are its own
            if entries.have_ids:
                entries[-1]["id"] = of_part["ids"]
            if "distances" in parts:
                entries[-1]["score"] = -_finite(of_part["distances"], where)
        queries.append(entries)
    return queries


def _finite(distance: Any, where: str) -> float:
    if type(distance) not in (int, float) or not isfinite(distance):
        raise InputError(f"{where}: a distance is {shown(distance)}; expected a finite number")
    return float(distance)


def _closest(documents: Documents) -> Documents:
    """Return each document once, at its best rank, as close as its closest entry."""
    closest: dict[Any, Any] = {}
    for doc_id, number in documents:
        known = closest.setdefault(doc_id, number)
        closest[doc_id] = number if known is not None and number > known else known
    return list(closest.items())
