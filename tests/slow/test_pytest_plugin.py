"""The pytest plugin in a process of its own: what it imports."""

from __future__ import annotations

import subprocess
import sys


def test_nothing_heavy_is_imported() -> None:
    code = "import rankscope.integrations.pytest_plugin, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "scipy", "polars", "rich"} & set(done.stdout.split()) == set()
