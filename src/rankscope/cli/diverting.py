"""While the user's code runs: what it prints goes to standard error, without the config's secrets.

Standard output is for the answer. Not only Python prints: so do libraries in C, and processes that
the code starts, which write to the descriptors 1 and 2. For a while these lead elsewhere. Without
secrets both lead to standard error. With secrets they lead to a pipe; a process at its other end
takes what was printed, line by line, hides the secrets and writes the rest to standard error. It is
a process because a thread could not empty the pipe while code in C holds the interpreter's lock,
and because it still shows what was printed before a crash.

Descriptors belong to the whole process, so this is done by the command line only, never by the
library, and only where its streams are those of the process. What is printed by code that was left
running after its time limit goes to standard error as long as the other code runs, too. A process
that was left running cannot print any more once the secrets are no longer taken out.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from rankscope.hiding import Hider

if TYPE_CHECKING:
    from rankscope.benchmark.config.secrets import Secrets

_LONGEST_LINE = 1 << 20
"""So many bytes without a line end are shown all the same."""
_CLEAR_LINE = "\r\x1b[2K"
"""On a terminal there may be a progress bar in the line."""
_PROGRAM = (
    "import sys; sys.path = {path!r}; "
    "from rankscope.cli.diverting import show_filtered; show_filtered()"
)


@dataclass(frozen=True, slots=True)
class Streams:
    """Standard output and standard error as they were."""

    output: TextIO
    errors: TextIO


@contextmanager
def diverted(secrets: Secrets | None = None) -> Iterator[Streams]:
    """Divert what is printed until the end."""
    if not _are_descriptors():
        output = sys.stdout
        with redirect_stdout(sys.stderr):
            yield Streams(output, sys.stderr)
        return
    with (
        _copy_of(sys.stdout) as output,
        _copy_of(sys.stderr) as errors,
        redirect_stdout(sys.stderr),
    ):
        if secrets is None or not secrets.names:
            os.dup2(2, 1)
            yield Streams(output, errors)
        else:
            with _filtered(secrets, errors):
                yield Streams(output, errors)


def _are_descriptors() -> bool:
    """Tell whether standard output and standard error are those of the process."""
    try:
        return sys.stdout.fileno() == 1 and sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):  # closed, or something in memory
        return False


@contextmanager
def _copy_of(stream: TextIO) -> Iterator[TextIO]:
    """Open what a stream leads to once more, and lead the stream there again at the end."""
    stream.flush()
    number = stream.fileno()
    copy = open(  # noqa: SIM115
        os.dup(number), "w", encoding=stream.encoding, errors=stream.errors, buffering=1
    )
    try:
        yield copy
    finally:
        stream.flush()
        os.dup2(copy.fileno(), number)
        copy.close()


@contextmanager
def _filtered(secrets: Secrets, errors: TextIO) -> Iterator[None]:
    """Lead both descriptors to a process that shows without secrets what it reads."""
    program = [sys.executable, "-c", _PROGRAM.format(path=sys.path)]
    end = os.urandom(16).hex()  # another process may hold the pipe open for longer
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=errors.fileno()) as process:
        assert process.stdin is not None
        head = {"replacements": secrets.replacements, "end": end}
        process.stdin.write(json.dumps(head).encode() + b"\n")
        process.stdin.flush()
        for number in (1, 2):
            os.dup2(process.stdin.fileno(), number)
        process.stdin.close()
        try:
            yield
        finally:
            with suppress(BrokenPipeError):  # whoever showed it is gone
                sys.stderr.flush()
                os.write(1, end.encode())
            for number in (1, 2):
                os.dup2(errors.fileno(), number)


def show_filtered() -> None:
    """Copy standard input to standard output without secrets, which its first line names."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ends when what is filtered ends
    source = sys.stdin.fileno()
    with open(source, "rb", buffering=0, closefd=False) as raw:  # reads no more than the line
        known = json.loads(raw.readline())
    hider, end = Hider(known["replacements"]), known["end"].encode()
    lead = _CLEAR_LINE if sys.stdout.isatty() else ""
    waiting, is_over = b"", False
    while not is_over and (chunk := os.read(source, 1 << 16)):
        waiting, mark, _ = (waiting + chunk).partition(end)
        is_over = bool(mark)
        size = max(waiting.rfind(b"\n"), waiting.rfind(b"\r")) + 1
        if is_over or len(waiting) > _LONGEST_LINE:
            size = len(waiting)
        elif hider.begun(_text(waiting[:size]).rstrip()) is not None:
            continue  # a value may be broken over two lines
        _show(waiting[:size], hider, lead)
        waiting = waiting[size:]
    _show(waiting, hider, lead)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _show(content: bytes, hider: Hider, lead: str) -> None:
    if content:
        text = f"{lead}{hider.hide(_text(content))}"
        left = memoryview(text.encode("utf-8", "surrogateescape"))
        while left:
            left = left[os.write(1, left) :]
