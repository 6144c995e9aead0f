"""Queries rewritten by a language model: reduced to keywords, expanded, or answered in advance.

``{rewrite: {of: SYSTEM, llm: {url: http://host/v1, model: NAME, style: expansion}}}``. A query that
the model cannot rewrite is asked as it is, and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from rankscope.retrieval.llm.answer_forms import Form, read_passage, read_terms
from rankscope.retrieval.llm.chat import Asking
from rankscope.retrieval.llm.llm_options import ChatOptions
from rankscope.retrieval.llm.prompts import query_block
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import Context
from rankscope.retrieval.stages.rewrite import REWRITERS, Rewriter, Rewritten


class LlmRewriterOptions(ChatOptions):
    """A model, and what it makes of a query."""

    style: Literal["keywords", "expansion", "hyde"] = "keywords"
    """keywords: the words that matter; expansion: the query, and terms that documents may use;
    hyde: a passage that could answer it, searched for in its place."""


@REWRITERS.add("llm", LlmRewriterOptions, summary="a language model: keywords, expansion or HyDE")
class LlmRewriter(Asking, Rewriter):
    """A language model before a system."""

    def __init__(self, options: LlmRewriterOptions, context: Context) -> None:
        self.options: LlmRewriterOptions = options
        part, prompt = f"the rewriter llm ({options.style})", f"rewrite-{options.style}"
        super().__init__(context, part=part, prompt=prompt, places=("query",))

    def described(self) -> dict[str, Any]:
        """Say what rewrites."""
        return {
            "rewriter": "llm",
            "style": self.options.style,
            "prompt": self._prompt.sha256,
            **self.options.named(),
        }

    def model(self) -> dict[str, Any]:
        """Describe the model, for the record of an experiment."""
        return self.described()

    def rewritten(self, queries: Sequence[Query]) -> list[Rewritten]:
        """Return each query in other words, several at a time."""
        return self._chat.client.each(self._rewritten, queries)

    def rewrite(self, text: str) -> str:
        """Return a query in other words, or as it is if the model has none."""
        return self._rewritten(Query("", text)).text

    def _rewritten(self, query: Query) -> Rewritten:
        messages = self._prompt.filled({"query": query_block(query.text)})
        style = self.options.style
        form: Form[list[str]] = _passage
        if style != "hyde":
            form = partial(read_terms, key="keywords" if style == "keywords" else "terms")
        answer = self._chat.ask(messages, form, query_id=query.query_id)
        if answer.value is None:
            self._chat.fell_back()
            return Rewritten(query.text, answer.seconds)
        before = [query.text] if style == "expansion" else []
        return Rewritten(" ".join([*before, *answer.value]), answer.seconds)


def _passage(content: str) -> list[str]:
    return [read_passage(content)]
