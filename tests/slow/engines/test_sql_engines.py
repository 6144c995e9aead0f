"""What sqlite and postgres have in common: exact vectors, fusion, filters, loading and resuming."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conformance.world import WORDS

from engines.sql_world import Clustered, connection, dsn
from rankscope import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query, Ranking
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.remote.filters import passes
from rankscope.retrieval.remote.loaded_engine import Batch, LoadedEngine
from rankscope.runs.origin import EngineFacts

SIZE, ASKED = 300, 20
EMBEDDER = Clustered(SIZE + ASKED, clusters=12)
LANGUAGES = [["en"], ["de"], ["en", "fr"], []]
DOCUMENTS: dict[str, dict[str, Any]] = {
    f"d{n:03}": {
        "text": f"v{n} {' '.join(WORDS[(n * k + k) % 15] for k in range(1, 4 + n % 9))}",
        "language": LANGUAGES[n % 4],
        "year": 2000 + n % 3,
    }
    for n in range(SIZE)
}
CORPUS = Corpus(DOCUMENTS)
QUERIES = [
    Query(f"q{n}", f"v{SIZE + n} {WORDS[n % 15]} {WORDS[(n * 4 + 1) % 15]}") for n in range(ASKED)
]

Make = Callable[..., LoadedEngine]


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "postgres":
        dsn()
    else:
        pytest.importorskip("sqlite_vec")
    return str(request.param)


@pytest.fixture
def make(kind: str, tmp_path: Path) -> Iterator[Make]:
    """Make systems over one file or one schema, which is gone after the test."""
    made: list[LoadedEngine] = []
    place: dict[str, Any] = {"path": str(tmp_path / "all.sqlite")}
    if kind == "postgres":
        place = {"dsn": dsn(), "schema_name": f"test_{os.getpid()}"}

    def system(corpus: Corpus = CORPUS, **options: Any) -> LoadedEngine:
        search = options.get("search", "text")
        used: dict[str, Any] = {} if search == "text" else {"embedder": EMBEDDER.spec()}
        used |= {"match": "any"} if kind == "postgres" and search != "vector" else {}
        engine = build_system({kind: {"fields": ["text"], **place, **used, **options}})
        assert isinstance(engine, LoadedEngine)
        made.append(engine)
        engine.index(corpus)
        return engine

    yield system
    for engine in made:
        engine.close()
    if kind == "postgres":
        with connection() as connected:
            connected.execute(f"DROP SCHEMA IF EXISTS test_{os.getpid()} CASCADE")


def pairs(rankings: list[Ranking]) -> list[list[tuple[str, float]]]:
    assert [ranking.error for ranking in rankings] == [None] * len(rankings)
    return [ranking.pairs() for ranking in rankings]


def test_exact_vectors_are_those_of_the_vector_system(make: Make) -> None:
    own = build_system({"vector": {"embedder": EMBEDDER.spec(), "fields": ["text"]}})
    own.index(CORPUS)
    system = make(search="vector")
    assert system.capabilities.exact
    for ours, theirs in zip(own.search(QUERIES, 50), system.search(QUERIES, 50), strict=True):
        assert theirs.scores == pytest.approx(ours.scores, abs=1e-5)
        expected = dict(ours.pairs())
        for doc_id, score in theirs.pairs()[:-1]:  # the last may be one of a near-tie
            assert expected[doc_id] == pytest.approx(score, abs=1e-5)


def test_hybrid_is_rank_fusion_of_both(make: Make) -> None:
    fusion = {"k": 20, "words": 2, "vectors": 0.5, "candidates": 30}
    fused = pairs(make(search="hybrid", fusion=fusion).search(QUERIES, 60))
    words = pairs(make(search="text").search(QUERIES, 30))
    near = pairs(make(search="vector").search(QUERIES, 30))
    for answer, by_words, by_vectors in zip(fused, words, near, strict=True):
        shares: dict[str, float] = {}
        for weight, leg in ((2.0, by_words), (0.5, by_vectors)):
            for rank, (doc_id, _) in enumerate(leg, 1):
                shares[doc_id] = shares.get(doc_id, 0.0) + weight / (20 + rank)
        assert dict(answer) == pytest.approx(shares, rel=1e-12)
        assert by_words
        assert by_vectors


METADATA: list[dict[str, Any]] = [
    {"lang": "en"},
    {"lang": ["de", "fr"]},
    {"lang": "en", "when": 2001},
    {},
    {"lang": []},
]


@pytest.mark.parametrize("search", ["text", "vector", "hybrid"])
def test_filters(make: Make, search: str) -> None:
    system = make(search=search, filters={"year": "when", "language": "lang"})
    everything = pairs(make(search=search).search(QUERIES[:3], SIZE))
    for metadata in METADATA:
        wanted = {
            name: [str(item) for item in (value if isinstance(value, list) else [value])]
            for name, key in (("language", "lang"), ("year", "when"))
            if (value := metadata.get(key)) is not None
        }
        may = {
            doc_id
            for doc_id, fields in DOCUMENTS.items()
            if passes({"language": fields["language"], "year": [str(fields["year"])]}, wanted)
        }
        asked = [Query(query.query_id, query.text, metadata) for query in QUERIES[:3]]
        for answer, unfiltered in zip(pairs(system.search(asked, SIZE)), everything, strict=True):
            expected = {doc_id for doc_id, _ in unfiltered} & may
            assert {doc_id for doc_id, _ in answer} == expected


class InterruptionError(Exception):
    """Stands for whatever stops a load."""


def test_a_stopped_load_goes_on(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = pairs(make(search="hybrid", index="whole", batch=64).search(QUERIES, 20))
    stopped = make(search="hybrid", index="stopped", batch=64)
    add = stopped.add

    def add_some(batch: Batch) -> None:
        if batch.first >= 128:
            raise InterruptionError("gone")
        add(batch)

    monkeypatch.setattr(stopped, "add", add_some)
    with pytest.raises(InputError, match="128 documents"):
        stopped.prepare()
    resumed = make(search="hybrid", index="stopped", batch=50)  # other batches, too
    assert pairs(resumed.search(QUERIES, 20)) == expected
    (facts,) = resumed.facts()
    assert (facts.documents, facts.loaded) == (SIZE, SIZE - 128)
    again = make(search="hybrid", index="stopped", fusion={"k": 1})  # a sweep uses one index
    assert all(pairs(again.search(QUERIES, 20)))
    assert again.loaded == 0


def test_stopped_before_the_indexes_are_made(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    system = make(search="hybrid")
    monkeypatch.setattr(system, "finish", lambda: (_ for _ in ()).throw(InterruptionError("gone")))
    with pytest.raises(InputError, match="300 documents"):
        system.prepare()
    resumed = make(search="hybrid")
    assert all(pairs(resumed.search(QUERIES, 5)))
    assert resumed.loaded == 0


SCRIPT = """
import sys
sys.path[:0] = {paths!r}
from engines import test_sql_engines as world
from rankscope.retrieval.registry import build_system
system = build_system({spec!r} | {{}})
add = system.add
def told(batch):
    add(batch)
    print(batch.first, flush=True)
    sys.stdin.readline()  # which the test answers, until it kills
system.add = told
system.index(world.CORPUS)
system.prepare()
"""


def test_a_killed_load_goes_on(make: Make, kind: str) -> None:
    options = make().options.model_dump(exclude_unset=True)
    options = {name: value for name, value in options.items() if name != "embedder"}
    if kind == "postgres":
        options["dsn"] = dsn()
    options["batch"] = 20
    tests = Path(__file__).parents[2]
    script = SCRIPT.format(
        paths=[str(tests), str(tests / "slow"), str(tests.parent / "src")], spec={kind: options}
    )
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    for _ in range(4):  # a few batches are in, and the next is on its way
        assert process.stdout.readline(), process.stderr.read()
        process.stdin.write("\n")
        process.stdin.flush()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    resumed = make(batch=20)
    expected = pairs(make(index="fresh").search(QUERIES, 20))
    assert pairs(resumed.search(QUERIES, 20)) == expected
    assert 0 < resumed.loaded <= SIZE - 60


def test_two_may_load_at_the_same_time(make: Make) -> None:
    expected = pairs(make(search="hybrid", index="alone").search(QUERIES, 20))
    systems = [make(search="hybrid", index="both", batch=batch) for batch in (7, 11)]
    together, errors = threading.Barrier(2), []

    def load(system: LoadedEngine) -> None:
        together.wait()
        try:
            system.prepare()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=load, args=(system,)) for system in systems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for system in systems:
        assert pairs(system.search(QUERIES, 20)) == expected
        assert system.count() == SIZE


def test_several_threads(make: Make) -> None:
    system = make(search="hybrid")
    alone = fetch(system, QUERIES, depth=30, batch=2)
    together = fetch(system, QUERIES, depth=30, batch=2, jobs=4)
    assert alone.failures == together.failures == {}
    assert alone.run.to_dict() == together.run.to_dict()


HOSTILE = [
    '"',
    "'",
    '"leek" AND',
    "leek OR",
    "(((",
    "text:leek",
    "{a b} : leek",
    "leek* NEAR/2",
    "^leek -",
    "' OR 1=1 --",
    "'; DROP TABLE rankscope_indexes; --",
    "%(query)s %s %% :words ?1 $1",
    "leek\0soup",
    "\\",
    "\\' & | ! <-> :*",
    "🍲" * 50,
    " ".join(f"word{n}" for n in range(10_000)),
    "leek " * 10_000,
    "x" * 100_000,
]


def test_no_query_breaks_the_language_of_queries(make: Make) -> None:
    system = make()
    for text in HOSTILE:
        (ranking,) = system.search([Query("q", text)], 10)
        assert ranking.error is None, text[:100]
        assert bool(ranking.doc_ids) == ("leek" in text), text[:100]
    assert system.count() == SIZE


def test_an_index_by_name_holds_what_it_held(make: Make) -> None:
    make(index="mine").prepare()
    other = make(Corpus({"d1": {"text": "v1 leek"}}), index="mine")
    with pytest.raises(InputError, match="holds other documents"):
        other.prepare()
    odd = make(index='odd "name" % \'; --')
    assert all(pairs(odd.search(QUERIES, 3)))


def copy(system: LoadedEngine, attempt: int) -> LoadedEngine:
    """Let a system be the one of a later attempt, which builds an index of its own."""
    system.context = replace(system.context, attempt=attempt, rebuild=True)
    return system


def names(system: LoadedEngine, kind: str) -> set[str]:
    """Return the indexes that there are."""
    if kind == "sqlite":  # by its own library: two in one process break each other's locks
        with system._connections.taken() as connected:  # type: ignore[attr-defined]
            rows = connected.execute("SELECT name FROM rankscope_indexes").fetchall()
    else:
        with connection() as connected:
            rows = connected.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> "
                "'rankscope_indexes'",
                (f"test_{os.getpid()}",),
            ).fetchall()
    return {name for (name,) in rows}


@pytest.mark.parametrize("index", ['odd "name" %', "x" * 62, None])
def test_copies_are_built_beside_the_first_and_dropped(
    make: Make, kind: str, index: str | None
) -> None:
    first = make(index=index, search="vector")
    expected = pairs(first.search(QUERIES, 10))
    both = [copy(make(index=index, search="vector"), attempt=1) for _ in range(2)]
    for system in both:
        assert pairs(system.search(QUERIES, 10)) == expected
    assert [system.loaded for system in both] == [SIZE, 0]
    assert names(first, kind) == {first.index_name, both[0].index_name}
    for system in both:
        system.close()
    assert names(first, kind) == {first.index_name}
    assert pairs(first.search(QUERIES, 10)) == expected


def test_dropping_needs_no_question(make: Make, kind: str) -> None:
    kept, first = make(index="kept"), make(search="vector")
    for system in (kept, first):
        system.prepare()
    make(search="vector", drop=True).close()
    assert names(kept, kind) == {"kept"}
    never = make(index="never", drop=True)
    never.close()
    assert (never.loaded, names(kept, kind)) == (0, {"kept"})
    with pytest.raises(InputError, match="could not be dropped"):
        make(Corpus({"d1": {"text": "v1 leek"}}), index="kept", drop=True).close()
    assert names(kept, kind) == {"kept"}


def test_what_the_engine_says_of_itself(make: Make, kind: str) -> None:
    system = make(search="hybrid")
    (facts,) = fetch(system, QUERIES).facts
    assert isinstance(facts, EngineFacts)
    assert facts.engine == kind
    assert facts.documents == facts.loaded == SIZE
    assert facts.snapshot == system.identity().snapshot
    names = ("SQLite 3.", "sqlite-vec ") if kind == "sqlite" else ("PostgreSQL ", "pgvector ")
    assert all(name in facts.version for name in names)
    assert facts.settings["dimensions"] == 64
    assert facts.settings["fusion"]["k"] == 60


def test_documents_without_a_direction_are_not_found(make: Make) -> None:
    def flat(texts: list[str]) -> Any:
        return [[0.0] * 8 if "zero" in text else [1.0] * 7 + [len(text)] for text in texts]

    corpus = Corpus({"a": {"text": "zero"}, "b": {"text": "leek"}, "c": {"text": "soup pie"}})
    embedder = {"callable": {"function": flat, "version": "1"}}
    for options in ({}, {"quantisation": "bit"}):
        system = make(corpus, search="vector", embedder=embedder, **options)
        queries = [Query("q1", "leek"), Query("q2", "zero")]
        found_by_leek, found_by_zero = pairs(system.search(queries, 10))
        assert {doc_id for doc_id, _ in found_by_leek} == {"b", "c"}
        assert found_by_zero == []
    both = make(corpus, search="hybrid", embedder=embedder)
    (answer,) = pairs(both.search([Query("q", "zero")], 10))
    assert [doc_id for doc_id, _ in answer] == ["a"]
