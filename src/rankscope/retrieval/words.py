"""Words: how text becomes the terms that lexical search and rewriting work with.

A text is brought to Unicode NFC and to lower case, and cut into runs of two or more letters,
digits, marks and underscores of any script. Stop words are dropped, then each word is reduced to
its stem. Where a script writes no space between words, a run is one word.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

from rankscope.errors import InputError
from rankscope.retrieval.registry import engine

__all__ = ["Analyzer", "languages", "stop_words", "word_rules"]


_PLAIN_WORDS = re.compile(r"\w{2,}").findall
_MARKS = ("Mn", "Mc")


def _has_marks(text: str) -> bool:
    r"""Tell whether a text holds accents or vowel signs of their own, which ``\w`` leaves out."""
    return any(unicodedata.category(one) in _MARKS for one in {*text} if one > "\u02ff")


@cache
def _marked_words() -> Callable[[str], list[str]]:
    r"""Return what finds words of ``\w`` and marks; much slower than ``\w`` alone."""
    every = map(chr, range(0x300, sys.maxunicode + 1))
    marks = "".join(one for one in every if unicodedata.category(one) in _MARKS)
    return re.compile(rf"[\w{re.escape(marks)}]{{2,}}").findall


def word_rules() -> str:
    """Return the version of the rules by which words are found, for an identity."""
    return f"words 1, Unicode {unicodedata.unidata_version}"


def languages() -> list[str]:
    """List the languages with a stemmer, and ``none``."""
    stemmer = engine("Stemmer", package="PyStemmer", needed_for="stemming")
    return [*stemmer.algorithms(), "none"]


def stop_words(language: str) -> frozenset[str]:
    """Return the stop words that bm25s has for a language; none where it has no list."""
    lists = engine("bm25s.stopwords", package="bm25s", needed_for="stop words")
    name = {"english": "EN", "porter": "EN", "dutch_porter": "DUTCH"}.get(language)
    return frozenset(getattr(lists, f"STOPWORDS_{name or language.upper()}", ()))


class Analyzer:
    """Turns text into terms, for one language.

    >>> Analyzer("english", stop_words("english")).terms("The crêpes, and Straße!")
    ['crêpe', 'straß']
    """

    def __init__(self, language: str, dropped: Iterable[str]) -> None:
        self._dropped = frozenset(dropped)
        self._known: dict[str, str | None] = {}
        self._stem = None
        if language != "none":
            if language not in languages():
                raise InputError(f"there is no stemmer for {language}")
            stemmer = engine("Stemmer", package="PyStemmer", needed_for="stemming")
            self._stem = stemmer.Stemmer(language).stemWord

    def words(self, text: str) -> list[str]:
        """Return the words of a text as they are written, in lower case."""
        if text.isascii():
            return _PLAIN_WORDS(text.lower())
        text = unicodedata.normalize("NFC", text).lower()
        return _marked_words()(text) if _has_marks(text) else _PLAIN_WORDS(text)

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, in order, repeated ones included."""
        known = self._known
        found = []
        for word in self.words(text):
            term = known[word] if word in known else self._term(word)
            if term is not None:
                found.append(term)
        return found

    def _term(self, word: str) -> str | None:
        """Return a word's term, None for a stop word, and remember it."""
        term = None if word in self._dropped else self._stem(word) if self._stem else word
        self._known[word] = term or None
        return term or None
