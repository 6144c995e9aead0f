"""The server for assistants: what it answers, what it refuses, and its protocol."""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from integrations.served import EVALUATE, MIXED, QRELS, fill
from rankscope.integrations import mcp_tools
from rankscope.integrations.mcp_server import LONGEST_LINE, WITH_HANDSHAKE, reply_to, serve
from rankscope.integrations.mcp_tools import Workspace


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = fill(tmp_path / "served")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def workspace(folder: Path) -> Workspace:
    return Workspace(folder.resolve(), 1_000_000)


def ask(workspace: Workspace, method: str, **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    reply = reply_to(workspace, json.dumps(message).encode())
    assert reply is not None
    assert reply["id"] == 7
    return reply


def call(workspace: Workspace, tool: str, **arguments: Any) -> tuple[bool, str]:
    result = ask(workspace, "tools/call", name=tool, arguments=arguments)["result"]
    (content,) = result["content"]
    return result["isError"], content["text"]


# --- what it answers -----------------------------------------------------------------------------


def test_scores_are_those_of_evaluate(workspace: Workspace) -> None:
    result = ask(workspace, "tools/call", name="evaluate", arguments={**EVALUATE, "worst": 2})
    scores = rs.evaluate(QRELS, MIXED, "nDCG@10")
    assert result["result"]["structuredContent"]["nDCG@10"] == scores["nDCG@10"]
    text = result["result"]["content"][0]["text"]
    assert f"{scores['nDCG@10']:.3f}" in text


def test_every_tool_answers(workspace: Workspace) -> None:
    both = {"qrels": "qrels.tsv", "runs": ["runs/good.run", "runs/mixed.run"]}
    failed, text = call(workspace, "compare", **both, baseline="good")
    assert not failed
    assert "`mixed`" in text
    failed, text = call(
        workspace, "explain", qrels="qrels.tsv", run="runs/mixed.run", query_id="q1"
    )
    assert not failed
    assert "0.8597" in text
    failed, text = call(workspace, "diagnose", **both)
    assert not failed
    assert text.startswith("# Diagnosis")
    assert call(workspace, "list_files")[1].splitlines() == [
        f"- 'qrels.tsv': {os.path.getsize('qrels.tsv')} bytes",
        f"- 'runs/good.run': {os.path.getsize('runs/good.run')} bytes",
        f"- 'runs/mixed.run': {os.path.getsize('runs/mixed.run')} bytes",
    ]


def test_columns_are_named_as_everywhere(workspace: Workspace) -> None:
    gold, run = "ask,wanted,worth\nq1,a,2\nq2,b,1\n", "ask,got,points\nq1,x,2\nq1,a,1\nq2,b,1\n"
    Path("gold.csv").write_text(gold)
    Path("run.csv").write_text(run)
    Path("other.csv").write_text(run)
    columns = {"query": "ask", "relevant": "wanted", "retrieved": "got"}
    columns |= {"score": "points", "grade": "worth"}
    asked: dict[str, dict[str, Any]] = {
        "evaluate": {"runs": ["run.csv"], "measures": ["RR"]},
        "compare": {"runs": ["run.csv", "other.csv"], "measures": ["RR"]},
        "explain": {"run": "run.csv", "query_id": "q1", "measure": "RR"},
        "diagnose": {"runs": ["run.csv"], "measures": ["RR"]},
    }
    for tool, arguments in asked.items():
        failed, text = call(workspace, tool, qrels="gold.csv", **arguments, **columns)
        assert not failed, text
        assert "0.5" in text or "0.75" in text, tool
        assert call(workspace, tool, qrels="gold.csv", **arguments)[0], "no such names"


def test_every_tool_says_that_it_only_reads(workspace: Workspace) -> None:
    tools = ask(workspace, "tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == list(mcp_tools.TOOLS)
    for tool in tools:
        assert tool["annotations"]["readOnlyHint"] is True
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        for argument in tool["inputSchema"].get("properties", {}).values():
            assert argument["description"]


# --- what it refuses -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "../outside.run",
        "runs/../../outside.run",
        "link.run",
        "out/outside.run",
        "out/served/../outside.run",
        "/etc/passwd",
        "-",
        " ",
        "runs",
        "nothing.run",
        "a\0b",
        "x" * 999,
    ],
)
def test_nothing_outside_is_read(workspace: Workspace, name: str) -> None:
    failed, text = call(workspace, "evaluate", qrels="qrels.tsv", runs=[name])
    assert failed
    assert "\n" not in text
    assert "file" in text
    assert str(workspace.root) not in text


def test_whether_something_outside_exists_is_not_said(workspace: Workspace) -> None:
    for missing, there in (("../none.run", "../outside.run"), ("out/none.run", "out/outside.run")):
        first, second = (
            call(workspace, "evaluate", qrels="qrels.tsv", runs=[name])[1].replace(name, "…")
            for name in (missing, there)
        )
        assert first == second


def test_a_link_within_the_folder_is_followed(workspace: Workspace) -> None:
    assert not call(workspace, "evaluate", qrels="qrels.tsv", runs=["inner.run"])[0]


def test_large_files_are_refused_also_when_unpacked(folder: Path) -> None:
    small = Workspace(folder.resolve(), 300)
    failed, text = call(small, "evaluate", **EVALUATE)
    assert failed
    assert "300" in text
    many = {f"q{n}": {"document": 1.0} for n in range(20_000)}
    rs.Run(many).write(folder / "packed.run.gz")
    middle = Workspace(folder.resolve(), 300_000)
    assert os.path.getsize("packed.run.gz") < 300_000
    failed, text = call(middle, "evaluate", qrels="qrels.tsv", runs=["packed.run.gz"])
    assert failed
    assert "expand" in text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"qrels": "qrels.tsv"}, "runs"),
        ({**EVALUATE, "runs": []}, "runs"),
        ({**EVALUATE, "runs": ["runs/good.run"] * 21}, "20"),
        ({**EVALUATE, "output": "x"}, "output"),
        ({**EVALUATE, "measures": ["nGCD@10"]}, "nDCG"),
        ({**EVALUATE, "qrels": "runs/good.run"}, "runs/good.run:1"),
        ({**EVALUATE, "qrels": "qrels.tvs"}, "qrels.tsv"),
    ],
)
def test_an_error_is_one_sentence(
    workspace: Workspace, arguments: dict[str, Any], word: str
) -> None:
    failed, text = call(workspace, "evaluate", **arguments)
    assert failed
    assert word in text
    assert "\n" not in text


def test_answers_have_an_end(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_tools, "LONGEST_ANSWER", 100)
    monkeypatch.setattr(mcp_tools, "MOST_METRICS", 2)
    monkeypatch.setattr(mcp_tools, "MOST_FILES", 2)
    result = ask(workspace, "tools/call", name="evaluate", arguments=EVALUATE)["result"]
    assert "(cut: this is the first part of" in result["content"][0]["text"]
    assert "structuredContent" not in result
    assert call(workspace, "list_files")[1].endswith("there are more than 2")


def test_a_fault_of_our_own_does_not_end_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setitem(mcp_tools.TOOLS, "evaluate", (mcp_tools.Evaluate, broken))
    failed, text = call(workspace, "evaluate", **EVALUATE)
    assert (failed, text) == (True, "this is a fault of rankscope (ZeroDivisionError: oh)")


def content_of(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_nothing_is_written(workspace: Workspace) -> None:
    before = content_of(workspace.root)
    test_every_tool_answers(workspace)
    assert content_of(workspace.root) == before


# --- the protocol --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [*WITH_HANDSHAKE, "1999-01-01", None])
def test_a_handshake(workspace: Workspace, version: str | None) -> None:
    result = ask(workspace, "initialize", protocolVersion=version)["result"]
    expected = version if version in WITH_HANDSHAKE else WITH_HANDSHAKE[-1]
    assert result["protocolVersion"] == expected
    assert result["serverInfo"] == {"name": "rankscope", "version": rs.__version__}
    assert ask(workspace, "ping")["result"] == {}


def test_requests_that_bring_their_version(workspace: Workspace) -> None:
    name = "io.modelcontextprotocol/protocolVersion"
    result = ask(workspace, "server/discover", _meta={name: "2026-07-28"})["result"]
    assert "2026-07-28" in result["supportedVersions"]
    assert result["resultType"] == "complete"
    refused = ask(workspace, "tools/list", _meta={name: "2099-01-01"})["error"]
    assert refused["code"] == -32022
    assert refused["data"]["requested"] == "2099-01-01"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", -32700),
        ("\xff\xfe", -32700),
        ("[" * 100_000, -32700),
        ("[]", -32600),
        ('{"id": 1}', -32600),
        ('{"id": 1, "method": 3}', -32600),
        ('{"id": 1, "method": "tools/run"}', -32601),
        ('{"id": 1, "method": "tools/call", "params": []}', -32602),
        ('{"id": 1, "method": "tools/call", "params": {"name": "rm"}}', -32602),
        ('{"id": 1, "method": "tools/call", "params": {"name": ["x"]}}', -32602),
    ],
)
def test_what_is_no_request_gets_an_error(workspace: Workspace, line: str, code: int) -> None:
    reply = reply_to(workspace, line.encode("latin-1"))
    assert reply is not None
    assert reply["error"]["code"] == code
    assert reply["id"] == (1 if '"id": 1' in line and '"method": "' in line else None)


@pytest.mark.parametrize(
    "line", ['{"method": "notifications/initialized"}', '{"id": 3, "result": {}}']
)
def test_what_needs_no_answer_gets_none(workspace: Workspace, line: str) -> None:
    assert reply_to(workspace, line.encode()) is None


def test_lines_that_are_too_long_do_not_end_it(workspace: Workspace) -> None:
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    requests = io.BytesIO(b'{"x": "' + b"y" * 3 * LONGEST_LINE + b'"}\n\n' + ping)
    answers = io.BytesIO()
    serve(workspace, requests, answers)
    first, second = map(json.loads, answers.getvalue().splitlines())
    assert first["error"]["code"] == -32700
    assert second == {"jsonrpc": "2.0", "id": 1, "result": {}}
