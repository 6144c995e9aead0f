"""``rankscope judge``: which documents are judged, and by whom."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import shared
from rankscope.cli.help import command, option, rare, typed_options, under
from rankscope.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rankscope.reports.judging.judging_pool import JudgingPool


@command(
    "rankscope diagnose demo/qrels.tsv demo/lexical.run demo/hybrid.run --pool pool.jsonl",
    "rankscope judge pool.jsonl --export judged.qrels",
    "rankscope judge pool.jsonl --queries demo/queries.jsonl --corpus demo/corpus.jsonl \\",
    "  --model qwen3 --set url=http://localhost:11434/v1 --dry-run",
)
@click.argument("pool", metavar="[POOL|DIR]", required=False)
@option("--runs RUN", "Judge the first documents of RUN (repeatable)", multiple=True)
@rare("--depth N", "Documents per run, with --runs", default=10)
@option("--queries FILE", "Queries with texts and information needs")
@option("--corpus FILE", "Documents with titles and texts")
@option("--qrels OUT", "Write qrels at the end: .qrels, .txt (TREC), .tsv (BEIR)")
@rare("--rater NAME", "Who judges  [default: the page asks]", "Judging")
@option("--export OUT", "Write what is judged so far, and open no page", "Judging")
@rare(
    "--order WAY",
    "Order of the documents; random differs by rater, given is that of the pool",
    "Judging",
    one_of=["random", "given"],
    default="random",
)
@rare(
    "--grades LIST",
    "Grades and meanings  [default: 0=not relevant,1=related,2=relevant,3=perfect]",
    "Judging",
)
@rare("--guidelines FILE", "Text that raters can open beside documents", "Judging")
@rare(
    "--existing QRELS",
    "Judgments to skip, and to add to the qrels  [default: DIR's own]",
    "Judging",
)
@rare("--log FILE", "Log of judgments  [default: POOL.judgments.jsonl]", "Judging")
@rare("--port N", "Port of the page", "Judging", type=click.IntRange(1, 65535))
@option("--model NAME|FILE", "Language model that judges: name or config file", "Model")
@option(
    "--set settings KEY=VALUE",
    "Set an option of the model: url=…, budget.money=2",
    "Model",
    multiple=True,
)
@option("--ratings OUT", "Write a row for each rating: .csv, .jsonl", "Model")
@rare("--human QRELS", "Compare the model with these judgments of people", "Model")
@option("--dry-run", "Show the plan and the first request; send nothing", "Model")
@rare(
    "--repeats N",
    "Judge each pair N times, to see how far the model agrees with itself",
    "Model",
    type=click.IntRange(1, 20),
    default=1,
)
@rare("--cache DIR", "Cache of replies  [default: .cache beside --ratings]", "Model")
@shared.QUIET
@shared.formats()
@shared.TARGET
@under("Judging", shared.OPEN)
@click.pass_context
def judge(
    ctx: click.Context,
    /,
    *,
    pool: str | None,
    runs: tuple[str, ...],
    output: Output,
    **options: Any,
) -> None:
    """Judge documents, yourself on a local page or with a language model.

    POOL names the pairs to judge: what 'rankscope diagnose --pool' writes, any table of queries and
    documents, or the folder of a benchmark (DIR). Systems, ranks and scores stay hidden. --model
    sends the texts to a model and caches its replies, so a stopped command continues.
    """
    if pool is None and not runs and not (options["log"] and options["export"]):
        raise click.UsageError("name what to judge: POOL, DIR or --runs RUN")
    if pool is not None and runs:
        raise click.UsageError("name a pool or --runs, not both")
    other = "Judging" if options["model"] else "Model"
    for typed in typed_options(ctx):
        if typed.heading == other:
            needs = "is for people, not for --model" if options["model"] else "needs --model NAME"
            raise click.UsageError(f"{typed.opts[0]} {needs}")
    if options["model"]:
        from rankscope.cli.judge_model import judge_by_model as begin
    else:
        from rankscope.cli.judge_page import judge_on_page as begin
    begin(lambda: _chosen_pool(pool, runs, options), pool, runs, options, output)


def _chosen_pool(
    pool: str | None, runs: tuple[str, ...], options: Mapping[str, Any]
) -> JudgingPool:
    """Return what is to be judged: a file, what an experiment names, or the top of runs.

    ``options`` holds depth, queries and corpus.
    """
    from rankscope.collection.queries import read_queries
    from rankscope.reports.judging.judging_pool import (
        document_texts,
        pool_of_runs,
        query_texts,
        read_pool,
    )
    from rankscope.runs.table import as_run

    if pool is not None:
        whole = _of_experiment(Path(pool)) if os.path.isdir(pool) else read_pool(pool)
    else:
        answers = [as_run(run) for run in shared.named_runs(runs)]
        names = ", ".join(run.name for run in answers)
        whole = pool_of_runs(answers, options["depth"], names)
    if options["queries"] is not None:
        known = query_texts(read_queries(options["queries"]))
        query_ids = frozenset(pair.query_id for pair in whole.pairs)
        _check_shared(query_ids, known, "query", options["queries"])
        whole = whole.with_texts(known)
    if options["corpus"] is not None:
        doc_ids = frozenset(pair.doc_id for pair in whole.pairs)
        documents = document_texts(options["corpus"], doc_ids)
        _check_shared(doc_ids, documents, "document", options["corpus"])
        whole = whole.with_texts(documents=documents)
    return whole


def _check_shared(wanted: frozenset[str], known: Collection[str], noun: str, path: str) -> None:
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
        share = f"{len(missing):,} of {counted(len(wanted), noun)}"
        say(f"{path}: lacks {share}, such as {shown(missing[0], 40)}; what is missing is not shown")


def _of_experiment(folder: Path) -> JudgingPool:
    """Make a pool of what the report of a benchmark says to judge next."""
    from rankscope.benchmark.folder import inside
    from rankscope.benchmark.verify import open_experiment
    from rankscope.collection.queries import read_queries
    from rankscope.diagnosis.holes import holes
    from rankscope.errors import InputError
    from rankscope.records.experiment_files import DOCUMENTS, QUERIES
    from rankscope.reports.judging.judging_pool import document_texts, pool_of, query_texts

    _, report = open_experiment(folder)
    unjudged = holes.of(report.analyses)
    if unjudged is None or not unjudged.judge:
        raise InputError(
            f"{folder}: its report names nothing to judge; give a pool, or --runs with --depth"
        )
    pool = pool_of(unjudged.judge, folder.resolve().name)
    if inside(folder, QUERIES).is_file():
        pool = pool.with_texts(query_texts(read_queries(inside(folder, QUERIES))))
    corpus = inside(folder, DOCUMENTS)
    if corpus.is_file():
        doc_ids = {pair.doc_id for pair in pool.pairs}
        pool = pool.with_texts(documents=document_texts(corpus, doc_ids))
    return pool
