"""Run the examples of a page as a reader types them, and keep the output that it shows current.

A fenced block ``sh`` is typed into one shell that begins in an empty folder, block after block; a
block ``text`` right after it is what the commands print. Blocks of nothing but ``make …`` and
``pip install …`` are not run.

    python docs/snippets.py                          # all tutorials: write what is printed now
    python docs/snippets.py docs/tutorials/x.md
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
TYPED = re.compile(
    r"^```sh\n(?P<typed>.*?)^```\n(?:\n^```text\n(?P<shown>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
ELSEWHERE = re.compile(r"(?:(?:#|make |pip install ).*\n|\n)+")
MARK = "-- end of a block --"

CHANGING = (
    (re.compile(r"\b\d+(?:\.\d+)?(?= ?(?:s|ms|seconds?)\b)"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b"), "<time>"),
    (re.compile(r"(?<=-)[0-9a-f]{12}\b"), "<hash>"),
    (re.compile(r"(?<!\.)\b[0-9a-f]{16,64}\b"), "<hash>"),  # not the decimals of a number
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)
"""What differs from one run to the next: times, and hashes over versions and machines."""


@dataclass(frozen=True)
class Block:
    """Commands of a page, what it shows as their output, and what they printed."""

    typed: str
    shown: str | None
    printed: str

    @property
    def current(self) -> bool:
        """Whether what is shown is what is printed, apart from times and hashes."""
        return self.shown is None or _stable(self.shown) == _stable(self.printed)


def _stable(text: str) -> str:
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    return text.strip("\n")


def run(page: Path, folder: Path) -> list[Block]:
    """Type the blocks of a page into a shell in a folder; a command that fails is an error."""
    matches = [match for match in TYPED.finditer(page.read_text("utf-8")) if _is_run(match)]
    script = "".join(f"{match['typed']}\necho; echo '{MARK}'\n" for match in matches)
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    printed = done.stdout.replace(str(folder), ".").split(f"\n{MARK}\n")
    if done.returncode:
        failed = matches[len(printed) - 1]["typed"]
        raise RuntimeError(f"{page.name}: exit code {done.returncode} from\n{failed}{printed[-1]}")
    return [
        Block(match["typed"], match["shown"], output)
        for match, output in zip(matches, printed, strict=False)
    ]


def _is_run(match: re.Match[str]) -> bool:
    return ELSEWHERE.fullmatch(match["typed"]) is None


def environment() -> dict[str, str]:
    """Return the environment of a reader: these commands come first, and lines are wide.

    Of pytest's plugins there is rankscope's alone, as in a project that has no others.
    """
    hidden = ("PYTEST_", "RANKSCOPE_", "COV_", "GITHUB_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    source = os.pathsep.join(filter(None, [str(ROOT / "src"), kept.get("PYTHONPATH")]))
    return kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}",
        "PYTHONPATH": source,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "rankscope.integrations.pytest_plugin",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }


def update(page: Path) -> None:
    """Write what commands print now in place of what a page shows and is different."""
    with tempfile.TemporaryDirectory() as folder:
        blocks = iter(run(page, Path(folder)))

    def written(match: re.Match[str]) -> str:
        block = next(blocks) if _is_run(match) else None
        if block is None or block.shown is None or block.current:
            return match[0]
        lines = "\n".join(line.rstrip() for line in block.printed.strip("\n").splitlines())
        return f"```sh\n{block.typed}```\n\n```text\n{lines}\n```\n"

    page.write_text(TYPED.sub(written, page.read_text("utf-8")), "utf-8")


def main(pages: Iterable[str]) -> None:
    """Update pages, or all tutorials."""
    for page in [Path(page) for page in pages] or sorted((DOCS / "tutorials").glob("*.md")):
        update(page)


if __name__ == "__main__":
    main(sys.argv[1:])
