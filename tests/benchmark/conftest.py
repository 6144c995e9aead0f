"""One whole benchmark, run once, that many tests look at and none changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.world import World, made, write_world


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return the small benchmark; nobody writes into its folder."""
    return write_world(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def experiment(small: World) -> Path:
    """Return the folder of its experiment, beside which is the cache."""
    folder = made(small, small.folder / "out")
    small.calls  # noqa: B018 (forget them)
    return folder
