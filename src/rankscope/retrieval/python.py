"""Any Python code as a system: a function, or a retriever of LangChain, LlamaIndex or Haystack.

A plain function takes the text of a query (or a `Query`, if its parameter is annotated so) and
returns, best first or in any order if there are scores: ids, (id, score) pairs, a dict of scores,
records with an id and perhaps a score, or documents of these frameworks. Of a function without
scores the scores are minus the ranks. If it has a parameter ``depth``, ``k``, ``top_k`` or
``limit``, it is told how many are wanted. What raises or returns nonsense is that query's failure,
in one sentence.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import Field

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.retrieval.frameworks import adapted, signature_of
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import Identity, Query, Ranking, System, check_depth
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.results import Remarks, pairs_of
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
        retrieve = adapted(code.target, options.id_field)
        if code.is_loaded and retrieve is None and not callable(code.target):
            raise InputError(
                f"{shown(options.function)} is neither a function nor a retriever of LangChain "
                "(invoke), LlamaIndex (retrieve) or Haystack (run)"
            )
        self.options: PythonOptions = options
        self.batch_size = options.batch
        self.capabilities = code.capabilities
        self._code = code
        self.sources = code.sources
        self._remarks = Remarks()
        if code.is_loaded:
            self._retrieve = retrieve or _plain(code.target, options.id_field, self._remarks)

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
            pairs = self._code.called(lambda: self._retrieve(query, depth))
            return Ranking.of(pairs, depth, seconds=time.perf_counter() - began)
        except Exception as error:
            log.debug("query %s failed", query.query_id, exc_info=True)
            return Ranking.failed_by(error, time.perf_counter() - began)


def _plain(
    function: Callable[..., Any], id_field: str | None, remarks: Remarks
) -> Callable[[Query, int], list[tuple[str, float]]]:
    """Return what calls a plain function as it wants to be called."""
    wants_query, depth_name = signature_of(function)

    def retrieve(query: Query, depth: int) -> list[tuple[str, float]]:
        options = {} if depth_name is None else {depth_name: depth}
        answer = function(query.copied() if wants_query else query.text, **options)
        return pairs_of(answer, id_field, remarks)

    return retrieve
