"""Does the native scan of TREC files change anything? Each file is evaluated with it and without.

    python -m reliability.native_fuzz [--files 1000000] [--seed 1] [--workers 2] [--seconds 600]

Values are compared bit for bit, with accounting, findings, ranks and ties; of what is refused the
error and its whole text. `reliability.native_files` makes the files. Rules for ties, precision,
profile, queries and measures differ from file to file, and so does the size of blocks: most files
are cut into blocks of a few lines. A file that the scan leaves to the reader of tables is read by
the same code both times, and is not read twice, except for a sample.

What differs is made small and kept in a folder, with both answers. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.judged_pairs import FilePairs
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.scans import ScannedRun
from rankscope.tables import native
from rankscope.tables.native_files import read_rows
from reliability.fuzz.minimal import minimal
from reliability.fuzz.workers import IN_MEMORY
from reliability.native_answers import BLOCKS, Answer, Question, answer, blocks, judged, pure
from reliability.native_files import World, Written, world

RUNS = 4
"""Runs of a world."""
FILES = RUNS + 1
_WORLDS = 50  # that a process is given at a time
_SAMPLE = 16  # of so many files that are read by the same code both times one is compared
TRIES = 400
"""How often something is left out of a file that differs, to make it small."""
STOP = 5
"""Differences after which some worlds are enough."""
_OTHERS = 0.02  # of worlds, whose runs are compared with each other
KINDS = ("scored", "refused", "crashed", "left")
QRELS = {"q1": {"D1": 1, "D2": 0, "D3": 2}, "10": {"D1": 1, "é": 1, "D7": 1}}


@dataclass
class Tally:
    """What was compared."""

    files: int = 0
    by_outcome: Counter[str] = field(default_factory=Counter)
    different: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where the files of a world are."""

    folder: Path

    def put(self, file: Written) -> str:
        path = self.folder / file.name
        path.write_bytes(file.data)
        return str(path)


def difference(place: Place, qrels: Written, run: Written, question: Question) -> str:
    """Compare the answers about two files from their paths; '' if they are the same."""
    at, run_at = place.put(qrels), place.put(run)
    with blocks(question.sizes):
        for ask in (question.scores, _with_judgments(question)):
            scanned = answer(lambda ask=ask: ask(at, run_at))  # type: ignore[misc]
            with pure():
                read = answer(lambda ask=ask: ask(at, run_at))  # type: ignore[misc]
            if scanned != read:
                return _both(scanned, read)
    return ""


def _with_judgments(question: Question) -> Callable[[Any, Any], Answer]:
    ask = getattr(question, question.closer or "ranks")
    return lambda qrels, run: ask(as_judgments(qrels), run)


def _both(scanned: Answer, read: Answer) -> str:
    parts = [
        f"scanned: {left!r}\nread:    {right!r}"
        for left, right in zip(scanned, read, strict=False)
        if left != right
    ]
    return "\n".join(parts) or f"scanned: {scanned!r}\nread:    {read!r}"


class Comparison:
    """Goes through worlds; the seed and the number of a world make all of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.place = Place(folder)
        self.seed = seed
        self.tally = Tally()

    def world(self, number: int) -> None:
        """Compare the answers about the files of a world."""
        given = world(self.seed, number, RUNS)
        source = Random(f"{self.seed} {number} rules")
        at = self.place.put(given.qrels)
        scanned, read = _judgments(at)
        outcome = scanned if isinstance(scanned, tuple) else judged(scanned)
        expected = read if isinstance(read, tuple) else judged(read)
        is_native = isinstance(scanned, Judgments) and scanned._file is not None
        self._count("qrels", is_native=is_native, outcome=outcome)
        if outcome != expected:
            self._keep(number, given, None, None, _both(outcome, expected))
            return
        for file in given.runs:
            question = Question.drawn(source)
            with blocks(question.sizes):
                self._run(number, given, file, question, (scanned, read))
        if source.random() < _OTHERS:
            self._others(number, given, Question.drawn(source))
        self.place.folder.joinpath(given.qrels.name).unlink()

    def _others(self, number: int, given: World, question: Question) -> None:
        qrels = self.place.put(given.qrels)
        runs = {name: self.place.put(file) for name, file in zip("ab", given.runs, strict=False)}
        with blocks(question.sizes):
            scanned = question.others(qrels, runs)
        with pure():
            read = question.others(qrels, runs)
        if scanned != read:
            self._keep(number, given, None, question, _both(scanned, read))
        for path in runs.values():
            os.unlink(path)

    def _run(
        self, number: int, given: World, file: Written, question: Question, judgments: Any
    ) -> None:
        path = self.place.put(file)
        scanned, read = judgments
        if isinstance(scanned, tuple):  # the qrels cannot be read; these can
            scanned, read = Judgments(QRELS), Judgments(QRELS)
        run = ScannedRun.of(path, scanned)
        if run is None and (number + len(file.data)) % _SAMPLE:
            self._count("run", is_native=False, outcome=("left",))
        else:
            first = answer(lambda: question.scores(scanned, path if run is None else run))
            self._count("run", is_native=run is not None, outcome=first)
            with pure():
                second = answer(lambda: question.scores(read, path))
            if first == second and question.closer:
                ask = getattr(question, question.closer)
                first = answer(lambda: ask(scanned, path))
                with pure():
                    second = answer(lambda: ask(read, path))
            if first != second:
                self._keep(number, given, file, question, _both(first, second))
        os.unlink(path)

    def _count(self, what: str, *, is_native: bool, outcome: Answer) -> None:
        kind = outcome[0] if outcome and outcome[0] in KINDS else "taken"
        self.tally.files += 1
        self.tally.by_outcome[f"{what}, {'scanned' if is_native else 'read'}, {kind}"] += 1

    def _keep(
        self, number: int, given: World, file: Written | None, question: Question | None, text: str
    ) -> None:
        """Keep what differs, made small if it still differs by itself."""
        case = {"seed": self.seed, "world": number, "question": repr(question), "answers": text}
        case |= {"qrels": given.qrels, "run": file}
        if file is not None and question is not None:
            case |= self._smaller(given.qrels, file, question)
        self.tally.different.append(case)

    def _smaller(self, qrels: Written, run: Written, question: Question) -> dict[str, Any]:
        def differ(judged: bytes, ranked: bytes) -> str:
            files = Written(qrels.name, judged), Written(run.name, ranked)
            return difference(self.place, *files, question)

        if not differ(qrels.data, run.data):
            return {}
        ranked = minimal(run.data, lambda data: bool(differ(qrels.data, data)), tries=TRIES)
        judged = minimal(qrels.data, lambda data: bool(differ(data, ranked)), tries=TRIES)
        return {
            "qrels": Written(qrels.name, judged),
            "run": Written(run.name, ranked),
            "answers": differ(judged, ranked),
        }


def _judgments(path: str) -> tuple[Any, Any]:
    """Read qrels with the scan and without; an error is its answer."""

    def read() -> Any:
        result = None

        def ask() -> Answer:
            nonlocal result
            result = as_judgments(path)
            return ()

        refused = answer(ask)
        return refused or result

    scanned = read()
    with pure():
        return scanned, read()


def compare(seed: int, numbers: range) -> Tally:
    """Go through some worlds in this process."""
    if native.library() is None:
        raise RuntimeError("there is nothing to compare: there is no native scan")
    with tempfile.TemporaryDirectory(prefix="rankscope-native-", dir=IN_MEMORY) as home:
        comparison = Comparison(Path(home), seed)
        for number in numbers:
            comparison.world(number)
            if len(comparison.tally.different) >= STOP:
                break
        return comparison.tally


def scan_only(seed: int, numbers: range) -> Counter[str]:
    """Have the library read the files of some worlds in blocks of all sizes; nothing is compared.

    For `reliability.sanitized`, where the library itself is watched.
    """
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="rankscope-native-", dir=IN_MEMORY) as home:
        place = Place(Path(home))
        for number in numbers:
            given = world(seed, number, RUNS)
            path = place.put(given.qrels)
            qrels = FilePairs.read(path)
            counts["qrels read" if qrels else "qrels refused"] += 1
            judgments = Judgments(QRELS if qrels is None else qrels)
            os.unlink(path)
            for file, sizes in zip(given.runs, BLOCKS, strict=False):
                path = place.put(file)
                with blocks(sizes):
                    run = ScannedRun.of(path, judgments)
                    if run is not None:
                        run.scan_for(judgments, "single")
                        read_rows(run._file, ranks=True)
                counts["runs scanned" if run else "runs refused"] += 1
                os.unlink(path)
    return counts


def keep(tally: Tally, folder: Path) -> None:
    """Write the files that differ, and what they are answered."""
    for case in tally.different:
        home = folder / f"native-{case['seed']}-{case['world']}"
        home.mkdir(parents=True, exist_ok=True)
        for file in (case["qrels"], case["run"]):
            if file is not None:
                (home / file.name).write_bytes(file.data)
        told = {name: case[name] for name in ("seed", "world", "question")}
        (home / "answers.txt").write_text(
            f"{json.dumps(told)}\n{case['answers']}\n", "utf-8", "backslashreplace"
        )


def main() -> int:
    """Run as described at the top."""
    parser = argparse.ArgumentParser(prog="python -m reliability.native_fuzz", description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so long")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), metavar="FOLDER")
    given = parser.parse_args()
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # files are small
    if native.library() is None:
        print("nothing is compared: there is no native scan")
        return 0
    began = time.monotonic()
    total = Tally()
    worlds = -(-given.files // FILES)
    parts = [range(low, min(low + _WORLDS, worlds)) for low in range(0, worlds, _WORLDS)]
    try:
        for tally in _tallies(given.seed, parts, given.workers, began + given.seconds):
            total.files += tally.files
            total.by_outcome += tally.by_outcome
            total.different += tally.different
            keep(tally, given.keep)
            for case in tally.different:
                print(f"world {case['world']}: {case['question']}\n{case['answers'][:2000]}\n")
            if len(total.different) >= 20:
                break
    except BrokenProcessPool:
        print("a process died; --workers 0 shows where")
        return 1
    seconds = time.monotonic() - began
    for outcome, count in sorted(total.by_outcome.items()):
        print(f"{outcome:<24}{count:>10,}")
    rate = total.files / seconds
    print(f"seed {given.seed}: {total.files:,} files, {seconds:.0f} s, {rate:.0f} each second")
    print(f"different: {len(total.different)}")
    return 1 if total.different else 0


def _tallies(seed: int, parts: list[range], workers: int, end: float) -> Iterator[Tally]:
    if not workers:
        for part in parts:
            if time.monotonic() > end:
                return
            yield compare(seed, part)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(compare, seed, part) for part in parts]
        for pending in waiting:
            if time.monotonic() > end:
                pool.shutdown(cancel_futures=True)
                return
            yield pending.result()


if __name__ == "__main__":
    sys.exit(main())
