"""What the driver of a benchmark sends to a worker, and what it gets back: plain values.

An order names a stage by its key, and says how to make the benchmark again: the config, where its
files are, what the systems are known by. It holds no documents, no queries and no secret: a worker
reads files by their paths, and variables of its environment by their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rankscope.benchmark.config.model import Config
from rankscope.benchmark.systems import Description
from rankscope.benchmark.targets import Targets
from rankscope.records import CollectionInfo, Machine
from rankscope.retrieval.registry import PythonUse


@dataclass(frozen=True, slots=True)
class Setup:
    """A benchmark, as far as a worker has to know it; the same for all orders of a run."""

    config: Config
    """Without the systems that are asked on the driver only, which may hold secrets."""
    folder: Path
    """Where the config's relative paths start."""
    cache: Path
    """Where indexes, answers and stages are kept."""
    board: Path
    """A folder in the cache that is there while the driver waits for answers; a worker that sees it
    shares the cache, and writes there how far it is."""
    python: PythonUse
    info: CollectionInfo
    """What the collection has to be."""
    systems: Mapping[str, Description]
    keys: Mapping[str, str]
    """What each system has to be."""
    installation: Mapping[str, str]
    """What has to be installed."""
    versions: Mapping[str, str]
    targets: Targets
    fetches: Mapping[str, str]
    """By system: the key of the stage that makes its run."""
    again: Mapping[str, tuple[str, ...]]
    """By system that is asked more than once: the keys of the other times."""
    exactness: Mapping[str, str]
    """By system that searches approximately: the key of the stage that compares it."""


@dataclass(frozen=True, slots=True)
class Order:
    """A stage to be done."""

    setup: Setup
    stage: str
    """What it is called."""
    key: str
    system: str | None
    """The system that is asked; None: nothing is, the stage works on what others made."""
    secrets: tuple[str, ...]
    """The variables that have to be set where the system is asked."""
    is_whole: bool
    """Whether all that it needs is complete, so that its result may be kept."""
    given: Mapping[str, bytes] = field(default_factory=dict)
    """By key: results that it needs and that are not in the worker's store."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of an order: a result, results that have to be sent first, or an error."""

    seconds: float = 0.0
    machine: Machine | None = None
    complete: bool = True
    content: bytes | None = None
    """The result; None: it is in the store that both share."""
    missing: tuple[str, ...] = ()
    """The keys of results that the worker needs and does not have."""
    error: str = ""
    """What was wrong, in one sentence for the user."""
    fault: str = ""
    """What went wrong where nothing should: the exception, and where it was raised."""
