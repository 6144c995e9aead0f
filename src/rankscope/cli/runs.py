"""``rankscope runs``: fetch, validate and fuse."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import shared
from rankscope.cli.help import command, option, rare
from rankscope.cli.output import Output, as_typed, print_line
from rankscope.cli.progress import watching
from rankscope.errors import counted
from rankscope.printing import hide_with, put_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankscope.benchmark.case_validation import CasesValidation
    from rankscope.benchmark.run import FetchedRun
    from rankscope.runs.validation import Validation


@command("rankscope runs fetch demo/bench.yaml --system lexical -o fetched")
@shared.CONFIG
@shared.CONFIG_OPTIONS
@shared.SYSTEMS
@option("-o --output DIR", "Folder of the runs", default="runs")
def fetch(
    *, config: str, settings: tuple[str, ...], no_python: bool, quiet: bool, **options: Any
) -> int:
    """Ask the systems of a config every judged question, and write and check their runs.

    Answers are cached: after an interruption, the same command continues. A question that fails is
    retried, then listed and left out of the run. Exit 1 if a question failed or a run has errors.
    CONFIG is the file of 'rankscope benchmark run'; it is code, and --no-python refuses functions.
    """
    from rankscope.benchmark.config.loading import read_config
    from rankscope.benchmark.run import fetch_runs
    from rankscope.cli import ANSWER_IS_NO

    loaded = read_config(config, settings=settings)
    hide_with(loaded.secrets.hide)
    answers = sys.stdout

    def report(run: FetchedRun) -> None:
        if not quiet:
            print_line(_fetched(run), answers)

    with watching(quiet=quiet) as watcher:
        runs = fetch_runs(loaded, python=not no_python, watcher=watcher, written=report, **options)
    for run in runs:
        for finding in run.findings:
            if finding.severity == "error":
                put_line(f"{run.system}: {finding.sentence}")
        if run.failures:
            query_id, why = next(iter(run.failures.items()))
            failed = f"{counted(len(run.failures), 'query')} failed, such as {query_id} ({why})"
            put_line(f"{run.system}: {failed}; run this again to retry")
    return 0 if all(run.ok for run in runs) else ANSWER_IS_NO


def _fetched(run: FetchedRun) -> str:
    """Say what a run holds, and how it came about."""
    findings = ", ".join(finding.name for finding in run.findings) or "no findings"
    cached = run.timings.stored
    from_cache = f" ({cached:,} from the cache)" if cached else ""
    size = f"{counted(len(run.run.query_ids), 'query')}{from_cache}"
    return f"{run.path}: {size}, {counted(len(run.run), 'document')}; {findings}"


@command("rankscope runs validate demo/lexical.run --qrels demo/qrels.tsv")
@click.argument("run", nargs=-1, required=True)
@option("--qrels FILE", "Judgments the run will be scored against")
@option("--queries FILE", "Queries the run should answer")
@option("--corpus FILE", "Documents the run may name")
@option(
    "--max-depth N", "Most documents of a query", type=click.IntRange(1, 10_000_000), default=100
)
@option(
    "--strict",
    "Fail runs unfit to hand in: six TREC columns, every query answered, ranks that agree with "
    "scores, no list deeper than --max-depth",
)
@option("--input-format NAME", "Format of the runs, if it can't be detected")
@shared.TABLES
@shared.output_options()
def validate(
    *,
    run: tuple[str, ...],
    max_depth: int,
    strict: bool,
    input_format: str | None,
    scoring: dict[str, Any],
    output: Output,
    **files: Any,
) -> int:
    """List every problem of each RUN, with a code, where it is, and what to do.

    Exit 0 without errors, 1 with errors, 2 if a file can't be read; the others are still checked.
    One of the files may be -, standard input.
    """
    from rankscope.runs.validation import Reference
    from rankscope.scoring.scoring_options import Scoring

    rules = Scoring.of("validate_run", scoring)
    reading = ("chunking", "columns", "duplicates", "labels")
    reference = Reference.read(**files, **{name: getattr(rules, name) for name in reading})

    def check(path: str) -> Validation:
        return reference.validate(path, max_depth=max_depth, strict=strict, format=input_format)

    return validate_each(run, check, output)


def validate_each(
    paths: Sequence[str], check: Callable[[str], Validation | CasesValidation], output: Output
) -> int:
    """Check files and show the results; a file that cannot be read does not stop the others."""
    from rankscope.cli import ANSWER_IS_NO, CANNOT_ANSWER, say, show_traceback
    from rankscope.document.blocks import together
    from rankscope.document.views import document_of
    from rankscope.errors import RankscopeError

    results = []
    for path in paths:
        try:
            results.append(check(path))
        except RankscopeError as error:
            show_traceback(error)
            say(as_typed(str(error)))
    if results or output.format == "json":
        output.write(
            together("Validation", [document_of(result) for result in results]),
            data=lambda: [result.to_dict() for result in results],
        )
    if len(results) < len(paths):
        return CANNOT_ANSWER
    return 0 if all(result.ok for result in results) else ANSWER_IS_NO


def _numbers(_: click.Context, __: click.Parameter, text: str | None) -> list[float] | None:
    """Read ``0.3,0.7``."""
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"expected numbers such as 0.3,0.7; got {text!r}") from None


@command("rankscope runs fuse demo/lexical.run demo/hybrid.run -o fused.run")
@click.argument("run", nargs=-1, required=True)
@option("-o --output target OUT", "File to write; - for standard output")
@option("--method NAME", "Method: rrf, minmax, zscore, combsum, combmnz, borda, …", default="rrf")
@option("--weights LIST", "Weight of each run: 0.3,0.7", callback=_numbers)
@option(
    "--normalise NAME",
    "Normalise scores: minmax, minmaxinverted (distances), zscore, rank, sum, max, borda",
)
@option("--qrels FILE", "Judgments to train on; no query is fused by its own")
@option("--depth N", "Keep N documents of each query  [default: all]")
@option("--name TAG", "Name of the run, written as its tag")
@option("--format output FORMAT", "Format of OUT  [default: by its suffix]")
@rare("--k VALUE", "Constant of rrf  [default: 60]")
@rare("--p VALUE", "Persistence of rbc  [default: 0.9]")
@rare("--sigma VALUE", "Constant of lognisr  [default: 0.01]")
@rare("--gamma VALUE", "Exponent of gmnz  [default: 1]")
@rare("--segments N", "Parts of a list, for probfuse  [default: 25]")
@rare("--window N", "Ranks on either side, for slidefuse  [default: 5]")
@shared.TABLES
def fuse(
    *,
    run: tuple[str, ...],
    target: str | None,
    output: str | None,
    scoring: dict[str, Any],
    **options: Any,
) -> None:
    """Fuse the lists of several RUNs into one run.

    One of the runs may be -, standard input; standard output is written in TREC's format.
    """
    from rankscope.runs.fusion.fuse import fuse as fuse_runs
    from rankscope.runs.table import as_run
    from rankscope.scoring.scoring_options import Scoring
    from rankscope.tables.columns import RUN
    from rankscope.tables.detection import format_for

    if target is None:
        raise click.UsageError("name the file to write with -o OUT")
    chosen = "trec" if target == "-" and output is None else format_for(target, output, RUN)
    rules = Scoring.of("fuse", scoring)
    reading = {name: getattr(rules, name) for name in ("columns", "duplicates", "chunking")}
    fused = fuse_runs([as_run(each, **reading) for each in shared.named_runs(run)], **options)
    fused.write(target, format=chosen)
    where = "standard output" if target == "-" else target
    size = f"{counted(len(fused), 'line')} for {counted(len(fused.query_ids), 'query')}"
    put_line(f"{fused.name}: {size}, fused from {counted(len(run), 'run')}, written to {where}")
