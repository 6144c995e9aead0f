"""Trained weights: found where they must be, and never seen by the queries they are scored on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankscope.errors import InputError, UnknownNameError
from rankscope.measures.language import Measure
from rankscope.retrieval.stages.weights import TrainedFusion, train_weights
from rankscope.runs.fusion.fuse import fuse
from rankscope.runs.table import Run
from rankscope.scoring.evaluate import evaluate

Qrels = dict[str, dict[str, int]]
Lists = dict[str, dict[str, float]]

DOCS = [f"d{n}" for n in range(12)]


def world(queries: int = 23, seed: int = 1) -> tuple[Qrels, dict[str, Lists]]:
    """A good run, a weak one and noise, over judged queries."""
    random = np.random.default_rng(seed)
    qrels: Qrels = {}
    runs: dict[str, Lists] = {"good": {}, "weak": {}, "noise": {}}
    for number in range(queries):
        grades = dict(zip(DOCS, random.integers(0, 4, len(DOCS)).tolist(), strict=True))
        qrels[f"q{number}"] = grades
        for (_, run), noise in zip(runs.items(), (1.0, 2.5, 1e3), strict=True):
            run[f"q{number}"] = {d: g + random.normal(scale=noise) for d, g in grades.items()}
    return qrels, runs


def train(qrels: Any, runs: Any, **options: Any) -> TrainedFusion:
    return train_weights(qrels, runs, **{"measure": "nDCG@5", "step": 0.25, **options})


def test_the_better_run_gets_the_weight() -> None:
    qrels, runs = world()
    trained = train(qrels, runs, step=0.1)
    assert sum(trained.weights.values()) == pytest.approx(1)
    assert trained.weights["good"] > trained.weights["weak"] > trained.weights["noise"]
    alone = evaluate(qrels, runs["noise"], "nDCG@5")["nDCG@5"]
    assert trained.trained_value >= trained.value > alone


@pytest.mark.parametrize("measure", ["nDCG@5", "ERR@5", "RBP"])
def test_a_fold_is_never_seen_by_its_weights(measure: str) -> None:
    """Whatever is done to the grades of a fold, its weights stay, and those of others change.

    ERR and RBP scale gains by the highest grade of all judgments, so the grades are also raised.
    """
    qrels, runs = world()
    before = train(qrels, runs, measure=measure)
    random = np.random.default_rng(3)
    for number, fold in enumerate(before.folds[:2]):
        changed = dict(qrels)
        for query_id in fold.query_ids:
            grades = random.permutation(list(qrels[query_id].values())) + 3
            changed[query_id] = dict(zip(DOCS, grades.tolist(), strict=True))
        after = train(changed, runs, measure=measure)
        assert [one.query_ids for one in after.folds] == [one.query_ids for one in before.folds]
        assert after.folds[number].weights == fold.weights
        assert after.folds[number].trained_value == fold.trained_value
        assert after.folds[number].value != fold.value
        assert after.trained_value != before.trained_value


def test_the_folds_are_a_partition_of_nearly_equal_parts() -> None:
    qrels, runs = world()
    folds = train(qrels, runs, folds=4).folds
    assert sorted(q for fold in folds for q in fold.query_ids) == sorted(qrels)
    assert sorted(len(fold.query_ids) for fold in folds) == [5, 6, 6, 6]


def test_the_order_of_queries_makes_no_difference() -> None:
    qrels, runs = world()
    turned = {query_id: qrels[query_id] for query_id in reversed(qrels)}
    mixed = {name: dict(reversed(run.items())) for name, run in runs.items()}
    assert train(turned, mixed) == train(qrels, runs)


def test_another_seed_is_another_split() -> None:
    qrels, runs = world()
    one, two = train(qrels, runs), train(qrels, runs, seed=1)
    assert one.folds[0].query_ids != two.folds[0].query_ids
    assert one.weights == two.weights


def test_the_held_out_run_is_what_was_scored() -> None:
    qrels, runs = world()
    del runs["good"]["q3"], runs["weak"]["q3"], runs["noise"]["q3"]  # judged, and in no run
    trained = train(qrels, runs)
    held_out = trained.held_out(runs, name="hybrid")
    assert held_out.name == "hybrid"
    assert set(held_out.query_ids) == qrels.keys() - {"q3"}
    scores = evaluate(qrels, held_out, "nDCG@5")
    assert scores["nDCG@5"] == pytest.approx(trained.value)
    assert scores.values("nDCG@5") == pytest.approx(trained.values)
    assert Run(held_out.to_polars()) == held_out


def test_new_queries_are_fused_with_the_weights_of_all() -> None:
    qrels, runs = world()
    _, new = world(4, seed=9)
    trained = train(qrels, runs, method="rrf", k=5)
    weights = list(trained.weights.values())
    assert trained.fuse(new) == fuse(new, method="rrf", k=5, weights=weights)
    assert len(trained.fuse(list(new.values()), depth=2)["q0"]) == 2


def test_equal_weights_are_preferred() -> None:
    qrels, runs = world()
    same = train(qrels, [runs["good"], runs["good"]], step=0.1)
    assert same.weights == {"run1": 0.5, "run2": 0.5}


def test_lower_may_be_better() -> None:
    qrels, runs = world()
    assert not Measure.parse("FallOut@5").definition.higher_is_better
    trained = train(qrels, runs, measure="FallOut@5")
    assert trained.weights["good"] > trained.weights["noise"]
    fused = fuse(runs, method="minmax", weights=trained.weights)
    assert trained.trained_value == pytest.approx(evaluate(qrels, fused, "FallOut@5")["FallOut@5"])


def test_mistakes() -> None:
    qrels, runs = world()
    refused: list[tuple[dict[str, Any], str]] = [
        ({"method": "combmax"}, "no weights"),
        ({"folds": 1}, "'1'"),
        ({"folds": 24}, "23 judged queries"),
        ({"step": 0.3}, "0.3"),
        ({"step": 0}, "step"),
        ({"step": 0.005}, "20,301 points"),
        ({"k": 3}, "minmax takes no k"),
        ({"sgima": 1}, "takes no sgima"),
        ({"measure": "nDGC@5"}, "nearest"),
    ]
    for options, word in refused:
        with pytest.raises((InputError, UnknownNameError), match=word):
            train(qrels, runs, **options)
    with pytest.raises(InputError, match="two runs"):
        train(qrels, [runs["good"]])
