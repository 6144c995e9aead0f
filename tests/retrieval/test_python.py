from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rankscope.errors import InputError, UnknownNameError
from rankscope.retrieval.protocol import Query, Ranking, System
from rankscope.retrieval.registry import build_system


def asked(function: Any, depth: int = 10, **options: Any) -> Ranking:
    system = build_system({"python": {"function": function, **options}})
    (ranking,) = system.search([Query("q1", "leek soup", {"lang": "en"})], depth)
    return ranking


@pytest.mark.parametrize(
    ("answer", "pairs"),
    [
        (["b", "a"], [("b", -1.0), ("a", -2.0)]),
        (("b", "a"), [("b", -1.0), ("a", -2.0)]),
        ([7, 8], [("7", -1.0), ("8", -2.0)]),
        ([("a", 1), ("b", 2.5)], [("b", 2.5), ("a", 1.0)]),
        ({"a": 1, "b": 1}, [("b", 1.0), ("a", 1.0)]),
        ([{"doc_id": "a", "score": 0.5, "text": "…"}], [("a", 0.5)]),
        ([{"_id": "b"}, {"id": "a"}], [("b", -1.0), ("a", -2.0)]),
        ([], []),
        ((doc_id for doc_id in ["a"]), [("a", -1.0)]),
    ],
)
def test_what_a_function_may_return(answer: Any, pairs: list[tuple[str, float]]) -> None:
    ranking = asked(lambda _: answer)
    assert ranking.error is None
    assert ranking.pairs() == pairs


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "expected a list of documents, but the function returned None"),
        ("d1", "expected a list of documents, but the function returned str 'd1'"),
        (3, "expected a list of documents, but the function returned int '3'"),
        ([None], "expected the id of a document, but the function returned None"),
        ([""], "expected the id of a document"),
        ([1.5], "expected the id of a document, but the function returned float '1.5'"),
        ([("a", "high")], "expected a finite score, but the function returned str 'high'"),
        ([("a", float("nan"))], "expected a finite score, but the function returned float 'nan'"),
        ([("a", 1, 2)], "expected (id, score) pairs"),
        ([{"text": "no id"}], "a document has no id; expected a field doc_id or _id or id"),
        ([{"id": "a", "score": 1}, {"id": "b"}], "1 of 2 documents have a score"),
        (["a", "b", "a"], "the function returned the document 'a' twice"),
    ],
)
def test_nonsense_is_that_querys_failure(answer: Any, message: str) -> None:
    ranking = asked(lambda _: answer)
    assert ranking.doc_ids == ()
    assert message in (ranking.error or "")
    assert "\n" not in (ranking.error or "")


def test_a_function_that_raises_fails_for_that_query_only() -> None:
    def search(text: str) -> list[str]:
        if text == "bad":
            raise KeyError("no\nkey")
        return ["d1"]

    system = build_system({"python": search})
    good, bad = system.search([Query("1", "good"), Query("2", "bad")], 5)
    assert good.doc_ids == ("d1",)
    assert (bad.error or "").startswith("KeyError: ")
    assert "\n" not in (bad.error or "")


def test_a_function_gets_what_it_asks_for() -> None:
    def by_text(text: str, top_k: int = 3) -> list[str]:
        return [f"{text} {top_k}"]

    def by_query(query: Query, *, depth: int) -> list[str]:
        return [f"{query.query_id} {query.metadata['lang']} {depth}"]

    assert asked(by_text).doc_ids == ("leek soup 10",)
    assert asked(by_query).doc_ids == ("q1 en 10",)

    def deaf() -> list[str]:
        return []

    with pytest.raises(InputError, match="takes no argument"):
        asked(deaf)


def test_functions_by_name(tmp_path: Path) -> None:
    file = tmp_path / "my_search.py"
    file.write_text(
        "def find(text):\n    return [text]\n\nclass Box:\n    find = staticmethod(find)\n"
    )
    system = build_system({"python": "my_search:find"}, folder=tmp_path)
    assert system.search([Query("q", "soup")], 5)[0].doc_ids == ("soup",)
    assert build_system({"python": "my_search:Box.find"}, folder=tmp_path)
    with pytest.raises(UnknownNameError, match="unknown name in my_search 'fnd'; nearest: find"):
        build_system({"python": "my_search:fnd"}, folder=tmp_path)
    key = system.identity().key
    file.write_text(file.read_text() + "# changed\n")
    assert system.identity().key != key
    (tmp_path / "broken_search.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match=r"cannot be imported: ZeroDivisionError: division by"):
        build_system({"python": "broken_search:find"}, folder=tmp_path)


def keys_of(make: Any, **options: Any) -> list[str]:
    specs = [{"python": {"function": make(), **options}} for _ in range(2)]
    return [build_system(spec).identity().key for spec in specs]


def plain(text: str) -> list[str]:
    return [text]


class Retriever:
    def __init__(self, k: int = 5) -> None:
        self.k = k

    def retrieve(self, _: str) -> list[Any]:
        return []


def test_only_code_that_is_found_by_name_is_taken_for_the_same() -> None:
    def closure() -> Any:
        number = 1
        return lambda text: [text, number]

    for make in (closure, Retriever, lambda: Retriever().retrieve):
        first, second = keys_of(make)
        assert first != second
        first, second = keys_of(make, version="1")
        assert first == second
    first, second = keys_of(lambda: plain)
    assert first == second
    system = build_system({"python": closure()})
    assert system.identity() == system.identity()
    for _ in range(20):  # where one object was, another may come to be
        assert build_system({"python": closure()}).identity().key != system.identity().key


def test_a_system_is_taken_as_it_is() -> None:
    system = build_system("bm25")
    assert build_system({"python": {"function": system}}) is system
    assert isinstance(system, System)


@dataclass
class Piece:
    """A document as LangChain and Haystack have them, and a node as LlamaIndex has it."""

    id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    node: Any = None
    ref_doc_id: str | None = None
    node_id: str | None = None


def retriever(method: str, answer: Any) -> Any:
    calls: list[Any] = []

    def call(_: Any, *arguments: Any, **options: Any) -> Any:
        calls.append((arguments, options))
        return answer

    return type("Retriever", (), {method: call, "calls": calls})()


def test_langchain_documents() -> None:
    pieces = [
        Piece("c2", {"doc_id": "b"}),
        Piece("c3", {"doc_id": "a"}),
        Piece("c4", {"doc_id": "b"}),
    ]
    target = retriever("invoke", pieces)
    assert asked(target).pairs() == [("b", -1.0), ("a", -2.0)]
    assert target.calls == [(("leek soup",), {})]
    assert asked(target, id_field="other").doc_ids == ("c2", "c3", "c4")
    near = [Piece("a", {"score": 0.1}), Piece("b", {"score": 0.7})]
    assert asked(retriever("invoke", near)).doc_ids == ("a", "b")  # a distance, not a score
    assert "no id" in (asked(retriever("invoke", [Piece()])).error or "")
    assert "expected a list" in (asked(retriever("invoke", "text")).error or "")


def test_llama_index_nodes() -> None:
    nodes = [
        Piece(score=0.9, node=Piece(node_id="n1", ref_doc_id="b")),
        Piece(score=0.8, node=Piece(node_id="n2", ref_doc_id="b")),
        Piece(score=0.7, node=Piece(node_id="n3")),
        Piece(score=0.6, node=Piece(node_id="n4", metadata={"doc_id": 5})),
    ]
    target = retriever("retrieve", nodes)
    assert asked(target).pairs() == [("b", 0.9), ("n3", 0.7), ("5", 0.6)]


def test_haystack_documents() -> None:
    class Component:
        def run(self, query: str, top_k: int) -> dict[str, Any]:
            pieces = [Piece("a", score=2.0), Piece("x", meta={"doc_id": "b"}, score=1.0)]
            return {"documents": pieces[:top_k]} if query else {}

    assert asked(Component()).pairs() == [("a", 2.0), ("b", 1.0)]
    assert asked(Component(), depth=1).doc_ids == ("a",)
    assert "expected documents" in (asked(retriever("run", {"answers": []})).error or "")


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

    class Letters(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float(text.count(letter)) for letter in "abc"] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    store = InMemoryVectorStore(Letters())
    store.add_texts(["aab", "bbc", "ccc"], ids=["one", "two", "three"])
    system = build_system({"python": {"function": store.as_retriever(search_kwargs={"k": 2})}})
    (ranking,) = system.search([Query("q", "aaab")], 10)
    assert ranking.doc_ids == ("one", "two")


def test_two_folders_may_have_a_module_of_the_same_name(tmp_path: Path) -> None:
    answers = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        code = f"def search(text, depth):\n    return ['{name}']\n"
        (tmp_path / name / "namesake_search.py").write_text(code)
        system = build_system({"python": "namesake_search:search"}, folder=tmp_path / name)
        answers.append((system.search([Query("q", "x")], 5)[0].doc_ids, system.identity().key))
    assert [docs for docs, _ in answers] == [("first",), ("second",)]
    assert answers[0][1] != answers[1][1]


def test_the_search_path_is_never_changed_under_a_reader(tmp_path: Path) -> None:
    (tmp_path / "path_reader.py").write_text(
        "import sys\nSEEN = sys.path\ndef search(text, depth):\n    return []\n"
    )
    before = sys.path
    remembered = list(before)
    build_system({"python": "path_reader:search"}, folder=tmp_path)
    assert before == remembered, "whoever goes through it sees what was there"
    assert sys.path == remembered
    assert [str(tmp_path.resolve()), *remembered] == sys.modules["path_reader"].SEEN
