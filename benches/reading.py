"""How long reading and checking a run takes, as a ratio to `polars.read_csv` in the same session.

``python benches/reading.py [--small] [--rounds 5] [--only NAME]`` runs every job in turn, again and
again, in fresh processes and warm in one, and prints medians. The peer is
`polars.read_csv` of the three needed columns with ids as text, as they are here; the one that
guesses types (and so loses leading zeros) is shown beside it. `read_run` is to take no more than
1.2 × as long as the peer.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from files import make

if TYPE_CHECKING:
    from files import Files

PEER = "read_csv, ids as text"


def peer_text(files: Files) -> Any:
    import polars as pl

    types = {"column_0": pl.String, "column_2": pl.String, "column_4": pl.Float64}
    frame = _read_csv(files, schema_overrides=types)
    assert dict(frame.schema) == types, frame.schema  # a name it does not know is passed over
    return frame


def peer_inferred(files: Files) -> Any:
    frame = _read_csv(files)
    assert [str(dtype) for dtype in frame.dtypes] == ["Int64", "Int64", "Float64"], frame.schema
    return frame


def _read_csv(files: Files, **options: Any) -> Any:
    import polars as pl

    return pl.read_csv(files.clean, has_header=False, separator=" ", columns=[0, 2, 4], **options)


def read_clean(files: Files) -> Any:
    import rankscope

    return rankscope.read_run(files.clean)


def read_mixed(files: Files) -> Any:
    import rankscope

    return rankscope.read_run(files.mixed)


def read_gzipped(files: Files) -> Any:
    import rankscope

    return rankscope.read_run(files.gzipped)


def validate(files: Files) -> Any:
    import rankscope

    return rankscope.validate_run(files.clean)


def validate_with_qrels(files: Files) -> Any:
    import rankscope

    return rankscope.validate_run(files.clean, qrels=files.qrels)


def validate_mixed(files: Files) -> Any:
    import rankscope

    return rankscope.validate_run(files.mixed)


JOBS: dict[str, Callable[[Files], Any]] = {
    PEER: peer_text,
    "read_csv, types guessed": peer_inferred,
    "read_run": read_clean,
    "read_run, mixed blanks": read_mixed,
    "read_run, gzip": read_gzipped,
    "validate": validate,
    "validate with qrels": validate_with_qrels,
    "validate, mixed blanks": validate_mixed,
}


def timed(name: str, files: Files) -> float:
    begin = time.perf_counter()
    result = JOBS[name](files)
    took = time.perf_counter() - begin
    del result
    return took


@dataclass(frozen=True, slots=True)
class Measured:
    """One job in a process of its own, imports included."""

    seconds: float
    cpu: float  # seconds of all cores: what other programs on the machine disturb least
    peak: float  # MB


def fresh(name: str, *, small: bool) -> Measured:
    """Run a job in a new process."""
    command = [sys.executable, __file__, "--job", name, *(["--small"] if small else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Measured(*json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="70,000 lines instead of 7 million")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", help="only jobs whose names hold this")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    files = make(small=options.small)
    if options.job:
        took = timed(options.job, files)
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps([took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
        return
    wanted = [n for n in JOBS if n == PEER or not options.only or any(o in n for o in options.only)]
    cold: dict[str, list[Measured]] = {name: [] for name in wanted}
    warm: dict[str, list[float]] = {name: [] for name in wanted}
    for _ in range(options.rounds):
        for name in wanted:
            cold[name].append(fresh(name, small=options.small))
    for name in wanted:
        timed(name, files)
    for _ in range(options.rounds):
        for name in wanted:
            warm[name].append(timed(name, files))
    size = files.clean.stat().st_size / 2**20
    report(cold, warm, size)


def report(cold: dict[str, list[Measured]], warm: dict[str, list[float]], size: float) -> None:
    """Print the table; a ratio is the median of the ratios to the peer in the same round."""
    load = os.getloadavg()[1]
    print(
        f"a run of {size:,.0f} MB; medians of {len(warm[PEER])} rounds; load of the machine ",
        end="",
    )
    print(f"{load:.1f} on {os.cpu_count()} cores{' (too busy to trust)' if load > 1.5 else ''}\n")
    print(f"{'':26}{'fresh process':>22}{'its CPU time':>18}{'warm':>18}{'peak memory':>18}")
    started = {name: [one.seconds for one in measured] for name, measured in cold.items()}
    worked = {name: [one.cpu for one in measured] for name, measured in cold.items()}
    for name, measured in cold.items():
        columns = [(series[name], series[PEER]) for series in (started, worked, warm)]
        times = "".join(
            f"{statistics.median(ours):9.2f} s {ratio(ours, peers):5.2f}×"
            for ours, peers in columns
        )
        peak = statistics.median(one.peak for one in measured)
        print(f"{name:30}{times}{peak:10.0f} MB {peak / size:4.1f}×")


def ratio(ours: list[float], peers: list[float]) -> float:
    """Return how much longer ours takes, round by round."""
    return statistics.median(our / peer for our, peer in zip(ours, peers, strict=True))


if __name__ == "__main__":
    main()
