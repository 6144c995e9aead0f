"""Progress on a terminal: one line for each stage, with rate and time left; nothing in a pipe."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from rankscope.benchmark.steps import Watcher
from rankscope.printing import put_line, visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@contextmanager
def watching(*, quiet: bool = False) -> Iterator[Watcher]:
    """Show on standard error what is being done, if it is a terminal.

    What Python code of the user prints meanwhile goes to standard error too: standard output is
    for the answer. Warnings come without the line of code that caused them.
    """
    with redirect_stdout(sys.stderr), warnings.catch_warnings(), _watcher(quiet=quiet) as watcher:
        warnings.showwarning = _show_warning
        yield watcher


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    put_line(f"rankscope: warning: {message}")


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
        self._bars: dict[str, tuple[str, TaskID]] = {}
        """Of each step the part that is worked on, and its bar."""

    def begun(self, step: str, part: str = "") -> None:
        """Show a bar that does not know its length yet."""
        self._take_away(step)
        title = f"{step}: {part}" if part else step
        self._bars[step] = part, self._progress.add_task(visible(title), total=None, rate="")

    def step(self, step: str, done: int, total: int, part: str = "") -> None:
        """Move a bar; another part of the step has one of its own."""
        if step not in self._bars or self._bars[step][0] != part:
            self.begun(step, part)
        bar = self._bars[step][1]
        speed = next(task.speed for task in self._progress.tasks if task.id == bar)
        rate = f"{speed:,.0f}/s" if speed else ""
        self._progress.update(bar, completed=done, total=total, rate=rate)

    def _take_away(self, step: str) -> None:
        if step in self._bars:
            self._progress.remove_task(self._bars.pop(step)[1])

    def ended(self, step: str, seconds: float) -> None:
        """Take a bar away, and say that it is done."""
        self._take_away(step)
        self._progress.console.print(f"✓ {visible(step)} ({seconds:.1f} s)", highlight=False)
