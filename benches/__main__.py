"""``make bench``: every speed table, printed and written to ``benches/speed.md``.

``python -m benches reading measuring`` measures some of them again, and leaves the others as they
are on the page.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE / "speed.md"
TITLES = {
    "reading.py": "Reading and checking a run",
    "measuring.py": "From a run to its measures",
    "scaling.py": "Scale",
    "resampling.py": "Resampling",
    "many_systems.py": "Comparing many systems",
    "retrieving.py": "Searching",
    "curves.py": "Searching more and more documents",
    "diagnosing.py": "Diagnosing",
    "ontologies.py": "Nearness of terms",
}
INTRODUCTION = (
    "Written by `make bench`. Every number is a ratio to a peer measured in the same session, so "
    "that machines can be compared; timings never decide a test."
)
NOTES = {
    "resampling.py": (
        "Rows share their resamples: a resample is a row of counts (or of random bits), and the "
        "means of all rows under a batch of them are one matrix product. SciPy's time for one row "
        "is measured and multiplied by the number of rows."
    ),
    "many_systems.py": (
        "Seconds, of the processors in parentheses, and the highest memory of the process. No peer "
        "compares 499,500 pairs in one call. Tests of single pairs that are corrected draw up to "
        "100,000 resamples, and 10,000,000,000 in all. The page shows the 50 best systems."
    ),
    "ontologies.py": "hpo3 is written in Rust and uses every core; rankscope uses one here.",
}
"""What to know about a table."""
PACKAGES = (
    "rankscope",
    "polars",
    "numpy",
    "scipy",
    "pytrec_eval-terrier",
    "ir_measures",
    "ranx",
    "hpo3",
)


def machine() -> str:
    """Say what this was measured on."""
    cpu = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if "model name" in line),
        platform.processor() or platform.machine(),
    )
    cores = sum(line.startswith("processor") for line in _lines("/proc/cpuinfo"))
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"{cpu}, {cores} cores; Python {platform.python_version()}; {packages}"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8").splitlines()
    except OSError:
        return []


def written() -> dict[str, str]:
    """Return the sections that are on the page, by title."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    sections = (section.partition("\n") for section in text.split("\n## ")[1:])
    return {title: body.strip() for title, _, body in sections}


def main() -> None:
    wanted = [f"{name.removesuffix('.py')}.py" for name in sys.argv[1:]] or list(TITLES)
    unknown = [name for name in wanted if name not in TITLES]
    if unknown:
        sys.exit(f"no bench is called {unknown[0]}; there are {', '.join(TITLES)}")
    sections = written()
    for script in wanted:
        print(f"\n== {TITLES[script]}", flush=True)
        done = subprocess.run(
            [sys.executable, str(HERE / script)], stdout=subprocess.PIPE, text=True, check=True
        )
        print(done.stdout, flush=True)
        notes = [NOTES[script]] if script in NOTES else []
        sections[TITLES[script]] = "\n\n".join([*notes, f"```text\n{done.stdout.rstrip()}\n```"])
    parts = ["# Speed", INTRODUCTION, f"Measured on {machine()}."]
    parts += [f"## {title}\n\n{sections[title]}" for title in TITLES.values() if title in sections]
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"written to {PAGE.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
