"""The rules every system keeps; a new system gets its case in ``world.py`` and passes as it is.

A system is held to what its capabilities promise: nobody asks an approximate index for the order of
ties at the cut, or a language model for the same answer twice. All rules are tried, and what does
not hold is told together.
"""

from __future__ import annotations

import json
import tempfile
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conformance.world import CASES, CORPUS, DOCUMENTS, EMPTY, QUERIES, TEXTS, TRAINING, UNKNOWN
from rankscope import Corpus
from rankscope.retrieval.fetch import fetch, refusal
from rankscope.retrieval.protocol import Query, Ranking, System, all_parts
from rankscope.retrieval.registry import SYSTEMS, build_system
from rankscope.retrieval.stages.rerank import RERANKERS
from rankscope.retrieval.stages.rewrite import REWRITERS
from rankscope.retrieval.vector.embedders import EMBEDDERS

NAMES = sorted(CASES)
ELSEWHERE = {"cross_encoder", "sentence-transformers", "llm"}
"""Parts whose cases are in ``with_torch`` and in ``test_language_models.py``."""

Rule = Callable[[str, System], None]
RULES: list[Rule] = []


def rule(function: Rule) -> Rule:
    """Let all systems be held to this."""
    RULES.append(function)
    return function


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


def test_every_system_and_part_has_a_case() -> None:
    tried = {
        next(iter(case.spec(CORPUS))) if case.is_possible else name.partition("-")[0]
        for name, case in CASES.items()
    }
    assert tried == set(SYSTEMS.names())
    possible = [name for name, case in CASES.items() if case.is_possible]
    kinds = [type(part) for name in possible for part in all_parts(build(name))]
    for registry in (EMBEDDERS, REWRITERS, RERANKERS):
        entries: Iterator[Any] = iter(registry)
        assert {entry.name for entry in entries if entry.make not in kinds} <= ELSEWHERE


def test_it_keeps_the_rules(name: str, system: System, capfd: pytest.CaptureFixture[str]) -> None:
    broken = []
    for each in RULES:
        try:
            each(name, system)
        except Exception:
            broken.append(f"{each.__name__}:\n{traceback.format_exc(limit=-1)}")
    assert broken == [], "\n".join(broken)
    assert capfd.readouterr() == ("", "")


@rule
def finds_something(_: str, system: System) -> None:
    rankings = system.search(QUERIES, 10)
    assert all(ranking.doc_ids for ranking in rankings[:3])
    assert system.search([], 10) == []


@rule
def has_order_depth_and_no_document_twice(_: str, system: System) -> None:
    for depth in (1, 2, 3, 7, 100):
        for ranking in system.search(QUERIES, depth):
            assert refusal(ranking, depth) is None
            assert set(ranking.doc_ids) <= set(DOCUMENTS) - {"empty", "blank"}  # without text
            assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
            if system.capabilities.ties == "trec":
                pairs = ranking.pairs()
                by_id = sorted(pairs, key=lambda pair: pair[0].encode(), reverse=True)
                assert pairs == sorted(by_id, key=lambda pair: -pair[1])
            assert all(type(score) is float for score in ranking.scores)


@rule
def decides_ties_at_the_cut_by_id(_: str, system: System) -> None:
    for depth in (1, 2, 3):
        (ranking,) = system.search([Query("q3", TEXTS["q3"])], depth)
        if system.capabilities.exact and system.capabilities.ties == "trec":
            assert list(ranking.doc_ids) == ["twin-日", "twin-ä", "twin-b", "twin-a"][:depth]


@rule
def has_the_top_of_a_larger_depth(_: str, system: System) -> None:
    deep = contents(system.search(QUERIES, 50))
    for depth in (1, 5, 20):
        short = contents(system.search(QUERIES, depth))
        if repeats(system):
            assert [[doc_id for doc_id, _ in pairs] for pairs in short] == [
                [doc_id for doc_id, _ in pairs[:depth]] for pairs in deep
            ]


@rule
def is_the_same_every_time(name: str, system: System) -> None:
    first = contents(system.search(QUERIES, 20))
    turned = contents(build(name, Corpus(dict(reversed(DOCUMENTS.items())))).search(QUERIES, 20))
    if system.capabilities.deterministic:
        assert contents(system.search(QUERIES, 20)) == first
        assert contents(build(name).search(QUERIES, 20)) == first
    if repeats(system):
        assert turned == first


@rule
def answers_alike_in_batches(_: str, system: System) -> None:
    together = contents(system.search(QUERIES, 20))
    if not repeats(system):
        return
    assert contents([system.search([query], 20)[0] for query in QUERIES]) == together
    assert contents(system.search(QUERIES[::-1], 20))[::-1] == together
    assert contents(system.search([*EMPTY, *QUERIES, UNKNOWN], 20))[2:-1] == together


@rule
def finds_nothing_where_nothing_is(name: str, system: System) -> None:
    assert contents(system.search(EMPTY, 10)) == [[], []]
    answer = contents(system.search([UNKNOWN], 10))
    if CASES[name].by_text and system.capabilities.exact:
        assert answer == [[]]
    empty = build(name, Corpus({}))
    assert contents(empty.search([*QUERIES, *EMPTY], 10)) == [[]] * (len(QUERIES) + 2)


@rule
def takes_any_text(name: str, system: System) -> None:
    if name.startswith(("bm25", "rewrite")):
        tops = [ranking.doc_ids[0] for ranking in system.search(QUERIES[3:6], 5)]
        assert tops == ["html", "greek", "hindi"]
    for text in ("<b>", "&amp;", "'; DROP TABLE--", "\x00\x1b[31m", "🍲", "e\u0301", "a" * 20_000):
        (ranking,) = system.search([Query("odd", text)], 5)
        assert ranking.error is None


@rule
def has_an_identity(name: str, system: System) -> None:
    identity = system.identity()
    assert identity.kind == next(iter(CASES[name].spec(CORPUS)))
    assert build(name).identity().key == identity.key
    system.search(QUERIES, 3)
    assert system.identity() == identity
    data = identity.to_dict()
    assert list(data) == ["kind", "name", "version", "parameters", "snapshot"]
    assert json.loads(json.dumps(data))["kind"] == identity.kind


@rule
def has_an_identity_of_parameters_and_documents(name: str, system: System) -> None:
    key = system.identity().key
    other = build_system(CASES[name].other(CORPUS), training=TRAINING)
    other.index(CORPUS)
    assert other.identity().key != key
    changed = Corpus({**DOCUMENTS, "d1": {"title": "other", "text": "words"}})
    assert (build(name, changed).identity().key == key) is CASES[name].own_documents
    named = build_system(CASES[name].spec(CORPUS), name="mine", training=TRAINING)
    named.index(CORPUS)
    assert (named.identity().name, named.identity().key) == ("mine", key)


@rule
def refuses_a_depth_that_is_none(_: str, system: System) -> None:
    depths: list[Any] = [0, -1, True, 2.5, "10"]
    for depth in depths:
        with pytest.raises(ValueError, match="depth must be a whole number"):
            system.search(QUERIES, depth)


@rule
def answers_alike_with_a_cache(name: str, system: System) -> None:
    expected = contents(system.search(QUERIES, 20))
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            with build(name, cache=Path(folder)) as cached:
                answers = contents(cached.search(QUERIES, 20))
            assert answers == expected or not repeats(system)


@rule
def is_fetched_as_it_is_searched(_: str, system: System) -> None:
    fetched = fetch(system, QUERIES, depth=20, batch=3)
    assert fetched.failures == {}
    assert set(fetched.run.query_ids) == set(TEXTS)
    rankings = {query_id: list(fetched.run[query_id].items()) for query_id in TEXTS}
    assert rankings == {query_id: Ranking.of(pairs).pairs() for query_id, pairs in rankings.items()}
    if repeats(system):
        answers = contents(system.search(QUERIES, 20))
        assert rankings == dict(zip(TEXTS, answers, strict=True))


@rule
def bears_threads_where_it_says_so(_: str, system: System) -> None:
    if not system.capabilities.concurrent:
        return
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: contents(system.search(QUERIES, 20)), range(8)))
    assert all(answer == answers[0] for answer in answers) or not repeats(system)


@rule
def may_be_closed_twice(name: str, _: System) -> None:
    with build(name) as system:
        system.search(QUERIES[:1], 3)
    system.close()
