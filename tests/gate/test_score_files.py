"""Score files are read as written, refused with the reason, and compared only with their equals."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.worlds import record
from rankscope.errors import FormatError, InputError, RankscopeError, UnknownNameError
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.score_files import RecordedScores, is_score_file, read_scores
from rankscope.statistics.gate import gate

QRELS = {"q1": {"d1": 1}, "q2": {"d2": 1}}
RUN = {"q1": {"d1": 1.0}, "q2": {"d1": 2.0, "d2": 1.0}}

Change = Callable[[dict[str, Any]], object]


def run_of(data: dict[str, Any]) -> Any:
    return next(iter(data["runs"].values()))


@pytest.mark.parametrize("name", ["scores.json", "scores.json.gz"])
def test_what_evaluate_wrote_is_read_back(tmp_path: Path, name: str) -> None:
    scores = evaluate(QRELS, RUN, ["nDCG@10", "map"])
    text = json.dumps(scores.to_dict(per_query=True)).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else b"\xef\xbb\xbf" + text)
    assert is_score_file(path)
    found = read_scores(path)
    assert found.measures == {"nDCG@10": "nDCG@10", "AP": "map"}
    assert found.qrels == scores.judgments.fingerprint
    run = found.runs[found.name_of()]
    assert dict(zip(run.query_ids, run.values[1].tolist(), strict=True)) == scores.values("map")
    made = RecordedScores.of(scores, source="x").runs["run"]
    assert np.array_equal(made.values, run.values)
    assert made.missing_policy == run.missing_policy == "all"


def test_runs_are_not_taken_for_score_files(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"schema": {"d1": 1.0}}))
    assert not is_score_file(path)
    path.write_text("q1 Q0 d1 1 0.5 tag\n")
    assert not is_score_file(path)
    with pytest.raises(FormatError, match=r"expected a score file.*--qrels"):
        read_scores(path)


def put(*path: str, value: object) -> Change:
    """Return a change that sets one part of a record."""

    def change(data: dict[str, Any]) -> None:
        *above, last = path
        for key in above:
            data = data[key]
        data[last] = value

    return change


DAMAGE: dict[str, tuple[Change, str]] = {
    "no schema": (lambda data: data.pop("schema"), "expected the schema 'rankscope/scores/1'"),
    "another schema": (put("schema", value="beir/1"), "'rankscope/scores/1'.*got 'beir/1'"),
    "a later schema": (
        put("schema", value="rankscope/scores/9"),
        "'rankscope/scores/1'.*got 'rankscope/scores/9'; use the version",
    ),
    "schema of a number": (put("schema", value=1), "got '1'"),
    "no qrels": (lambda data: data.pop("qrels"), "qrels is missing"),
    "no hash": (put("qrels", value={}), "qrels.sha256 is missing"),
    "short hash": (
        put("qrels", "sha256", value="abc"),
        "qrels.sha256 is 'abc'; expected 64 hexadecimal digits",
    ),
    "no profile": (put("profile", value=None), "profile is 'None'; expected text"),
    "no measures": (put("measures", value={}), "measures is '{}'; expected at least one"),
    "list of measures": (put("measures", value=["AP"]), r"measures is .*; expected an object"),
    "measure of a number": (put("measures", value={"AP": 3}), "measures.AP is '3'; expected text"),
    "no runs": (
        put("runs", value={}),
        "runs is '{}'; expected at least one; write the file again with",
    ),
    "run of a list": (put("runs", "bm25", value=[]), r"run 'bm25' is '\[\]'; expected an object"),
    "means only": (
        lambda data: run_of(data).pop("per_query"),
        "'bm25' has no values by query.*--per-query --format json",
    ),
    "no query": (put("runs", "bm25", "per_query", value={}), "values for no query"),
    "row of a list": (
        put("runs", "bm25", "per_query", "q0000", value=[1]),
        "run 'bm25', query 'q0000' is .*; expected an object",
    ),
    "no accounting to speak of": (
        put("runs", "bm25", "accounting", value={"missing_policy": "all"}),
        "run 'bm25': accounting.queries is missing",
    ),
    **{
        f"value {value!r}": (
            put("runs", "bm25", "per_query", "q0001", "AP", value=value),
            "run 'bm25', query 'q0001': 'AP' is .*; expected a number",
        )
        for value in ("0.5", True, [0.5], float("nan"), float("inf"), 1e300, 10**400)
    },
}


@pytest.mark.parametrize("measure", ["AP", "NumRet", "GMAP", "NotKnownHere"])
def test_means_must_follow_from_the_values(tmp_path: Path, measure: str) -> None:
    data = record({measure: [0.1, 0.2, 0.3]})
    total = {"NumRet": 0.6, "GMAP": 0.006 ** (1 / 3)}.get(measure, 0.2)
    run_of(data)["means"][measure] = total
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(data))
    assert read_scores(path).runs
    for query_id in run_of(data)["per_query"]:
        run_of(data)["per_query"][query_id][measure] = 0.9
    path.write_text(json.dumps(data))
    if measure == "NotKnownHere":  # nothing says how its values are put together
        assert read_scores(path).runs
        return
    message = rf"run 'bm25': the recorded mean of {measure} is .*, but its values by query give"
    with pytest.raises(FormatError, match=message):
        read_scores(path)


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_record_is_refused(tmp_path: Path, name: str) -> None:
    change, said = DAMAGE[name]
    data = record({"AP": [0.1, 0.2, 0.3]})
    change(data)
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(data))
    with pytest.raises(FormatError, match=said) as caught:
        read_scores(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ('{"schema": 1, "schema": 2}', "appears twice"),
        ('{"a": ' * 100_000, "nested too deeply|not valid JSON"),
        ('{"a": ' + "9" * 5000 + "}", "too many digits"),
        ("{}", "expected the schema"),
        ("", "expected a score file"),
        ("[1]", "expected a score file"),
    ],
)
def test_text_that_is_no_record(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "scores.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=said):
        read_scores(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.sampled_from(["schema", "profile", "qrels", "measures", "runs"]), JSON)
def test_whatever_stands_in_a_part_is_read_or_refused(part: str, value: object) -> None:
    data = record({"AP": [0.1]}) | {part: value}
    try:
        RecordedScores.from_data(data, source="x.json")
    except FormatError as error:
        assert str(error).startswith("x.json: ")  # noqa: PT017


def test_a_file_with_several_runs(tmp_path: Path) -> None:
    data = record({"AP": [0.1, 0.2]}, run="a")
    data["runs"] |= record({"AP": [0.3, 0.4]}, run="b")["runs"]
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(data))
    with pytest.raises(
        FormatError, match=r"contains 2 runs \('a', 'b'\); name the one .*--baseline-run"
    ):
        gate(path, path, "AP")
    with pytest.raises(UnknownNameError, match=r"unknown run in .*scores\.json 'c'"):
        gate(path, path, "AP", baseline_run="a", candidate_run="c")
    result = gate(path, path, "AP", baseline_run="a", candidate_run="b")
    assert (result.baseline, result.candidate) == ("a", "b")
    assert result.checks[0].difference == pytest.approx(0.2)


# --- not comparable ------------------------------------------------------------------------------


def not_comparable(baseline: Any, candidate: Any, measures: str = "AP", **options: Any) -> str:
    with pytest.raises(RankscopeError) as caught:
        gate(baseline, candidate, measures, **options)
    said = str(caught.value)
    assert said.startswith("not comparable: ")
    assert "\n" not in said
    return said


BASE = record({"AP": [0.1, 0.2, 0.3, 0.4, 0.5]})


def test_other_judgments() -> None:
    said = not_comparable(BASE, record({"AP": [0.1] * 5}, qrels="b" * 64))
    assert "the judgments differ (sha256 aaaaaaaaaaaa… in the baseline, bbbbbbbbbbbb… in" in said
    assert "score both against the same judgments" in said


def test_other_rules() -> None:
    said = not_comparable(BASE, record({"AP": [0.1] * 5}, profile="ranx"))
    assert "the rules differ ('rankscope' in the baseline, 'ranx' in the candidate)" in said


def test_other_queries() -> None:
    said = not_comparable(BASE, record({"AP": [0.1] * 6}, query_ids=["q0000", *"edcba"]))
    assert "4 only in the baseline: 'q0001', 'q0002', 'q0003', …" in said
    assert "5 only in the candidate: 'a', 'b', 'c', …" in said


def test_other_treatment_of_missing_queries() -> None:
    other = record({"AP": [0.1] * 5})
    run_of(other)["accounting"]["missing_policy"] = "both"
    assert "a run lacks are treated differently ('all' in" in not_comparable(BASE, other)
    del run_of(other)["accounting"]
    assert gate(BASE, other, "AP").queries == 5


def test_all_that_differs_is_named_at_once() -> None:
    said = not_comparable(BASE, record({"AP": [0.1]}, qrels="b" * 64, profile="ranx"))
    assert all(part in said for part in ("rules differ", "judgments differ", "queries differ"))


def test_a_missing_measure() -> None:
    said = not_comparable(BASE, record({"RR": [0.1] * 5}))
    assert "the candidate does not have AP, only RR; evaluate again with -m 'AP'" in said


@pytest.mark.parametrize("gone", ["null", "left out"])
def test_missing_values(gone: str) -> None:
    other = record({"AP": [0.1] * 5})
    for query_id in ("q0003", "q0001"):
        if gone == "null":
            run_of(other)["per_query"][query_id]["AP"] = None
        else:
            del run_of(other)["per_query"][query_id]["AP"]
    said = not_comparable(BASE, other)
    assert "no value of AP for 2 of 5 queries ('q0001', 'q0003')" in said


def test_other_meanings_of_one_name() -> None:
    one, other = record({"AP": [0.1]}), record({"AP(rel=2)": [0.1]})
    other["measures"] = {"AP(rel=2)": "AP"}
    assert "AP means AP in the baseline and AP(rel=2)" in not_comparable(one, other)


def test_scores_of_other_judgments_than_given() -> None:
    scores = evaluate(QRELS, RUN, "AP")
    said = not_comparable(scores, RUN, qrels={"q1": {"d1": 1}})
    assert "the baseline was scored against other judgments" in said


def test_scores_of_other_rules_than_asked_for() -> None:
    scores = evaluate(QRELS, RUN, "AP")
    said = not_comparable(scores, RUN, qrels=QRELS, profile="ranx")
    assert "by the rules of 'rankscope', not ranx" in said


def test_runs_that_answer_other_queries_where_missing_ones_are_left_out() -> None:
    said = not_comparable(RUN, {"q1": RUN["q1"]}, qrels=QRELS, profile="beir")
    assert "1 only in the baseline: 'q2'" in said


def test_an_unknown_measure_is_a_users_mistake() -> None:
    with pytest.raises(RankscopeError, match="unknown measure 'nDCH'"):
        gate(BASE, BASE, "nDCH@10")
    with pytest.raises(InputError):
        gate(BASE, BASE, 3)  # type: ignore[arg-type]


def test_scores_by_other_rules_are_not_comparable() -> None:
    """The profile is the same; a single rule of it was changed."""
    qrels, run = {"q1": {"d1": 1}}, {"q1": {"d1": 1.0, "d2": 1.0}}
    usual = evaluate(qrels, run, ["RR"]).to_dict(per_query=True)
    other = evaluate(qrels, run, ["RR"], ties="id-asc").to_dict(per_query=True)
    with pytest.raises(InputError, match="the rules differ \\(ties"):
        gate(usual, other, "RR")
