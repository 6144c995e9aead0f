"""Copies: which documents have the same text."""

from __future__ import annotations

import polars as pl

import rankscope as rs
from rankscope.diagnosis.text_copies import text_copies


def groups(corpus: rs.Corpus) -> set[frozenset[str]]:
    copies = text_copies(corpus)
    return {
        frozenset(copies.filter(pl.col("group") == group)["doc_id"])
        for group in copies["group"].unique()
    }


def test_copies_share_a_group() -> None:
    corpus = rs.Corpus(
        {
            "a": {"title": "Soup", "text": "Boil."},
            "b": {"title": "soup", "text": "boil."},
            "c": {"text": "Soup Boil."},  # the title is part of the text
            "d": {"title": "Stew", "text": "Boil."},
            "e": {"title": "", "text": " "},
            "f": {"text": ""},
            "g": "One more",
            "h": "one  MORE",
        }
    )
    assert groups(corpus) == {frozenset("abc"), frozenset("gh")}


def test_no_copies() -> None:
    assert groups(rs.Corpus({"a": "one", "b": "two"})) == set()
    assert groups(rs.Corpus({})) == set()
