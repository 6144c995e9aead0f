"""Disks and memory that fail: the n-th call of a kind, for every n, in every command that writes.

As SQLite is tested: the first call fails, then the second, and so on, until a run needs fewer calls
than that. After each, what is on disk must be whole, the old or the new, and the same command
without a fault must lead to what an undisturbed one leaves.
"""

from __future__ import annotations

import errno
import math
import os
import random
import resource
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree as Xml

from rankscope.cli import OUR_FAULT
from reliability.commands import COMMANDS, OLD, Command, leftovers, state
from reliability.processes import Ended, FailingCalls, import_everything, start

MEGABYTE = 1 << 20
C_LIBRARY = 127
"""How the GNU C library ends a process that has no memory for a thread."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong: a kind of call, and how."""

    kind: str
    error: int = 0
    mode: str = "fail"
    for_good: bool = False

    def __str__(self) -> str:
        """Return it as it is reported."""
        how = errno.errorcode[self.error] if self.error else self.mode
        return f"{self.kind} {how}{' from then on' if self.for_good else ''}"


FAULTS = (
    Fault("open", errno.EACCES),
    Fault("open", errno.EMFILE, for_good=True),
    Fault("read", errno.EIO),
    Fault("read", mode="short"),
    Fault("write", errno.ENOSPC),
    Fault("write", errno.ENOSPC, for_good=True),
    Fault("write", errno.EIO),
    Fault("write", errno.EINTR),
    Fault("write", mode="short"),
    Fault("fsync", errno.EIO),
    Fault("rename", errno.EACCES),
    Fault("rename", errno.EIO, for_good=True),
    Fault("mkdir", errno.ENOSPC),
    Fault("unlink", errno.EACCES),
    Fault("any", mode="kill"),
)


@dataclass(slots=True)
class Tally:
    """What happened: how often, and what was not as it should be."""

    outcomes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many faults there were."""
        return sum(self.outcomes.values())


class Scene:
    """A command, its inputs, and what an undisturbed run of it leaves."""

    def __init__(self, command: Command, folder: Path) -> None:
        self.command = command
        self.folder = folder.resolve()
        self.template = self.folder / "template"
        (self.template / "work").mkdir(parents=True)
        self._in_a_fork(lambda: command.prepare(self.folder / "inputs", self.template / "work"))
        if command.name == "demo":  # the same as a benchmark, and slow: only the writing is new
            self.reset()
            ended = self.run()
            assert ended.code == 0, ended
            (self.template / "work" / "out").mkdir()
            shutil.move(self.work / "out" / ".cache", self.template / "work" / "out" / ".cache")
        self.former = state(self.template / "work")
        self.reset()
        ended = self.run()
        self.code = ended.code
        assert self.code in (0, 1), ended
        self.expected = state(self.work)
        assert not leftovers(self.work)

    @staticmethod
    def _in_a_fork(prepare: Callable[[], None]) -> None:
        """Do what may start threads where it does no harm."""
        pid = os.fork()
        if not pid:
            code = 1
            try:
                prepare()
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        assert status == 0, "could not be prepared"

    @property
    def work(self) -> Path:
        """Where the command runs."""
        return self.folder / "work"

    def reset(self) -> None:
        """Begin anew."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.template / "work", self.work)

    def run(self, before: Callable[[], None] | None = None) -> Ended:
        """Run the command."""
        words = self.command.line.format(inputs=self.folder / "inputs").split()
        return start(words, self.work, self.folder / "printed", before=before).wait()

    # --- what must hold ------------------------------------------------------------------------

    def problems(self, ended: Ended, fault: str) -> Iterator[str]:
        """Say what is not as it should be after a fault; then go on without."""
        now = state(self.work)
        if ended.code == self.code:
            if now != self.expected:
                yield f"exit {ended.code}, but other files: {_differing(now, self.expected)}"
        elif ended.code == 2:
            if ended.err.count("\n") != 1 or not ended.err.startswith("rankscope: "):
                yield f"not one sentence: {ended.err!r}"
            if "standard output" in ended.err:
                yield f"not the file that is to blame: {ended.err!r}"
        elif not died(ended, fault):
            yield f"exit {ended.code}: {ended.err!r}"
        for name, content in now.items():
            allowed = [part[name] for part in (self.former, self.expected) if name in part]
            if content not in allowed and not self._refused(name, content, ended):
                yield f"half a file: {name}"
        # an experiment that is replaced comes back with the next call, if there was a kill between
        # the two renames, or no rename works any more
        gone = self.former.keys() - now.keys()
        aside = died(ended, fault) or fault == "rename EIO from then on"
        if gone and not (aside and all("/" in name for name in gone)):
            yield f"gone: {sorted(gone)}"
        left = leftovers(self.work)
        may_stay = died(ended, fault) or fault.startswith(("open", "unlink"))
        if left and not may_stay:
            yield f"left behind: {left}"
        if ended.code == self.code and not left:
            return
        yield from self._problems_of_going_on()

    def _problems_of_going_on(self) -> Iterator[str]:
        again = self.run()
        if again.code != self.code:
            yield f"then exit {again.code}: {again.err!r}"
        after = state(self.work)
        if after != self.expected:
            yield f"then other files: {_differing(after, self.expected)}"
        if left := leftovers(self.work):
            yield f"then left behind: {left}"

    def _refused(self, name: str, content: Any, ended: Ended) -> bool:
        """Tell whether a report says, as a whole, that there is no answer."""
        if name not in self.command.refused or ended.code == self.code:
            return False
        if name.endswith(".xml"):
            return Xml.fromstring(content).get("errors") == "1"
        return bool(content.endswith(b"\n"))


def died(ended: Ended, fault: str) -> bool:
    """Tell whether a process was killed or, for want of memory, ended by a library or by Python."""
    if not fault.startswith("memory"):
        return ended.code == -signal.SIGKILL
    if ended.code == OUR_FAULT:  # Python itself lost a MemoryError, or Rust panicked over one
        return "without setting an exception" in ended.err or "panicked" in ended.err
    return ended.code < 0 or (ended.code == C_LIBRARY and "cannot allocate memory" in ended.err)


def _differing(now: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    names = now.keys() | expected.keys()
    return sorted(name for name in names if now.get(name, OLD) != expected.get(name, OLD))


# --- the loops ---------------------------------------------------------------------------------


def failing_calls(scene: Scene, fault: Fault, stride: int, tally: Tally) -> None:
    """Let the n-th call fail, for n = 1, 1 + stride, … until there are fewer calls."""
    library = FailingCalls()
    for number in count(1, stride):
        scene.reset()
        library.reset()
        arm = partial(library.arm, scene.work, fault.kind, number)
        before = partial(arm, mode=fault.mode, error=fault.error, for_good=fault.for_good)
        ended = scene.run(before=before)
        if not library.fired:
            assert ended.code == scene.code, ended
            break
        _judge(scene, str(fault), number, ended, tally)


def little_memory(scene: Scene, step: int, tally: Tally) -> None:
    """Give the process so many megabytes more than it has, until that is enough.

    Here the whole process lacks memory: libraries in Rust and C++ end it then, and the thread pools
    of NumPy and Polars cannot start.
    """
    for megabytes in count(0, step):
        scene.reset()

        def before(megabytes: int = megabytes) -> None:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            limit = pages * resource.getpagesize() + megabytes * MEGABYTE
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        ended = scene.run(before=before)
        if ended.code == scene.code:
            break
        _judge(scene, "memory limit", megabytes, ended, tally)


def failing_allocations(scene: Scene, times: int, chance: random.Random, tally: Tally) -> None:
    """Let one allocation of Python fail, at random among about as many as there are."""
    import _testcapi  # type: ignore[import-not-found]

    most = 1 << 10
    for _ in range(times):
        scene.reset()
        number = int(2 ** chance.uniform(4, math.log2(most)))

        def before(number: int = number) -> None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            _testcapi.set_nomemory(number, number + 1)

        ended = scene.run(before=before)
        if number > most / 2 and ended.code != scene.code:
            most *= 2  # there are more than this
        _judge(scene, "memory allocation", number, ended, tally)


def _judge(scene: Scene, fault: str, number: int, ended: Ended, tally: Tally) -> None:
    if ended.code < 0:
        outcome = f"ended by {signal.Signals(-ended.code).name}"
    else:
        names = {scene.code: "as if nothing had happened", 2: "one sentence"}
        outcome = names.get(ended.code, f"exit {ended.code}")
    tally.outcomes[scene.command.name, fault, outcome] += 1
    for problem in scene.problems(ended, fault):
        tally.failures.append(f"{scene.command.name}, {fault}, {number}: {problem}")
        print(f"FAILED {tally.failures[-1]}", flush=True)


def torture(
    commands: Sequence[str],
    faults: Sequence[str],
    *,
    stride: int = 1,
    allocations: int = 100,
    seed: int = 0,
) -> Tally:
    """Let everything fail in all commands and by all faults whose names hold one of those given."""
    import_everything()
    tally = Tally()
    for command in COMMANDS:
        if not any(name in command.name for name in commands):
            continue
        chance = random.Random(f"{seed} {command.name}")
        with TemporaryDirectory() as folder:
            scene = Scene(command, Path(folder))
            for fault in FAULTS:
                if any(name in str(fault) for name in faults):
                    failing_calls(scene, fault, stride, tally)
            if any(name in "memory limit" for name in faults):
                little_memory(scene, 2 * stride, tally)
            if any(name in "memory allocation" for name in faults):
                failing_allocations(scene, allocations, chance, tally)
        print(f"{command.name}: {tally.total:,} faults so far", flush=True)
    return tally


def table(tally: Tally) -> str:
    """Return what happened as a Markdown table: faults by kind, and how commands ended."""
    names = sorted({outcome for _, _, outcome in tally.outcomes})
    lines = [
        f"| fault | times | {' | '.join(names)} |",
        f"|---|---:|{'---:|' * len(names)}",
    ]
    order = [*map(str, FAULTS), "memory limit", "memory allocation"]
    for kind in order:
        numbers = [
            sum(
                times
                for (_, fault, outcome), times in tally.outcomes.items()
                if (fault, outcome) == (kind, name)
            )
            for name in names
        ]
        if sum(numbers):
            cells = " | ".join(f"{number:,}" for number in numbers)
            lines.append(f"| {kind} | {sum(numbers):,} | {cells} |")
    return "\n".join(lines)
