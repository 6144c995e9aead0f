"""The reranker cross_encoder, with small models made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentence_transformers
from conformance.world import CORPUS, DOCUMENTS, QUERIES

from rankscope import Corpus, Document
from rankscope.errors import InputError, UnknownNameError
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import Context, build_system
from rankscope.retrieval.stages.rerank import RERANKERS, Candidates, Reranker

DOCS = {"a": "leek soup", "b": "apple pie", "c": "leek soup", "empty": " ", "long": "bake " * 200}


def reranker(folder: Path | str, corpus: Any = DOCS, **options: Any) -> Reranker:
    scorer = RERANKERS.build({"cross_encoder": {"model": str(folder), **options}}, Context())
    if corpus is not None:
        scorer.index(Corpus(corpus))
    return scorer


def candidates(text: str, *doc_ids: str) -> Candidates:
    documents = tuple(Document(doc_id, {}) for doc_id in doc_ids)
    return Candidates(Query("q", text), documents, tuple(-float(n) for n in range(len(doc_ids))))


def scores(scorer: Reranker, text: str, *doc_ids: str) -> Any:
    return scorer.scores([candidates(text, *doc_ids)])[0]


def test_scores_order_as_the_library_does(small: Callable[..., Path]) -> None:
    folder = small("CrossEncoder")
    model = sentence_transformers.CrossEncoder(str(folder), local_files_only=True)
    system = build_system({"rerank": {"of": "bm25", "cross_encoder": str(folder), "depth": 50}})
    system.index(CORPUS)
    for query, ranking in zip(QUERIES, system.search(QUERIES, 50), strict=True):
        assert ranking.error is None
        texts = ["\n".join(DOCUMENTS[doc_id].values()) for doc_id in ranking.doc_ids]
        expected = model.predict([(query.text, text) for text in texts])
        ours = [1 / (1 + 2.718281828459045**-score) for score in ranking.scores]
        assert ours == pytest.approx(expected.tolist(), abs=1e-5)


def test_near_certain_documents_stay_apart(small: Callable[..., Path]) -> None:
    folder = small("CrossEncoder", broken="30")
    first, second = scores(reranker(folder), "leek", "a", "b")
    assert first != second
    assert min(first, second) > 20
    model = sentence_transformers.CrossEncoder(str(folder), local_files_only=True)
    assert model.predict([("leek", "leek soup"), ("leek", "apple pie")]).tolist() == [1.0, 1.0]


def test_equal_texts_have_equal_scores_and_empty_ones_the_lowest(
    small: Callable[..., Path],
) -> None:
    scorer = reranker(small("CrossEncoder"))
    first, empty, second, third = scores(scorer, "leek", "a", "empty", "b", "c")
    assert first == third != second
    assert empty == min(first, second) - 1
    assert scores(scorer, "leek", "empty") == [-1.0]


def test_other_queries_make_no_difference(small: Callable[..., Path]) -> None:
    scorer = reranker(small("CrossEncoder"))
    batch = [candidates(text, "a", "b", "long") for text in ("leek", "a much longer question")]
    assert scorer.scores(batch) == [scorer.scores([candidate])[0] for candidate in batch]
    assert scorer.scores(batch[::-1]) == scorer.scores(batch)[::-1]


def test_what_is_read(small: Callable[..., Path]) -> None:
    folder = small("CrossEncoder")
    corpus = {"a": {"title": "leek", "text": "soup"}, "b": {"title": "leek", "text": "pie"}}
    both = reranker(folder, corpus)
    title = reranker(folder, corpus, fields="title")
    assert len(set(scores(both, "leek", "a", "b"))) == 2
    assert len(set(scores(title, "leek", "a", "b"))) == 1
    assert both.described() != title.described()
    assert both.described()["snapshot"] != reranker(folder).described()["snapshot"]
    with pytest.raises(UnknownNameError, match="unknown field 'titel'; nearest: title"):
        reranker(folder, corpus, fields=["titel"])


def test_max_length(small: Callable[..., Path]) -> None:
    folder = small("CrossEncoder")
    corpus = {"a": "soup " * 20, "b": "soup " * 20 + "pie"}
    assert len(set(scores(reranker(folder, corpus), "leek", "a", "b"))) == 2
    scorer = reranker(folder, corpus, max_length=12)
    assert scores(scorer, "leek", "a", "b") == pytest.approx([scores(scorer, "leek", "a")[0]] * 2)
    with pytest.raises(InputError, match="reads at most 64 tokens, so max_length cannot be 65"):
        reranker(folder, max_length=65).prepare()


def test_a_document_that_cannot_be_read(small: Callable[..., Path]) -> None:
    folder = small("CrossEncoder")
    answers = reranker(folder).scores([candidates("leek", "a", "gone"), candidates("leek", "a")])
    assert answers[0] == "the document 'gone' is not in the corpus, so it cannot be read"
    assert not isinstance(answers[1], str)
    without = scores(reranker(folder, None), "leek", "a")
    assert "there is no corpus to read them from" in without


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_scores_that_are_not_finite(small: Callable[..., Path], value: str) -> None:
    problem = scores(reranker(small("CrossEncoder", broken=value)), "leek", "b", "a")
    assert f"gave the document 'b' the score {value}, which is not a finite number" in problem


def test_a_model_that_raises(small: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = reranker(small("CrossEncoder"))
    scorer.prepare()

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("no\nmemory")

    monkeypatch.setattr(sentence_transformers.CrossEncoder, "predict", fails)
    assert scores(scorer, "leek", "a").endswith("failed: RuntimeError: no memory")


def test_several_labels(small: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="gives 3 numbers for a pair of texts; a reranker needs"):
        reranker(small("CrossEncoder", labels=3)).prepare()


def test_an_embedder_is_no_cross_encoder(small: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="is no cross-encoder: it was saved as BertModel, without"):
        reranker(small("SentenceTransformer")).prepare()
