"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

``make test-minimum`` installs these, and runs the tests with them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

EXTRAS = ("frames", "retrieval")
"""Extras of users; versions of what only tests and peers need are not promised."""

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)>=([A-Za-z0-9.]+)(?:,!=[0-9.*]+)*((?:\s*;.*)?)")


def lowest(project: Path) -> list[str]:
    """Return a constraint for each requirement of the package and of its users' extras."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    requirements = list(table["dependencies"])
    for extra in EXTRAS:
        requirements += table["optional-dependencies"][extra]
    constraints = []
    for requirement in requirements:
        parts = _REQUIREMENT.fullmatch(requirement)
        if parts is None:
            raise ValueError(f"expected NAME>=VERSION, got {requirement}")
        name, version, marker = parts.groups()
        constraints.append(f"{name}=={version}{marker}")
    return constraints


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest(Path(__file__).parents[1] / "pyproject.toml")) + "\n")
