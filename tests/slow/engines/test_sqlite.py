"""SQLite: its words, its vectors, its files, and the library that speaks to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.world import EMBEDDER, corpus_of, queries_of
from rankscope import Corpus
from rankscope.errors import InputError, MissingExtraError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.remote.compared_exactly import Compared, exactness
from rankscope.retrieval.remote.sqlite import Sqlite
from rankscope.retrieval.remote.sqlite_library import SqliteLibrary

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


@settings(deadline=None, max_examples=40)
@given(
    text=st.text() | st.text(alphabet="\"*:^(){}+-\\' \0leekANDORNEAR,", max_size=60),
    tokenizer=st.sampled_from(["unicode61", "porter", "trigram"]),
    prefix=st.booleans(),
)
def test_any_text_is_a_query(text: str, tokenizer: str, prefix: bool) -> None:
    with build_system({"sqlite": {"tokenizer": tokenizer, "prefix": prefix}}) as system:
        system.index(CORPUS)
        (ranking,) = system.search([Query("q", text)], 5)
    assert ranking.error is None
    if "leek" in text.split() and tokenizer != "trigram":
        assert "d1" in ranking.doc_ids


# --- vectors -------------------------------------------------------------------------------------

SIZE = 2000
MANY = corpus_of(SIZE)
QUERIES = queries_of(SIZE, 30)


@pytest.fixture
def near(make: Make, tmp_path: Path) -> Make:
    pytest.importorskip("sqlite_vec")

    def system(**options: Any) -> Sqlite:
        return make(MANY, cache=tmp_path, search="vector", embedder=EMBEDDER, **options)

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
    assert len(ids(scan, "1 of 2000", SIZE)) == SIZE - 1
    with pytest.raises(InputError, match="4,096"):
        own.search(QUERIES[:1], 5000)


@pytest.mark.parametrize("vectors", ["scan", "vec0"])
def test_quantised_vectors_are_rescored(near: Make, vectors: str) -> None:
    options = {"vectors": vectors, "quantisation": "bit"}
    systems = [near(**options, rescore=rescore) for rescore in (0, 30)]
    few, many = map(recall, systems)
    assert few < many
    assert [system.loaded for system in systems] == [SIZE, 0]
    assert few < recall(near(vectors=vectors, quantisation="int8", rescore=0))
    (ranking,) = systems[0].search(QUERIES[:1], 5)
    assert all(-1 <= score <= 1 for score in ranking.scores)


# --- files ---------------------------------------------------------------------------------------


def test_one_file_holds_many_indexes(make: Make, tmp_path: Path) -> None:
    pytest.importorskip("sqlite_vec")
    words = make(path="all.sqlite", folder=tmp_path)
    near = make(path="all.sqlite", folder=tmp_path, search="vector")
    other = make(Corpus({"x": {"text": "leek"}}), path="all.sqlite", folder=tmp_path)
    assert set(ids(words, "leek soup")) == {"d1", "d2"}
    assert len(ids(near, "leek soup")) == 3
    assert ids(other, "leek") == ["x"]
    assert [path.name for path in tmp_path.glob("*.sqlite")] == ["all.sqlite"]
    for corpus, index in ((CORPUS, "mine"), (Corpus({"x": {"text": "leek"}}), "mine")):
        system = make(corpus, path="all.sqlite", folder=tmp_path, index=index)
        if corpus is CORPUS:
            system.prepare()
    with pytest.raises(InputError, match="holds other documents"):
        system.prepare()
    assert "path" not in words.identity().parameters


def test_files_that_cannot_be_used(make: Make, tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("this is no database, but long enough to be looked at")
    with pytest.raises(InputError, match=r"text\.sqlite"):
        make(path="text.sqlite", folder=tmp_path).prepare()
    with pytest.raises(InputError, match="nowhere"):
        make(path="nowhere/x.sqlite", folder=tmp_path).prepare()
    with pytest.raises(InputError, match="cannot be opened"):
        make(path=".", folder=tmp_path).prepare()
    with pytest.raises(InputError, match="no document has the field 'nothing'"):
        make(filters={"nothing": "x"}).prepare()


# --- the library ---------------------------------------------------------------------------------


class Limited:
    """A connection that cannot load extensions, as that of many a Python."""


def test_a_python_that_loads_no_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlite_vec")
    sqlite3 = pytest.importorskip("sqlite3")
    monkeypatch.setattr(sqlite3, "Connection", Limited)
    assert not SqliteLibrary(vectors=False).packages  # words need nothing
    monkeypatch.setitem(__import__("sys").modules, "apsw", None)
    with pytest.raises(MissingExtraError, match=r"cannot load extensions.*rankscope\[sqlite\]"):
        SqliteLibrary(vectors=True)
