"""Retrievers of LangChain, LlamaIndex and Haystack, recognised by the methods they have.

None of these packages is needed here: an object that has one of their interfaces is called through
it. What it returns is read by `rankscope.tables.documents`, as it is in any other place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.results import Pairs, pieces_of

Retrieve = Callable[[Query, int], Pairs]


def adapted(target: Any, id_field: str | None) -> Retrieve | None:
    """Return what asks a framework's retriever; None if the object is none."""
    if inspect.isclass(target) or inspect.isfunction(target) or inspect.ismethod(target):
        return None
    for method, noun in (("invoke", "LangChain retriever"), ("retrieve", "LlamaIndex retriever")):
        ask = getattr(target, method, None)
        if callable(ask):
            return partial(_asked, ask, id_field, noun)
    if callable(getattr(target, "run", None)):
        return _haystack(target, id_field)
    return None


def _asked(
    ask: Callable[[str], Any], id_field: str | None, noun: str, query: Query, _: int
) -> Pairs:
    return pieces_of(ask(query.text), id_field, noun)


def _haystack(target: Any, id_field: str | None) -> Retrieve:
    """Call ``run(query=…)`` and read its ``documents``."""
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
        return pieces_of(answer["documents"], id_field, "Haystack component")

    return retrieve
