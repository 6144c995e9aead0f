"""``rankscope diagnose``."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import shared
from rankscope.cli.help import command, option, rare, typed_options
from rankscope.cli.output import Output, page_contents

if TYPE_CHECKING:
    from rankscope.records.diagnosis import Diagnosis
    from rankscope.reports.explorer.contents import Contents
    from rankscope.scoring.scored_runs import Scored


@command(
    "rankscope diagnose demo/qrels.tsv demo/lexical.run demo/hybrid.run --baseline lexical",
    "rankscope diagnose demo/qrels.tsv demo/lexical.run --queries demo/queries.jsonl --full",
)
@click.argument("qrels", metavar="QRELS|DIR")
@click.argument("run", nargs=-1)
@option("--baseline NAME", "Compare the other runs with this one")
@option("--only NAME", "Run only this analysis (repeatable)", multiple=True)
@option("--queries FILE", "Queries with texts and metadata")
@option("--corpus FILE", "Documents with titles and texts")
@option("--stages A,B,C", "Runs that build on each other, first to last")
@rare("--decisions FILE", "Decisions of a router or gate, by question")
@option("--ratings FILE", "Grades of several judges for the same documents")
@rare("--training FILE", "Questions that a system learned from")
@rare("--costs FILE", "Latency, money and the like: a row for each run")
@rare(
    "--set configured KEY=VALUE",
    "Configure an analysis, such as segments=[category,words] (repeatable)",
    multiple=True,
)
@option("--pool FILE", "Write the pairs that are best judged next", "Output")
@shared.measures_option()
@shared.PROFILE
@shared.ALPHA
@shared.RESAMPLES
@shared.SEED
@shared.JUDGMENTS
@shared.output_options()
@shared.PAGE
@click.pass_context
def diagnose(
    ctx: click.Context,
    /,
    *,
    qrels: str,
    run: tuple[str, ...],
    configured: tuple[str, ...],
    pool: str | None,
    scoring: dict[str, Any],
    output: Output,
    **options: Any,
) -> None:
    """Find what to fix: where each RUN loses, why, and what would gain most.

    Runs every analysis your files support. Give the folder of a benchmark (DIR) to see what its
    report found.
    """
    from rankscope.benchmark.folder import REPORT
    from rankscope.diagnosis.failures import failures
    from rankscope.part import without_texts

    if pool is not None:
        from rankscope.diagnosis.judge_next import check_pool_name

        check_pool_name(pool)
    if run and any(os.path.lexists(os.path.join(path, REPORT)) for path in (qrels, *run)):
        raise click.UsageError(
            "give one folder of a benchmark, or QRELS and RUN; 'rankscope benchmark compare' shows "
            "what changed between two folders"
        )
    folder = None if run or not os.path.isdir(qrels) else Path(qrels)
    files = {"golden": qrels, "queries": options["queries"], "corpus": options["corpus"]}
    if folder is not None:
        diagnosis = _of_folder(ctx, folder, options["only"])
    elif run:
        diagnosis, scored = _of_runs(qrels, run, configured, scoring, options)
    elif qrels != "-" and not os.path.exists(qrels):
        raise click.UsageError(f"{qrels}: file or folder not found")
    else:
        raise click.MissingParameter("", ctx, param_hint="'RUN...'", param_type="argument")
    if pool is not None:
        _write_pool(diagnosis, pool)

    def contents() -> Contents | None:
        if folder is not None:  # its own page has them
            return None
        failing = failures.of(diagnosis.analyses)
        return page_contents(
            scored(), output, **files, baseline=diagnosis.baseline, failures=failing
        )

    is_page = output.format == "html" or output.html is not None
    shown = diagnosis if output.with_text or not is_page else without_texts(diagnosis)
    output.write(shown, contents=contents)


def _of_runs(
    qrels: str,
    run: tuple[str, ...],
    configured: tuple[str, ...],
    rules: dict[str, Any],
    options: dict[str, Any],
) -> tuple[Diagnosis, Callable[[], Scored]]:
    """Diagnose runs; also return a function that scores them once more, for a page."""
    from rankscope.benchmark.config.overrides import Origins, apply_overrides
    from rankscope.benchmark.config.syntax import ConfigFile
    from rankscope.records.diagnosis import diagnose as diagnose_runs
    from rankscope.scoring.evaluate import score
    from rankscope.scoring.inputs import read_inputs
    from rankscope.scoring.scoring_options import Scoring

    measures = list(options.pop("measures")) or None
    scoring = Scoring.of("diagnose", rules)
    judgments, runs, _ = read_inputs(qrels, shared.named_runs(run), scoring)
    options |= {name: rules[name] for name in ("profile", "ontology") if name in rules}
    options["configs"] = apply_overrides(Origins(ConfigFile({}, "--set")), configured)
    diagnosis = diagnose_runs(judgments, runs, measures, **options)
    return diagnosis, lambda: score(judgments, runs, measures, replace(scoring, ontology=None))


def _of_folder(ctx: click.Context, folder: Path, only: tuple[str, ...]) -> Diagnosis:
    """Take what the report of a benchmark holds."""
    from rankscope.benchmark.verify import open_experiment
    from rankscope.records.diagnosis import Diagnosis

    for typed in typed_options(ctx):
        if typed.part is not shared.WRITING and typed.name not in ("only", "pool"):
            raise click.UsageError(
                f"{typed.opts[0]} cannot change what a benchmark found; give QRELS and RUN, or run "
                "the benchmark again"
            )
    _, report = open_experiment(folder)
    return Diagnosis.of_report(report, only)


def _write_pool(diagnosis: Diagnosis, path: str) -> None:
    from rankscope.diagnosis.holes import holes
    from rankscope.diagnosis.judge_next import write_pool
    from rankscope.errors import InputError
    from rankscope.findings import NotApplicable

    unjudged = holes.of(diagnosis.analyses)
    if unjudged is None:
        answer = getattr(diagnosis.analyses, holes.name)
        why = answer.reason if isinstance(answer, NotApplicable) else "it was not run"
        raise InputError(f"--pool: the analysis {holes.name} has no pairs to judge ({why})")
    write_pool(unjudged.judge, path)
