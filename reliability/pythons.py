"""Run tests under other Pythons and with the lowest versions of what rankscope needs.

Each gets a virtual environment of its own below ``.venv``. A Python that this machine does not have
is skipped, and that is said.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from reliability.lowest import lowest

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SOME = (
    *("tests/tables", "tests/collection", "tests/ontology", "tests/document", "tests/frozen"),
    *("tests/benchmark/test_end_to_end.py", "tests/cli", "tests/test_files.py"),
)
"""What depends most on the Python and on other packages."""


def interpreter(version: str) -> str | None:
    """Return a Python of this version: on the path, or one that pyenv has installed."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = sorted(home.glob(f"versions/{version}.*/bin/python"))
    for name in (shutil.which(f"python{version}"), *map(str, reversed(installed))):
        if name is None:
            continue
        call = [name, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return name
    return None


def run(python: str, name: str, tests: list[str], *, constraints: list[str]) -> bool:
    """Install rankscope in an environment and run tests in it; tell whether they passed."""
    environment = ROOT / ".venv" / f"with-{name}"
    program = environment / "bin" / "python"
    if not program.exists():
        subprocess.run([python, "-m", "venv", str(environment)], check=True)
    limits = environment / "constraints.txt"
    limits.write_text("\n".join(constraints) + "\n", encoding="utf-8")
    pip = [str(program), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    wanted = ["--constraint", str(limits), "--editable", ".[dev]"]
    subprocess.run([*pip, *wanted], cwd=ROOT, check=True)
    pytest = [str(program), "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *tests]
    return subprocess.run(pytest, cwd=ROOT, check=False).returncode == 0


def main() -> int:
    """Do what the command line asks for; exit 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="python -m reliability.pythons", description=__doc__)
    parser.add_argument("versions", nargs="*", help="such as 3.12; lowest: this Python, old parts")
    parser.add_argument("--all", action="store_true", help="all tests, not only some")
    options = parser.parse_args()
    tests = [] if options.all else list(SOME)
    failed = []
    own_version = "{}.{}".format(*sys.version_info)
    others = [version for version in VERSIONS if version != own_version]  # of `make test`
    for version in options.versions or others:
        is_lowest = version == "lowest"
        python = sys.executable if is_lowest else interpreter(version)
        if python is None:
            print(f"Python {version}: skipped, this machine has none", flush=True)
            continue
        print(f"Python {version}: {python}" if not is_lowest else "lowest versions", flush=True)
        constraints = lowest(ROOT / "pyproject.toml") if is_lowest else []
        if not run(python, version, tests, constraints=constraints):
            failed.append(version)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
