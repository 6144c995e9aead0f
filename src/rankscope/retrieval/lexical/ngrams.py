"""Character n-grams: parts of words as terms, so that words need not be spelt alike to match.

Words are found as in `words`. Each gets a boundary mark on both sides, and its terms are the runs
of ``low`` to ``high`` characters (Unicode code points) of that; the mark alone is no term. A word
that has no such run, because it is shorter with its marks than ``low``, is a term as a whole.
Nothing is stemmed, and accents stay.

Reference: McNamee and Mayfield, Character n-gram tokenization for European language text
retrieval, Information Retrieval 7 (2004).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from rankscope.retrieval.lexical.words import Analyzer, word_rules
from rankscope.retrieval.options import SpecError, given_as

BOUNDARY = " "
"""Stands before and after each word; no word holds it."""

LONGEST = 10
"""The greatest length of an n-gram: beyond it, most words are terms as a whole."""


def _lengths(value: Any) -> tuple[int, int]:
    """Take lengths as a whole number, or as a list of the lowest and the highest."""
    given = [value, value] if _is_length(value) else value
    if not isinstance(given, list | tuple) or not all(map(_is_length, given)) or len(given) != 2:
        raise SpecError(f"expected {_EXPECTED}, got {_shown(value)}")
    low, high = map(int, given)
    if low > high:
        raise SpecError(
            f"expected the lowest length before the highest, as in [{high}, {low}], got "
            f"[{low}, {high}]"
        )
    return low, high


def _is_length(value: Any) -> bool:
    is_whole = hasattr(value, "__index__") and not isinstance(value, bool)  # NumPy's, too
    return is_whole and 1 <= value <= LONGEST


def _shown(value: Any) -> str:
    """Say what was given; a list with what it holds, which is where the mistake is."""
    if isinstance(value, list | tuple) and 0 < len(value) < 4:
        return f"[{', '.join(map(given_as, value))}]"
    return given_as(value)


_EXPECTED = (
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

    >>> ngrams_of("ödem", 3, 4)
    [' öd', 'öde', 'dem', 'em ', ' öde', 'ödem', 'dem ']
    >>> ngrams_of("öl", 5, 5)
    [' öl ']
    """
    padded = f"{BOUNDARY}{word}{BOUNDARY}"
    size = len(padded)
    grams = [
        padded[start : start + length]
        for length in range(max(low, 2), high + 1)
        for start in range(size - length + 1)
    ]
    if low == 1:
        grams[:0] = word  # its characters, without the marks
    return grams or [padded]


class _Grams(dict[str, tuple[str, ...]]):
    """The n-grams of every word met so far; none of a stop word.

    Two threads that meet a new word at once find the same, and either may be kept.
    """

    def __init__(self, low: int, high: int, dropped: frozenset[str]) -> None:
        self._low, self._high = low, high
        self._dropped = dropped
        self._kept: dict[str, str] = {}  # words have most n-grams in common: one text for each

    def __missing__(self, word: str) -> tuple[str, ...]:
        grams: tuple[str, ...] = ()
        if word not in self._dropped:
            keep = self._kept.setdefault
            grams = tuple([keep(gram, gram) for gram in ngrams_of(word, self._low, self._high)])
        self[word] = grams
        return grams


class NgramAnalyzer(Analyzer):
    """Turns text into character n-grams of ``low`` to ``high`` characters.

    ``dropped`` are words that have none.

    >>> NgramAnalyzer(4, 4, ["der"]).terms("Der Arm!")
    [' arm', 'arm ']
    """

    def __init__(self, low: int, high: int, dropped: Iterable[str] = ()) -> None:
        super().__init__("none", ())
        self._grams = _Grams(low, high, frozenset(dropped))

    @property
    def rules(self) -> str:
        """The version of the rules by which terms are found, for an identity."""
        return f"{word_rules()}, ngrams 1"

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, word by word, repeated ones included."""
        return list(chain.from_iterable(map(self._grams.__getitem__, self.words(text))))
