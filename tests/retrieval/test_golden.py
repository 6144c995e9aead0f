"""A retriever against a golden set, in one call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rankscope as rs
from rankscope.errors import InputError

ANSWERS = {"leek soup?": ["d1", "d7"], "apple pie?": ["d3", "d1"], "bread?": ["d5"]}
GOLDEN = {"leek soup?": ["d7"], "apple pie?": ["d2", "d4"], "bread?": ["d5", "d6"]}


def test_it_asks_scores_and_lists_what_fails() -> None:
    result = rs.evaluate_retriever(ANSWERS.get, GOLDEN, k=5)
    assert result.means == {
        "Success@5": pytest.approx(2 / 3),
        "RR@5": pytest.approx((0.5 + 0 + 1) / 3),
        "nDCG@5": result["nDCG@5"],
        "R@5": pytest.approx((1 + 0 + 0.5) / 3),
    }
    assert result.means["hit_rate@5"] == result.means["Success@5"]
    assert result.intervals["hit_rate@5"].low < 2 / 3 < result.intervals["hit_rate@5"].high
    [question] = result.failing
    assert (question.text, question.expected) == ("apple pie?", ("d2", "d4"))
    assert question.retrieved == ("d3", "d1")


def test_they_are_scores() -> None:
    """As `evaluate` gives them for the same answers."""
    scores = rs.evaluate_retriever(ANSWERS.get, GOLDEN, k=5)
    same = rs.evaluate(GOLDEN, ANSWERS, scores.measures)
    assert isinstance(scores, rs.Scores)
    assert scores.means == same.means
    assert scores.worst(1, measure="R@5") == {"apple pie?": 0.0}
    assert scores.per_query.drop("run").equals(same.per_query.drop("run"))
    assert "Nothing relevant in the first 5: 1 of 3 questions" in str(scores)


class Chain:
    """A retriever with LangChain's asynchronous interface."""

    async def ainvoke(self, text: str) -> list[Any]:
        return [SimpleNamespace(page_content="", metadata={"id": name}) for name in ANSWERS[text]]


class Pipe:
    """A component with Haystack's."""

    async def run_async(self, query: str, top_k: int) -> dict[str, Any]:
        found = ANSWERS[query][:top_k]
        return {"documents": [SimpleNamespace(content="", meta={}, id=name) for name in found]}


def test_asynchronous_retrievers() -> None:
    at_once = most = 0

    async def search(text: str, k: int) -> list[str]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return ANSWERS[text][:k]

    plain = rs.evaluate_retriever(ANSWERS.get, GOLDEN, k=5)
    for retriever in (search, Chain(), Pipe()):
        scores = asyncio.run(rs.evaluate_retriever_async(retriever, GOLDEN, k=5, concurrency=2))
        assert scores.means == plain.means
        assert [question.text for question in scores.failing] == ["apple pie?"]
    assert most == 2
    with pytest.raises(InputError, match="evaluate_retriever_async"):
        rs.evaluate_retriever(search, GOLDEN)
    with pytest.raises(InputError, match="concurrency"):
        asyncio.run(rs.evaluate_retriever_async(search, GOLDEN, concurrency=0))


def test_an_asynchronous_question_that_raises_counts_as_zero() -> None:
    async def search(text: str) -> list[str]:
        if text == "bread?":
            raise ConnectionError("no route to host")
        return ANSWERS[text]

    scores = asyncio.run(rs.evaluate_retriever_async(search, GOLDEN, k=5))
    assert scores["hit@5"] == pytest.approx(1 / 3)
    assert "no route to host" in scores.errors["bread?"]


def records(*, with_id: bool) -> list[dict[str, Any]]:
    return [
        {**({"id": f"q{number}"} if with_id else {}), "question": text, "expected_ids": ids}
        for number, (text, ids) in enumerate(GOLDEN.items())
    ]


def in_file(folder: Path, *, with_id: bool) -> Path:
    path = folder / "golden.json"
    path.write_text(json.dumps(records(with_id=with_id)))
    return path


@pytest.mark.parametrize(
    ("golden", "options"),
    [
        (lambda _: records(with_id=True), {}),
        (lambda _: records(with_id=False), {}),
        (lambda folder: in_file(folder, with_id=True), {}),
        (lambda folder: str(in_file(folder, with_id=False)), {}),
        (lambda _: rs.Qrels(GOLDEN), {"queries": {text: text for text in GOLDEN}}),
    ],
)
def test_every_form_of_golden_set(
    golden: Callable[[Path], Any], options: dict[str, Any], tmp_path: Path
) -> None:
    result = rs.evaluate_retriever(ANSWERS.get, golden(tmp_path), k=5, **options)
    assert result.means == rs.evaluate_retriever(ANSWERS.get, GOLDEN, k=5).means
    assert [question.text for question in result.failing] == ["apple pie?"]


def test_the_function_is_told_how_many_and_cut_there() -> None:
    asked = []

    def search(_: str, top_k: int) -> list[dict[str, Any]]:
        asked.append(top_k)
        return [{"id": doc_id} for doc_id in ("d9", "d8", "d7", "d2", "d5")]

    result = rs.evaluate_retriever(search, GOLDEN, k=3, measures=["P@3"])
    assert asked == [3, 3, 3]
    assert result.means == {"P@3": pytest.approx(1 / 9)}
    assert len(result.failing) == 2


def test_a_question_that_raises_counts_as_zero() -> None:
    def search(text: str) -> list[str]:
        if text == "bread?":
            raise ConnectionError("no route to host")
        return ANSWERS[text]

    result = rs.evaluate_retriever(search, GOLDEN, k=5)
    assert result.means["hit@5"] == pytest.approx(1 / 3)
    assert "no route to host" in result.errors["bread?"]
    assert "no route to host" in {q.text: q.error for q in result.failing}["bread?"]
    with pytest.raises(rs.InputError, match="no route"):
        rs.evaluate_retriever(search, {"bread?": ["d5"]})


@pytest.mark.parametrize(
    ("golden", "options", "message"),
    [
        ({}, {}, "empty"),
        (rs.Qrels(GOLDEN), {}, "queries="),
        ([{"id": "x", "expected_ids": ["a"]}], {}, "item 1"),
        (GOLDEN, {"queries": {"bread?": "bread?"}}, "'leek soup"),
        ("no.json", {}, r"no\.json"),
        (GOLDEN, {"k": 0}, "depth"),
    ],
)
def test_what_cannot_be_asked(golden: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(rs.InputError, match=message):
        rs.evaluate_retriever(ANSWERS.get, golden, **options)


def test_documents_of_a_framework_and_their_id() -> None:
    documents = [SimpleNamespace(id="u1", page_content="text", metadata={"source": "d7"})]
    golden = {"leek soup?": ["d7"]}
    result = rs.evaluate_retriever(lambda _: documents, golden, k=5, id_field="source")
    assert result.means["hit_rate@5"] == 1
    with pytest.raises(InputError, match="typo"):
        rs.evaluate_retriever(lambda _: documents, golden, k=5, id_field="typo")


def test_a_retriever_of_terms(tmp_path: Path) -> None:
    tree = tmp_path / "tree.tsv"
    tree.write_text("a\troot\nb\ta\nc\tb\n")
    cases = [
        {"text": "eins", "expected_term_ids": ["c"], "language": "de"},
        {"text": "one", "expected_term_ids": ["b"], "language": "en"},
    ]
    answers = {"eins": ["b"], "one": ["b", "a"]}
    with pytest.raises(InputError, match="averaged"):
        rs.evaluate_retriever(answers.get, cases, k=2)
    result = rs.evaluate_retriever(answers.get, cases, k=2, ontology=tree, language="de")
    assert result.means["Success@2"] == 0.0
    assert result.means["MaxOntSim@2"] == pytest.approx(0.7 * 2 / 3 + 0.3 * (1 - 1 / 5))
    both = rs.evaluate_retriever(answers.get, cases, k=2, language="all")
    assert both.means["Success@2"] == 0.5


def test_a_table_in_an_object_asks_its_words() -> None:
    """Rows with ids and words are asked by their words, however the table is wrapped."""
    rows = [
        {"qid": "Q01", "user_query": "how to reset?", "gold_chunks": ["a"]},
        {"qid": "Q02", "user_query": "where is it?", "gold_chunks": ["b"]},
    ]
    for golden in (rows, {"version": 3, "items": rows}):
        questions: list[str] = []

        def search(question: str, k: int, questions: list[str] = questions) -> list[str]:
            questions.append(question)
            return ["a"][:k]

        assert rs.evaluate_retriever(search, golden, k=1)["hit_rate@1"] == 0.5
        assert questions == ["how to reset?", "where is it?"]
