"""What the native scan finds in blocks of bytes: the hits, ranks and ties of a table."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from rankscope.runs.table import Run
from rankscope.scoring.judged_pairs import NativePairs
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.scan_tables import scan_of
from rankscope.scoring.scans import Hits, scan_block
from rankscope.tables.native import library

pytestmark = pytest.mark.skipif(library() is None, reason="there is no native scan")

Rows = dict[str, list[tuple[str, float]]]
Grades = dict[str, dict[str, int]]


def text_of(rows: Rows) -> bytes:
    return "".join(
        f"{query} Q0 {doc} {rank} {score!r} t\n"
        for query, docs in rows.items()
        for rank, (doc, score) in enumerate(docs, start=1)
    ).encode()


def scanned(rows: Rows, judgments: Judgments, precision: Any) -> Any:
    data = text_of(rows)
    exact = np.frombuffer(data, np.uint8).copy()  # nothing behind its last byte
    return scan_block(exact, len(data), NativePairs(judgments.packed), precision)


def check_hits(rows: Rows, qrels: Grades, precision: Any = "double") -> None:
    """Compare with the hits in a table, which `scoring/test_align.py` holds against a sort."""
    judgments = Judgments(qrels)
    block = scanned(rows, judgments, precision)
    assert block is not None
    table = Run({query: dict(docs) for query, docs in rows.items()})
    cutoffs = (1, 2, 3, 10, 999, 5000)
    with np.errstate(over="ignore"):
        scan = scan_of(table, judgments, precision)
    for ties in ("trec", "id-asc", "given"):
        native = Hits.in_scan(judgments, block, ties, cutoffs)
        read = Hits.in_scan(judgments, scan, ties, cutoffs)
        for name in Hits._fields:
            assert np.array_equal(getattr(native, name), getattr(read, name)), name


def random_rows(source: random.Random, scores: list[float], queries: int, most: int) -> Rows:
    ids = [f"d{number}" for number in range(most)] + ["é", "日", "d", "d\x00", "😀", "\uffee"]
    return {
        f"q{number}": [
            (doc, source.choice(scores)) for doc in source.sample(ids, source.randint(1, most))
        ]
        for number in range(queries)
    }


def random_qrels(source: random.Random, rows: Rows, share: float) -> Grades:
    qrels = {
        query: {doc: source.randint(0, 2) for doc, _ in docs if source.random() < share}
        for query, docs in rows.items()
        if source.random() < 0.8
    }
    qrels = {query: {**docs, "absent": 1} for query, docs in qrels.items()}
    return {**qrels, "missing": {"d1": 1}}


SCORES = {
    "level": [1.0],
    "two": [0.0, 1.0],
    "zeros": [0.0, -0.0, 5e-324],
    "single": [0.1, 0.1 + 1e-10, 0.1 - 1e-10, 1e300, 2e300, -1e300],
    "few": [0.5, 1.0, 2.0, -3.0],
    "many": [number / 7 for number in range(500)],
}


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("name", SCORES)
def test_hits_of_random_runs(name: str, precision: str) -> None:
    source = random.Random(f"{name} {precision}")
    for _ in range(10):
        rows = random_rows(source, SCORES[name], source.randint(1, 5), 30)
        if source.random() < 0.4:
            rows = {query: sorted(docs, key=lambda row: -row[1]) for query, docs in rows.items()}
        check_hits(rows, random_qrels(source, rows, 0.4), precision)


@pytest.mark.parametrize("hits", [1, 16, 17, 999])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_large_ties(hits: int, is_sorted: bool) -> None:
    source = random.Random(hits)
    docs = [f"d{number}" for number in source.sample(range(5000), 1000)]
    scores = [1.0] * 1000 if is_sorted else [source.choice([1.0, 1.0, 1.0, 2.0]) for _ in docs]
    rows = {"q0": list(zip(docs, scores, strict=True)), "q1": [("d1", 1.0), ("d2", 1.0)]}
    tied = [doc for doc, score in rows["q0"] if score == 1.0]
    qrels = {"q0": dict.fromkeys(source.sample(tied, min(hits, len(tied))), 1)}
    check_hits(rows, qrels)


def test_ids_that_are_nearly_the_same() -> None:
    beginnings = [f"{'x' * 40}{number:03d}" for number in range(60)]
    for docs in (beginnings, ["x" * size for size in range(1, 61)]):
        random.Random(8).shuffle(docs)
        rows = {"q": [(doc, 1.0) for doc in docs]}
        for share in (4, 30):
            check_hits(rows, {"q": dict.fromkeys(docs[::share] + docs[-1:], 1)})


def test_a_document_twice_is_refused() -> None:
    pairs = NativePairs(Judgments({"q": {"a": 1}}).packed)
    for first, second, is_refused in (("q", "q", True), ("u", "u", True), ("q", "p", False)):
        data = f"{first} Q0 a 1 3 t\n{first} Q0 b 1 2 t\n{second} Q0 a 1 1 t\n".encode()
        assert (scan_block(data, len(data), pairs) is None) == is_refused
