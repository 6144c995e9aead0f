"""Progress on a terminal: one line for each stage, with the time left; nothing in a pipe."""

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
    from rich.progress import MofNCompleteColumn, Progress

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
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
        self._bars[step] = part, self._progress.add_task(visible(title), total=None)

    def step(self, step: str, done: int, total: int, part: str = "") -> None:
        """Move a bar; another part of the step has one of its own."""
        if step not in self._bars or self._bars[step][0] != part:
            self.begun(step, part)
        self._progress.update(self._bars[step][1], completed=done, total=total)

    def _take_away(self, step: str) -> None:
        if step in self._bars:
            self._progress.remove_task(self._bars.pop(step)[1])

    def ended(self, step: str, seconds: float) -> None:
        """Take a bar away, and say that it is done."""
        self._take_away(step)
        self._progress.console.print(f"✓ {visible(step)} ({seconds:.1f} s)", highlight=False)
