"""``rankscope demo``: the whole way, offline, in one command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Rankscope = Callable[..., Any]


def test_the_demo_checks_scores_and_writes(rankscope: Rankscope, tmp_path: Path) -> None:
    done = rankscope("demo")
    assert (done.returncode, done.stderr) == (0, "")
    for said in (
        "checked words: valid",
        "checked letters: valid",
        "nDCG@10",
        "Verdict: letters is",
    ):
        assert said in done.stdout
    data = json.loads((tmp_path / "rankscope-demo" / "scores.json").read_text())
    means = {name: data["runs"][name]["means"]["nDCG@10"] for name in ("words", "letters")}
    assert f"{means['letters'] - means['words']:+.4f}" in done.stdout
    assert len(data["runs"]["words"]["per_query"]) == 12
    assert (tmp_path / "rankscope-demo" / "scores.md").read_text().startswith("| run")


def test_the_reports_go_where_they_are_wanted(rankscope: Rankscope, tmp_path: Path) -> None:
    assert rankscope("demo", "--output", "deep/er").returncode == 0
    assert (tmp_path / "deep" / "er" / "scores.md").is_file()
    (tmp_path / "file").write_text("")
    done = rankscope("demo", "--output", "file")
    assert done.returncode == 2
    assert "file: cannot be made" in done.stderr
