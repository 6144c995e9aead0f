"""Words: how text becomes the terms that lexical search and rewriting work with.

A text is brought to Unicode NFC and to lower case, and cut into runs of two or more letters,
digits, marks and underscores of any script. Stop words are dropped, then each word is reduced to
its stem, or cut into character n-grams, so that words need not be spelt alike to match. Where a
script writes no space between words, a run is one word.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from runpy import run_path
from threading import Lock
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

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


LONGEST = 10
"""The greatest length of an n-gram: beyond it, most words are terms as a whole."""


def _lengths(value: Any) -> tuple[int, int]:
    """Take lengths as a whole number, or as a list of the lowest and the highest."""
    match [value, value] if type(value) is int else value:
        case [int(low), int(high)] if 1 <= low <= high <= LONGEST and type(high) is int:
            return low, high
    raise ValueError(
        f"a whole number from 1 to {LONGEST}, or a list of the lowest and the highest, as in [3, 5]"
    )


_LENGTH = {"type": "integer", "minimum": 1, "maximum": LONGEST}
_PAIR = {"type": "array", "items": _LENGTH, "minItems": 2, "maxItems": 2}

Ngrams = Annotated[
    tuple[int, int], BeforeValidator(_lengths), WithJsonSchema({"anyOf": [_LENGTH, _PAIR]})
]
"""The lowest and the highest length of n-grams; one number is both."""


def ngrams_of(word: str, low: int, high: int) -> list[str]:
    """Return the character n-grams of a word, shorter ones first, each from left to right.

    The word gets a space on both sides; the space alone is no n-gram. A word that has none, because
    it is shorter with its spaces than ``low``, is a term as a whole.

    Reference: McNamee and Mayfield, Character n-gram tokenization for European language text
    retrieval, Information Retrieval 7 (2004).

    >>> ngrams_of("ödem", 3, 4)
    [' öd', 'öde', 'dem', 'em ', ' öde', 'ödem', 'dem ']
    >>> ngrams_of("öl", 5, 5)
    [' öl ']
    """
    padded = f" {word} "
    grams = [
        padded[start : start + length]
        for length in range(low, high + 1)
        for start in range(len(padded) - length + 1)
    ]
    if low == 1:
        grams = grams[1 : len(padded) - 1] + grams[len(padded) :]
    return grams or [padded]


class _Terms(dict[str, tuple[str, ...]]):
    """The terms of every word met so far; none of a stop word.

    A stemmer must not be used by two threads at once, and words are looked up by many.
    """

    def __init__(self, make: Callable[[str], Iterable[str]], dropped: frozenset[str]) -> None:
        self._make = make
        self._dropped = dropped
        self._lock = Lock()

    def __missing__(self, word: str) -> tuple[str, ...]:
        terms: tuple[str, ...] = ()
        if word not in self._dropped:
            with self._lock:
                # words have most n-grams in common: one text for each
                terms = tuple(map(sys.intern, self._make(word)))
        self[word] = terms
        return terms


class Analyzer:
    """Turns text into terms, for one language.

    ``dropped`` are the stop words (None: those of the language). With ``ngrams``, the terms are the
    character n-grams of words from the lowest to the highest length, and nothing is stemmed.

    >>> Analyzer("english").terms("The Boiling leeks, and Straße!")
    ['boil', 'leek', 'straße']
    >>> Analyzer("none", ["der"], ngrams=(4, 4)).terms("Der Arm!")
    [' arm', 'arm ']
    """

    def __init__(
        self,
        language: str,
        dropped: Iterable[str] | None = None,
        *,
        ngrams: tuple[int, int] | None = None,
    ) -> None:
        if language != "none":
            check_engine("Stemmer", package="PyStemmer", needed_for="stemming")
        if dropped is None:
            check_engine("bm25s", package="bm25s", needed_for="stop words")
        self._language, self._dropped, self._ngrams = language, dropped, ngrams

    @cached_property
    def _terms(self) -> _Terms:
        dropped = stop_words(self._language) if self._dropped is None else self._dropped
        return _Terms(self._maker(), frozenset(dropped))

    def _maker(self) -> Callable[[str], Iterable[str]]:
        """Return what makes the terms of a word."""
        if self._ngrams is not None:
            low, high = self._ngrams
            return lambda word: ngrams_of(word, low, high)
        if self._language == "none":
            return lambda word: (word,)
        stemmer = engine("Stemmer", package="PyStemmer", needed_for="stemming")
        stem = stemmer.Stemmer(self._language).stemWord
        return lambda word: (stem(word),)

    @property
    def rules(self) -> str:
        """The version of the rules by which terms are found, for an identity."""
        return word_rules() if self._ngrams is None else f"{word_rules()}, ngrams 1"

    def words(self, text: str) -> list[str]:
        """Return the words of a text as they are written, in lower case."""
        if text.isascii():
            return _PLAIN_WORDS(text.lower())
        text = unicodedata.normalize("NFC", text).lower()
        return _marked_words()(text) if _has_marks(text) else _PLAIN_WORDS(text)

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, word by word, repeated ones included."""
        return list(chain.from_iterable(map(self._terms.__getitem__, self.words(text))))
