"""A comparison as a document: what each form shows, and that no name breaks it."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import numpy as np
import pytest

from rankscope.document.csv_text import as_csv
from rankscope.document.latex import as_latex
from rankscope.document.markdown import as_markdown
from rankscope.document.pages import page
from rankscope.document.terminal import as_text
from rankscope.reports.comparison import comparison_document, notes, verdicts
from rankscope.statistics.compare import Comparison, compare

COUNT = 60
QRELS = {f"q{number}": {"good": 1, "fair": 1} for number in range(COUNT)}
HOSTILE = "a_b & 50% <script>|#{x}^~\\"


def run(level: float, random: np.random.Generator) -> dict[str, dict[str, float]]:
    """Make a run: the better, the nearer its two relevant documents to the top."""
    return {
        query_id: {
            **{f"d{number}": float(10 - number) for number in range(8)},
            "good": float(random.normal(level * 10, 3)),
            "fair": float(random.normal(level * 10, 3)),
        }
        for query_id in QRELS
    }


RANDOM = np.random.default_rng(1)
RUNS: dict[str, Any] = {
    name: run(level, RANDOM) for name, level in (("weak", 0.2), ("middle", 0.5), ("strong", 1.0))
}


@pytest.fixture(scope="module")
def three() -> Comparison:
    return compare(QRELS, RUNS, ["nDCG@5", "RR"], resamples=1_000)


@pytest.fixture(scope="module")
def based() -> Comparison:
    return compare(QRELS, RUNS, ["RR"], baseline="weak", resamples=500)


def test_no_name_breaks_a_form() -> None:
    runs = {HOSTILE: RUNS["weak"], "plain": RUNS["strong"]}
    document = comparison_document(compare(QRELS, runs, ["RR"], baseline=HOSTILE, resamples=200))
    for text in (page(document), as_markdown(document)):
        assert "<script>" not in text.replace('<script>"use strict"', "")
        assert "&lt;script&gt;" in text
    markdown = as_markdown(document)
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {line.count("|") - line.count("\\|") for line in rows} == {3, 11}
    latex = as_latex(document)
    assert r"a\_b \& 50\% \textless{}script\textgreater{}\textbar{}\#\{x\}" in latex
    assert latex.replace(r"\{", "").count("{") == latex.replace(r"\}", "").count("}")


def test_means_have_their_intervals_letters_and_markers(
    three: Comparison, based: Comparison
) -> None:
    text = as_markdown(comparison_document(three))
    for mean in three.means:
        interval = f"[{mean.interval.low:.4f}, {mean.interval.high:.4f}]"
        value = f"**{mean.mean:.4f}**" if mean.best else f"{mean.mean:.4f}"
        assert f"{value} {interval} {mean.letters} |" in text
    assert "same letter: not shown to differ" in text
    marked = as_markdown(comparison_document(based))
    assert re.search(r"\*\*0\.\d{4}\*\*↑‡ \[0\.\d{4}, [01]\.\d{4}\] \|", marked)
    assert "† better (↑) or worse (↓) than weak at p ≤ 0.05, ‡ at p ≤ 0.01" in marked
    assert "weak (baseline)" in marked


def test_latex(three: Comparison, based: Comparison) -> None:
    text = as_latex(comparison_document(three))
    for word in (r"\toprule", r"\midrule", r"\bottomrule", r"\textbf{", "max-T"):
        assert word in text
    assert text.count("{") == text.count("}")
    assert text.isascii()
    assert r"\pm" not in text
    marked = as_latex(comparison_document(based))
    assert r"$^{\uparrow\ddagger}$" in marked
    assert (
        r"$\dagger$ better ($\uparrow$) or worse ($\downarrow$) than weak at p $\leq$ 0.05"
        in marked
    )
    assert re.search(r"\{\[\}0\.\d{4}, [01]\.\d{4}\]", marked)


def test_csv(three: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(comparison_document(three)))))
    assert len(rows) == 6
    for row, pair in zip(rows, three.pairs, strict=True):
        assert float(row["p_corrected"]) == pair.p_corrected
        assert float(row["low"]) == pair.shown.low <= pair.interval.low
        assert float(row["low_alone"]) == pair.interval.low
        assert row["verdict"] == pair.verdict
    labels = {query_id: query_id[-1] for query_id in QRELS}
    stratified = compare(QRELS, RUNS, ["RR"], strata=labels, resamples=200)
    rows = list(csv.DictReader(io.StringIO(as_csv(comparison_document(stratified)))))
    assert sum(bool(row["stratum"]) for row in rows) == 30
    assert as_text(comparison_document(stratified)).count(", by stratum (p: holm)") == 3


def test_notes_and_verdicts(three: Comparison) -> None:
    said = " ".join(notes(three))
    for word in ("max-T permutation test", "seed 0", "1,000 resamples", "at once", "60 queries"):
        assert word in said
    sentences = verdicts(three)
    assert sentences[0].startswith("nDCG@5: ")
    assert "strong against weak otherwise: better on RR" in sentences
    many = compare(QRELS, {**RUNS, "x": RUNS["weak"]}, ["RR", "P@1"], resamples=200)
    assert re.fullmatch(
        r"RR: strong has the best mean of 4 systems, and is .*; \d of 6 pairs differ",
        verdicts(many)[0],
    )
    based = compare(
        QRELS, {**RUNS, "x": RUNS["weak"], "y": RUNS["weak"]}, "RR", baseline="x", resamples=200
    )
    assert verdicts(based) == [
        "RR, against x: better: strong and middle; not shown to differ: weak and y"
    ]


def test_a_measure_without_an_upper_bound() -> None:
    runs = {"one": RUNS["weak"], "two": RUNS["weak"]}
    document = comparison_document(compare(QRELS, runs, ["DCG@5"], resamples=200))
    assert "[-∞, ∞]" in as_markdown(document)
    assert "∞" in page(document)
    assert ",,," in as_csv(document)
