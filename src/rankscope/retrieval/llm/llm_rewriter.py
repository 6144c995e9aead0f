"""Queries rewritten by a language model: reduced to keywords, expanded, or answered in advance.

``{rewrite: {of: SYSTEM, llm: {url: http://host/v1, model: NAME, style: expansion}}}``. A query that
the model cannot rewrite is asked as it is, and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from rankscope.retrieval.llm.answer_forms import Passage, Terms
from rankscope.retrieval.llm.chat import Asking, Chat
from rankscope.retrieval.llm.llm_options import ChatOptions
from rankscope.retrieval.llm.prompts import query_block, read_prompt
from rankscope.retrieval.protocol import Capabilities, Query
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

    capabilities = Capabilities(deterministic=False, concurrent=True, remote=True)
    seconds_to_answer = 60.0

    def __init__(self, options: LlmRewriterOptions, context: Context) -> None:
        self.options: LlmRewriterOptions = options
        path = None if options.prompt is None else context.path(options.prompt)
        self._prompt = read_prompt(f"rewrite-{options.style}", path, ("query",))
        part = f"the rewriter llm ({options.style})"
        self._chat = Chat(options, context, part=part, owner=self)

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

        def rewritten(query: Query) -> str:
            return self.rewrite(query.text, query.query_id)

        timed = self._chat.each_timed(rewritten, queries)
        return [Rewritten(text, seconds) for text, seconds in timed]

    def rewrite(self, text: str, query_id: str | None = None) -> str:
        """Return a query in other words, or as it is if the model has none."""
        messages = self._prompt.filled({"query": query_block(text)})
        if self.options.style == "hyde":
            passage = self._chat.ask(messages, Passage(), query_id=query_id)
            if passage is not None:
                return passage
        else:
            key = "keywords" if self.options.style == "keywords" else "terms"
            terms = self._chat.ask(messages, Terms(key), query_id=query_id)
            if terms is not None:
                before = [text] if self.options.style == "expansion" else []
                return " ".join([*before, *terms])
        self._chat.fell_back()
        return text
