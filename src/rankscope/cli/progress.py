"""Progress on a terminal: one line for each stage, with rate and time left; nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rankscope.cli.console import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from rankscope.benchmark.plan import Watcher

__all__ = ["watching"]


@contextmanager
def watching(*, quiet: bool = False) -> Iterator[Watcher]:
    """Show on standard error what is being done, if it is a terminal."""
    from rankscope.benchmark.plan import Silent

    if quiet or not sys.stderr.isatty():
        yield Silent()
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
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bars(progress)


class _Bars:
    """A bar for each stage that is being worked on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def begun(self, stage: str) -> None:
        """Add a bar that does not know its length yet."""
        self._tasks[stage] = self._progress.add_task(visible(stage), total=None, rate="")

    def step(self, stage: str, done: int, total: int) -> None:
        """Move a bar."""
        task = self._tasks[stage]
        speed = self._progress.tasks[self._progress.task_ids.index(task)].speed
        rate = "" if not speed else f"{speed:,.0f}/s"
        self._progress.update(task, completed=done, total=total, rate=rate)

    def ended(self, stage: str, seconds: float, *, was_there: bool) -> None:  # noqa: ARG002
        """Take a bar away, and say that it is done."""
        task = self._tasks.pop(stage, None)
        if task is not None:
            self._progress.remove_task(task)
            self._progress.console.print(f"✓ {visible(stage)} ({seconds:.1f} s)", highlight=False)
