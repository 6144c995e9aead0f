"""Texts and their likeness: the same as the naive twins say, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.diagnosis import near_copies as module
from rankscope.diagnosis.document_texts import (
    DocumentTexts,
    Words,
    normal_form,
    word_forms,
)
from rankscope.diagnosis.near_copies import near_copies


@pytest.mark.parametrize(
    ("text", "form", "words"),
    [
        ("Leek\u00a0 SOUP!", "leek soup!", "leek soup"),
        ("Straße", "strasse", "strasse"),
        ("\uff21\uff22\uff23 \u2460", "abc 1", "abc 1"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ", "σίσυφοσ"),
        ("C++ and C#", "c++ and c#", "c and c"),
        ("白いネコ cat", "白いネコ cat", "白 い ネ コ cat"),
        ("नमस्ते दुनिया", "नमस्ते दुनिया", "नमस्ते दुनिया"),
        (" \t", "", ""),
    ],
)
def test_forms(text: str, form: str, words: str) -> None:
    assert normal_form(text) == form
    assert word_forms([text, text]) == [words, words]


def shingle_set(text: str, width: int) -> set[tuple[str, ...]]:
    words = word_forms([text])[0].split()
    count = max(len(words) - width + 1, 1) if words else 0
    return {tuple(words[at : at + width]) for at in range(count)}


def naive_groups(texts: list[str], width: int, threshold: float) -> list[frozenset[int]]:
    """Compare all pairs of sets; link what is alike."""
    sets = [shingle_set(text, width) for text in texts]
    groups = [{number} for number in range(len(texts))]
    for a in range(len(texts)):
        for b in range(a):
            union = len(sets[a] | sets[b])
            if union and len(sets[a] & sets[b]) / union >= threshold:
                joined = groups[a] | groups[b]
                for member in joined:
                    groups[member] = joined
    return sorted({frozenset(group) for group in groups}, key=min)


def groups_of(texts: list[str], width: int, threshold: float) -> list[frozenset[int]]:
    copies = near_copies(
        Words.of([normal_form(text) for text in texts]), width=width, threshold=threshold
    )
    assert copies.left_out == 0
    sets = [shingle_set(text, width) for text in texts]
    sets = [shingle_set(text, width) for text in texts]
    for a, b, alike in zip(copies.left, copies.right, copies.similarity, strict=True):
        assert alike == pytest.approx(len(sets[a] & sets[b]) / len(sets[a] | sets[b]))
    return sorted(
        (
            frozenset(np.flatnonzero(copies.group == group).tolist())
            for group in set(copies.group.tolist())
        ),
        key=min,
    )


LETTERS = st.lists(st.sampled_from("abc"), max_size=12).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(LETTERS, min_size=1, max_size=12),
    st.sampled_from([1, 2, 3, 5]),
    st.sampled_from([0.5, 0.6, 0.8, 0.9, 1.0]),
)
def test_near_copies_are_those_of_all_pairs(texts: list[str], width: int, threshold: float) -> None:
    assert groups_of(texts, width, threshold) == naive_groups(texts, width, threshold)


def test_what_is_too_much_is_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PAIRS", 2)
    texts = [f"a b c d e f g h {n}" for n in range(5)]
    copies = near_copies(Words.of(texts), width=1, threshold=0.5)
    assert copies.left_out > 0


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_COMPARED", 8)
    texts = [f"a b c d e f g h {n % 3}" for n in range(9)] + ["x y z"]
    assert groups_of(texts, 1, 0.9) == naive_groups(texts, 1, 0.9)


TEXTS = st.text(alphabet="aA bß\n\u00a0\uff21\u0301é\x1c", max_size=90)


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=8))
def test_texts_that_are_the_same_have_one_key(texts: list[str]) -> None:
    corpus = rs.Corpus({f"d{n}": text for n, text in enumerate(texts)})
    keys = DocumentTexts(corpus).text_keys(np.arange(len(texts)))
    for key, text in zip(keys, texts, strict=True):
        assert (key == 0) == (not normal_form(text))
        for other, another in zip(keys, texts, strict=True):
            assert (key == other) == (normal_form(text) == normal_form(another))
