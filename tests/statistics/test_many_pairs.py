"""Many pairs: blocks change no bit, parts are made on demand, tables stay short."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from rankscope.document.blocks import Document, Table
from rankscope.document.csv_text import as_csv
from rankscope.errors import UnknownNameError
from rankscope.reports.comparison_page import comparison_document
from rankscope.statistics import arrays
from rankscope.statistics import system_pairs as pairing
from rankscope.statistics.comparison import Comparison, compare, compare_pairs
from rankscope.statistics.matrix import Matrix, Scale
from rankscope.statistics.settings import Settings
from rankscope.statistics.system_pairs import Pairs

TESTS: list[dict[str, Any]] = [
    {},
    {"test": "permutation"},
    {"test": "permutation", "correction": "bh"},
    {"test": "bootstrap", "correction": "none"},
    {"correction": "bonferroni"},
    {"margin": 0.1},
    {"family": "all"},
]


def made(systems: int, queries: int, measures: int = 1, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return values ``[m, s, n]`` with ties, zeros, topic effects, and two systems that are one."""
    random = np.random.default_rng(seed)
    shape = (measures, systems, queries)
    levels = np.linspace(-0.5, 0.5, systems)[np.newaxis, :, np.newaxis]
    logits = levels + random.normal(0, 1, (measures, 1, queries)) + random.normal(0, 0.6, shape)
    values = np.round(1 / (1 + np.exp(-logits)), 2)
    values[random.random(shape) < 0.1] = 0.0
    values[:, 1] = values[:, 0]
    return values


def matrix_of(values: np.ndarray[Any, Any]) -> Matrix:
    measures, systems, queries = values.shape
    return Matrix(
        systems=tuple(f"s{system:03}" for system in range(systems)),
        scales=tuple(map(Scale.of, ["AP", "nDCG@10"][:measures])),
        query_ids=tuple(f"q{query:04}" for query in range(queries)),
        values=values,
    )


def all_pairs(count: int) -> list[tuple[int, int]]:
    return list(combinations(range(count), 2))


def runs_of(count: int, queries: int = 20) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return qrels and runs that find the one relevant document at different ranks."""
    random = np.random.default_rng(count)
    qrels = {f"q{query:02}": {"d": 1} for query in range(queries)}
    runs = {
        f"run{level:03}": {
            query_id: {"d": float(random.normal(3 * level / count)), "x": 0.5, "y": 1.0, "z": 2.0}
            for query_id in qrels
        }
        for level in range(count)
    }
    return qrels, runs


def tables_of(document: Document) -> list[Table]:
    blocks = (block for section in document.sections for block in section.all_blocks)
    return [block for block in blocks if isinstance(block, Table)]


# --- blocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", TESTS, ids=[json.dumps(options) for options in TESTS])
def test_blocks_change_no_bit(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one row, of seven and of all give the same pairs, to the last bit."""
    queries = 20
    matrix, pairs = matrix_of(made(5, queries, 2)), all_pairs(5)
    settings = Settings.of(resamples=200, **options)
    whole = [pair.to_dict() for pair in compare_pairs(matrix, pairs, settings)]
    for rows in (1, 7):
        monkeypatch.setattr(arrays, "BLOCK", rows * queries)
        monkeypatch.setattr(pairing, "KEPT", 0)
        monkeypatch.setattr(pairing, "MADE", rows)
        compared = compare_pairs(matrix, pairs, settings)
        assert [pair.to_dict() for pair in compared] == whole


def test_blocks_bound_what_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """No array of differences has more rows than a block, whatever the test."""
    matrix, pairs = matrix_of(made(12, 30)), all_pairs(12)
    monkeypatch.setattr(arrays, "BLOCK", 10 * 30)
    heights = []
    rows_of = Matrix.pair_rows

    def watched(self: Matrix, rows: Any, listed: Any) -> Any:
        heights.append(len(rows))
        return rows_of(self, rows, listed)

    def refused(*_: object) -> None:
        raise AssertionError("differences of all pairs at once")

    monkeypatch.setattr(Matrix, "pair_rows", watched)
    monkeypatch.setattr(Matrix, "query_differences", refused)
    for options in TESTS:
        compare_pairs(matrix, pairs, Settings.of(resamples=200, **options))
    assert max(heights) == 10


# --- pairs on demand -----------------------------------------------------------------------------


def test_pairs_are_a_tuple_to_those_who_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, pairs = matrix_of(made(5, 30)), all_pairs(5)
    compared = compare_pairs(matrix, pairs, Settings.of(resamples=200))
    listed = tuple(compared)
    assert len(compared) == len(listed) == 10
    assert compared[0] is compared[0]
    assert (compared[-1], compared[2:9:3]) == (listed[-1], listed[2:9:3])
    assert compared == listed
    assert listed == compared
    assert compared != listed[:-1]
    assert compared != list(listed)
    assert listed[3] in compared
    with pytest.raises(IndexError):
        compared[10]
    monkeypatch.setattr(pairing, "KEPT", 4)
    lazy = compare_pairs(matrix, pairs, Settings.of(resamples=200))
    assert (lazy[-1], lazy[2:9:3], tuple(lazy)) == (listed[-1], listed[2:9:3], listed)
    assert repr(lazy) == "<10 pairs>"


def test_pairs_are_found_by_name() -> None:
    matrix = matrix_of(made(5, 30, 2))
    compared = compare_pairs(matrix, all_pairs(5), Settings.of(resamples=200))
    for pairs in (compared, Pairs.of(compared)):
        pair = pairs.find(measure="nDCG@10", base="s001", system="s004")
        assert pair is not None
        assert (pair.measure, pair.base, pair.system) == ("nDCG@10", "s001", "s004")
        assert pairs.find(measure="AP", base="s004", system="s001") is None
        assert pairs.find(measure="AP", base="nobody", system="s001") is None
        chosen = pairs.select(measure="AP", among=["s000", "s002", "s004"])
        assert [(p.base, p.system) for p in chosen] == [
            ("s000", "s002"), ("s000", "s004"), ("s002", "s004")
        ]  # fmt: skip
        rows = pairs.rows(measure="AP")
        verdicts = [p.verdict in ("better", "worse") for p in pairs.at(rows)]
        assert pairs.separated(rows).tolist() == verdicts
        apart = pairs.apart("AP", matrix.systems)
        assert (apart == apart.T).all()
        assert apart.sum() == 2 * sum(verdicts)


def test_a_record_of_many_pairs_comes_back_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "KEPT", 3)
    qrels, runs = runs_of(7)
    runs["naïve \u202e\n"] = runs.pop("run003")
    result = compare(qrels, runs, ["RR", "P@1"], resamples=200)
    text = result.to_json()
    assert json.loads(text) == result.to_dict()
    again = Comparison.from_data(json.loads(text), source="file")
    assert again == result
    assert again.to_json() == text
    plain = "".join(result.json_pieces(ascii_only=True))
    assert plain.isascii()
    assert json.loads(plain) == result.to_dict()
    with pytest.raises(UnknownNameError, match="run001 against run002"):
        result.pair("run001", "run002")


# --- what is shown -------------------------------------------------------------------------------


def pairs_in(document: Document) -> Table:
    return next(
        t
        for t in tables_of(document)
        if t.columns[0].title == "measure" and t.columns[-1].title == "result"
    )


def test_pairs_of_the_best_are_listed() -> None:
    qrels, runs = runs_of(12)
    result = compare(qrels, runs, ["RR", "P@1"], test="t")
    document = comparison_document(result)
    assert len(tables_of(document)[0].rows) == 12
    assert len(pairs_in(document).rows) == 2 * 45
    assert len(as_csv(document).splitlines()) == 1 + 2 * 66, "csv holds all"
    based = compare(qrels, runs, ["RR"], baseline="run000", test="t")
    assert len(pairs_in(comparison_document(based)).rows) == 11
    assert based.baseline == "run000"
