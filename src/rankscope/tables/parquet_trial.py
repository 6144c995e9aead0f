"""A trial: an unusual Parquet file is read by a process of its own before it is read by this one.

An engine that meets what its authors have never seen may end the process it runs in, which no
``except`` can catch. To start another process takes a third of a second, so it is done for files
only that are unusual (`parquet_pages` says which) and not so large that reading them twice would
take longer than starting a process.
"""

from __future__ import annotations

import os
import subprocess
import sys

from rankscope.errors import FormatError

LARGEST = 64 << 20
"""Bytes that a file on trial may have."""

_SECONDS = 60
_PROGRAM = """
import sys
import polars
name = sys.argv[1]
polars.read_parquet(name or sys.stdin.buffer.read(), glob=False, hive_partitioning=False)
"""


def try_in_a_process(data: str | bytes, *, source: str) -> None:
    """Read a file, by its name or bytes; raise `FormatError` if that ends the process.

    What the engine refuses with an error is left to whoever reads the file afterwards.
    """
    size = len(data) if isinstance(data, bytes) else os.path.getsize(data)
    if size > LARGEST or not sys.executable:
        return
    by_name = isinstance(data, str)
    try:
        child = subprocess.run(
            [sys.executable, "-c", _PROGRAM, data if by_name else ""],
            input=None if by_name else data,
            stdin=subprocess.DEVNULL if by_name else None,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
        fatal = child.returncode not in (0, 1)
    except subprocess.TimeoutExpired:
        fatal = True
    except OSError:  # no process can be started here
        return
    if fatal:
        raise FormatError(
            "not a parquet file that can be read (the engine breaks down on it); write it again, "
            "with the usual encodings",
            source=source,
        )
