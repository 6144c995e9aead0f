"""Plain search: BM25 with nothing tuned, over titles or over all text, for baselines.

What `rankscope.diagnosis.analysis.Search` asks for: analyses come earlier in the flow, so they are
handed one of these by whoever has a corpus and queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from rankscope.collection.corpus import TITLES
from rankscope.errors import InputError, MissingExtraError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system, check_engine

if TYPE_CHECKING:
    from rankscope.collection.corpus import Corpus
    from rankscope.runs.table import Run

_NEEDED = "plain search (BM25)"


@dataclass(frozen=True, eq=False)
class PlainSearch:
    """BM25 over the documents of a corpus."""

    corpus: Corpus
    """What is searched."""
    queries: Sequence[Query]
    """What is asked."""

    @property
    def obstacle(self) -> str:
        """Say which package is missing, and how to install it; '' if none is."""
        try:
            check_engine("bm25s", package="bm25s", needed_for=_NEEDED)
            check_engine("Stemmer", package="PyStemmer", needed_for=_NEEDED)
        except MissingExtraError as error:
            return str(error)
        return ""

    @cached_property
    def _fields(self) -> list[str]:
        """The fields that hold words in some document; what is in ``metadata`` is about it."""
        names = (
            name
            for _, fields in self.corpus.rows()
            for name, value in fields.items()
            if _holds_words(value)
        )
        return list(dict.fromkeys(names))

    def searched(self, part: Literal["title", "text"]) -> list[str]:
        """Return the fields that are searched."""
        title = next((name for name in TITLES if name in self._fields), None)
        if part == "text":
            if not self._fields:
                raise InputError("the documents have no text")
            return self._fields
        if title is None:
            raise InputError("the documents have no titles")
        if self._fields == [title]:
            raise InputError("the documents have nothing but titles: full text is the same")
        return [title]

    def run(self, part: Literal["title", "text"], depth: int, language: str = "english") -> Run:
        """Search titles only, or all text, for every query."""
        options = {"fields": self.searched(part), "language": language}
        name = "title-only" if part == "title" else "full text"
        system = build_system({"bm25": options}, name=name)
        system.index(self.corpus)
        return fetch(system, list(self.queries), depth=depth).run


def _holds_words(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_holds_words, value))
    return isinstance(value, str) and bool(value.strip())
