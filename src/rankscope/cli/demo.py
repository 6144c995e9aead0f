"""``rankscope demo``: the bundled example, end to end and offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankscope.cli.console import make_console

if TYPE_CHECKING:
    from rich.console import Console

    from rankscope.evaluation import Scores

__all__ = ["demo"]

MEASURES = ("nDCG@10", "AP@100", "RR@10", "R@10", "Success@1", "Success@5")


@click.command()
@click.option(
    "--output",
    "folder",
    default="rankscope-demo",
    show_default=True,
    metavar="DIR",
    help="Where the reports go.",
)
def demo(*, folder: str) -> None:
    """Check, score and explain two runs over a small bundled recipe collection.

    24 recipes, 12 questions, graded judgments, and two ways to search them: by whole words and by
    pieces of words.
    """
    from importlib.resources import as_file, files

    from rankscope.evaluation import evaluate
    from rankscope.runs.validation import validate_run

    console = make_console()
    with as_file(files("rankscope") / "data" / "demo") as data:
        runs = {name: data / f"{name}.run" for name in ("words", "letters")}
        for name, path in runs.items():
            result = validate_run(
                path,
                qrels=data / "qrels.tsv",
                queries=data / "queries.jsonl",
                corpus=data / "corpus.jsonl",
                depth=10,
            )
            said = "valid" if result.ok else "not valid"
            kinds = ", ".join(finding.name for finding in result.findings) or "nothing to remark"
            console.print(f"checked {name}: {said}, {result.queries} queries; {kinds}")
        scores = evaluate(data / "qrels.tsv", {n: str(p) for n, p in runs.items()}, MEASURES)
        written = _write_reports(scores, Path(folder))
    console.print()
    _show(scores, console)
    console.print()
    for path in written:
        console.print(f"written to {path}")


def _show(scores: Scores, console: Console) -> None:
    from rankscope.cli.evaluate import show_scores

    show_scores(scores, console)
    console.print()
    console.print(_verdict(scores, "nDCG@10"))


def _verdict(scores: Scores, measure: str) -> str:
    """Say who is ahead, by how much, and on how many questions, and claim no more than that."""
    words, letters = (scores.values(measure, name) for name in ("words", "letters"))
    ahead = sum(letters[query] > words[query] for query in words)
    behind = sum(letters[query] < words[query] for query in words)
    difference = scores[measure]["letters"] - scores[measure]["words"]
    return (
        f"Verdict: letters is {difference:+.4f} against words on {measure}, better on {ahead} "
        f"questions, worse on {behind}, equal on {len(words) - ahead - behind}. "
        f"{len(words)} questions are far too few to name a winner."
    )


def _write_reports(scores: Scores, folder: Path) -> list[Path]:
    from rankscope.cli.console import json_text
    from rankscope.errors import InputError
    from rankscope.files import replacing
    from rankscope.reports.scores import scores_as_markdown

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); name another") from None
    reports = {
        "scores.md": scores_as_markdown(scores),
        "scores.json": json_text(scores.to_dict(per_query=True)),
    }
    for name, text in reports.items():
        with replacing(folder / name) as sink:
            sink.write(text.encode())
    return [folder / name for name in reports]
