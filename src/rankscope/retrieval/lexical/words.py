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
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from threading import Lock
from typing import Annotated

from pydantic import AfterValidator

from rankscope.errors import UnknownNameError
from rankscope.retrieval.registry import check_engine, engine

_PLAIN_WORDS = re.compile(r"\w{2,}").findall
_MARKS = ("Mn", "Mc")


def _has_marks(text: str) -> bool:
    r"""Tell whether a text holds accents or vowel signs of their own, which ``\w`` leaves out."""
    return any(unicodedata.category(letter) in _MARKS for letter in {*text} if letter > "\u02ff")


@cache
def _marked_words() -> Callable[[str], list[str]]:
    r"""Return what finds words of ``\w`` and marks; much slower than ``\w`` alone."""
    letters = map(chr, range(0x300, sys.maxunicode + 1))
    marks = "".join(letter for letter in letters if unicodedata.category(letter) in _MARKS)
    return re.compile(rf"[\w{re.escape(marks)}]{{2,}}").findall


def word_rules() -> str:
    """Return the version of the rules by which words are found, for an identity."""
    return f"words 1, Unicode {unicodedata.unidata_version}"


def languages() -> list[str]:
    """List the languages with a stemmer, and ``none``."""
    stemmer = engine("Stemmer", package="PyStemmer", needed_for="stemming")
    return [*stemmer.algorithms(), "none"]


def _known(language: str) -> str:
    names = languages()
    if language not in names:
        raise UnknownNameError("language", language, names)
    return language


Language = Annotated[str, AfterValidator(_known)]
"""One of the languages with a stemmer, or ``none``."""


@cache
def _stop_word_lists() -> dict[str, Iterable[str]]:
    """Read the lists of bm25s; its package is not imported, which would load Numba (110 MB)."""
    check_engine("bm25s", package="bm25s", needed_for="stop words")
    spec = find_spec("bm25s")
    assert spec is not None
    assert spec.origin is not None
    return run_path(str(Path(spec.origin).with_name("stopwords.py")))


def stop_words(language: str) -> frozenset[str]:
    """Return the stop words that bm25s has for a language; none where it has no list."""
    name = {"english": "EN", "porter": "EN", "dutch_porter": "DUTCH"}.get(language)
    return frozenset(_stop_word_lists().get(f"STOPWORDS_{name or language.upper()}", ()))


class _Terms(dict[str, str]):
    """The term of every word met so far; empty for a stop word.

    A stemmer must not be used by two threads at once, and words are looked up by many.
    """

    def __init__(self, stem: Callable[[str], str], dropped: frozenset[str]) -> None:
        self._stem = stem
        self._dropped = dropped
        self._lock = Lock()

    def __missing__(self, word: str) -> str:
        if word in self._dropped:
            term = ""
        else:
            with self._lock:
                term = self._stem(word)
        self[word] = term
        return term


class Analyzer:
    """Turns text into terms, for one language.

    ``dropped`` are the stop words (None: those of the language).

    >>> Analyzer("english").terms("The Boiling leeks, and Straße!")
    ['boil', 'leek', 'straße']
    """

    def __init__(self, language: str, dropped: Iterable[str] | None = None) -> None:
        if language != "none":
            check_engine("Stemmer", package="PyStemmer", needed_for="stemming")
        if dropped is None:
            check_engine("bm25s", package="bm25s", needed_for="stop words")
        self._language = language
        self._dropped = dropped

    @cached_property
    def _terms(self) -> _Terms:
        stem: Callable[[str], str] = str
        if self._language != "none":
            stemmer = engine("Stemmer", package="PyStemmer", needed_for="stemming")
            stem = stemmer.Stemmer(self._language).stemWord
        dropped = stop_words(self._language) if self._dropped is None else self._dropped
        return _Terms(stem, frozenset(dropped))

    @property
    def rules(self) -> str:
        """The version of the rules by which terms are found, for an identity."""
        return word_rules()

    def words(self, text: str) -> list[str]:
        """Return the words of a text as they are written, in lower case."""
        if text.isascii():
            return _PLAIN_WORDS(text.lower())
        text = unicodedata.normalize("NFC", text).lower()
        return _marked_words()(text) if _has_marks(text) else _PLAIN_WORDS(text)

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, in order, repeated ones included."""
        known = self._terms
        return [term for word in self.words(text) if (term := known[word])]
