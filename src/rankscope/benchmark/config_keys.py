"""The way to a value in a config, and the line it stands on.

The words that all of reading a config shares: `config_yaml` and `config_toml` note the line of each
key, `configfile` puts them in a `ConfigFile`, and whoever refuses a value later asks it for the
line. The limits are the same for every format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rankscope.errors import shown

__all__ = ["DEEPEST", "LONGEST_NUMBER", "ConfigFile", "Keys", "dotted"]

Keys = tuple[str | int, ...]
"""The way to a value: the keys and places in lists that lead to it."""

DEEPEST = 50
"""No value stands inside more others."""

LONGEST_NUMBER = 100
"""No number is written with more characters."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a config file says, and on which line."""

    data: dict[str, Any]
    source: str
    lines: Mapping[Keys, int] = field(default_factory=dict)

    def line(self, keys: Keys) -> int | None:
        """Return the line of a value, or of the nearest one around it that is known."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys)


def dotted(keys: Keys) -> str:
    """Write the way to a value as messages show it.

    >>> dotted(("systems", "hybrid", "fuse", "weights", 0))
    'systems.hybrid.fuse.weights.0'
    """
    return ".".join(key if key.isprintable() else shown(key) for key in map(str, keys))
