"""Putting cases to tools: rankscope agrees with a definition in every one of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rankscope.cli.app import app
from rankscope.conformance.cases import read_cases
from rankscope.conformance.suite import ask, conformance
from rankscope.conformance.tools import (
    CannotAskError,
    Question,
    Tool,
    Values,
    all_tools,
    names_for,
    tool_named,
)
from rankscope.errors import FormatError, UnknownNameError

CASES = {case.id: case for case in read_cases()}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_rankscope_answers_by_its_documented_definition(case: Any) -> None:
    outcome = ask(case, tool_named("rankscope"))
    assert (outcome.kind, outcome.answer) == ("definition", "A"), outcome


def test_cases_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_bytes(b"\xff")
    with pytest.raises(FormatError, match=r"cases\.jsonl:1: byte 0xff is not UTF-8"):
        read_cases(tmp_path / "cases.jsonl")


def test_pytrec_eval_answers_by_trec_eval_9() -> None:
    (report,) = conformance(tools=["pytrec_eval"]).tools
    answers = {outcome.case: outcome.answer for outcome in report.outcomes}
    assert report.version is not None
    assert answers["missing-query"] == "B"
    assert answers["near-scores"] == "X"  # single precision
    assert answers["ties-rr"] == answers["ties-ndcg"] == answers["ap-cut"] == "A"
    assert answers["duplicate-ap"] is None
    assert report.of_kind("other") == 0


def test_ir_measures_and_beir_take_two_orders_for_one_run() -> None:
    for report in conformance(tools=["ir_measures", "BEIR"], cases=["one-order"]).tools:
        (outcome,) = report.outcomes
        assert (outcome.kind, outcome.answer, outcome.value) == ("fault", "X", 1.0), report.tool


def test_every_tool_is_asked_when_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tool, "version", lambda _: None)
    reports = conformance().tools
    assert [report.tool for report in reports] == list(all_tools())
    assert reports[0].tool == "rankscope"
    assert all(report.outcomes == () for report in reports)


def answered(values: Values) -> Tool:
    return Tool("stub", "stub", lambda _: values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"AP@3": 0.5}, ("definition", "A", 0.5)),
        ({"AP@3": 0.500001}, ("definition", "A", 0.500001)),
        ({"AP@3": 1.0}, ("fault", "X", 1.0)),
        ({"AP@3": 0.7}, ("other", None, 0.7)),
        ({"AP@3": None}, ("other", None, "undefined")),
        ({"AP@3": float("nan")}, ("other", None, "undefined")),
    ],
)
def test_an_answer_is_compared_with_the_known_ones(values: Values, expected: object) -> None:
    outcome = ask(CASES["ap-by-found"], answered(values))
    assert (outcome.kind, outcome.answer, outcome.value) == expected


def test_a_difference_of_two_measures() -> None:
    outcome = ask(CASES["one-order"], answered({"RR@1": 1.0, "nDCG@1": 0.0}))
    assert (outcome.kind, outcome.value) == ("fault", 1.0)


def test_what_a_tool_raises_is_its_answer() -> None:
    def refuses(_: Question) -> Values:
        print("noise")  # noqa: T201
        raise AssertionError("twice\nand more")

    outcome = ask(CASES["duplicate-ap"], Tool("stub", "stub", refuses))
    assert (outcome.answer, outcome.note) == ("A", "AssertionError: twice")

    def lacks(_: Question) -> Values:
        raise CannotAskError("has no AP")

    outcome = ask(CASES["duplicate-ap"], Tool("stub", "stub", lacks))
    assert (outcome.kind, outcome.note, outcome.value) == ("not asked", "has no AP", None)


def test_a_tool_cannot_spoil_the_case_for_the_next() -> None:
    def spoils(question: Question) -> Values:
        question.qrels["q1"].clear()
        question.run["q1"].clear()
        return {}

    ask(CASES["ap-by-found"], Tool("stub", "stub", spoils))
    assert CASES["ap-by-found"].qrels["q1"]
    assert CASES["ap-by-found"].run["q1"]


QUESTION = Question(
    qrels={"q": {"a": 1}}, run={"q": [("a", 0.5), ("b", 0.5)]}, measures=("RR@10", "AP@1")
)


def test_names_in_another_tool() -> None:
    names = names_for(QUESTION, {"AP": "map@{k}"}, uncut={"AP": "map", "RR": "mrr"})
    assert names == {"RR@10": "mrr", "AP@1": "map@1"}
    with pytest.raises(CannotAskError, match="has no AP@1"):
        names_for(QUESTION, {}, uncut={"AP": "map", "RR": "mrr"})


def test_questions_that_cannot_be_put() -> None:
    twice = Question(qrels={"q": {"a": 1}}, run={"q": [("a", 1.0), ("a", 0.5)]}, measures=("AP",))
    with pytest.raises(CannotAskError, match="cannot be returned twice"):
        twice.scored()
    assert twice.lists() == {"q": ({"a": 1}, ["a", "a"])}
    tied = Question(QUESTION.qrels, QUESTION.run, ("AP",), about="scores")
    with pytest.raises(CannotAskError, match="takes ranked lists"):
        tied.lists()
    missing = Question({"q": {"a": 1}, "p": {"b": 1}}, QUESTION.run, ("AP",))
    with pytest.raises(CannotAskError, match="one query at a time"):
        missing.pairs()


def test_an_unknown_tool_is_named_with_the_nearest() -> None:
    assert tool_named("beir").name == "BEIR"
    with pytest.raises(UnknownNameError, match="unknown tool 'rankscop'; nearest: rankscope"):
        tool_named("rankscop")


# --- the command ---------------------------------------------------------------------------------


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["conformance", *arguments])


def test_the_command_prints_every_answer_of_a_named_tool() -> None:
    done = run("--tool", "rankscope", "--case", "graded", "--case", "duplicate-ap")
    assert done.exit_code == 0
    first, *lines = done.stdout.splitlines()
    assert first.endswith("2 by a definition, 0 by a fault, 0 by neither, 0 not asked")
    rows = [line.split()[:4] for line in lines]
    assert ["graded", "nDCG@3", "0.7900", "A"] in rows
    assert ["duplicate-ap", "AP@10", "error", "A"] in rows
    assert "A definition is not a fault" in done.stdout


@pytest.mark.parametrize("form", ["table", "markdown", "html", "latex", "csv", "json"])
def test_every_format_holds_every_answer(form: str) -> None:
    done = run("--tool", "rankscope", "--case", "graded", "--format", form)
    assert done.exit_code == 0
    listed = run("--list", "--case", "graded", "--format", form)
    assert listed.exit_code == 0
    for text in (done.stdout, listed.stdout):
        assert "graded" in text
        assert "0.7" in text


def test_csv_names_the_tool_in_each_row() -> None:
    done = run("--tool", "rankscope", "--case", "graded", "--format", "csv")
    header, row = done.stdout.splitlines()
    assert header == "tool,version,kind,case,question,answer,by,which is"
    assert row.startswith("rankscope,")
    assert ",definition,graded,nDCG@3,0.7900,A," in row


def test_the_result_can_be_written_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "answers.json"
    done = run("--tool", "rankscope", "--case", "graded", "--format", "json", "-o", str(target))
    assert (done.exit_code, done.stdout) == (0, "")
    assert json.loads(target.read_text())["tools"][0]["tool"] == "rankscope"


def test_a_fault_of_a_named_tool_is_exit_1() -> None:
    done = run("--tool", "pytrec_eval", "--case", "near-scores")
    assert done.exit_code == 1
    assert "rounded to single precision" in done.stdout


def test_json_is_the_result() -> None:
    done = run("--tool", "rankscope", "--case", "graded", "--format", "json")
    (report,) = json.loads(done.stdout)["tools"]
    assert report["outcomes"][0] == {
        "case": "graded",
        "asked": "nDCG@3",
        "kind": "definition",
        "answer": "A",
        "means": CASES["graded"].answers[0].text,
        "value": pytest.approx(0.78999799),
        "note": "",
    }


def test_cases_can_be_listed() -> None:
    done = run("--list", "--case", "one-order")
    assert "RR@1 - nDCG@1" in done.stdout
    assert len(json.loads(run("--list", "--format", "json").stdout)["cases"]) == len(CASES)


def test_a_tool_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tool, "version", lambda _: None)
    done = run("--tool", "ranx", "--case", "graded")
    assert done.exit_code == 0
    assert done.stdout.startswith("ranx: not installed (package ranx)\n")
