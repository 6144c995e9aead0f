"""Plain dicts by the native library: the same hits as Python finds, and nothing odd is taken."""

from __future__ import annotations

import random
import sys
from collections import OrderedDict
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.scoring.align import align
from rankscope.scoring.dicts import found_in_dicts
from rankscope.scoring.rules import OURS
from rankscope.tables.native import library

pytestmark = pytest.mark.skipif(library() is None, reason="the native scan was not built")

CUTOFFS = (1, 3, 10)


def sample(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return judgments and a run with ties, unsorted lists, missing and unjudged queries."""
    draw = random.Random(seed)
    letters = ("d", "é", "日", "D", "x#", "\U0001f600")
    docs = [draw.choice(letters) + str(place) for place in range(draw.randint(1, 60))]
    levels = draw.choice([1, 2, 5, 1000, 10**9])
    number: Any = draw.choice([float, int, np.float64, np.float32])
    qrels = {
        f"q{query}": {
            doc: draw.choice([0, 1, 2, -1]) for doc in draw.sample(docs, len(docs) // 2 + 1)
        }
        for query in range(draw.randint(1, 5))
    }
    run = {
        f"q{query}": {
            doc: number(draw.randint(-levels, levels))
            for doc in draw.sample(docs, draw.randint(0, len(docs)))
        }
        for query in range(6)
        if draw.random() < 0.9
    }
    if draw.random() < 0.3:
        run = {
            query: dict(sorted(each.items(), key=lambda pair: -pair[1]))
            for query, each in run.items()
        }
    return qrels, run


@pytest.mark.parametrize("ties", ["trec", "id-asc", "given"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_hits_are_those_of_a_table(ties: Any, precision: Any) -> None:
    taken = 0
    for seed in range(100):
        qrels, run = sample(seed)
        judgments = rs.Judgments(qrels)
        walked = found_in_dicts(judgments, run, ties, precision, CUTOFFS)
        if walked is None:
            continue
        taken += 1
        table = align(
            judgments,
            rs.Run(run),
            replace(OURS, ties=ties, precision=precision),
            cutoffs=CUTOFFS,
            sound=False,
        )
        for name in walked._fields:
            assert np.array_equal(getattr(walked, name), getattr(table.hits, name)), (name, seed)
    assert taken > 80


class Odd(float):
    """A number that is not just one."""

    def __float__(self) -> float:
        raise AssertionError("code of somebody else's is run")


def test_what_is_not_plain_is_left_to_python() -> None:
    qrels = {"q": {f"d{place}": 1 for place in range(150)}}
    judgments = rs.Judgments(qrels)
    given: list[Any] = [
        *({"d1": True, "d2": 1.0}, {"d1": "2", "d2": 1.0}, {"d1": None}, {"d1": float("nan")}),
        *({"d1": float("inf")}, {"d1": 10**400}, {"d1": Decimal(2)}, {"d1": np.float16(2)}),
        *({"d1": Odd(2)}, {1: 2.0, "d1": 1.0}, {("d1",): 2.0}, OrderedDict(d1=2.0)),
        {f"d{place}": 1.0 for place in range(200)},  # more ties than are settled there
    ]
    for documents in given:
        assert found_in_dicts(judgments, {"q": documents}, "trec", "double", ()) is None, documents


def test_references_are_not_lost() -> None:
    key, score = "".join(["a", "b"]), 12345.678
    run = {"q": {key: score, "c": 1.0}}
    judgments = rs.Judgments({"q": {"ab": 1}})
    before = sys.getrefcount(key), sys.getrefcount(score), sys.getrefcount(run["q"])
    for _ in range(1000):
        assert found_in_dicts(judgments, run, "trec", "double", (1,)) is not None
    assert (sys.getrefcount(key), sys.getrefcount(score), sys.getrefcount(run["q"])) == before


def test_sorting_networks_sort() -> None:
    draw = random.Random(8)
    judgments = rs.Judgments({"q": {f"d{place}": 1 for place in range(300)}})
    for size in [*range(1, 70), 127, 128, 129, 300]:
        scores = [
            draw.choice([draw.random(), float(draw.randint(0, 3)), -0.0]) for _ in range(size)
        ]
        run = {"q": {f"d{place}": score for place, score in enumerate(scores)}}
        hits = found_in_dicts(judgments, run, "given", "double", CUTOFFS)
        assert hits is not None or size > 128  # too many are tied
        if hits is not None:
            places = sorted(range(size), key=lambda place, scores=scores: -scores[place])  # type: ignore[misc]
            assert hits.pair.tolist() == places
