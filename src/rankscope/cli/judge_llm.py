"""``rankscope judge-llm``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.judging_pools import chosen_pool, pool_options
from rankscope.cli.options import (
    MAX_SIZE,
    QUIET,
    TARGET,
    OutputName,
    check_standard_input,
    format_option,
)

if TYPE_CHECKING:
    from rankscope.benchmark.config.llm_config import LlmConfig
    from rankscope.collection.ratings import Ratings
    from rankscope.reports.judging.judging_pool import JudgingPool
    from rankscope.reports.judging.judgment_log import Pair
    from rankscope.retrieval.llm.llm_judge import JudgedByLlm


@click.command()
@click.argument("pool", metavar="[POOL|DIR]", required=False)
@click.option("--llm", metavar="FILE", help="The options of the model: url, model, key, …")
@click.option(
    "--ratings",
    type=OutputName(),
    metavar="OUT",
    help="Write a row for each rating there: .csv, .tsv or .jsonl.",
)
@pool_options
@click.option(
    "--human",
    metavar="QRELS",
    help="What people say of some of the pairs: the model is compared with them.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    help="How often each pair is judged: how far does the model agree with itself?",
)
@click.option(
    "--qrels",
    type=OutputName(),
    metavar="OUT",
    help="Write qrels there, too, with the median grade: .qrels or .txt (TREC), .tsv (BEIR).",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set an option of the model, as in model=large or budget.money=2 (repeatable).",
)
@click.option(
    "--cache",
    type=OutputName(),
    metavar="DIR",
    help="Where replies are kept, so that nothing is asked twice.  [default: .cache beside "
    "--ratings]",
)
@click.option(
    "--dry-run", is_flag=True, help="Say what it would take and what is sent, and send nothing."
)
@format_option()
@TARGET
@QUIET
@MAX_SIZE
def judge_llm(
    *,
    pool: str | None,
    llm: str | None,
    ratings: str | None,
    runs: tuple[str, ...],
    human: str | None,
    repeats: int,
    qrels: str | None,
    settings: tuple[str, ...],
    cache: str | None,
    dry_run: bool,
    format: str,
    target: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Let a language model judge documents, and say how far it can be trusted.

    POOL names the pairs to judge, as for 'rankscope judge', or judgments of people to judge again.
    --llm names a file with url, model and key: ${NAME} of an OpenAI-compatible endpoint; the texts
    of queries and documents are sent there. With --human the grades are set beside those of people
    and beside the best constant answer, with --repeats beside each other. Replies are kept: after
    an interruption, or a budget that is used up, the same command goes on from there.
    """
    from rankscope.benchmark.config.llm_config import read_llm_config
    from rankscope.cli.output import emit, print_line
    from rankscope.printing import hide_with
    from rankscope.retrieval.llm.judging_batches import plan_judging

    if pool is None and not runs:
        raise click.UsageError("Name what to judge: POOL, DIR or --runs RUN.")
    if llm is None and not settings:
        raise click.UsageError("Name the model: --llm FILE, or --set url=… and --set model=….")
    if ratings is None and not dry_run:
        raise click.UsageError("Name where ratings go: --ratings OUT.")
    check_standard_input(pool, *runs, llm, human, options["queries"], options["corpus"])
    _check_names(ratings, qrels)
    read = [pool, llm, human, *runs, options["queries"], options["corpus"]]
    _check_nothing_is_lost({"--ratings": ratings, "--qrels": qrels, "--output": target}, read)
    config = read_llm_config(llm, settings=settings)
    hide_with(config.secrets.hide)
    whole = chosen_pool(pool, runs, options)
    labels = _labels(human, whole.ranks)
    if dry_run:
        plan = plan_judging(whole, config.options, repeats=repeats, folder=config.folder)
        emit(plan, format=format, target=target)
        return
    assert ratings is not None
    place = Path(ratings).absolute().parent / ".cache" if cache is None else Path(cache)
    judged = _judge(whole, config, labels, repeats=repeats, cache=place, quiet=quiet)
    _write_ratings(judged.ratings, ratings)
    if qrels is not None:
        _write_qrels(judged.ratings, qrels)
    if not quiet or target is not None or format != "table":
        emit(judged.result, format=format, target=target)
    if not quiet and format == "table" and target is None:
        print_line()
        for path in filter(None, (ratings, qrels)):
            print_line(f"written to {path}")


def _judge(
    pool: JudgingPool,
    config: LlmConfig,
    human: dict[Pair, float] | None,
    *,
    repeats: int,
    cache: Path,
    quiet: bool,
) -> JudgedByLlm:
    """Ask, and show how far it is."""
    from rankscope.cli.progress import watching
    from rankscope.retrieval.llm.llm_judge import judge_with_llm

    with config.secrets.hidden_in_errors(), watching(quiet=quiet) as watcher:
        stage = f"judge with {config.options.model}"
        watcher.begun(stage)
        judged = judge_with_llm(
            pool,
            config.options,
            repeats=repeats,
            human=human,
            cache=cache,
            folder=config.folder,
            progress=lambda done, total: watcher.step(stage, done, total),
        )
        watcher.ended(stage, judged.result.usage.seconds, was_there=True)
    return judged


def _check_names(ratings: str | None, qrels: str | None) -> None:
    """Refuse names of files that would be refused after the work is done."""
    from rankscope.reports.judging.judgment_exports import export_format, qrels_format

    if ratings is not None:
        export_format(ratings, "ratings")
    if qrels is not None:
        qrels_format(qrels)


def _check_nothing_is_lost(written: dict[str, str | None], read: list[str | None]) -> None:
    """Refuse to write over what is read, such as the judgments of people, or twice to one file."""
    from rankscope.errors import InputError, shown

    taken = {os.path.realpath(path.rpartition("=")[2]) for path in read if path is not None}
    for option, path in written.items():
        if path is None or path == "-":
            continue
        if os.path.realpath(path) in taken:
            raise InputError(
                f"{option} {shown(path)}: this file is read or written here already, and would be "
                "lost; name another one"
            )
        taken.add(os.path.realpath(path))


def _labels(path: str | None, pairs: Any) -> dict[Pair, float] | None:
    """Read what people say of the pairs."""
    if path is None:
        return None
    from rankscope.errors import InputError, shown
    from rankscope.reports.judging.judgment_exports import existing_grades

    labels = existing_grades(path)
    shared = {pair: grade for pair, grade in labels.items() if pair in pairs}
    if not shared:
        query_id, doc_id = next(iter(pairs))
        raise InputError(
            f"{path}: judges no pair of the pool, such as query {shown(query_id, 40)}, document "
            f"{shown(doc_id, 40)}; name judgments of the same pairs"
        )
    return shared


def _write_ratings(ratings: Ratings, path: str) -> None:
    """Write a row for each rating, all at once or not at all."""
    from rankscope.files import replacing, suffix_of
    from rankscope.tables.delimited import delimited_bytes
    from rankscope.tables.jsontext import dump_json

    frame = ratings.to_polars()
    frame = frame.with_columns(frame["grade"].cast(int))
    if suffix_of(path) in (".jsonl", ".ndjson"):
        content = "".join(f"{dump_json(row)}\n" for row in frame.iter_rows(named=True)).encode()
    else:
        content = delimited_bytes(frame, "," if suffix_of(path) == ".csv" else "\t")
    with replacing(path) as sink:
        sink.write(content)


def _write_qrels(ratings: Ratings, path: str) -> None:
    from rankscope.collection.qrels import Qrels
    from rankscope.files import replacing
    from rankscope.reports.judging.judgment_exports import qrels_bytes
    from rankscope.retrieval.llm.llm_judge import median_grades

    with replacing(path) as sink:
        sink.write(qrels_bytes(Qrels(median_grades(ratings)), path))
