"""Retrievers of LangChain, LlamaIndex and Haystack, told by the methods they have.

Their documents are often pieces of one; the id of the document judged is looked for in a piece's
metadata under ``id_field``, and a document stands where its best piece does. None of these packages
is needed here: an object that has one of their interfaces is called through it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.results import doc_id_of, score_of

__all__ = ["adapted"]

Pairs = list[tuple[str, float]]
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
    return _best(
        (
            _first(id_field, (_of(one, "metadata"),), _of(one, "id")),
            _score(_of(one, "metadata")),
        )
        for one in _listed(documents, "LangChain retriever")
    )


def _llama_index(nodes: Any, id_field: str) -> Pairs:
    """Read nodes with ``score`` and ``node``; a node knows the document it was cut from."""
    found = []
    for one in _listed(nodes, "LlamaIndex retriever"):
        node = _of(one, "node") or one
        whole = _of(node, "ref_doc_id") or _of(node, "node_id")
        found.append((_first(id_field, (_of(node, "metadata"),), whole), _of(one, "score")))
    return _best(found)


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
        return _best(
            (_first(id_field, (_of(one, "meta"),), _of(one, "id")), _of(one, "score"))
            for one in _listed(answer["documents"], "Haystack component")
        )

    return retrieve


def _listed(answer: Any, what: str) -> list[Any]:
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        raise InputError(f"expected a list of documents from the {what}, found {shown(answer)}")
    return list(answer)


def _of(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _first(id_field: str, places: tuple[Any, ...], otherwise: Any) -> str:
    """Return the id in the metadata, or the framework's own."""
    for place in places:
        if isinstance(place, Mapping) and place.get(id_field) is not None:
            return doc_id_of(place[id_field])
    if otherwise is None:
        raise InputError(
            f"a document has no id, neither of its own nor {shown(id_field)} in its metadata; "
            "name the right one as id_field"
        )
    return doc_id_of(otherwise)


def _score(metadata: Any) -> Any:
    if not isinstance(metadata, Mapping):
        return None
    return next((metadata[n] for n in ("score", "relevance_score") if n in metadata), None)


def _best(found: Iterable[tuple[str, Any]]) -> Pairs:
    """Keep each document once, in the order given, which is the retriever's ranking.

    Scores count where all have one and they go from high to low; any other (a distance, a score of
    an earlier stage) would turn the order round, and the rank stands in.
    """
    listed = list(found)
    scores = [None if raw is None else score_of(raw) for _, raw in listed]
    known = [score for score in scores if score is not None]
    falling = len(known) == len(listed) and all(a >= b for a, b in pairwise(known))
    best: dict[str, float] = {}
    for rank, (doc_id, _) in enumerate(listed, start=1):
        best.setdefault(doc_id, known[rank - 1] if falling else -float(rank))
    return list(best.items())
