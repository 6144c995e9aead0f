"""The manifest of an experiment."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from rankscope.part import FileRef, Part
from rankscope.records.experiment_files import FileRecord
from rankscope.records.report import CollectionInfo


class Machine(Part):
    """Where it ran."""

    system: str
    """Such as Linux."""
    release: str
    """Of the operating system."""
    machine: str
    """Such as x86_64."""
    cores: int
    """How many the process could use."""
    memory: int | None
    """Bytes; null if unknown."""


class ExperimentManifest(FileRecord):
    """What is needed to repeat an experiment, and to see that nothing was changed."""

    kind: ClassVar[str] = "manifest"

    experiment: str
    """The experiment's id: the same for the same config, data and versions."""
    name: str
    """What the config calls it."""
    config: dict[str, Any]
    """The whole config, with what was overridden; secrets stay names of variables."""
    config_sha256: str
    """A hash of it."""
    overrides: dict[str, Any] = Field(default_factory=dict)
    """What the environment and the command line changed."""
    collection: CollectionInfo
    """Hashes of corpus, queries and judgments."""
    keys: dict[str, str]
    """By system: the hash of what it is, without the corpus."""
    targets: dict[str, Any]
    """What should be reached, of the config and the sets it names."""
    versions: dict[str, str]
    """rankscope, Python, and the packages that took part."""
    models: dict[str, Any]
    """By system: the models that took part, by name and hash."""
    seed: int
    """Of everything random."""
    machine: Machine
    """Where it ran."""
    artifacts: list[FileRef]
    """Every other file of the folder, but for what depends on the clock: Timings.json and pages."""
