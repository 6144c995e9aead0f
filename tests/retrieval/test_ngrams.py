"""Character n-grams as the terms of bm25."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope import Corpus
from rankscope.errors import InputError, UnknownNameError
from rankscope.retrieval.lexical.bm25 import BM25, BM25Options
from rankscope.retrieval.lexical.words import Analyzer, ngrams_of
from rankscope.retrieval.options import Reading
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import SYSTEMS, build_system

TEXTS = {
    "a": "Hirnödem und Lungenödem",
    "b": "Ödeme der Beine; Ödem am Arm",
    "c": "edema of the arm",
    "d": "Nierenversagen, akutes Nierenversagen",
    "e": "",
    "f": "Versagen der Niere im 3. Jahr",
}


def made(texts: Any = TEXTS, **options: Any) -> BM25:
    system = build_system({"bm25": options})
    assert isinstance(system, BM25)
    system.index(Corpus(texts))
    return system


def answer(question: str, texts: Any = TEXTS, **options: Any) -> dict[str, float]:
    (ranking,) = made(texts, **options).search([Query("q", question)], 100)
    return dict(ranking.pairs())


@pytest.mark.parametrize(
    ("low", "high", "text", "terms"),
    [
        (3, 3, "Ödem", [" öd", "öde", "dem", "em "]),
        (3, 5, "Öl", [" öl", "öl ", " öl "]),
        (3, 4, "Arm", [" ar", "arm", "rm ", " arm", "arm "]),
        (2, 2, "am Arm", [" a", "am", "m ", " a", "ar", "rm", "m "]),
        (1, 2, "Öl", ["ö", "l", " ö", "öl", "l "]),  # the mark alone is no term
        (1, 1, "Öl", ["ö", "l"]),
        (5, 6, "Öl", [" öl "]),  # shorter than any n-gram, even with both marks
        (10, 10, "Ödem arm", [" ödem ", " arm "]),
        (6, 6, "O\u0308dem", [" ödem "]),  # two code points, one after NFC
        (3, 3, "दाल", [" दा", "दाल", "ाल "]),  # a vowel sign is a character
        (3, 3, "x\u0302y", [" x\u0302", "x\u0302y", "\u0302y "]),  # no letter of its own in Unicode
        (3, 3, "👍🏽 x 🏳️‍🌈!", []),  # no words of two letters or more
        (3, 3, " \n ", []),
    ],
)
def test_terms(low: int, high: int, text: str, terms: list[str]) -> None:
    assert Analyzer("none", (), ngrams=(low, high)).terms(text) == terms


def naive_ngrams(word: str, low: int, high: int) -> list[str]:
    """Return every substring of the padded word that is long enough, the mark alone left out."""
    padded = f" {word} "
    spans = [(i, j) for i in range(len(padded)) for j in range(i + 1, len(padded) + 1)]
    grams = [padded[i:j] for i, j in spans if low <= j - i <= high and padded[i:j] != " "]
    return grams or [padded]


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="abäß1東\u0302", min_size=1, max_size=14), st.integers(1, 10), st.data())
def test_terms_are_the_substrings(word: str, low: int, data: Any) -> None:
    high = data.draw(st.integers(low, 10))
    assert Counter(ngrams_of(word, low, high)) == Counter(naive_ngrams(word, low, high))


@pytest.mark.parametrize(("low", "high", "k1", "b"), [(3, 5, 1.5, 0.75), (1, 2, 0.9, 0.4)])
def test_scores_are_those_of_the_formula(low: int, high: int, k1: float, b: float) -> None:
    def terms(text: str) -> list[str]:
        words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
        return [g for word in words if len(word) > 1 for g in naive_ngrams(word, low, high)]

    documents = {doc_id: Counter(terms(text)) for doc_id, text in TEXTS.items()}
    average = sum(document.total() for document in documents.values()) / len(documents)
    for question in ["Ödem", "Hirnoedem Arm Arm", "nirenversagn", "im"]:
        expected: Counter[str] = Counter()
        for term in terms(question):
            n = sum(term in document for document in documents.values())
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            for doc_id, document in documents.items():
                tf, length = document[term], document.total()
                share = idf * tf / (tf + k1 * (1 - b + b * length / average))
                expected[doc_id] += share  # type: ignore[assignment]
        found = answer(question, ngrams=[low, high], k1=k1, b=b)
        assert found == pytest.approx({d: s for d, s in expected.items() if s > 0}, rel=1e-5)


def test_a_composed_letter_is_the_same_as_its_parts() -> None:
    apart = {doc_id: unicodedata.normalize("NFD", text) for doc_id, text in TEXTS.items()}
    assert answer("Ödem", apart, ngrams=3) == answer("O\u0308DEM", ngrams=3) != {}


def test_stop_words_are_dropped_if_given() -> None:
    assert "c" in answer("the", ngrams=3)
    assert answer("the", ngrams=3, stopwords=["the"]) == {}
    assert "c" in answer("other", ngrams=3)
    assert "c" not in answer("other", ngrams=3, stopwords=["the"])  # no part of it is left
    assert answer("the arm", ngrams=3, stopwords=[]) == answer("the arm", ngrams=3)


def test_words_of_one_letter_and_texts_without_words_are_not_found() -> None:
    assert answer("3", ngrams=1) == answer("👍", ngrams=1) == answer("", ngrams=1) == {}
    assert "e" not in answer("Ödem Arm Niere", ngrams=1)


def test_lengths() -> None:
    for lengths, expected in (
        (3, (3, 3)),
        ((1, 10), (1, 10)),
        (None, None),
    ):
        assert BM25Options.model_validate({"ngrams": lengths}).ngrams == expected
    options = BM25Options.model_validate({"ngrams": [2, 4], "stopwords": ["the"]})
    assert BM25Options.model_validate(options.plain(), strict=False) == options


@pytest.mark.parametrize(
    "given", [0, 1000, [3], [3, 4, 5], [3, 11], [], "3", 3.5, [3, True], [5, 3]]
)
def test_other_lengths_are_refused(given: Any) -> None:
    with pytest.raises(InputError, match=r"^bm25\.ngrams: ") as caught:
        build_system({"bm25": {"ngrams": given}})
    assert "\n" not in str(caught.value)


def test_a_language_beside_ngrams_is_refused() -> None:
    with pytest.raises(InputError, match=r"^bm25\.language: "):
        build_system({"bm25": {"ngrams": 3, "language": "german"}})
    with pytest.raises(UnknownNameError, match="nearest: german"):
        build_system({"bm25": {"ngrams": 3, "language": "gemran"}})
    unexpanded = Reading(unexpanded=True)  # what a variable holds is not known yet
    SYSTEMS.read({"bm25": {"ngrams": 3, "language": "${LANGUAGE}"}}, unexpanded)
    SYSTEMS.read({"bm25": {"ngrams": "${LENGTH}", "language": "german"}}, unexpanded)


def test_the_same_ngrams_have_the_same_identity() -> None:
    def key(**options: Any) -> str:
        return made(**options).identity().key

    assert key(ngrams=3) == key(ngrams=[3, 3]) == key(ngrams=(3, 3), language="none")
    different = [key(), key(language="none"), key(ngrams=3), key(ngrams=[3, 5])]
    assert len({*different}) == 4
