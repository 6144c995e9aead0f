"""ir_metadata: YAML in the comments at the top of a TREC run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
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
EXPECTED = {
    "tag": "bm25",
    "actor": {"name": "Ada", "fields": ["ir", "nlp"]},
    "research goal": {"date": "2024-05-01"},
}


def run_file(tmp_path: Path, header: str = f"{HEADER}# ir_metadata.end\n") -> Path:
    path = tmp_path / "bm25.run"
    path.write_text(header + LINES)
    return path


def test_reading(tmp_path: Path) -> None:
    for header in (
        f"{HEADER}# ir_metadata.end\n",
        HEADER,
        f"# a comment\n\n{HEADER}# ir_metadata.end\n# another\n",
        f"{HEADER}# ir_metadata.end\n".replace("# ", "#"),
        f"\ufeff{HEADER}# ir_metadata.end\n".replace("\n", "\r\n"),
    ):
        run = rs.read_run(run_file(tmp_path, header))
        assert run.metadata == run.named("other").metadata == EXPECTED
        assert run.to_dict() == {"q1": {"d1": 2.0, "d2": 1.0}}
    assert rs.read_run(run_file(tmp_path, "# only a comment\n")).metadata == {}
    assert rs.Run({"q1": ["d1"]}).metadata == {}


def test_written_and_read_back(tmp_path: Path) -> None:
    run = rs.Run({"q1": ["d1"]}).with_metadata({"tag": "x", "note": "ä: #1\nline"})
    run.write(tmp_path / "a.run")
    assert rs.read_run(tmp_path / "a.run").metadata == {"tag": "x", "note": "ä: #1\nline"}
    run.write(tmp_path / "a.json")
    assert rs.read_run(tmp_path / "a.json").metadata == {}


def test_on_the_command_line(rankscope: Callable[..., Any], tmp_path: Path) -> None:
    source, target = run_file(tmp_path), tmp_path / "out.run"
    assert rankscope("convert", "bm25.run", "out.run").returncode == 0
    assert target.read_text() == source.read_text()
    run_file(tmp_path, "")
    (tmp_path / "meta.yml").write_text(f"ir_metadata.start\n{YAML}ir_metadata.end\n")
    given = ("--metadata", "meta.yml")
    assert rankscope("convert", "bm25.run", "out.run", *given).returncode == 0
    assert target.read_text() == f"{HEADER}# ir_metadata.end\n{LINES}"
    (tmp_path / "other.run").write_text(LINES)
    fused = rankscope("runs", "fuse", "bm25.run", "other.run", "-o", "out.run", *given)
    assert (fused.returncode, rs.read_run(target).metadata) == (0, EXPECTED)
    assert "Ada" in rankscope("runs", "validate", "out.run").stdout
    refused = rankscope("convert", "bm25.run", "out.json", *given)
    assert (refused.returncode, "TREC" in refused.stderr) == (2, True)
    (tmp_path / "meta.yml").write_text("just words")
    refused = rankscope("convert", "bm25.run", "out.run", *given)
    assert (refused.returncode, "meta.yml" in refused.stderr) == (2, True)


def test_what_is_not_usable_does_not_spoil_the_run(tmp_path: Path) -> None:
    for yaml, problem in {
        "a: [1": "not YAML",
        "a: &x 1\nb: *x": "another part",
        "a: " + "[" * 60 + "]" * 60: "50",
        "- a\n- b": "keys",
        "a: !!python/object:os.system {}": "not YAML",
        "a: 2024-99-99": "cannot be read",
    }.items():
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
