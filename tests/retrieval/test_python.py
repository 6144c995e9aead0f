"""Functions and retrievers in Python: what they may return, what they cannot do to us."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rankscope import Corpus
from rankscope.errors import InputError, UnknownNameError
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Identity, Query, Ranking, System
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
        (None, "None"),
        ("d1", "str 'd1'"),
        ([None], "None"),
        ([""], "id of a document"),
        ([1.5], "float '1.5'"),
        ([("a", "high")], "str 'high'"),
        ([("a", float("nan"))], "float 'nan'"),
        ([("a", 1, 2)], "id of a document"),
        ([{"text": "no id"}], "'text'"),
        ([{"id": "a", "score": 1}, {"id": "b"}], "1 documents without a score"),
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

    with pytest.raises(InputError, match="argument"):
        asked(deaf)


def test_functions_by_name(tmp_path: Path) -> None:
    file = tmp_path / "my_search.py"
    file.write_text(
        "def find(text):\n    return [text]\n\nclass Box:\n    find = staticmethod(find)\n"
    )
    system = build_system({"python": "my_search:find"}, folder=tmp_path)
    assert system.search([Query("q", "soup")], 5)[0].doc_ids == ("soup",)
    assert build_system({"python": "my_search:Box.find"}, folder=tmp_path)
    with pytest.raises(UnknownNameError, match="nearest: find"):
        build_system({"python": "my_search:fnd"}, folder=tmp_path)
    key = system.identity().key
    file.write_text("def find(text):\n    return [text, 'more']\n")
    edited = build_system({"python": "my_search:find"}, folder=tmp_path)
    assert edited.identity().key != key
    assert edited.search([Query("q", "soup")], 5)[0].doc_ids == ("soup", "more")
    assert system.identity().key == key, "it still runs what it was made of"


def plain(text: str) -> list[str]:
    return [text]


class Retriever:
    def retrieve(self, _: str) -> list[Any]:
        return []


def test_only_code_that_is_found_by_name_is_taken_for_the_same() -> None:
    def closure() -> Any:
        number = 1
        return lambda text: [text, number]

    def keys(make: Any, **options: Any) -> set[str]:
        specs = [{"python": {"function": make(), **options}} for _ in range(2)]
        return {build_system(spec).identity().key for spec in specs}

    for make in (closure, Retriever, lambda: Retriever().retrieve):
        assert len(keys(make)) == 2
        assert len(keys(make, version="1")) == 1
    assert len(keys(lambda: plain)) == 1
    system = build_system({"python": closure()})
    assert system.identity() == system.identity()
    for _ in range(20):  # where one object was, another may come to be
        assert build_system({"python": closure()}).identity().key != system.identity().key


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
    return type("Retriever", (), {method: lambda *_, **__: answer})()


def test_langchain_documents() -> None:
    pieces = [
        Piece("c2", {"doc_id": "b"}),
        Piece("c3", {"doc_id": "a"}),
        Piece("c4", {"doc_id": "b"}),
    ]
    for target in (retriever("invoke", pieces), lambda _: pieces):
        assert asked(target).pairs() == [("b", -1.0), ("a", -2.0)]
        assert asked(target, id_field="id").doc_ids == ("c2", "c3", "c4")
        assert "'other'" in (asked(target, id_field="other").error or "")
    scored = [(piece, 1.0 / place) for place, piece in enumerate(pieces[:2], start=1)]
    assert asked(lambda _: scored).pairs() == [("b", 1.0), ("a", 0.5)]
    near = [Piece("a", {"score": 0.1}), Piece("b", {"score": 0.7})]
    assert asked(retriever("invoke", near)).doc_ids == ("a", "b")  # a distance, not a score
    assert "no id" in (asked(retriever("invoke", [Piece()])).error or "")


def test_llama_index_nodes() -> None:
    nodes = [
        Piece(score=0.9, node=Piece(node_id="n1", ref_doc_id="b")),
        Piece(score=0.8, node=Piece(node_id="n2", ref_doc_id="b")),
        Piece(score=0.7, node=Piece(node_id="n3")),
        Piece(score=0.6, node=Piece(node_id="n4", metadata={"doc_id": 5})),
    ]
    assert asked(retriever("retrieve", nodes)).pairs() == [("b", 0.9), ("n3", 0.7), ("5", 0.6)]


def test_haystack_documents() -> None:
    class Component:
        def run(self, query: str, top_k: int) -> dict[str, Any]:
            pieces = [Piece("a", score=2.0), Piece("x", meta={"doc_id": "b"}, score=1.0)]
            return {"documents": pieces[:top_k]} if query else {}

    assert asked(Component()).pairs() == [("a", 2.0), ("b", 1.0)]
    assert asked(Component(), depth=1).doc_ids == ("a",)


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


def test_the_search_path_is_as_before(tmp_path: Path) -> None:
    (tmp_path / "path_reader.py").write_text(
        "import sys\nSEEN = sys.path\ndef search(text, depth):\n    return []\n"
    )
    before, remembered = sys.path, list(sys.path)
    build_system({"python": "path_reader:search"}, folder=tmp_path)
    assert before == remembered == sys.path, "whoever goes through it sees what was there"
    assert [str(tmp_path.resolve()), *remembered] == sys.modules["path_reader"].SEEN


HELPERS = {
    "entry": "import helper\nfrom box import inner\n\ndef find(text):\n    import late\n"
    "    return [helper.NAME]\n",
    "helper": "NAME = 'd1'\n",
    "late": "",
    "unrelated": "",
}


def test_an_edit_of_any_own_module_is_another_identity(tmp_path: Path) -> None:
    for name, text in HELPERS.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "inner.py").write_text("from . import deeper\n")
    (tmp_path / "box" / "deeper.py").write_text("import os\n")

    def named() -> System:
        return build_system({"python": "entry:find"}, folder=tmp_path, python="named")

    sources = {"entry.py", "helper.py", "late.py", "box/inner.py", "box/deeper.py"}
    assert set(named().sources) == sources
    for edited in ("unrelated.py", *sorted(sources)):
        key = named().identity().key
        (tmp_path / edited).write_text((tmp_path / edited).read_text() + "# edited\n")
        assert (named().identity().key != key) is (edited in sources)
    assert "entry" not in sys.modules


@pytest.mark.parametrize("ending", ["sys.exit(0)", "raise GeneratorExit", "raise BaseException"])
def test_code_cannot_end_the_process(tmp_path: Path, ending: str) -> None:
    source = (
        f"import sys\ndef find(text):\n    if text == 'bad':\n        {ending}\n    return ['d']\n"
    )
    (tmp_path / "ending_search.py").write_text(source)
    system = build_system({"python": "ending_search:find"}, folder=tmp_path)
    fetched = fetch(system, {"1": "good", "2": "bad"}, retries=0)
    assert list(fetched.run.query_ids) == ["1"]
    assert "ended the process" in fetched.failures["2"]
    (tmp_path / "ending_search.py").write_text(f"import sys\n{ending}\n")
    with pytest.raises(InputError, match="ended the process"):
        build_system({"python": "ending_search:find"}, folder=tmp_path)


def test_an_interruption_is_one_wherever_it_comes_from() -> None:
    def interrupted(_: str) -> list[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asked(interrupted)


class Exiting(System):
    def index(self, corpus: Corpus) -> None: ...

    def identity(self) -> Identity:
        return Identity(kind="own", name="own", version="1", parameters={}, snapshot="")

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:  # noqa: ARG002
        sys.exit(0)


def test_stages_cannot_end_the_process() -> None:
    def exits(*_: object) -> Any:
        sys.exit(0)

    corpus = Corpus({"d1": "leek soup", "d2": "soup"})
    for stage in (
        {"python": Exiting()},
        {"rerank": {"of": "bm25", "python": exits}},
        {"rewrite": {"of": "bm25", "python": exits}},
    ):
        system = build_system(stage)
        system.index(corpus)
        assert "ended the process" in fetch(system, {"1": "soup"}, retries=0).failures["1"]
    vector = build_system({"vector": {"embedder": exits}})
    vector.index(corpus)
    with pytest.raises(InputError, match="ended the process"):
        fetch(vector, {"1": "soup"})


def test_what_code_does_to_its_arguments_stays_there() -> None:
    def spoils(query: Query) -> list[str]:
        assert query.metadata["lang"] == {"code": "en"}
        query.metadata["lang"]["code"] = "de"
        query.metadata.clear()  # type: ignore[attr-defined]
        return ["d1"]

    def spoils_documents(_: str, documents: list[Any]) -> list[float]:
        for document in documents:
            document.fields["text"] = "spoilt"
            document.fields["tags"].append("spoilt")
        scores = [1.0 for _ in documents]
        documents.clear()
        return scores

    query = Query("1", "soup", {"lang": {"code": "en"}})
    for _ in range(2):
        assert not fetch(build_system({"python": spoils}), [query], retries=0).failures
    assert query.metadata == {"lang": {"code": "en"}}
    corpus = Corpus({"d1": {"text": "leek soup", "tags": ["a"]}})
    system = build_system({"rerank": {"of": "bm25", "python": spoils_documents}})
    system.index(corpus)
    assert not fetch(system, [query], retries=0).failures
    assert corpus["d1"].fields == {"text": "leek soup", "tags": ["a"]}


def test_python_can_be_refused_before_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "refused_search.py").write_text("raise RuntimeError('imported')\n")
    name = "refused_search:find"
    for spec in (
        {"python": name},
        {"rerank": {"of": "bm25", "python": name}},
        {"rewrite": {"of": "bm25", "python": name}},
        {"vector": {"embedder": {"callable": name}}},
        {"fuse": {"of": ["bm25", {"python": name}]}},
    ):
        with pytest.raises(InputError, match="--no-python"):
            build_system(spec, folder=tmp_path, python="refused")
        assert build_system(spec, folder=tmp_path, python="named").identity().key
    assert build_system("bm25", python="refused")
