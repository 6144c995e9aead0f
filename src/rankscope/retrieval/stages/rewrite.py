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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.lexical.words import Analyzer, Language, stop_words
from rankscope.retrieval.options import Options, TextList
from rankscope.retrieval.protocol import (
    Capabilities,
    Query,
    Ranking,
    check_depth,
)
from rankscope.retrieval.registry import SYSTEMS, Context, Registry, StageOptions, check_engine
from rankscope.retrieval.stages.stage import Part, Stage
from rankscope.retrieval.user_code import FunctionOptions, UserFunction

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A query in other words, and how long that took; ``error``: why there are none."""

    text: str
    seconds: float
    error: Exception | None = None


class Rewriter(Part):
    """Makes a text of the text of a query."""

    @abstractmethod
    def rewrite(self, text: str) -> str:
        """Return a query in other words."""

    def rewritten(self, queries: Sequence[Query]) -> list[Rewritten]:
        """Return each query in other words; one that cannot be rewritten has failed."""
        return [self._timed(query) for query in queries]

    def _timed(self, query: Query) -> Rewritten:
        began = time.perf_counter()
        try:
            text = self.rewrite(query.text)
        except Exception as error:
            log.debug("query %s cannot be rewritten", query.query_id, exc_info=True)
            return Rewritten("", time.perf_counter() - began, error)
        return Rewritten(text, time.perf_counter() - began)


REWRITERS: Registry[Rewriter] = Registry("rewriter", Rewriter)  # type: ignore[type-abstract]
"""Every rewriter, by the name under which a config uses it."""


class RewriteOptions(StageOptions):
    """Which system, and one rewriter by its name."""

    parts_by_name = REWRITERS


@SYSTEMS.add("rewrite", RewriteOptions, summary="another system, asked in other words")
class Rewrite(Stage):
    """A rewriter before a system."""

    kind = "rewrite"
    part: Rewriter

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask the system below the rewritten queries; an empty one finds nothing."""
        depth = check_depth(depth)
        answers = [Ranking() for _ in queries]
        places = [at for at, query in enumerate(queries) if query.text.strip()]
        if not places:
            return answers
        made = dict(zip(places, self.part.rewritten([queries[at] for at in places]), strict=True))
        for at, rewritten in made.items():
            if rewritten.error is not None:
                answers[at] = Ranking.failed_by(rewritten.error, rewritten.seconds)
        places = [at for at in places if made[at].error is None]
        below = [replace(queries[at], text=made[at].text) for at in places]
        rankings = self.inner.search(below, depth) if below else []
        for at, ranking in zip(places, rankings, strict=True):
            answers[at] = replace(ranking, seconds=ranking.seconds + made[at].seconds)
        return answers


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
class Keywords(Rewriter):
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

    def rewrite(self, text: str) -> str:
        """Return the words left."""
        plain = PHRASING.sub(" ", text) if self._english else text
        return " ".join(word for word in self._words(plain) if word not in self._dropped) or text


class PythonRewriterOptions(FunctionOptions):
    """A function of yours."""

    function: Any
    """module:function, or the function: takes a text, returns a text."""


@REWRITERS.add("python", PythonRewriterOptions, summary="a Python function, text to text")
class PythonRewriter(Rewriter):
    """A Python function that rewrites, such as one that asks a language model."""

    def __init__(self, options: PythonRewriterOptions, context: Context) -> None:
        self.options: PythonRewriterOptions = options
        self._function = UserFunction(options, context, "a rewriter")
        self.sources = self._function.sources
        self.capabilities = self._function.capabilities

    def described(self) -> dict[str, Any]:
        """Say what function this is."""
        return {"rewriter": "python", **self._function.described()}

    def rewrite(self, text: str) -> str:
        """Call it."""
        answer = self._function(text)
        if not isinstance(answer, str):
            raise InputError(
                f"expected a text from the rewriter, but it returned {type(answer).__name__} "
                f"{shown(answer)}"
            )
        return answer
