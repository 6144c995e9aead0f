"""While the user's code runs: what it prints goes to standard error, without the config's secrets.

Standard output is for the answer. Not only Python prints: so do libraries in C, and processes that
the code starts, which write to the descriptors 1 and 2. For a while these lead elsewhere. Without
secrets both lead to standard error. With secrets they lead to a pipe, from which a thread takes
what was printed, line by line, hides the secrets and writes the rest to standard error.

Descriptors belong to the whole process, so this is done by the command line only, never by the
library, and only where its streams are those of the process. What is printed by code that was left
running after its time limit goes to standard error as long as the other code runs, too.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rankscope.benchmark.config.secrets import Secrets

_LONGEST_WAIT = 2.0
"""How many seconds a process that was left running may keep the pipe open at the end."""
_LONGEST_LINE = 1 << 20
"""So many bytes without a line end are shown all the same."""


@dataclass
class Streams:
    """The streams as they were, and where diverted text is shown."""

    output: TextIO
    errors: TextIO
    show: Callable[[str], object]


@contextmanager
def diverted(secrets: Secrets | None = None) -> Iterator[Streams]:
    """Divert what is printed until the end."""
    if not _are_descriptors():
        output = sys.stdout
        with redirect_stdout(sys.stderr):
            yield Streams(output, sys.stderr, sys.stderr.write)
        return
    with _copy_of(sys.stdout) as output, _copy_of(sys.stderr) as errors:
        streams = Streams(output, errors, errors.write)
        with redirect_stdout(sys.stderr):
            if secrets is None or not secrets.names:
                os.dup2(2, 1)
                yield streams
            else:
                with _filtered(secrets, streams):
                    yield streams


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
def _filtered(secrets: Secrets, streams: Streams) -> Iterator[None]:
    """Lead both descriptors to a pipe, and show without secrets what comes out of it."""
    end, begin = os.pipe()
    for number in (1, 2):
        os.dup2(begin, number)
    os.close(begin)
    thread = threading.Thread(target=_forward, args=(end, secrets, streams), daemon=True)
    thread.start()
    try:
        yield
    finally:
        sys.stderr.flush()
        for number in (1, 2):  # closes the pipe, unless another process still holds it
            os.dup2(streams.errors.fileno(), number)
        thread.join(_LONGEST_WAIT)
        streams.errors.flush()


def _forward(end: int, secrets: Secrets, streams: Streams) -> None:
    waiting = b""
    while chunk := os.read(end, 1 << 16):
        waiting += chunk
        size = max(waiting.rfind(b"\n"), waiting.rfind(b"\r")) + 1
        lines = _text(waiting[:size])
        if len(waiting) > _LONGEST_LINE:
            size, lines = len(waiting), _text(waiting)
        elif secrets.begins_at_the_end_of(lines.rstrip()):
            continue  # a value may be broken over two lines
        if lines:
            streams.show(secrets.hide(lines))
        waiting = waiting[size:]
    if waiting:
        streams.show(secrets.hide(_text(waiting)))
    os.close(end)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")
