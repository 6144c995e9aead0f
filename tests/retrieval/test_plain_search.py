"""Plain search: which fields it searches, and what it says where there are none."""

from __future__ import annotations

from typing import Any

import pytest

import rankscope as rs
from rankscope.errors import InputError, UnknownNameError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.lexical.plain_search import PlainSearch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system

CORPUS = {
    "a": {"title": "Leek soup", "text": "Boil.", "ingredients": ["leek", "salt"], "minutes": 20},
    "b": {"title": "Apple pie", "text": "Bake it.", "ingredients": ["apple", "leek"], "tags": []},
    "c": {"title": "", "text": "", "metadata": {"source": "leek"}},
}


def search(corpus: Any = None, text: str = "leek") -> PlainSearch:
    return PlainSearch(rs.Corpus(CORPUS if corpus is None else corpus), [Query("q", text)])


def test_titles_and_all_words() -> None:
    assert search().searched("title") == ["title"]
    assert search().searched("text") == ["title", "text", "ingredients"]
    assert search().obstacle == ""
    assert list(search().run("title", 10)["q"]) == ["a"]
    assert list(search().run("text", 10)["q"]) == ["a", "b"]
    assert list(search().run("text", 1)["q"]) == ["a"]


def test_it_is_bm25_as_a_config_makes_it() -> None:
    system = build_system({"bm25": {"fields": ["title", "text", "ingredients"]}})
    system.index(rs.Corpus(CORPUS))
    expected = fetch(system, {"q": "leek"}, depth=10).run
    assert search().run("text", 10)["q"] == expected["q"]


@pytest.mark.parametrize(
    ("corpus", "problem"),
    [
        ({"a": "words"}, "no titles"),
        ({"a": {"title": "words"}}, "nothing but titles"),
        ({"a": {"minutes": 3}}, "no titles"),
        ({}, "no titles"),
    ],
)
def test_nothing_to_search(corpus: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        search(corpus).run("title", 10)


def test_no_text_at_all_and_a_language_that_is_not_known() -> None:
    with pytest.raises(InputError, match="no text"):
        search({"a": {"minutes": 3}}).run("text", 10)
    with pytest.raises((InputError, UnknownNameError), match="elvish"):
        search().run("text", 10, "elvish")
