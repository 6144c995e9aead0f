"""Rewritten queries: a stage that changes the question before a system answers it.

``{rewrite: {of: SYSTEM, keywords: {}}}``: one rewriter, with its options, over one system. The
system below answers the rewritten query under the same id.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.lexical.words import Analyzer, languages, stop_words
from rankscope.retrieval.options import REQUIRED, any_text, as_is, choice, option, words
from rankscope.retrieval.protocol import Identity, Query, Ranking, System, check_depth
from rankscope.retrieval.python_objects import described_target, find_target, sentence
from rankscope.retrieval.registry import SYSTEMS, Context, Registry
from rankscope.retrieval.stages.stage import Stage, given_part

__all__ = ["REWRITERS", "Rewrite", "Rewriter", "TextRewriter"]


class Rewriter(ABC):
    """Answers queries in other words, by means of the system below."""

    def check(self, inner: System) -> None:  # noqa: B027  (most work over any system)
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
                said = str(error) if isinstance(error, InputError) else sentence(error)
                answers[at] = Ranking.failed(said)
            spent[at] = time.perf_counter() - began
        if asked:
            found = inner.search(list(asked.values()), depth)
            for at, ranking in zip(asked, found, strict=True):
                answers[at] = replace(ranking, seconds=ranking.seconds + spent[at])
        return answers


REWRITERS: Registry[Rewriter] = Registry("rewriter")
"""Every rewriter, by the name under which a config uses it."""


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """Which system, and one rewriter by its name."""

    of: Any = option(REQUIRED, "the system that answers: its name, or a spec", as_is)  # noqa: RUF009
    keywords: Any = option(None, "drop stop words and question phrasing", as_is)  # noqa: RUF009
    rm3: Any = option(None, "add words of the best documents (over bm25)", as_is)  # noqa: RUF009
    python: Any = option(None, "module:function, from a text to a text", as_is)  # noqa: RUF009


@SYSTEMS.add("rewrite", RewriteOptions, summary="another system, asked in other words")
class Rewrite(Stage):
    """A rewriter before a system."""

    def __init__(self, options: RewriteOptions, context: Context) -> None:
        super().__init__(context.system(options.of))
        self.rewriter = given_part(REWRITERS, options, context, "rewrite")
        self.rewriter.check(self.inner)

    def identity(self) -> Identity:
        """Say what exactly answers."""
        inner = self.inner.identity()
        parameters = {"of": inner.key, "rewriter": self.rewriter.described()}
        return Identity("rewrite", inner.version, parameters, inner.snapshot, self.name)

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Rewrite and answer."""
        return self.rewriter.search(self.inner, queries, check_depth(depth))


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


@dataclass(frozen=True, slots=True)
class KeywordsOptions:
    """What is dropped."""

    language: str = option(
        "english",
        "whose stop words are dropped; question phrasing is known in English only",
        choice("language", languages),
    )
    drop: tuple[str, ...] = option((), "more words to drop", words)


@REWRITERS.add("keywords", KeywordsOptions, summary="drop stop words and question phrasing")
class Keywords(TextRewriter):
    """Keeps the words that say what is asked about.

    A query of nothing but phrasing stays as it is.
    """

    def __init__(self, options: KeywordsOptions, context: Context) -> None:
        del context
        self._options = options
        self._english = options.language in ("english", "porter")
        dropped = {*stop_words(options.language), *(word.lower() for word in options.drop)}
        self._dropped = dropped | CHATTER if self._english else dropped
        self._words = Analyzer("none", ()).words

    def described(self) -> dict[str, Any]:
        """Say what is dropped."""
        return {"rewriter": "keywords", "rules": 1, **asdict(self._options)}

    def rewrite(self, query: Query) -> str:
        """Return the words left."""
        text = PHRASING.sub(" ", query.text) if self._english else query.text
        kept = [word for word in self._words(text) if word not in self._dropped]
        return " ".join(kept) or query.text


@dataclass(frozen=True, slots=True)
class PythonRewriterOptions:
    """A function of yours."""

    function: Any = option(  # noqa: RUF009
        REQUIRED, "module:function, or the function: takes a text, returns a text", as_is
    )
    version: str = option("", "say something else here when what it does changes", any_text)


@REWRITERS.add("python", PythonRewriterOptions, summary="a Python function, text to text")
class PythonRewriter(TextRewriter):
    """A Python function that rewrites, such as one that asks a language model."""

    def __init__(self, options: PythonRewriterOptions, context: Context) -> None:
        self._function = find_target(options.function, context, "a rewriter")
        if not callable(self._function):
            raise InputError(f"the rewriter {shown(options.function)} is not a function")
        self._reference, self._version = options.function, options.version

    def described(self) -> dict[str, Any]:
        """Say what function this is."""
        return {
            "rewriter": "python",
            **described_target(self._function, self._reference, self._version),
        }

    def rewrite(self, query: Query) -> str:
        """Call it."""
        text = self._function(query.text)
        if not isinstance(text, str):
            raise InputError(
                f"expected a text from the rewriter, but it returned {type(text).__name__} "
                f"{shown(text)}"
            )
        return text
