"""Copies: documents of a corpus that have the same text under different ids.

Texts are the same if their titles and texts have the same words, whatever their case and spacing:
in Unicode's compatibility form (NFKC), in lower case, with single spaces. A document without words
is a copy of none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from rankscope.collection.corpus import Corpus


def normalised(texts: pl.Series) -> pl.Series:
    r"""Return texts in the form in which they are compared.

    >>> normalised(pl.Series(["Leek  Soup", "leek\nsoup", "ﬁne Leek"])).to_list()
    ['leek soup', 'leek soup', 'fine leek']
    """
    plain = texts.str.normalize("NFKC").str.to_lowercase()
    return plain.str.replace_all(r"\s+", " ").str.strip_chars()


def text_copies(corpus: Corpus) -> pl.DataFrame:
    """Return doc_id and group of every document that has a copy; copies share their group."""
    documents = corpus.titles_and_texts()
    texts = documents["title"] + " " + documents["text"]
    frame = pl.DataFrame({"doc_id": documents["doc_id"], "words": normalised(texts)})
    frame = frame.filter(pl.col("words") != "")
    # numbers first: few documents have copies, and only their words are compared as text
    frame = frame.filter(frame["words"].hash().is_duplicated())
    frame = frame.filter(pl.col("words").is_duplicated())
    return frame.select("doc_id", group=pl.col("words").rank("dense").cast(pl.Int64) - 1)
