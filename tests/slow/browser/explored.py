"""Pages to look around in, made of small collections: a plain one, and a hostile one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from rankscope.cli.app import app

HOSTILE = (
    "<script>document.title='pwned'</script>",
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "javascript:window.pwned=1",
    "<form action=http://example.com><input name=a>",
    "<style>*{display:none}</style>",
    "\u202eevil\u202c \u200b bidi",
    "nul\x00inside",
    "'\"><svg onload=window.pwned=1>",
    "</style><b>bold</b>",
)


def command(*arguments: str) -> str:
    """Run a command of the command line, which must be fine."""
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_collection(folder: Path, *, queries: int = 40, hostile: bool = False) -> None:
    """Write queries, documents, judgments and three runs.

    ``gone`` lacks the first five queries, so that with --intersect it has no values for them.
    """
    chance = random.Random(5)
    odd = [*HOSTILE, "x" * 1_000_000] if hostile else []

    def name(kind: str, number: int) -> str:
        """Return an id, which is as nasty as an id can be."""
        return f"{kind}{number}<b>&\"'/../javascript:%2F" if hostile else f"{kind}{number}"

    def words(number: int) -> str:
        plain = f"{chance.choice(WORDS)} {chance.choice(WORDS)} {number}"
        return f"{odd[number % len(odd)]} {plain}" if odd else plain

    facets = 10_000 if hostile else 3
    write_lines(
        folder / "queries.jsonl",
        [
            {
                "_id": name("q", number),
                "text": words(number),
                "kind": f"{odd[number % len(HOSTILE)] if odd else 'kind'} {number % facets}",
            }
            for number in range(queries)
        ],
    )
    write_lines(
        folder / "corpus.jsonl",
        [
            {
                "_id": name("d", number),
                "title": words(number),
                "text": f"Text {words(number)}. " * 9,
            }
            for number in range(60)
        ],
    )
    judged, runs = [], {"first": [], "second": [], "gone": []}  # type: ignore[var-annotated]
    for number in range(queries):
        grades = {chance.randrange(60): chance.choice([0, 1, 2, 3]) for _ in range(8)}
        grades[number % 60] = 3
        judged += [
            f"{name('q', number)} 0 {name('d', doc)} {grade}" for doc, grade in grades.items()
        ]
        for run, lines in runs.items():
            if run == "gone" and number < 5:
                continue
            documents = chance.sample(range(60), 12)
            lines += [
                f"{name('q', number)} Q0 {name('d', doc)} {rank} {20 - rank} {run}"
                for rank, doc in enumerate(documents, start=1)
            ]
    (folder / "qrels.txt").write_text("\n".join(judged) + "\n", "utf-8")
    for run, lines in runs.items():
        (folder / f"{run}.run").write_text("\n".join(lines) + "\n", "utf-8")


WORDS = ("apple", "bread", "cheese", "dates", "eggs", "figs", "grapes", "honey", "ice", "jam")


def written_page(folder: Path, *options: str, name: str = "page.html") -> Path:
    """Write the page of a diagnosis of a collection."""
    files = [str(folder / name) for name in ("qrels.txt", "first.run", "second.run")]
    texts = ["--queries", str(folder / "queries.jsonl"), "--corpus", str(folder / "corpus.jsonl")]
    target = folder / name
    measures = ["-m", "nDCG@10", "-m", "RR@10", "--baseline", "first"]
    more = ["--only", "failures", *options, "--format", "html", "-o", str(target)]
    command("diagnose", *files, *texts, *measures, *more)
    return target
