"""Scores as text for files and pipes: csv, Markdown, LaTeX, trec_eval's lines."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

from rankscope.errors import counted
from rankscope.measures.language import Measure, parse_trec_measures
from rankscope.measures.names import NICKNAMES

if TYPE_CHECKING:
    from rankscope.scoring.evaluate import Accounting, Scores

__all__ = [
    "accounting_sentences",
    "scores_as_csv",
    "scores_as_latex",
    "scores_as_markdown",
    "scores_as_trec",
    "shown_value",
]

_TREC_CUTS = {
    "AP": "map_cut",
    "P": "P",
    "R": "recall",
    "R_cap": "relative_P",
    "Success": "success",
    "Unjudged": "unj",
    "nDCG": "ndcg_cut",
}
_POLICY = {
    "all": "counted as 0",
    "both": "left out of the means",
    "strict": "an error",
}


def shown_value(measure: str, value: float) -> str:
    """Return a value as people read it: four decimals, counts as whole numbers, NaN as nothing."""
    if math.isnan(value):
        return ""
    summed = Measure.parse(measure).definition.aggregate == "sum"
    return f"{value:.0f}" if summed and value == int(value) else f"{value:.4f}"


def accounting_sentences(accounting: Accounting) -> list[str]:
    """Say what a mean is made of; the first sentence is always there."""
    said = [f"mean over {counted(accounting.queries, 'query')}"]
    if accounting.missing:
        missing = counted(len(accounting.missing), "judged query")
        said.append(f"{missing} missing from the run, {_POLICY[accounting.missing_policy]}")
    if accounting.without_relevant:
        none = counted(accounting.without_relevant, "query")
        done = "scored 0" if accounting.without_relevant_policy == "zero" else "left out"
        said.append(f"{none} without a relevant document, {done}")
    if accounting.unjudged:
        said.append(f"{counted(accounting.unjudged, 'query')} of the run not judged, left out")
    tied = {cutoff: count for cutoff, count in accounting.tied.items() if count}
    if tied:
        places = ", ".join(f"rank {cutoff} in {count:,}" for cutoff, count in tied.items())
        said.append(f"queries with tied scores across {places}")
    return said


def scores_as_csv(scores: Scores, *, per_query: bool) -> str:
    """Return ``run,measure,value,queries`` or, by query, ``run,query_id,measure,value``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if per_query:
        writer.writerow(["run", "query_id", "measure", "value"])
        writer.writerows(scores.per_query.iter_rows())
    else:
        writer.writerow(["run", "measure", "value", "queries"])
        for name in scores.runs:
            run = scores.run(name)
            for measure, value in run.means.items():
                writer.writerow([name, measure, repr(value), run.accounting.queries])
    return text.getvalue()


def _matrix(scores: Scores, *, per_query: bool) -> tuple[list[str], list[list[str]]]:
    """Return titles and rows: by run, with its mean and, if wanted, each query before it."""
    head = ["run", *(["query"] if per_query else []), *scores.measures, "queries"]
    rows = []
    for name in scores.runs:
        run = scores.run(name)
        if per_query:
            rows += [
                [name, query_id, *map(shown_value, scores.measures, column), "1"]
                for query_id, column in zip(run.query_ids, run.values.T.tolist(), strict=True)
            ]
        means = [shown_value(measure, value) for measure, value in run.means.items()]
        middle = ["all"] if per_query else []
        rows.append([name, *middle, *means, f"{run.accounting.queries:,}"])
    return head, rows


def _one_line(text: str) -> str:
    """Return text with control characters spelt out."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


_MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>|~&#"})


def _markdown(text: str) -> str:
    return _one_line(text).translate(_MARKDOWN)


def scores_as_markdown(scores: Scores, *, per_query: bool = False) -> str:
    """Return a Markdown table: a row for each run (or query), a column for each measure."""
    head, rows = _matrix(scores, per_query=per_query)
    names = 2 if per_query else 1
    cells = [[_markdown(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
    lines = [
        "| "
        + " | ".join(
            cell.ljust(wide) if place < names else cell.rjust(wide)
            for place, (cell, wide) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in cells
    ]
    rule = [
        "-" * wide if place < names else "-" * (wide - 1) + ":" for place, wide in enumerate(widths)
    ]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    notes = [
        f"- {_markdown(name)}: {'; '.join(accounting_sentences(scores.run(name).accounting))}"
        for name in scores.runs
    ]
    return "\n".join([*lines, "", *notes, ""])


_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",  # at the start of a row it would be an argument of the line break
    }
)


def scores_as_latex(scores: Scores, *, per_query: bool = False) -> str:
    """Return a LaTeX table for the booktabs package."""
    head, rows = _matrix(scores, per_query=per_query)
    names = 2 if per_query else 1

    def line(cells: list[str]) -> str:
        return " & ".join(_one_line(cell).translate(_LATEX) for cell in cells) + r" \\"

    lines = [
        r"\begin{tabular}{" + "l" * names + "r" * (len(head) - names) + "}",
        r"\toprule",
        line(head),
        r"\midrule",
        *map(line, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _trec_names() -> dict[Measure, str]:
    roots = {root for roots in NICKNAMES.values() for root in roots}
    return {
        found.measure: found.asked for root in sorted(roots) for found in parse_trec_measures(root)
    }


def trec_name(measure: Measure, known: dict[Measure, str]) -> str:
    """Return trec_eval's name for a measure, or ours if it has none."""
    if measure.name in _TREC_CUTS and measure.cutoff is not None:
        [found] = parse_trec_measures(f"{_TREC_CUTS[measure.name]}.{measure.cutoff}")
        if found.measure == measure:
            return found.asked
    return known.get(measure, str(measure))


def scores_as_trec(scores: Scores, *, per_query: bool) -> str:
    """Return trec_eval's lines: name, query or ``all``, value, separated by tabs."""
    known = _trec_names()
    labels = {m: f"{trec_name(Measure.parse(m), known):<22}" for m in scores.measures}
    lines = []
    for name in scores.runs:
        run = scores.run(name)
        if len(scores.runs) > 1:
            lines.append(f"{'runid':<22}\tall\t{_one_line(name)}")
        if per_query:
            lines += [
                f"{labels[measure]}\t{query_id}\t{_trec_number(measure, value)}"
                for query_id, column in zip(run.query_ids, run.values.T.tolist(), strict=True)
                for measure, value in zip(scores.measures, column, strict=True)
                if Measure.parse(measure).definition.aggregate != "geometric"
                and not math.isnan(value)
            ]
        lines += [
            f"{labels[measure]}\tall\t{_trec_number(measure, value)}"
            for measure, value in run.means.items()
        ]
    return "\n".join(lines) + "\n"


def _trec_number(measure: str, value: float) -> str:
    summed = Measure.parse(measure).definition.aggregate == "sum"
    return f"{value:.0f}" if summed and value == int(value) else f"{value:6.4f}"
