"""The documents of one query, as people have them, and what engines answer.

Ids, ``{id: number}``, (id, number) pairs, records, documents of LangChain, LlamaIndex and Haystack
(known by their attributes; nothing is imported), and the answers of Chroma, Elasticsearch and
OpenSearch, Qdrant, Pinecone and OpenAI. Each becomes a list of (id, number or None).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
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
_OF_DOCUMENTS = frozenset(
    folded(name)
    for names in (_IDS, _IDS_OF_RECORDS, _TEXTS, _SCORES, ALIASES["rank"], ALIASES["grade"])
    for name in (*names, "title", "url", "source", "type", "object", "vector", "embedding")
)
_TERMS = ("hpo_id", "mondo_id", "onto_id", "ontology_id", "term_id", "concept_id")

_ID = re.compile(r"\S{1,3}|\S*[\d_:/#]\S*")
"""What is hardly a word: without a blank, short, or with a digit or a sign in it."""


def is_list(value: object) -> bool:
    """Tell a list, a set, a dict, an array or another series from one value."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def is_missing(value: object) -> bool:
    """Tell no value, or an empty cell."""
    return value is None or (isinstance(value, str) and not value)


def looks_like_id(item: object) -> bool:
    """Tell what is hardly a word from what may be one."""
    return not isinstance(item, str) or _ID.fullmatch(item) is not None


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
    if isinstance(value, Entries):
        return value.documents(field, where)
    if isinstance(value, Mapping):
        lacking = next((doc_id for doc_id, number in value.items() if number is None), None)
        if lacking is not None:
            raise InputError(f"{where}: the number of {shown(lacking)} is missing; give it one")
        return list(value.items())
    if isinstance(value, str | int) or getattr(value, "ndim", 1) == 0:
        return [(value, None)]
    if not is_list(value) or (isinstance(value, Set) and kind == "run"):
        what = "a set, which has no order" if is_list(value) else shown(type(value).__name__)
        raise InputError(
            f"{where} has {what}; expected {{doc_id: number}} or a list of ids, best first"
        )
    documents = [
        (item, None) if type(item) is str else one_document(item, field, where, kind)
        for item in (value.tolist() if hasattr(value, "tolist") else value)
    ]
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


def is_plain_document(record: Mapping[Any, Any]) -> bool:
    """Tell a document from a query with its documents, or a row with both: all have an id.

    It has metadata, or no text under a name that is not known of documents.
    """
    unknown = (value for name, value in record.items() if folded(str(name)) not in _OF_DOCUMENTS)
    texts = (value for value in unknown if isinstance(value, str) or is_list(value))
    return not record.keys().isdisjoint(("node", *METADATA)) or not any(True for _ in texts)


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
    if doc_id is None:
        is_record = isinstance(inner, Mapping) and not metadata
        raise _no_id(where, field, inner if is_record else metadata)
    return doc_id


def _no_id(where: str, field: str | None, names: Iterable[Any]) -> InputError:
    held = ", ".join(shown(name, 30) for name in list(names)[:8]) or "nothing"
    return InputError(
        f"{where}: a document has no {'id' if field is None else shown(field)}, neither of its own "
        f"nor in its metadata; it holds {held}; name the field that is its id (doc=)"
    )


def value_of(item: Any, name: str) -> Any:
    """Return a field of a record, or an attribute of an object; None if there is none."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


# --- what engines answer


def is_answer(data: object) -> bool:
    """Tell whether this is what an engine answers."""
    return _is_chroma(data) or _hits_in(data) is not None


def answers_in(data: Any, where: str) -> list[Any] | None:
    """Return what an engine found for each query it was asked; None if this is no answer of one."""
    if _is_chroma(data):
        return _entries_by_query(data, where)
    hits = _hits_in(data)
    return None if hits is None else [hits]


_HITS = {
    "points": {"status", "time", "next_page_offset"},
    "result": {"status", "time", "usage"},
    "matches": {"namespace", "usage"},
    "data": {"object", "search_query", "has_more"},
}
"""Where Qdrant, Pinecone and OpenAI have the entries of an answer, and what is beside them."""


def _hits_in(answer: Any) -> Sequence[Any] | None:
    """Return the entries of an engine's answer to one query, best first; None if it is none.

    It may be JSON, or an object of an engine's client.
    """
    if isinstance(answer, list | tuple | str | int | Set):
        return None
    hits = value_of(answer, "hits")  # of Elasticsearch and OpenSearch
    if isinstance(hits, Mapping) and isinstance(hits.get("hits"), list):
        return list(hits["hits"])
    if isinstance(answer, Mapping) and isinstance(answer.get("result"), Mapping):
        answer = answer["result"]
    for name, beside in _HITS.items():
        held = value_of(answer, name)
        if isinstance(held, list | tuple) and all(
            is_document(item) or (hasattr(item, "id") and hasattr(item, "score")) for item in held
        ):
            names = answer.keys() if isinstance(answer, Mapping) else beside
            if names == {name} or not beside.isdisjoint(names):
                return held
    return None


# --- Chroma


@dataclass(frozen=True, slots=True)
class Entries:
    """What Chroma found for one query, closest first; a document may have several entries."""

    entries: list[dict[str, Any]]
    """Of each: ids, metadatas and distances, as far as they were asked for."""
    fields: tuple[str, ...]
    """All names in the metadata, of other queries too."""

    def documents(self, field: str | None, where: str) -> Documents:
        """Return each document, and minus its distance.

        The id is the field that the caller named, or one of a term (``hpo_id``), or the entry's
        own, or the only other one. A document in several entries is as near as the nearest.
        """
        field = field or find_name(self.fields, _TERMS)
        has_ids = any("ids" in entry for entry in self.entries)
        if field is None and not has_ids:
            others = [name for name in self.fields if folded(name).endswith("id")]
            known = find_name(self.fields, (*_IDS, *_IDS_OF_RECORDS))
            field = known or (others[0] if len(others) == 1 else "id")
        documents, nearest = [], dict[Any, Any]()
        for entry in self.entries:
            doc_id = entry["ids"] if field is None else (entry.get("metadatas") or {}).get(field)
            if doc_id is None:
                raise _no_id(where, field, self.fields)
            if not isinstance(doc_id, str | int | float):
                raise InputError(f"{where}: an id is {shown(doc_id)}; expected text")
            distance = entry.get("distances", 0)
            if type(distance) not in (int, float) or not isfinite(distance):
                problem = f"a distance is {shown(distance)}; expected a finite number"
                raise InputError(f"{where}: {problem}")
            score: Any = -float(distance) if "distances" in entry else None
            documents.append((doc_id, score))
            best = nearest.setdefault(doc_id, score)
            nearest[doc_id] = score if score is not None and score > best else best
        return documents if field is None else list(nearest.items())


def _is_chroma(data: object) -> bool:
    """Tell whether this is what a Chroma collection answers, to one query or to several."""
    if not isinstance(data, Mapping):
        return False
    beside = ("distances", "documents", "included")
    return "metadatas" in data or ("ids" in data and not data.keys().isdisjoint(beside))


def _entries_by_query(answer: Mapping[str, Any], where: str) -> list[Entries]:
    """Return what Chroma found for each query."""
    names = ("metadatas", "ids", "distances")
    parts = {name: answer[name] for name in names if answer.get(name) is not None}
    if not any(isinstance(item, list) for part in parts.values() if is_list(part) for item in part):
        parts = {name: [part] for name, part in parts.items()}  # to one query
    try:
        queries = [
            [dict(zip(parts, entry, strict=True)) for entry in zip(*lists, strict=True)]
            for lists in zip(*parts.values(), strict=True)
        ]
        records = [entry.get("metadatas") or {} for entries in queries for entry in entries]
        if not all(isinstance(record, Mapping) for record in records):
            raise TypeError
        fields = tuple(dict.fromkeys(str(name) for record in records for name in record))
    except (TypeError, ValueError):
        queries = []
    if not queries or not parts.keys() & {"ids", "metadatas"}:
        raise InputError(
            f"{where}: {' and '.join(parts)} of Chroma's answer do not fit together; give ids, or "
            "metadatas, a list for each query, with an entry in each, and an object as the "
            "metadata of an entry"
        )
    return [Entries(entries, fields) for entries in queries]
