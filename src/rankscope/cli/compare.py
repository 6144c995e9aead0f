"""``rankscope compare``."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli.console import json_text, make_console, visible
from rankscope.cli.evaluate import PROFILES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from rankscope.statistics.compare import Comparison
    from rankscope.statistics.strata import StratifiedPair

__all__ = ["compare", "show_comparison"]

FORMATS = ("table", "json", "csv", "markdown", "latex")


@click.command()
@click.argument("qrels")
@click.argument("run", nargs=-1, required=True)
@click.option("--baseline", metavar="NAME", help="Compare with this run only. [default: all pairs]")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="Repeatable. [default: nDCG@10 AP@100 RR@10 R@50 R@100 Success@10]",
)
@click.option(
    "--test",
    default="permutation",
    show_default=True,
    metavar="TEST",
    help="permutation, bootstrap, t, wilcoxon, sign or tukey.",
)
@click.option(
    "--correction",
    default="holm",
    show_default=True,
    metavar="NAME",
    help="For many tests: none, bonferroni, holm or bh.",
)
@click.option(
    "--family",
    default="measure",
    show_default=True,
    metavar="NAME",
    help="What is corrected together: the pairs of each measure, or all.",
)
@click.option("--alpha", default=0.05, show_default=True, help="Chance of a false alarm.")
@click.option(
    "--interval",
    default="bca",
    show_default=True,
    metavar="NAME",
    help="bca, percentile, t or wilson (for values 0 and 1).",
)
@click.option("--level", default=0.95, show_default=True, help="Confidence of intervals.")
@click.option("--resamples", default=10_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--margin", type=float, help="Differences within it do not matter; shows equivalence."
)
@click.option("--profile", type=click.Choice(PROFILES), default="rankscope", show_default=True)
@click.option("--intersect", is_flag=True, help="Only queries that all runs have.")
@click.option(
    "--seeds",
    multiple=True,
    metavar="NAME=RUN,RUN",
    help="Repeatable: runs of one system (seeds, folds), averaged.",
)
@click.option("--queries", "queries_file", metavar="FILE", help="Queries with metadata, for --by.")
@click.option("--by", metavar="FIELD", help="Compare within each value of this field of --queries.")
@click.option("--format", "output", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("-o", "--output", "target", metavar="FILE", help="Write there instead.")
def compare(
    *,
    qrels: str,
    run: tuple[str, ...],
    measures: tuple[str, ...],
    intersect: bool,
    seeds: tuple[str, ...],
    queries_file: str | None,
    by: str | None,
    output: str,
    target: str | None,
    **options: Any,
) -> None:
    """Say whether one RUN is really better than another.

    Differences with intervals, paired tests corrected for how many there are, effect sizes, and a
    verdict; where the data cannot tell, how large a difference they could have shown.
    """
    from rankscope.measures.language import DEFAULT_MEASURES
    from rankscope.statistics.compare import compare as find

    if (queries_file is None) != (by is None):
        raise click.UsageError("--queries FILE and --by FIELD belong together")
    strata = None if queries_file is None or by is None else _labels(queries_file, by)
    comparison = find(
        qrels,
        list(run),
        list(measures or DEFAULT_MEASURES),
        queries="both" if intersect else None,
        strata=strata,
        seeds=_seeds(seeds),
        **options,
    )
    if output == "table" and target is None:
        show_comparison(comparison, make_console())
        return
    text = _as_text(comparison, output)
    if target is None:
        click.echo(text, nl=False)
        return
    from rankscope.files import replacing

    with replacing(target) as sink:
        sink.write(text.encode())


def _seeds(given: tuple[str, ...]) -> dict[str, list[str]]:
    found = {}
    for text in given:
        name, sign, runs = text.partition("=")
        if not sign or not name or not runs:
            raise click.UsageError("--seeds must be NAME=RUN,RUN, such as dense=dense-1,dense-2")
        found[name] = runs.split(",")
    return found


def _labels(path: str, field: str) -> dict[str, object]:
    """Return the value of a metadata field by query id."""
    from rankscope.collection.queries import read_queries
    from rankscope.errors import UnknownNameError

    metadata = read_queries(path).metadata
    known = dict.fromkeys(name for fields in metadata.values() for name in fields)
    if field not in known:
        raise UnknownNameError(f"field of {path}", field, known)
    found = {}
    for query_id, fields in metadata.items():
        value = fields.get(field)
        found[query_id] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return found


def _as_text(comparison: Comparison, output: str) -> str:
    from rankscope.reports import comparison as reports

    if output == "json":
        return json_text(comparison.to_dict())
    if output == "csv":
        return reports.comparison_as_csv(comparison)
    if output == "latex":
        return reports.comparison_as_latex(comparison)
    if output == "markdown":
        return reports.comparison_as_markdown(comparison)
    from rich.console import Console

    page = io.StringIO()
    show_comparison(comparison, Console(file=page, width=100, color_system=None, highlight=False))
    return page.getvalue()


def show_comparison(comparison: Comparison, console: Console) -> None:
    """Print systems × measures for a person, what the signs mean, and the verdict in words."""
    from rich.text import Text

    from rankscope.reports.comparison import notes, verdicts

    for measures in _blocks(comparison, console.width):
        console.print(_table(comparison, measures))
        console.print()
    for note in notes(comparison):
        console.print(Text(visible(note), style="dim"))
    for part in comparison.strata:
        console.print()
        _show_strata(part, console)
    console.print()
    for sentence in verdicts(comparison):
        console.print(Text(visible(sentence)))


def _cell(comparison: Comparison, run: str, measure: str) -> Text:
    """Return a mean with its marker, and below it half the interval and the letters."""
    from rich.text import Text

    from rankscope.reports.comparison import marker_of, shows_letters

    one = comparison.mean(run, measure)
    marker = marker_of(comparison, run, measure)
    text = Text(f"{one.mean:.4f}", style="bold green" if one.best else "")
    text.append(f"{marker or ' '}\n", style="")
    letters = f" {one.letters}" if shows_letters(comparison) else ""
    text.append(
        f"±{(one.interval.high - one.interval.low) / 2:.4f}{letters} ", style="dim not bold"
    )
    return text


def _widths(comparison: Comparison) -> dict[str, int]:
    return {
        measure: max(
            len(measure),
            *(
                max(len(line) for line in _cell(comparison, run, measure).plain.split("\n"))
                for run in comparison.runs
            ),
        )
        for measure in comparison.measures
    }


def _blocks(comparison: Comparison, width: int) -> list[list[str]]:
    """Split the measures into tables that fit the screen."""
    names = min(24, max(len(visible(run)) for run in comparison.runs))
    blocks: list[list[str]] = [[]]
    used = names + 2
    for measure, wide in _widths(comparison).items():
        if blocks[-1] and used + wide + 2 > width:
            blocks.append([])
            used = names + 2
        blocks[-1].append(measure)
        used += wide + 2
    return blocks


def _table(comparison: Comparison, measures: list[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("run", overflow="fold", max_width=24)
    for measure in measures:
        table.add_column(Text(measure), justify="right", no_wrap=True)
    for run in comparison.runs:
        name = Text(visible(run), style="bold")
        if run == comparison.baseline:
            name.append("\nbaseline", style="dim not bold")
        table.add_row(name, *(_cell(comparison, run, measure) for measure in measures))
    return table


def _show_strata(part: StratifiedPair, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from rankscope.reports.comparison import p_text, strata_title

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("stratum", overflow="fold", max_width=24)
    for title in ("queries", "base", "system", "difference", "interval", "p"):
        table.add_column(title, justify="right", no_wrap=True)
    for stratum in part.strata:
        table.add_row(
            Text(visible(stratum.label), style="bold"),
            f"{stratum.n:,}",
            f"{stratum.base_mean:.4f}",
            f"{stratum.system_mean:.4f}",
            f"{stratum.difference:+.4f}",
            f"{stratum.interval.low:+.4f} to {stratum.interval.high:+.4f}",
            p_text(stratum.p_corrected),
        )
    console.print(Text(visible(f"{strata_title(part)} (p: {part.correction})"), style="bold"))
    console.print(table)
    if part.finding is not None:
        console.print(Text(visible(f"warning: {part.finding.sentence}"), style="yellow"))
