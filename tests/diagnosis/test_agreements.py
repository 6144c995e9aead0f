"""Agreement: the numbers of two lists, query by query; complements are told from noise."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis.agreements import AGREEMENT, Agreement
from rankscope.document.blocks import Table
from rankscope.findings import NotApplicable
from rankscope.statistics.rank_correlation import kendall, rbo, tau_ap, untied
from real import COLLECTIONS


def look(qrels: Any, runs: Any, measure: str = "nDCG@10", **given_inputs: Any) -> Agreement:
    diagnosis = rs.diagnose(qrels, runs, [measure], only="agreement", **given_inputs)
    answer = diagnosis.analyses.agreement  # type: ignore[attr-defined]
    assert isinstance(answer, Agreement)
    json.dumps(answer.to_dict(), allow_nan=False)
    tables = [block for block in AGREEMENT.section(answer).all_blocks if isinstance(block, Table)]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    return answer


def ranked(scores: Any) -> list[str]:
    return [f"d{place}" for place in np.argsort(-scores, kind="stable")]


def random_world(queries: int, docs: int, depth: int, seed: int) -> tuple[Any, Any]:
    """Return judgments, and two runs that know nothing."""
    random = np.random.default_rng(seed)
    qrels = {
        f"q{n}": {f"d{d}": 1 for d in random.choice(docs, 3, replace=False)} for n in range(queries)
    }
    runs = {
        name: {q: ranked(random.random(docs))[:depth] for q in qrels} for name in ("one", "two")
    }
    return qrels, runs


def test_every_number_is_that_of_the_lists() -> None:
    qrels, runs = random_world(30, 25, 12, seed=1)
    runs["two"]["q3"] = []
    del runs["two"]["q4"]
    runs["one"]["q5"], runs["two"]["q5"] = [], []
    config = {"agreement": {"cutoff": 6, "depth": 10, "p": 0.8}}
    [pair] = look(qrels, runs, configs=config).pairs
    lists = [
        (runs[pair.first].get(q, []), runs[pair.second].get(q, [])) for q in qrels if q != "q5"
    ]
    overlaps = [rbo(untied(a[:10]), untied(b[:10]), p=0.8) for a, b in lists]
    assert pair.rbo.queries == len(lists) == 29
    assert pair.rbo.mean == pytest.approx(np.mean(overlaps))
    assert [pair.rbo.low, pair.rbo.median, pair.rbo.high] == pytest.approx(
        np.quantile(overlaps, [0.1, 0.5, 0.9]).tolist()
    )
    jaccards = [len({*a[:6]} & {*b[:6]}) / len({*a[:6]} | {*b[:6]}) for a, b in lists]
    assert pair.jaccard.mean == pytest.approx(np.mean(jaccards))
    assert pair.disjoint == sum(value == 0 for value in jaccards)
    taus, top_heavy = [], []
    for a, b in lists:
        common = [doc_id for doc_id in a[:6] if doc_id in b[:6]]
        if len(common) > 1:
            scores = [[-ranking.index(doc_id) for doc_id in common] for ranking in (a, b)]
            taus.append(kendall(*scores))
            top_heavy.append(tau_ap(*scores, symmetric=True))
    assert pair.tau.queries == len(taus) > 0
    assert pair.tau.mean == pytest.approx(np.mean(np.array(taus, float)))
    assert pair.tau_ap.mean == pytest.approx(np.mean(top_heavy))


def test_the_better_of_two_for_each_query() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(4)}
    runs = {
        "one": {"q0": ["a"], "q1": ["a"], "q2": ["x", "a"], "q3": ["x"]},
        "two": {"q0": ["x", "a"], "q1": ["a"], "q2": ["a"], "q3": ["x"]},
    }
    runs["one"]["q3"] = ["x", "x2", "x3", "a"]
    [pair] = look(qrels, runs, "RR").pairs
    together = pair.together
    assert together is not None
    assert (pair.first, together.better) == ("one", "one")
    assert together.mean == (1 + 1 + 1 / 2 + 1 / 4) / 4
    assert together.oracle == (1 + 1 + 1 + 1 / 4) / 4
    assert together.gain == pytest.approx(1 / 8)
    assert (together.first_better, together.second_better) == (2, 1)
    assert together.interval.low == 0.0
    assert [row.query_id for row in pair.apart] == ["q0", "q2", "q3"]
    assert (pair.apart[0].first_value, pair.apart[0].second_value) == (1.0, 0.5)


def test_less_is_better_for_some_measures() -> None:
    qrels = {f"q{n}": {"a": 1, "b": 0, "c": 0} for n in range(3)}
    runs = {"one": {q: ["a", "b"] for q in qrels}, "two": {q: ["b", "c"] for q in qrels}}
    runs["two"]["q0"], runs["one"]["q0"] = ["a"], ["b", "a"]
    [pair] = look(qrels, runs, "FallOut@1").pairs
    assert pair.together is not None
    assert pair.together.better == "one"
    assert pair.together.oracle == 0.0
    assert pair.together.gain == pytest.approx(pair.together.mean)


def test_relevant_documents_that_only_one_retrieves() -> None:
    qrels = {"q0": {"a": 1, "b": 2, "c": 1, "n": 0}, "q1": {"a": 1}, "q2": {"n": 0}}
    runs = {
        "one": {"q0": ["a", "b", "n"], "q1": ["x"], "q2": ["n"]},
        "two": {"q0": ["c", "b"], "q1": ["x", "a"]},
    }
    [pair] = look(qrels, runs).pairs
    both = pair.retrieved
    assert both is not None
    only = {pair.first: both.first_only, pair.second: both.second_only}
    recall = {pair.first: both.first_recall, pair.second: both.second_recall}
    assert (both.both, only) == (1, {"one": 1, "two": 2})
    assert recall == {"one": (2 / 3 + 0) / 2, "two": (2 / 3 + 1) / 2}
    assert both.union_recall == (1 + 1) / 2
    assert pair.contributions == ()  # answers are too short to tell


def noisy_copies(noise: float, seed: int) -> tuple[Any, Any]:
    """Return two systems that are one, but for noise."""
    random = np.random.default_rng(seed)
    qrels: Any = {}
    runs: Any = {"one": {}, "two": {}}
    for n in range(100):
        truth = random.normal(size=200)
        best = np.argsort(-(truth + random.normal(size=200)))[:5]
        qrels[f"q{n}"] = {f"d{d}": 1 for d in best}
        for run in runs.values():
            run[f"q{n}"] = ranked(truth + noise * random.normal(size=200))[:100]
    return qrels, runs


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_no_complement(seed: int) -> None:
    result = look(*noisy_copies(0.1, seed))
    [pair] = result.pairs
    assert pair.together is not None
    assert pair.together.interval.low > 0.0  # the oracle gains all the same
    assert len(pair.contributions) == 2
    assert result.advice == ()
    assert "RS682" not in {finding.code for finding in result.findings}


def test_ties_broken_at_random_are_no_complement() -> None:
    random = np.random.default_rng(5)
    qrels: Any = {}
    runs: Any = {"one": {}, "two": {}}
    for n in range(60):
        level = np.round(random.normal(size=120), 0)
        qrels[f"q{n}"] = {f"d{d}": 1 for d in np.argsort(-(level + random.random(120)))[:4]}
        for run in runs.values():
            run[f"q{n}"] = ranked(level + 0.5 * random.random(120))[:100]
    result = look(qrels, runs)
    assert result.advice == ()
    assert result.findings == ()


def complements(queries: int = 60) -> tuple[Any, Any]:
    """Return two systems each of which answers half of the questions."""
    random = np.random.default_rng(3)
    qrels: Any = {}
    runs: Any = {"words": {}, "meaning": {}}
    for n in range(queries):
        qrels[f"q{n}"] = {"d0": 1, "d1": 1}
        for name, run in runs.items():
            scores = random.random(300)
            if (n % 2 == 0) == (name == "words") or n % 10 == 0:
                scores[:2] = 2 - random.random(2) / 10
            else:
                scores[:2] = 0
            run[f"q{n}"] = ranked(scores)[:100]
    return qrels, runs


def test_a_complement_is_found_and_advised() -> None:
    result = look(*complements())
    assert result.focus == "words" or result.pairs[0].together is not None
    [pair] = result.pairs
    other = pair.second
    row = next(row for row in pair.contributions if row.to == result.focus)
    assert row.of == other
    assert row.documents == 2 * row.queries
    assert row.p_corrected < 0.001
    [finding] = result.findings
    assert finding.code == "RS682"
    [advice] = result.advice
    assert pair.together is not None
    assert advice.gain == pair.together.gain > 0.3
    assert advice.text.startswith("Routing: ")
    assert (
        "choosing the better of the two for each question would reach nDCG@10 of at most "
        f"{pair.together.oracle:.3f} against" in advice.text
    )
    [trial] = result.fusions
    fused = rs.fuse([complements()[1][name] for name in (result.focus, other)])
    expected = rs.evaluate(complements()[0], fused, "nDCG@10")["nDCG@10"]
    assert trial.mean == pytest.approx(expected)
    assert trial.change == pytest.approx(expected - pair.together.mean)
    assert f"plain reciprocal rank fusion gives {expected:.3f}" in advice.text


def test_a_fusion_that_is_better_than_both_is_advised() -> None:
    """The target is second in one and third in the other, below what the other does not have.

    Reciprocal rank fusion puts it first: 1/62 + 1/63 > 1/61. For each query the better of the two
    has nDCG@10 of 1/log2(3).
    """
    qrels = {f"q{n}": {"a": 1} for n in range(20)}
    runs = {
        "one": {q: ["x", "a"] for q in qrels},
        "two": {q: ["y", "z", "a"] for q in qrels},
    }
    result = look(qrels, runs)
    [pair] = result.pairs
    assert pair.together is not None
    assert pair.together.oracle == pytest.approx(1 / np.log2(3))
    assert pair.together.gain == 0.0
    [trial] = result.fusions
    assert trial.mean == 1.0
    [advice] = result.advice
    assert advice.gain == trial.change == pytest.approx(1 - 1 / np.log2(3))
    assert advice.text == (
        "Fusion: reciprocal rank fusion of one and two gives nDCG@10 of 1.000 against 0.631 "
        "(+0.369, p < 0.0001)"
    )


def test_fusions_are_corrected_over_the_partners() -> None:
    """Fusing helps on 6 queries of 6: 2^(1−6) = 0.031, and with two partners 0.0625."""
    qrels = {f"q{n}": {"a": 1} for n in range(6)}
    runs = {
        "one": {q: ["x", "a"] for q in qrels},
        "two": {q: ["y", "z", "a"] for q in qrels},
    }
    [advice] = look(qrels, runs).advice
    assert advice.text.startswith("Fusion: ")
    runs["three"] = {q: ["v", "w", "a"] for q in qrels}
    result = look(qrels, runs)
    assert [row.p for row in result.fusions] == [1 / 32, 1 / 32]
    assert [row.p_corrected for row in result.fusions] == [1 / 16, 1 / 16]
    assert result.advice == ()


def test_the_best_of_several_fusions_is_advised() -> None:
    qrels = {f"q{n:02}": {"a": 1} for n in range(30)}
    runs = {
        "one": {q: ["x", "a"] for q in qrels},
        "two": {q: ["y", "z", "a"] if q < "q15" else ["y", "x", "z"] for q in qrels},
        "three": {q: ["v", "w", "a"] for q in qrels},
    }
    result = look(qrels, runs)
    assert [row.second for row in result.fusions] == ["three", "two"]
    [advice] = result.advice
    assert "of one and three gives" in advice.text


def test_a_fusion_that_is_worse_is_not_advised() -> None:
    qrels = {f"q{n}": {"a": 1, "x": 0} for n in range(20)}
    runs = {"one": {q: ["a", "x"] for q in qrels}, "two": {q: ["x", "y"] for q in qrels}}
    result = look(qrels, runs)
    assert result.fusions[0].change < 0
    assert result.fusions[0].p_corrected < 0.05
    assert result.advice == ()


def test_long_runs_are_not_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankscope.diagnosis.agreements.MOST_FUSED", 10)
    result = look(*complements())
    assert result.fusions == ()
    assert "reciprocal" not in result.advice[0].text


def test_two_that_are_one() -> None:
    qrels, runs = random_world(10, 30, 20, seed=2)
    for run in runs.values():
        run["q0"] = [next(iter(qrels["q0"])), *[f"x{n}" for n in range(15)]]
    result = look(qrels, {"one": runs["one"], "copy": runs["one"]})
    [pair] = result.pairs
    assert (pair.rbo.mean, pair.jaccard.mean, pair.tau.mean) == pytest.approx((1.0, 1.0, 1.0))
    assert (pair.same, pair.disjoint) == (10, 0)
    assert pair.together is not None
    assert pair.together.gain == 0.0
    [finding] = result.findings
    assert finding.code == "RS681"
    assert result.advice == ()
    assert pair.apart == ()


def test_of_many_systems_only_the_best_is_compared() -> None:
    qrels = {"q": {"a": 1}, "p": {"a": 1}}
    runs = {f"s{n}": {"q": ["x"] * (n != 5) + ["a"], "p": [f"x{n}", "a"]} for n in range(11)}
    result = look(qrels, runs)
    assert result.focus == "s5"
    assert [pair.first for pair in result.pairs] == ["s5"] * 10
    few = look(qrels, {name: runs[name] for name in ("s1", "s2", "s3")})
    assert [(pair.first, pair.second) for pair in few.pairs] == [
        ("s1", "s2"),
        ("s1", "s3"),
        ("s2", "s3"),
    ]


ODD: list[tuple[Any, Any, str]] = [
    ({"q": {"a": 1}}, {"s": {"q": ["a"]}, "t": {"q": ["x", "a"]}}, "AP"),
    ({"q": {"a": 1}, "p": {"b": 0}}, {"s": {"q": ["a"], "p": []}, "t": {"q": ["a", "y"]}}, "RR"),
    ({"q": {"a": 1, "b": -1}}, {"s": {"q": {"a": 1.0, "b": 1.0}}, "t": {"q": ["a"]}}, "GMAP"),
    ({"q": {"a": 1}}, {"s": {"q": ["a"]}, "t": {"q": ["x", "a"]}}, "NumRelRet"),
    ({"q": {"a": 0.5}, "p": {"a": 1}}, {"s": {"p": ["a"]}, "t": {"q": ["a"], "p": ["a"]}}, "DCG"),
]


@pytest.mark.parametrize(("qrels", "runs", "measure"), ODD)
@pytest.mark.parametrize("profile", ["rankscope", "beir", "ir_measures"])
def test_odd_but_legal_data(qrels: Any, runs: Any, measure: str, profile: str) -> None:
    result = look(qrels, runs, measure, profile=profile)
    assert len(result.pairs) == 1


def test_it_needs_two_systems() -> None:
    diagnosis = rs.diagnose({"q": {"a": 1}}, {"s": {"q": ["a"]}}, ["RR"], only="agreement")
    assert diagnosis.analyses.agreement == NotApplicable(  # type: ignore[attr-defined]
        name="agreement", reason="it needs at least two systems"
    )


ROBUST = COLLECTIONS / "robust03"


@pytest.mark.skipif(not ROBUST.exists(), reason="the collection robust03 is not here")
def test_official_runs_as_two_lists_have_it() -> None:
    runs = {name: rs.read_run(ROBUST / f"{name}.run.gz") for name in ("THUIRr0301", "pircRBa1")}
    qrels = rs.read_qrels(ROBUST / "qrels.txt.gz")
    [pair] = look(qrels, runs).pairs
    best = {
        name: {q: ranking_of(run[q])[:50] for q in qrels.query_ids} for name, run in runs.items()
    }
    expected = np.mean(
        [rbo(untied(best[pair.first][q]), untied(best[pair.second][q])) for q in qrels.query_ids]
    )
    assert pair.rbo.mean == pytest.approx(expected)


def ranking_of(scores: Any) -> list[str]:
    return sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True)


def test_random_answers_are_no_complement() -> None:
    """A system that answers at random has some relevant documents to itself, and is no help."""
    alarms = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        documents = [f"d{n}" for n in range(100)]
        qrels: Any = {}
        runs: Any = {"a": {}, "noise": {}}
        for query in range(50):
            relevant = random.choice(100, 8, replace=False)
            qrels[f"q{query}"] = {documents[n]: int(n in relevant) for n in range(100)}
            score = random.normal(size=100) + np.isin(np.arange(100), relevant)
            runs["a"][f"q{query}"] = [documents[n] for n in np.argsort(-score)[:30]]
            runs["noise"][f"q{query}"] = [documents[n] for n in random.permutation(100)[:30]]
        result = look(qrels, runs)
        alarms += bool(result.advice) or any(each.code == "RS682" for each in result.findings)
    assert alarms <= 3  # 5 % of 20 is 1
