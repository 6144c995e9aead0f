"""The server for assistants as a process, asked by the SDK's client."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import rankscope as rs
from integrations.served import EVALUATE, MIXED, QRELS, fill
from rankscope.integrations.mcp_server import TOOLS

SERVER = [sys.executable, "-m", "rankscope", "mcp"]


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
        own = await client.call_tool("evaluate", {"qrels": "-", "runs": ["y"]})
        print(json.dumps({
            "version": client.protocol_version,
            "name": client.server_info.name,
            "tools": [tool.name for tool in tools.tools],
            "schemas": [tool.input_schema for tool in tools.tools],
            "reading": [tool.annotations.read_only_hint for tool in tools.tools],
            "metrics": evaluated.structured_content,
            "refused": [refused.is_error, refused.content[0].text, own.is_error],
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
    assert answer["tools"] == list(TOOLS)
    assert answer["metrics"]["nDCG@10"] == rs.evaluate(QRELS, MIXED, "nDCG@10")["nDCG@10"]
    assert answer["refused"] == [True, "'../x': file not found in the folder; see list_files", True]
    assert all(answer["reading"])
    for schema in answer["schemas"]:
        assert schema["additionalProperties"] is False
        assert all("description" in each for each in schema.get("properties", {}).values())
