"""Retrievers of LangChain, LlamaIndex and Haystack, recognised by the methods they have.

Their documents are often chunks of one; the id of the document judged is looked for in a chunk's
metadata under ``id_field``, and a document has the rank of its first chunk. None of these packages
is needed here: an object that has one of their interfaces is called through it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.results import Pairs, collapse, doc_id_of, score_of

Retrieve = Callable[[Query, int], Pairs]


def adapted(target: Any, id_field: str) -> Retrieve | None:
    """Return what asks a framework's retriever; None if the object is none."""
    if inspect.isclass(target) or inspect.isfunction(target) or inspect.ismethod(target):
        return None
    if callable(getattr(target, "invoke", None)):
        return lambda query, _: _langchain(target.invoke(query.text), id_field)
    if callable(getattr(target, "retrieve", None)):
        return lambda query, _: _llama_index(target.retrieve(query.text), id_field)
    if callable(getattr(target, "run", None)):
        return _haystack(target, id_field)
    return None


def _langchain(documents: Any, id_field: str) -> Pairs:
    """Read documents with ``metadata`` and perhaps ``id``; a score may be in the metadata."""
    chunks = []
    for document in _listed(documents, "LangChain retriever"):
        metadata = _get(document, "metadata")
        chunks.append((_doc_id(metadata, id_field, _get(document, "id")), _score(metadata)))
    return _first_of_each(chunks)


def _llama_index(nodes: Any, id_field: str) -> Pairs:
    """Read nodes with ``score`` and ``node``; a node knows the document it was cut from."""
    chunks = []
    for scored in _listed(nodes, "LlamaIndex retriever"):
        node = _get(scored, "node") or scored
        otherwise = _get(node, "ref_doc_id") or _get(node, "node_id")
        doc_id = _doc_id(_get(node, "metadata"), id_field, otherwise)
        chunks.append((doc_id, _get(scored, "score")))
    return _first_of_each(chunks)


def _haystack(target: Any, id_field: str) -> Retrieve:
    """Call ``run(query=…)`` and read ``documents`` with ``id``, ``meta`` and ``score``."""
    try:
        takes_depth = "top_k" in inspect.signature(target.run).parameters
    except (TypeError, ValueError):
        takes_depth = False

    def retrieve(query: Query, depth: int) -> Pairs:
        options = {"top_k": depth} if takes_depth else {}
        answer = target.run(query=query.text, **options)
        if not isinstance(answer, Mapping) or "documents" not in answer:
            raise InputError(
                f"expected documents from the Haystack component, but it returned {shown(answer)}"
            )
        return _first_of_each(
            (
                _doc_id(_get(document, "meta"), id_field, _get(document, "id")),
                _get(document, "score"),
            )
            for document in _listed(answer["documents"], "Haystack component")
        )

    return retrieve


def _listed(answer: Any, noun: str) -> list[Any]:
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        raise InputError(f"expected a list of documents from the {noun}, got {shown(answer)}")
    return list(answer)


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _doc_id(metadata: Any, id_field: str, otherwise: Any) -> str:
    """Return the id in the metadata, or the framework's own."""
    if isinstance(metadata, Mapping) and metadata.get(id_field) is not None:
        return doc_id_of(metadata[id_field])
    if otherwise is None:
        raise InputError(
            f"a document has no id, neither of its own nor {shown(id_field)} in its metadata; "
            "name the right field as id_field"
        )
    return doc_id_of(otherwise)


def _score(metadata: Any) -> Any:
    if not isinstance(metadata, Mapping):
        return None
    return next((metadata[name] for name in ("score", "relevance_score") if name in metadata), None)


def _first_of_each(chunks: Iterable[tuple[str, Any]]) -> Pairs:
    """Keep each document once, in the order given, which is the retriever's ranking.

    Scores count where all have one and they go from high to low; any other (a distance, a score of
    an earlier stage) would turn the order round, and minus the rank takes its place.
    """
    listed = list(chunks)
    scores = [score_of(score) for _, score in listed if score is not None]
    if len(scores) < len(listed) or any(above < below for above, below in pairwise(scores)):
        scores = [-float(rank) for rank in range(1, len(listed) + 1)]
    doc_ids = (doc_id for doc_id, _ in listed)
    return collapse(zip(doc_ids, scores, strict=True), by="first")
