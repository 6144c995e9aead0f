"""Search by vectors: cosines, chunks, embedders, and embeddings that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wordllama  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import Context, build_system
from rankscope.retrieval.vector import embeddings
from rankscope.retrieval.vector.embedders import EMBEDDERS, embedded
from rankscope.retrieval.vector.similarity import Vectors
from rankscope.retrieval.vector.vector import ChunkOptions, VectorSearch, chunks_of

CORPUS = Corpus({f"d{n}": "abc"[n % 3] * (n + 1) + "xyz"[n % 2] for n in range(12)} | {"e": " "})


@pytest.fixture(autouse=True)
def _every_vector_is_worth_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "WORTH_CACHING", 0.0)


class Letters:
    """An embedder that counts letters, and how often it is asked."""

    def __init__(self, letters: str = "abcxyz") -> None:
        self.letters = letters
        self.texts = 0

    def __call__(self, texts: list[str]) -> Any:
        self.texts += len(texts)
        return [[text.count(letter) for letter in self.letters] for text in texts]


def vector(embedder: Any, cache: Path | None = None, **options: Any) -> VectorSearch:
    spec = {"callable": {"function": embedder, "version": "test"}}
    system = build_system({"vector": {"embedder": spec, **options}}, cache=cache)
    assert isinstance(system, VectorSearch)
    return system


def test_scores_are_cosines() -> None:
    system = vector(Letters())
    system.index(CORPUS)
    (ranking,) = system.search([Query("q", "aax")], 100)
    for doc_id, score in ranking.pairs():
        counts = np.array([CORPUS[doc_id].text.count(letter) for letter in "abcxyz"])
        query = np.array([2, 0, 0, 1, 0, 0])
        cosine = counts @ query / np.linalg.norm(counts) / np.linalg.norm(query)
        assert score == pytest.approx(cosine, abs=1e-6)
    assert len(ranking.doc_ids) == 12


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
def test_the_nearest_are_those_of_a_plain_search(seed: int, depth: int, chunked: bool) -> None:
    random = np.random.default_rng(seed)
    counts = random.integers(1, 4, 40) if chunked else np.ones(40, int)
    rows = random.integers(-1, 2, (int(counts.sum()), 5)).astype(np.float32)
    rows[~rows.any(axis=1)] = 1
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    starts = np.cumsum(counts) - counts
    queries = rows[random.integers(0, len(rows), 7)]
    for query, (positions, scores) in zip(
        queries, Vectors(rows, starts).best(queries, depth), strict=True
    ):
        single = (rows * query).sum(axis=1)
        best = np.array([single[a : a + n].max() for a, n in zip(starts, counts, strict=True)])
        expected = sorted(range(40), key=lambda at: (-best[at], at))[:depth]
        assert positions.tolist() == expected
        assert scores.tolist() == best[expected].tolist()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1.0, float("nan")]] * 12, "NaN"),
        ([[1.0, 2.0]] * 5, "5 vectors for 12 texts"),
        ([1.0] * 12, "1 dimensions"),
        ([[]] * 12, "length 0"),
        ([[1.0, 2.0]] * 11 + [[1.0]], "12 texts: ValueError"),
        (None, "0 dimensions"),
        (RuntimeError("no\nmemory"), "12 texts: RuntimeError: no memory"),
    ],
)
def test_what_is_no_embedding(answer: Any, message: str) -> None:
    def embed(_: list[str]) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    system = vector(embed)
    system.index(CORPUS)
    with pytest.raises(InputError, match=message) as caught:
        system.prepare()
    assert "\n" not in str(caught.value)


def test_a_query_that_cannot_be_embedded_fails_alone() -> None:
    def picky(texts: list[str]) -> Any:
        if "bad" in texts:
            raise RuntimeError("bad query")
        if "wide" in texts:
            return [[1.0] * 9 for _ in texts]
        return Letters()(texts)

    system = vector(picky)
    system.index(CORPUS)
    queries = [Query("1", "aax"), Query("2", "bad"), Query("3", "wide"), Query("4", "bx")]
    first, second, third, last = system.search(queries, 3)
    assert first.pairs() == system.search(queries[:1], 3)[0].pairs() != []
    assert last.pairs() == system.search(queries[3:], 3)[0].pairs() != []
    assert "bad query" in (second.error or "")
    assert "length 9" in (third.error or "")


def test_a_vector_of_zeros_has_no_direction() -> None:
    system = vector(Letters())
    system.index(Corpus({"a": "a", "none": "mnop"}))
    rankings = system.search([Query("q", "a"), Query("z", "mn")], 5)
    assert [ranking.doc_ids for ranking in rankings] == [("a",), ()]


def test_only_new_texts_are_embedded(tmp_path: Path) -> None:
    counted, queries = Letters(), [Query("q", "aax"), Query("r", "bx")]

    def answers(corpus: Corpus) -> list[Any]:
        system = vector(counted, tmp_path)
        system.index(corpus)
        return [ranking.pairs() for ranking in system.search(queries, 5)]

    expected = answers(CORPUS)
    assert counted.texts == 14
    assert answers(CORPUS) == expected
    assert counted.texts == 14
    answers(Corpus({**CORPUS.to_dict(), "new": {"text": "abcabc"}, "same": {"text": "ax"}}))
    assert counted.texts == 15


def test_vectors_of_another_length_than_those_kept(tmp_path: Path) -> None:
    system = vector(Letters(), tmp_path)
    system.index(CORPUS)
    system.prepare()
    system = vector(Letters("ab"), tmp_path)  # which claims to be the same
    system.index(Corpus({**CORPUS.to_dict(), "new": {"text": "abcabc"}}))
    with pytest.raises(InputError, match=r"length 2, .*length 6"):
        system.prepare()


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "gone"])
def test_a_damaged_entry_is_made_again(tmp_path: Path, damage: str) -> None:
    system = vector(Letters(), tmp_path)
    system.index(CORPUS)
    expected = system.search([Query("q", "aax")], 5)[0].pairs()
    for suffix in ("texts", "vectors"):
        for entry in (tmp_path / "embeddings").rglob(f"*.{suffix}"):
            content = entry.read_bytes()
            flipped = content[:-1] + bytes([content[-1] ^ 1])
            entry.write_bytes({"cut": content[:-5], "flip": flipped}.get(damage, b""))
            if damage == "gone":
                entry.unlink()
        for count in (13, 0):
            counted = Letters()
            system = vector(counted, tmp_path)
            system.index(CORPUS)
            assert system.search([Query("q", "aax")], 5)[0].pairs() == expected
            assert counted.texts == count


def test_embedding_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankscope.retrieval.vector.embeddings.SHARD", 5)
    counted = Letters()

    def stops(texts: list[str]) -> Any:
        if counted.texts == 10:
            raise KeyboardInterrupt
        return counted(texts)

    system = vector(stops, tmp_path)
    system.index(CORPUS)
    with pytest.raises(KeyboardInterrupt):
        system.prepare()
    counted.texts = 0
    system = vector(stops, tmp_path)
    system.index(CORPUS)
    system.prepare()
    assert counted.texts == 2


def test_wordllama_is_as_its_package_makes_it() -> None:
    embedder = EMBEDDERS.build({"wordllama": {"case": "keep"}}, Context())
    texts = ["leek soup", "a much longer text about baking bread in the oven", "", "Σούπα 日本"]
    vectors = embedded(embedder, texts)
    assert vectors.shape == (4, 256)
    home = Path(str(wordllama.__file__)).parent
    model = wordllama.WordLlama.load(cache_dir=home, disable_download=True)
    assert np.array_equal(vectors, model.embed(texts))
    small = EMBEDDERS.build({"wordllama": {"dimensions": 64, "case": "keep"}}, Context())
    assert np.array_equal(embedded(small, texts), vectors[:, :64])


def test_case_makes_no_difference_unless_it_is_kept() -> None:
    texts = ["leek soup", "Leek Soup", "LEEK SOUP", "ΣΟΎΠΑ ΜΕ ΠΡΆΣΑ"]
    plain = EMBEDDERS.build("wordllama", Context())
    vectors = embedded(plain, texts)
    assert np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[0], vectors[2])
    assert np.array_equal(vectors[3], embedded(plain, ["σούπα με πράσα"])[0])
    keeping = EMBEDDERS.build({"wordllama": {"case": "keep"}}, Context())
    kept = embedded(keeping, texts)
    assert np.array_equal(kept[0], vectors[0])
    cosine = kept[0] @ kept[2] / np.linalg.norm(kept[0]) / np.linalg.norm(kept[2])
    assert cosine < 0.5
    keys = set()
    for case in ("keep", "lower"):
        system = build_system({"vector": {"embedder": {"wordllama": {"case": case}}}})
        system.index(Corpus({"d1": "leek soup"}))
        keys.add(system.identity().key)
    assert len(keys) == 2  # neither takes what is kept for the other


def test_prefixes_are_embedded() -> None:
    seen: list[str] = []

    def remember(texts: list[str]) -> Any:
        seen.extend(texts)
        return [[1.0] for _ in texts]

    system = vector(remember, query_prefix="query: ", document_prefix="passage: ")
    system.index(Corpus({"a": "soup"}))
    system.search([Query("q", "leek")], 1)
    assert seen == ["passage: soup", "query: leek"]


def test_a_document_is_as_good_as_its_best_chunk() -> None:
    system = vector(Letters(), chunk={"tokens": 2, "overlap": 1})
    system.index(Corpus({"long": "c b a a x c c", "short": "a b"}))
    (ranking,) = system.search([Query("q", "a a")], 5)
    assert ranking.doc_ids == ("long", "short")
    assert ranking.scores[0] == pytest.approx(1.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 30), st.integers(1, 8), st.integers(0, 7))
def test_chunks_cover_the_text(words: int, tokens: int, overlap: int) -> None:
    text = " ".join(f"w{n}" for n in range(words))
    if overlap >= tokens:
        overlap = tokens - 1
    chunks = chunks_of(text, ChunkOptions(tokens=tokens, overlap=overlap))
    held = [chunk.split() for chunk in chunks]
    assert all(chunk in text for chunk in chunks)
    assert all(len(words_of_chunk) <= tokens for words_of_chunk in held)
    assert [word for at, part in enumerate(held) for word in part[overlap if at else 0 :]] == (
        text.split()
    )
    assert all(len(part) > overlap for part in held[1:])
