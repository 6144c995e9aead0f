"""Cutoffs: the scores' own means, a naive twin that cuts lists, and what cannot be looked at."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import rankscope as rs
from rankscope.diagnosis import cutoffs as module
from rankscope.diagnosis.cutoffs import CUTOFFS, Cutoffs, CutoffsConfig
from rankscope.diagnosis.registry import Inputs
from rankscope.document.blocks import Plot, Table
from rankscope.findings import NotApplicable
from rankscope.scoring.inputs import as_judgments


def answered(qrels: Any, runs: Any, measure: str = "nDCG@10", **given: Any) -> Any:
    diagnosis = rs.diagnose(qrels, runs, [measure], only="cutoffs", **given)
    json.loads(diagnosis.to_json())
    str(diagnosis)
    return getattr(diagnosis.analyses, "cutoffs")  # noqa: B009


def look(qrels: Any, runs: Any, measure: str = "nDCG@10", **given: Any) -> Cutoffs:
    answer = answered(qrels, runs, measure, **given)
    assert isinstance(answer, Cutoffs)
    return answer


def world(seed: int, *, queries: int = 12, depth: int = 30) -> tuple[Any, Any]:
    """Make judgments and two runs, with ties, queries without relevant documents and missing ones.

    Documents are retrieved from more than are judged.
    """
    chance = random.Random(seed)
    names = [f"d{number}" for number in range(60)]
    qrels = {
        f"q{number}": {doc: chance.choice([0, 0, 1, 2, 3]) for doc in chance.sample(names, 15)}
        for number in range(queries)
    }
    qrels["q0"] = dict.fromkeys(qrels["q0"], 0)
    runs = {
        name: {
            query_id: {doc: float(chance.randint(0, 9)) for doc in chance.sample(names, depth)}
            for query_id in list(qrels)[skipped:]
        }
        for name, skipped in (("first", 0), ("second", 2))
    }
    return qrels, runs


@pytest.mark.parametrize("measure", ["nDCG@10", "RR@10", "AP", "P@5", "nDCG(gain=exp)@7", "R@20"])
@pytest.mark.parametrize("seed", range(3))
def test_each_cutoff_is_what_evaluate_says(measure: str, seed: int) -> None:
    qrels, runs = world(seed)
    result = look(qrels, runs, measure)
    assert result.cutoffs == tuple(range(1, 31))
    pattern = result.measure.removesuffix("k")
    asked = [f"{pattern}{cutoff}" for cutoff in result.cutoffs]
    scores = rs.evaluate(qrels, runs, asked)
    for system in result.systems:
        means = scores.run(system.system).means
        assert system.means == pytest.approx([means[name] for name in asked], abs=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_reciprocal_ranks_by_cutting_lists(seed: int) -> None:
    """A naive twin: order by score and id, cut, look for the first relevant document."""
    qrels, runs = world(seed)
    for system in look(qrels, runs, "RR@10").systems:
        run = runs[system.system]
        for cutoff, mean in zip(range(1, 31), system.means, strict=True):
            values = []
            for query_id, grades in qrels.items():
                ordered = sorted(
                    run.get(query_id, {}).items(), key=lambda pair: (pair[1], pair[0]), reverse=True
                )
                ranks = [
                    rank
                    for rank, (doc, _) in enumerate(ordered[:cutoff], start=1)
                    if grades.get(doc, 0) >= 1
                ]
                values.append(1 / ranks[0] if ranks else 0.0)
            assert mean == pytest.approx(sum(values) / len(values), abs=1e-15)


def test_a_single_system_and_a_single_document() -> None:
    result = look({"q": {"a": 1}}, {"q": ["a"]}, "RR@10")
    assert result.cutoffs == (1,)
    assert [system.means for system in result.systems] == [(1.0,)]
    notes = table_of(result).notes
    assert "cutoffs end at 1, not at 100: the longest answer has no more documents" in notes


def test_nothing_relevant_on_top_is_0_at_every_cutoff() -> None:
    result = look({"q": {"a": 1, "b": 0}}, {"q": ["b", "c"]})
    assert result.systems[0].means == (0.0, 0.0)


@pytest.mark.parametrize(
    ("measure", "shown", "reason"),
    [
        ("Bpref", "R@k", "it has no cutoff"),
        ("SetF", "R@k", "it has no cutoff"),
        ("GMAP", "R@k", "it is no mean over queries"),
        ("Bpref(rel=2)", "R(rel=2)@k", "it has no cutoff"),
    ],
)
def test_recall_takes_the_place_of_what_has_no_cutoff(
    measure: str, shown: str, reason: str
) -> None:
    result = look(*world(0), measure)
    assert (result.measure, result.reason, result.main_cutoff) == (shown, reason, None)
    first, *_ = table_of(result).notes
    assert f"({reason}); {shown} is shown in its place" in first


def test_what_was_asked_for_ends_the_cutoffs() -> None:
    qrels, runs = world(1)
    made = {name: rs.Run(run, name=name) for name, run in runs.items()}
    judgments = as_judgments(rs.Qrels(qrels))
    scores = rs.evaluate(judgments, made, ["nDCG@10"])
    inputs = Inputs(scores=scores, runs=made, qrels=judgments, depth=20)
    result = CUTOFFS.answer(CutoffsConfig(), inputs)
    assert isinstance(result, Cutoffs)
    assert result.cutoffs[-1] == 20
    assert (
        "cutoffs end at 20, not at 100: systems were asked for 20 documents"
        in table_of(result).notes
    )
    few = CUTOFFS.answer(CutoffsConfig(most=5), inputs)
    assert isinstance(few, Cutoffs)
    assert few.cutoffs == (1, 2, 3, 4, 5)
    assert table_of(few).notes == ()


def test_a_short_run_ends_where_its_answers_do() -> None:
    qrels = {"q": {"a": 1, "b": 1}}
    result = look(qrels, {"long": {"q": list("xyab")}, "short": {"q": list("ab")}}, "R@2")
    assert [len(system.means) for system in result.systems] == [4, 2]
    table = table_of(result)
    assert [cell.value for cell in table.rows[1]] == ["short", 0.5, 1.0, None, None]
    assert any("short 2" in note for note in table.notes)


def test_fewer_cutoffs_where_all_would_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, runs = world(2)
    full = look(qrels, runs)
    monkeypatch.setattr(module, "ALL_UP_TO", 0)
    few = look(qrels, runs)
    assert few.cutoffs == (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30)
    assert few.systems[0].means == tuple(full.systems[0].means[k - 1] for k in few.cutoffs)


def test_the_plot_has_every_cutoff_and_the_table_some() -> None:
    result = look(*world(0))
    plot, table = CUTOFFS.section(result).details
    assert isinstance(plot, Plot)
    assert isinstance(table, Table)
    assert [curve.label for curve in plot.curves] == ["first", "second"]
    assert [len(curve.points) for curve in plot.curves] == [30, 30]
    titles = [column.title for column in table.columns]
    assert titles == ["system", *(f"k = {k}" for k in (1, 3, 5, 10, 20, 30))]


def test_many_systems_are_not_all_drawn() -> None:
    qrels = {"q": {"a": 1}}
    runs = {f"s{n}": {"q": [*(f"x{m}" for m in range(n)), "a"]} for n in range(12)}
    plot, table = CUTOFFS.section(look(qrels, runs, "RR@20")).details
    assert isinstance(plot, Plot)
    assert isinstance(table, Table)
    assert [curve.label for curve in plot.curves] == [f"s{n}" for n in range(7)]
    assert plot.note == "the 7 best of 12 systems"
    assert len(table.rows) == 12


def test_without_runs_it_is_not_applicable() -> None:
    assert isinstance(CUTOFFS.answer(CutoffsConfig(), Inputs()), NotApplicable)


def table_of(result: Cutoffs) -> Table:
    [table] = [block for block in CUTOFFS.section(result).details if isinstance(block, Table)]
    return table
