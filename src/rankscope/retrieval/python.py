"""Any Python code as a system: a function, or a retriever of LangChain, LlamaIndex or Haystack.

A plain function takes the text of a query (or a `Query`, if its parameter is annotated so) and
returns, best first or in any order if there are scores: ids, (id, score) pairs, a dict of scores,
records with an id and perhaps a score, or documents of these frameworks. Of a function without
scores the scores are minus the ranks. If it has a parameter ``depth``, ``k``, ``top_k`` or
``limit``, it is told how many are wanted. What raises or returns nonsense is that query's failure,
in one sentence.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import Field

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import Identity, Query, Ranking, System, check_depth
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.results import Pairs, Remarks, pairs_of, pieces_of
from rankscope.retrieval.user_code import FunctionOptions, UserCode

log = logging.getLogger(__name__)


class PythonOptions(FunctionOptions):
    """Which code, and how to call it."""

    function: Any
    """module:function, a function, or a retriever object."""
    id_field: Text | None = None
    """Where documents have their id: a field, or one of the metadata of LangChain, LlamaIndex and
    Haystack documents. If not given, doc_id of the metadata, or else the document's own id."""
    version: str = ""
    """Change this when what it searches changes; answers kept under another are not used."""
    batch: int = Field(default=16, ge=1)
    """How many queries make a batch."""


@SYSTEMS.add("python", PythonOptions, summary="a Python function or a framework's retriever")
def python_system(options: PythonOptions, context: Context) -> System:
    """Return a system around the code; a `System` is taken as it is."""
    code = UserCode(options, context, "a python system")
    return code.target if isinstance(code.target, System) else PythonSystem(code, options)


class PythonSystem(System):
    """Calls Python code for each query."""

    def __init__(self, code: UserCode, options: PythonOptions) -> None:
        self.options: PythonOptions = options
        self.batch_size = options.batch
        self.capabilities = code.capabilities
        self._code = code
        self.sources = code.sources
        self._remarks = Remarks()
        if code.is_loaded:
            self._ask, self._framework = asking(code.target, _METHODS)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What is odd about the answers."""
        return self._remarks.sentences()

    def index(self, corpus: Corpus) -> None:
        """Do nothing: the code has its own documents."""

    def identity(self) -> Identity:
        """Say what exactly answers: the code, by name and source."""
        code = self._code.described()
        return Identity(
            kind="python",
            name=self.name,
            version=f"python {code['version']}".strip(),
            parameters={"id_field": self.options.id_field, "function": code["name"]},
            snapshot=code["source"],
        )

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Call the code for each query."""
        depth = check_depth(depth)
        return [self._answer(query, depth) for query in queries]

    def _answer(self, query: Query, depth: int) -> Ranking:
        if not query.text.strip():
            return Ranking()
        began = time.perf_counter()
        try:
            pairs = self._code.called(lambda: self._pairs(query, depth))
            return Ranking.of(pairs, depth, seconds=time.perf_counter() - began)
        except Exception as error:
            log.debug("query %s failed", query.query_id, exc_info=True)
            return Ranking.failed_by(error, time.perf_counter() - began)

    def _pairs(self, query: Query, depth: int) -> Pairs:
        answer = self._ask(query, depth)
        if not self._framework:
            return pairs_of(answer, self.options.id_field, self._remarks)
        if self._framework == HAYSTACK:
            if not isinstance(answer, Mapping) or "documents" not in answer:
                raise InputError(f"expected documents from the {HAYSTACK}, got {shown(answer)}")
            answer = answer["documents"]
        return pieces_of(answer, self.options.id_field, self._framework)


# --- how code wants to be called -----------------------------------------------------------------

HAYSTACK = "Haystack component"
_METHODS = {"invoke": "LangChain retriever", "retrieve": "LlamaIndex retriever", "run": HAYSTACK}
"""By which method the retrievers of frameworks are asked; none of their packages is needed."""
_AWAITED = {"ainvoke": "LangChain", "aretrieve": "LlamaIndex", "run_async": HAYSTACK}
_DEPTH_NAMES = ("depth", "k", "top_k", "limit")
"""By which of these a function wants to be told how many documents to return."""


def asking(target: Any, methods: Mapping[str, str]) -> tuple[Callable[[Query, int], Any], str]:
    """Return what asks a function, or the object of a framework, and which framework that is."""
    ask, framework = target, ""
    if not (inspect.isclass(target) or inspect.isfunction(target) or inspect.ismethod(target)):
        for name, known in methods.items():
            if not framework and callable(getattr(target, name, None)):
                ask, framework = getattr(target, name), known
    if not callable(ask):
        raise InputError(
            f"{shown(target)} is neither a function nor a retriever of LangChain, LlamaIndex or "
            f"Haystack, which have {', '.join(methods)}"
        )
    wants_query, depth_name = _signature_of(ask)

    def asked(query: Query, depth: int) -> Any:
        options: dict[str, Any] = {} if depth_name is None else {depth_name: depth}
        if framework == HAYSTACK:
            return ask(query=query.text, **options)
        return ask(query.copied() if wants_query else query.text, **options)

    return asked, framework


def asking_asynchronously(target: Any) -> Callable[[Query, int], Awaitable[Any]]:
    """Return what asks an asynchronous retriever: a function, or a framework's object."""
    ask, framework = asking(target, _AWAITED)

    async def retrieve(query: Query, depth: int) -> Any:
        answer = ask(query, depth)
        answer = await answer if inspect.isawaitable(answer) else answer
        return answer["documents"] if framework == HAYSTACK else answer

    return retrieve


def _signature_of(function: Callable[..., Any]) -> tuple[bool, str | None]:
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
