"""PostgreSQL, a real one: words, indexes of vectors, a server that goes away, and no secret."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engines.world import (
    EMBEDDER,
    connection,
    corpus_of,
    dsn,
    postgres,
    queries_of,
    start_postgres,
    stop_postgres,
)
from rankscope import Corpus, run_benchmark
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.options import Reading, SpecError
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import SYSTEMS, build_system
from rankscope.retrieval.remote.compared_exactly import Compared, exactness
from rankscope.retrieval.remote.loaded_engine import LoadedEngine
from rankscope.retrieval.remote.postgres import PostgresIndex

psycopg = pytest.importorskip("psycopg", reason="psycopg speaks to PostgreSQL")

SCHEMA = f"postgres_{os.getpid()}"
RECIPES = {
    "d1": {"title": "leek soup", "text": "cut and boil the leeks with potatoes"},
    "d2": {"title": "apple pie", "text": "bake apples; nothing like leek or soup"},
    "d3": {"title": "bread", "text": "knead the dough and bake it, then bake it again"},
}
CORPUS = Corpus(RECIPES)
NEAR = {"search": "vector"}

Make = Callable[..., PostgresIndex]


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    dsn()
    yield
    with connection() as connected:
        connected.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[PostgresIndex] = []

    def system(corpus: Corpus = CORPUS, **options: Any) -> PostgresIndex:
        engine = build_system({"postgres": {"dsn": dsn(), "schema_name": SCHEMA, **options}})
        assert isinstance(engine, PostgresIndex)
        made.append(engine)
        engine.index(corpus)
        return engine

    yield system
    for engine in made:
        engine.close()


def ids(system: LoadedEngine, text: str, depth: int = 10, **metadata: Any) -> list[str]:
    (ranking,) = system.search([Query("q", text, metadata)], depth)
    assert ranking.error is None
    return list(ranking.doc_ids)


# --- words ---------------------------------------------------------------------------------------


def test_what_matches(make: Make) -> None:
    websearch, every_word, any_word = (make(match=match) for match in ("websearch", "all", "any"))
    assert ids(websearch, "leek soup") == ["d1", "d2"]
    assert ids(websearch, '"leek soup"') == ["d1"]
    assert ids(websearch, "leek -apple") == ["d1"]
    assert ids(websearch, "bread or pie") == ["d3", "d2"]
    assert ids(websearch, "how do I bake leek bread") == []
    assert ids(every_word, "leek -apple") == ["d2"]
    assert ids(any_word, "how do I bake leek bread") == ["d3", "d2", "d1"]
    assert ids(any_word, "the and of") == []  # stop words
    assert ids(make(match="any", language="simple"), "the") == ["d3", "d1"]


def test_scores_are_those_of_the_server(make: Make) -> None:
    system = make(match="any", fields={"title": 4, "text": 1}, normalization=2)
    (ranking,) = system.search([Query("q", "leek soup")], 10)
    with connection() as connected:
        rows = connected.execute(
            "SELECT ts_rank_cd('{0,0,0.25,1}', setweight(to_tsvector('english', %s), 'A') || "
            "setweight(to_tsvector('english', %s), 'B'), 'leek | soup'::tsquery, 2)::float8",
            (RECIPES["d1"]["title"], RECIPES["d1"]["text"]),
        ).fetchone()
    assert dict(ranking.pairs())["d1"] == pytest.approx(rows[0], rel=1e-6)


def test_what_cannot_be_loaded_is_named(make: Make) -> None:
    huge = " ".join(f"word{n}" for n in range(200_000))
    with pytest.raises(InputError, match="'huge'"):
        make(Corpus({**RECIPES, "huge": {"title": "", "text": huge}})).prepare()
    with pytest.raises(InputError, match="cannot hold the id"):
        make(Corpus({"a\0b": {"text": "soup"}})).prepare()
    with pytest.raises(InputError, match="nearest: english"):
        make(language="englsh").prepare()
    corpus = Corpus({"a": {"text": "nul\0byte", "language": "e\0n"}, "b": {"text": "soup"}})
    assert ids(make(corpus, filters={"language": "lang"}), "byte", lang="e\0n") == ["a"]


# --- vectors -------------------------------------------------------------------------------------

SIZE = 3000
MANY = corpus_of(SIZE)
QUERIES = queries_of(SIZE, 40, lang="de")


@pytest.fixture
def near(make: Make) -> Make:
    def system(**options: Any) -> PostgresIndex:
        vectors = {"search": "vector", "embedder": EMBEDDER, "fields": ["text"]}
        return make(MANY, **{**vectors, **options})

    return system


def recall(system: LoadedEngine, *, stored: bool = False) -> float:
    """Return the share of the exact ten best that a search finds."""
    run = fetch(system, QUERIES, depth=10).run
    rows = exactness(system, QUERIES, run, Compared(10, 10, 1e-6), "it").queries
    hits = [row.stored_hits if stored else row.hits for row in rows]
    return float(np.mean([hit or 0 for hit in hits])) / 10


def uses_vector_index(system: PostgresIndex) -> bool:
    asked, _ = next(iter(entry for entry in system.asked(QUERIES[:1])))  # type: ignore[misc]
    statement, parameters = system._question(asked, 10)
    with system.server.asked() as link:
        plan = link.connection.execute(f"EXPLAIN {statement}", parameters).fetchall()
    return any("Index Scan using" in line and "embedding" in line for (line,) in plan) or any(
        "binary_quantize_idx" in line for (line,) in plan
    )


@pytest.mark.parametrize("quantisation", ["none", "half", "bit"])
def test_hnsw(near: Make, quantisation: str) -> None:
    options = {"vectors": "hnsw", "quantisation": quantisation, "m": 4, "ef_construction": 8}
    systems = [near(**options, ef_search=ef_search) for ef_search in (10, 100, 1000)]
    rates = [recall(system) for system in systems]
    assert [system.loaded for system in systems] == [SIZE, 0, 0]
    assert all(map(uses_vector_index, systems))
    assert not systems[0].capabilities.exact
    assert rates[0] < rates[1] <= rates[2] + 0.01
    exhaustive = recall(systems[0], stored=True)
    assert exhaustive > rates[0]
    if quantisation == "none":
        assert exhaustive == 1.0
    if quantisation == "half":
        assert exhaustive > 0.97


def test_ivfflat(near: Make) -> None:
    systems = [near(vectors="ivfflat", lists=50, probes=probes) for probes in (1, 5, 50)]
    rates = [recall(system) for system in systems]
    assert [system.loaded for system in systems] == [SIZE, 0, 0]
    assert all(map(uses_vector_index, systems))
    assert rates[0] < rates[1] <= rates[2] == 1.0


def test_bits_are_rescored(near: Make) -> None:
    options = {"vectors": "exact", "quantisation": "bit"}
    few, many = (recall(near(**options, rescore=rescore)) for rescore in (0, 30))
    assert few < many


@pytest.mark.parametrize("vectors", ["hnsw", "ivfflat"])
def test_a_filtered_search_goes_on_where_it_may(near: Make, vectors: str) -> None:
    options: dict[str, Any] = {"filters": {"language": "lang"}, "vectors": vectors}
    options |= {"ef_search": 30} if vectors == "hnsw" else {"lists": 50}
    short = near(**options)
    short.prepare()
    short.server.settings |= {"enable_bitmapscan": "off"}  # else it finds the few by their values
    short.server.close()
    full = near(**options, iterative_scan="relaxed_order")
    full.prepare()
    full.server.settings |= {"enable_bitmapscan": "off"}
    full.server.close()
    cut_off = [len(ranking.doc_ids) for ranking in short.search(QUERIES, 30)]
    filled = [len(ranking.doc_ids) for ranking in full.search(QUERIES, 30)]
    assert min(cut_off) < 30
    assert set(filled) == {30}
    german = {f"d{n:05}" for n in range(0, SIZE, 3)}
    assert all(german.issuperset(ranking.doc_ids) for ranking in full.search(QUERIES, 30))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({**NEAR, "vectors": "hnsw", "m": 40}, "twice m"),
        ({**NEAR, "vectors": "ivfflat", "iterative_scan": "strict_order"}, "relaxed_order"),
        ({"schema_name": "x" * 64}, "63 bytes"),
        ({"index": "rankscope_indexes"}, "63 bytes"),
        ({"snapshot": "monday"}, "snapshot is for sql"),
        ({"fields": dict(zip("abcde", range(1, 6), strict=True))}, "four weights"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        SYSTEMS.read({"postgres": options})
    with pytest.raises(SpecError, match=problem):
        SYSTEMS.read({"postgres": {"dsn": "${DSN}", **options}}, Reading(unexpanded=True))
    open_values = {"m": "${M}", "vectors": "hnsw", "sql": "${SQL}"}
    SYSTEMS.read({"postgres": open_values}, Reading(unexpanded=True))  # not known yet


# --- the server ----------------------------------------------------------------------------------


def test_a_server_that_goes_away_and_comes_back(make: Make) -> None:
    queries = {f"q{n}": "leek soup" for n in range(8)}
    system = make()
    system.prepare()
    expected = fetch(system, queries).run.to_dict()
    stop_postgres()
    try:
        few = dict(list(queries.items())[:4])
        gone = fetch(system, few, retries=1, pause=0.01)
        with pytest.raises(InputError, match="none of the first 8 queries"):
            fetch(system, queries, retries=1, pause=0.01)
    finally:
        start_postgres()
    assert set(gone.failures) == set(few)
    assert fetch(system, queries).run.to_dict() == expected
    with connection() as connected:  # every connection is cut, while it is asked
        connected.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND application_name = 'rankscope'"
        )
    back = fetch(system, queries, retries=2, pause=0.01)
    assert back.failures == {}
    assert back.run.to_dict() == expected
    assert back.timings.retried > 0


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], str]:
    """Return what is recorded of a server, for a user called me without settings of libpq."""
    for name in ("HOST", "HOSTADDR", "PORT", "DATABASE", "USER", "SERVICE"):
        monkeypatch.delenv(f"PG{name}", raising=False)
    monkeypatch.setattr("rankscope.retrieval.remote.postgres_server._own_name", lambda: "me")

    def recorded(address: str | None) -> str:
        with build_system({"postgres": {"dsn": address}}) as system:
            return str(system.identity().parameters["database"])

    return recorded


DATABASES = [
    (["host=h dbname=d", "postgresql://u:p@H/d", "host=h port=5432 dbname=d"], "host=h"),
    (["host=h user=u", "postgresql://u:p@h", "host=h dbname=u"], "host=h"),
    (["host=h dbname=d"], "host=h port=5433 dbname=d"),
    (["hostaddr=10.0.0.1", "host=h hostaddr=10.0.0.1"], "host=h"),
    (["postgresql://a,b/d", "host=a,b port=5432, dbname=d"], "postgresql://a/d"),
    (["postgresql:///d?host=/run/x", "host=/run/x dbname=d"], "host=/run/X dbname=d"),
    (["postgresql://[::1]/d", "host=::1 dbname=d"], "postgresql://[::2]/d"),
    (["service=one", "service=one password=p"], "service=two"),
]


def test_a_database_is_known_by_host_port_and_name(
    place: Callable[[str | None], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for same, other in DATABASES:
        (known,) = {place(address) for address in same}
        assert place(other) != known
    for name, value in {"HOST": "a,b", "PORT": "1", "USER": "u", "PASSWORD": "hunter22"}.items():
        monkeypatch.setenv(f"PG{name}", value)
    assert place(None) == place("postgresql://a:1,b:1/u")
    monkeypatch.setenv("PGDATABASE", "d")
    assert place(None) == place("postgresql://a:1,b:1/d") == place("host=a,b user=v")
    assert place("host=c") == place("postgresql://c:1/d")


# --- secrets and mistakes ------------------------------------------------------------------------


def bench(folder: Path, system: str) -> Path:
    """Write a small benchmark of bm25 and a system."""
    (folder / "q.jsonl").write_text('{"_id": "q1", "text": "leek"}\n')
    (folder / "c.jsonl").write_text('{"_id": "d1", "text": "leek soup"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    config = folder / "bench.yaml"
    config.write_text(
        "name: it\ncollection: {corpus: c.jsonl, queries: q.jsonl, qrels: qrels.tsv}\n"
        f"systems:\n  words: {{bm25: {{}}}}\n  pg: {system}\nmeasures: [nDCG@10]\n"
    )
    return config


PASSWORD = "hunter2-öß"


def is_refused(address: str) -> bool:
    try:
        with connection(address):
            return False
    except psycopg.OperationalError:
        return True


@pytest.fixture
def locked() -> Iterator[str]:
    """Make a user who needs a password; the address without it."""
    rules = postgres().pgdata / "pg_hba.conf"
    before = rules.read_text()
    with connection() as connected:
        connected.execute(f"CREATE ROLE locked LOGIN PASSWORD '{PASSWORD}'")
        connected.execute("GRANT ALL ON DATABASE postgres TO locked")
        rules.write_text(f"local all locked scram-sha-256\n{before}")
        connected.execute("SELECT pg_reload_conf()")
        address = f"host={postgres().pgdata} user=locked dbname=postgres"
        while not is_refused(f"{address} password=wrong"):  # until the server has read the rules
            connected.execute("SELECT pg_sleep(0.05)")
        yield address
        rules.write_text(before)
        connected.execute("SELECT pg_reload_conf()")
        connected.execute("DROP OWNED BY locked; DROP ROLE locked")


ADDRESSES = {
    "postgresql://me:hunter22@127.0.0.1:1/db": "Connection refused",
    "postgresql://me:hunter22@nowhere.invalid/db": "resolve host",
    "host={folder} user=postgres password=hunter22 dbname=nowhere": "does not exist",
    "{locked} password='wrong-hunter22'": "password authentication failed",
    "{locked} password=wrong-hunter22": "password authentication failed",
    "no address, but hunter22": "cannot be read",
}


def test_a_server_that_cannot_be_reached(locked: str, make: Make) -> None:
    for address, problem in ADDRESSES.items():
        with pytest.raises(InputError, match=problem) as caught:
            fetch(make(dsn=address.format(folder=postgres().pgdata, locked=locked)), {"q": "leek"})
        assert "hunter22" not in str(caught.value)


def test_the_password_is_written_nowhere(
    locked: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    address = f"{locked} password='{PASSWORD}'"
    monkeypatch.setenv("ADDRESS", address)
    config = bench(tmp_path, "{postgres: {dsn: '${ADDRESS}', schema_name: locked_schema}}")
    run_benchmark(config, output=tmp_path / "out")
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"PostgreSQL 1" in written  # the record says what answered
    for secret in (PASSWORD, address):
        assert secret.encode() not in written
        assert secret not in caplog.text
