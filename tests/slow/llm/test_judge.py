"""A language model that judges: batches, repeats, agreement, what is left out, the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="language models are asked through httpx")

from llm.server import DOCUMENT, Server, honest, serving
from llm.world import options
from rankscope.cli import main
from rankscope.collection.ratings import as_ratings
from rankscope.errors import InputError
from rankscope.reports.judging.judging_pool import DocumentText, JudgingPool, QueryText
from rankscope.reports.judging.judgment_log import Pair
from rankscope.retrieval.llm.llm_judge import (
    JudgedByLlm,
    JudgeOptions,
    judge_with_llm,
    median_grades,
    plan_judging,
)

WORDS = ["leek", "soup", "cream", "salt"]
DOCUMENTS = {f"d{n}": " ".join(WORDS[: n % 4]) + f" bowl {n}" for n in range(12)}
QUERIES = {"q1": "leek soup cream", "q2": "leek"}
GRADES = {
    Pair(query_id, doc_id): min(3, sum(word in text.split() for word in query.split()))
    for query_id, query in QUERIES.items()
    for doc_id, text in DOCUMENTS.items()
}
"""What the honest model says."""
POOL = JudgingPool(
    "pool",
    tuple(GRADES),
    {query_id: QueryText(text) for query_id, text in QUERIES.items()},
    {doc_id: DocumentText("", text) for doc_id, text in DOCUMENTS.items()},
)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(endpoint: Server) -> Server:
    endpoint.calm()
    return endpoint


def judged(server: Server, *, pool: JudgingPool = POOL, **more: Any) -> JudgedByLlm:
    arguments = {name: more.pop(name) for name in ("repeats", "human", "cache") if name in more}
    return judge_with_llm(pool, options(server, **more), **arguments)


def as_dict(answer: JudgedByLlm, repeat: int = 1) -> dict[Pair, float]:
    rows = answer.ratings.to_polars().iter_rows()
    return {Pair(row[0], row[1]): row[4] for row in rows if row[3] == repeat}


@pytest.mark.parametrize("batch", [1, 5, 10, 100])
def test_grades_go_to_their_documents_whatever_the_batch(server: Server, batch: int) -> None:
    answer = judged(server, batch=batch)
    assert as_dict(answer) == GRADES
    assert answer.ratings.raters == ("small",)
    assert len(server.sent) == 2 * -(-12 // batch)
    counts = answer.result.grades
    assert counts == {str(g): sum(grade == g for grade in GRADES.values()) for g in range(4)}


def test_repeats_ask_again_and_show_how_the_model_varies(server: Server, tmp_path: Path) -> None:
    steady = judged(server, repeats=3, cache=tmp_path)
    assert len(server.sent) == 3 * 4
    agreement = steady.result.agreement
    assert agreement is not None
    assert (agreement.repeats[0].repeats, agreement.repeats[0].equal) == (3, 1.0)
    again = judged(server, repeats=3, cache=tmp_path)
    assert again.ratings.to_polars().equals(steady.ratings.to_polars())
    usage = again.result.usage
    assert (usage.requests, usage.cached, len(server.sent)) == (0, 12, 12)
    more = judged(server, repeats=4, cache=tmp_path)
    assert more.result.usage.requests == 4
    server.answer = unsteady(server)
    varying = judged(server, repeats=2, jobs=1)
    assert varying.result.agreement is not None
    assert varying.result.agreement.repeats[0].equal < 1
    first, second = as_dict(varying, 1), as_dict(varying, 2)
    equal = sum(first[pair] == second[pair] for pair in first) / len(first)
    assert varying.result.agreement.repeats[0].equal == pytest.approx(equal)


def unsteady(server: Server) -> Callable[[dict[str, Any]], str]:
    def answer(body: dict[str, Any]) -> str:
        numbers = [int(number) for number, _ in DOCUMENT.findall(body["messages"][1]["content"])]
        turn = len(server.sent)
        rows = [{"document": number, "grade": (number + turn // 3) % 4} for number in numbers]
        return json.dumps({"grades": rows})

    return answer


def test_the_median_of_repeats() -> None:
    rows = [("q", "d", "small", grade) for grade in (0, 3, 2)]
    assert median_grades(as_ratings(rows)) == {"q": {"d": 2}}
    assert median_grades(as_ratings(rows[:2])) == {"q": {"d": 0}}


def test_beside_people_and_the_best_constant_answer(server: Server) -> None:
    right = judged(server, human=GRADES).result.agreement
    assert right is not None
    (comparison,) = right.comparisons
    assert (comparison.judge, comparison.reference, comparison.items) == ("small", "human", 24)
    assert (comparison.accuracy, comparison.quadratic.value) == (1.0, 1.0)
    frequent = max(sum(grade == g for grade in GRADES.values()) for g in range(4))
    assert comparison.constant_accuracy == frequent / 24
    assert right.agreement.ordinal.value == 1
    server.answer = lambda body: json.dumps(
        {
            "grades": [
                {"document": int(n), "grade": 0}
                for n, _ in DOCUMENT.findall(str(body["messages"][1]["content"]))
            ]
        }
    )
    lazy = judged(server, human=GRADES).result.agreement
    assert lazy is not None
    assert lazy.comparisons[0].accuracy == sum(grade == 0 for grade in GRADES.values()) / 24
    assert "judge-no-better-than-constant" in {finding.name for finding in lazy.findings}


WRONG: dict[str, Callable[[list[Any]], list[Any]]] = {
    "missing": lambda rows: rows[1:],
    "twice": lambda rows: [rows[0], rows[0], *rows[2:]],
    "unknown": lambda rows: [{**rows[0], "document": 99}, *rows[1:]],
    "too high": lambda rows: [{**rows[0], "grade": 4}, *rows[1:]],
    "below 0": lambda rows: [{**rows[0], "grade": -1}, *rows[1:]],
    "half": lambda rows: [{**rows[0], "grade": 1.5}, *rows[1:]],
    "text": lambda rows: [{**rows[0], "grade": "2"}, *rows[1:]],
    "more": lambda rows: [{**rows[0], "why": "so"}, *rows[1:]],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_batch_that_is_graded_wrongly_is_asked_document_by_document(
    server: Server, name: str
) -> None:
    def answer(body: dict[str, Any]) -> str:
        rows = json.loads(honest(body))["grades"]
        return json.dumps({"grades": rows if len(rows) == 1 else WRONG[name](rows)})

    server.answer = answer
    result = judged(server)
    assert as_dict(result) == GRADES
    usage = result.result.usage
    assert (usage.unreadable, usage.failed, usage.fallen_back) == (12, 4, 4)
    assert usage.answered == 24


def test_a_document_that_the_model_refuses_is_left_out_and_listed(
    server: Server, tmp_path: Path
) -> None:
    server.answer = lambda body: (
        "I cannot." if "bowl 7" in body["messages"][1]["content"] else honest(body)
    )
    answer = judged(server, cache=tmp_path)
    assert as_dict(answer) == {pair: g for pair, g in GRADES.items() if pair.doc_id != "d7"}
    assert [(row.query_id, row.doc_id) for row in answer.result.unjudged] == [
        ("q1", "d7"),
        ("q2", "d7"),
    ]
    again = judged(server, cache=tmp_path)
    assert again.result.usage.requests == 0
    assert again.ratings.to_polars().equals(answer.ratings.to_polars())


def test_pairs_without_texts_are_left_out_and_listed(server: Server) -> None:
    pool = JudgingPool(
        "pool", (*POOL.pairs, Pair("q1", "gone"), Pair("q9", "d1")), POOL.queries, POOL.documents
    )
    result = judged(server, pool=pool, repeats=2).result
    assert (result.pairs, result.ratings, result.unjudged_count) == (26, 48, 4)
    assert {(row.doc_id, row.reason) for row in result.unjudged} == {
        ("gone", "the document has no text"),
        ("d1", "the query has no text"),
    }
    with pytest.raises(InputError, match="no pair"):
        judged(server, pool=JudgingPool("pool", POOL.pairs))


def test_a_plan_sends_nothing(server: Server) -> None:
    given = JudgeOptions(**options(server, price={"prompt": 1, "completion": 1}, max_tokens=50))
    plan = plan_judging(POOL, given, repeats=2)
    assert (plan.pairs, plan.requests, len(server.sent)) == (24, 8, 0)
    assert plan.example is not None
    assert "leek soup cream" in plan.example
    answer = judged(server, repeats=2)
    sent = sum(len(m["content"]) for body in server.sent for m in body["messages"])
    assert answer.result.usage.requests == plan.requests
    assert sent / 3 <= plan.prompt_tokens <= 1.1 * sent / 3
    assert plan.cost == pytest.approx((plan.prompt_tokens + 8 * 50) / 1e6)


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = [f"{query_id} 0 {doc_id} {grade}" for (query_id, doc_id), grade in GRADES.items()]
    (tmp_path / "qrels.txt").write_text("\n".join(lines) + "\n")
    for name, texts in (("queries", QUERIES), ("corpus", DOCUMENTS)):
        rows = [json.dumps({"_id": each, "text": text}) for each, text in texts.items()]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    (tmp_path / "llm.yaml").write_text(
        f"url: {server.url}\nmodel: small\nkey: ${{JUDGE_KEY}}\npause: 0.01\n"
    )
    monkeypatch.setenv("JUDGE_KEY", "hush-hush-1")
    monkeypatch.chdir(tmp_path)
    server.key = "hush-hush-1"
    return tmp_path


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str, to: str = "ratings.csv") -> tuple[int, str, str]:
        texts = ("--queries", "queries.jsonl", "--corpus", "corpus.jsonl")
        with pytest.raises(SystemExit) as ended:
            main(["judge", "qrels.txt", *texts, "--ratings", to, *arguments])
        done = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, done.out, done.err

    assert folder.is_dir()
    return run


def test_the_command_writes_ratings_qrels_and_a_report(
    run: Run, folder: Path, server: Server
) -> None:
    code, out, err = run(
        *("--model", "llm.yaml", "--human", "qrels.txt", "--repeats", "2", "--qrels", "out.txt")
    )
    assert (code, err) == (0, "")
    ratings = as_ratings(folder / "ratings.csv")
    assert ratings.to_polars().height == 48
    assert (folder / "out.txt").read_text().splitlines()[0].split() == ["q1", "0", "d0", "0"]
    asked = len(server.sent)
    code, out, _ = run("--model", "llm.yaml", "--format", "json", to="again.jsonl")
    assert code == 0
    result = json.loads(out)
    assert result["usage"]["requests"] == 0
    assert len(server.sent) == asked
    assert as_ratings(folder / "again.jsonl").raters == ("small",)
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert not [content for content in written if b"hush" in content]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "needs --model"),
        (["--model", "none.yaml"], "none.yaml"),
        (["--model", "llm.yaml", "--set", "modle=x"], "nearest: model"),
        (["--model", "llm.yaml", "--set", "budget.requests=1"], "budget of 1"),
        (["--model", "llm.yaml", "--qrels", "x.csv"], ".qrels or .txt"),
        (["--model", "llm.yaml", "--human", "other.txt"], "no pair of the pool"),
        (["--model", "llm.yaml", "--set", "key=hush-2"], "a key in a config"),
        (["--model", "llm.yaml", "--set", "highest=5"], "0 to 3"),
        (["--model", "wrong.yaml"], "answered 401"),
        (["--model", "unset.yaml"], "NO_SUCH_KEY"),
        (["--model", "llm.yaml", "--ratings", "ratings.txt"], ".csv"),
    ],
)
def test_mistakes_are_one_sentence(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], word: str
) -> None:
    monkeypatch.setenv("WRONG_KEY", "hush-wrong")
    text = (folder / "llm.yaml").read_text()
    (folder / "wrong.yaml").write_text(text.replace("JUDGE_KEY", "WRONG_KEY"))
    (folder / "unset.yaml").write_text(text.replace("JUDGE_KEY", "NO_SUCH_KEY"))
    (folder / "other.txt").write_text("q7 0 d1 1\n")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert word in err
    assert "hush" not in err
    assert not list(folder.glob("ratings.*"))


@pytest.mark.parametrize(
    "written",
    [
        ("--qrels", "qrels.txt"),
        ("--qrels", "./sub/../qrels.txt"),
        ("--qrels", "same.tsv", "--ratings", "same.tsv"),
        ("--qrels", "people.txt"),
    ],
)
def test_what_is_read_is_not_written_over(run: Run, folder: Path, written: tuple[str, ...]) -> None:
    (folder / "sub").mkdir()
    (folder / "people.txt").symlink_to("qrels.txt")
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    code, out, err = run("--model", "llm.yaml", *written)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
