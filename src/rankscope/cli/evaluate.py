"""``rankscope evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.console import json_text, make_console, visible

if TYPE_CHECKING:
    from rich.console import Console

    from rankscope.evaluation import Scores
    from rankscope.sensitivity import Bounds

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
    from rankscope.evaluation import evaluate as score
    from rankscope.inputs import as_judgments, as_runs
    from rankscope.measures.language import DEFAULT_MEASURES
    from rankscope.sensitivity import bounds as find_bounds

    asked = list(measures or DEFAULT_MEASURES)
    judgments = as_judgments(read_qrels(qrels, labels=parse_labels(labels) if labels else None))
    runs, _ = as_runs(list(run))
    queries: Any = "both" if intersect else None
    scores = score(judgments, runs, asked, profile=profile, ties=ties, queries=queries)
    tied = any(any(scores.run(name).accounting.tied.values()) for name in runs)
    found = {
        name: find_bounds(
            judgments, one, asked, hole_grade=hole_grade, profile=profile, queries=queries
        )
        for name, one in runs.items()
        if bounds or (tied and output in ("table", "json"))
    }
    if output == "table" and target is None:
        console = make_console()
        show_scores(scores, console, per_query=per_query)
        _show_bounds(found, console, holes=bounds)
        return
    text = _as_text(scores, found, output, per_query=per_query)
    if target is None:
        click.echo(text, nl=False)
    else:
        from rankscope.files import replacing

        with replacing(target) as sink:
            sink.write(text.encode())


def _as_text(
    scores: Scores, found: dict[str, list[Bounds]], output: str, *, per_query: bool
) -> str:
    from rankscope.reports import scores as reports

    if output == "json":
        data = scores.to_dict(per_query=per_query)
        for name, bounds in found.items():
            data["runs"][name]["bounds"] = [one.to_dict() for one in bounds]
        return json_text(data)
    if output == "csv":
        return reports.scores_as_csv(scores, per_query=per_query)
    if output == "trec":
        return reports.scores_as_trec(scores, per_query=per_query)
    if output == "latex":
        return reports.scores_as_latex(scores)
    return reports.scores_as_markdown(scores)


def show_scores(scores: Scores, console: Console, *, per_query: bool = False) -> None:
    """Print scores for a person: a row for each run, best of each column in bold."""
    from rich.table import Table
    from rich.text import Text

    from rankscope.reports.scores import accounting_sentences, shown_value

    if per_query:
        _show_per_query(scores, console)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    table.add_column("run", overflow="fold")
    for measure in scores.measures:
        table.add_column(Text(measure), justify="right", no_wrap=True)
    best = {measure: _best(scores, measure) for measure in scores.measures}
    for name in scores.runs:
        cells = []
        for measure, value in scores.run(name).means.items():
            bold = len(scores.runs) > 1 and value == best[measure]
            cells.append(Text(shown_value(measure, value), style="bold green" if bold else ""))
        table.add_row(Text(visible(name), style="bold"), *cells)
    console.print(table)
    console.print()
    foreign = [
        f"{own}, asked for as {asked}" for own, asked in scores.asked.items() if own != asked
    ]
    for line in foreign:
        console.print(Text(visible(line), style="dim"))
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


def _best(scores: Scores, measure: str) -> float:
    from rankscope.measures.language import Measure

    values = [scores.run(name).means[measure] for name in scores.runs]
    higher = Measure.parse(measure).definition.higher_is_better
    return max(values) if higher else min(values)


def _show_per_query(scores: Scores, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from rankscope.reports.scores import shown_value

    for name in scores.runs:
        run = scores.run(name)
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
        table.add_column(Text(visible(f"query ({name})")), overflow="fold")
        for measure in scores.measures:
            table.add_column(Text(measure), justify="right", no_wrap=True)
        for query_id, column in zip(run.query_ids, run.values.T.tolist(), strict=True):
            cells = [shown_value(m, v) for m, v in zip(scores.measures, column, strict=True)]
            table.add_row(Text(visible(query_id)), *cells)
        console.print(table)
        console.print()


def _show_bounds(found: dict[str, list[Bounds]], console: Console, *, holes: bool) -> None:
    """Print how far ties (and holes) could move each mean, where they could."""
    from rich.text import Text

    lines = []
    for name, all_bounds in found.items():
        for one in all_bounds:
            if one.ties is not None and one.ties[0] < one.ties[1]:
                low, high = one.ties
                lines.append(
                    f"{name}: {one.measure} is {one.value:.4f} by this tie rule, and between "
                    f"{low:.4f} and {high:.4f} by any order of equal scores"
                )
            if holes:
                low, high = one.holes
                lines.append(
                    f"{name}: {one.measure} would be {low:.4f} if no unjudged document were "
                    f"relevant, {high:.4f} if all were (grade {one.hole_grade:g})"
                )
    for line in lines:
        console.print(Text(visible(line), style="yellow"))
