"""Build the C sources into the package: a hook of hatchling, and a script to build it in place.

Without a C compiler, or if it fails, the package is built without; everything then works more
slowly. ``python native/build.py`` builds it for a checkout, with what ``CFLAGS`` adds.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCES = tuple(HERE / name for name in ("scan.c", "dicts.c"))
TARGET = HERE.parent / "src" / "rankscope" / "tables" / "_scan.library"
FLAGS = ("-std=c11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread")


def compiler() -> list[str] | None:
    """Return the command of a C compiler: what ``CC`` names, or one that is usual."""
    if os.name == "nt" or sys.maxsize < 2**32:  # the code needs integers of 128 bits
        return None
    names = (
        [shlex.split(os.environ["CC"])] if os.environ.get("CC") else [["cc"], ["gcc"], ["clang"]]
    )
    return next((name for name in names if name and shutil.which(name[0])), None)


def build(target: Path = TARGET, flags: tuple[str, ...] = ()) -> str:
    """Compile; return why not, or nothing. What is there is replaced only by something whole."""
    command = compiler()
    if command is None:
        return "no C compiler was found"
    given = shlex.split(os.environ.get("CFLAGS", ""))
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / target.name
        try:
            done = subprocess.run(
                [*command, *FLAGS, *given, *flags, *map(str, SOURCES), "-o", str(made)],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            return f"{command[0]} could not be run: {error}"
        if done.returncode or not made.exists():
            lines = done.stderr.strip().splitlines()
            return f"{command[0]} failed: {lines[0] if lines else done.returncode}"
        made.replace(target)
    return ""


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script
    pass
else:

    class ScanHook(BuildHookInterface):  # type: ignore[misc]
        """Adds the library to wheels, and leaves it in the checkout of an editable install."""

        PLUGIN_NAME = "custom"

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Build, and tell which platform the wheel is for."""
            del version
            if self.target_name != "wheel" or os.environ.get("RANKSCOPE_NATIVE") == "0":
                return
            reason = build()
            if reason:
                self.app.display_warning(f"built without the native scan: {reason}")
                TARGET.unlink(missing_ok=True)
                return
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"
            build_data["artifacts"].append("src/rankscope/tables/_scan.library")


if __name__ == "__main__":
    sys.exit(build(flags=tuple(sys.argv[1:])) or 0)
