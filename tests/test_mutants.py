"""The tool that changes code does change it, and a test that notices is what kills a mutant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from reliability.changes import Change, changes_of
from reliability.mutants import compiled, wilson

ROOT = Path(__file__).parents[1]

MODULE = '''
"""Documentation is left alone: 1 + 1."""
from math import floor
__all__ = ["middle"]
SIZE: int = 3

def middle(values: list[int], low: int = 0) -> int | None:
    """Left alone as well."""
    if not values or values[0] == "all":
        raise ValueError(f"needs {1 + 1} values" + "!")
    total = 0
    for value in values[low:]:
        if value < SIZE:
            continue
        total += value
    print(total)
    return floor(max(total, low) / pow(len(values), 1))
'''


def changes(tmp_path: Path) -> dict[str, Change]:
    path = tmp_path / "module.py"
    path.write_text(MODULE)
    tree, found = changes_of(path)
    before = compile(tree, str(path), "exec")
    for change in found:
        assert compiled(tree, change) != before, change.name
        assert compile(tree, str(path), "exec") == before, "a change is taken back"
    return {change.shown: change for change in found}


def test_what_is_changed(tmp_path: Path) -> None:
    found = changes(tmp_path)
    assert {change.kind for change in found.values()} == {
        "constant", "sign or not", "and, or", "comparison", "boundary", "text", "no error",
        "statement removed", "arithmetic", "slice", "other function", "arguments swapped",
        "returns None",
    }  # fmt: skip
    assert {
        "SIZE: int = 3 → SIZE: int = 4",
        "values[0] == 'all' → values[0] != 'all'",
        "values[0] == 'all' → values[0] == '?'",
        "value < SIZE → value <= SIZE",
        "value < SIZE → value >= SIZE",
        "low: → low + 1:",
        "total += value → total -= value",
        "max(total, low) / pow(len(values), 1) → max(total, low) * pow(len(values), 1)",
        "max(total, low) → min(total, low)",
        "pow(len(values), 1) → pow(1, len(values))",
        "print(total) → pass",
    } <= set(found)
    texts = " ".join(found)
    assert "1 + 2" not in texts
    assert "1 - 1" not in texts, "neither documentation nor messages are changed"


def test_where_a_change_takes_effect(tmp_path: Path) -> None:
    found = changes(tmp_path)
    assert not found["SIZE: int = 3 → SIZE: int = 4"].in_function
    assert not next(change for change in found.values() if change.line == 7).in_function
    inside = found["value < SIZE → value <= SIZE"]
    assert inside.in_function
    assert list(inside.lines) == [13]


def test_interval_of_a_score() -> None:
    """Against the limits for 8 of 10 in Agresti and Coull's paper's formula, by hand."""
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_mutants_of_a_measure_meet_its_twin(tmp_path: Path) -> None:
    """One takes effect in a function, one at import, one nowhere: nothing reaches it."""
    pytest.importorskip("coverage")
    folder = ROOT / "src" / "rankscope" / "measures"
    names = [
        change.name.replace(f"{ROOT}/", "")
        for path in (folder / "incomplete.py", folder / "registry.py")
        for change in changes_of(path)[1]
        if change.shown.startswith("np.minimum(run.graded(lowest)")
        or change.shown.endswith("EPSILON = 1.00001")
        or "already; choose another name" in change.shown
    ]
    assert len(names) == 3
    chosen, lost = tmp_path / "chosen.json", tmp_path / "lost.json"
    chosen.write_text(json.dumps([{"name": name} for name in names]))
    done = subprocess.run(
        [sys.executable, "-m", "reliability.mutants", "--again", str(chosen), "--jobs", "1",
         "--tests", "tests/measures/test_twins.py", "--output", str(lost)],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert " | 3 | 2 | 0 | 1 | " in done.stdout, done.stdout  # killed, or without an end
    [row] = json.loads(lost.read_text())
    assert row["fate"] == "not reached"
    assert "already; choose another name" in row["name"]
