"""`evaluate`: every form of input gives the same scores, and scores say what they are made of."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankscope as rs
from rankscope.errors import InputError
from rankscope.measures import registry
from rankscope.statistics.intervals import mean_intervals

QRELS: dict[str, dict[str, float]] = {
    "q1": {"a": 2, "b": 0, "c": 1},
    "q2": {"a": 1},
    "q3": {"b": 1},
    "q4": {"z": 0},
}
RUN = {"q1": {"b": 3.0, "a": 2.0, "x": 1.0}, "q2": {"a": 9.0}, "q4": {"z": 1.0}, "q9": {"a": 1.0}}
OTHER = {"q1": {"a": 3.0}, "q2": {"b": 1.0}, "q3": {"b": 1.0}, "q4": {}}
MEASURES = ["nDCG@10", "RR@10", "R@100"]

RR = (1 / 2 + 1 + 0 + 0) / 4
RECALL = (1 / 2 + 1 + 0 + 0) / 4
NDCG = (2 / np.log2(3) / (2 + 1 / np.log2(3)) + 1 + 0 + 0) / 4

QUICK_QRELS = {f"q{number}": {"a": 1} for number in range(12)}
"""Every third query has its relevant document second, below an unjudged one; else it is first."""

QUICK_RUN = {
    f"q{number}": {"a": 1.0, "b": 2.0} if number % 3 == 0 else {"a": 2.0, "c": 1.0}
    for number in range(12)
}


def rows(data: dict[str, dict[str, float]]) -> list[tuple[str, str, float]]:
    return [(query, doc, number) for query, docs in data.items() for doc, number in docs.items()]


def frame(data: dict[str, dict[str, float]], value: str) -> pl.DataFrame:
    return pl.DataFrame(rows(data), schema=["query_id", "doc_id", value], orient="row")


def run_file(folder: Path, name: str, data: dict[str, dict[str, float]], tag: str) -> Path:
    path = folder / name
    text = "".join(f"{q} Q0 {d} 1 {s} {tag}\n" for q, d, s in rows(data))
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


FORMS: dict[str, Callable[[dict[str, dict[str, float]], str], Any]] = {
    "dicts": lambda data, _: data,
    "table": lambda data, value: rs.Qrels(data) if value == "grade" else rs.Run(data),
    "rows": lambda data, _: rows(data),
    "polars": frame,
    "lazy": lambda data, value: frame(data, value).lazy(),
    "pandas": lambda data, value: pd.DataFrame(rows(data), columns=["query_id", "doc_id", value]),
    "pyarrow": lambda data, value: frame(data, value).to_arrow(),
    "columns": lambda data, value: frame(data, value).to_dict(as_series=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_scores_alike(form: str) -> None:
    for other in ("dicts", "table", form):
        for qrels_form, run_form in ((form, other), (other, form)):
            qrels, run = FORMS[qrels_form](QRELS, "grade"), FORMS[run_form](RUN, "score")
            means = rs.evaluate(qrels, run, MEASURES).means
            assert means == pytest.approx({"nDCG@10": NDCG, "RR@10": RR, "R@100": RECALL})


# --- one run or several --------------------------------------------------------------------------


def test_several_runs_go_by_name() -> None:
    given: list[Any] = [
        {"a": rs.Run(RUN, name="else"), "b": frame(OTHER, "score")},
        (rs.Run(RUN, name="a"), rs.Run(OTHER, name="b")),
        {"a": RUN, "b": OTHER},
    ]
    for runs in given:
        scores = rs.evaluate(QRELS, runs, ["RR", "P@1"])
        assert scores.runs == ["a", "b"]
        assert scores["RR"] == {"a": RR, "b": 2 / 4}
        assert scores.means["b"] == {"RR": 2 / 4, "P@1": 2 / 4}
    assert scores.accounting["a"].missing_queries == ("q3",)
    assert scores.values("RR", "b") == {"q1": 1.0, "q2": 0.0, "q3": 1.0, "q4": 0.0}
    with pytest.raises(rs.FormatError, match=r"2 runs \('a', 'b'\); name one"):
        scores.values("RR")


def test_runs_without_names_are_numbered() -> None:
    for form in ("dicts", "polars", "pandas", "pyarrow"):
        runs = [FORMS[form](RUN, "score"), FORMS[form](OTHER, "score")]
        assert rs.evaluate(QRELS, runs, "RR")["RR"] == {"run1": RR, "run2": 0.5}
    assert rs.evaluate(QRELS, [RUN], "RR")["RR"] == {"run1": RR}
    assert rs.evaluate(QRELS, {"bm25": RUN}, "RR")["RR"] == {"bm25": RR}


def test_runs_with_the_same_tag_are_called_by_their_files(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    paths = [run_file(tmp_path, name, RUN, "tag") for name in ("x.run", "y.run")]
    assert rs.evaluate(QRELS, paths, "RR").runs == ["x", "y"]
    paths.append(run_file(tmp_path / "more", "x.run", RUN, "tag"))
    assert rs.evaluate(QRELS, paths, "RR").runs == [str(path) for path in paths]
    same = [rs.Run(RUN, name="one"), rs.Run(OTHER, name="one")]
    assert rs.evaluate(QRELS, same, "RR").runs == ["one-1", "one-2"]


def test_what_cannot_be_scored_is_refused(tmp_path: Path) -> None:
    path = run_file(tmp_path, "x.run", RUN, "tag")
    given: list[tuple[Any, Any, str]] = [
        (QRELS, [path, path], "two runs"),
        (QRELS, [], "no run"),
        ({}, RUN, "empty"),
        (rs.Qrels({}), RUN, "empty"),
        *((data, RUN, ".") for data in (None, 5, object())),
        *((QRELS, data, ".") for data in (None, 5, object())),
    ]
    for qrels, run, word in given:
        with pytest.raises(rs.InputError, match=word):
            rs.evaluate(qrels, run, "RR")
    for argument in ("ties", "precision", "queries", "profile"):
        with pytest.raises(rs.UnknownNameError, match="'sideways'"):
            rs.evaluate(QRELS, RUN, "RR", **{argument: "sideways"})  # type: ignore[arg-type]
    with pytest.raises(rs.InputError, match="no measure"):
        rs.evaluate(QRELS, RUN, [])


# --- scores --------------------------------------------------------------------------------------


def test_scores_as_a_long_frame_and_plain_data() -> None:
    scores = rs.evaluate(QRELS, {"a": RUN, "b": OTHER}, ["RR", "NumRet"])
    long = scores.per_query
    assert long.columns == ["run", "query_id", "measure", "value"]
    assert long.height == 2 * 4 * 2
    for name in ("a", "b"):
        for measure in ("RR", "NumRet"):
            part = long.filter(run=name, measure=measure)
            values = dict(zip(part["query_id"], part["value"], strict=True))
            assert values == scores.values(measure, name)
    data = json.loads(json.dumps(scores.to_dict(per_query=True), allow_nan=False))
    assert data["measures"] == {"RR": "RR", "NumRet": "NumRet"}
    told = data["runs"]["a"]
    assert told["means"] == {"RR": RR, "NumRet": 5.0}
    assert told["per_query"]["q1"] == {"RR": 0.5, "NumRet": 3.0}
    counted = ("queries", "judged", "missing_queries", "unjudged", "without_relevant", "tied_hits")
    assert [told["accounting"][name] for name in counted] == [4, 4, ["q3"], 1, 1, 0]
    assert "per_query" not in scores.to_dict()["runs"]["a"]


def test_the_repr_holds_the_means_and_intervals_of_few_queries() -> None:
    shown = repr(rs.evaluate(QRELS, {"bm25": RUN}, ["RR", "nDCG@10"]))
    assert f"{RR:.3f} [" in shown
    assert f"{NDCG:.3f} [" in shown
    many = {f"q{number}": ["a"] for number in range(2_001)}
    assert "[" not in repr(rs.evaluate(many, dict(many), "RR")).splitlines()[1]


def test_measures_as_one_text_many_or_the_default() -> None:
    assert rs.evaluate(QRELS, RUN, "RR P@5,10").measures == ["RR", "P@5", "P@10"]
    assert rs.evaluate(QRELS, RUN, (name for name in ["RR", "RR", "recip_rank"])).measures == ["RR"]


@pytest.mark.parametrize(
    ("depth", "measures"),
    [
        (1, ["nDCG@1", "RR", "Success@1"]),
        (3, ["nDCG@3", "RR", "Success@1", "Success@3"]),
        (12, ["nDCG@10", "RR@10", "R@10", "Success@1", "Success@10"]),
        (49, ["nDCG@10", "RR@10", "R@20", "Success@1", "Success@10"]),
        (51, ["nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "Success@10"]),
    ],
)
def test_measures_by_depth(depth: int, measures: list[str], tmp_path: Path) -> None:
    gold, listed = {"q": {"d0": 1}, "p": {"d0": 1}}, [f"d{n}" for n in range(depth)]
    numbers = {"q": {name: float(-n) for n, name in enumerate(listed)}, "p": {"d0": 1.0}}
    lines = [f"{q} Q0 {d} 1 {score} t" for q, row in numbers.items() for d, score in row.items()]
    (tmp_path / "trec.run").write_text("\n".join(lines))
    for run in (numbers, {"q": listed, "p": ["d0"]}, tmp_path / "trec.run"):
        assert rs.evaluate(gold, run).measures == measures
        assert list(rs.compare(gold, {"a": run, "b": run}).measures) == measures


def test_a_column_that_is_not_there() -> None:
    records: Any = {"q": [{"pid": "a"}]}
    table: Any = [{"question": "q", "expected_ids": ["a"]}]
    rows: Any = [{"question": "q", "retrieved": [{"pid": "a"}]}]
    for gold, run in (({"q": ["a"]}, records), (table, records), (table, rows)):
        assert rs.evaluate(gold, run, "RR", doc="pid")["RR"] == 1
        with pytest.raises(InputError, match="'pid'"):
            rs.evaluate(gold, run, "RR", doc="pit")
    listed: Any = [{"question": "q", "retrieved": ["a"]}]
    others: Any = ({"q": ["a"]}, {"q": ["a"]})
    for gold, run in (others, (table, listed), (others[0], listed)):
        with pytest.raises(InputError, match="no column 'pid'"):
            rs.evaluate(gold, run, "RR", doc="pid")


def test_measures_that_a_profile_means_alike_are_measured_once() -> None:
    asked = ["nDCG@10", "nDCG(gain=binary)@10", "AP@10"]
    scores = rs.evaluate(QRELS, RUN, asked, profile="sentence-transformers")
    assert scores.measures == ["nDCG(gain=binary)@10", "AP(norm=min)@10"]
    assert scores["nDCG@10"] == scores["nDCG(gain=binary)@10"]
    assert scores.per_query.height == 2 * 3  # q4 has no relevant document and is left out


# --- policies and accounting ---------------------------------------------------------------------


def test_policies_for_missing_queries() -> None:
    assert rs.evaluate(QRELS, RUN, "RR", queries="all")["RR"] == RR
    both = rs.evaluate(QRELS, RUN, "RR", queries="both")
    assert both["RR"] == RR * 4 / 3
    assert both.accounting.queries == 3
    assert both.accounting.judged == 4
    assert (both.accounting.missing, both.accounting.missing_queries) == (1, ("q3",))
    with pytest.raises(rs.InputError, match="'q3'"):
        rs.evaluate(QRELS, RUN, "RR", queries="strict")
    assert rs.evaluate(QRELS, {**RUN, "q3": {}}, "RR", queries="strict")["RR"] == RR


def test_queries_without_a_document_relevant_to_the_measure() -> None:
    qrels = {"q1": {"a": 2}, "q2": {"a": 1}, "q3": {"a": 0.5}, "q4": {"a": 0, "b": -1}}
    run = {query: {"a": 1.0} for query in qrels}
    counts = {"AP": 2, "AP(rel=2)": 3, "AP(rel=0.5)": 1, "nDCG@10": 1, "nDCG(gain=binary)@10": 2}
    for measure, count in counts.items():
        scores = rs.evaluate(qrels, run, measure)
        assert scores.accounting.without_relevant == count
        assert list(scores.values(measure).values()).count(0.0) == count


# --- a user's own measures -----------------------------------------------------------------------


def test_an_own_measure_is_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.known_names()
    monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))

    @rs.measure("LastRank", range=(0, float("inf")), higher_is_better=False)
    def last_rank(run: rs.JudgedRun) -> Any:
        """Rank of the last relevant document."""
        hits = run.relevant(1.0)
        last = run.zeros()
        np.maximum.at(last, hits.query, hits.rank)
        return last

    scores = rs.evaluate(QRELS, RUN, ["LastRank", "LastRank(judged_only=True)", "RR"])
    assert scores.values("LastRank") == {"q1": 2.0, "q2": 1.0, "q3": 0.0, "q4": 0.0}
    assert rs.bounds(QRELS, RUN, "LastRank")[0].value == scores["LastRank"]
    assert rs.explain(QRELS, RUN, "q1", "LastRank").value == 2.0
    [outcome] = rs.why(QRELS, RUN, "LastRank", profiles=["rankscope"]).outcomes
    assert outcome.value == 0.75


def test_a_measure_is_found_under_any_of_its_names() -> None:
    scores = rs.evaluate(QUICK_QRELS, QUICK_RUN, ["hit_rate@5", "num_ret"])
    assert scores.asked == {"Success@5": "hit_rate@5", "NumRet": "num_ret"}
    assert scores.means == {"Success@5": 1.0, "NumRet": 24.0}
    assert scores[rs.Measure.parse("hit@5")] == scores["HIT@5"] == 1.0
    for name in ("hit_rate@5", "success_5", "Success@5", "hit@5"):
        assert scores.means[name] == scores.means.get(name) == 1.0
        assert name in scores.means
    assert "P@3" not in scores.means
    assert "gibberish" not in scores.means
    assert scores.means.get("P@3", -1) == -1
    with pytest.raises(rs.UnknownNameError, match="P@3"):
        scores.means["P@3"]
    assert pickle.loads(pickle.dumps(scores.means)) == scores.means
    several = rs.evaluate(QUICK_QRELS, {"a": QUICK_RUN, "b": QUICK_RUN}, "hit_rate@5")
    assert several.means["a"]["hit@5"] == 1.0


def test_intervals_are_those_of_compare() -> None:
    measures = ["nDCG@10", "RR", "hit@1"]
    scores = rs.evaluate(QUICK_QRELS, QUICK_RUN, [*measures, "num_ret", "gm_map"])
    comparison = rs.compare(QUICK_QRELS, {"a": QUICK_RUN, "b": QUICK_RUN}, measures)
    for mean in comparison.means:
        interval = scores.intervals[mean.measure]
        assert (interval.low, interval.high) == pytest.approx(
            (mean.interval.low, mean.interval.high), abs=1e-12
        )
        assert interval.low < scores[mean.measure] < interval.high
    assert list(scores.intervals) == ["nDCG@10", "RR", "Success@1"], "a sum has no interval"
    with pytest.raises(rs.UnknownNameError, match="num_ret"):
        scores.intervals["num_ret"]
    several = rs.evaluate(QUICK_QRELS, {"a": QUICK_RUN, "b": QUICK_RUN}, "mrr")
    assert several.intervals["b"]["RR"] == scores.intervals_of("run")["mrr"]


def test_intervals_leave_out_what_the_mean_leaves_out() -> None:
    """Under beir a query without a relevant document counts for some measures only."""
    qrels = {**QUICK_QRELS, "none": {"z": 0}}
    scores = rs.evaluate(
        qrels, {**QUICK_RUN, "none": {"z": 1.0}}, ["nDCG@10", "RR@10"], profile="beir"
    )
    for measure in scores.measures:
        values = list(scores.values(measure).values())
        [expected] = mean_intervals([values], bounds=(0, 1))
        assert scores.intervals[measure] == expected


def test_worst_queries() -> None:
    scores = rs.evaluate(QUICK_QRELS, QUICK_RUN, ["nDCG@10", "RR", "Unjudged@1"])
    worst = scores.worst(4)
    assert list(worst) == ["q0", "q3", "q6", "q9"], "equal values: in the order of the queries"
    assert worst == {name: scores.values("nDCG@10")[name] for name in worst}
    assert list(scores.worst(100))[:5] == ["q0", "q3", "q6", "q9", "q1"]
    assert list(scores.worst(5, measure="unj.1"))[3:] == ["q9", "q1"], "lower is better"
    with pytest.raises(rs.InputError, match="at least 1, not 0"):
        scores.worst(0)
    several = rs.evaluate(QUICK_QRELS, {"a": QUICK_RUN, "b": QUICK_RUN}, "RR")
    assert several.worst(1, run="b") == {"q0": 0.5}
    with pytest.raises(rs.FormatError, match="name one"):
        several.worst(1)


def test_a_mistyped_option_is_named_with_the_function_that_was_called() -> None:
    mistyped: list[tuple[Callable[..., Any], list[Any], str, str]] = [
        (rs.evaluate, [QRELS, RUN], "doc_id_form", "doc_id_from"),
        (rs.evaluate, [QRELS, RUN], "measure", "measures"),
        (rs.compare, [QRELS, [RUN]], "base_line", "baseline"),
        (rs.gate, [RUN, RUN], "max_drops", "max_drop"),
    ]
    for called, given, option, nearest in mistyped:
        with pytest.raises(TypeError, match=rf"^{called.__name__}\(\).*'{option}'.*'{nearest}'"):
            called(*given, **{option: 1})
        with pytest.raises(TypeError, match=r"'zzzzzz'$"):
            called(*given, zzzzzz=1)
