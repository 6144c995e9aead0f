"""``rankscope diagnose``."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.options import (
    ALPHA,
    DEFAULTS,
    LANGUAGE,
    MAX_SIZE,
    NO_ANSWER,
    PROFILE,
    RELEVANCE_LEVEL,
    RESAMPLES,
    SEED,
    TARGET,
    OutputName,
    check_standard_input,
    format_option,
    given_options,
    measures_option,
    named_runs,
    ontology_options,
    page_options,
    table_options,
)
from rankscope.cli.output import emit
from rankscope.cli.page_contents import page_contents

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankscope.records.diagnosis import Diagnosis
    from rankscope.reports.explorer.contents import Contents
    from rankscope.scoring.scores import Scored


@click.command()
@click.argument("qrels", metavar="QRELS|DIR")
@click.argument("run", nargs=-1)
@measures_option(f"Repeatable. {DEFAULTS}")
@click.option("--baseline", metavar="NAME", help="The run that others are compared with.")
@click.option("--only", multiple=True, metavar="NAME", help="Ask this analysis only (repeatable).")
@click.option("--queries", metavar="FILE", help="Queries with texts and metadata.")
@click.option("--corpus", metavar="FILE", help="The documents.")
@click.option("--stages", metavar="A,B,C", help="Runs that build on each other, first to last.")
@click.option("--decisions", metavar="FILE", help="What a router or gate decided, by query.")
@click.option("--ratings", metavar="FILE", help="Grades of several judges for the same documents.")
@click.option("--training", metavar="FILE", help="Questions that something learnt from.")
@click.option("--costs", metavar="FILE", help="Latency, money, …: a row for each run.")
@click.option(
    "--targets",
    multiple=True,
    metavar="SET",
    help="Targets of figures, such as rag-moe, or a file of yours (repeatable).",
)
@click.option(
    "--set",
    "configured",
    multiple=True,
    metavar="KEY=VALUE",
    help="Configure an analysis, as in segments=[category,words] (repeatable).",
)
@click.option(
    "--pool", type=OutputName(), metavar="FILE", help="Write the pairs that are best judged next."
)
@ALPHA
@RESAMPLES
@SEED
@PROFILE
@format_option()
@page_options
@TARGET
@table_options
@NO_ANSWER
@RELEVANCE_LEVEL
@ontology_options
@LANGUAGE
@MAX_SIZE
@click.pass_context
def diagnose(
    ctx: click.Context,
    /,
    *,
    qrels: str,
    run: tuple[str, ...],
    configured: tuple[str, ...],
    pool: str | None,
    format: str,
    top: int | None,
    text: bool,
    target: str | None,
    **options: Any,
) -> None:
    """Say where each RUN loses, why, and what would gain most.

    Every analysis that what you give allows says what it found, that it found nothing, or that it
    is not applicable and why. In place of qrels and runs, DIR may be the folder of a benchmark:
    then its report is read.
    """
    from rankscope.part import without_texts

    if pool is not None:
        from rankscope.diagnosis.judge_next import check_pool_name

        check_pool_name(pool)
    of_folder = not run and os.path.isdir(qrels)
    files = {"queries": options["queries"] or qrels, "corpus": options["corpus"]}
    if of_folder:
        diagnosis = _of_folder(ctx, qrels, options["only"])
    else:
        diagnosis, scored = _of_runs(qrels, run, configured, options)
    if pool is not None:
        _write_pool(diagnosis, pool)

    def contents() -> Contents | None:
        from rankscope.diagnosis.failures import failures
        from rankscope.reports.explorer.whole_page import limited

        if of_folder:
            return limited(_folder_contents(qrels), top=top, with_text=text)
        return page_contents(
            scored(),
            **files,
            top=top,
            with_text=text,
            baseline=diagnosis.baseline,
            failures=failures.of(diagnosis.analyses),
        )

    shown = diagnosis if text or format != "html" else without_texts(diagnosis)
    emit(shown, format=format, target=target, contents=contents)


def _folder_contents(folder: str) -> Contents | None:
    """Gather what the tables of an experiment hold."""
    from pathlib import Path

    from rankscope.benchmark.drawn_pages import folder_contents
    from rankscope.benchmark.verify import open_experiment

    manifest, report = open_experiment(Path(folder))
    return folder_contents(report, Path(folder), manifest)


def _of_runs(
    qrels: str, run: tuple[str, ...], configured: tuple[str, ...], options: dict[str, Any]
) -> tuple[Diagnosis, Callable[[], Scored]]:
    """Diagnose runs; also return a function that scores them once more, for a page."""
    from rankscope.measures.language import DEFAULT_MEASURES
    from rankscope.records.diagnosis import diagnose as diagnose_runs
    from rankscope.scoring.evaluate import score
    from rankscope.scoring.inputs import read_inputs
    from rankscope.scoring.options import Scoring

    if not run and qrels != "-" and not os.path.exists(qrels):
        raise click.UsageError(f"{qrels}: file or folder not found")
    if not run:
        raise click.UsageError("Missing argument 'RUN...'.")
    files = ("queries", "corpus", "decisions", "ratings", "training", "costs")
    check_standard_input(qrels, *run, *(options[name] for name in files))
    measures = list(options.pop("measures") or DEFAULT_MEASURES)
    rules = {**given_options(), "profile": options["profile"], "ontology": options["ontology"]}
    scoring = Scoring.of("diagnose", rules)
    judgments, runs, _ = read_inputs(qrels, named_runs(run), scoring)
    targets = _goals(options.pop("targets"))
    diagnosis = diagnose_runs(
        judgments, runs, measures, targets=targets, configs=_configs(configured), **options
    )
    return diagnosis, lambda: score(judgments, runs, measures, replace(scoring, ontology=None))


def _of_folder(ctx: click.Context, folder: str, only: tuple[str, ...]) -> Diagnosis:
    """Take what the report of a benchmark holds."""
    from pathlib import Path

    from rankscope.benchmark.verify import open_experiment
    from rankscope.records.diagnosis import Diagnosis

    for parameter in ctx.command.params:
        is_given = ctx.get_parameter_source(parameter.name or "") is (
            click.core.ParameterSource.COMMANDLINE
        )
        if is_given and parameter.name not in _OF_FOLDER:
            raise click.UsageError(
                f"{parameter.opts[0]} cannot change what a benchmark found; give QRELS and RUN, or "
                "run the benchmark again"
            )
    _, report = open_experiment(Path(folder))
    return Diagnosis.of_report(report, only)


_OF_FOLDER = ("qrels", "only", "pool", "format", "raw", "target", "top", "text")
"""What can be asked of a report that is there."""


def _write_pool(diagnosis: Diagnosis, path: str) -> None:
    from rankscope.diagnosis.holes import holes
    from rankscope.diagnosis.judge_next import write_pool
    from rankscope.errors import InputError
    from rankscope.findings import NotApplicable

    unjudged = holes.of(diagnosis.analyses)
    if unjudged is None:
        answer = getattr(diagnosis.analyses, holes.name)
        why = answer.reason if isinstance(answer, NotApplicable) else "it was not asked"
        raise InputError(f"--pool: the analysis {holes.name} has no pairs to judge ({why})")
    write_pool(unjudged.judge, path)


def _goals(targets: tuple[str, ...]) -> dict[str, Any]:
    """Return what figures should reach, by name."""
    if not targets:
        return {}
    from pathlib import Path

    from rankscope.benchmark.targets import load_targets

    goals = dict(load_targets(list(targets), [], Path()).figure_goals)
    if not goals:
        from rankscope.errors import InputError

        raise InputError(
            f"--targets: {', '.join(targets)} has no target of a figure; rag-moe has, or a file of "
            "yours with a section figures"
        )
    return goals


def _configs(settings: tuple[str, ...]) -> dict[str, Any]:
    """Return what is configured, by analysis: ``segments=[a]`` or ``segments.bins=3``."""
    from rankscope.benchmark.config.syntax import parse_value

    configs: dict[str, Any] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        name, dot, option = key.partition(".")
        if not sign or not name or (dot and not option):
            raise click.UsageError(
                f"--set must be ANALYSIS=VALUE or ANALYSIS.OPTION=VALUE, such as "
                f"segments=[category,words]; got {setting!r}"
            )
        value = parse_value(text, source=f"--set {key}")
        if not option:
            configs[name] = value
        elif isinstance(configs.setdefault(name, {}), dict):
            configs[name][option] = value
        else:
            raise click.UsageError(f"--set {name}=… and --set {key}=… cannot both be given")
    return configs
