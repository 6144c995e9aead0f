"""ir_metadata: YAML in the comments at the top of a TREC run."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli import main
from rankscope.errors import FormatError, InputError
from rankscope.runs.validation import validate_run

YAML = """\
tag: bm25
actor:
  name: Ada
  fields: [ir, nlp]
research goal:
  date: 2024-05-01
"""
HEADER = "".join(f"# {line}\n" for line in ("ir_metadata.start", *YAML.split("\n")[:-1]))
LINES = "q1 Q0 d1 1 2.0 bm25\nq1 Q0 d2 2 1.0 bm25\n"
CONFIG = """\
name: b
collection: {queries: q.jsonl, qrels: q.qrels}
systems: {a: {run: bm25.run}}
"""
EXPECTED = {
    "tag": "bm25",
    "actor": {"name": "Ada", "fields": ["ir", "nlp"]},
    "research goal": {"date": "2024-05-01"},
}


def run_file(tmp_path: Path, header: str = f"{HEADER}# ir_metadata.end\n") -> Path:
    path = tmp_path / "bm25.run"
    path.write_text(header + LINES)
    return path


def done(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


@pytest.mark.parametrize(
    "header",
    [
        f"{HEADER}# ir_metadata.end\n",
        HEADER,
        f"# a comment\n\n{HEADER}# ir_metadata.end\n# another\n",
        f"{HEADER}# ir_metadata.end\n".replace("# ", "#"),
        f"\ufeff{HEADER}# ir_metadata.end\n".replace("\n", "\r\n"),
    ],
)
def test_reading(header: str, tmp_path: Path) -> None:
    run = rs.read_run(run_file(tmp_path, header))
    assert run.metadata == EXPECTED
    assert run.to_dict() == {"q1": {"d1": 2.0, "d2": 1.0}}
    assert run.named("other").metadata == EXPECTED


def test_without(tmp_path: Path) -> None:
    assert rs.read_run(run_file(tmp_path, "")).metadata == {}
    assert rs.read_run(run_file(tmp_path, "# only a comment\n")).metadata == {}
    assert rs.Run({"q1": ["d1"]}).metadata == {}


def test_written_and_read_back(tmp_path: Path) -> None:
    run = rs.Run({"q1": ["d1"]}).with_metadata({"tag": "x", "note": "ä: #1\nline"})
    run.write(tmp_path / "a.run")
    assert rs.read_run(tmp_path / "a.run").metadata == {"tag": "x", "note": "ä: #1\nline"}
    run.write(tmp_path / "a.json")
    assert rs.read_run(tmp_path / "a.json").metadata == {}


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = run_file(tmp_path), tmp_path / "out.run"
    assert done("convert", source, target) == 0
    assert target.read_text() == source.read_text()
    plain = run_file(tmp_path, "")
    yaml = tmp_path / "meta.yml"
    yaml.write_text(f"ir_metadata.start\n{YAML}ir_metadata.end\n")
    assert done("convert", plain, target, "--metadata", yaml) == 0
    assert target.read_text() == f"{HEADER}# ir_metadata.end\n{LINES}"
    other = tmp_path / "other.run"
    other.write_text(LINES)
    assert done("runs", "fuse", plain, other, "-o", target, "--metadata", yaml) == 0
    assert rs.read_run(target).metadata == EXPECTED
    capsys.readouterr()
    assert done("runs", "validate", target) == 0
    output = capsys.readouterr().out
    assert "actor.name" in output
    assert "Ada" in output
    for name, text in (
        ("q.jsonl", '{"_id": "q1", "text": "leek"}\n'),
        ("q.qrels", "q1 0 d1 1\n"),
        ("b.yaml", CONFIG),
    ):
        (tmp_path / name).write_text(text)
    fetched = ("runs", "fetch", tmp_path / "b.yaml", "-o", tmp_path / "runs", "--metadata", yaml)
    assert done(*fetched) == 0, capsys.readouterr().err
    assert rs.read_run(tmp_path / "runs" / "a.run.gz").metadata == EXPECTED
    capsys.readouterr()
    assert done("convert", plain, tmp_path / "out.json", "--metadata", yaml) == 2
    assert "only TREC runs carry metadata" in capsys.readouterr().err
    yaml.write_text("just words")
    assert done("convert", plain, target, "--metadata", yaml) == 2
    assert "meta.yml: the ir_metadata is not usable: expected keys" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("yaml", "problem"),
    [
        ("a: [1", "not YAML"),
        ("a: &x 1\nb: *x", "refers to another part"),
        ("a: " + "[" * 60 + "]" * 60, "nested more than 50"),
        ("- a\n- b", "expected keys with values"),
        ("a: !!python/object:os.system {}", "not YAML"),
        ("a: 2024-99-99", "cannot be read"),
    ],
)
def test_what_is_not_usable_does_not_spoil_the_run(yaml: str, problem: str, tmp_path: Path) -> None:
    lines = ("ir_metadata.start", *yaml.split("\n"), "ir_metadata.end")
    path = run_file(tmp_path, "".join(f"# {line}\n" for line in lines))
    run = rs.read_run(path)
    assert len(run) == 2
    with pytest.raises(FormatError, match=problem):
        _ = run.metadata
    validation = validate_run(path)
    assert validation.ok
    assert problem in (validation.metadata_problem or "")
    with pytest.raises(InputError, match=problem):
        run.with_metadata(yaml)
