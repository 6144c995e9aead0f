"""Commands in processes of their own, forked from one that has imported everything already."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))  # the small benchmark that the tests have, too

LIBRARY = "RANKSCOPE_FAILING_CALLS"
"""In the environment: the library that makes calls fail, which is loaded before all others."""

PATIENCE = 120.0
"""Seconds that a command may take; then it hangs, which is a failure."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: its exit code (negative: the signal), and what it printed."""

    code: int
    out: str
    err: str


@dataclass(slots=True)
class Process:
    """A command that is running."""

    pid: int
    out: Path
    err: Path
    began: float

    def ended(self) -> int | None:
        """Return the exit code, if there is one."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def kill(self) -> None:
        """End it as a power cut would."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> Ended:
        """Wait for its end, but not for ever."""
        code = self.ended()
        while code is None:
            if time.monotonic() - self.began > PATIENCE:
                self.kill()
                os.waitpid(self.pid, 0)
                raise AssertionError(f"a command took longer than {PATIENCE:g} s")
            time.sleep(0.002)
            code = self.ended()
        texts = [path.read_text(encoding="utf-8") for path in (self.out, self.err)]
        return Ended(code, *texts)


def import_everything() -> None:
    """Import what commands need, without using it: a fork has none of the threads."""
    from importlib import import_module

    for name in ("numpy", "polars", "scipy.stats", "bm25s", "rankscope.benchmark.run"):
        import_module(name)
    for path in sorted((ROOT / "src" / "rankscope" / "cli").glob("*.py")):
        if path.stem != "__init__":
            import_module(f"rankscope.cli.{path.stem}")


def start(
    arguments: Sequence[object],
    folder: Path,
    notes: Path,
    *,
    before: Callable[[], None] | None = None,
) -> Process:
    """Begin a command in a folder; ``before`` is called in its process, ``notes`` get its output.

    ``notes`` is a path without suffix, outside of what the command works on.
    """
    words = [str(argument) for argument in arguments]
    streams = [notes.with_suffix(suffix) for suffix in (".out", ".err")]
    began = time.monotonic()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return Process(pid, streams[0], streams[1], began)
    code = 99  # of no command: something went wrong before it began
    try:
        os.chdir(folder)
        os.environ["PWD"] = str(folder)
        for number, path in enumerate(streams, 1):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, number)
            os.close(handle)
        from rankscope.cli import main

        if before is not None:
            before()
        try:
            main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 98
    finally:
        try:
            sys.stdout.flush()
        finally:
            os._exit(code)


def build_library(folder: Path) -> Path:
    """Compile the library that makes calls fail."""
    library = folder / "failing_calls.so"
    source = ROOT / "reliability" / "failing_calls.c"
    compiler = os.environ.get("CC", "cc")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return library


KINDS = ("open", "read", "write", "fsync", "rename", "mkdir", "unlink", "any")
"""Kinds of calls, in the order of the library; "any" counts all of them together."""

MODES = ("fail", "short", "kill")


class FailingCalls:
    """The library that makes calls fail, in this process and those forked from it.

    The environment must have had it loaded when this process began.
    """

    def __init__(self) -> None:
        self._arm = ctypes.CDLL(os.environ[LIBRARY]).arm
        self._arm.argtypes = [
            *(ctypes.c_char_p, ctypes.c_int, ctypes.c_long),
            *[ctypes.c_int] * 3,
            ctypes.c_void_p,
        ]
        self._shared = mmap.mmap(-1, mmap.PAGESIZE)
        self._fired = ctypes.c_long.from_buffer(self._shared)

    def reset(self) -> None:
        """Forget how many calls failed."""
        self._fired.value = 0

    @property
    def fired(self) -> int:
        """How many calls failed."""
        return self._fired.value

    def arm(
        self, folder: Path, kind: str, number: int, *, mode: str, error: int, for_good: bool
    ) -> None:
        """Let the n-th call of a kind fail that is about a file below a folder."""
        place = os.fsencode(folder)
        how = (KINDS.index(kind), number, MODES.index(mode), error, int(for_good))
        self._arm(place, *how, ctypes.addressof(self._fired))
