"""``rankscope judge --model``: a language model judges, beside people."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankscope.benchmark.config.loading import read_llm_config
from rankscope.cli.output import Output, print_line
from rankscope.cli.progress import watching
from rankscope.collection.qrels import Qrels
from rankscope.errors import InputError, shown
from rankscope.files import replacing, suffix_of
from rankscope.printing import hide_with
from rankscope.reports.judging.judgment_exports import (
    check_kind,
    existing_grades,
    qrels_bytes,
    table_bytes,
)
from rankscope.retrieval.llm.llm_judge import judge_with_llm, median_grades, plan_judging

if TYPE_CHECKING:
    from rankscope.reports.judging.judging_pool import JudgingPool
    from rankscope.reports.judging.judgment_log import Pair

CONFIGS = (".yaml", ".yml", ".toml", ".json")
"""Suffixes of a file that --model names; anything else is a model's name."""


def judge_by_model(
    read_pool: Callable[[], JudgingPool],
    place: str | None,
    runs: tuple[str, ...],
    options: Mapping[str, Any],
    output: Output,
) -> None:
    """Let the model judge, and write its ratings and how far it can be trusted."""
    ratings, qrels, quiet = options["ratings"], options["qrels"], options["quiet"]
    if ratings is None and not options["dry_run"]:
        raise click.UsageError("name where ratings go: --ratings OUT")
    if ratings is not None:  # names that would be refused after the work is done
        check_kind(ratings, "ratings")
    if qrels is not None:
        check_kind(qrels, "qrels")
    model, settings = options["model"], options["settings"]
    is_file = suffix_of(model) in CONFIGS
    read = [place, options["human"], *runs, options["queries"], options["corpus"]]
    written = {"--ratings": ratings, "--qrels": qrels, "--output": output.target}
    _check_nothing_is_lost(written, [*read, model] if is_file else read)
    config = read_llm_config(
        model if is_file else None,
        settings=settings if is_file else (f"model={model}", *settings),
    )
    hide_with(config.secrets.hide)
    pool = read_pool()
    human = _labels(options["human"], dict.fromkeys(pool.pairs))
    arguments: dict[str, Any] = {"repeats": options["repeats"], "folder": config.folder}
    if options["dry_run"]:
        output.write(plan_judging(pool, config.options, **arguments))
        return
    cache = options["cache"]
    with config.secrets.hidden_in_errors(), watching(quiet=quiet) as watcher:
        stage = f"judge with {config.options.model}"
        watcher.begun(stage)
        judged = judge_with_llm(
            pool,
            config.options,
            human=human,
            cache=Path(ratings).absolute().parent / ".cache" if cache is None else Path(cache),
            progress=lambda done, total: watcher.step(stage, done, total),
            **arguments,
        )
        watcher.ended(stage, judged.result.usage.seconds)
    frame = judged.ratings.to_polars()
    with replacing(ratings) as sink:
        sink.write(table_bytes(frame.with_columns(frame["grade"].cast(int)), ratings))
    if qrels is not None:
        with replacing(qrels) as sink:
            sink.write(qrels_bytes(Qrels(median_grades(judged.ratings)), qrels))
    is_shown = output.format == "table" and output.target is None
    if not quiet or not is_shown:
        output.write(judged.result)
    for path in (ratings, qrels):
        if path is not None and is_shown and not quiet:
            print_line(f"written to {path}")


def _check_nothing_is_lost(written: dict[str, str | None], read: list[str | None]) -> None:
    """Refuse to write over what is read, such as the judgments of people, or twice to one file."""
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
    labels = existing_grades(path)
    shared = {pair: grade for pair, grade in labels.items() if pair in pairs}
    if not shared:
        query_id, doc_id = next(iter(pairs))
        raise InputError(
            f"{path}: judges no pair of the pool, such as query {shown(query_id, 40)}, document "
            f"{shown(doc_id, 40)}; name judgments of the same pairs"
        )
    return shared
