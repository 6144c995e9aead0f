"""SQLite: its words, its vectors, its files, and the library that speaks to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.sql_world import Clustered
from rankscope import Corpus
from rankscope.errors import InputError, MissingExtraError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.remote import sqlite_library
from rankscope.retrieval.remote.compared_exactly import Compared, exactness
from rankscope.retrieval.remote.sqlite import Sqlite
from rankscope.retrieval.remote.sqlite_library import SqliteLibrary
from rankscope.retrieval.remote.sqlite_statements import Layout, match_expression

RECIPES = {
    "d1": {"title": "leek soup", "text": "cut and boil the leeks with potatoes"},
    "d2": {"title": "apple pie", "text": "bake apples; nothing like leek or soup"},
    "d3": {"title": "bread", "text": "knead the dough and bake it, then bake it again"},
}
CORPUS = Corpus(RECIPES)

Make = Callable[..., Sqlite]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Sqlite] = []

    def system(
        corpus: Corpus = CORPUS,
        cache: Path | None = None,
        folder: Path | None = None,
        **options: Any,
    ) -> Sqlite:
        engine = build_system({"sqlite": options}, cache=cache, folder=folder)
        assert isinstance(engine, Sqlite)
        made.append(engine)
        engine.index(corpus)
        return engine

    yield system
    for engine in made:
        engine.close()


def ids(system: Sqlite, text: str, depth: int = 10) -> list[str]:
    (ranking,) = system.search([Query("q", text)], depth)
    assert ranking.error is None
    return list(ranking.doc_ids)


# --- words ---------------------------------------------------------------------------------------


def test_what_matches(make: Make) -> None:
    assert set(ids(make(), "how do I bake leek bread")) == {"d1", "d2", "d3"}
    assert set(ids(make(match="all"), "leek soup")) == {"d1", "d2"}
    assert ids(make(match="all"), "leek bread") == []
    assert ids(make(), "apple") == ["d2"]
    assert ids(make(), "potato") == []
    assert ids(make(prefix=True), "potato") == ["d1"]
    assert ids(make(tokenizer="porter"), "potato") == ["d1"]
    assert ids(make(tokenizer="trigram"), "otato") == ["d1"]
    assert ids(make(tokenizer="trigram"), "it") == []  # shorter than any part


def test_scores_are_those_of_fts5(make: Make) -> None:
    sqlite3 = pytest.importorskip("sqlite3")
    connected = sqlite3.connect(":memory:")
    connected.execute("CREATE VIRTUAL TABLE t USING fts5(title, text)")
    for fields in reversed(RECIPES.values()):
        connected.execute("INSERT INTO t VALUES (?, ?)", tuple(fields.values()))
    expected = connected.execute(
        "SELECT -bm25(t, 3.0, 1.0) FROM t WHERE t MATCH 'leek OR soup' ORDER BY 1 DESC"
    ).fetchall()
    connected.close()
    (ranking,) = make(fields={"title": 3, "text": 1}).search([Query("q", "leek soup")], 10)
    assert ranking.scores == pytest.approx([score for (score,) in expected])
    assert ranking.doc_ids == ("d1", "d2")


def test_how_many_queries_found_nothing_is_noted(make: Make) -> None:
    queries = {"q1": "leek soup", "q2": "leek bread"}
    (note,) = fetch(make(match="all"), queries).notes
    assert note.startswith("1 query found nothing; with match: all a document needs all words")
    assert fetch(make(), queries).notes == ()


@pytest.fixture(scope="module")
def searched() -> Iterator[Callable[[str, str, bool], Any]]:
    systems: dict[tuple[str, bool], Sqlite] = {}

    def ask(text: str, tokenizer: str, prefix: bool) -> Any:
        if (tokenizer, prefix) not in systems:
            system = build_system({"sqlite": {"tokenizer": tokenizer, "prefix": prefix}})
            assert isinstance(system, Sqlite)
            system.index(CORPUS)
            systems[tokenizer, prefix] = system
        return systems[tokenizer, prefix].search([Query("q", text)], 5)[0]

    yield ask
    for system in systems.values():
        system.close()


@settings(deadline=None, max_examples=300)
@given(
    text=st.text() | st.text(alphabet="\"*:^(){}+-\\' \0leekANDORNEAR,", max_size=60),
    tokenizer=st.sampled_from(["unicode61", "porter", "trigram"]),
    prefix=st.booleans(),
)
def test_any_text_is_a_query(
    searched: Callable[[str, str, bool], Any], text: str, tokenizer: str, prefix: bool
) -> None:
    ranking = searched(text, tokenizer, prefix)
    assert ranking.error is None
    if "leek" in text.split() and tokenizer != "trigram":
        assert "d1" in ranking.doc_ids


def test_a_word_counts_once_and_marks_belong_to_it() -> None:
    text = "Leek leek दाल \u0301 _ x"
    assert match_expression(text, "all", "porter", prefix=True) == '"leek"* AND "दाल"* AND "x"*'
    assert match_expression('a "b""c', "any", "trigram", prefix=False) == '"""b""""c"'
    assert match_expression("?!", "any", "unicode61", prefix=False) == ""


# --- vectors -------------------------------------------------------------------------------------

SIZE, ASKED = 3000, 30
EMBEDDER = Clustered(SIZE + ASKED)
MANY = Corpus({f"d{n:04}": {"text": f"v{n}"} for n in range(SIZE)})
QUERIES = [Query(f"q{n}", f"v{SIZE + n}") for n in range(ASKED)]


@pytest.fixture
def near(make: Make, tmp_path: Path) -> Make:
    pytest.importorskip("sqlite_vec")

    def system(**options: Any) -> Sqlite:
        return make(MANY, cache=tmp_path, search="vector", embedder=EMBEDDER.spec(), **options)

    return system


def recall(system: Sqlite) -> float:
    run = fetch(system, QUERIES, depth=10).run
    rows = exactness(system, QUERIES, run, Compared(10, 10, 1e-6), "it").queries
    assert [row.stored_hits for row in rows] == [row.hits for row in rows]  # there is no graph
    return float(np.mean([row.hits for row in rows])) / 10


def test_vec0_finds_what_a_scan_finds(near: Make) -> None:
    scan, own = near(), near(vectors="vec0")
    assert (scan.capabilities.exact, own.capabilities.exact) == (True, False)
    for first, second in zip(scan.search(QUERIES, 50), own.search(QUERIES, 50), strict=True):
        assert second.scores == pytest.approx(first.scores, abs=1e-6)
    assert recall(own) == 1.0
    assert len(ids(scan, "v1", 3000)) == 3000
    with pytest.raises(InputError, match="vec0 finds up to 4,096 documents, not 5,000"):
        own.search(QUERIES[:1], 5000)


@pytest.mark.parametrize("vectors", ["scan", "vec0"])
def test_quantised_vectors_are_rescored(near: Make, vectors: str) -> None:
    options = {"vectors": vectors, "quantisation": "bit"}
    systems = [near(**options, rescore=rescore) for rescore in (0, 4, 30)]
    rates = [recall(system) for system in systems]
    assert rates[0] < rates[1] < rates[2]
    assert [system.loaded for system in systems] == [SIZE, 0, 0]
    small = recall(near(vectors=vectors, quantisation="int8", rescore=0))
    assert rates[0] < small
    assert recall(near(vectors=vectors, quantisation="int8", rescore=4)) >= small
    (ranking,) = systems[0].search(QUERIES[:1], 5)
    assert all(-1 <= score <= 1 for score in ranking.scores)


def test_bits_need_a_multiple_of_eight(make: Make) -> None:
    pytest.importorskip("sqlite_vec")

    def three(texts: list[str]) -> Any:
        return [[1.0, 2.0, 3.0]] * len(texts)

    embedder = {"callable": {"function": three, "version": "1"}}
    with pytest.raises(InputError, match="a multiple of 8, not 3; use int8 or none"):
        make(search="vector", quantisation="bit", embedder=embedder).prepare()


# --- files ---------------------------------------------------------------------------------------


def test_an_index_in_the_cache_is_used_again(make: Make, tmp_path: Path) -> None:
    first = make(cache=tmp_path)
    expected = ids(first, "leek soup")
    first.close()
    (file,) = (tmp_path / "engines").iterdir()  # closed, it is one file
    assert file.name == f"{first.index_name}.sqlite"
    again = make(cache=tmp_path)
    assert ids(again, "leek soup") == expected
    assert again.loaded == 0
    dropped = make(cache=tmp_path, drop=True)
    dropped.prepare()
    again.close()
    dropped.close()
    assert list((tmp_path / "engines").iterdir()) == []


def test_one_file_holds_many_indexes(make: Make, tmp_path: Path) -> None:
    pytest.importorskip("sqlite_vec")
    words = make(path="all.sqlite", folder=tmp_path)
    near = make(path="all.sqlite", folder=tmp_path, search="vector")
    other = make(Corpus({"x": {"text": "leek"}}), path="all.sqlite", folder=tmp_path)
    assert set(ids(words, "leek soup")) == {"d1", "d2"}
    assert len(ids(near, "leek soup")) == 3
    assert ids(other, "leek") == ["x"]
    assert [path.name for path in tmp_path.glob("*.sqlite")] == ["all.sqlite"]
    assert "path" not in words.identity().parameters


def test_without_a_cache_nothing_stays(make: Make) -> None:
    system = make()
    assert set(ids(system, "leek")) == {"d1", "d2"}
    folder = system.path.parent
    assert folder.is_dir()
    system.close()
    assert not folder.exists()
    assert set(ids(system, "leek")) == {"d1", "d2"}  # made again


def test_files_that_cannot_be_used(make: Make, tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("this is no database, but long enough to be looked at")
    with pytest.raises(InputError, match=r"text\.sqlite: cannot be used as a SQLite database"):
        make(path="text.sqlite", folder=tmp_path).prepare()
    with pytest.raises(InputError, match=r"there is no folder .*nowhere; make it first"):
        make(path="nowhere/x.sqlite", folder=tmp_path).prepare()
    with pytest.raises(InputError, match="cannot be opened"):
        make(path=".", folder=tmp_path).prepare()
    with pytest.raises(InputError, match="no document has the field 'nothing'"):
        make(filters={"nothing": "x"}).prepare()


# --- the library ---------------------------------------------------------------------------------


class Limited:
    """A connection that cannot load extensions, as that of many a Python."""


def test_both_libraries_answer_alike(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("apsw")
    python = make()
    expected = python.search([Query("q", "bake leek")], 10)[0].pairs()
    monkeypatch.setattr(sqlite_library, "_python_sqlite", lambda *, vectors: None)  # noqa: ARG005
    other = make()
    assert (python.library.is_python, other.library.is_python) == (True, False)
    assert other.packages == ("apsw",)
    pairs = other.search([Query("q", "bake leek")], 10)[0].pairs()
    assert [doc_id for doc_id, _ in pairs] == [doc_id for doc_id, _ in expected]
    assert [score for _, score in pairs] == pytest.approx([score for _, score in expected])
    failures = fetch(other, {"q": "leek"}, timeout=10).failures
    assert failures == {}


def test_a_python_that_loads_no_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlite_vec")
    sqlite3 = pytest.importorskip("sqlite3")
    monkeypatch.setattr(sqlite3, "Connection", Limited)
    assert not SqliteLibrary(vectors=False).packages  # words need nothing
    monkeypatch.setitem(__import__("sys").modules, "apsw", None)
    with pytest.raises(MissingExtraError, match=r"cannot load extensions.*rankscope\[sqlite\]"):
        SqliteLibrary(vectors=True)


def test_a_statement_that_takes_too_long_is_ended(make: Make) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    for system in (make(), make(search="vector")):
        with (
            pytest.raises(TimeoutError, match=r"SQLite had no answer within 0\.1 s"),
            system._connections.taken() as connection,
        ):
            system.library.rows(connection, f"SELECT count(*) FROM ({endless})", {}, 0.1)
        assert set(ids(system, "leek soup")) >= {"d1", "d2"}
    assert fetch(make(), {"q": "leek"}, timeout=20).failures == {}


def test_words_are_searched_once_however_many_documents_a_filter_allows() -> None:
    layout = Layout(
        1, columns=1, size=0, tokenizer="unicode61", storage="scan", quantisation="none"
    )
    library = SqliteLibrary(vectors=False)
    connection = library.open(Path(":memory:"))
    for statement in layout.create():
        connection.execute(statement)
    allowed, parameters = layout.allowed({"language": ["en"]})
    parameters |= {"words": '"leek"', "limit": 10}
    plan = connection.execute(f"EXPLAIN QUERY PLAN {layout.words([1], allowed)}", parameters)
    (search,) = [step for *_, step in plan if "index_1_words" in step]
    connection.close()
    assert search.endswith("INDEX 0:M1")  # 0:=M1 would be a search for each document
