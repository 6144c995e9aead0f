"""LanceDB as it really runs: its indexes, its words, both, and tables of the user's."""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engines.world import (
    EMBEDDER,
    assert_same,
    built,
    corpus_of,
    exact_answers,
    facts_of,
    made_up,
    queries_of,
    recall,
    stored_recall,
)
from rankscope import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.remote.lancedb import Lance

lancedb = pytest.importorskip("lancedb")
pyarrow = pytest.importorskip("pyarrow")

SIZE = 4000
CORPUS = corpus_of(SIZE)
QUERIES = queries_of(SIZE, 30)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_lists_find_more_the_more_are_searched(cache: Path) -> None:
    expected = exact_answers(CORPUS, QUERIES, 10)
    recalls = []
    for nprobes in (1, 4, 64):
        options = {"vectors": "ivf_flat", "num_partitions": 64, "nprobes": nprobes}
        with built({"lancedb": options}, CORPUS, cache) as system:
            assert isinstance(system, Lance)
            assert not system.capabilities.exact
            recalls.append(recall(system.search(QUERIES, 10), expected))
            assert system.loaded == (SIZE if nprobes == 1 else 0)
            assert stored_recall(system, QUERIES, expected) == 1
    assert recalls == sorted(recalls)
    assert recalls[0] < recalls[-1] == 1


def test_loss_is_split_into_quantisation_and_lists(cache: Path) -> None:
    expected = exact_answers(CORPUS, QUERIES, 10)
    options: dict[str, Any] = {"vectors": "ivf_pq", "num_partitions": 32, "num_sub_vectors": 8}
    options["nprobes"] = 1
    with built({"lancedb": options}, CORPUS, cache) as system:
        by_lists = recall(system.search(QUERIES, 10), expected)
        stored = stored_recall(system, QUERIES, expected)
        assert by_lists <= stored + 0.05  # how vectors are quantised is random
        assert stored < 0.9
    with built({"lancedb": {**options, "refine_factor": 20}}, CORPUS, cache) as system:
        assert stored_recall(system, QUERIES, expected) > stored + 0.1
        facts = facts_of(system)
        assert facts.loaded == 0
        assert facts.settings["engine"]["IvfPq"]["compression"]["num_sub_vectors"] == 8
    del options["nprobes"]
    with built({"lancedb": {**options, "exact": True}}, CORPUS, cache) as system:
        assert system.capabilities.exact
        assert_same(system.search(QUERIES, 10), expected)


WORDS = [f"word{number}" for number in range(60)]


def texts_of(documents: int) -> dict[str, str]:
    rng = np.random.default_rng(3)
    return {
        f"d{number:04d}": " ".join(rng.choice(WORDS, rng.integers(2, 12)))
        for number in range(documents)
    }


def bm25(texts: dict[str, str], query: str) -> dict[str, float]:
    """The formula, by hand."""
    held = {doc_id: text.split() for doc_id, text in texts.items()}
    mean = sum(map(len, held.values())) / len(held)
    holding = Counter(word for words in held.values() for word in {*words})
    scores = {}
    for doc_id, words in held.items():
        score = 0.0
        for word in query.split():
            count = words.count(word)
            weight = math.log(1 + (len(held) - holding[word] + 0.5) / (holding[word] + 0.5))
            norm = 1.2 * (0.25 + 0.75 * len(words) / mean)
            score += weight * count * 2.2 / (count + norm)
        if score:
            scores[doc_id] = score
    return scores


def test_words_are_scored_by_bm25(cache: Path) -> None:
    texts = texts_of(500)
    with built({"lancedb": {"search": "text", "stem": False}}, Corpus(texts), cache) as system:
        assert system.capabilities.exact
        for depth in (1, 10, 500):
            (answer,) = system.search([Query("q", "word3 word17 word40")], depth)
            expected = bm25(texts, "word3 word17 word40")
            best = sorted(expected.values(), reverse=True)[:depth]
            assert list(answer.scores) == pytest.approx(best, abs=1e-4)
            for doc_id, score in answer.pairs():
                assert score == pytest.approx(expected[doc_id], abs=1e-4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of the user's."""
    from lancedb.index import FTS

    folder = tmp_path_factory.mktemp("tables")
    vectors = made_up(20)
    table = lancedb.connect(str(folder)).create_table(
        "mine",
        pyarrow.table(
            {
                "name": [f"n{number}" for number in range(20)],
                "body": [f"soup {number}" for number in range(20)],
                "year": [2000 + number % 2 for number in range(20)],
                "tags": [["a", f"t{number % 3}"] for number in range(20)],
                "vec": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), 64),
            }
        ),
    )
    table.create_index("body", config=FTS())
    return folder


def test_a_table_of_the_user(folder: Path) -> None:
    options: dict[str, Any] = {"path": str(folder), "table": "mine", "id_field": "name"}
    options |= {"snapshot": "monday", "filters": {"year": "year", "tags": "tag"}}
    query = Query("q", "near soup 7 of 20", {"year": 2001, "tag": ["t1", "t2"]})
    expected = {f"n{number}" for number in range(20) if number % 2 and number % 3}
    for way in ("text", "vector", "hybrid"):
        embedding = {} if way == "text" else {"embedder": EMBEDDER}
        with build_system({"lancedb": {**options, **embedding, "search": way}}) as system:
            (answer,) = system.search([query], 20)
            assert {*answer.doc_ids} == expected
            facts = facts_of(system)
            assert (facts.documents, facts.loaded, facts.snapshot) == (20, 0, "monday")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"table": "nope"}, "'nope'"),
        ({}, "id_field"),
        ({"id_field": "nope"}, "'nope'"),
        ({"id_field": "name", "embedder": "wordllama"}, "length 64"),
        ({"id_field": "name", "filters": {"x": "x"}}, "no column 'x'"),
        (
            {"id_field": "name", "search": "text", "text_field": "name"},
            "full-text index",
        ),
        ({"id_field": "name", "path": "/nowhere/at/all"}, "is path right"),
    ],
)
def test_tables_that_do_not_fit(folder: Path, options: dict[str, Any], problem: str) -> None:
    embedding = {} if "search" in options else {"embedder": EMBEDDER}
    spec = {"path": str(folder), "table": "mine", **embedding, **options}
    with build_system({"lancedb": spec}) as system, pytest.raises(InputError, match=problem):
        fetch(system, QUERIES[:1])


@pytest.mark.parametrize(("wanted", "level"), [("", "error"), ("warn", "warn")])
def test_its_log_is_quiet_unless_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, level: str
) -> None:
    monkeypatch.setenv("LANCEDB_LOG", wanted)
    if not wanted:
        monkeypatch.delenv("LANCEDB_LOG")
    with built({"lancedb": {}}, corpus_of(20), tmp_path) as system:
        system.prepare()
        assert os.environ["LANCEDB_LOG"] == level
