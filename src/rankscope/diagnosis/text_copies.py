"""Copies: documents of a corpus that have the same text under different ids.

Texts are the same if their normal forms are (`rankscope.diagnosis.document_texts`). A document
without words is a copy of none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.diagnosis.document_texts import DocumentTexts

if TYPE_CHECKING:
    from rankscope.collection.corpus import Corpus


def text_copies(corpus: Corpus) -> pl.DataFrame:
    """Return doc_id and group of every document that has a copy; copies share their group."""
    texts = DocumentTexts(corpus)
    places = np.arange(len(corpus))
    # few texts begin alike, and only these are compared
    openings = pl.Series(texts.opening_keys(places), dtype=pl.UInt64)
    alike = places[openings.is_duplicated().to_numpy()]
    ids = pl.Series(corpus.ids, dtype=pl.String).gather(alike)
    frame = pl.DataFrame({"doc_id": ids, "form": pl.Series(texts.forms(alike), dtype=pl.String)})
    frame = frame.filter((pl.col("form") != "") & pl.col("form").is_duplicated())
    return frame.select("doc_id", group=pl.col("form").rank("dense").cast(pl.Int64) - 1)
