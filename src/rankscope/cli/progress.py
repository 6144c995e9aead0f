"""Progress on a terminal: one line for each stage, with rate and time left; nothing in a pipe."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from rankscope.benchmark.steps import Watcher
from rankscope.errors import LeftoverWarning
from rankscope.printing import put_line, visible

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID


@contextmanager
def watching(*, quiet: bool = False) -> Iterator[Watcher]:
    """Show on standard error what is being done, if it is a terminal.

    What Python code of the user prints meanwhile goes to standard error too: standard output is
    for the answer.
    """
    with (
        redirect_stdout(sys.stderr),
        _watcher(quiet=quiet) as watcher,
        _leftovers_in_sentences(),
    ):
        yield watcher


@contextmanager
def _leftovers_in_sentences() -> Iterator[None]:
    """Print our own warnings without the line of code that a warning of Python's begins with."""
    shown_otherwise = warnings.showwarning

    def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
        if issubclass(category, LeftoverWarning):
            put_line(f"rankscope: warning: {message}")
        else:
            shown_otherwise(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def _watcher(*, quiet: bool) -> Iterator[Watcher]:
    if quiet or not sys.stderr.isatty():
        yield Watcher()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        yield _Bars(progress)


class _Bars(Watcher):
    """A bar for each step that is being worked on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def begun(self, step: str) -> None:
        """Add a bar that does not know its length yet."""
        self._add(step, "")

    def _add(self, step: str, part: str) -> None:
        self._take_away(step)
        title = f"{step}: {part}" if part else step
        self._tasks[step] = self._progress.add_task(visible(title), total=None, rate="", part=part)

    def step(self, step: str, done: int, total: int, part: str = "") -> None:
        """Move a bar; another part of the step has one of its own."""
        if step not in self._tasks or self._task(step).fields["part"] != part:
            self._add(step, part)
        speed = self._task(step).speed
        rate = "" if not speed else f"{speed:,.0f}/s"
        self._progress.update(self._tasks[step], completed=done, total=total, rate=rate)

    def _task(self, step: str) -> Task:
        return self._progress.tasks[self._progress.task_ids.index(self._tasks[step])]

    def _take_away(self, step: str) -> None:
        if step in self._tasks:
            self._progress.remove_task(self._tasks.pop(step))

    def ended(self, step: str, seconds: float) -> None:
        """Take a bar away, and say that it is done."""
        self._take_away(step)
        self._progress.console.print(f"✓ {visible(step)} ({seconds:.1f} s)", highlight=False)
