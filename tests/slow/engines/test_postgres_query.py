"""The user's SQL over tables that are there: what it is given, returns, and cannot do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engines.world import connection, dsn
from rankscope import Corpus
from rankscope.errors import InputError
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.options import SpecError
from rankscope.retrieval.protocol import THIS_PROCESS, Query, System
from rankscope.retrieval.registry import SYSTEMS, build_system

TABLE = f"recipes_{os.getpid()}"
ROWS = [(1, "leek soup", "en"), (2, "apple pie", "en"), (3, "leek tart", "fr"), (4, "bread", "en")]
BY_WORDS = (
    f"SELECT id, ts_rank(to_tsvector('english', body), q) FROM {TABLE}, "
    "websearch_to_tsquery('english', %(query)s) AS q WHERE to_tsvector('english', body) @@ q "
    "ORDER BY 2 DESC, id LIMIT %(depth)s"
)

Make = Callable[..., System]


@pytest.fixture(scope="module", autouse=True)
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


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[System] = []

    def system(sql: str, **options: Any) -> System:
        made.append(build_system({"postgres": {"dsn": dsn(), "sql": sql, **options}}))
        return made[-1]

    yield system
    for engine in made:
        engine.close()


def ids(system: System, text: str, depth: int = 10, **metadata: Any) -> list[str]:
    (ranking,) = system.search([Query("q", text, metadata)], depth)
    assert ranking.error is None
    return list(ranking.doc_ids)


def plane(texts: list[str]) -> Any:
    return [[float(len(text)), 1.0] for text in texts]


PLANE = {"callable": {"function": plane, "version": "1"}}


def test_words_without_a_corpus(make: Make) -> None:
    system = make(BY_WORDS)
    assert set(ids(system, "leek")) == {"1", "3"}
    assert len(ids(system, "leek", depth=1)) == 1
    assert ids(system, "leek soup") == ["1"]
    assert ids(system, "") == []
    system.index(Corpus({"x": "other"}))  # is not looked at
    assert ids(system, "pie;") == ["2"]


def test_metadata_by_name(make: Make) -> None:
    sql = (
        f"SELECT id FROM {TABLE} WHERE lang = %(lang)s AND body LIKE '%%' || %(query)s || '%%' "
        "ORDER BY id LIMIT %(depth)s"
    )
    system = make(sql)
    assert ids(system, "leek", lang="fr") == ["3"]
    assert ids(system, "leek", lang=None) == []
    fetched = fetch(system, [Query("q1", "leek", {"lang": "en"}), Query("q2", "leek")], retries=0)
    assert list(fetched.run["q1"]) == ["1"]
    assert "%(lang)s" in fetched.failures["q2"]


def test_ids_alone_keep_their_order(make: Make) -> None:
    sql = f"SELECT id FROM {TABLE} WHERE %(query)s <> '' ORDER BY (id * 7) %% 5 LIMIT %(depth)s"
    (ranking,) = make(sql).search([Query("q", "x")], 3)
    assert ranking.pairs() == [("3", 3.0), ("1", 2.0), ("4", 1.0)]


def test_vectors(make: Make) -> None:
    sql = (
        f"SELECT id, 1 - (at <=> %(vector)s) FROM {TABLE} ORDER BY at <=> %(vector)s "
        "LIMIT %(depth)s"
    )
    assert ids(make(sql, embedder=PLANE), "xx")[0] == "2"
    assert ids(make(sql, embedder=PLANE, query_prefix="ab"), "x")[0] == "3"


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
        (f"CREATE TABLE x_{TABLE} AS SELECT %(query)s, %(depth)s", "read-only"),
    ],
    ids=lambda text: text.replace(TABLE, "recipes"),  # the same in every process
)
def test_sql_that_cannot_be_used(make: Make, sql: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        fetch(make(sql), {"q": "leek"})
    with connection() as connected:
        assert connected.execute(f"SELECT count(*) FROM {TABLE}").fetchone() == (len(ROWS),)
        assert connected.execute(f"SELECT to_regclass('x_{TABLE}')").fetchone() == (None,)


@pytest.mark.parametrize(
    ("sql", "options", "problem"),
    [
        ("SELECT id FROM t WHERE x = %(query)s", {}, "depth"),
        ("SELECT id FROM t LIMIT %(depth)s", {}, "query"),
        ("SELECT '5%' WHERE x = %(query)s LIMIT %(depth)s", {}, "%%"),
        ("SELECT 1 WHERE x = %(query)d LIMIT %(depth)s", {}, "%%"),
        (BY_WORDS, {"language": "english"}, "language"),
    ],
)
def test_sql_without_what_it_needs(sql: str, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        SYSTEMS.read({"postgres": {"sql": sql, **options}})


def test_rows_that_are_no_answer(make: Make) -> None:
    null = f"SELECT NULL::text FROM {TABLE} WHERE body <> %(query)s LIMIT %(depth)s"
    twice = f"SELECT 7 FROM {TABLE} WHERE body <> %(query)s LIMIT %(depth)s"
    assert "id is null" in fetch(make(null), {"q": "x"}, retries=0).failures["q"]
    some = f"SELECT id, nullif(id, length(%(query)s)) FROM {TABLE} LIMIT %(depth)s"
    fetched = fetch(make(some), {"q": "x", "r": "more than four"}, retries=0)
    assert "a null score for the document '1'" in fetched.failures["q"]
    assert list(fetched.run) == ["r"]
    assert "'7' twice" in fetch(make(twice), {"q": "x"}, retries=0).failures["q"]


def test_identity(make: Make) -> None:
    unknown, monday = make(BY_WORDS), make(BY_WORDS, snapshot="monday")
    assert unknown.identity().snapshot == THIS_PROCESS
    assert "no stated snapshot" in unknown.notes[0]
    assert monday.identity().snapshot == "monday"
    assert monday.notes == ()
    assert make(f"{BY_WORDS} ;", snapshot="monday").identity() == monday.identity()
    other = make(BY_WORDS, snapshot="monday", dsn="host=elsewhere dbname=other password=hunter22")
    assert other.identity().key != monday.identity().key
    assert "elsewhere" not in str(other.identity())
    fetched = fetch(monday, {"q": "leek"})
    (facts,) = fetched.facts
    assert isinstance(facts, EngineFacts)
    assert facts.version.startswith("PostgreSQL ")
    assert (facts.documents, facts.loaded, facts.snapshot) == (None, 0, "monday")
