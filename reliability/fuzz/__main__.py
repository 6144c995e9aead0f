"""``python -m reliability.fuzz``: try to break every reader, parser, record and command.

Prints the seed, how many executions each target had and what came of them, and each kind of failure
once; what failed is kept in a folder, made small, with how to repeat it. Exit code 1 if anything
failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from reliability.fuzz import seeds
from reliability.fuzz.minimal import minimal
from reliability.fuzz.targets import Target, all_targets
from reliability.fuzz.workers import (
    IN_MEMORY,
    MEMORY,
    SECONDS,
    Done,
    Failure,
    Task,
    Worker,
    batches,
    execute,
    random_of,
)

_LIMITS = (MEMORY, float(SECONDS))


def fuzz(
    executions: int,
    *,
    seed: int,
    workers: int = 2,
    seconds: float | None = None,
    only: str | None = None,
    keep: Path | None = None,
) -> tuple[dict[str, Done], list[Failure]]:
    """Execute about so many attempts, for at most so many seconds.

    Returns what each target came to, and the first failure of each kind in its smallest form.
    """
    os.environ["POLARS_MAX_THREADS"] = "1"
    end = None if seconds is None else time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="rankscope-fuzz-", dir=IN_MEMORY) as home:
        files, targets = _prepared(Path(home), only)
        total = sum(target.weight for target in targets.values()) or 1
        counts = Counter(
            {
                name: max(1, executions * (target.weight or 1) // total)
                for name, target in targets.items()
            }
        )
        answers = {name: Done() for name in targets}
        failures: dict[tuple[str, str], Failure] = {}
        tasks = _until(end, batches(counts, seed))
        began = reported = time.monotonic()
        for task, done in execute(tasks, files=files, workers=workers, limits=_LIMITS):
            answer = answers[task.target]
            answer.results += done.results
            answer.refusals += done.refusals
            for failure in done.failures:
                answer.failures.append(failure)
                kind = (failure.target, failure.outcome)
                if kind not in failures:
                    failures[kind] = _complete(failure, targets[failure.target], seed)
                    print(f"  {failure.target} {failure.number}: {failure.outcome}", flush=True)
            if time.monotonic() - reported > 60:
                reported = time.monotonic()
                finished = sum(_executed(answer) for answer in answers.values())
                print(f"  {finished:,} after {reported - began:.0f} seconds", flush=True)
        smallest = [_smallest(failure, files) for failure in failures.values()]
    if keep is not None:
        for failure in smallest:
            _kept(failure, seed, keep)
    return answers, smallest


def _prepared(home: Path, only: str | None) -> tuple[Path, dict[str, Target]]:
    files, scratch = home / "files", home / "scratch"
    files.mkdir()
    scratch.mkdir()
    seeds.world(files)
    targets = all_targets(files, scratch)
    if only is not None and only not in targets:
        sys.exit(f"unknown target {only!r}; known: {', '.join(targets)}")
    chosen = [name for name in targets if name == only or (only is None and targets[name].weight)]
    return files, {name: targets[name] for name in chosen}


def _until(end: float | None, tasks: Iterator[Task]) -> Iterator[Task]:
    for task in tasks:
        if end is not None and time.monotonic() > end:
            return
        yield task


def _complete(failure: Failure, target: Target, seed: int) -> Failure:
    """Make the input again where the process that had it is gone."""
    if failure.data or failure.number < 0:
        return failure
    attempt = target.attempt(random_of(seed, failure.target, failure.number))
    return replace(failure, variant=attempt.variant, data=attempt.data)


def _smallest(failure: Failure, files: Path) -> Failure:
    worker = Worker(files, _LIMITS)
    began = time.monotonic()

    def fails(data: bytes) -> bool:
        if time.monotonic() - began > 60:
            return False
        other = worker.failure(Task(failure.target, attempt=(failure.variant, data)))
        return other is not None and other.outcome == failure.outcome

    try:
        return replace(failure, data=minimal(failure.data, fails))
    finally:
        worker.end()


def _kept(failure: Failure, seed: int, folder: Path) -> None:
    """Write the input, and beside it what happened and how to see it again."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(failure.data).hexdigest()[:12]
    name = f"{failure.target.replace(' ', '-')}-{digest}"
    (folder / f"{name}.input").write_bytes(failure.data)
    description = {
        "target": failure.target,
        "variant": failure.variant,
        "outcome": failure.outcome,
        "seed": seed,
        "execution": failure.number,
        "repeat": f"python -m reliability.fuzz --repeat {folder / name}.json",
        "detail": failure.detail,
    }
    (folder / f"{name}.json").write_text(json.dumps(description, indent=2) + "\n")


def repeat(path: Path) -> int:
    """Execute a kept input again, and say what happens."""
    kept = json.loads(path.read_text())
    with tempfile.TemporaryDirectory(prefix="rankscope-fuzz-", dir=IN_MEMORY) as home:
        files, _ = _prepared(Path(home), None)
        data = path.with_suffix(".input").read_bytes()
        worker = Worker(files, _LIMITS)
        failure = worker.failure(Task(kept["target"], attempt=(kept["variant"], data)))
        worker.end()
    print("no failure" if failure is None else f"{failure.outcome}\n{failure.detail}")
    return 0 if failure is None else 1


def _executed(done: Done) -> int:
    return done.results + done.refusals + len(done.failures)


def _print_table(answers: dict[str, Done], seconds: float) -> None:
    rows = {
        name: (_executed(done), done.results, done.refusals, len(done.failures))
        for name, done in answers.items()
    }
    rows["all"] = tuple(sum(column) for column in zip(*rows.values(), strict=True))
    print(f"{'target':<24}{'executions':>12}{'results':>10}{'refusals':>10}{'failures':>10}")
    for name, (executions, results, refusals, failures) in rows.items():
        print(f"{name:<24}{executions:>12,}{results:>10,}{refusals:>10,}{failures:>10,}")
    print(f"{seconds:.0f} seconds, {rows['all'][0] / seconds:.0f} executions each second")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m reliability.fuzz", description=__doc__)
    parser.add_argument("--executions", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="stop after so many")
    parser.add_argument("--only", metavar="TARGET", help="fuzz this target alone")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), metavar="FOLDER")
    parser.add_argument("--repeat", type=Path, metavar="FILE", help="execute what was kept again")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # folders in memory go then, too
    if given.repeat is not None:
        return repeat(given.repeat)
    print(f"seed {given.seed}, {given.executions:,} executions, {given.workers} processes")
    began = time.monotonic()
    answers, failures = fuzz(
        given.executions,
        seed=given.seed,
        workers=given.workers,
        seconds=given.seconds,
        only=given.only,
        keep=given.keep,
    )
    _print_table(answers, time.monotonic() - began)
    for failure in failures:
        print(f"\n{failure.target}, {failure.variant}: {failure.outcome}\n  {failure.data[:200]!r}")
    if failures:
        print(f"\ninputs that fail, and how to repeat them: {given.keep}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
