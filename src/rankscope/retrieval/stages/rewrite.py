"""Rewritten queries: a stage that changes the question before a system answers it.

``{rewrite: {of: SYSTEM, keywords: {}}}``: one rewriter, with its options, over one system. The
system below answers the rewritten query under the same id.
"""

from __future__ import annotations

import logging
import re
import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.lexical.words import Analyzer, Language, stop_words
from rankscope.retrieval.options import Options, TextList
from rankscope.retrieval.protocol import (
    Capabilities,
    Component,
    Identity,
    Query,
    Ranking,
    System,
    check_depth,
)
from rankscope.retrieval.registry import SYSTEMS, Context, Registry, StageOptions, check_engine
from rankscope.retrieval.stages.stage import Stage
from rankscope.retrieval.user_code import FunctionOptions, UserFunction

log = logging.getLogger(__name__)


class Rewriter(Component):
    """Answers queries in other words, by means of the system below."""

    def check(self, inner: System) -> None:
        """Refuse a system this cannot work over."""

    @abstractmethod
    def search(self, inner: System, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Answer each query."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Say what is done, as plain data, for an identity."""


class TextRewriter(Rewriter):
    """A rewriter that makes a text of a text."""

    @abstractmethod
    def rewrite(self, query: Query) -> str:
        """Return the query in other words."""

    def search(self, inner: System, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask the system below the rewritten queries; one that cannot be rewritten has failed."""
        answers: list[Ranking] = [Ranking() for _ in queries]
        asked: dict[int, Query] = {}
        spent: dict[int, float] = {}
        for at, query in enumerate(queries):
            if not query.text.strip():
                continue
            began = time.perf_counter()
            try:
                asked[at] = replace(query, text=self.rewrite(query))
            except Exception as error:
                log.debug("query %s cannot be rewritten", query.query_id, exc_info=True)
                answers[at] = Ranking.failed_by(error)
            spent[at] = time.perf_counter() - began
        if asked:
            rankings = inner.search(list(asked.values()), depth)
            for at, ranking in zip(asked, rankings, strict=True):
                answers[at] = replace(ranking, seconds=ranking.seconds + spent[at])
        return answers


REWRITERS: Registry[Rewriter] = Registry("rewriter", Rewriter)  # type: ignore[type-abstract]
"""Every rewriter, by the name under which a config uses it."""


class RewriteOptions(StageOptions):
    """Which system, and one rewriter by its name."""

    parts_by_name = REWRITERS


@SYSTEMS.add("rewrite", RewriteOptions, summary="another system, asked in other words")
class Rewrite(Stage):
    """A rewriter before a system."""

    part: Rewriter

    def __init__(self, options: RewriteOptions, context: Context) -> None:
        super().__init__(options, context)
        self.part.check(self.inner)

    def identity(self) -> Identity:
        """Say what exactly answers."""
        inner = self.inner.identity()
        return Identity(
            kind="rewrite",
            name=self.name,
            version=inner.version,
            parameters={"of": inner.key, "rewriter": self.part.described()},
            snapshot=inner.snapshot,
        )

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Rewrite and answer."""
        return self.part.search(self.inner, queries, check_depth(depth))


PHRASING = re.compile(
    r"""
    \b(?:
        (?:can|could|would|will)\s+(?:you|we|i|someone|anyone)(?:\s+please)?
      | (?:please\s+)?(?:tell|show|give|help|find)\s+(?:me|us)
      | (?:i\s+am|i['’]m|we\s+are|we['’]re)\s+(?:looking|searching|trying|wondering|hoping)
        (?:\s+(?:for|to))?
      | (?:i|we)\s+(?:want|need|would\s+like|['’]d\s+like|wish|have)(?:\s+to)?
      | (?:do|does|did|should|must|may|might|can|could|shall)\s+(?:i|you|we|it|they|one)
        (?:\s+(?:need|have)\s+to)?
      | (?:is|are|was|were)\s+(?:there|it|this|that)(?:\s+(?:a|any|some))?(?:\s+way)?
      | (?:what|which|who|whom|whose|where|when|why|how)
        (?:['’]s|\s+(?:is|are|was|were|do|does|did|many|much|long|often|to|about|kind|kinds|
        sort|type|types|way|exactly))*
      | (?:the\s+)?(?:best|right|good|proper)\s+way(?:s)?\s+(?:to|of)
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""The ways in which English asks without saying what about."""

_CHATTER = """
    about all also am any anyone anything are been before being but can could did do does doing done
    each else even every everything exactly for from get gets getting give go goes going got had has
    have having he her here him his how if into it its just kind know let like me might more most
    much must my need needed needs not now of off on once only or other our out over own please
    really she should so some something sort still such sure than thanks that the their them then
    there these they thing things this those to too under until up us use using very want was way we
    were what when where whether which while who whom why will wish with without would you your
    yours
"""
CHATTER = frozenset(_CHATTER.split())
"""English words that carry a question rather than its subject."""


class KeywordsOptions(Options):
    """What is dropped."""

    language: Language = "english"
    """Whose stop words are dropped; question phrasing is known in English only."""
    drop: TextList = ()
    """More words to drop."""


@REWRITERS.add("keywords", KeywordsOptions, summary="drop stop words and question phrasing")
class Keywords(TextRewriter):
    """Keeps the words that say what is asked about.

    A query of nothing but phrasing stays as it is.
    """

    capabilities = Capabilities(concurrent=True)
    packages = ("bm25s",)

    def __init__(self, options: KeywordsOptions, _: Context) -> None:
        self.options: KeywordsOptions = options
        check_engine("bm25s", package="bm25s", needed_for="the rewriter keywords")
        self._english = options.language in ("english", "porter")
        self._words = Analyzer("none", ()).words

    @cached_property
    def _dropped(self) -> set[str]:
        options = self.options
        dropped = {*stop_words(options.language), *(word.lower() for word in options.drop)}
        return dropped | CHATTER if self._english else dropped

    def described(self) -> dict[str, Any]:
        """Say what is dropped."""
        return {"rewriter": "keywords", "rules": 1, **self.options.plain()}

    def rewrite(self, query: Query) -> str:
        """Return the words left."""
        text = PHRASING.sub(" ", query.text) if self._english else query.text
        return " ".join(word for word in self._words(text) if word not in self._dropped) or (
            query.text
        )


class PythonRewriterOptions(FunctionOptions):
    """A function of yours."""

    function: Any
    """module:function, or the function: takes a text, returns a text."""


@REWRITERS.add("python", PythonRewriterOptions, summary="a Python function, text to text")
class PythonRewriter(TextRewriter):
    """A Python function that rewrites, such as one that asks a language model."""

    def __init__(self, options: PythonRewriterOptions, context: Context) -> None:
        self.options: PythonRewriterOptions = options
        self._function = UserFunction(options, context, "a rewriter")
        self.sources = self._function.sources
        self.capabilities = self._function.capabilities

    def described(self) -> dict[str, Any]:
        """Say what function this is."""
        return {"rewriter": "python", **self._function.described()}

    def rewrite(self, query: Query) -> str:
        """Call it."""
        text = self._function(query.text)
        if not isinstance(text, str):
            raise InputError(
                f"expected a text from the rewriter, but it returned {type(text).__name__} "
                f"{shown(text)}"
            )
        return text
