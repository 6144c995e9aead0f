"""The server for assistants as a process, and that the SDK's client agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import rankscope as rs
from integrations.served import EVALUATE, MIXED, QRELS, fill
from rankscope.integrations import mcp_tools

SERVER = [sys.executable, "-m", "rankscope", "mcp"]


def test_standard_output_holds_answers_only(filled: Path) -> None:
    params = {"name": "evaluate", "arguments": EVALUATE}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    done = subprocess.run(
        [*SERVER, str(filled)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["result"]["isError"] is False


CLIENT = """
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters

command, *arguments = json.loads(sys.argv[1])
server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))

async def main():
    async with Client(server, mode=sys.argv[2]) as client:
        tools = await client.list_tools()
        evaluated = await client.call_tool("evaluate", json.loads(sys.argv[3]))
        refused = await client.call_tool("evaluate", {"qrels": "../x", "runs": ["y"]})
        print(json.dumps({
            "version": client.protocol_version,
            "name": client.server_info.name,
            "tools": [tool.name for tool in tools.tools],
            "metrics": evaluated.structured_content,
            "refused": [refused.is_error, refused.content[0].text],
        }))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("mcp") / "work")


@pytest.mark.skipif(find_spec("mcp") is None, reason="the SDK is not installed")
@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_client_of_the_sdk(filled: Path, mode: str, version: str) -> None:
    server = json.dumps([*SERVER, str(filled)])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CLIENT, server, mode, json.dumps(EVALUATE)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert (answer["version"], answer["name"]) == (version, "rankscope")
    assert answer["tools"] == list(mcp_tools.TOOLS)
    assert answer["metrics"]["nDCG@10"] == rs.evaluate(QRELS, MIXED, "nDCG@10")["nDCG@10"]
    assert answer["refused"][0] is True
