"""Texts as copies are looked for in them: one normal form, one way to take words.

The normal form leaves case, spacing and compatibility forms aside: two documents with the same
normal form are exact copies. Words leave punctuation aside as well. Both are turned into 64-bit
hashes, so that comparing texts is comparing numbers.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import numpy.typing as npt

    from rankscope.collection.corpus import Corpus
    from rankscope.diagnosis.rankings import Rankings
    from rankscope.measures.judged import IntArray

    KeyArray: TypeAlias = npt.NDArray[np.uint64]

LONGEST_TITLE = 80
"""So many characters of a title are shown."""

_NO_BLANKS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = rf"[{_NO_BLANKS}]|[\w--[{_NO_BLANKS}]]+"
"""Letters and digits in a row; of scripts without blanks between words, each character."""

_ODD = np.uint64(0x9E3779B97F4A7C15)


def normal_form(text: str) -> str:
    r"""Return a text without what copies may differ in: case, spacing, compatibility forms.

    >>> normal_form("Leek\n  SOUP ½")
    'leek soup 1⁄2'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def word_forms(texts: Sequence[str]) -> list[str]:
    """Return the `word_form` of each text."""
    forms: list[str] = _taken_apart([normal_form(text) for text in texts]).list.join(" ").to_list()
    return forms


def _taken_apart(forms: Sequence[str]) -> pl.Series:
    return pl.Series(forms, dtype=pl.String).str.extract_all(_WORD)


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of some texts, one after the other, as hashes."""

    hashes: KeyArray
    """By word."""
    offsets: IntArray
    """The words of text i are ``offsets[i]:offsets[i + 1]``."""

    @classmethod
    def of(cls, forms: Sequence[str]) -> Words:
        """Take texts in their normal form apart."""
        lists = _taken_apart(forms)
        lengths = lists.list.len()
        hashes = lists.filter(lengths > 0).explode().hash().to_numpy()
        ends = np.cumsum(lengths.to_numpy().astype(np.int64))
        return cls(hashes, np.concatenate([[0], ends]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def shingles(self, width: int) -> tuple[KeyArray, IntArray]:
        """Return a hash for each ``width`` words in a row, and the text it is from.

        A text with fewer words has one, of all its words; a text without words has none.
        """
        sizes = np.diff(self.offsets)
        counts = np.where(sizes > 0, np.maximum(sizes - width + 1, 1), 0)
        text = np.repeat(np.arange(len(sizes)), counts)
        first = np.arange(len(text)) - np.repeat(np.cumsum(counts) - counts, counts)
        start = first + self.offsets[:-1][text]
        hashes = np.zeros(len(text), np.uint64)
        last = len(self.hashes) - 1
        is_short = bool((sizes < width).any())
        for step in range(width):
            following = hashes * _ODD + self.hashes[np.minimum(start + step, last)]
            hashes = np.where(step < sizes[text], following, hashes) if is_short else following
        return hashes, text


def keyed(query: IntArray, other: IntArray | KeyArray) -> KeyArray:
    """Return one key for a query and a number or hash of something else."""
    mixed: KeyArray = (other.astype(np.uint64) + np.uint64(1)) * _ODD ^ query.astype(np.uint64)
    return mixed


class DocumentTexts:
    """What documents are called, where in the corpus they are, and which have the same text."""

    def __init__(self, corpus: Corpus, titles: Callable[[str], str | None] | None = None) -> None:
        self.corpus = corpus
        self._titles = titles

    def title(self, doc_id: str) -> str | None:
        """Return a document's title, or the beginning of its text; None if it is not known."""
        if self.corpus and doc_id in self.corpus:
            document = self.corpus[doc_id]
            title: str | None = document.title or document.text
        else:
            title = None if self._titles is None else self._titles(doc_id)
        line = " ".join(title[: 4 * LONGEST_TITLE].split()) if title else ""
        return line[:LONGEST_TITLE] or None

    def places(self, doc_ids: pl.Series) -> IntArray:
        """Return where in the corpus documents are; -1: nowhere."""
        return self.corpus.positions(doc_ids).to_numpy()

    def by_importance(self, rankings: Rankings, cutoff: int) -> IntArray:
        """Return the places of all documents, the judged and those in the first k first.

        Both as they are in the corpus: what cannot look at all documents looks at the first ones.
        """
        is_first = np.zeros(len(self.corpus), np.bool_)
        ids = [
            rankings.judged_ids.cast(pl.String),
            *(ranking.doc_ids(ranking.top(cutoff)) for ranking in rankings.systems.values()),
        ]
        places = self.places(pl.concat(ids))
        is_first[places[places >= 0]] = True
        return np.concatenate([np.flatnonzero(is_first), np.flatnonzero(~is_first)])

    def forms(self, places: IntArray) -> list[str]:
        """Return the normal forms of some documents; '' where there is no text."""
        return [normal_form(text) for text in self.corpus.texts(places)]

    def text_keys(self, places: IntArray) -> KeyArray:
        """Return a hash of each document's text in its normal form; 0 where there is none."""
        forms = pl.Series(self.forms(places), dtype=pl.String)
        return np.where((forms != "").to_numpy(), forms.hash().to_numpy(), np.uint64(0))
