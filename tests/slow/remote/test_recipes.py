"""Every recipe: what it asks for a hostile query and filter, and what it reads of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rankscope.errors import InputError
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.fetch import Fetched, fetch
from rankscope.retrieval.protocol import Query, Ranking
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.remote.api_recipes import read_recipe, recipe_names
from remote.engines import Asked, Documents, Elasticsearch, StandIn, options_of, running

pytest.importorskip("httpx")

TEXT = 'say "leek" {{depth}}'
LANGUAGE = "d'e\""
RECIPES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("recipes.yaml").read_text())
SEARCHES = [(name, search) for name in RECIPES for search in RECIPES[name] if search != "about"]


class Scripted(StandIn):
    """Answers a request as the documentation of an engine shows it."""

    recipe, search = "", ""

    def answer(self, asked: Asked) -> Any:
        search = RECIPES[self.recipe][self.search]
        if asked.path == search["path"] and search["asks"] in (asked.body, asked.params):
            return search["answer"]
        about = RECIPES[self.recipe]["about"]
        if asked.path not in about:
            raise AssertionError(f"{asked.path}: {asked.body or asked.params}")
        return about[asked.path]


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    server = Scripted()
    with running(server):
        yield server


def filters(recipe: str, search: str) -> dict[str, Any]:
    """Return the documented filter of a recipe as variables."""
    text = read_recipe(recipe).filter
    if recipe == "vespa":
        where = yaml.safe_load(text)["where"]
        clause = where.removeprefix("userInput(@text)")
        return {"and_filter": clause} if search == "vector" else {"where": where}
    if (recipe, search) == ("weaviate", "rest"):
        where = {"path": ["lang"], "operator": "Equal", "valueText": "{{metadata.lang}}"}
        return {"where": where}
    value = yaml.safe_load(text)
    return {"filter": value[0] if (recipe, search) == ("opensearch", "vector") else value}


def test_every_recipe_and_search_is_tried() -> None:
    known = {(name, search) for name in recipe_names() for search in read_recipe(name).searches}
    assert {*SEARCHES} == {(name, search) for name, search in known if name != "chroma"}


@pytest.mark.parametrize(("recipe", "search"), SEARCHES, ids="-".join)
def test_what_is_asked_and_what_is_read(server: Scripted, recipe: str, search: str) -> None:
    server.recipe, server.search = recipe, search
    embedder = {"embedder": lambda texts: [[3.0, 4.0] for _ in texts]}
    options = options_of(
        server,
        recipe=recipe,
        search=search,
        variables=filters(recipe, search),
        **(embedder if search == "vector" else {}),
    )
    with build_system(options) as system:
        result = fetch(system, [Query("q", TEXT, {"lang": LANGUAGE})], depth=2, retries=0)
    assert result.failures == {}
    scores = RECIPES[recipe][search]["scores"]
    assert list(result.run["q"].items()) == [*zip("ab", scores, strict=True)]
    assert result.notes == ()
    [fact] = result.facts
    assert isinstance(fact, EngineFacts)
    assert (fact.documents, fact.snapshot, fact.settings["recipe"]) == (6, "monday", recipe)
    assert bool(fact.version) is (recipe != "azure-ai-search")  # which has none to tell
    assert ("index_settings" in fact.settings) is (recipe != "vespa")
    assert "hush" not in str(fact.settings)


@pytest.mark.parametrize(
    ("recipe", "reply", "word"),
    [
        ("elasticsearch", {"timed_out": True}, "timed_out"),
        ("elasticsearch", {"_shards": {"failures": [{"reason": {"reason": "gone"}}]}}, "gone"),
        ("weaviate", {"data": None, "errors": [{"message": "no such field"}]}, "no such field"),
        ("vespa", {"root": {"errors": [{"message": "illegal query"}]}}, "illegal query"),
    ],
)
def test_an_error_inside_of_an_answer_is_a_failure(
    server: Scripted, monkeypatch: pytest.MonkeyPatch, recipe: str, reply: Any, word: str
) -> None:
    good, about = RECIPES[recipe]["lexical"]["answer"], RECIPES[recipe]["about"]

    def answer(asked: Asked) -> Any:
        if "leek" in str(asked.body):
            return {**good, **reply} if "broken" in str(asked.body) else good
        return about[asked.path]

    monkeypatch.setattr(server, "answer", answer)
    with build_system(options_of(server, recipe=recipe)) as system:
        queries = [Query("q1", "leek"), Query("q2", "broken leek")]
        result = fetch(system, queries, depth=4, retries=0)
    assert list(result.run) == ["q1"]
    assert word in result.failures["q2"]


# --- an engine that searches ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine() -> Iterator[Elasticsearch]:
    engine = Elasticsearch()
    with running(engine):
        yield engine


def fetched(engine: Elasticsearch, queries: list[Query], **options: Any) -> Fetched:
    with build_system(options_of(engine, **options)) as system:
        return fetch(system, queries, depth=4, retries=0)


def test_what_an_engine_finds_is_the_run(engine: Elasticsearch) -> None:
    queries = [
        Query("en", "leek soup bake salt", {"lang": "en"}),
        Query("de", "leek soup bake salt", {"lang": "de"}),
        Query("none", 'leek" OR', {"lang": 'en" or "1"="1'}),
        Query("plain", "soup & bread? 'salt' #1"),
    ]
    variables = {"filter": [{"term": {"lang": "{{metadata.lang?}}"}}]}
    result = fetched(engine, queries, variables=variables)
    assert result.failures == {}
    for query in queries:
        best = Documents().by_words(query.text, query.metadata.get("lang"))[:4]
        assert list(result.run[query.query_id]) == [
            doc_id for doc_id, _ in Ranking.of(best).pairs()
        ]
    assert list(result.run["none"]) == []


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"headers": {"Authorization": "Bearer hush-wrong"}}, "check the key"),
        ({"index": "wine"}, "wine"),
        ({"search": "vector", "embedder": lambda texts: [[1.0] * 17] * len(texts)}, r"\[17\]"),
    ],
)
def test_what_an_engine_refuses(engine: Elasticsearch, options: Any, word: str) -> None:
    with pytest.raises(InputError, match=word) as caught:
        fetched(engine, [Query("q", "leek")], **options)
    assert "hush" not in str(caught.value)


def test_more_than_a_page(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "abcde"

    def pages(asked: Asked) -> Any:
        if "page" not in asked.params:
            return RECIPES["typesense"]["about"][asked.path]
        begin = 2 * int(asked.params["page"][0]) - 2
        assert asked.params["per_page"] == ["2"]
        hits = [{"document": {"id": name}} for name in names[begin : begin + 2]]
        return {"found": 5, "hits": hits}

    monkeypatch.setattr(server, "answer", pages)
    with build_system(options_of(server, recipe="typesense", page=2)) as system:
        [ranking] = system.search([Query("q", "leek")], 5)
    assert ranking.pairs() == [(name, -float(at)) for at, name in enumerate(names, 1)]


def test_an_answer_shorter_than_it_could_be_is_said(engine: Elasticsearch) -> None:
    must = [{"multi_match": {"query": "{{query}}", "fields": ["title", "text"]}}]
    body = {"size": 1, "_source": False, "query": {"bool": {"must": must}}}
    assert len(fetched(engine, [Query("q", "leek soup")], body=body).notes) == 2


def test_a_value_that_cannot_be_quoted_is_that_querys_failure(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = RECIPES["typesense"]["lexical"]["answer"]
    monkeypatch.setattr(
        server, "answer", lambda asked: RECIPES["typesense"]["about"].get(asked.path, reply)
    )
    queries = [Query("good", "leek", {"lang": "fr"}), Query("bad", "leek", {"lang": "a`b"})]
    variables = {"filter": "lang:={{metadata.lang|backticks}}"}
    options = options_of(server, recipe="typesense", variables=variables)
    with build_system(options) as system:
        result = fetch(system, queries, depth=2, retries=0)
    assert (list(result.run), list(result.failures)) == (["good"], ["bad"])


def test_unknown_names_of_recipes_say_the_nearest() -> None:
    with pytest.raises(LookupError, match="nearest: elasticsearch"):
        build_system({"http": {"recipe": "elastic", "url": "http://localhost"}})
    options = {"recipe": "solr", "url": "http://localhost", "search": "vectr", "index": "x"}
    with pytest.raises(LookupError, match="nearest: vector"):
        build_system({"http": options})
