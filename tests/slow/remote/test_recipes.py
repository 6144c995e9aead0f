"""Every recipe, against a server that answers in its engine's documented shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from rankscope.errors import InputError
from rankscope.retrieval.fetch import Fetched, fetch
from rankscope.retrieval.protocol import Query, Ranking
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.remote.api_recipes import read_recipe, recipe_names
from rankscope.runs.origin import EngineFacts
from remote.engines import (
    DOCUMENTS,
    LETTERS,
    STAND_INS,
    Documents,
    StandIn,
    letters,
    many_letters,
    options_of,
    running,
)

pytest.importorskip("httpx")

QUERIES = [
    Query("q1", "leek soup"),
    Query("q2", 'bake "kale" with {{depth}} \\ salt'),
    Query("q3", "zyzzyva"),
    Query("q4", "soup & bread? 'salt' #1 {!lucene} }) {"),
]
SEARCHES = [(name, search) for name in STAND_INS for search in read_recipe(name).searches]
RANKED_ALONE = {("typesense", "lexical")}
"""Searches whose scores are not taken."""


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, StandIn]]:
    servers = {name: kind() for name, kind in STAND_INS.items()}
    contexts = [running(server) for server in servers.values()]
    for context in contexts:
        context.__enter__()
    yield servers
    for context in contexts:
        context.__exit__(None, None, None)


@pytest.fixture(params=SEARCHES, ids="-".join)
def server_and_search(
    request: pytest.FixtureRequest, servers: dict[str, StandIn]
) -> tuple[StandIn, str]:
    name, search = request.param
    servers[name].asked.clear()
    return servers[name], search


def spec(server: StandIn, search: str, **options: Any) -> dict[str, Any]:
    if search == "vector":
        options.setdefault("embedder", letters)
    return options_of(server, search=search, **options)


def fetched(server: StandIn, search: str, queries: Any = QUERIES, **options: Any) -> Fetched:
    with build_system(spec(server, search, **options)) as system:
        return fetch(system, queries, depth=4, retries=0)


def expected(query: Query, search: str, lang: str | None = None) -> list[str]:
    if search == "vector":
        vector = letters([query.text])[0]
        return [doc_id for doc_id, _ in Documents().by_vector(vector, lang)][:4]
    return [doc_id for doc_id, _ in Documents().by_words(query.text, lang)][:4]


def test_every_recipe_is_tried() -> None:
    assert {*recipe_names()} == {*STAND_INS, "chroma"}


def test_what_an_engine_finds_is_the_run(server_and_search: tuple[StandIn, str]) -> None:
    server, search = server_and_search
    result = fetched(server, search)
    assert result.failures == {}
    for query in QUERIES:
        assert list(result.run[query.query_id]) == expected(query, search), query.text
    assert next(iter(result.run["q1"])) == ("doc-4" if search == "vector" else "doc-0")
    scores = list(result.run["q1"].values())
    assert scores == sorted(scores, reverse=True)
    if (server.name, search) in RANKED_ALONE:
        assert scores == [-1.0, -2.0, -3.0]


def test_the_record_has_version_settings_and_count(server_and_search: tuple[StandIn, str]) -> None:
    server, search = server_and_search
    result = fetched(server, search)
    [fact] = result.facts
    assert isinstance(fact, EngineFacts)
    assert (fact.engine, fact.documents, fact.snapshot) == ("http", len(DOCUMENTS), "monday")
    assert bool(fact.version) is (server.name != "azure-ai-search")  # which has none to tell
    assert fact.settings["recipe"] == server.name
    assert fact.settings["index"] == server.index
    assert ("index_settings" in fact.settings) is (server.name != "vespa")
    assert result.notes == ()
    assert '"apiKey": "x"' not in json.dumps(fact.settings)


def filters(server: StandIn, search: str) -> dict[str, Any]:
    """Return the documented filter of a recipe as variables."""
    text = read_recipe(server.name).filter
    if server.name == "vespa":
        where = yaml.safe_load(text)["where"]
        clause = where.removeprefix("userInput(@text)")
        return {"and_filter": clause} if search == "vector" else {"where": where}
    if (server.name, search) == ("weaviate", "rest"):
        where = {"path": ["lang"], "operator": "Equal", "valueText": "{{metadata.lang}}"}
        return {"where": where}
    value = yaml.safe_load(text)
    if (server.name, search) == ("opensearch", "vector"):
        [value] = value
    return {"filter": value}


HOSTILE = [
    'en" or "1"="1',
    "en' or 1 eq 1 or lang eq 'en",
    'x"} limit: 9) {',
    "en} OR *:*",
    "{{query}}",
    "a\\",
]


def test_metadata_filters(server_and_search: tuple[StandIn, str]) -> None:
    server, search = server_and_search
    queries = [
        Query(lang, "leek soup bake salt", {"lang": lang, "other": 1}) for lang in ("en", "de")
    ]
    queries += [Query(f"h{at}", "leek soup", {"lang": lang}) for at, lang in enumerate(HOSTILE)]
    plain = Query("plain", "leek soup")
    result = fetched(server, search, [*queries, plain], variables=filters(server, search))
    for query in queries[:2]:
        assert list(result.run[query.query_id]) == expected(query, search, query.query_id)
    for query in queries[2:]:
        assert list(result.run[query.query_id]) == []
    if server.name in ("vespa", "weaviate"):  # where a text cannot be left out in part
        assert "the query has no metadata 'lang'" in result.failures["plain"]
        del result.failures["plain"]
    else:
        assert list(result.run["plain"]) == expected(plain, search)
    assert result.failures == {}


def test_a_value_that_cannot_be_quoted_is_that_querys_failure(
    servers: dict[str, StandIn],
) -> None:
    queries = [Query("good", "leek", {"lang": "fr"}), Query("bad", "leek", {"lang": "a`b"})]
    variables = {"filter": "lang:={{metadata.lang|backticks}}"}
    result = fetched(servers["typesense"], "lexical", queries, variables=variables)
    assert list(result.run["good"]) == ["doc-4"]
    assert result.failures["bad"] == ("the value 'a`b' holds a backtick, which cannot be quoted")


def refused(server: StandIn, search: str, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        fetched(server, search, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert "hush" not in text
    return text


def test_a_wrong_key(server_and_search: tuple[StandIn, str]) -> None:
    server, search = server_and_search
    header, _ = server.key
    text = refused(server, search, headers={header: "Bearer hush-wrong"})
    assert "answered 40" in text
    assert text.endswith("; check the key in headers")


def test_an_index_that_is_not_there(server_and_search: tuple[StandIn, str]) -> None:
    server, search = server_and_search
    text = refused(server, search, index="Wine")
    assert "answered 4" in text or "answered with an error" in text
    assert "wine" in text.lower() or "not found" in text.lower() or "404" in text


@pytest.mark.parametrize("name", STAND_INS)
def test_another_dimension(servers: dict[str, StandIn], name: str) -> None:
    server = servers[name]
    server.asked.clear()
    text = refused(server, "vector", embedder=many_letters)
    assert str(len(LETTERS)) in text  # in the engine's own words
    assert len(server.searches()) <= 4  # one query, a plain word to see whether it is the query


def test_more_than_a_page(servers: dict[str, StandIn], monkeypatch: pytest.MonkeyPatch) -> None:
    server = servers["typesense"]
    monkeypatch.setattr(server, "largest_page", 2, raising=False)
    query = Query("q", "leek soup bake salt a")
    with build_system(options_of(server, page=2)) as system:
        [ranking] = system.search([query], 5)
    best = [doc_id for doc_id, _ in Documents().by_words(query.text)]
    assert len(best) > 4
    assert list(ranking.doc_ids) == best[:5]
    assert ranking.scores == (-1.0, -2.0, -3.0, -4.0, -5.0)
    too_many = pytest.raises(InputError, match="Only upto 2 hits can be fetched per page")
    with build_system(options_of(server)) as system, too_many:
        system.search([query], 5)


def test_an_answer_shorter_than_it_could_be_is_said(servers: dict[str, StandIn]) -> None:
    server = servers["meilisearch"]
    body = {"q": "{{query}}", "limit": 1, "attributesToRetrieve": ["id"], "showRankingScore": True}
    result = fetched(server, "lexical", body=body)
    assert result.notes == (
        "the request does not say {{depth}}: the API decides how many",
        (
            "the API gave 1 documents where 3 match and more were asked for; if it limits the size "
            "of an answer, use the option page"
        ),
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"timed_out": True}, "timed_out is set"),
        (
            {"_shards": {"failures": [{"reason": {"reason": "shard 3 is gone"}}]}},
            "'shard 3 is gone'",
        ),
    ],
)
def test_a_partial_answer_is_a_failure(
    servers: dict[str, StandIn], monkeypatch: pytest.MonkeyPatch, change: Any, text: str
) -> None:
    server = servers["elasticsearch"]
    whole = server.answer
    monkeypatch.setattr(
        server,
        "answer",
        lambda asked: {**whole(asked), **(change if "broken" in str(asked.body) else {})},
    )
    queries = [Query("q1", "leek"), Query("q2", "broken leek")]
    result = fetched(server, "lexical", queries)
    assert list(result.run["q1"])
    assert result.failures == {
        "q2": f"{server.url.removeprefix('http://')} answered with an error: {text}"
    }


def test_the_order_of_equal_scores_is_the_one_order(servers: dict[str, StandIn]) -> None:
    with build_system(options_of(servers["elasticsearch"])) as system:
        [ranking] = system.search([Query("q", "salt")], 10)
    assert ranking.pairs() == Ranking.of(ranking.pairs()).pairs()


def test_unknown_names_of_recipes_say_the_nearest() -> None:
    with pytest.raises(LookupError, match="unknown recipe 'elastic'; nearest: elasticsearch"):
        build_system({"http": {"recipe": "elastic", "url": "http://localhost"}})
    options = {"recipe": "solr", "url": "http://localhost", "search": "vectr", "index": "x"}
    with pytest.raises(LookupError, match="search of the recipe solr 'vectr'; nearest: vector"):
        build_system({"http": options})
