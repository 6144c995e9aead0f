"""Judges: planted raters are named and no others, and numbers are those done by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.collection.ratings import Ratings, as_ratings
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.judges import Judges, JudgesConfig, judges
from rankscope.errors import InputError, UnknownNameError
from rankscope.findings import NotApplicable

QUERIES, DOCUMENTS = 24, 8


def world(seed: int = 0) -> tuple[Any, Any, Any]:
    """Return grades of pairs ``[query, document]``, qrels, and two runs, the first one better."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 4, (QUERIES, DOCUMENTS))
    qrels = {f"q{q}": {f"d{d}": int(truth[q, d]) for d in range(DOCUMENTS)} for q in range(QUERIES)}
    noise = {"good": 0.5, "poor": 3.0}
    runs = {
        name: {
            f"q{q}": {
                f"d{d}": float(truth[q, d] + random.normal(0, spread)) for d in range(DOCUMENTS)
            }
            for q in range(QUERIES)
        }
        for name, spread in noise.items()
    }
    return truth, qrels, runs


def rated(**raters: Any) -> Ratings:
    """Return ratings from tables ``[query, document]`` by rater; NaN where there is none."""
    return as_ratings(
        {
            name: {
                f"q{q}": {f"d{d}": grade for d, grade in enumerate(row) if not np.isnan(grade)}
                for q, row in enumerate(np.asarray(table, dtype=np.float64).tolist())
            }
            for name, table in raters.items()
        }
    )


def blurred(truth: Any, seed: int, right: float = 0.9) -> Any:
    random = np.random.default_rng(seed)
    return np.where(random.random(truth.shape) < right, truth, random.integers(0, 4, truth.shape))


def look(qrels: Any, runs: Any, ratings: Any, measure: str = "nDCG@3", **given: Any) -> Any:
    diagnosis = rs.diagnose(
        qrels, runs, [measure], only="judges", ratings=ratings, resamples=1000, **given
    )
    answer = getattr(diagnosis.analyses, "judges")  # noqa: B009
    if isinstance(answer, Judges):
        data = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
        assert Judges.model_validate(data) == answer
    return answer


def codes(answer: Judges) -> dict[str, list[str]]:
    """Return the findings as severity by code."""
    answers: dict[str, list[str]] = {}
    for finding in answer.findings:
        answers.setdefault(finding.code, []).append(finding.severity)
    return answers


# --- planted raters


def binary() -> tuple[Any, Any, Any]:
    """Return grades 0 and 1, with qrels and one run."""
    truth = (np.random.default_rng(0).random((QUERIES, DOCUMENTS)) < 0.2).astype(int)
    qrels = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(row)} for q, row in enumerate(truth)}
    return truth, qrels, {"s": {query: list(documents) for query, documents in qrels.items()}}


def test_the_innocent_are_not_accused_beside_an_inverted_scale() -> None:
    """The one that is right, one that is nearly so, and one that says the opposite."""
    truth, qrels, runs = binary()
    wrong = np.random.default_rng(1).random(truth.shape) < 0.05
    ratings = rated(a=truth, b=np.where(wrong, 1 - truth, truth), inv=1 - truth)
    answer = look(qrels, runs, ratings)
    accused = {f.code: f.message for f in answer.findings if f.code == "RS687"}
    assert list(accused) == ["RS687"]
    assert all(message.startswith("inv") for message in accused.values())
    rows = {row.judge: row for row in answer.comparisons}
    assert {row.reference for row in rows.values()} == {"qrels"}
    assert rows["a"].accuracy == 1
    assert rows["inv"].accuracy == 0
    # of the others b is nearly right, and inv says 1 − truth: their mean is a half but for b
    [bias] = [row.bias for row in answer.raters if row.rater == "a"]
    others = (np.where(wrong, 1 - truth, truth) + 1 - truth) / 2
    assert bias == pytest.approx((truth - others).mean())
    assert "RS685" in codes(answer)


def test_qrels_of_another_scale_or_of_few_pairs_are_no_reference() -> None:
    truth, qrels, runs = world()
    ratings = rated(a=truth, b=blurred(truth, 1), c=blurred(truth, 2))

    def references(judgments: Any, **config: Any) -> set[str]:
        answer = look(judgments, runs, ratings, configs={"judges": config})
        return {row.reference for row in answer.comparisons}

    coarse = {q: {d: int(grade > 1) for d, grade in row.items()} for q, row in qrels.items()}
    few = {q: {d: grade for d, grade in row.items() if d < "d3"} for q, row in qrels.items()}
    assert references(qrels) == {"qrels"}
    assert references(coarse) == references(few) == {"majority"}
    assert references(coarse, reference="qrels") == {"qrels"}
    with pytest.raises(InputError, match="qrels"):
        judges.answer(JudgesConfig(reference="qrels"), Inputs(ratings=ratings))


def test_a_constant_by_hand() -> None:
    final = [0, 0, 0, 0, 0, 1, 1, 1, 2, 2]
    judge = [0, 0, 0, 1, 2, 1, 1, 0, 2, 0]
    names = [f"d{n}" for n in range(10)]
    ratings = {
        "final": {"q": dict(zip(names, final, strict=True))},
        "gpt": {"q": dict(zip(names, judge, strict=True))},
    }
    answer = look({"q": {"d0": 1}}, {"s": {"q": ["d0"]}}, ratings)
    [row] = answer.comparisons
    assert (row.accuracy, row.constant_accuracy, row.within_one) == (0.6, 0.5, 0.8)
    assert not row.is_no_better


# --- the order of the systems


def test_the_order_changes_with_the_rater_by_hand() -> None:
    names = [f"q{n}" for n in range(8)]
    qrels = {name: {"a": 1, "b": 0} for name in names}
    runs = {"first": {name: ["a", "b"] for name in names}, "second": {n: ["b", "a"] for n in names}}
    ratings = {
        "same": qrels,
        "other": {name: {"a": 0, "b": 1} for name in names},
        "few": {"q0": {"a": 0}},
    }
    answer = look(qrels, runs, ratings, "RR")
    orders = answer.orders
    assert orders.means == {"first": 1.0, "second": 0.5}
    same, other = orders.raters
    assert (same.rater, same.means, same.tau, same.swaps) == ("same", orders.means, 1.0, ())
    assert other.means == {"first": 0.5, "second": 1.0}
    assert other.swaps == (("first", "second"),)
    assert orders.left_out.keys() == {"few"}  # of 1 of 16 pairs
    assert codes(answer)["RS688"] == ["warning"]


@pytest.mark.parametrize("profile", ["rankscope", "beir"])
@pytest.mark.parametrize("measure", ["nDCG@3", "P(rel=2)@2", "NumRel"])
def test_scores_by_rater_are_those_of_evaluate(profile: str, measure: str) -> None:
    truth, qrels, runs = world()
    qrels["q3"] = {}
    del runs["poor"]["q5"]
    tables = {"ann": blurred(truth, 1, 0.5), "bob": blurred(truth, 2, 0.2)}
    answer = look(qrels, runs, rated(**tables), measure, profile=profile)
    for order in answer.orders.raters:
        table = tables[order.rater]
        theirs = {
            f"q{q}": {f"d{d}": int(grade) for d, grade in enumerate(row)}
            for q, row in enumerate(table)
        }
        scores = rs.evaluate(theirs, runs, [measure], profile=profile)
        for name in runs:
            assert order.means[name] == pytest.approx(scores.run(name).means[scores.measures[0]])


def test_without_runs_agreement_is_still_told() -> None:
    truth, _, _ = world()
    given = Inputs(ratings=rated(ann=truth, bob=blurred(truth, 1)))
    answer = judges.answer(JudgesConfig(), given)
    assert isinstance(answer, Judges)
    assert answer.orders is None
    assert answer.orders_reason
    assert answer.agreement.ordinal.value is not None
    assert answer.again


# --- pairs to judge again


def test_pairs_to_judge_again_by_hand() -> None:
    qrels = {"q": {"a": 1, "b": 0, "c": 1, "d": 2, "e": 0}, "p": {"a": 1}}
    runs = {"s": {"q": ["a", "b", "c", "d"], "p": ["a"]}, "t": {"q": ["c", "a"], "p": []}}
    ratings = [
        {"query_id": "q", "doc_id": doc, "ann": ann, "bob": bob, "cy": cy, "final": 1}
        for doc, ann, bob, cy in [
            ("a", 1, 1, 1),  # all agree
            ("b", 0, 1, 1),  # span 1
            ("c", 0, 3, 1),  # span 3
            ("d", 0, 3, None),  # span 3
        ]
    ] + [{"query_id": "z", "doc_id": "y", "ann": 0, "bob": 2}]
    answer = look(qrels, runs, ratings, "P@2")
    assert [pair.doc_id for pair in answer.again] == ["c", "d", "y", "b"]
    first = answer.again[0]
    assert first.grades == {"ann": 0.0, "bob": 3.0, "cy": 1.0}
    assert answer.disputed == 4
    limited = look(qrels, runs, ratings, "P@2", configs={"judges": {"again": 2}})
    assert [pair.doc_id for pair in limited.again] == ["c", "d"]


def test_a_judge_that_contradicts_itself() -> None:
    truth, qrels, runs = world()
    random = np.random.default_rng(3)
    again = random.integers(0, 4, truth.shape)
    rows = [
        (f"q{q}", f"d{d}", rater, int(table[q, d]))
        for rater, tables in (("gpt", (truth, again)), ("ann", (truth, truth)))
        for table in tables
        for q in range(QUERIES)
        for d in range(DOCUMENTS)
    ]
    answer = look(qrels, runs, rows)
    assert [(row.rater, row.repeats) for row in answer.repeats] == [("gpt", 2), ("ann", 2)]
    assert codes(answer) == {"RS689": ["note"]}  # the first ratings of both agree


# --- what is compared with what


def test_the_judge_and_the_reference_can_be_named() -> None:
    truth, qrels, runs = world()
    ratings = rated(ann=truth, bob=blurred(truth, 1), gpt=blurred(truth, 2), final=truth)

    def compared(**config: Any) -> list[tuple[str, str]]:
        answer = look(qrels, runs, ratings, configs={"judges": config})
        return [(row.judge, row.reference) for row in answer.comparisons]

    each = ["ann", "bob", "gpt"]
    assert compared() == compared(reference="final") == [(name, "final") for name in each]
    assert compared(reference="majority") == [(name, "majority") for name in each]
    assert compared(judge="gpt", reference="ann") == [("gpt", "ann")]
    assert compared(reference="ann") == [("bob", "ann"), ("gpt", "ann")]
    assert compared(judge="bob") == [("bob", "final")]
    for config in ({"judge": "eve"}, {"reference": "eve"}, {"judge": "final"}):
        with pytest.raises(UnknownNameError, match=next(iter(config.values()))):
            compared(**config)
    with pytest.raises(InputError, match="same"):
        compared(judge="ann", reference="ann")
    with pytest.raises(InputError, match="final"):
        look(qrels, runs, rated(ann=truth, bob=truth), configs={"judges": {"reference": "final"}})


def test_the_majority_of_the_others_by_hand() -> None:
    ratings = {
        "ann": {"q": {"a": 1, "b": 0, "c": 2}},
        "bob": {"q": {"a": 1, "b": 1, "c": 2}},
        "cy": {"q": {"a": 0, "b": 1, "c": 2}},
    }
    answer = look({"q": {"a": 1}}, {"s": {"q": ["a"]}}, ratings)
    # of ann's three pairs the others agree on b and c; she gives c the same grade
    # of bob's three pairs they agree on c alone: too few to say how he does
    assert {row.judge: row.accuracy for row in answer.comparisons} == {"ann": 0.5, "cy": 0.5}
    assert answer.not_compared.keys() == {"bob"}


# --- edges


def test_one_rater_alone_says_nothing() -> None:
    answer = look({"q": {"a": 1}}, {"s": {"q": ["a"]}}, {"ann": {"q": {"b": 1}}})
    assert isinstance(answer, NotApplicable)
    ratings = {"gpt": {"q": {"a": 1}}, "final": {"q": {"a": 0}}}
    judged = look({"q": {"a": 1}}, {"s": {"q": ["a"]}}, ratings)
    assert judged.comparisons[0].accuracy == 0
