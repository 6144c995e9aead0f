"""A byte order mark is dropped at the beginning of a file, and is content anywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankscope as rs
from rankscope.tables import whitespace

BOM = "\ufeff"


@pytest.mark.parametrize(
    ("name", "text", "query_ids"),
    [
        ("a.run", f"{BOM}q1 Q0 d1 1 2 t\n{BOM}q2 Q0 d1 1 2 t\n", ["q1", f"{BOM}q2"]),
        ("a.run", f"{BOM}{BOM}q1 Q0 d1 1 2 t\n", [f"{BOM}q1"]),
        ("a.run", f"# comment\n{BOM}q1 Q0 d1 1 2 t\n", [f"{BOM}q1"]),
        ("a.csv", f"{BOM}query_id,doc_id,score\n{BOM}q1,d1,2\n", [f"{BOM}q1"]),
        ("a.csv", f"{BOM}{BOM}q1,d1,2.5\nq2,d1,2.5\n", [f"{BOM}q1", "q2"]),
        ("a.jsonl", f'{BOM}{{"query_id": "{BOM}q1", "doc_id": "d", "score": 1}}\n', [f"{BOM}q1"]),
    ],
)
def test_a_mark_within_a_file_is_kept(
    name: str, text: str, query_ids: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(rs.read_run(tmp_path / name).to_dict()) == query_ids


def test_a_mark_at_the_beginning_of_a_block_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two spaces make the file one for the exact reader, which works block by block."""
    monkeypatch.setattr(whitespace, "_LINES", 1)
    lines = [f"{BOM}q{number} Q0  d1 1 2 t\n" for number in range(3)]
    (tmp_path / "a.run").write_text("".join(lines), encoding="utf-8")
    assert list(rs.read_run(tmp_path / "a.run").to_dict()) == ["q0", f"{BOM}q1", f"{BOM}q2"]


@pytest.mark.parametrize("line", ["1 0 0 0.000000", "1 184 0 0", "1 184 0 0.000000"])
def test_a_document_called_0(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text(f"{line}\n1 0 d1 1\n")
    assert "1" in rs.read_qrels(tmp_path / "a.qrels").to_dict()
