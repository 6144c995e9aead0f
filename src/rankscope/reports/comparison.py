"""A comparison as text for files and papers: csv, Markdown, LaTeX; and its notes in words."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

from rankscope.errors import counted
from rankscope.reports.markdown import md, table
from rankscope.reports.words import DAGGER, DOUBLE_DAGGER, INTERVALS, TESTS

if TYPE_CHECKING:
    from rankscope.statistics.compare import Comparison, SystemMean
    from rankscope.statistics.pairwise import Pair
    from rankscope.statistics.strata import StratifiedPair

__all__ = [
    "comparison_as_csv",
    "comparison_as_latex",
    "comparison_as_markdown",
    "marker_of",
    "notes",
    "p_text",
    "shows_letters",
    "strata_title",
    "verdicts",
]

_LETTERS = {"bonferroni": "Bonferroni"}


def p_text(p: float) -> str:
    """Return a p-value as people read it.

    >>> p_text(0.0312), p_text(0.00002)
    ('0.0312', '2e-05')
    """
    return f"{p:.3g}"


def _stricter(comparison: Comparison) -> float:
    return comparison.settings.alpha / 5


def marker_of(comparison: Comparison, run: str, measure: str) -> str:
    """Return † where a run differs from the baseline at alpha, ‡ at a fifth of it, else nothing."""
    for pair in comparison.pairs:
        if (pair.system, pair.base, pair.measure) == (run, comparison.baseline, measure):
            if pair.verdict not in ("better", "worse"):
                return ""
            return DOUBLE_DAGGER if pair.p_corrected <= _stricter(comparison) else DAGGER
    return ""


def shows_letters(comparison: Comparison) -> bool:
    """Tell whether letters say more than markers do."""
    return len(comparison.runs) > 2 or comparison.baseline is None


def notes(comparison: Comparison) -> list[str]:
    """Say what the table shows: signs, test, family, queries; always with its seed."""
    settings = comparison.settings
    method = INTERVALS[settings.interval]
    said = [f"best mean in bold; ± half of the {settings.level:.0%} interval ({method})"]
    if comparison.baseline is not None:
        said.append(
            f"{DAGGER} differs from {comparison.baseline} at p ≤ {settings.alpha:g}, "
            f"{DOUBLE_DAGGER} at p ≤ {_stricter(comparison):g}"
        )
    if shows_letters(comparison):
        count = len(comparison.runs) * (len(comparison.runs) - 1) // 2
        by = _LETTERS.get(settings.correction, "Holm") if settings.test != "tukey" else "Tukey"
        pairs = counted(count, "pair") if count == 1 else f"all {count} pairs"
        said.append(f"runs that share a letter cannot be told apart ({pairs}, {by})")
    said.append(
        f"{TESTS[settings.test]}, two-sided, {settings.resamples:,} resamples, "
        f"seed {settings.seed}; {comparison.family}"
    )
    said.append(_queries(comparison))
    return said


def _queries(comparison: Comparison) -> str:
    said = [f"{counted(comparison.queries, 'query')}, the same for all runs"]
    for name, accounting in comparison.accounting.items():
        if accounting.missing:
            fate = {"all": "count as 0", "both": "left out for all runs"}
            policy = fate.get(accounting.missing_policy, "")
            said.append(f"{name} lacks {accounting.missing:,} judged: {policy}")
    if comparison.left_out:
        said.append(f"{counted(comparison.left_out, 'judged query')} left out")
    without = max(one.without_relevant for one in comparison.accounting.values())
    if without:
        said.append(f"{without:,} without a relevant document, scored 0")
    if comparison.profile != "rankscope":
        said.append(f"rules of {comparison.profile}")
    return "; ".join(said)


def verdicts(comparison: Comparison, most: int = 3) -> list[str]:
    """Say what the data show on the first measure, and in short what the others show."""
    first = next(iter(comparison.measures))
    own = [pair for pair in comparison.pairs if pair.measure == first]
    clear = [pair for pair in own if pair.verdict != "no difference shown"]
    open_ = [pair for pair in own if pair.verdict == "no difference shown"]
    said = [pair.sentence for pair in (clear + open_)[:most]]
    others = [pair for pair in comparison.pairs if pair.measure != first]
    if len(own) > most:
        said.append(f"{first}: {_tally(own)} in all; the rest stands in the other formats")
        return [*said, f"other measures: {_tally(others)}"] if others else said
    for pair in own if others else []:
        same = [one for one in others if (one.base, one.system) == (pair.base, pair.system)]
        said.append(f"{pair.system} against {pair.base} otherwise: {_by_verdict(same)}")
    return said


def _tally(pairs: list[Pair]) -> str:
    clear = sum(pair.verdict in ("better", "worse") for pair in pairs)
    return f"{clear} of {len(pairs)} pairs differ"


def _by_verdict(pairs: list[Pair]) -> str:
    named: dict[str, list[str]] = {}
    for pair in pairs:
        word = "cannot tell" if pair.verdict == "no difference shown" else pair.verdict
        named.setdefault(word, []).append(pair.measure)
    return "; ".join(f"{word} on {', '.join(measures)}" for word, measures in named.items())


_COLUMNS = (
    *("stratum", "measure", "base", "system", "queries", "base_mean", "system_mean", "difference"),
    *("low", "high", "level", "relative", "wins", "ties", "losses", "d", "d_low", "d_high"),
    *("p", "p_corrected", "method", "correction", "verdict", "detectable"),
)


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def comparison_as_csv(comparison: Comparison) -> str:
    """Return a row for each measure and pair, then, with its name, one for each stratum of it."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    correction = comparison.settings.correction
    for pair in comparison.pairs:
        row = pair.to_dict()
        row.update(low=pair.interval.low, high=pair.interval.high, level=pair.interval.level)
        row.update(d=pair.effect.d, d_low=pair.effect.low, d_high=pair.effect.high)
        row.update(stratum="", correction=correction)
        writer.writerow({name: _cell(row[name]) for name in _COLUMNS})
    for part in comparison.strata:
        named = {"measure": part.measure, "base": part.base, "system": part.system}
        for stratum in part.strata:
            row = {**stratum.to_dict(), **named, "correction": correction}
            row.update(stratum=stratum.label, queries=stratum.n, level=stratum.interval.level)
            row.update(low=stratum.interval.low, high=stratum.interval.high)
            writer.writerow({name: _cell(row[name]) for name in _COLUMNS if name in row})
    return text.getvalue()


def comparison_as_markdown(comparison: Comparison) -> str:
    """Return systems × measures, the pairs with all numbers, strata, and the notes."""
    rows = []
    for run in comparison.runs:
        row = [md(run)]
        for measure in comparison.measures:
            one = comparison.mean(run, measure)
            value = f"**{one.mean:.4f}**" if one.best else f"{one.mean:.4f}"
            parts = [
                value + marker_of(comparison, run, measure),
                f"±{(one.interval.high - one.interval.low) / 2:.4f}",
            ]
            parts += [one.letters] if shows_letters(comparison) else []
            row.append(" ".join(parts))
        rows.append(row)
    head = ["run", *map(md, comparison.measures)]
    lines = [*table(head, rows), "", *_pairs_table(comparison), ""]
    for part in comparison.strata:
        lines += [*_strata_table(part), ""]
    return "\n".join([*lines, *(f"- {md(note)}" for note in notes(comparison)), ""])


def _pairs_table(comparison: Comparison) -> list[str]:
    head = ["measure", "system", "base", "difference", "interval", "wins/ties/losses", "d", "p"]
    rows = [
        [
            *map(md, (pair.measure, pair.system, pair.base)),
            f"{pair.difference:+.4f}",
            f"{pair.interval.low:+.4f} to {pair.interval.high:+.4f}",
            f"{pair.wins}/{pair.ties}/{pair.losses}",
            f"{pair.effect.d:+.2f}",
            p_text(pair.p_corrected),
            pair.verdict,
        ]
        for pair in comparison.pairs
    ]
    return table([*head, "verdict"], rows)


def strata_title(part: StratifiedPair) -> str:
    """Say which pair and measure a table of strata is about."""
    return f"{part.measure}, {part.system} against {part.base}, by stratum"


def _strata_table(part: StratifiedPair) -> list[str]:
    head = ["stratum", "queries", "base", "system", "difference", "interval", "p"]
    rows = [
        [
            md(stratum.label),
            f"{stratum.n:,}",
            f"{stratum.base_mean:.4f}",
            f"{stratum.system_mean:.4f}",
            f"{stratum.difference:+.4f}",
            f"{stratum.interval.low:+.4f} to {stratum.interval.high:+.4f}",
            p_text(stratum.p_corrected),
        ]
        for stratum in part.strata
    ]
    finding = part.finding
    warning = [] if finding is None else ["", md(f"Warning: {finding.sentence}")]
    return [md(strata_title(part)), "", *table(head, rows), *warning]


_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "±": r"$\pm$",
        "≤": r"$\leq$",
        "†": r"$\dagger$",
        "‡": r"$\ddagger$",
        "−": "$-$",
    }
)


def _latex(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text).translate(_LATEX)


def _latex_cell(comparison: Comparison, one: SystemMean, *, brackets: bool) -> str:
    value = rf"\textbf{{{one.mean:.4f}}}" if one.best else f"{one.mean:.4f}"
    raised = marker_of(comparison, one.run, one.measure)
    above = {"": "", DAGGER: r"\dagger", DOUBLE_DAGGER: r"\ddagger"}[raised]
    if shows_letters(comparison):
        above += rf"\mathrm{{{one.letters}}}"
    value += f"$^{{{above}}}$" if above else ""
    if brackets:
        return rf"{value} {{\scriptsize [{one.interval.low:.3f}, {one.interval.high:.3f}]}}"
    return rf"{value} {{\scriptsize $\pm${(one.interval.high - one.interval.low) / 2:.3f}}}"


def comparison_as_latex(comparison: Comparison, *, brackets: bool = False) -> str:
    """Return a LaTeX table for booktabs, best means in bold, signs explained below it.

    ``brackets`` writes intervals as [low, high] in place of ± half their width.
    """
    head = ["Run", *comparison.measures]
    rows = [
        " & ".join(
            [
                _latex(run),
                *(
                    _latex_cell(comparison, comparison.mean(run, measure), brackets=brackets)
                    for measure in comparison.measures
                ),
            ]
        )
        for run in comparison.runs
    ]
    said = notes(comparison)
    if brackets:
        settings = comparison.settings
        said[0] = (
            f"best mean in bold; {settings.level:.0%} intervals ({INTERVALS[settings.interval]})"
        )
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        r"\begin{tabular}{l" + "r" * len(comparison.measures) + "}",
        r"\toprule",
        " & ".join(map(_latex, head)) + r" \\",
        r"\midrule",
        *(rf"{row} \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
        rf"{{\footnotesize {_latex('. '.join(note[0].upper() + note[1:] for note in said))}.\par}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
