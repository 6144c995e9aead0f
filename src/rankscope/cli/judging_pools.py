"""What the commands that judge have in common: which pairs, and the texts of both."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.options import Command, named_runs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rankscope.reports.judging.judging_pool import JudgingPool


def pool_options(command: Command) -> Command:
    """Add the options that say which pairs are judged, and where their texts are."""
    for option in (
        click.option("--corpus", metavar="FILE", help="The documents."),
        click.option("--queries", metavar="FILE", help="Queries with texts and information needs."),
        click.option(
            "--depth",
            type=click.IntRange(1),
            default=10,
            show_default=True,
            help="With --runs: how many documents of each answer.",
        ),
        click.option(
            "--runs",
            multiple=True,
            metavar="RUN",
            help="Judge the first documents of it (repeatable).",
        ),
    ):
        command = option(command)
    return command


def chosen_pool(pool: str | None, runs: tuple[str, ...], options: Mapping[str, Any]) -> JudgingPool:
    """Return what is to be judged: a file, what an experiment names, or the top of runs.

    ``options`` holds depth, queries and corpus.
    """
    from rankscope.reports.judging.judging_pool import (
        asked_in,
        pool_of_runs,
        read_pool,
        shelved_in,
    )

    pools = []
    if pool is not None:
        pools.append(_of_experiment(Path(pool)) if os.path.isdir(pool) else read_pool(pool))
    if runs:
        from rankscope.runs.table import as_run

        answers = [as_run(run) for run in named_runs(runs)]
        pools.append(
            pool_of_runs(answers, options["depth"], ", ".join(run.name for run in answers))
        )
    whole = pools[0] if len(pools) == 1 else pools[0].joined(pools[1])
    if options["queries"] is not None:
        from rankscope.collection.queries import read_queries

        known = asked_in(read_queries(options["queries"]))
        _check_shared({pair.query_id for pair in whole.ranks}, known, "query", options["queries"])
        whole = whole.with_queries(known)
    if options["corpus"] is not None:
        documents = dict(whole.only(shelved_in(options["corpus"])))
        wanted = {pair.doc_id for pair in whole.ranks}
        _check_shared(wanted, documents, "document", options["corpus"])
        whole = whole.with_documents(documents.items())
    return whole


def _check_shared(wanted: set[str], known: Collection[str], noun: str, path: str) -> None:
    """Refuse a file that knows nothing of the pool; say what it does not know."""
    from rankscope.cli import say
    from rankscope.errors import InputError, counted, shown

    missing = sorted(wanted.difference(known))
    if len(missing) == len(wanted):
        raise InputError(
            f"{path}: holds no {noun} of the pool, such as {shown(missing[0], 40)}; name the file "
            "that does"
        )
    if missing:
        of_all = f"{len(missing):,} of {counted(len(wanted), noun)}"
        say(
            f"{path}: lacks {of_all}, such as {shown(missing[0], 40)}; what is missing is not shown"
        )


def _of_experiment(folder: Path) -> JudgingPool:
    """Make a pool of what the report of a benchmark says to judge next."""
    from rankscope.benchmark.folders import inside
    from rankscope.benchmark.verify import open_experiment
    from rankscope.collection.queries import read_queries
    from rankscope.diagnosis.holes import holes
    from rankscope.errors import InputError
    from rankscope.records.table_names import DOCUMENTS, QUERIES
    from rankscope.reports.judging.judging_pool import asked_in_experiment, pool_of, shelved_in

    _, report = open_experiment(folder)
    unjudged = holes.of(report.analyses)
    if unjudged is None or not unjudged.judge:
        raise InputError(
            f"{folder}: its report names nothing to judge; give a pool, or --runs with --depth"
        )
    pool = pool_of(unjudged.judge, folder.resolve().name)
    if inside(folder, QUERIES).is_file():
        pool = pool.with_queries(asked_in_experiment(read_queries(inside(folder, QUERIES))))
    documents = inside(folder, DOCUMENTS)
    return pool.with_documents(shelved_in(documents)) if documents.is_file() else pool
