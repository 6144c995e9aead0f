"""Options of remote systems: addresses from variables, snapshots, and no key in a config."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from conftest import Rankscope
from rankscope.errors import InputError
from rankscope.retrieval.options import Reading, RemoteOptions, read_options
from rankscope.retrieval.registry import SYSTEMS
from rankscope.retrieval.web import WebOptions

UNEXPANDED = Reading(unexpanded=True)
WRITTEN_DOWN = Reading(as_written=True)


def test_an_address_with_a_variable_is_checked_when_its_value_is_known() -> None:
    for url in ("${LLM_URL}", "https://${HOST}:9200", "http://host/${INDEX}"):
        assert read_options(WebOptions, {"url": url}, UNEXPANDED).url == url
    for url in ("${LLM_URL}", "host:9200", "ftp://host", "http://me:pass@host"):
        with pytest.raises(InputError, match=r"^url: "):
            read_options(WebOptions, {"url": url})
    for url in ("host:9200", "ftp://host"):
        with pytest.raises(InputError, match=r"^url: "):
            read_options(WebOptions, {"url": url}, UNEXPANDED)


def test_a_snapshot_is_in_the_users_words() -> None:
    """Also where YAML reads a number or a date."""
    words = {"monday": "monday", date(2026, 11, 17): "2026-11-17", 1: "1", 7.1: "7.1"}
    for given, taken in words.items():
        assert read_options(RemoteOptions, {"snapshot": given}).snapshot == taken
    for nothing in (True, "", [1]):
        with pytest.raises(InputError, match=r"^snapshot: "):
            read_options(RemoteOptions, {"snapshot": nothing})


URL = "http://127.0.0.1:1"
HTTP = {"url": URL, "ids": "ids"}
LLM = {"url": f"{URL}/v1", "model": "m"}
WRITTEN: dict[str, dict[str, Any]] = {
    "http": {
        "http": {
            **HTTP,
            "body": {"q": "{query}"},
            "headers": {"Authorization": "Bearer hunter22secret"},
        }
    },
    "qdrant": {"qdrant": {"url": URL, "key": "hunter22secret"}},
    "chroma": {"chroma": {"url": URL, "headers": {"x-api-key": "hunter22secret"}}},
    "postgres": {"postgres": {"dsn": "postgresql://me:hunter22secret@127.0.0.1:1/db"}},
    "postgres words": {"postgres": {"dsn": "host=127.0.0.1 password=hunter22secret"}},
    "llm": {"rerank": {"of": "bm25", "llm": {**LLM, "key": "hunter22secret"}}},
}


def test_a_written_key_is_refused_before_it_is_kept() -> None:
    for name, spec in WRITTEN.items():
        with pytest.raises(InputError, match="would be recorded") as refused:
            SYSTEMS.read(spec, WRITTEN_DOWN)
        assert "hunter22" not in str(refused.value), name
    SYSTEMS.read(
        {"postgres": {"dsn": "host=127.0.0.1 port=1 dbname=db connect_timeout=2"}}, WRITTEN_DOWN
    )
    SYSTEMS.read({"qdrant": {"url": URL, "headers": {"X-Team": "search"}}}, WRITTEN_DOWN)


def test_no_file_holds_a_written_key(rankscope: Rankscope, tmp_path: Path) -> None:
    (tmp_path / "bench.yaml").write_text(
        'name: keys\ncollection: {path: "bundled:recipes", split: test}\n'
        f"systems: {{it: {{qdrant: {{url: '{URL}', key: hunter22secret}}}}}}\n"
    )
    done = rankscope("benchmark", "run", "bench.yaml", "--output", "out")
    assert done.returncode == 2
    assert "recorded" in done.stderr
    assert "hunter22" not in done.stderr
    kept = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(b"hunter22" in path.read_bytes() for path in kept)
