"""Large collections: blocks, files and arrays instead of lists, and the answers stay the same."""

from __future__ import annotations

import errno
import os
import tracemalloc
from itertools import product
from pathlib import Path
from typing import Any

import bm25s  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope import Corpus
from rankscope.collection.corpus import stream_corpus, stream_doc_ids
from rankscope.errors import InputError
from rankscope.retrieval.cache_entries import read_entry
from rankscope.retrieval.lexical.postings import Postings
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.texts import Texts
from rankscope.retrieval.vector import embeddings, similarity
from rankscope.retrieval.vector.similarity import Vectors

# --- words ---------------------------------------------------------------------------------------

TERMS = st.lists(st.lists(st.integers(0, 6), max_size=9), min_size=1, max_size=12)


@settings(deadline=None)
@given(
    TERMS.filter(any),
    st.integers(1, 5),
    st.sampled_from([(1.5, 0.75), (0.0, 0.0), (0.9, 0.4), (3.7, 1.0)]),
)
def test_scores_are_those_of_bm25s(
    documents: list[list[int]], size: int, options: tuple[float, float]
) -> None:
    numbers: dict[int, int] = {}
    numbered = [[numbers.setdefault(term, len(numbers)) for term in row] for row in documents]
    k1, b = options
    scorer = bm25s.BM25(method="lucene", k1=k1, b=b, backend="numpy")
    scorer.index((numbered, numbers), create_empty_token=False, show_progress=False)
    postings = Postings()
    for low in range(0, len(numbered), size):
        part = numbered[low : low + size]
        terms = np.array([term for row in part for term in row], np.int32)
        postings.add(terms, np.array([len(row) for row in part]))
    scores, positions, starts = postings.scores(len(numbers), k1=k1, b=b)
    expected = scorer.scores
    assert scores.tobytes() == np.asarray(expected["data"]).tobytes(), "to the last bit"
    assert scores.dtype == expected["data"].dtype
    assert positions.tolist() == expected["indices"].tolist()
    assert starts.tolist() == np.asarray(expected["indptr"]).tolist()


def test_an_index_is_the_same_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    rows = random.integers(0, 40, (60, 8)).tolist()
    corpus = Corpus({f"d{n}": " ".join(f"word{w}" for w in row) for n, row in enumerate(rows)})
    queries = [Query(str(n), f"word{n} word{n + 1} word3") for n in range(20)]
    answers = []
    for size in (1, 7, 60, 4096):
        monkeypatch.setattr("rankscope.retrieval.texts._PART", size)
        system = build_system("bm25")
        system.index(corpus)
        answers.append([ranking.pairs() for ranking in system.search(queries, 5)])
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert any(answers[0])


def test_texts_are_title_and_text_wherever_they_are() -> None:
    rows = {
        "a": {"title": "Soup", "text": "Boil."},
        "b": "Fry.",
        "c": {"title": "Pie"},
        "d": {"title": "", "text": "Bake."},
        "e": {"headline": "Tart", "body": "Roll."},
        "f": {"title": "\nOdd", "text": ""},
        "g": {"minutes": 3},
        "h": {"title": None, "text": "Rest.", "name": "Stew"},
    }
    corpus = Corpus(rows)
    before = corpus.to_dict()
    texts = Texts.of(corpus, None)
    assert texts.doc_ids == [*"hgfedcba"]
    expected = [*("Stew\nRest.", "", "\nOdd", "Tart\nRoll.", "Bake.", "Pie", "Fry.", "Soup\nBoil.")]
    assert list(texts.texts) == expected
    assert [texts.texts[at] for at in range(8)] == expected
    assert texts.texts[-1] == expected[-1]
    assert texts.texts[2:5] == expected[2:5]
    assert texts.text_of("c") == "Pie"
    assert texts.empty() == ["g"]
    assert corpus.to_dict() == before, "nothing is changed in place"


# --- vectors: blocks -----------------------------------------------------------------------------


def plain_best(matrix: Any, starts: Any, query: Any, depth: int) -> list[tuple[int, float]]:
    """The same, with no blocks and no shortcuts: score all rows alike, and sort."""
    rows = (matrix * query).sum(axis=1)
    scores = np.maximum.reduceat(rows, starts)
    order = sorted(range(len(starts)), key=lambda at: (-scores[at], at))[:depth]
    return [(at, float(scores[at])) for at in order]


@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.parametrize("cells", [1, 40, 1 << 24])
def test_blocks_cut_no_tie(chunks: int, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_CELLS", cells)
    monkeypatch.setattr(similarity, "_SAMPLE", 4)
    random = np.random.default_rng(5)
    few = random.normal(size=(4, 8)).astype(np.float32)
    few /= np.linalg.norm(few, axis=1, keepdims=True)
    matrix = few[random.integers(0, len(few), 90 * chunks)]  # each vector about 20 times
    matrix[50] = -few[0]
    starts = np.arange(0, 90 * chunks, chunks)
    queries = np.concatenate([few, random.normal(size=(3, 8)).astype(np.float32)])
    for most, depth in product((0, 1 << 14), (1, 3, 10, 500)):
        monkeypatch.setattr(similarity, "_MOST", most)
        answers = Vectors(matrix, starts).best(queries, depth)
        for query, (positions, scores) in zip(queries, answers, strict=True):
            pairs = list(zip(positions.tolist(), scores.tolist(), strict=True))
            assert pairs == plain_best(matrix, starts, query, depth)


# --- vectors: on disk ----------------------------------------------------------------------------

WORDS = ["leek", "soup", "apple", "pie", "bread", "oven", "tea", "salt", "rice", "bean", "nut"]


class Hashed:
    """An embedder that counts the texts it is given; a text of ``void`` has no direction."""

    texts = 0

    def __call__(self, texts: list[str]) -> Any:
        self.texts += len(texts)
        vectors = np.zeros((len(texts), 12), np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                if word != "void":
                    vectors[row, WORDS.index(word)] += 1
        return vectors


def large_corpus(count: int = 300, *, void: bool = False) -> Corpus:
    random = np.random.default_rng(2)
    rows = random.integers(0, len(WORDS), (count, 3)).tolist()
    texts = {f"d{n}": " ".join(WORDS[at] for at in row) for n, row in enumerate(rows)}
    if void:
        texts.update({f"d{n}": "void" for n in range(0, count, 7)}, d1="")
    return Corpus(texts)


QUERIES = [Query(word, f"{word} soup") for word in WORDS]


def searched(corpus: Corpus, cache: Path | None, **options: Any) -> tuple[list[Any], int]:
    counted = Hashed()
    embedder = {"callable": {"function": counted, "version": "test"}}
    system = build_system({"vector": {"embedder": embedder, **options}}, cache=cache)
    system.index(corpus)
    system.prepare()
    made = counted.texts
    return [ranking.pairs() for ranking in system.search(QUERIES, 20)], made


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "ON_DISK_FROM", 50)
    monkeypatch.setattr(embeddings, "SHARD", 16)


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("void", [False, True])
@pytest.mark.parametrize("chunk", [None, {"tokens": 2, "overlap": 1}])
def test_on_disk_answers_are_the_same(tmp_path: Path, void: bool, chunk: Any) -> None:
    corpus = large_corpus(void=void)
    options = {} if chunk is None else {"chunk": chunk}
    expected, made = searched(corpus, None, **options)
    assert searched(corpus, tmp_path, **options) == (expected, made)
    assert searched(corpus, tmp_path, **options) == (expected, 0), "nothing is embedded again"
    larger, _ = searched(large_corpus(310, void=void), None, **options)
    answers, made = searched(large_corpus(310, void=void), tmp_path, **options)
    assert answers == larger
    assert made <= 10 * (1 if chunk is None else 3), "the others are cached"
    entries = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(read_entry(path) for path in entries), "what was searched on disk is gone"


@pytest.mark.usefixtures("on_disk")
@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room cannot be made beforehand")
def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match=r"cannot make room for .*No space left on device"):
        searched(large_corpus(), tmp_path)


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "gone"])
@pytest.mark.parametrize("suffix", ["vectors", "texts"])
def test_a_damaged_shard_is_made_again(tmp_path: Path, damage: str, suffix: str) -> None:
    corpus = large_corpus()
    expected, _ = searched(corpus, tmp_path)
    for entry in sorted(tmp_path.rglob(f"*.{suffix}"))[::2]:
        content = entry.read_bytes()
        flipped = content[:-1] + bytes([content[-1] ^ 1])
        if damage == "gone":
            entry.unlink()
        else:
            entry.write_bytes({"cut": content[:-5], "flip": flipped, "empty": b""}[damage])
    answers, made = searched(corpus, tmp_path)
    assert answers == expected
    assert 0 < made < len(corpus)
    assert searched(corpus, tmp_path) == (expected, 0)


def test_the_memory_of_each_block_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.memmap(tmp_path / "vectors", np.float32, "w+", shape=(1000, 16))
    rows[:] = np.random.default_rng(1).random((1000, 16), np.float32)
    monkeypatch.setattr(similarity, "_CELLS", 1)
    monkeypatch.setattr(similarity, "_SAMPLE", 100)  # ten blocks
    released: list[int] = []

    def counted(vectors: Any) -> None:
        released.append(len(vectors))
        embeddings.release(vectors)

    monkeypatch.setattr(similarity, "release", counted)
    answers = Vectors(rows, np.arange(1000)).best(np.array(rows[:3]), 5)
    assert len(released) >= 10 + len(answers), "once for each block and each query"
    expected = Vectors(np.array(rows), np.arange(1000)).best(np.array(rows[:3]), 5)
    for (positions, scores), (places, values) in zip(answers, expected, strict=True):
        assert (positions.tolist(), scores.tolist()) == (places.tolist(), values.tolist())


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".tsv"])
def test_streams_hold_little(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"c{suffix}"
    body = "word " * 400  # 2 kB a document, 16 MB in all
    Corpus((str(n), body) for n in range(8_000)).write(path)
    for stream in (stream_doc_ids, stream_corpus):
        next(stream(path))  # imports what reads it
        tracemalloc.start()
        count = sum(1 for _ in stream(path))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count == 8_000
        assert peak < 8_000_000  # the first MiB tells the format, and there are copies of it
