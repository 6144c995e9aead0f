"""Tampering: every field of every record of an experiment is changed, with all hashes repaired.

`rankscope benchmark verify` must notice each change of a field in `PROMISED`.
``python -m reliability.tampering`` tries all of them.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rankscope
from rankscope.benchmark.run import run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.benchmark.write import pages
from rankscope.errors import RankscopeError
from rankscope.records.report import BenchmarkReport, ExperimentManifest

MANIFEST, REPORT = "ExperimentManifest.json", "BenchmarkReport.json"

PROMISED = re.compile(
    r"""
    (measures|comparison|verdict|accounting|rules|experiment)\b.*
    | systems\.\*\.(measures|accounting|report|per_query|results|run\.(run_id|file)).*
    | run\.(run_id|file).*
    | collection\.(queries_sha256|qrels_sha256).*
    | config\..*
    """,
    re.VERBOSE,
)
"""Fields of which a change must be noticed: scores, and what they rest on and lead to."""

Keys = tuple[str | int, ...]

SMALL = ("measures=[nDCG@10, R@100]", "statistics.resamples=200")
"""Settings by which an experiment is verified quickly: it is done hundreds of times."""

LAST = "(last)"
"""Stands for the last entry of a list, which is taken away."""


def places(data: Any, keys: Keys = ()) -> Iterator[Keys]:
    """Yield the way to every value, and to the end of every list."""
    if isinstance(data, dict) and data:
        for name, value in data.items():
            yield from places(value, (*keys, name))
    elif isinstance(data, list) and data:
        for at, value in enumerate(data):
            yield from places(value, (*keys, at))
        yield (*keys, LAST)
    else:
        yield keys


def pattern(keys: Keys) -> str:
    """Write a way with stars for the numbers of entries."""
    return ".".join("*" if isinstance(key, int) else key for key in keys)


def changed(data: Any, keys: Keys) -> Any:
    """Return data with one value changed to another of its kind."""
    whole = copy.deepcopy(data)
    inner = whole
    for key in keys[:-1]:
        inner = inner[key]
    last = keys[-1]
    if last == LAST:
        inner.pop()
        return whole
    match inner[last]:
        case bool(value):
            inner[last] = not value
        case int(value):
            inner[last] = value + 1
        case float(value):
            inner[last] = value / 2 + 0.01
        case str(value) if re.match(r"\d{4}-\d\d-\d\dT", value):
            inner[last] = f"{int(value[:4]) - 1}{value[4:]}"
        case str(value):
            inner[last] = f"{value}x"
        case list():
            inner[last] = ["x"]
        case dict():
            inner[last] = {"x": "y"}
        case _:
            inner[last] = "x"
    return whole


def repaired(folder: Path) -> None:
    """Make the manifest believe in all files."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    for entry in manifest["artifacts"]:
        content = (folder / entry["path"]).read_bytes()
        entry.update(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
    write(folder / MANIFEST, manifest)
    timings = json.loads((folder / "Timings.json").read_text(encoding="utf-8"))
    for entry in timings["pages"]:
        content = (folder / entry["path"]).read_bytes()
        entry.update(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
    write(folder / "Timings.json", timings)


def write(path: Path, data: Any) -> None:
    """Write a record as rankscope does."""
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def drawn(folder: Path) -> dict[str, str]:
    """Draw the pages of a report; none where what it says does not fit together."""
    report = BenchmarkReport.read(folder / REPORT)
    try:
        return pages(report, ExperimentManifest.read(folder / MANIFEST), folder)
    except Exception:
        return {}


def is_noticed(original: Path, name: str, data: Any) -> bool:
    """Tell whether verify notices that a record says something else."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(shutil.copytree(original, Path(temporary) / original.name))
        write(folder / name, data)
        try:
            if name == REPORT:  # drawn again, so that the pages do not give it away
                for page, text in drawn(folder).items():
                    (folder / page).write_text(text, encoding="utf-8")
            if name != MANIFEST:
                repaired(folder)
            return not verify(folder).ok
        except (RankscopeError, AttributeError, TypeError, KeyError):
            return True  # not even a record any more


def tamperings(folder: Path) -> list[tuple[str, Keys]]:
    """Return one way to each kind of field, in the records of an experiment."""
    ways: dict[tuple[str, str], Keys] = {}
    reports = sorted(path.name for path in folder.glob("EvaluationReport.*.json"))[:1]
    for name in (REPORT, *reports, MANIFEST):
        data = json.loads((folder / name).read_text(encoding="utf-8"))
        for keys in places(data):
            if not (name == MANIFEST and keys[0] == "artifacts"):  # these are the hashes
                ways.setdefault((name, pattern(keys)), keys)
    return [(name, keys) for (name, _), keys in ways.items()]


def missed(
    folder: Path, *, sample: int | None = None, seed: int = 0
) -> tuple[int, list[str], list[str]]:
    """Try all tamperings, or a sample.

    Return how many, those that went unnoticed, and those of them that should not have.
    """
    ways = tamperings(folder)
    if sample is not None:
        ways = random.Random(seed).sample(ways, min(sample, len(ways)))
    unnoticed, wrongly = [], []
    for name, keys in ways:
        data = json.loads((folder / name).read_text(encoding="utf-8"))
        if not is_noticed(folder, name, changed(data, keys)):
            unnoticed.append(f"{name}: {pattern(keys)}")
            if PROMISED.fullmatch(pattern(keys)):
                wrongly.append(unnoticed[-1])
    return len(ways), unnoticed, wrongly


def main() -> int:
    """Make an experiment of the bundled collection, and tamper with every field of it."""
    data = Path(rankscope.__file__).parent / "data"
    with tempfile.TemporaryDirectory() as temporary:
        folder = run_benchmark(data / "demo.yaml", output=temporary, settings=SMALL).folder
        count, unnoticed, wrongly = missed(folder)
    print(f"{count} kinds of fields changed, each with all hashes repaired: {len(unnoticed)} went")
    print("unnoticed:")
    for line in unnoticed:
        print(f"  {line}{' (which must not be)' if line in wrongly else ''}")
    return 1 if wrongly else 0


if __name__ == "__main__":
    sys.exit(main())
