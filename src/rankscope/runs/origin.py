"""Where a run came from: what exactly answered, and how long that took."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import model_validator

from rankscope.part import Part


class Identity(Part):
    """What exactly answered: two systems with the same identity give the same rankings."""

    kind: str
    """The name in the registry."""
    name: str = ""
    """What people call the system; it decides nothing. If not given, the kind."""
    version: str
    """The engine and its version."""
    parameters: dict[str, Any]
    """All that was chosen and changes answers, as plain data; no secret."""
    snapshot: str | None = None
    """What is searched: a hash of it, or what the user states; None: nothing was indexed."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {**data, "name": data.get("name") or data.get("kind")}

    @property
    def key(self) -> str:
        """A hash of everything but the name; what is kept on disk is kept under it."""
        return fingerprint(self.kind, self.version, self.parameters, self.snapshot)


def fingerprint(*parts: Any) -> str:
    """Return a hash of plain data: the same for the same content, in any process."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Timings(Part):
    """How long it took, in seconds.

    The percentiles are over the queries answered, of the time of each; for an answer taken from the
    store, when it was made.
    """

    index: float
    """What making or loading the index took."""
    search: float
    """From the first question to the last answer."""
    p50: float | None
    """The median over queries."""
    p95: float | None
    """The 95th percentile over queries."""
    p99: float | None
    """The 99th percentile over queries."""
    asked: int
    """How many queries were put to the system in this call."""
    stored: int
    """How many answers came from the store."""
    retried: int
    """How many questions were repeated."""
