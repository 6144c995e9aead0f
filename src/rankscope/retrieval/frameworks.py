"""Retrievers of LangChain, LlamaIndex and Haystack, recognised by the methods they have.

None of these packages is needed here: an object that has one of their interfaces is called through
it. What it returns is read by `rankscope.tables.documents`, as it is in any other place.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.results import Pairs, pieces_of

Retrieve = Callable[[Query, int], Pairs]

_DEPTH_NAMES = ("depth", "k", "top_k", "limit")
"""By which of these a function wants to be told how many documents to return."""


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


def signature_of(function: Callable[..., Any]) -> tuple[bool, str | None]:
    """Tell whether a function wants a `Query`, and by which name the depth."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in ones have none
        return False, None
    if not parameters:
        raise InputError(f"{shown(function)} takes no argument, so it cannot be asked a query")
    annotation = parameters[0].annotation
    wants_query = annotation is Query or str(annotation).rpartition(".")[2] == "Query"
    names = [parameter.name for parameter in parameters[1:]]
    return wants_query, next((name for name in _DEPTH_NAMES if name in names), None)


def asynchronous(target: Any) -> Callable[[Query, int], Awaitable[Any]]:
    """Return what asks an asynchronous retriever: a function, or a framework's object."""
    for method in ("ainvoke", "aretrieve", "run_async"):
        if callable(getattr(target, method, None)):
            ask, is_haystack = getattr(target, method), method == "run_async"
            break
    else:
        ask, is_haystack = target, False
        if not callable(ask):
            raise InputError(f"{shown(target)} is neither a function nor an asynchronous retriever")
    wants_query, depth_name = signature_of(ask)

    async def retrieve(query: Query, depth: int) -> Any:
        options = {} if depth_name is None else {depth_name: depth}
        if is_haystack:
            return (await ask(query=query.text, **options))["documents"]
        answer = ask(query if wants_query else query.text, **options)
        return await answer if inspect.isawaitable(answer) else answer

    return retrieve
