"""A Dask cluster that somebody started: connecting to it, and checking it.

Refused is a cluster that cannot be reached, has no workers, or whose workers have another
installation than this machine: two places compute the same only if both have the same.

Dask sends functions and values as pickles, and workers run what they are sent, so a cluster has to
be trusted, and kept from others.
"""

from __future__ import annotations

import hashlib
import logging
import re
import socket
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rankscope
from rankscope.benchmark.prepare import versions
from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import sentence
from rankscope.retrieval.registry import engine
from rankscope.retrieval.waiting import TimedOutError, within
from rankscope.scale.executors import has_workers

if TYPE_CHECKING:
    from concurrent.futures import Executor

PATIENCE = 10.0
"""Seconds within which a scheduler has to answer, and to have a worker."""

_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+):([0-9]{1,5})/?")


@contextmanager
def connected(address: str) -> Iterator[Executor]:
    """Yield an executor of a cluster, for as long as it is needed; Dask logs nothing meanwhile."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)  # it would write to the terminal, below the progress
    try:
        client = connect(address)
        try:
            yield client.get_executor(pure=False)
        finally:
            with suppress(Exception):  # the scheduler may be gone
                client.close(timeout=2)
    finally:
        logger.setLevel(level)


def connect(address: str, *, patience: float = PATIENCE) -> Any:
    """Return a client of the cluster whose scheduler is at an address such as tcp://host:8786.

    It is closed by whoever asked for it. It is not the default client of the process.

    Raises:
        InputError: nobody answers within ``patience`` seconds, there is no worker, or a worker has
            another installation than this machine.
        MissingExtraError: the package distributed is not installed.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[3]) < 1 << 16:
        raise InputError(
            f"expected the address of a Dask scheduler as tcp://host:port, got {shown(address)}"
        )
    distributed = engine(
        "distributed", package="distributed", needed_for="a cluster", extra="cluster"
    )
    try:
        with socket.create_connection((match[2].strip("[]"), int(match[3])), timeout=patience):
            pass  # somebody listens there
        client = within(patience, lambda: _client(distributed, address), None)
    except (TimedOutError, OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{shown(address)}: no Dask scheduler answers ({sentence(error)}); check that one runs "
            f"there, with distributed {distributed.__version__}"
        ) from error
    try:
        _check_workers(client, address, patience)
    except BaseException:
        client.close(timeout=1)
        raise
    return client


def _client(distributed: Any, address: str) -> Any:
    with warnings.catch_warnings():
        # versions are checked here, and more strictly
        warnings.filterwarnings("ignore", category=distributed.versions.VersionMismatchWarning)
        return distributed.Client(address, timeout=PATIENCE, set_as_default=False)


def _check_workers(client: Any, address: str, patience: float) -> None:
    """Refuse a cluster without workers, and workers that would compute something else."""
    end = time.monotonic() + patience
    while not has_workers(client):
        if time.monotonic() > end:
            raise InputError(f"{shown(address)}: has no workers; start some: dask worker {address}")
        time.sleep(0.1)
    try:
        everywhere = client.run(installation)
    except Exception as error:  # whatever happens where there is no rankscope, or an older one
        raise InputError(
            f"{shown(address)}: a worker cannot run this version of rankscope ({sentence(error)}); "
            "install the same version on all workers"
        ) from error
    for worker, there in everywhere.items():
        for name, version in installation().items():
            if there.get(name) != version:
                raise InputError(
                    f"worker {worker} has {name} {there.get(name, '(none)')}, and this machine has "
                    f"{version}; install the same everywhere"
                )


def installation() -> dict[str, str]:
    """Return what decides results here: versions, and a hash of rankscope's own source files."""
    return {**versions(), "the source of rankscope": _source_hash()}


@cache
def _source_hash() -> str:
    home, digest = Path(rankscope.__file__).parent, hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        digest.update(f"{path.relative_to(home).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
