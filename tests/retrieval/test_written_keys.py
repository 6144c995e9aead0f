"""Keys belong in the environment: one that is written in a config is refused before it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.cli import main

CONFIG = """\
name: keys
collection: {{path: "bundled:recipes", split: test}}
systems:
  it: {spec}
"""

WRITTEN = {
    "http header": "{http: {url: 'http://127.0.0.1:1', body: {q: '{{query}}'}, ids: 'ids[*]', "
    "headers: {Authorization: Bearer hunter22secret}}}",
    "http keys": "{http: {url: 'http://127.0.0.1:1', body: {q: '{{query}}', k: '{{keys.k}}'}, "
    "ids: 'ids[*]', keys: {k: hunter22secret}}}",
    "qdrant": "{qdrant: {url: 'http://127.0.0.1:1', key: hunter22secret}}",
    "chroma": "{chroma: {url: 'http://127.0.0.1:1', headers: {x-api-key: hunter22secret}}}",
    "postgres": "{postgres: {dsn: 'postgresql://me:hunter22secret@127.0.0.1:1/db'}}",
    "postgres words": "{postgres: {dsn: 'host=127.0.0.1 password=hunter22secret'}}",
    "llm": "{rerank: {of: bm25, llm: {url: 'http://127.0.0.1:1/v1', model: m, "
    "key: hunter22secret}}}",
}


def run(tmp_path: Path, spec: str, capsys: pytest.CaptureFixture[str]) -> str:
    config = tmp_path / "bench.yaml"
    config.write_text(CONFIG.format(spec=spec))
    with pytest.raises(SystemExit) as end:
        main(["benchmark", "run", str(config), "--output", str(tmp_path / "out")])
    assert end.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("name", WRITTEN)
def test_a_written_key_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = run(tmp_path, WRITTEN[name], capsys)
    assert "a key in a config would be recorded; write the name of a variable" in message
    assert "hunter22" not in message
    assert len(message.strip().splitlines()) == 1
    kept = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(b"hunter22" in path.read_bytes() for path in kept)


@pytest.mark.parametrize(
    "spec",
    [
        "{postgres: {dsn: 'host=127.0.0.1 port=1 dbname=db connect_timeout=2'}}",
        "{qdrant: {url: 'http://127.0.0.1:1', headers: {X-Team: search}}}",
    ],
)
def test_what_is_no_key_may_be_written(
    spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("psycopg")
    pytest.importorskip("qdrant_client")
    message = run(tmp_path, spec, capsys)
    assert "recorded" not in message
    assert "127.0.0.1" in message
