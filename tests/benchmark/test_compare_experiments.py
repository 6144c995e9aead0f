"""Two experiments side by side, and the experiments of a folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmark.world import CONFIG, World, cli, judgments, made, write_qrels, write_world

from rankscope.benchmark.comparing import compare_experiments
from rankscope.benchmark.listing import list_experiments
from rankscope.statistics.correction import corrected
from rankscope.statistics.paired import paired_tests


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def first(world: World) -> Path:
    return made(world, world.folder / "out")


@pytest.fixture(scope="module")
def second(world: World, first: Path) -> Path:
    """Return an experiment in which one system finds less, and another has a new name."""
    settings = ["depth=3", 'systems={words: bm25, new: "bm25", code: {fuse: {of: [words, new]}}}']
    try:
        return made(world, first.parent, settings=settings)
    except Exception:  # a whole section may have to be set in the file
        text = world.config.read_text().replace("depth: 10", "depth: 3")
        lines = [line for line in text.splitlines() if not line.startswith("  both:")]
        other = world.folder / "other.yaml"
        other.write_text("\n".join(lines).replace("baseline:", "  new: bm25\nbaseline:"))
        other.write_text(_moved(other.read_text()))
        return made_from(other, first.parent)


def _moved(text: str) -> str:
    """Put the line of the new system where the others are."""
    lines = [line for line in text.splitlines() if line != "  new: bm25"]
    at = next(at for at, line in enumerate(lines) if line.startswith("  words:"))
    return "\n".join([*lines[: at + 1], "  new: bm25", *lines[at + 1 :]]) + "\n"


def made_from(config: Path, output: Path) -> Path:
    from rankscope.benchmark.running import run_benchmark

    return run_benchmark(config, output=output).folder
