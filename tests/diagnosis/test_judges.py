"""Judges: planted raters are named and no others, and numbers are those done by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankscope as rs
from rankscope.collection.ratings import Ratings, as_ratings
from rankscope.diagnosis.judges import JUDGES, Judges, JudgesConfig
from rankscope.diagnosis.registry import Inputs
from rankscope.document.blocks import Document, Section
from rankscope.document.pages import page
from rankscope.document.terminal import as_text
from rankscope.errors import InputError, UnknownNameError
from rankscope.findings import NotApplicable
from rankscope.scoring.inputs import as_judgments
from rankscope.statistics.rater_agreement import krippendorff_alpha
from real import COLLECTIONS

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
        shown(answer)
    return answer


def shown(answer: Judges) -> str:
    """Draw a section in two forms, and return what a terminal shows; JSON holds no NaN."""
    data = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert Judges.model_validate(data) == answer
    section = JUDGES.section(answer)
    document = Document("Judges", (Section(section.title, section.all_blocks),))
    assert "<table" in page(document)
    return as_text(document)


def codes(answer: Judges) -> dict[str, list[str]]:
    """Return the findings as severity by code."""
    answers: dict[str, list[str]] = {}
    for finding in answer.findings:
        answers.setdefault(finding.code, []).append(finding.severity)
    return answers


# --- planted raters


@pytest.mark.parametrize("planted", ["ann", "bob", "cy"])
def test_a_rater_that_inverts_grades_is_named(planted: str) -> None:
    truth, qrels, runs = world()
    tables = {name: blurred(truth, place) for place, name in enumerate(("ann", "bob", "cy"))}
    tables[planted] = 3 - tables[planted]
    answer = look(qrels, runs, rated(**tables))
    named = [finding.message for finding in answer.findings if finding.code == "RS686"]
    assert len(named) == 1
    assert named[0].startswith(f"{planted}'s grades run against the others' (correlation -0.")
    assert "): its scale looks inverted; it agrees less with the others (" in named[0]
    assert answer.findings[0].message == named[0]  # before what follows from it
    [row] = [row for row in answer.raters if row.deviation.is_apart]
    assert row.rater == planted
    rest = [tables[name] for name in tables if name != planted]
    without = krippendorff_alpha(np.stack([table.ravel() for table in rest]), level="ordinal")
    assert row.alpha_without == pytest.approx(without.value)
    assert f"; without it alpha is {without.value:.2f}, with it " in named[0]
    # grades upside down put the good system behind the poor one
    [order] = [order for order in answer.orders.raters if order.rater == planted]
    assert order.order == ("poor", "good")
    assert order.tau == -1
    assert codes(answer)["RS688"] == ["warning"]
    assert codes(answer)["RS685"] == ["warning"]
    texts = [advice.text for advice in answer.advice]
    assert len(texts) == 2
    assert texts[0].startswith("The alpha of the 3 judges is only ")
    assert (
        f"; by {planted}'s grades poor would be ahead of good: judge the 50 pairs again" in texts[0]
    )
    assert texts[1].startswith(f"{planted} gives the grade of the other judges' majority for ")
    assert ", and its scale looks inverted: look at its grades" in texts[1]
    values = [order.means["good"] for order in answer.orders.raters]
    assert answer.advice[0].gain == pytest.approx((max(values) - min(values)) / 2)


def binary(seed: int = 0, share: float = 0.5) -> tuple[Any, Any, Any]:
    """Return grades 0 and 1, with qrels and one run."""
    truth = (np.random.default_rng(seed).random((QUERIES, DOCUMENTS)) < share).astype(int)
    qrels = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(row)} for q, row in enumerate(truth)}
    return truth, qrels, {"s": {query: list(documents) for query, documents in qrels.items()}}


@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("reference", [None, "majority"])
def test_the_innocent_are_not_accused_beside_an_inverted_scale(
    share: float, reference: str | None
) -> None:
    """The one that is right, one that is nearly so, and one that says the opposite."""
    truth, qrels, runs = binary(share=share)
    wrong = np.random.default_rng(1).random(truth.shape) < 0.05
    ratings = rated(a=truth, b=np.where(wrong, 1 - truth, truth), inv=1 - truth)
    answer = look(qrels, runs, ratings, configs={"judges": {"reference": reference}})
    accused = {f.code: f.message for f in answer.findings if f.code in {"RS686", "RS687"}}
    assert list(accused) == ["RS686", "RS687"]
    assert all(message.startswith("inv") for message in accused.values())
    assert "inv's grades run against the others'" in answer.findings[0].message
    rows = {row.judge: row for row in answer.comparisons}
    assert {row.reference for row in rows.values()} == {reference or "qrels"}
    # without qrels, b is all that is left to compare a with, and a is right as often as b
    assert rows["a"].accuracy == pytest.approx(1 if reference is None else 1 - wrong.mean())
    assert rows["inv"].accuracy == 0
    by_name = {row.rater: row for row in answer.raters}
    assert by_name["a"].majority_equal == pytest.approx(1 - wrong.mean())
    assert by_name["inv"].majority_items == int((~wrong).sum())
    [alpha] = [f.message for f in answer.findings if f.code == "RS685"]
    assert alpha.startswith("the alpha of 3 judges is -0.")


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
    with pytest.raises(InputError, match="no qrels of documents were given"):
        JUDGES.answer(JudgesConfig(reference="qrels"), Inputs(ratings=ratings))


def test_one_judge_against_the_qrels() -> None:
    truth, qrels, runs = binary()
    [row] = look(qrels, runs, rated(gpt=truth)).comparisons
    assert (row.reference, row.accuracy) == ("qrels", 1)
    constant = look(qrels, runs, rated(gpt=np.zeros_like(truth)))
    assert [finding.message[:26] for finding in constant.findings] == ["gpt gives the grade of the"]
    assert codes(constant) == {"RS687": ["warning"]}


def test_unanimous_raters_leave_nothing_to_remark() -> None:
    truth, qrels, runs = world()
    answer = look(qrels, runs, rated(ann=truth, bob=truth, cy=truth))
    assert answer.findings == answer.advice == ()
    assert answer.agreement.ordinal.value == 1.0
    assert answer.again == ()
    assert answer.disputed == 0
    assert [order.tau for order in answer.orders.raters] == [1.0] * 3
    assert {order.means["good"] for order in answer.orders.raters} == {answer.orders.means["good"]}


def test_good_raters_are_not_named() -> None:
    for seed in range(5):
        truth, qrels, runs = world(seed)
        tables = {name: blurred(truth, 10 * seed + n) for n, name in enumerate("abc")}
        answer = look(qrels, runs, rated(**tables))
        assert not codes(answer).keys() & {"RS686", "RS687", "RS689"}


def test_random_raters_agree_as_chance_does() -> None:
    random = np.random.default_rng(1)
    _, qrels, runs = world()
    tables = {name: random.integers(0, 4, (QUERIES, DOCUMENTS)) for name in ("ann", "bob", "cy")}
    answer = look(qrels, runs, rated(**tables))
    ordinal = answer.agreement.ordinal
    assert ordinal.value == pytest.approx(0, abs=0.12)
    assert ordinal.interval.low < 0 < ordinal.interval.high
    assert codes(answer)["RS685"] == ["warning"]
    assert "RS686" not in codes(answer)
    [finding] = [finding for finding in answer.findings if finding.code == "RS685"]
    assert "below 0.667, under which no conclusion should be drawn" in finding.message


def test_fair_agreement_is_a_note() -> None:
    truth, qrels, runs = world()
    tables = {name: blurred(truth, place, 0.86) for place, name in enumerate("abc")}
    answer = look(qrels, runs, rated(**tables))
    assert 0.667 < answer.agreement.ordinal.value < 0.8
    assert codes(answer)["RS685"] == ["note"]


def test_a_constant_judge_is_no_better_than_a_constant() -> None:
    random = np.random.default_rng(2)
    truth = np.where(random.random((QUERIES, DOCUMENTS)) < 0.7, 0, 2)
    qrels = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(row)} for q, row in enumerate(truth)}
    runs = {"s": {query: list(documents) for query, documents in qrels.items()}}
    ratings = rated(final=truth, human=blurred(truth, 1, 0.95), gpt=np.zeros_like(truth))
    answer = look(qrels, runs, ratings)
    [finding] = [finding for finding in answer.findings if finding.code == "RS687"]
    assert finding.message.startswith("gpt gives the grade of the final judgment for ")
    assert finding.severity == "warning"
    [gpt] = [row for row in answer.comparisons if row.judge == "gpt"]
    share = float((truth == 0).mean())
    assert gpt.accuracy == gpt.constant_accuracy == pytest.approx(share)
    assert (gpt.constant, gpt.p_corrected, gpt.deciding) == (0.0, 1.0, 0)
    assert gpt.squared_error == pytest.approx(4 * (1 - share))
    assert gpt.constant_squared_error == pytest.approx(4 * share * (1 - share))
    assert gpt.quadratic.value == 0


def test_a_judge_with_small_mistakes_is_a_note() -> None:
    """Never the exact grade and always near it: worse than a constant by accuracy alone."""
    truth = np.tile([0, 0, 0, 0, 0, 10, 20, 30], (QUERIES, 1))
    qrels = {f"q{q}": {"d0": 0, "d7": 3} for q in range(QUERIES)}
    ratings = rated(gold=truth, gpt=truth + 1)
    answer = look(qrels, {"s": {"q0": ["d7"]}}, ratings)
    assert codes(answer)["RS687"] == ["note"]
    assert answer.comparisons[0].within_one == 1


def test_few_pairs_do_not_condemn_a_judge() -> None:
    qrels = {"q": {f"d{n}": n % 4 for n in range(12)}}
    grades = {f"d{n}": n % 4 for n in range(12)}
    ratings = {"final": {"q": grades}, "gpt": {"q": {**grades, "d1": 0}}}
    answer = look(qrels, {"s": {"q": ["d3"]}}, ratings)
    assert "RS687" not in codes(answer)
    same = {"final": {"q": dict.fromkeys(grades, 1)}, "gpt": {"q": grades}}
    assert "RS687" not in codes(look(qrels, {"s": {"q": ["d3"]}}, same))  # nobody could be better


def test_confusion_and_mcnemar_by_hand() -> None:
    final = [0, 0, 0, 0, 0, 1, 1, 1, 2, 2]
    judge = [0, 0, 0, 1, 2, 1, 1, 0, 2, 0]
    names = [f"d{n}" for n in range(10)]
    ratings = {
        "final": {"q": dict(zip(names, final, strict=True))},
        "gpt": {"q": dict(zip(names, judge, strict=True))},
    }
    answer = look({"q": {"d0": 1}}, {"s": {"q": ["d0"]}}, ratings)
    [row] = answer.comparisons
    assert row.grades == (0.0, 1.0, 2.0)
    assert row.confusion == ((3, 1, 1), (1, 2, 0), (1, 0, 1))  # by grade of the judge
    assert (row.accuracy, row.constant_accuracy, row.within_one) == (0.6, 0.5, 0.8)
    # the judge alone is right on two of grade 1 and one of grade 2, the constant on two of grade 0
    assert row.deciding == 5
    assert row.p_corrected == pytest.approx(1.0)  # 3 of 5: 2·(10 + 5 + 1)/32
    assert row.squared_error == pytest.approx((1 + 4 + 1 + 4) / 10)
    assert row.constant_mean == pytest.approx(0.7)
    assert row.constant_squared_error == pytest.approx((5 * 0.49 + 3 * 0.09 + 2 * 1.69) / 10)


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
    assert (same.rater, same.order, same.tau, same.swaps) == ("same", ("first", "second"), 1.0, ())
    assert other.means == {"first": 0.5, "second": 1.0}
    [swap] = other.swaps
    assert (swap.ahead, swap.behind) == ("first", "second")
    assert (swap.by_judgments, swap.by_rater) == (0.5, -0.5)
    # all eight differences are equal: a sign test, 2^(1−8), times three gradings of one pair
    assert swap.p_judgments == swap.p_rater == pytest.approx(3 * 2 / 256)
    assert orders.left_out == {
        "few": "judged 1 of 16 pairs, and an order needs half of them",
    }
    assert codes(answer)["RS688"] == ["warning"]
    [finding] = [finding for finding in answer.findings if finding.code == "RS688"]
    assert finding.message == (
        "by the grades of other second is ahead of first by 0.5000 on RR, and by the judgments "
        "given first is ahead by 0.5000"
    )


def test_a_swap_of_systems_that_are_not_separated_is_a_note() -> None:
    qrels = {"q0": {"a": 1, "b": 0}, "q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}}
    runs = {"first": {q: ["a", "b"] for q in qrels}, "second": {q: ["b", "a"] for q in qrels}}
    other = {"q0": {"a": 0, "b": 1}, "q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}}
    answer = look(qrels, runs, {"same": qrels, "other": other}, "RR")
    assert codes(answer)["RS688"] == ["note"]
    [finding] = [finding for finding in answer.findings if finding.code == "RS688"]
    assert finding.message.endswith("; neither difference is significant")
    assert answer.advice == ()


def test_a_rater_that_left_pairs_out_keeps_the_grades_given() -> None:
    qrels = {"q": {"a": 2, "b": 1, "c": 0}}
    answer = look(
        qrels, {"s": {"q": ["a", "b", "c"]}}, {"ann": {"q": {"b": 2, "c": 0}}, "bob": qrels}, "P@1"
    )
    ann, bob = answer.orders.raters
    assert (ann.share, bob.share) == (pytest.approx(2 / 3), 1.0)
    assert ann.means == bob.means == {"s": 1.0}
    assert ann.tau is None  # a single system has no order


@pytest.mark.parametrize("profile", ["rankscope", "trec_eval-9", "ir_measures", "beir"])
@pytest.mark.parametrize("measure", ["nDCG@3", "AP", "P(rel=2)@2", "ERR@4", "bpref", "NumRel"])
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


def test_a_sum_of_which_less_is_better() -> None:
    names = [f"q{n}" for n in range(8)]
    qrels = {name: {"a": 1, "b": 0} for name in names}
    runs = {"first": {name: ["a"] for name in names}, "second": {name: ["b"] for name in names}}
    other = {name: {"a": 0, "b": 1} for name in names}
    answer = look(qrels, runs, {"same": qrels, "other": other}, "NumNonrelJudgedRet")
    assert answer.orders.means == {"first": 0.0, "second": 8.0}
    assert answer.orders.order == ("first", "second")
    [swap] = answer.orders.raters[1].swaps
    assert (swap.ahead, swap.behind, swap.by_judgments, swap.by_rater) == ("first", "second", 8, -8)
    assert swap.p_judgments is swap.p_rater is None
    assert codes(answer)["RS688"] == ["note"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"scores": None}, "no runs with their judgments were given"),
        ({"runs": None}, "no runs with their judgments were given"),
        ({"qrels": None}, "no runs with their judgments were given"),
    ],
)
def test_without_runs_agreement_is_still_told(changes: Any, reason: str) -> None:
    truth, qrels, runs = world()
    tables = {name: rs.Run(run, name=name) for name, run in runs.items()}
    scores = rs.evaluate(qrels, tables, ["nDCG@3"])
    given = {"scores": scores, "runs": tables, "qrels": as_judgments(qrels)}
    inputs = Inputs(**given | changes, ratings=rated(ann=truth, bob=blurred(truth, 1)))
    answer = JUDGES.answer(JudgesConfig(), inputs)
    assert isinstance(answer, Judges)
    assert answer.orders is None
    assert answer.orders_reason == reason
    assert answer.agreement.ordinal.value is not None
    assert answer.again
    assert reason in shown(answer)


def test_measures_that_grades_cannot_give() -> None:
    frame = [("q", "1", "d", 1), ("q", "2", "e", 1), ("q", "2", "d", 0)]
    qrels = rs.Qrels(
        pl.DataFrame(frame, schema=["query_id", "subtopic", "doc_id", "grade"], orient="row")
    )
    ratings = {"ann": {"q": {"d": 1, "e": 0}}, "bob": {"q": {"d": 1, "e": 1}}}
    answer = look(qrels, {"s": {"q": ["d", "e"]}}, ratings, "alpha_nDCG@2")
    assert answer.orders is None
    assert "needs subtopics, which ratings do not have" in answer.orders_reason
    plain = look(qrels, {"s": {"q": ["d", "e"]}}, ratings, "nDCG@2")
    assert plain.orders is not None


# --- pairs to judge again


def test_pairs_to_judge_again_by_hand() -> None:
    qrels = {"q": {"a": 1, "b": 0, "c": 1, "d": 2, "e": 0}, "p": {"a": 1}}
    runs = {"s": {"q": ["a", "b", "c", "d"], "p": ["a"]}, "t": {"q": ["c", "a"], "p": []}}
    ratings = [
        {"query_id": "q", "doc_id": doc, "ann": ann, "bob": bob, "cy": cy, "final": 1}
        for doc, ann, bob, cy in [
            ("a", 1, 1, 1),  # all agree
            ("b", 0, 1, 1),  # on top, span 1
            ("c", 0, 3, 1),  # on top of both, span 3, smaller variance
            ("d", 0, 3, None),  # below the cutoff, span 3
            ("e", 3, 0, 0),  # not retrieved, span 3
            ("x", 0, 3, 3),  # not judged, not retrieved
        ]
    ] + [{"query_id": "z", "doc_id": "a", "ann": 0, "bob": 2}]
    queries = {"q": "what is it?", "p": "other"}
    corpus = {"c": {"title": "Soup", "text": "t"}, "b": "Stew", "a": "A"}
    answer = look(qrels, runs, ratings, "P@2", queries=queries, corpus=corpus)
    assert [(pair.query_id, pair.doc_id) for pair in answer.again] == [
        ("q", "c"),
        ("q", "b"),
        ("q", "d"),
        ("q", "e"),
        ("q", "x"),
        ("z", "a"),
    ]
    first = answer.again[0]
    assert (first.text, first.title, first.final) == ("what is it?", "Soup", 1.0)
    assert first.grades == {"ann": 0.0, "bob": 3.0, "cy": 1.0}
    assert (first.span, first.variance) == (3.0, pytest.approx(14 / 9))
    assert first.ranks == {"t": 1}  # rank 3 of s is below the cutoff
    assert (answer.disputed, answer.disputed_on_top, answer.cutoff) == (6, 2, 2)
    config = {"judges": {"again": 2, "cutoff": 4}}
    limited = look(qrels, runs, ratings, "P@2", configs=config)
    assert [pair.doc_id for pair in limited.again] == ["d", "c"]
    assert limited.cutoff == 4


# --- repeats


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
    gpt, ann = answer.repeats
    assert (gpt.rater, gpt.items, gpt.repeats) == ("gpt", truth.size, 2)
    assert gpt.equal == gpt.all_equal == pytest.approx(float((truth == again).mean()))
    assert (ann.equal, ann.kappa.value, ann.alpha.value) == (1.0, 1.0, 1.0)
    assert codes(answer) == {"RS689": ["note"]}  # the first ratings of both agree
    assert "Each judge against itself" in shown(answer)


def test_three_repeats_by_hand() -> None:
    rows = [("q", "a", "g", 1), ("q", "a", "g", 1), ("q", "a", "g", 2), ("q", "b", "g", 0)]
    rows += [("q", "b", "g", 0), ("q", "c", "g", 3)]
    answer = look({"q": {"a": 1}}, {"s": {"q": ["a"]}}, rows)
    [row] = answer.repeats
    assert (row.items, row.repeats, row.equal, row.all_equal) == (2, 3, 1.0, 0.5)
    assert row.kappa.value == 1.0
    assert answer.agreement.ordinal.value is None  # a single rater


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
        with pytest.raises(UnknownNameError, match="unknown rater"):
            compared(**config)
    with pytest.raises(InputError, match="are the same rater"):
        compared(judge="ann", reference="ann")
    with pytest.raises(InputError, match="the ratings have no final grade"):
        look(qrels, runs, rated(ann=truth, bob=truth), configs={"judges": {"reference": "final"}})


def test_the_majority_of_the_others_by_hand() -> None:
    ratings = {
        "ann": {"q": {"a": 1, "b": 0, "c": 2}},
        "bob": {"q": {"a": 1, "b": 1, "c": 2}},
        "cy": {"q": {"a": 0, "b": 1, "c": 2}},
    }
    answer = look({"q": {"a": 1}}, {"s": {"q": ["a"]}}, ratings)
    # of ann's three pairs the others agree on b and c; she gives c the same grade
    rows = {row.rater: (row.majority_items, row.majority_equal) for row in answer.raters}
    # of bob's three pairs they agree on c alone: too few to say how he does
    assert rows == {"ann": (2, 0.5), "bob": (1, None), "cy": (2, 0.5)}
    assert [row.judge for row in answer.comparisons] == ["ann", "cy"]
    assert answer.not_compared == {"bob": "the others have a majority for 1 of its 3 pairs only"}
    assert "bob is compared with nothing: the others have a majority for 1 of its" in shown(answer)
    assert [row.mean for row in answer.raters] == [1.0, pytest.approx(4 / 3), 1.0]
    assert answer.raters[0].deviation.bias == pytest.approx((0.5 - 1 + 0) / 3)
    pair = answer.pairs[0]
    assert (pair.first, pair.second, pair.items) == ("ann", "bob", 3)
    assert pair.equal == pytest.approx(2 / 3)


# --- edges


def test_one_rater_alone_says_nothing() -> None:
    answer = look({"q": {"a": 1}}, {"s": {"q": ["a"]}}, {"ann": {"q": {"b": 1}}})
    assert isinstance(answer, NotApplicable)
    assert answer.reason.startswith("there is one rater, and neither a final grade nor")
    ratings = {"gpt": {"q": {"a": 1}}, "final": {"q": {"a": 0}}}
    judged = look({"q": {"a": 1}}, {"s": {"q": ["a"]}}, ratings)
    assert judged.comparisons[0].accuracy == 0
    assert "Krippendorff" not in shown(judged)  # there are no two to agree


def test_one_grade_is_undefined_and_said() -> None:
    truth, qrels, runs = world()
    answer = look(qrels, runs, rated(ann=np.ones_like(truth), bob=np.ones_like(truth)))
    assert answer.agreement.ordinal.value is None
    assert codes(answer) == {"RS687": ["warning", "warning"]}  # the qrels have other grades
    assert "undefined: only grade 1 was given" in shown(answer)


@pytest.mark.parametrize(
    "ratings",
    [
        {"ann": {"q": {"a": 1}}, "bob": {"q": {"b": 1}}},  # nothing shared
        {"ann": {"z": {"a": 1}}, "bob": {"z": {"a": 0}}},  # of a query that is not judged
        {"ann": {"q": {"a": -1, "b": 2}}, "bob": {"q": {"a": 0, "b": 2}}},  # a negative grade
        {"ann": {"q": {"a": 0, "b": 0}}, "bob": {"q": {"a": 0, "b": 0}}},  # nothing relevant
        {"ann": {"q": {"a": 0.25, "b": 0.5}}, "bob": {"q": {"a": 0.1, "b": 0.9}}},
    ],
)
def test_odd_ratings(ratings: Any) -> None:
    qrels, runs = {"q": {"a": 1, "b": 0}, "r": {}}, {"s": {"q": ["a"]}, "t": {"q": ["a"]}}
    for measure in ("nDCG@10", "RR", "P(rel=2)@1", "NumRet"):
        try:
            rs.evaluate(qrels, runs, [measure])
        except rs.RankscopeError:
            continue
        assert isinstance(look(qrels, runs, ratings, measure), Judges)


def test_many_raters() -> None:
    truth, qrels, runs = world()
    random = np.random.default_rng(0)
    tables = {}
    for number in range(35):
        table = blurred(truth, number).astype(np.float64)
        table[random.random(truth.shape) < 0.8] = np.nan
        tables[f"worker{number}"] = table
    answer = look(qrels, runs, rated(**tables))
    assert answer.pairs == ()
    assert answer.orders_reason == "there are more than 30 raters"
    assert len(answer.raters) == 35
    text = shown(answer)
    assert "23 more judges are in the JSON" in text
    assert "RS686" not in codes(answer)


def test_the_same_input_gives_the_same_answer() -> None:
    truth, qrels, runs = world()
    ratings = rated(ann=blurred(truth, 1), bob=blurred(truth, 2))
    assert look(qrels, runs, ratings) == look(qrels, runs, ratings)


# --- a real collection


@pytest.mark.skipif(not (COLLECTIONS / "electronics").exists(), reason="no real collections here")
def test_electronics_as_other_tools_have_it() -> None:
    """Numbers of krippendorff 0.9.0, statsmodels 0.15.0 and scikit-learn 1.9.1."""
    folder = Path(COLLECTIONS / "electronics")
    ratings = as_ratings(folder / "ratings.tsv")
    answer = JUDGES.answer(JudgesConfig(), Inputs(ratings=ratings))
    assert isinstance(answer, Judges)
    agreement = answer.agreement
    assert agreement.ordinal.value == pytest.approx(0.7695483064404347, abs=1e-12)
    assert agreement.interval.value == pytest.approx(0.7707326119944451, abs=1e-12)
    assert agreement.nominal.value == pytest.approx(0.6425965358005941, abs=1e-12)
    assert agreement.fleiss.value == pytest.approx(0.6425591622290998, abs=1e-12)
    kappas: Any = [(pair.kappa.value, pair.quadratic.value) for pair in answer.pairs]
    assert kappas == [
        (pytest.approx(0.6820469063422631), pytest.approx(0.7989752695051799)),
        (pytest.approx(0.6457522480550284), pytest.approx(0.7755009738291752)),
        (pytest.approx(0.6013266399792503), pytest.approx(0.7373536288283178)),
    ]
