"""Copies: which documents have the same text."""

from __future__ import annotations

import polars as pl

import rankscope as rs
from rankscope.diagnosis.text_copies import normalised, text_copies


def groups(corpus: rs.Corpus) -> set[frozenset[str]]:
    copies = text_copies(corpus)
    return {
        frozenset(copies.filter(pl.col("group") == group)["doc_id"])
        for group in copies["group"].unique()
    }


def test_case_spacing_and_form_do_not_matter() -> None:
    texts = pl.Series(["Leek  Soup", " leek\nsoup ", "ﬁne leek", "leek-soup", ""])
    assert normalised(texts).to_list() == ["leek soup", "leek soup", "fine leek", "leek-soup", ""]


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


def test_titles_and_texts_are_those_of_documents() -> None:
    corpus = rs.Corpus(
        {
            "a": {"title": "A", "text": "text"},
            "b": {"product_title": "B", "product_description": "words", "price": 3},
            "c": {"headline": "C", "text": "text"},
            "d": {"title": ["two", "lines"], "body": {"x": "1", "y": "2"}},
            "e": {"price": 3},
            "f": "plain",
        }
    )
    table = corpus.titles_and_texts()
    expected = [(each.doc_id, each.title, each.text) for each in corpus.documents()]
    assert table.rows() == expected
    assert table.columns == ["doc_id", "title", "text"]
