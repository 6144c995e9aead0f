"""The rules every system keeps; a new system gets its case in ``world.py`` and passes as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.world import CASES, CORPUS, DOCUMENTS, EMPTY, QUERIES, TEXTS, TRAINING, UNKNOWN
from rankscope import Corpus
from rankscope.retrieval.fetch import fetch, refusal
from rankscope.retrieval.protocol import Identity, Query, Ranking, System
from rankscope.retrieval.registry import SYSTEMS, build_system

NAMES = sorted(CASES)


def made(name: str, corpus: Corpus = CORPUS, *, cache: Path | None = None) -> System:
    system = build_system(CASES[name].spec(corpus), cache=cache, training=TRAINING)
    system.index(corpus)
    return system


def contents(rankings: list[Ranking]) -> list[list[tuple[str, float]]]:
    assert [ranking.error for ranking in rankings] == [None] * len(rankings)
    return [ranking.pairs() for ranking in rankings]


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def system(name: str) -> System:
    return made(name)


def test_every_system_has_a_case() -> None:
    tried = {next(iter(case.spec(CORPUS))) for case in CASES.values()}
    assert tried == set(SYSTEMS.names())


def test_finds_something(system: System) -> None:
    found = system.search(QUERIES, 10)
    assert all(ranking.doc_ids for ranking in found[:3])


@pytest.mark.parametrize("depth", [1, 2, 3, 7, 100])
def test_order_depth_and_no_document_twice(system: System, depth: int) -> None:
    for ranking in system.search(QUERIES, depth):
        assert refusal(ranking, depth) is None
        assert set(ranking.doc_ids) <= set(DOCUMENTS)
        pairs = ranking.pairs()
        by_id = sorted(pairs, key=lambda pair: pair[0].encode(), reverse=True)
        assert pairs == sorted(by_id, key=lambda pair: -pair[1])
        assert all(type(score) is float for score in ranking.scores)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_ties_at_the_cut_are_decided_by_id(system: System, depth: int) -> None:
    (ranking,) = system.search([Query("q3", TEXTS["q3"])], depth)
    assert list(ranking.doc_ids) == ["twin-日", "twin-ä", "twin-b", "twin-a"][:depth]


def test_a_smaller_depth_is_the_top_of_a_larger_one(system: System) -> None:
    deep = contents(system.search(QUERIES, 50))
    for depth in (1, 5, 20):
        short = contents(system.search(QUERIES, depth))
        assert [[one for one, _ in pairs] for pairs in short] == [
            [one for one, _ in pairs[:depth]] for pairs in deep
        ]


def test_the_same_every_time(name: str, system: System) -> None:
    first = contents(system.search(QUERIES, 20))
    assert contents(system.search(QUERIES, 20)) == first
    assert contents(made(name).search(QUERIES, 20)) == first


def test_the_order_of_documents_does_not_matter(name: str, system: System) -> None:
    turned = Corpus(dict(reversed(DOCUMENTS.items())))
    assert contents(made(name, turned).search(QUERIES, 20)) == contents(system.search(QUERIES, 20))


def test_batches_do_not_matter(system: System) -> None:
    together = contents(system.search(QUERIES, 20))
    assert contents([system.search([query], 20)[0] for query in QUERIES]) == together
    assert contents(system.search(QUERIES[::-1], 20))[::-1] == together
    assert contents(system.search([*EMPTY, *QUERIES, UNKNOWN], 20))[2:-1] == together


def test_no_queries(system: System) -> None:
    assert system.search([], 10) == []


def test_an_empty_query_finds_nothing(system: System) -> None:
    assert contents(system.search(EMPTY, 10)) == [[], []]


def test_an_unknown_word_finds_nothing(name: str, system: System) -> None:
    if CASES[name].by_text:
        assert contents(system.search([UNKNOWN], 10)) == [[]]


def test_an_empty_corpus_has_nothing(name: str) -> None:
    empty = made(name, Corpus({}))
    assert contents(empty.search([*QUERIES, *EMPTY], 10)) == [[]] * (len(QUERIES) + 2)


def test_documents_without_text_are_not_found(system: System) -> None:
    found = {one for ranking in system.search(QUERIES, 100) for one in ranking.doc_ids}
    assert not found & {"empty", "blank"}


def test_text_that_is_not_english_or_not_plain(name: str, system: System) -> None:
    if name.startswith(("bm25", "rewrite")) and name != "rewrite-rm3":
        tops = [ranking.doc_ids[0] for ranking in system.search(QUERIES[3:6], 5)]
        assert tops == ["html", "greek", "hindi"]
    for text in ("<b>", "&amp;", "'; DROP TABLE--", "\x00\x1b[31m", "🍲", "e\u0301", "a" * 20_000):
        (ranking,) = system.search([Query("odd", text)], 5)
        assert ranking.error is None


def test_identity_is_stable_and_plain(name: str, system: System) -> None:
    identity = system.identity()
    assert isinstance(identity, Identity)
    assert identity.kind == next(iter(CASES[name].spec(CORPUS)))
    assert made(name).identity().key == identity.key
    system.search(QUERIES, 3)
    assert system.identity() == identity
    told = identity.to_dict()
    assert set(told) == {"kind", "name", "version", "parameters", "snapshot"}
    assert json.loads(json.dumps(told))["kind"] == identity.kind


def test_identity_changes_with_parameters(name: str, system: System) -> None:
    other = build_system(CASES[name].other(CORPUS), training=TRAINING)
    other.index(CORPUS)
    assert other.identity().key != system.identity().key


def test_identity_changes_with_the_corpus(name: str, system: System) -> None:
    if name in ("python", "run"):
        pytest.skip("it has documents of its own")
    changed = Corpus({**DOCUMENTS, "d1": {"title": "other", "text": "words"}})
    assert made(name, changed).identity().key != system.identity().key


def test_the_name_decides_nothing(name: str, system: System) -> None:
    named = build_system(CASES[name].spec(CORPUS), name="mine", training=TRAINING)
    named.index(CORPUS)
    assert named.identity().name == "mine"
    assert named.identity().key == system.identity().key


@pytest.mark.parametrize("depth", [0, -1, True, 2.5, "10"])
def test_a_depth_that_is_none(system: System, depth: int) -> None:
    with pytest.raises(ValueError, match="depth must be a whole number from 1 up"):
        system.search(QUERIES, depth)


def test_a_cache_changes_nothing(name: str, system: System, tmp_path: Path) -> None:
    expected = contents(system.search(QUERIES, 20))
    for _ in range(2):
        assert contents(made(name, cache=tmp_path).search(QUERIES, 20)) == expected


def test_fetching_is_searching(system: System) -> None:
    fetched = fetch(system, QUERIES, depth=20, batch=3)
    found = contents(system.search(QUERIES, 20))
    assert fetched.failures == {}
    assert fetched.run.query_ids == list(TEXTS) or not all(found)
    assert {one: list(fetched.run[one].items()) for one in TEXTS} == dict(
        zip(TEXTS, found, strict=True)
    )


def test_nothing_is_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    made(name).search(QUERIES, 5)
    assert capfd.readouterr() == ("", "")
