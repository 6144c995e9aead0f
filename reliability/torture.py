"""``make torture``: failing disks, too little memory, and kills, with the figures of the docs."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from reliability.processes import LIBRARY, build_library


def main() -> int:
    """Do what the command line asks for; exit 1 if something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m reliability.torture", description=__doc__)
    parser.add_argument("what", nargs="*", help="faults, kills (both, if none is named)")
    parser.add_argument("--seed", type=int, default=20261116)
    parser.add_argument("--count", type=int, default=1000, help="how many kills")
    parser.add_argument("--seconds", type=float, help="an end to the kills, whatever their count")
    parser.add_argument("--commands", default="", help="parts of their names, separated by commas")
    parser.add_argument("--faults", default="", help="likewise")
    parser.add_argument("--stride", type=int, default=1, help="every so many calls, not each")
    parser.add_argument("--allocations", type=int, default=100, help="for each command")
    options = parser.parse_args()
    what = options.what or ["faults", "kills"]
    if unknown := set(what) - {"faults", "kills"}:
        parser.error(f"expected faults or kills, got {', '.join(sorted(unknown))}")
    print(f"seed {options.seed}", flush=True)
    failures: list[str] = []
    began = time.monotonic()
    if "faults" in what:
        failures += _faults(options)
    if "kills" in what:
        failures += _kills(options)
    print(f"{len(failures)} failures in {time.monotonic() - began:.0f} s")
    return int(bool(failures))


def _faults(options: argparse.Namespace) -> list[str]:
    if LIBRARY not in os.environ:
        with TemporaryDirectory() as folder:
            library = str(build_library(Path(folder)))
            environment = os.environ | {LIBRARY: library, "LD_PRELOAD": library}
            arguments = [
                argument for argument in sys.argv[1:] if argument not in ("faults", "kills")
            ]
            command = [sys.executable, "-m", "reliability.torture", "faults", *arguments]
            status = os.spawnve(os.P_WAIT, sys.executable, command, environment)
        return [f"faults: exit {status}"] if status else []
    from reliability.faults import table, torture

    tally = torture(
        options.commands.split(","),
        options.faults.split(","),
        stride=options.stride,
        allocations=options.allocations,
        seed=options.seed,
    )
    print(f"\n{table(tally)}\n\n{tally.total:,} faults, {len(tally.failures)} failures")
    return tally.failures


def _kills(options: argparse.Namespace) -> list[str]:
    from reliability.kills import torture

    return torture(options.count, seed=options.seed, seconds=options.seconds)


if __name__ == "__main__":
    sys.exit(main())
