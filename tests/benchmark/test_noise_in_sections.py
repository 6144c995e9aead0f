"""Systems that move by themselves: no section shows a difference that the comparison does not."""

from __future__ import annotations

import json

import pytest

from rankscope.benchmark.run import run_benchmark
from rankscope.diagnosis.baselines import BASELINES
from rankscope.diagnosis.holes import HOLES
from rankscope.records import BenchmarkReport

DOCUMENTS, QUERIES = 120, 40

CODE = '''
import random

LEVELS = {"good": (0.9, 0.3, 0.8, 0.4), "bad": (0.3, 0.9, 0.4, 0.8)}
ASKED = {}


def answer(name, text, k):
    """Find relevant documents with a chance that differs from time to time, for all queries."""
    number = int(text.split()[0][4:])
    time = ASKED[name, text] = ASKED.get((name, text), -1) + 1
    dice = random.Random(f"{name} {time} {number}")
    relevant = [f"d{(number + step) % 120}" for step in (0, 11, 22)]
    hits = [doc_id for doc_id in relevant if dice.random() < LEVELS[name][time % 4]]
    rest = [f"d{(number + 40 + step) % 120}" for step in range(40)]
    return (hits + rest)[:k]


def good(text, k):
    return answer("good", text, k)


def bad(text, k):
    return answer("bad", text, k)


def kept(query, documents):
    return [-place for place in range(len(documents))]
'''

CONFIG = """\
name: moving
collection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}
systems:
  good: {python: {function: "moving_code:good", version: "1"}}
  bad: {python: {function: "moving_code:bad", version: "1"}}
  kept: {rerank: {of: good, python: "moving_code:kept"}}
depth: 20
baseline: good
measures: [nDCG@10]
repeat: 4
statistics: {resamples: 500}
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkReport:
    place = tmp_path_factory.mktemp("moving")
    corpus = [{"_id": f"d{at}", "text": f"word{at} some"} for at in range(DOCUMENTS)]
    queries = [
        {
            "_id": f"q{at}",
            "text": f"word{at} some",
            "metadata": {"kind": "odd" if at % 2 else "even"},
        }
        for at in range(QUERIES)
    ]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (place / f"{name}.jsonl").write_text(lines)
    judged = (
        f"q{at}\td{(at + step) % DOCUMENTS}\t1" for at in range(QUERIES) for step in (0, 11, 22)
    )
    (place / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]) + "\n")
    (place / "moving_code.py").write_text(CODE)
    (place / "config.yaml").write_text(CONFIG)
    return run_benchmark(place / "config.yaml", output=place / "out").report


def test_the_comparison_shows_nothing(report: BenchmarkReport) -> None:
    assert report.comparison is not None
    pair = report.comparison.pair("bad", "good", "nDCG@10")
    assert abs(pair.difference) > 0.3
    assert pair.verdict == "no difference shown"


def test_nor_does_the_comparison_with_plain_search(report: BenchmarkReport) -> None:
    baselines = BASELINES.of(report.analyses)
    assert baselines is not None
    rows = {row.system: row for row in baselines.improvements if row.verdict is not None}
    assert {row.verdict for row in rows.values()} == {"no difference shown"}
    for row in rows.values():
        assert row.interval.low <= 0 <= row.interval.high


def test_conclusions_have_the_p_values_of_the_comparison(report: BenchmarkReport) -> None:
    holes = HOLES.of(report.analyses)
    assert holes is not None
    assert report.comparison is not None
    for row in holes.conclusions:
        [pair] = [
            pair
            for pair in report.comparison.pairs
            if {pair.base, pair.system} == {row.better, row.worse}
        ]
        assert row.p_corrected == pytest.approx(pair.p_corrected)
    assert holes.conclusions
