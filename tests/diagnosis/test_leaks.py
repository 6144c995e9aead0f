"""Leaks: planted ones are found, with what they are worth, and shared words alone are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis.leaks import Leaks
from rankscope.findings import NotApplicable


def answer_to(qrels: Any, runs: Any, measure: str = "RR@2", **given: Any) -> Any:
    diagnosis = rs.diagnose(qrels, runs, [measure], only="leaks", **given)
    return getattr(diagnosis.analyses, "leaks")  # noqa: B009


def look(qrels: Any, runs: Any, measure: str = "RR@2", **given: Any) -> Leaks:
    answer = answer_to(qrels, runs, measure, **given)
    assert isinstance(answer, Leaks)
    assert Leaks.model_validate(answer.to_dict()) == answer
    return answer


def counts(result: Leaks) -> dict[str, int]:
    return {count.kind: count.queries for count in result.kinds}


QRELS = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}, "q4": {"a": 1}}
RUN = {query_id: ["a", "b"] for query_id in QRELS}


def test_planted_quotes() -> None:
    queries = {
        "q1": "How long do  LEEKS boil?",
        "q2": "a pinch of salt, then",
        "q3": "is this a whole document?",
        "q4": "leeks boil",
    }
    corpus = {
        "a": {"title": "Soup", "text": "Ask yourself how long do leeks boil; then add salt."},
        "b": {"title": "Salt", "text": "With a pinch of salt then stir."},
        "c": {"title": "", "text": "Is this a whole document"},
    }
    result = look(QRELS, {"s": RUN}, queries=queries, corpus=corpus)
    assert counts(result) == {
        "quotes a relevant document": 1,
        "is a document": 1,
    }
    examples = {example.kind: example for example in result.examples}
    assert examples["quotes a relevant document"].query_id == "q1"
    assert examples["quotes a relevant document"].source == "a"
    assert (examples["is a document"].query_id, examples["is a document"].source) == ("q3", "c")
    assert (result.queries, result.short, result.looked_at) == (4, 1, 3)
    assert [finding.code for finding in result.findings] == ["RS646", "RS647"]
    assert result.training is None


def test_the_same_words_in_another_order_are_no_quote() -> None:
    draw = np.random.default_rng(0)
    words = ["which", "of", "the", "many", "leeks", "should", "be", "boiled", "first", "of", "all"]
    queries = {query_id: " ".join(words) for query_id in QRELS}
    corpus = {f"d{n}": " ".join(draw.permutation(words * 5)) for n in range(50)} | {"a": "a"}
    training = [" ".join(draw.permutation(words)) for _ in range(50)]
    result = look(
        QRELS,
        {"s": RUN},
        queries=queries,
        corpus=corpus,
        training={f"t{n}": text for n, text in enumerate(training)},
    )
    assert set(counts(result).values()) == {0}
    assert result.findings == ()


def test_a_question_that_finds_itself() -> None:
    queries = {query_id: f"what is this very question {query_id}" for query_id in QRELS}
    corpus = {"a": "answer", "b": "b"} | {query_id: queries[query_id] for query_id in QRELS}
    runs = {
        "first": {query_id: [query_id, "a"] for query_id in QRELS},
        "third": {query_id: ["a", "b", query_id] for query_id in QRELS},
    }
    result = look(QRELS, runs, queries=queries, corpus=corpus)
    assert counts(result)["is a document"] == 4
    assert len(result.findings) == 1
    # an id that is the same by chance is no leak
    corpus = {"a": "answer", "q1": "something else altogether is written here"}
    assert set(counts(look(QRELS, runs, queries=queries, corpus=corpus)).values()) == {0}


def test_planted_training_questions() -> None:
    queries = {
        "q1": "Who wrote  FAUST?",
        "q2": "what is the highest mountain of the alps and of the carpathians together",
        "q3": "what is the highest mountain of france",
        "q4": "something else",
    }
    training = {
        "t1": "who wrote faust",
        "t2": "what is the highest mountain of the alps and of the carpathians",
        "t3": "what is the highest mountain of spain",
    }
    result = look(QRELS, {"s": RUN}, queries=queries, training=rs.Queries(training))
    assert counts(result) == {"is a training question": 1, "is nearly a training question": 1}
    exact, near = result.examples
    assert (exact.query_id, exact.source, exact.source_text) == ("q1", "t1", "who wrote faust")
    assert (near.query_id, near.source) == ("q2", "t2")
    assert near.similarity == pytest.approx(10 / 11)  # different pairs of words: 11 and 10
    assert result.corpus is None
    assert [(found.code, found.severity) for found in result.findings] == [
        ("RS648", "warning"),
        ("RS648", "note"),
    ]


def test_what_leaks_are_worth() -> None:
    # of 40 questions the first 10 are in training; they are answered, most others are not
    qrels = {f"q{n}": {"a": 1} for n in range(40)}
    queries = {query_id: f"the question of number {query_id}" for query_id in qrels}
    run = {f"q{n}": ["a"] if n < 9 or n % 5 == 0 else ["x", "a"] for n in range(40)}
    training = {query_id: queries[query_id] for query_id in list(queries)[:10]}
    result = look(qrels, {"s": run}, "RR@2", queries=queries, training=training)
    [means] = result.means
    # q9 is not answered: 9.5 / 10; of the others those in fives: (6 + 24 / 2) / 30
    assert (means.leaked, means.others) == pytest.approx((0.95, 0.6))
    assert means.p_corrected is not None
    assert means.p_corrected < 0.001
    [finding] = result.findings
    assert finding.gain == pytest.approx((0.95 * 10 + 0.6 * 30) / 40 - 0.6)
    # where they are no better, nothing is in doubt
    flat = {query_id: ["x", "a"] if n % 2 else ["a"] for n, query_id in enumerate(qrels)}
    [finding] = look(qrels, {"s": flat}, queries=queries, training=training).findings
    assert finding.gain is None


def test_not_applicable() -> None:
    queries = {"q1": "some words of a question"}
    assert isinstance(answer_to(QRELS, {"s": RUN}, queries=queries), NotApplicable)


def test_what_is_looked_at() -> None:
    queries = {"q1": "one two three four five"}
    corpus = {"z": "one two three four five", "a": "short"}
    everything = look(QRELS, {"s": RUN}, queries=queries, corpus=corpus)
    assert everything.looked_at == 2
    assert counts(everything)["is a document"] == 1
    # the judged document comes first, and there is no room for the other
    config = {"leaks": {"characters": 10}}
    some = look(QRELS, {"s": RUN}, queries=queries, corpus=corpus, configs=config)
    assert (some.looked_at, counts(some)["is a document"]) == (1, 0)


@pytest.mark.parametrize("measure", ["NumRelRet", "Unjudged@2", "GMAP"])
def test_odd_data(measure: str) -> None:
    qrels = {"q": {"a": -1, "b": 1}, "r": {}, "s": {"z": 0}}
    runs: Any = {
        "empty": rs.Run({"q": [], "r": [], "s": {"z": 1.0}}),
        "ties": {"q": {"a": 1.0, "b": 1.0}, "unknown": {"a": 1.0}},
    }
    queries = {"q": "?!", "r": "one two three four five", "s": "x", "unjudged": "one"}
    corpus = {"a": "", "b": "one two three four five"}
    result = look(qrels, runs, measure, queries=queries, corpus=corpus, training={"t": "?!"})
    assert counts(result)["is a document"] == 1
    assert counts(result)["is a training question"] == 0  # no word is no question
    assert look(qrels, runs, measure, queries=queries, corpus={}, training={}).kinds
