"""Search by words: the scores of bm25, its words, and the index that is kept."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import bm25s  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope import Corpus
from rankscope.errors import InputError, UnknownNameError
from rankscope.retrieval.lexical.bm25 import BM25
from rankscope.retrieval.lexical.words import Analyzer, stop_words
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system
from rankscope.runs.order import best_positions

TEXTS = {
    f"d{n}": " ".join(
        ["salt", "butter", "The leeks", "boiling", "and", "ovens", "x", "42"][k % (2 + n % 7)]
        for k in range(3 + 5 * n % 11)
    )
    for n in range(25)
}
QUESTIONS = ["boiled leek", "the butter and the salt", "oven 42 salt salt", "x", "nothing known"]


def answer(spec: Any, texts: Any, question: str, depth: int = 10) -> list[tuple[str, float]]:
    system = build_system({"bm25": spec})
    system.index(Corpus(texts))
    (ranking,) = system.search([Query("q", question)], depth)
    return ranking.pairs()


def test_scores_are_those_of_the_formula() -> None:
    """To the last bit they are those of bm25s: `tests/slow/test_large_collections.py`."""
    documents = [text.split() for text in TEXTS.values()]
    average = sum(map(len, documents)) / len(documents)
    expected = {}
    for doc_id, document in zip(TEXTS, documents, strict=True):
        score = 0.0
        for word in ["salt", "butter", "salt"]:
            n = sum(word in document for document in documents)
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            tf = document.count(word)
            score += idf * tf / (tf + 1.5 * (0.25 + 0.75 * len(document) / average))
        expected[doc_id] = score
    options = {"language": "none", "stopwords": []}
    # words of one letter are not counted, so the texts here have none
    documents_long = {doc_id: text.replace("x", "xx") for doc_id, text in TEXTS.items()}
    for doc_id, score in answer(options, documents_long, "salt butter salt", 100):
        assert score == pytest.approx(expected[doc_id], rel=1e-5)


def test_weights_count_a_field_that_often() -> None:
    texts = {
        "a": {"title": "leek", "text": "soup of many things"},
        "b": {"title": "pie", "text": "leek and soup"},
    }
    written = {
        doc_id: {"text": f"{row['title']} {row['title']} {row['title']} {row['text']}"}
        for doc_id, row in texts.items()
    }
    weighted = answer({"fields": {"title": 3, "text": 1}}, texts, "leek soup")
    assert weighted == answer({}, written, "leek soup")
    assert [doc_id for doc_id, _ in answer({"fields": ["title"]}, texts, "soup")] == []


def test_lists_are_joined_and_other_names_found() -> None:
    texts = {"a": {"headline": "Pie", "body": "flour", "ingredients": ["apple", "sugar cane"]}}
    assert answer({"fields": ["ingredients"]}, texts, "cane")
    assert answer({}, texts, "pie")
    assert answer({}, texts, "flour")
    with pytest.raises(UnknownNameError, match="nearest: ingredients"):
        answer({"fields": ["ingredient"]}, texts, "cane")


def test_nothing_but_stop_words_is_said() -> None:
    with pytest.raises(InputError, match="no document"):
        answer({}, {"a": "the and of", "b": "the"}, "the")


def test_documents_without_text_are_noted() -> None:
    system = build_system("bm25")
    system.index(Corpus({"a": "soup", "b": "", "c": "  "}))
    (note,) = system.notes
    assert "2 of 3 documents" in note


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("english", "The Boiling of leeks, don't!", ["boil", "leek", "don"]),
        ("none", "The Boiling of x", ["the", "boiling", "of"]),
        ("german", "Die Straßen und Häuser", ["strass", "haus"]),
        ("russian", "и супы", ["суп"]),
        ("none", "Cafe\u0301 CAFÉ", ["café", "café"]),
        ("none", "हिन्दी में दाल", ["हिन्दी", "में", "दाल"]),
        ("none", "東京都 naïve_name 3.14", ["東京都", "naïve_name", "14"]),
        ("none", "İstanbul", ["i̇stanbul"]),
    ],
)
def test_words(language: str, text: str, terms: list[str]) -> None:
    assert Analyzer(language, stop_words(language)).terms(text) == terms


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="abC é\u0301ßΣ1_-\n", max_size=40))
def test_words_of_plain_text_are_those_of_bm25s(text: str) -> None:
    words = Analyzer("none", ()).words(text)
    if not re.search("\u0301", text):
        assert (
            words
            == bm25s.tokenize([text], stopwords=None, return_ids=False, show_progress=False)[0]
        )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.integers(1, 45))
def test_best_positions(scores: list[int], depth: int) -> None:
    expected = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:depth]
    assert best_positions(np.array(scores, np.float32), depth).tolist() == expected


def test_the_index_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(spec: Any = "bm25") -> list[tuple[str, float]]:
        system = build_system(spec, cache=tmp_path)
        system.index(Corpus(TEXTS))
        (ranking,) = system.search([Query("q", QUESTIONS[0])], 5)
        return ranking.pairs()

    def again(*_: object) -> None:
        raise AssertionError("indexed again")

    expected = answers()
    (entry,) = (tmp_path / "indexes").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(BM25, "_indexed", again)
        assert answers() == expected
        with pytest.raises(AssertionError, match="indexed again"):
            answers({"bm25": {"b": 0.1}})
    good = entry.read_bytes()
    for damage in (b"", good[:-7], good[:100] + b"x" + good[101:], b"not at all"):
        entry.write_bytes(damage)
        assert answers() == expected
        assert entry.read_bytes() == good
