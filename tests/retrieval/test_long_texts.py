"""Texts that are longer than what is tokenised at a time."""

from __future__ import annotations

import numpy as np
import pytest

from rankscope.retrieval.registry import Context
from rankscope.retrieval.vector import embedders
from rankscope.retrieval.vector.embedders import EMBEDDERS, embedded, pieces_of


@pytest.mark.parametrize("text", ["", "abc", "a b c d e f", "a" * 30, "ab " * 20, "   "])
def test_pieces_make_the_text(text: str) -> None:
    pieces = list(pieces_of(text, 7))
    assert "".join(pieces) == text
    assert all(1 <= len(piece) <= 7 for piece in pieces)


def test_words_stay_whole() -> None:
    assert list(pieces_of("apple pie with cream", 10)) == ["apple pie", " with", " cream"]


def test_a_long_text_has_the_vector_of_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = EMBEDDERS.build("wordllama", Context())
    texts = ["apple pie with cream and coffee " * 40, "short", ""]
    whole = embedded(embedder, texts)
    monkeypatch.setattr(embedders, "_PIECE", 200)
    pieces = embedded(embedder, texts)
    assert np.array_equal(whole[1:], pieces[1:])
    cosine = whole[0] @ pieces[0] / np.linalg.norm(whole[0]) / np.linalg.norm(pieces[0])
    assert cosine > 0.99
