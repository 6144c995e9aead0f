"""``rankscope demo``: the whole way, offline, in one command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Rankscope = Callable[..., Any]


def test_the_demo_checks_fuses_compares_and_writes(rankscope: Rankscope, tmp_path: Path) -> None:
    done = rankscope("demo")
    assert (done.returncode, done.stderr) == (0, "")
    for said in ("checked words: valid", "checked letters: valid", "fused both", "120 queries"):
        assert said in done.stdout
    folder = tmp_path / "rankscope-demo"
    data = json.loads((folder / "comparison.json").read_text())
    means = {(one["run"], one["measure"]): one["mean"] for one in data["means"]}
    for run in ("words", "letters", "both"):
        assert f"{means[run, 'nDCG@10']:.4f}" in done.stdout
    assert (folder / "comparison.md").read_text().startswith("|")
    assert "toprule" in (folder / "comparison.tex").read_text()
    assert len((folder / "both.run").read_text().splitlines()) > 10_000


def test_the_reports_go_where_they_are_wanted(rankscope: Rankscope, tmp_path: Path) -> None:
    assert rankscope("demo", "--output", "deep/er").returncode == 0
    assert (tmp_path / "deep" / "er" / "comparison.md").is_file()
    (tmp_path / "file").write_text("")
    done = rankscope("demo", "--output", "file")
    assert done.returncode == 2
    assert "file: cannot be made" in done.stderr
