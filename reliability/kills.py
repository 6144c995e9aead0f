"""Processes that are killed at any moment, four at a time, over one output folder and one cache.

Each round starts four commands and kills each after a random time. What is visible then must be
whole, the next round goes on from there, and every so often all commands run to their end: then
there are the runs and experiments that an undisturbed call makes, and nothing temporary.
"""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reliability.commands import WIDE, leftovers, state
from reliability.processes import Process, import_everything, start

from benchmark.world import write_world  # isort: skip

CONCURRENT = 4
TO_THE_END = 5
"""Every so many rounds nothing is killed."""

LINES = (
    "benchmark run {inputs}/config.yaml --output out --cache cache",
    "benchmark run {inputs}/config.yaml --output out --cache cache --set depth=5",
    "benchmark run {inputs}/config.yaml --output out --cache cache --fresh",
    "runs fetch {inputs}/config.yaml --output runs --cache cache",
)


@dataclass(slots=True)
class Kills:
    """A folder in which commands are killed, and what happened."""

    folder: Path
    chance: random.Random
    longest: float = 1.0
    expected: dict[str, Any] = field(default_factory=dict)
    killed: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    rounds: int = 0
    verified: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def work(self) -> Path:
        """Where the commands run."""
        return self.folder / "work"

    def prepare(self) -> None:
        """Find out what an undisturbed call makes, and how long it takes."""
        write_world(self.folder / "inputs", config=WIDE)
        self.work.mkdir()
        began = time.monotonic()
        for number in range(len(LINES)):
            ended = self._start(number).wait()
            assert ended.code == 0, ended
        self.longest = (time.monotonic() - began) / 2
        self.expected = self._state()

    def _start(self, number: int) -> Process:
        words = LINES[number].format(inputs=self.folder / "inputs").split()
        return start(words, self.work, self.folder / f"printed-{number}")

    def _state(self) -> dict[str, Any]:
        """Return experiments and runs, without times."""
        runs = self.work / "runs"
        files = {path.name: path.read_bytes() for path in sorted(runs.glob("*.run.gz"))}
        return state(self.work) | files

    def _fail(self, problem: str) -> None:
        self.failures.append(f"round {self.rounds}: {problem}")
        print(f"FAILED {self.failures[-1]}", flush=True)

    def round(self) -> None:
        """Start four commands, kill each after a random time, and look at what is there."""
        self.rounds += 1
        before = self.finished
        ends = []
        for number in range(CONCURRENT):
            process = self._start(number)
            ends.append((time.monotonic() + self.chance.uniform(0, self.longest), number, process))
        for end, number, process in sorted(ends, key=lambda entry: entry[0]):
            code = process.ended()
            while code is None and time.monotonic() < end:
                time.sleep(0.001)
                code = process.ended()
            if code is None:
                process.kill()
                code = process.wait().code
            if code == -signal.SIGKILL:
                self.killed[LINES[number].split(" {")[0]] += 1
            elif code == 0:
                self.finished += 1
            else:
                self._fail(f"{LINES[number]}: exit {code}: {process.err.read_text()!r}")
        # most are to be killed, however much there is left to do and however fast the machine is
        self.longest *= 0.8 if self.finished - before > 1 else 1.1
        self._check_visible()

    def _check_visible(self) -> None:
        """What is there must be whole; an experiment that is being replaced may be away."""
        for name, content in self._state().items():
            if self.expected.get(name) != content:
                self._fail(f"{name} is not what it should be")

    def to_the_end(self) -> None:
        """Run all commands at once, undisturbed: then all is as if nothing had been killed."""
        processes = [self._start(number) for number in range(CONCURRENT)]
        for number, process in enumerate(processes):
            ended = process.wait()
            if ended.code or ended.err:
                self._fail(f"{LINES[number]}: then exit {ended.code}: {ended.err!r}")
        now = self._state()
        if now != self.expected:
            names = [name for name in self.expected if now.get(name) != self.expected[name]]
            self._fail(f"other files than undisturbed: {names or sorted(now)}")
        if left := leftovers(self.work):
            self._fail(f"left behind: {left}")
        for folder in sorted(path for path in (self.work / "out").iterdir() if path.is_dir()):
            words = ["benchmark", "verify", str(folder)]
            ended = start(words, self.work, self.folder / "printed-verify").wait()
            self.verified += 1
            if ended.code:
                self._fail(f"{folder.name} is not verified: {ended.out}{ended.err}")
        for name in ("out", "runs", "cache"):  # begin anew, in part or as a whole
            if self.chance.random() < (0.5 if name == "cache" else 0.8):
                shutil.rmtree(self.work / name)


def torture(count: int, *, seed: int, seconds: float | None = None) -> list[str]:
    """Kill so many processes, or for so long; return what did not hold."""
    import_everything()
    began = time.monotonic()
    with TemporaryDirectory() as folder:
        kills = Kills(Path(folder).resolve(), random.Random(seed))
        kills.prepare()
        while kills.killed.total() < count:
            kills.round()
            if kills.rounds % TO_THE_END == 0:
                kills.to_the_end()
            if kills.rounds % 50 == 0:
                print(f"{kills.killed.total():,} kills so far", flush=True)
            if seconds is not None and time.monotonic() - began > seconds:
                break
        kills.to_the_end()
    commands = ", ".join(f"{times:,} of {name}" for name, times in kills.killed.items())
    print(
        f"{kills.killed.total():,} kills in {kills.rounds:,} rounds ({commands}); "
        f"{kills.finished:,} commands were done before; {kills.verified:,} experiments verified; "
        f"{len(kills.failures)} failures"
    )
    return kills.failures
