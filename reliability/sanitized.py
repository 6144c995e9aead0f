"""``make test-native``: the native library under AddressSanitizer and UndefinedBehaviorSanitizer.

    python -m reliability.sanitized [--files 20000] [--seed 1]

It is built once more, into a folder of its own, and loaded by a Python that runs the tests of
``tests/native``, the tests with hostile files, and the files of `reliability.native_fuzz`, read in
blocks of all sizes. Then a program in C (``scan_driver.c``) uses it alone: with memory of exactly
the size of a file, with each allocation failing in turn, and with a check for leaks. Nothing is
done where there is no compiler, or one without sanitizers.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FOLDER = ROOT / ".venv" / "sanitized"
FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1")
TESTS = ("tests/native", "tests/cli/test_hostile_files.py")
ELSEWHERE = "not costs_a_small and not can_be_set and not nobody_fills and not in_proportion"
"""Tests that start other processes, which load the usual library, are of no use here."""
_DRIVEN = 200  # files that the program in C takes


def main() -> int:
    """Run as described at the top."""
    parser = argparse.ArgumentParser(prog="python -m reliability.sanitized", description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library", type=Path, help="what is loaded, in the process that loads it")
    given = parser.parse_args()
    if given.library is not None:
        return _inside(given.library, given.files, given.seed)
    command, reason = _compiler()
    if reason:
        print(f"the native library is not tested under sanitizers: {reason}")
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    reason = _builder().build(FOLDER / "_scan.library", FLAGS)
    if reason:
        print(f"the native library cannot be built with sanitizers: {reason}")
        return 1
    preloaded = subprocess.run(
        [*command, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = {
        **os.environ,
        "LD_PRELOAD": preloaded,
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it needs until the end
        "PYTHONMALLOC": "malloc",  # so that each object has bounds that are seen
        "POLARS_MAX_THREADS": "1",
    }
    inside = [
        sys.executable,
        "-m",
        "reliability.sanitized",
        "--library",
        str(FOLDER / "_scan.library"),
    ]
    both = [  # at once: tests, and files
        subprocess.Popen([*inside, "--files", files, "--seed", str(given.seed)], env=environment)
        for files in ("0", str(given.files))
    ]
    codes = [process.wait() for process in both]
    return next(filter(None, codes), 0) or _drive(command, given.seed)


def _builder() -> Any:
    """Return ``native/build.py`` as a module."""
    spec = importlib.util.spec_from_file_location("native_build", ROOT / "native" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compiler() -> tuple[list[str], str]:
    """Return the compiler, or why it cannot be used: there is none, or it lacks sanitizers."""
    command: list[str] | None = _builder().compiler()
    if command is None:
        return [], "no C compiler was found"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.c"
        source.write_text("int main(void) { return 0; }\n")
        made = subprocess.run(
            [*command, *FLAGS, str(source), "-o", f"{folder}/empty"],
            capture_output=True,
            check=False,
        )
        runs = (
            made.returncode == 0
            and not subprocess.run([f"{folder}/empty"], capture_output=True, check=False).returncode
        )
    return command, "" if runs else f"{command[0]} builds nothing with {FLAGS[0]} that runs"


def _inside(path: Path, files: int, seed: int) -> int:
    """Load this library instead of the package's, and use it; the process dies at an error.

    Some files are read with it, or if there are to be none, the tests run.
    """

    def load() -> None:
        from rankscope.tables import native

        native.LIBRARY_PATH = path
        assert native.library() is not None

    if not files:
        import pytest

        class Loader:
            """Imports rankscope only when pytest is ready for it: it is a plugin too."""

            def pytest_configure(self) -> None:
                load()

        tests = [str(ROOT / test) for test in TESTS]
        left_out = ["-k", ELSEWHERE, "-p", "no:cacheprovider"]
        return int(pytest.main(["-x", *left_out, *tests], plugins=[Loader()]))
    load()
    from reliability.native_fuzz import FILES, scan_only

    began = time.monotonic()
    counts = scan_only(seed, range(-(-files // FILES)))
    taken = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    print(f"under sanitizers: {taken} ({time.monotonic() - began:.0f} s)", flush=True)
    return 0


def _drive(command: list[str], seed: int) -> int:
    """Build and run the program in C, which is checked for leaks too."""
    from reliability.native_files import world

    program = FOLDER / "scan_driver"
    warnings = ("-Wall", "-Wextra", "-Werror")
    source = str(HERE / "scan_driver.c")
    made = [*command, "-std=c11", *FLAGS, *warnings, "-pthread", source, "-o", str(program)]
    if subprocess.run(made, check=False).returncode:
        return 1
    source_of_sizes = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number in range(_DRIVEN // 2):
            given = world(seed, number, 1)
            for file in (given.qrels, *given.runs):
                names.append(f"{folder}/{number}-{file.name}")
                most = source_of_sizes.choice([100, 1000, 5000])
                Path(names[-1]).write_bytes(file.data[:most])
        options = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:quarantine_size_mb=1"}
        return subprocess.run([str(program), *names], env=options, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
