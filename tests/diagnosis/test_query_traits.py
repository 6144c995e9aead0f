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
    phrase,
    question_word,
)
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.text_words import words_of
from real import COLLECTIONS


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
        ("What’s the best way to poach salmon?", "what"),
        ("HOW long", "how"),
        ("whose recipe is this", "who"),
        ("For how long should it rest?", "how"),
        ("And with which flour?", "which"),
        ("I bought rye. Where do I store it?", "where"),
        ("Can I freeze it?", "other question"),
        ("Can I use oil when frying?", "other question"),
        ("rye bread", "none"),
        ("the man who sold bread", "none"),
        ("", "none"),
        ("Mit welchem Mehl backt man das?", "which"),
        ("Was kostet ein Brot", "what"),
        ("wieso ist der Teig so fest", "why"),
        ("Warum nicht?", "why"),
        ("¿Por qué se quema el pan?", "why"),
        ("pour combien de personnes est la recette", "how"),
        ("waarom is het brood zo hard", "why"),
        ("O que é a massa", "what"),
        ("perché la pasta non è buona", "why"),
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
        ("substitute for buttermilk", 2),
        ("how to get crispy skin", 1),
        # parts between joints
        ("bread", 1),
        ("bread with seeds and honey", 3),
        ("bread, rolls; cake", 3),
        ("what similarity laws must be obeyed when constructing models of heated aircraft .", 3),
        # what is left out
        ("bread without wheat", 2),
        ("gluten-free bread", 2),
        ("non-stick pan", 2),
        ("dough that doesn't stick", 2),
        # numbers and quotations
        ("32 gb usb stick", 2),
        ("32GB usb stick", 2),
        ("under 2.5 hours", 1),
        ("tn-2110 toner", 1),
        ('songs like "let it be"', 2),
        ("„Let it be“ von den Beatles", 2),
        # other languages
        ("Brot ohne Weizen mit Nüssen für Kinder", 4),
        ("pain sans gluten avec des noix", 3),
        ("pan sin gluten para niños", 3),
        ("面包，无麸质，儿童", 3),
        # nothing about anything
        ("how", 1),
        ("", 1),
        ("???", 1),
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
    assert field_labels(about, "complexity", bins=4).groups == (
        "simple (1–2)",
        "medium (3–4)",
        "complex (5+)",
    )


@pytest.mark.skipif(not (COLLECTIONS / "recipes").is_dir(), reason="no real collections")
def test_complexity_of_long_questions_is_mixed() -> None:
    """Questions with two wishes in one are medium or complex, and hardly one is simple."""
    queries = rs.read_queries(COLLECTIONS / "recipes" / "queries.jsonl")
    about = known(*(text for _, text in queries.items()))
    counts = dict.fromkeys(("simple (1–2)", "medium (3–4)", "complex (5+)"), 0)
    for label in labels(about, "complexity").values():
        counts[label] += 1
    assert counts["simple (1–2)"] < counts["medium (3–4)"] < counts["complex (5+)"]


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


def test_rarity_without_a_corpus_is_that_among_queries() -> None:
    about = known(*["bread"] * 4, *["bread rolls"] * 4, "rolls rye", "rye", "spelt", "oats")
    groups = field_labels(about, "rarity", bins=4)
    assert [label.split()[0] for label in groups.groups] == ["common", "medium", "rare"]
    assert groups.of["q0"] == (groups.groups[0],)
    assert groups.of["q11"] == (groups.groups[2],)
    assert field_labels(known("", " "), "rarity", bins=4).groups == ()


def test_a_large_corpus_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankscope.diagnosis.query_traits.SAMPLED", 10)
    corpus = rs.Corpus({f"d{number}": f"word{number % 2}" for number in range(101)})
    about = known("word0", "word1", "word2", corpus=corpus)
    assert len(labels(about, "rarity")) == 3


QRELS = {
    "q0": {"a": 2, "b": 1, "c": 0},
    "q1": {"a": 1},
    "q2": {"a": 0},
    "q3": {"gone": 1},
    "q4": {"b": 3, "a": 1},
}


def test_relevant_documents_are_counted() -> None:
    about = known("x", "x", "x", "x", "x", "not judged", qrels=as_judgments(QRELS))
    assert labels(about, "relevant documents") == {
        "q0": "2",
        "q1": "1",
        "q2": "0",
        "q3": "1",
        "q4": "2",
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
    assert labels(
        known("rye", "rye oats spelt", qrels=as_judgments(QRELS), corpus=corpus), "overlap"
    ) == {
        "q0": "all words",
        "q1": "less than half",
    }


def test_what_is_lacking() -> None:
    about = known("rye", "bread")
    assert (
        lacking(about, "overlap") == lacking(about, "relevant documents") == "no qrels were given"
    )
    assert field_labels(about, "overlap", bins=4).unlabelled == 2
    judged = known("rye", qrels=as_judgments({"q0": {"a": 1}}))
    assert lacking(judged, "overlap") == "no corpus was given"
    assert lacking(judged, "complexity") == lacking(judged, "kind") == ""


def test_metadata_of_such_a_name_wins() -> None:
    about = Known([("q0", "rye", {"overlap": "high", "complexity": 3}), ("q1", "rye", {})])
    assert lacking(about, "overlap") == ""
    assert field_labels(about, "overlap", bins=4).of == {"q0": ("high",)}
    assert field_labels(about, "complexity", bins=4).of == {"q0": ("3",)}


@pytest.mark.parametrize(
    ("field", "label", "words"),
    [
        ("words", "1–4", "of 1–4 words"),
        ("rarity", "rare (4.5+)", "of rare words (mean IDF 4.5+)"),
        ("rarity", "3.1", "with rarity = 3.1"),
        ("question word", "none", "without a question word"),
        ("question word", "how", "with question word = how"),
        ("complexity", "complex (5+)", "with 5 constraints or more"),
        ("overlap", "no word", "that share no word with the best relevant document"),
        ("category", "timing", "with category = timing"),
    ],
)
def test_phrases(field: str, label: str, words: str) -> None:
    assert phrase(field, label) == words
