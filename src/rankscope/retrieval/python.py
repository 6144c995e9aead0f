"""Any Python code as a system: a function, or a retriever of LangChain, LlamaIndex or Haystack.

A plain function takes the text of a query (or a `Query`, if its parameter is annotated so) and
returns, best first or in any order if there are scores: ids, (id, score) pairs, a dict of scores,
or records with an id and perhaps a score. Of a function without scores the scores are minus the
ranks. If it has a parameter ``depth``, ``k``, ``top_k`` or ``limit``, it is told how many are
wanted. What raises or returns nonsense is that query's failure, in one sentence.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.retrieval.frameworks import adapted
from rankscope.retrieval.options import REQUIRED, any_text, as_is, option, text, truth, whole
from rankscope.retrieval.protocol import Identity, Query, Ranking, System, check_depth
from rankscope.retrieval.python_objects import described_target, find_target, sentence
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.results import pairs_of

__all__ = ["PythonOptions", "PythonSystem"]

_DEPTH_NAMES = ("depth", "k", "top_k", "limit")


@dataclass(frozen=True, slots=True)
class PythonOptions:
    """Which code, and how to call it."""

    function: Any = option(  # noqa: RUF009
        REQUIRED, "module:function, a function, or a retriever object", as_is
    )
    id_field: str = option(
        "doc_id", "where LangChain, LlamaIndex and Haystack documents carry the id: metadata", text
    )
    version: str = option("", "say something else here when what it searches changes", any_text)
    concurrent: bool = option(False, "whether it may be called from several threads", truth)
    batch: int = option(16, "how many queries make a batch", whole(1))


@SYSTEMS.add("python", PythonOptions, summary="a Python function or a framework's retriever")
def made(options: PythonOptions, context: Context) -> System:
    """Return a system around the code; a `System` is taken as it is."""
    target = find_target(options.function, context, "a python system")
    if isinstance(target, System):
        return target
    return PythonSystem(target, options)


class PythonSystem(System):
    """Calls Python code for each query."""

    def __init__(self, target: Any, options: PythonOptions) -> None:
        retrieve = adapted(target, options.id_field)
        if retrieve is None and not callable(target):
            raise InputError(
                f"{shown(options.function)} is neither a function nor a retriever of LangChain "
                "(invoke), LlamaIndex (retrieve) or Haystack (run)"
            )
        self._target = target
        self._options = options
        self._retrieve = _plain(target) if retrieve is None else retrieve
        self.concurrent = options.concurrent
        self.batch_size = options.batch

    def index(self, corpus: Corpus) -> None:
        """Do nothing: the code has its own documents."""

    def identity(self) -> Identity:
        """Say what exactly answers: the code, by name and source."""
        described = described_target(self._target, self._options.function, self._options.version)
        parameters = {"id_field": self._options.id_field, "function": described["name"]}
        version = f"python {described['version']}".strip()
        return Identity("python", version, parameters, described["source"], self.name)

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Call the code for each query."""
        depth = check_depth(depth)
        return [self._answer(query, depth) for query in queries]

    def _answer(self, query: Query, depth: int) -> Ranking:
        if not query.text.strip():
            return Ranking()
        began = time.perf_counter()
        try:
            pairs = self._retrieve(query, depth)
            seconds = time.perf_counter() - began
            return Ranking.of(pairs, depth, seconds=seconds)
        except Exception as error:
            said = str(error) if isinstance(error, InputError) else sentence(error)
            return Ranking.failed(said, time.perf_counter() - began)


def _plain(function: Callable[..., Any]) -> Callable[[Query, int], list[tuple[str, float]]]:
    """Return what calls a plain function as it wants to be called."""
    wants_query, depth_name = _signature(function)

    def retrieve(query: Query, depth: int) -> list[tuple[str, float]]:
        options = {} if depth_name is None else {depth_name: depth}
        return pairs_of(function(query if wants_query else query.text, **options))

    return retrieve


def _signature(function: Callable[..., Any]) -> tuple[bool, str | None]:
    """Tell whether a function wants a `Query`, and by which name the depth."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in ones have none
        return False, None
    if not parameters:
        raise InputError(f"{shown(function)} takes no argument, so it cannot be asked a query")
    annotation = parameters[0].annotation
    wants_query = annotation is Query or str(annotation).rpartition(".")[2] == "Query"
    names = [one.name for one in parameters[1:]]
    return wants_query, next((name for name in _DEPTH_NAMES if name in names), None)
