"""PostgreSQL, a real one: words, indexes of vectors, SQL of the user's, and no secret anywhere."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.servers import (
    EMBEDDER,
    connection,
    corpus_of,
    dsn,
    facts_of,
    postgres,
    queries_of,
    start_postgres,
    stop_postgres,
)
from conformance.test_each_engine import RECIPES, ids, measured
from rankscope import Corpus, run_benchmark
from rankscope.errors import InputError
from rankscope.retrieval.engines.postgres import Postgres
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.options import Reading, SpecError
from rankscope.retrieval.protocol import THIS_PROCESS, Query
from rankscope.retrieval.registry import SYSTEMS, build_system

psycopg = pytest.importorskip("psycopg", reason="psycopg speaks to PostgreSQL")

SIZE = 600
MANY = corpus_of(SIZE)
NEAR: dict[str, Any] = {"search": "vector"}
Make = Callable[..., Postgres]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Postgres] = []

    def system(corpus: Corpus = RECIPES, **options: Any) -> Postgres:
        drop = {} if "sql" in options else {"drop": "dsn" not in options}
        engine = build_system({"postgres": {"dsn": dsn(), **drop, **options}})
        assert isinstance(engine, Postgres)
        made.append(engine)
        engine.index(corpus)
        return engine

    yield system
    for engine in made:
        engine.close()


# --- words and vectors ---------------------------------------------------------------------------


def test_what_matches(make: Make) -> None:
    websearch = make(match="websearch")
    assert ids(websearch, "leek soup") == ["d1", "d2"]
    assert ids(websearch, '"leek soup"') == ["d1"]
    assert ids(websearch, "leek -apple") == ["d1"]
    assert ids(websearch, "how do I bake leek bread") == []
    assert ids(make(), "how do I bake leek bread") == ["d3", "d2", "d1"]
    assert ids(make(), "the and of") == []  # stop words
    assert ids(make(language="simple"), "the") == ["d3", "d1"]


def test_scores_are_those_of_the_server(make: Make) -> None:
    system = make(fields={"title": 4, "text": 1}, normalization=2)
    (ranking,) = system.search([Query("q", "leek soup")], 10)
    with connection() as connected:
        rows = connected.execute(
            "SELECT ts_rank_cd('{0,0,0.25,1}', setweight(to_tsvector('english', %s), 'A') || "
            "setweight(to_tsvector('english', %s), 'B'), 'leek | soup'::tsquery, 2)::float8",
            ("leek soup", "cut and boil the leeks with potatoes"),
        ).fetchone()
    assert dict(ranking.pairs())["d1"] == pytest.approx(rows[0], rel=1e-6)


def test_what_cannot_be_loaded_is_named(make: Make) -> None:
    huge = " ".join(f"word{n}" for n in range(200_000))
    with pytest.raises(InputError, match="'huge'"):
        make(Corpus({"d1": "leek", "huge": huge})).prepare()
    with pytest.raises(InputError, match="cannot hold the id"):
        make(Corpus({"a\0b": {"text": "soup"}})).prepare()
    with pytest.raises(InputError, match='"englsh" does not exist'):
        make(language="englsh").prepare()
    corpus = Corpus({"a": {"text": "nul\0byte", "language": "e\0n"}, "b": {"text": "soup"}})
    assert ids(make(corpus, filters={"language": "lang"}), "byte", lang="e\0n") == ["a"]


@pytest.mark.parametrize("kind", ["vector", "halfvec"])
def test_a_graph_finds_more_with_more_candidates(make: Make, kind: str) -> None:
    near = {**NEAR, "embedder": EMBEDDER, "fields": ["text"]}
    options = {"vectors": "hnsw", "type": kind, "create": {"m": 2, "ef_construction": 4}}
    systems = [
        make(MANY, **near, **options, params={"hnsw": {"ef_search": candidates}}, drop=False)
        for candidates in (10, 300)
    ]
    (few, stored), (many, _) = map(measured, systems)
    assert [system.loaded for system in systems] == [SIZE, 0]
    assert few < many
    assert few < stored
    assert stored == 1 or kind == "halfvec"
    assert not systems[0].capabilities.exact
    systems[0].search(queries_of(SIZE, 5), 50)
    assert "fewer documents" in systems[0].notes[-1]


def test_lists_find_more_the_more_are_searched(make: Make) -> None:
    near = {**NEAR, "embedder": EMBEDDER, "vectors": "ivfflat", "create": {"lists": 20}}
    (few, _), (many, _) = (
        measured(make(MANY, **near, params={"ivfflat.probes": probes})) for probes in (1, 20)
    )
    assert few < many == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({**NEAR, "create": {"m": 40}}, "create is for vectors"),
        ({**NEAR, "vectors": "hnsw", "create": {"m = 1) --": 4}}, "name of a setting"),
        ({"snapshot": "monday"}, "snapshot is about"),
        ({"fields": dict(zip("abcde", range(1, 6), strict=True))}, "four weights"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        SYSTEMS.read({"postgres": options})
    with pytest.raises(SpecError, match=problem):
        SYSTEMS.read({"postgres": {"dsn": "${DSN}", **options}}, Reading(unexpanded=True))


# --- the server ----------------------------------------------------------------------------------


def test_a_server_that_goes_away_and_comes_back(make: Make) -> None:
    queries = {f"q{n}": "leek soup" for n in range(8)}
    system = make()
    expected = fetch(system, queries).run.to_dict()
    stop_postgres()
    try:
        few = dict(list(queries.items())[:1])
        gone = fetch(system, few, retries=1, pause=0.01)
        with pytest.raises(InputError, match="none of the first"):
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
    assert (back.failures, back.run.to_dict()) == ({}, expected)
    assert back.timings.retried > 0


DATABASES = [
    (["host=h dbname=d", "postgresql://u:p@H/d", "host=h port=5432 dbname=d"], "host=h"),
    (["host=h user=u", "postgresql://u:p@h", "host=h dbname=u"], "host=h"),
    (["host=h dbname=d"], "host=h port=5433 dbname=d"),
    (["hostaddr=10.0.0.1", "host=h hostaddr=10.0.0.1"], "host=h"),
    (["postgresql:///d?host=/run/x", "host=/run/x dbname=d"], "host=/run/X dbname=d"),
    (["postgresql://[::1]/d", "host=::1 dbname=d"], "postgresql://[::2]/d"),
]


def test_a_database_is_known_by_host_port_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOST", "HOSTADDR", "PORT", "DATABASE", "USER", "SERVICE"):
        monkeypatch.delenv(f"PG{name}", raising=False)

    def place(address: str | None) -> str:
        with build_system({"postgres": {"dsn": address}}) as system:
            return str(system.identity().parameters["database"])

    for same, other in DATABASES:
        (known,) = {place(address) for address in same}
        assert place(other) != known
    for name, value in {"HOST": "a", "PORT": "1", "USER": "u", "PASSWORD": "hunter22"}.items():
        monkeypatch.setenv(f"PG{name}", value)
    assert place(None) == place("postgresql://a:1/u")
    monkeypatch.setenv("PGDATABASE", "d")
    assert place(None) == place("postgresql://a:1/d") == place("host=a user=v")


# --- secrets -------------------------------------------------------------------------------------

PASSWORD = "hunter2-öß"
ADDRESSES = {
    "postgresql://me:hunter22@127.0.0.1:1/db": "Connection refused",
    "postgresql://me:hunter22@nowhere.invalid/db": "resolve host",
    "host={folder} user=postgres password=hunter22 dbname=nowhere": "does not exist",
    "{locked} password='wrong-hunter22'": "password authentication failed",
    "no address, but hunter22": "cannot be read",
}


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
        connected.execute("CREATE SCHEMA IF NOT EXISTS rankscope")
        connected.execute(f"CREATE ROLE locked LOGIN PASSWORD '{PASSWORD}'")
        connected.execute("GRANT ALL ON SCHEMA rankscope TO locked")
        rules.write_text(f"local all locked scram-sha-256\n{before}")
        connected.execute("SELECT pg_reload_conf()")
        address = f"host={postgres().pgdata} user=locked dbname=postgres"
        while not is_refused(f"{address} password=wrong"):  # until the server has read the rules
            connected.execute("SELECT pg_sleep(0.05)")
        yield address
        rules.write_text(before)
        connected.execute("SELECT pg_reload_conf()")
        connected.execute("DROP OWNED BY locked; DROP ROLE locked")


def test_a_server_that_cannot_be_reached(locked: str) -> None:
    for address, problem in ADDRESSES.items():
        place = address.format(folder=postgres().pgdata, locked=locked)
        system = build_system({"postgres": {"dsn": place}})
        system.index(RECIPES)
        with system, pytest.raises(InputError, match=problem) as caught:
            fetch(system, {"q": "leek"})
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
    (tmp_path / "q.jsonl").write_text('{"_id": "q1", "text": "leek"}\n')
    (tmp_path / "c.jsonl").write_text('{"_id": "d1", "text": "leek soup"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (tmp_path / "bench.yaml").write_text(
        "name: it\ncollection: {corpus: c.jsonl, queries: q.jsonl, qrels: qrels.tsv}\n"
        "systems:\n  words: {bm25: {}}\n  pg: {postgres: {dsn: '${ADDRESS}'}}\n"
        "measures: [nDCG@10]\n"
    )
    run_benchmark(tmp_path / "bench.yaml", output=tmp_path / "out")
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"PostgreSQL 1" in written  # the record says what answered
    for secret in (PASSWORD, address):
        assert secret.encode() not in written
        assert secret not in caplog.text


# --- SQL of the user's ---------------------------------------------------------------------------

TABLE = f"recipes_{os.getpid()}"
ROWS = [(1, "leek soup", "en"), (2, "apple pie", "en"), (3, "leek tart", "fr"), (4, "bread", "en")]
BY_WORDS = (
    f"SELECT id, ts_rank(to_tsvector('english', body), q) FROM {TABLE}, "
    "websearch_to_tsquery('english', %(query)s) AS q WHERE to_tsvector('english', body) @@ q "
    "ORDER BY 2 DESC, id LIMIT %(depth)s"
)


def plane(texts: list[str]) -> Any:
    return [[float(len(text)), 1.0] for text in texts]


PLANE = {"callable": {"function": plane, "version": "1"}}


@pytest.fixture(scope="module")
def table() -> Iterator[None]:
    with connection() as connected:
        connected.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connected.execute(f"CREATE TABLE {TABLE} (id int, body text, lang text, at vector(2))")
        for number, body, language in ROWS:
            connected.execute(
                f"INSERT INTO {TABLE} VALUES (%s, %s, %s, %s::vector)",
                (number, body, language, f"[{number},1]"),
            )
        yield
        connected.execute(f"DROP TABLE {TABLE}")


@pytest.mark.usefixtures("table")
def test_sql_answers_with_words_metadata_and_vectors(make: Make) -> None:
    system = make(sql=f"{BY_WORDS} ;")
    assert set(ids(system, "leek")) == {"1", "3"}
    assert len(ids(system, "leek", depth=1)) == 1
    assert ids(system, "") == []
    by_language = (
        f"SELECT id FROM {TABLE} WHERE lang = %(lang)s AND body LIKE '%%' || %(query)s || '%%' "
        "ORDER BY id LIMIT %(depth)s"
    )
    system = make(sql=by_language)
    assert ids(system, "leek", lang="fr") == ["3"]
    fetched = fetch(system, [Query("q1", "leek", {"lang": "en"}), Query("q2", "leek")], retries=0)
    assert list(fetched.run["q1"]) == ["1"]
    assert "%(lang)s" in fetched.failures["q2"]
    order = f"SELECT id FROM {TABLE} WHERE %(query)s <> '' ORDER BY (id * 7) %% 5 LIMIT %(depth)s"
    (ranking,) = make(sql=order).search([Query("q", "x")], 3)
    assert ranking.pairs() == [("3", 3.0), ("1", 2.0), ("4", 1.0)]
    near = f"SELECT id, 1 - (at <=> %(vector)s) FROM {TABLE} ORDER BY 2 DESC LIMIT %(depth)s"
    assert ids(make(sql=near, embedder=PLANE), "xx")[0] == "2"
    assert ids(make(sql=near, embedder=PLANE, query_prefix="ab"), "x")[0] == "3"
    with pytest.raises(InputError, match="name the one that made"):
        fetch(make(sql=near, embedder=EMBEDDER), {"q": f"7 of {SIZE}"})


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("SELECT id FROM nowhere WHERE x = %(query)s LIMIT %(depth)s", "relation"),
        (f"SELECT no FROM {TABLE} WHERE body = %(query)s LIMIT %(depth)s", '"no"'),
        (f"SELEC id FROM {TABLE} WHERE body = %(query)s LIMIT %(depth)s", "syntax"),
        (f"SELECT *, %(query)s FROM {TABLE} LIMIT %(depth)s", "5 columns"),
        (f"SELECT id, body || %(query)s FROM {TABLE} LIMIT %(depth)s", "a score"),
        (f"SELECT body::bytea FROM {TABLE} WHERE %(query)s <> '' LIMIT %(depth)s", "an id"),
        (f"DELETE FROM {TABLE} WHERE body = %(query)s OR id < %(depth)s RETURNING id", "read-only"),
        ("SELECT id FROM t WHERE x = %(query)s", "depth"),
        ("SELECT '5%' WHERE x = %(query)s LIMIT %(depth)s", "%%"),
    ],
    ids=lambda text: text.replace(TABLE, "recipes"),  # the same in every process
)
def test_sql_that_cannot_be_used(make: Make, sql: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        fetch(make(sql=sql), {"q": "leek"})
    with connection() as connected:
        assert connected.execute(f"SELECT count(*) FROM {TABLE}").fetchone() == (len(ROWS),)


@pytest.mark.usefixtures("table")
def test_rows_that_are_no_answer(make: Make) -> None:
    some = f"SELECT id, nullif(id, length(%(query)s)) FROM {TABLE} LIMIT %(depth)s"
    fetched = fetch(make(sql=some), {"q": "x", "r": "more than four"}, retries=0)
    assert "null" in fetched.failures["q"]
    assert list(fetched.run) == ["r"]
    twice = f"SELECT 7 FROM {TABLE} WHERE body <> %(query)s LIMIT %(depth)s"
    assert "'7' twice" in fetch(make(sql=twice), {"q": "x"}, retries=0).failures["q"]


@pytest.mark.usefixtures("table")
def test_what_sql_is_known_by(make: Make) -> None:
    unknown, monday = make(sql=BY_WORDS), make(sql=BY_WORDS, snapshot="monday")
    assert unknown.identity().snapshot == THIS_PROCESS
    assert "no stated snapshot" in unknown.notes[0]
    assert (monday.identity().snapshot, monday.notes) == ("monday", ())
    place = "host=elsewhere dbname=other password=hunter22"
    other = make(sql=BY_WORDS, snapshot="monday", dsn=place).identity()
    assert other.key != monday.identity().key
    assert "elsewhere" not in str(other)
    monday.prepare()
    facts = facts_of(monday)
    assert (facts.documents, facts.loaded, facts.snapshot) == (None, 0, "monday")
    with pytest.raises(SpecError, match="language"):
        SYSTEMS.read({"postgres": {"sql": BY_WORDS, "language": "english"}})
