"""The pytest plugin in processes of its own: workers of pytest-xdist, and what it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from gate.test_plugin import OUTCOMES, SESSION
from rankscope.records.assertions import AssertionReport


def test_workers_send_what_they_found(tmp_path: Path) -> None:
    (tmp_path / "test_session.py").write_text(SESSION, encoding="utf-8")
    target = tmp_path / "report.json"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2"]
    subprocess.run([*command, f"--rankscope-report={target}"], cwd=tmp_path, check=False)
    report = AssertionReport.from_data(json.loads(target.read_text("utf-8")), source="report")
    outcomes = {each.test.partition("::")[2]: each.outcome for each in report.assertions}
    assert outcomes == OUTCOMES


def test_nothing_heavy_is_imported() -> None:
    code = "import rankscope.integrations.pytest_plugin, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "scipy", "polars", "rich"} & set(done.stdout.split()) == set()
