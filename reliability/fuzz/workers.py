"""Processes that execute attempts, each within limits of memory and time.

A process may be ended by what it is given: what it was doing at that moment is read from memory
that it shares, recorded, and another process goes on.
"""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from reliability.fuzz.targets import Attempt, Sandbox, Target

MEMORY = 2 << 30
"""Bytes of address space that an execution may take beyond what the process had before."""
SECONDS = 10
"""How long an execution may take; three times as long if it cannot be interrupted."""
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where files are made: in memory if the system has such a folder, else the usual place."""
_BATCH = 100
_TASKS = 500
"""So many tasks are done by one process."""


@dataclass(frozen=True, slots=True)
class Task:
    """Executions of one target: by their numbers under a seed, or of one given attempt."""

    target: str
    seed: int = 0
    numbers: range = range(0)
    attempt: tuple[str, bytes] | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An execution that ended in another way than it may."""

    target: str
    number: int
    outcome: str
    """What happened: the same outcome is the same failure."""
    detail: str
    variant: str
    data: bytes


@dataclass(slots=True)
class Done:
    """What a task came to."""

    results: int = 0
    refusals: int = 0
    failures: list[Failure] = field(default_factory=list)


class _TooSlowError(BaseException):
    """An execution took too long; nothing that catches exceptions catches this."""


def random_of(seed: int, target: str, number: int) -> Random:
    """Return the source of randomness of one execution, whichever process does it."""
    digest = hashlib.sha256(f"{seed}/{target}/{number}".encode()).digest()
    return Random(int.from_bytes(digest, "big"))


# --- in a worker


def serve(connection: Connection, state: Any, files: str, limits: tuple[int, float]) -> None:
    """Execute tasks until the other side hangs up; ``state``: number, results, refusals."""
    from reliability.fuzz.targets import Sandbox, all_targets

    memory, seconds = limits
    warnings.simplefilter("error")
    for category in (DeprecationWarning, ResourceWarning, ImportWarning):
        warnings.simplefilter("ignore", category)
    # beside the files, so that the folder of a worker that was killed goes with them
    with tempfile.TemporaryDirectory(prefix="worker-", dir=Path(files).parent) as home:
        scratch = Path(home) / "scratch"
        scratch.mkdir()
        os.chdir(scratch)
        targets = all_targets(Path(files), scratch)
        sandbox = Sandbox(Path(files), Path(home))
        errors = os.open(Path(home) / "stderr", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(errors, 2)
        signal.signal(signal.SIGALRM, _stop)
        with open("/proc/self/statm", encoding="ascii") as statm:
            present = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (present + memory, present + memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        while True:
            try:
                task = connection.recv()
            except EOFError:
                break
            try:
                done = _done(task, targets[task.target], sandbox, state, seconds)
            except BaseException:  # beside an execution: not a failure of what is tried
                connection.send(traceback.format_exc())
                break
            connection.send(done)
        os.chdir("/")


def _stop(_: int, __: FrameType | None) -> None:
    raise _TooSlowError


def _done(task: Task, target: Target, sandbox: Sandbox, state: Any, seconds: float) -> Done:
    from reliability.fuzz.targets import Attempt

    done = Done()
    for number in task.numbers or (-1,):
        if task.attempt is None:
            attempt = target.attempt(random_of(task.seed, task.target, number))
        else:
            attempt = Attempt(*task.attempt)
        sandbox.enter(target)
        state[:] = (number, done.results, done.refusals)
        failed = _executed(target, attempt, seconds, done)
        if failed is not None:
            done.failures.append(
                Failure(task.target, number, *failed, attempt.variant, attempt.data)
            )
    return done


def _executed(
    target: Target, attempt: Attempt, seconds: float, done: Done
) -> tuple[str, str] | None:
    """Execute one attempt; return what went wrong and how, if something did."""
    before = os.fstat(2).st_size
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        result = target.execute(attempt)
    except _TooSlowError as error:
        return f"more than {seconds:g} seconds {_place(error)}", traceback.format_exc()[-3000:]
    except BaseException as error:
        return f"{type(error).__name__} {_place(error)}", traceback.format_exc()[-3000:]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if os.fstat(2).st_size > before:
        text = os.pread(2, 3000, before).decode("utf-8", "replace")
        return "something was printed by an engine", text
    done.results += result
    done.refusals += not result
    return None


def _place(error: BaseException) -> str:
    """Say where in rankscope an error was raised."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if f"{os.sep}rankscope{os.sep}" in frame.filename or "targets.py" in frame.filename
    ]
    if not frames:
        return "somewhere"
    last = frames[-1]
    detail = str(error)[:60] if last.name in ("command", "check_sentence") else ""
    return f"in {Path(last.filename).name}:{last.name} {detail}".strip()


# --- outside of it


class Worker:
    """A process, and how to talk to it; begun again when it has ended."""

    def __init__(self, files: Path, limits: tuple[int, float]) -> None:
        self._files = files
        self._limits = limits
        self._context = get_context("spawn")
        self._state = self._context.Array("q", 3, lock=False)
        self._process: BaseProcess | None = None
        self.connection: Connection | None = None
        self.task: Task | None = None
        self._since = 0.0
        self._seen = -2
        self._tasks = 0

    def begin(self, task: Task) -> None:
        """Send a task, to a new process if there is none."""
        self._tasks += 1
        if self._tasks % _TASKS == 0:  # what processes gather over time is not what is tried
            self.end()
        if self._process is None:
            mine, theirs = self._context.Pipe()
            self._process = self._context.Process(
                target=serve,
                args=(theirs, self._state, str(self._files), self._limits),
                daemon=True,
            )
            self._process.start()
            theirs.close()
            self.connection = mine
        assert self.connection is not None
        self._state[:] = (-2, 0, 0)
        self.task, self._since, self._seen = task, time.monotonic(), -2
        self.connection.send(task)

    def answer(self) -> tuple[Task, Done, Task | None] | None:
        """Return what came of the task, and what of it is left; None while it is going on."""
        assert self.task is not None
        assert self.connection is not None
        assert self._process is not None
        ended = ""
        try:
            if self.connection.poll():
                done = self.connection.recv()
                task, self.task = self.task, None
                if isinstance(done, str):
                    print(f"a worker ended beside an execution of {task.target}:\n{done}")
                    self.end()
                    return self._without_first(task)
                return task, done, None
        except (EOFError, OSError):
            self._process.join(10)
            ended = f"the process was ended by signal {-(self._process.exitcode or 0)}"
        if self._state[0] != self._seen:
            self._seen, self._since = self._state[0], time.monotonic()
        limit = 3 * self._limits[1] + (60 if self._seen == -2 else 0)
        if not ended and time.monotonic() - self._since > limit:
            ended = f"more than {limit:g} seconds, and it could not be interrupted"
        return self._lost(ended) if ended else None

    def _without_first(self, task: Task) -> tuple[Task, Done, Task | None]:
        """Leave out the execution that could not be begun: it would not be at the next try."""
        rest = range(max(self._state[0] + 2, task.numbers.start + 1), task.numbers.stop)
        done = Done(self._state[1], self._state[2])
        return task, done, replace(task, numbers=rest) if rest else None

    def _lost(self, ended: str) -> tuple[Task, Done, Task | None]:
        """Note what a process was doing when it ended."""
        from reliability.fuzz.targets import Attempt

        number, results, refusals = self._state[:]
        task = self.task
        self.end()
        assert task is not None
        if number == -2:
            raise RuntimeError(f"a worker did not begin: {ended}")
        attempt = Attempt(*task.attempt) if task.attempt else Attempt("", b"")
        failure = Failure(task.target, number, ended, "", attempt.variant, attempt.data)
        rest = None
        if task.attempt is None and number + 1 < task.numbers.stop:
            rest = Task(task.target, task.seed, range(number + 1, task.numbers.stop))
        return task, Done(results, refusals, [failure]), rest

    def failure(self, task: Task) -> Failure | None:
        """Do one task, wait for it, and return the first failure there was."""
        self.begin(task)
        answer = None
        while answer is None and self.connection is not None:
            wait([self.connection], timeout=0.5)
            answer = self.answer()
        return answer[1].failures[0] if answer is not None and answer[1].failures else None

    def end(self) -> None:
        """Stop the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self.connection is not None:
            self.connection.close()
        self._process = self.connection = self.task = None


def execute(
    tasks: Iterator[Task], *, files: Path, workers: int, limits: tuple[int, float]
) -> Iterator[tuple[Task, Done]]:
    """Do all tasks in so many processes; yield each with what it came to."""
    processes = [Worker(files, limits) for _ in range(workers)]
    left: deque[Task] = deque()
    try:
        while True:
            for worker in processes:
                if worker.task is None:
                    task = left.popleft() if left else next(tasks, None)
                    if task is not None:
                        worker.begin(task)
            busy = [worker for worker in processes if worker.task is not None]
            if not busy:
                return
            wait([worker.connection for worker in busy if worker.connection], timeout=0.5)
            for worker in busy:
                answer = worker.answer()
                if answer is not None:
                    task, done, rest = answer
                    if rest is not None:
                        left.append(rest)
                    yield task, done
    finally:
        for worker in processes:
            worker.end()


def batches(executions: Counter[str], seed: int) -> Iterator[Task]:
    """Split executions into tasks, going round all targets until each has had its number."""
    following = dict.fromkeys(executions, 0)
    while any(following[name] < executions[name] for name in executions):
        for name, count in executions.items():
            begin = following[name]
            share = max(1, round(_BATCH * count / max(executions.values())))
            following[name] = min(count, begin + share)
            if begin < count:
                yield Task(name, seed, range(begin, following[name]))
