"""``rankscope evaluate``."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.console import json_text, make_console, print_json, visible
from rankscope.cli.tables import Column, blocks_needed, print_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from rankscope.scoring.bounds import BoundsTable
    from rankscope.scoring.evaluate import Scores

__all__ = ["evaluate", "show_scores"]

FORMATS = ("table", "trec", "json", "csv", "markdown", "latex")
PROFILES = (
    *("rankscope", "trec_eval-9", "trec_eval-10", "ir_measures", "ranx", "beir"),
    "sentence-transformers",
)


@click.command()
@click.argument("qrels")
@click.argument("run", nargs=-1, required=True)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="Repeatable, in anybody's notation: nDCG@10, ndcg_cut_10, MRR@10, 'nDCG(gain=exp)@10'. "
    "[default: nDCG@10 AP@100 RR@10 R@50 R@100 Success@10]",
)
@click.option("--per-query", is_flag=True, help="The value of every query, not only the mean.")
@click.option("--format", "output", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="rankscope",
    show_default=True,
    help="Whose rules: ties, precision, missing queries, definitions.",
)
@click.option(
    "--ties",
    type=click.Choice(["trec", "id-asc", "given"]),
    help="Among equal scores: the higher id first, the lower id first, or as given.",
)
@click.option(
    "--intersect", is_flag=True, help="Leave judged queries the run lacks out of the mean."
)
@click.option(
    "--bounds", is_flag=True, help="How far ties and unjudged documents could move a mean."
)
@click.option(
    "--hole-grade",
    type=float,
    default=1.0,
    show_default=True,
    help="With --bounds: the grade unjudged documents are given.",
)
@click.option("--labels", metavar="E=3,S=2,…", help="What the labels of the qrels mean.")
@click.option("-o", "--output", "target", metavar="FILE", help="Write there instead.")
def evaluate(
    *,
    qrels: str,
    run: tuple[str, ...],
    measures: tuple[str, ...],
    per_query: bool,
    output: str,
    profile: str,
    ties: Any,
    intersect: bool,
    bounds: bool,
    hole_grade: float,
    labels: str | None,
    target: str | None,
) -> None:
    """Score each RUN against the judgments in QRELS.

    A query that is judged and missing from a run counts as 0; how many there are is always said.
    """
    from rankscope.collection.qrels import parse_labels, read_qrels
    from rankscope.measures.language import DEFAULT_MEASURES
    from rankscope.scoring.bounds import bounds as find_bounds
    from rankscope.scoring.evaluate import evaluate as score
    from rankscope.scoring.inputs import as_judgments, as_runs

    asked = list(measures or DEFAULT_MEASURES)
    judgments = as_judgments(read_qrels(qrels, labels=parse_labels(labels) if labels else None))
    runs, _ = as_runs(list(run))
    queries: Any = "both" if intersect else None
    scores = score(judgments, runs, asked, profile=profile, ties=ties, queries=queries)
    found = {
        name: find_bounds(
            judgments,
            one,
            asked,
            holes=bounds,
            hole_grade=hole_grade,
            profile=profile,
            ties=ties,
            queries=queries,
        )
        for name, one in runs.items()
        if bounds or (output in ("table", "json") and scores.run(name).accounting.tied_hits)
    }
    if output == "table":
        with _table_console(target) as console:
            show_scores(scores, console, per_query=per_query)
            _show_ties(found, console)
            if bounds:
                _show_holes(found, console)
        return
    if output == "json":
        data = scores.record(per_query=per_query, bounds=found).to_dict()
        if target is None:
            print_json(data)
        else:
            _write(target, json_text(data))
        return
    text = _as_text(scores, output, per_query=per_query)
    if target is None:
        click.echo(text, nl=False)
    else:
        _write(target, text)


def _write(target: str, text: str) -> None:
    from rankscope.files import replacing

    with replacing(target) as sink:
        sink.write(text.encode("utf-8", "backslashreplace"))


@contextmanager
def _table_console(target: str | None) -> Iterator[Console]:
    """Return where a table goes: the terminal, or a file in plain text."""
    if target is None:
        yield make_console()
        return
    import io

    from rich.console import Console

    text = io.StringIO()
    yield Console(file=text, width=100, color_system=None, highlight=False, markup=False,
                  emoji=False)  # fmt: skip
    _write(target, "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))


def _as_text(scores: Scores, output: str, *, per_query: bool) -> str:
    from rankscope.reports import scores as reports

    if output == "csv":
        return reports.scores_as_csv(scores, per_query=per_query)
    if output == "trec":
        return reports.scores_as_trec(scores, per_query=per_query)
    if output == "latex":
        return reports.scores_as_latex(scores, per_query=per_query)
    return reports.scores_as_markdown(scores, per_query=per_query)


def show_scores(scores: Scores, console: Console, *, per_query: bool = False) -> None:
    """Print scores for a person: a row for each run, best of each measure in bold.

    Where the measures do not fit beside each other there is a row for each of them instead.
    """
    from rich.text import Text

    from rankscope.reports.scores import accounting_sentences

    if per_query:
        _show_per_query(scores, console)
    _show_means(scores, console)
    console.print()
    for own, asked in scores.asked.items():
        if own != asked:
            console.print(Text(visible(f"{own}, asked for as {asked}"), style="dim"))
    said = {
        name: "; ".join(accounting_sentences(scores.run(name).accounting)) for name in scores.runs
    }
    if len(set(said.values())) == 1:
        console.print(Text(next(iter(said.values())), style="dim"))
    else:
        for name, sentence in said.items():
            console.print(Text(visible(f"{name}: {sentence}"), style="dim"))
    if scores.profile.name != "rankscope":
        rules = f"rules of {scores.profile.name}: {scores.profile.summary}"
        console.print(Text(rules, style="dim"))


def _show_means(scores: Scores, console: Console) -> None:
    from rankscope.reports.scores import shown_value

    best = {measure: _best(scores, measure) for measure in scores.measures}

    def cell(name: str, measure: str) -> tuple[str, str]:
        value = scores.run(name).means[measure]
        bold = len(scores.runs) > 1 and value == best[measure]
        return shown_value(measure, value), "bold green" if bold else ""

    names = Column("run", [(name, "bold") for name in scores.runs], right=False)
    by_measure = [Column(m, [cell(name, m) for name in scores.runs]) for m in scores.measures]
    if blocks_needed(names, by_measure, console.width) == 1:
        print_columns(console, names, by_measure)
        return
    measures = Column("measure", [(measure, "bold") for measure in scores.measures], right=False)
    by_run = [Column(n, [cell(n, measure) for measure in scores.measures]) for n in scores.runs]
    print_columns(console, measures, by_run)


def _best(scores: Scores, measure: str) -> float:
    from rankscope.measures.language import Measure

    values = [scores.run(name).means[measure] for name in scores.runs]
    higher = Measure.parse(measure).definition.higher_is_better
    return max(values) if higher else min(values)


def _show_per_query(scores: Scores, console: Console) -> None:
    from rankscope.reports.scores import shown_value

    for name in scores.runs:
        run = scores.run(name)
        title = "query" if len(scores.runs) == 1 else f"query ({name})"
        queries = Column(title, [(query_id, "") for query_id in run.query_ids], right=False)
        columns = [
            Column(measure, [(shown_value(measure, value), "") for value in values])
            for measure, values in zip(scores.measures, run.values.tolist(), strict=True)
        ]
        print_columns(console, queries, columns)
        console.print()


def _show_ties(found: dict[str, BoundsTable], console: Console) -> None:
    """Print how far the order of equal scores could move each mean, where it is seen."""
    rows: list[tuple[str, ...]] = []
    for name, all_bounds in found.items():
        for one in all_bounds:
            low, high = (
                ("not known",) * 2
                if one.ties is None
                else (f"{b:.4f}" for b in (one.ties.lowest, one.ties.highest))
            )
            if one.ties is None or low != high:
                rows.append((name, one.measure, f"{one.value:.4f}", low, high))
    _show_rows(rows, "equal scores could move these means", ("value", "lowest", "highest"), console)


def _show_holes(found: dict[str, BoundsTable], console: Console) -> None:
    """Print the means if unjudged documents were judged."""
    rows: list[tuple[str, ...]] = [
        (
            name,
            one.measure,
            f"{one.value:.4f}",
            f"{one.holes.nonrelevant:.4f}",
            f"{one.holes.relevant:.4f}",
        )
        for name, all_bounds in found.items()
        for one in all_bounds
        if one.holes is not None
    ]
    grades = [one.holes.grade for every in found.values() for one in every if one.holes]
    grade = max(grades, default=1.0)
    titles = ("value", "nonrelevant", f"relevant ({grade:g})")
    _show_rows(rows, "if all unjudged documents were", titles, console)


def _show_rows(
    rows: list[tuple[str, ...]], headline: str, titles: tuple[str, ...], console: Console
) -> None:
    from rich.text import Text

    if not rows:
        return
    console.print()
    console.print(Text(headline, style="yellow"))
    runs, measures, *numbers = zip(*rows, strict=True)
    columns = [
        Column("measure", [(text, "") for text in measures], right=False),
        *(
            Column(title, [(text, "") for text in texts])
            for title, texts in zip(titles, numbers, strict=True)
        ),
    ]
    print_columns(console, Column("run", [(text, "") for text in runs], right=False), columns)
