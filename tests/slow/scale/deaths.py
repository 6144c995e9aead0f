"""Work that kills its worker; loads nothing, as new processes load it again and again."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def die_once(number: int, folder: str) -> int:
    """Kill the process that works on some numbers, the first time."""
    mark = Path(folder) / str(number)
    if number % 5 == 2 and not mark.exists():
        mark.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def die(number: int) -> int:
    """Kill the process that works on it, every time."""
    os.kill(os.getpid(), signal.SIGKILL)
    return number
