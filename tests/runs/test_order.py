"""One order: whatever ranks documents ranks them as a naive sort does, ties included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.retrieval.protocol import Ranking
from rankscope.runs import order
from rankscope.runs.order import Precision, Ties
from rankscope.scoring.align import align
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.rules import OURS
from scoring.worlds import naive_ranking

IDS = ["D1", "D10", "D9", "d", "Z", "é", "e\u0301", "日本", "\U0001f600", "\uffee", "0", "10", "9"]
SCORES = [0.0, -0.0, 0.5, 0.5, 1.0, -3.0, 20000000.0, 20000001.0, 1e300, 2e300, 1e-320]
LISTS = st.dictionaries(st.sampled_from(IDS), st.sampled_from(SCORES))
RUNS = st.dictionaries(st.sampled_from(["q1", "q2", "é"]), LISTS, min_size=1)
TIES = st.sampled_from(["trec", "id-asc", "given"])
PRECISION = st.sampled_from(["double", "single"])

Lists = dict[str, dict[str, float]]


def naive(run: Lists, ties: Ties = "trec", precision: Precision = "double") -> dict[str, list[str]]:
    return {query: naive_ranking(scores, ties, precision) for query, scores in run.items()}


def by_pairs(run: Lists, ties: Ties, precision: Precision) -> dict[str, list[str]]:
    return {
        query: [doc for doc, _ in order.ranked(docs.items(), ties=ties, precision=precision)]
        for query, docs in run.items()
    }


def by_columns(run: Lists, ties: Ties, precision: Precision) -> dict[str, list[str]]:
    docs = pl.Series([doc for scores in run.values() for doc in scores], dtype=pl.String)
    scores = np.array([score for docs in run.values() for score in docs.values()], np.float64)
    offsets = np.cumsum([0, *map(len, run.values())])
    rows = order.best_first(offsets, order.compared(scores, precision), docs.gather, ties=ties)
    ranked = docs if rows is None else docs.gather(rows)
    return {
        query: ranked[int(low) : int(high)].to_list()
        for query, low, high in zip(run, offsets, offsets[1:], strict=False)
    }


def by_alignment(run: rs.Run, ties: Ties, precision: Precision) -> dict[str, list[str]]:
    lists = run.to_dict()
    judgments = Judgments({query: dict.fromkeys(docs, 1) for query, docs in lists.items()})
    hits = align(judgments, run, replace(OURS, ties=ties, precision=precision), sound=False).hits
    ranked: dict[str, list[str]] = {query: [] for query in lists}
    for query, doc in zip(hits.query.tolist(), judgments.doc_ids_of(hits.pair), strict=True):
        ranked[judgments.query_ids[query]].append(doc)
    return ranked


@settings(max_examples=60, deadline=None)
@given(run=RUNS, ties=TIES, precision=PRECISION, block=st.sampled_from([1, order.BLOCK]))
def test_every_tie_rule_and_precision(
    run: Lists, ties: Ties, precision: Precision, block: int
) -> None:
    expected = naive(run, ties, precision)
    assert by_pairs(run, ties, precision) == expected
    assert by_columns(run, ties, precision) == expected
    table = rs.Run(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "BLOCK", block)
        table.best_first()  # once the run knows its order, alignment uses it
    assert by_alignment(table, ties, precision) == expected


def default_orders(run: Lists) -> Iterator[dict[str, list[str]]]:
    """Yield what each entry point makes of the default order."""
    table = rs.Run(run)
    yield {
        q: list(documents) for q, documents in rs.fuse([table], method="combmax").to_dict().items()
    }
    yield {q: list(Ranking.of(docs.items()).doc_ids) for q, docs in run.items()}
    rows = table.trec_columns()
    yield {q: rows.filter(pl.col("query_id") == q).sort("rank")["doc_id"].to_list() for q in run}
    held = {
        q: [list(docs)[at] for at in order.by_id_descending(list(docs))] for q, docs in run.items()
    }
    scores = {q: np.array([run[q][doc] for doc in docs], np.float64) for q, docs in held.items()}
    yield {
        q: [docs[at] for at in order.best_positions(scores[q], len(docs))]
        for q, docs in held.items()
    }


@settings(max_examples=40, deadline=None)
@given(run=RUNS)
def test_the_default_order(run: Lists) -> None:
    expected = naive(run)
    for ranked in default_orders(run):
        assert ranked == expected


@settings(max_examples=12, deadline=None)
@given(run=RUNS.filter(lambda run: all(run.values())), data=st.data())
@pytest.mark.parametrize("format", ["trec", "csv", "tsv", "json", "jsonl", "parquet"])
def test_writing_and_reading_changes_no_measure(
    run: Lists, format: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    qrels = {
        query: data.draw(st.dictionaries(st.sampled_from(IDS), st.integers(0, 2), min_size=1))
        for query in run
    } | {"sound": {IDS[0]: 1}}
    run = {**run, "sound": {IDS[0]: 1.0}}
    measures = ["P@1", "RR", "nDCG@3", "AP", "RBP"]
    path = tmp_path_factory.getbasetemp() / f"written.{format}"
    rs.Run(run).write(path, format=format)
    back = rs.read_run(path, format=format)
    assert {q: list(docs) for q, docs in naive(back.to_dict()).items()} == naive(run)
    expected = rs.evaluate(qrels, run, measures)
    assert rs.evaluate(qrels, back, measures).means == expected.means


# --- a run is checked, sorted and hashed once ----------------------------------------------------


def test_a_run_is_checked_sorted_and_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        original = getattr(owner, name)
        monkeypatch.setattr(
            owner,
            name,
            lambda *args, **kwargs: (counts.update([name]), original(*args, **kwargs))[1],
        )

    count(rs.Run, "_take")
    count(rs.Run, "_hash")
    count(order, "best_first")
    run = rs.Run({"q": {"a": 1.0, "b": 2.0, "c": 1.0}, "p": {"x": 0.5}})
    for _ in range(3):
        run.fingerprint()
        run.trec_columns()
        rs.evaluate({"q": {"a": 1}, "p": {"x": 1}}, run, ["RR", "AP"])
        run.named("other").fingerprint()
    assert counts == {"_take": 1, "_hash": 1, "best_first": 1}
    assert rs.fuse([run]).best_first() is None, "a fused run is sorted"


def test_a_trusted_run_is_the_run_of_the_same_rows() -> None:
    checked = rs.Run({"q": {"b": 2.0, "a": 1.0}, "empty": {}, "p": {"x": 0.5}}, name="r")
    trusted = rs.Run.trusted(
        checked.query_ids, checked.sizes, checked.doc_ids, checked.scores, name="r",
        is_best_first=True, fingerprint=checked.fingerprint(),
    )  # fmt: skip
    assert trusted == checked
    assert (trusted.name, trusted.query_ids) == ("r", ["q", "empty", "p"])
    assert trusted.best_first() is None
    assert trusted.fingerprint() == checked.fingerprint()
    assert trusted.trec_columns().equals(checked.trec_columns())


def test_a_fingerprint_is_that_of_what_is_written() -> None:
    """A query without documents is in no file, and its id changes nothing."""
    assert (
        rs.Run({"q": {"d": 1}, "tab\t": {}}).fingerprint() == rs.Run({"q": {"d": 1}}).fingerprint()
    )
