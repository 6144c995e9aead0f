"""Traits of queries: each rule on examples, in several languages, and the groups that follow."""

from __future__ import annotations

import math
from typing import Any

import pytest

import rankscope as rs
from rankscope.diagnosis.function_words import LANGUAGES, NO_LANGUAGE, languages_of
from rankscope.diagnosis.query_traits import (
    Known,
    constraints,
    field_labels,
    lacking,
    question_word,
)
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.text_words import words_of


def language_of(text: str) -> Any:
    [language] = languages_of([words_of(text)])
    return language


def known(*texts: str, **given: Any) -> Known:
    queries: list[Any] = [(f"q{number}", text, {}) for number, text in enumerate(texts)]
    return Known(queries, **given)


def labels(about: Known, field: str, bins: int = 4) -> dict[str, str]:
    groups = field_labels(about, field, bins=bins)
    assert {label for (label,) in groups.of.values()} == {*groups.groups}
    assert groups.unlabelled == len(about.queries) - len(groups.of)
    return {query_id: label for query_id, (label,) in groups.of.items()}


# --- languages


def test_each_word_has_one_job_in_its_language() -> None:
    for language in LANGUAGES:
        words = [*language.joints, *language.negations, *language.others, *language.questions]
        assert len(words) == len({*words}), language.language
        assert all(words_of(word) == word.split() for word in words), language.language
        asked = {"who", "what", "which", "when", "where", "why", "how"}
        assert {*language.questions.values()} == asked, language.language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("how long does the dough rest", "English"),
        ("wie lange muss der Teig ruhen", "German"),
        ("combien de temps la pâte doit reposer", "French"),
        ("cuánto tiempo tiene que reposar la masa", "Spanish"),
        ("quanto tempo deve riposare la pasta", "Italian"),
        ("hoe lang moet het deeg rusten", "Dutch"),
        ("quanto tempo a massa deve descansar", "Portuguese"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert language_of(text).language == language


def test_a_query_without_function_words_is_read_like_the_others() -> None:
    german = ["was kostet das", "wie backt man Brot", "was gibt es", "Brot", "was kostet Brot"]
    texts = [words_of(text) for text in (*german, "how is the bread")]
    names = [language.language for language in languages_of(texts)]
    assert names == ["German"] * 5 + ["English"]
    assert languages_of([["xyz"], ["東"]]) == [NO_LANGUAGE] * 2
    assert languages_of([]) == []


# --- question words


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("What's the best way to poach salmon?", "what"),
        ("HOW long", "how"),
        ("For how long should it rest?", "how"),
        ("And with which flour?", "which"),
        ("I bought rye. Where do I store it?", "where"),
        ("Can I use oil when frying?", "other question"),
        ("rye bread", "none"),
        ("the man who sold bread", "none"),
        ("", "none"),
        ("Mit welchem Mehl backt man das?", "which"),
        ("¿Por qué se quema el pan?", "why"),
        ("これは何ですか？", "other question"),
    ],
)
def test_question_words(text: str, asked: str) -> None:
    assert question_word(text, language_of(text)) == asked


# --- constraints


@pytest.mark.parametrize(
    ("text", "count"),
    [
        # the examples of the tutorial
        ("What air fryer temperature for crispy vegetables?", 2),
        ("How long to marinate Korean bulgogi?", 1),
        # parts between joints
        ("bread", 1),
        ("bread with seeds and honey", 3),
        ("bread, rolls; cake", 3),
        # what is left out
        ("bread without wheat", 2),
        ("dough that doesn't stick", 2),
        # numbers and quotations
        ("32 gb usb stick", 2),
        ("under 2.5 hours", 1),
        ('songs like "let it be"', 2),
        ("„Let it be“ von den Beatles", 2),
        # other languages
        ("Brot ohne Weizen mit Nüssen für Kinder", 4),
        ("面包，无麸质，儿童", 3),
        # nothing about anything
        ("how", 1),
        ("", 1),
    ],
)
def test_constraints(text: str, count: int) -> None:
    assert constraints(text, language_of(text)) == count


def test_complexity_has_three_classes() -> None:
    about = known(
        "bread",
        "bread with seeds",
        "bread with seeds and honey",
        "bread with seeds and honey for 4 people in winter",
        " ",
    )
    assert labels(about, "complexity") == {
        "q0": "simple (1–2)",
        "q1": "simple (1–2)",
        "q2": "medium (3–4)",
        "q3": "complex (5+)",
    }


# --- rarity, relevant documents, overlap


def test_rarity_is_the_mean_idf_of_words_about_something() -> None:
    corpus = rs.Corpus(
        {
            f"d{number}": "bread " + ("rye " * (number < 2)) + ("yeast " * (number < 5))
            for number in range(9)
        }
    )
    texts = ["the bread", "bread yeast", "rye", "spelt", "the rye", "yeast", "bread bread rye"]
    about = known(*texts, corpus=corpus)
    groups = field_labels(about, "rarity", bins=4)

    def idf(count: int) -> float:
        return math.log(1 + (9 - count + 0.5) / (count + 0.5))

    # bread 9, yeast 5, rye 2, spelt 0 of 9 documents
    assert [round(idf(count), 2) for count in (9, 5, 2, 0)] == [0.05, 0.6, 1.39, 3.0]
    # in order: q0 0.05, q1 0.32, q5 0.6 | q6 0.72, q2 and q4 1.39 | q3 3.0
    assert groups.groups == ("common (below 0.7)", "medium (0.7–2)", "rare (2+)")
    kinds = {query_id: label.split()[0] for query_id, label in labels(about, "rarity").items()}
    assert kinds == {
        **dict.fromkeys(("q0", "q1", "q5"), "common"),
        **dict.fromkeys(("q6", "q2", "q4"), "medium"),
        "q3": "rare",
    }


QRELS = {
    "q0": {"a": 2, "b": 1, "c": 0},
    "q1": {"a": 1},
    "q2": {"a": 0},
    "q3": {"gone": 1},
    "q4": {"b": 3, "a": 1},
}


def test_overlap_is_with_the_best_relevant_document() -> None:
    corpus = rs.Corpus(
        {"a": {"title": "Rye bread", "steps": ["Knead."]}, "b": "spelt cake", "c": "wheat"}
    )
    texts = ["the RYE bread", "knead some cake", "rye", "rye", "rye bread", "rye"]
    about = known(*texts, qrels=as_judgments(QRELS), corpus=corpus)
    assert labels(about, "overlap") == {
        "q0": "all words",  # function words do not count, fields of the document do
        "q1": "half or more",
        # q2 has no relevant document, that of q3 is not in the corpus, q5 is not judged
        "q4": "no word",  # its best document is b
    }
    about = known("rye", "rye oats spelt", qrels=as_judgments(QRELS), corpus=corpus)
    assert labels(about, "overlap") == {"q0": "all words", "q1": "less than half"}


def test_what_is_lacking() -> None:
    about = known("rye", "bread")
    assert "qrels" in lacking(about, "overlap")
    assert "qrels" in lacking(about, "relevant documents")
    assert field_labels(about, "overlap", bins=4).unlabelled == 2
    judged = known("rye", qrels=as_judgments({"q0": {"a": 1}}))
    assert "corpus" in lacking(judged, "overlap")
    assert lacking(judged, "complexity") == lacking(judged, "kind") == ""


def test_metadata_of_such_a_name_wins() -> None:
    about = Known([("q0", "rye", {"overlap": "high", "complexity": 3}), ("q1", "rye", {})])
    assert lacking(about, "overlap") == ""
    assert field_labels(about, "overlap", bins=4).of == {"q0": ("high",)}
    assert field_labels(about, "complexity", bins=4).of == {"q0": ("3",)}
