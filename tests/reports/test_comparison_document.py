"""A comparison as a document: what each form holds, and that no name breaks it."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from rankscope.document.csv_text import as_csv
from rankscope.document.latex import as_latex
from rankscope.document.markdown import as_markdown
from rankscope.document.pages import page
from rankscope.reports.comparison_page import comparison_document
from rankscope.statistics.comparison import Comparison, compare

QRELS = {f"q{number}": {"good": 1, "fair": 1} for number in range(60)}
HOSTILE = "a_b & 50% <script>|#{x}^~\\"
RANDOM = np.random.default_rng(1)


def run(level: float) -> dict[str, dict[str, float]]:
    """Make a run: the better, the nearer its two relevant documents to the top."""
    others = {f"d{number}": float(10 - number) for number in range(8)}
    return {
        query_id: {
            **others,
            "good": float(RANDOM.normal(level * 10, 3)),
            "fair": float(RANDOM.normal(level * 10, 3)),
        }
        for query_id in QRELS
    }


RUNS = {name: run(level) for name, level in (("weak", 0.2), ("middle", 0.5), ("strong", 1.0))}


@pytest.fixture(scope="module")
def three() -> Comparison:
    return compare(QRELS, RUNS, ["nDCG@5", "RR"], resamples=500)


def test_no_name_breaks_a_form() -> None:
    runs = {HOSTILE: RUNS["weak"], "plain": RUNS["strong"]}
    document = comparison_document(compare(QRELS, runs, ["RR"], baseline=HOSTILE, resamples=200))
    for text in (page(document), as_markdown(document)):
        assert "<script>" not in text.replace('<script>"use strict"', "")
        assert "&lt;script&gt;" in text
    latex = as_latex(document)
    assert r"a\_b \& 50\% \textless{}script\textgreater{}\textbar{}\#\{x\}" in latex
    assert latex.replace(r"\{", "").count("{") == latex.replace(r"\}", "").count("}")


def test_means_have_their_intervals_and_letters(three: Comparison) -> None:
    document = comparison_document(three)
    text, latex = as_markdown(document), as_latex(document, full=True)
    for mean in three.means:
        interval = f"[{mean.interval.low:.3f}, {mean.interval.high:.3f}]"
        assert interval in text
        assert f"{mean.interval.low:.3f}, {mean.interval.high:.3f}]" in latex
    assert latex.isascii()


def test_csv_holds_every_pair(three: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(comparison_document(three)))))
    assert len(rows) == 6
    for row, pair in zip(rows, three.pairs, strict=True):
        assert float(row["p_corrected"]) == pair.p_corrected
        assert float(row["low"]) == pair.interval.low
        assert row["verdict"] == pair.verdict


def test_a_measure_without_an_upper_bound() -> None:
    runs = {"one": RUNS["weak"], "two": RUNS["weak"]}
    document = comparison_document(compare(QRELS, runs, ["DCG@5"], resamples=200))
    assert "[-∞, ∞]" in as_markdown(document)
    assert "∞" in page(document)
