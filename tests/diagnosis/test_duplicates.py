"""Duplicates: planted copies are found, with what they cost, and nothing else is."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankscope as rs
from rankscope.diagnosis.duplicates import Duplicates
from rankscope.findings import NotApplicable

LONG = [f"word{number}" for number in range(100)]


def text_with(*changes: int) -> str:
    """Return a text of 100 words, some of them changed."""
    words = [f"other{at}" if at in changes else word for at, word in enumerate(LONG)]
    return " ".join(words)


def look(qrels: Any, runs: Any, corpus: Any, measure: str = "nDCG@3", **given: Any) -> Duplicates:
    diagnosis = rs.diagnose(qrels, runs, [measure], only="duplicates", corpus=corpus, **given)
    answer = getattr(diagnosis.analyses, "duplicates")  # noqa: B009
    assert isinstance(answer, Duplicates)
    assert Duplicates.model_validate(answer.to_dict()) == answer
    return answer


def filler(count: int = 20) -> dict[str, str]:
    draw = np.random.default_rng(0)
    return {f"f{n}": " ".join(draw.permutation(LONG)) for n in range(count)}


def test_planted_copies() -> None:
    # a change in the middle of 100 words spoils 5 of 96 shingles: 91 / 101 = 0.901 are the same;
    # two changes far apart spoil 10: 86 / 106 = 0.811
    corpus = {
        "a": {"title": "Soup", "text": text_with()},
        "exact": {"title": "SOUP ", "text": text_with().upper().replace(" ", "\n")},
        "near": {"title": "Soup", "text": text_with(50)},
        "apart": {"title": "Soup", "text": text_with(30, 70)},
        **filler(),
    }
    result = look({"q": {"a": 1}}, {"s": {"q": ["a", "f1"]}}, corpus)
    assert result.exact.to_dict() == {"documents": 2, "groups": 1}
    assert result.all_copies.to_dict() == {"documents": 3, "groups": 1}
    assert result.all_copies.superfluous == 2
    [group] = result.groups
    assert (group.kind, group.size) == ("near", 3)
    assert (group.documents, group.title) == (("a", "exact", "near"), "Soup")
    assert (result.looked_at, result.corpus) == (24, 24)
    assert [finding.code for finding in result.findings] == ["RS643"]


def test_places_that_are_wasted() -> None:
    corpus = {"a": text_with(), "exact": text_with(), "near": text_with(50), **filler()}
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    run = {
        "q1": ["f1", "a", "near", "exact"],  # near is third; exact is below the cutoff
        "q2": ["near", "exact", "a"],  # exact and a are copies of near, and of each other
        "q3": ["f1", "a", "f2"],
    }
    [system] = look(qrels, {"s": run}, corpus).systems
    assert (system.places, system.wasted, system.queries) == (9, 3, 2)


def test_links_are_no_copies() -> None:
    # each is a near copy of the next, and the first not of the last: 86 / 106
    corpus = {"a": text_with(20), "b": text_with(), "c": text_with(80), **filler()}
    result = look({"q": {"a": 1}}, {"s": {"q": ["a", "c"]}, "t": {"q": ["a", "b"]}}, corpus)
    assert result.all_copies.to_dict() == {"documents": 3, "groups": 1}
    assert [system.wasted for system in result.systems] == [0, 1]


def test_what_is_looked_at() -> None:
    corpus = {**filler(30), "x": text_with(), "y": text_with(), "e": "", "e2": " "}
    qrels, runs = {"q": {"y": 1, "f0": 0}}, {"s": {"q": ["y", "f3", "gone"]}}
    config = {"duplicates": {"characters": 4 * len(text_with())}}
    result = look(qrels, runs, corpus, configs=config)
    # y, f0 and f3 are judged or in the answer; f1 is the first of the others
    assert (result.corpus, result.looked_at, result.all_copies.documents) == (34, 4, 0)
    assert look(qrels, runs, corpus).all_copies.documents == 2


def test_an_empty_corpus() -> None:
    diagnosis = rs.diagnose({"q": {"a": 1}}, {"q": ["a"]}, ["RR"], only="duplicates", corpus={})
    assert isinstance(getattr(diagnosis.analyses, "duplicates"), NotApplicable)  # noqa: B009
