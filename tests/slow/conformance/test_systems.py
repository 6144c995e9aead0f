"""The rules every system keeps; a new system gets its case in ``world.py`` and passes as it is.

A system is held to what its capabilities promise: nobody asks an approximate index for the order of
ties at the cut, or a language model for the same answer twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conformance.world import CASES, CORPUS, DOCUMENTS, EMPTY, QUERIES, TEXTS, TRAINING, UNKNOWN
from rankscope import Corpus
from rankscope.retrieval.fetch import fetch, refusal
from rankscope.retrieval.protocol import Identity, Query, Ranking, System, all_parts
from rankscope.retrieval.registry import SYSTEMS, build_system
from rankscope.retrieval.stages.rerank import RERANKERS
from rankscope.retrieval.stages.rewrite import REWRITERS
from rankscope.retrieval.vector.embedders import EMBEDDERS

NAMES = sorted(CASES)
WITH_TORCH = {"cross_encoder", "sentence-transformers"}
"""Parts whose cases are in ``tests/with_torch``."""
WITH_AN_ENDPOINT = {"llm"}
"""Parts whose cases are in ``test_language_models.py``."""


def build(name: str, corpus: Corpus = CORPUS, *, cache: Path | None = None) -> System:
    system = build_system(CASES[name].spec(corpus), cache=cache, training=TRAINING)
    system.index(corpus)
    return system


def contents(rankings: list[Ranking]) -> list[list[tuple[str, float]]]:
    assert [ranking.error for ranking in rankings] == [None] * len(rankings)
    return [ranking.pairs() for ranking in rankings]


def repeats(system: System) -> bool:
    """Tell whether a system promises the same answers, whatever is asked beside."""
    return system.capabilities.deterministic and system.capabilities.exact


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if not CASES[name].is_possible:
        pytest.skip(f"{CASES[name].needs} is not installed")
    return name


@pytest.fixture(scope="module")
def system(name: str) -> Iterator[System]:
    with build(name) as system:
        yield system


def test_every_system_has_a_case() -> None:
    tried = {
        next(iter(case.spec(CORPUS))) if case.is_possible else name.partition("-")[0]
        for name, case in CASES.items()
    }
    assert tried == set(SYSTEMS.names())


@pytest.mark.parametrize(
    "registry", [EMBEDDERS, REWRITERS, RERANKERS], ids=lambda registry: registry.noun
)
def test_every_part_has_a_case(registry: Any) -> None:
    possible = [name for name, case in CASES.items() if case.is_possible]
    kinds = [type(part) for name in possible for part in all_parts(build(name))]
    tried = {entry.name for entry in registry if entry.make in kinds}
    assert set(registry.names()) - tried <= WITH_TORCH | WITH_AN_ENDPOINT


def test_finds_something(system: System) -> None:
    rankings = system.search(QUERIES, 10)
    assert all(ranking.doc_ids for ranking in rankings[:3])


@pytest.mark.parametrize("depth", [1, 2, 3, 7, 100])
def test_order_depth_and_no_document_twice(system: System, depth: int) -> None:
    for ranking in system.search(QUERIES, depth):
        assert refusal(ranking, depth) is None
        assert set(ranking.doc_ids) <= set(DOCUMENTS)
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
        if system.capabilities.ties == "trec":
            pairs = ranking.pairs()
            by_id = sorted(pairs, key=lambda pair: pair[0].encode(), reverse=True)
            assert pairs == sorted(by_id, key=lambda pair: -pair[1])
        assert all(type(score) is float for score in ranking.scores)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_ties_at_the_cut_are_decided_by_id(system: System, depth: int) -> None:
    (ranking,) = system.search([Query("q3", TEXTS["q3"])], depth)
    if system.capabilities.exact and system.capabilities.ties == "trec":
        assert list(ranking.doc_ids) == ["twin-日", "twin-ä", "twin-b", "twin-a"][:depth]


def test_a_smaller_depth_is_the_top_of_a_larger_one(system: System) -> None:
    if not repeats(system):
        return
    deep = contents(system.search(QUERIES, 50))
    for depth in (1, 5, 20):
        short = contents(system.search(QUERIES, depth))
        assert [[doc_id for doc_id, _ in pairs] for pairs in short] == [
            [doc_id for doc_id, _ in pairs[:depth]] for pairs in deep
        ]


def test_the_same_every_time(name: str, system: System) -> None:
    first = contents(system.search(QUERIES, 20))
    if system.capabilities.deterministic:
        assert contents(system.search(QUERIES, 20)) == first
        assert contents(build(name).search(QUERIES, 20)) == first


def test_the_order_of_documents_does_not_matter(name: str, system: System) -> None:
    turned = contents(build(name, Corpus(dict(reversed(DOCUMENTS.items())))).search(QUERIES, 20))
    if repeats(system):
        assert turned == contents(system.search(QUERIES, 20))


def test_batches_do_not_matter(system: System) -> None:
    together = contents(system.search(QUERIES, 20))
    if not repeats(system):
        return
    assert contents([system.search([query], 20)[0] for query in QUERIES]) == together
    assert contents(system.search(QUERIES[::-1], 20))[::-1] == together
    assert contents(system.search([*EMPTY, *QUERIES, UNKNOWN], 20))[2:-1] == together


def test_no_queries(system: System) -> None:
    assert system.search([], 10) == []


def test_an_empty_query_finds_nothing(system: System) -> None:
    assert contents(system.search(EMPTY, 10)) == [[], []]


def test_an_unknown_word_finds_nothing(name: str, system: System) -> None:
    answer = contents(system.search([UNKNOWN], 10))
    if CASES[name].by_text and system.capabilities.exact:
        assert answer == [[]]


def test_an_empty_corpus_has_nothing(name: str) -> None:
    empty = build(name, Corpus({}))
    assert contents(empty.search([*QUERIES, *EMPTY], 10)) == [[]] * (len(QUERIES) + 2)


def test_documents_without_text_are_not_found(system: System) -> None:
    doc_ids = {doc_id for ranking in system.search(QUERIES, 100) for doc_id in ranking.doc_ids}
    assert not doc_ids & {"empty", "blank"}


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
    assert build(name).identity().key == identity.key
    system.search(QUERIES, 3)
    assert system.identity() == identity
    data = identity.to_dict()
    assert list(data) == ["kind", "name", "version", "parameters", "snapshot"]
    assert json.loads(json.dumps(data))["kind"] == identity.kind


def test_identity_changes_with_parameters(name: str, system: System) -> None:
    other = build_system(CASES[name].other(CORPUS), training=TRAINING)
    other.index(CORPUS)
    assert other.identity().key != system.identity().key


def test_identity_changes_with_the_corpus(name: str, system: System) -> None:
    changed = Corpus({**DOCUMENTS, "d1": {"title": "other", "text": "words"}})
    key = build(name, changed).identity().key
    assert (key == system.identity().key) is CASES[name].own_documents


def test_the_name_decides_nothing(name: str, system: System) -> None:
    named = build_system(CASES[name].spec(CORPUS), name="mine", training=TRAINING)
    named.index(CORPUS)
    assert named.identity().name == "mine"
    assert named.identity().key == system.identity().key


@pytest.mark.parametrize("depth", [0, -1, True, 2.5, "10"])
def test_a_depth_that_is_none(system: System, depth: int) -> None:
    with pytest.raises(ValueError, match="depth must be a whole number from 1 to"):
        system.search(QUERIES, depth)


def test_a_cache_changes_nothing(name: str, system: System, tmp_path: Path) -> None:
    expected = contents(system.search(QUERIES, 20))
    for _ in range(2):
        answers = contents(build(name, cache=tmp_path).search(QUERIES, 20))
        assert answers == expected or not repeats(system)


def test_fetching_is_searching(system: System) -> None:
    fetched = fetch(system, QUERIES, depth=20, batch=3)
    assert fetched.failures == {}
    assert set(fetched.run.query_ids) == set(TEXTS)
    rankings = {query_id: list(fetched.run[query_id].items()) for query_id in TEXTS}
    assert rankings == {query_id: Ranking.of(pairs).pairs() for query_id, pairs in rankings.items()}
    if repeats(system):
        answers = contents(system.search(QUERIES, 20))
        assert rankings == dict(zip(TEXTS, answers, strict=True))


def test_several_threads_where_it_says_so(system: System) -> None:
    if not system.capabilities.concurrent:
        return
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: contents(system.search(QUERIES, 20)), range(8)))
    assert all(answer == answers[0] for answer in answers) or not repeats(system)


def test_closing_twice_is_closing(name: str) -> None:
    with build(name) as system:
        system.search(QUERIES[:1], 3)
    system.close()


def test_nothing_is_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    build(name).search(QUERIES, 5)
    assert capfd.readouterr() == ("", "")
