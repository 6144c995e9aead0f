"""Retrievers of LangChain itself."""

from __future__ import annotations

from typing import Any

import pytest

from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system
from retrieval.test_python import asked


def test_langchain_itself() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    retrievers = pytest.importorskip("langchain_core.retrievers")

    class Words(retrievers.BaseRetriever):  # type: ignore[misc, name-defined, unused-ignore]
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            assert run_manager is not None
            return [
                documents.Document(page_content=word, metadata={"doc_id": f"d-{word}"})
                for word in query.split()
            ]

    assert asked(Words()).pairs() == [("d-leek", -1.0), ("d-soup", -2.0)]
    chain = Words() | (lambda documents: documents[::-1])
    assert asked(chain).doc_ids == ("d-soup", "d-leek")


def test_langchain_vector_store() -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Letters(Embeddings):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float(text.count(letter)) for letter in "abc"] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    store = InMemoryVectorStore(Letters())
    store.add_texts(["aab", "bbc", "ccc"], ids=["one", "two", "three"])
    system = build_system({"python": {"function": store.as_retriever(search_kwargs={"k": 2})}})
    (ranking,) = system.search([Query("q", "aaab")], 10)
    assert ranking.doc_ids == ("one", "two")
