"""Stages: rewriting, reranking, fusing, and runs as systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rankscope import Corpus, Run, fuse
from rankscope.retrieval.protocol import Query, Ranking, System
from rankscope.retrieval.registry import Context, build_system
from rankscope.retrieval.stages.rewrite import REWRITERS, Keywords

WORDS = ["leek", "soup", "pie", "salt"]
CORPUS = Corpus(
    {f"d{n}": {"title": f"dish {n}", "text": " ".join(WORDS[: 1 + n % 4])} for n in range(9)}
)


def build(spec: Any, **options: Any) -> System:
    system = build_system(spec, **options)
    system.index(CORPUS)
    return system


def answer(system: System, text: str, depth: int = 10) -> Ranking:
    (ranking,) = system.search([Query("q", text)], depth)
    return ranking


@pytest.mark.parametrize(
    ("question", "keywords"),
    [
        ("What is the best way to boil leeks?", "boil leeks"),
        ("Can you please tell me how long I should bake bread?", "bake bread"),
        ("I'm looking for a soup with leeks", "soup leeks"),
        ("what is it?", "what is it?"),
        ("Crème brûlée — how?", "crème brûlée"),
    ],
)
def test_keywords(question: str, keywords: str) -> None:
    rewriter = REWRITERS.build({"keywords": {}}, Context())
    assert isinstance(rewriter, Keywords)
    assert rewriter.rewrite(question) == keywords


def test_a_rewriter_of_yours() -> None:
    system = build({"rewrite": {"of": "bm25", "python": lambda text: text.replace("X", "leek")}})
    assert answer(system, "X").pairs() == answer(build("bm25"), "leek").pairs() != []
    broken = build({"rewrite": {"of": "bm25", "python": lambda text: 7 if text == "7" else 1 / 0}})
    assert "returned int '7'" in (answer(broken, "7").error or "")
    assert answer(broken, "soup").error == "ZeroDivisionError: division by zero"


def test_reranking_reorders_the_top_and_adds_nothing() -> None:
    def by_number(_: str, documents: list[Any]) -> list[float]:
        return [float(document.doc_id[1:]) for document in documents]

    inner = build("bm25")
    before = answer(inner, "leek soup pie")
    system = build({"rerank": {"of": "bm25", "python": by_number, "depth": 4}})
    after = answer(system, "leek soup pie")
    assert list(after.doc_ids[:4]) == sorted(before.doc_ids[:4], reverse=True)
    assert after.doc_ids[4:] == before.doc_ids[4:]
    assert list(after.scores) == sorted(after.scores, reverse=True)
    assert set(answer(system, "leek soup pie", 2).doc_ids) <= set(before.doc_ids[:4])


def test_a_reranker_may_return_ids() -> None:
    def turned(_: str, documents: list[Any]) -> list[str]:
        return [document.doc_id for document in documents][::-1]

    system = build({"rerank": {"of": "bm25", "python": turned}})
    assert answer(system, "soup").doc_ids == answer(build("bm25"), "soup").doc_ids[::-1]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda *_: [1.0], "1 scores"),
        (lambda *_: ["new"], "'new'"),
        (lambda _, documents: [documents[0].doc_id], "once"),
        (lambda _, documents: [float("nan")] * len(documents), "finite"),
        (lambda _, documents: [object()] * len(documents), "scores or ids"),
        (lambda *_: 1 / 0, "ZeroDivisionError"),
        (lambda *_: None, "TypeError"),
    ],
)
def test_a_reranker_that_does_not(function: Any, message: str) -> None:
    ranking = answer(build({"rerank": {"of": "bm25", "python": function}}), "soup")
    assert message in (ranking.error or "")
    assert ranking.doc_ids == ()


def test_fusing_systems_is_fusing_their_runs() -> None:
    specs = [{"bm25": {}}, {"bm25": {"fields": ["title"], "language": "none"}}]
    queries = [Query("a", "leek soup dish"), Query("b", "pie 3"), Query("c", "unknown")]
    runs = [
        Run(
            {
                q.query_id: dict(r.pairs())
                for q, r in zip(queries, build(spec).search(queries, 1000), strict=True)
            }
        )
        for spec in specs
    ]
    for options in ({"method": "rrf", "k": 10.0}, {"method": "minmax", "weights": [0.3, 0.7]}):
        fused = fuse(runs, depth=5, **options)
        rankings = build({"fuse": {"of": specs, **options}}).search(queries, 5)
        assert {q.query_id: dict(r.pairs()) for q, r in zip(queries, rankings, strict=True)} == (
            fused.to_dict()
        )


def test_a_query_that_one_system_fails_on_has_failed() -> None:
    def moody(text: str) -> list[str]:
        return ["d1"] if text == "soup" else [1 / 0]  # type: ignore[list-item]

    system = build({"fuse": {"of": ["bm25", {"python": moody}]}})
    good, bad = system.search([Query("1", "soup"), Query("2", "pie")], 5)
    assert good.error is None
    assert good.doc_ids
    assert bad == Ranking((), (), bad.seconds, "ZeroDivisionError: division by zero")


def test_a_run_file_is_a_system(tmp_path: Path) -> None:
    file = tmp_path / "mine.run"
    file.write_text("q Q0 a 1 0.5 tag\nq Q0 b 2 0.5 tag\nq Q0 c 3 0.9 tag\n")
    system = build_system({"run": {"path": "mine.run"}}, folder=tmp_path)
    assert answer(system, "whatever").pairs() == [("c", 0.9), ("b", 0.5), ("a", 0.5)]
    assert system.search([Query("other", "x")], 5) == [Ranking()]
    same = build_system({"run": {"path": {"q": {"c": 0.9, "a": 0.5, "b": 0.5}}}})
    assert same.identity().key == system.identity().key
