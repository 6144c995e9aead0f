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
from rankscope.errors import FormatError, RankscopeError, UnknownNameError
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.score_files import ScoreRecord, is_score_file, read_scores
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
    assert found.asked == {"nDCG@10": "nDCG@10", "AP": "map"}
    assert (found.fingerprint, found.rules) == (scores.fingerprint, scores.rules)
    assert found.values("map") == scores.values("map")
    assert np.array_equal(found.run().values, scores.run().values)
    assert found.run().accounting == scores.accounting


def test_runs_are_not_taken_for_score_files(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"schema": {"d1": 1.0}}))
    assert not is_score_file(path)
    path.write_text("q1 Q0 d1 1 0.5 tag\n")
    assert not is_score_file(path)
    with pytest.raises(FormatError, match="--qrels"):
        read_scores(path)


def put(*path: str, value: object) -> Change:
    """Return a change that sets one part of a record."""

    def change(data: dict[str, Any]) -> None:
        *above, last = path
        for key in above:
            data = data[key]
        data[last] = value

    return change


DAMAGE: list[tuple[Change, str]] = [
    (lambda data: data.pop("schema"), "schema"),
    (put("schema", value="rankscope/scores/9"), "rankscope/scores/9"),
    (lambda data: data.pop("qrels"), "qrels"),
    (put("qrels", value={}), "qrels.sha256"),
    (put("qrels", "sha256", value="abc"), "'abc'"),
    (put("profile", value=None), "profile"),
    (put("measures", value={"AP": 3}), "measures.AP"),
    (put("runs", value={}), "runs"),
    (put("runs", "bm25", value=[]), "bm25"),
    (lambda data: run_of(data).pop("per_query"), "--per-query"),
    (put("runs", "bm25", "per_query", value={}), "no values by query"),
    (put("runs", "bm25", "per_query", "q0000", value=[1]), "q0000"),
    (put("runs", "bm25", "accounting", value={"missing_policy": "all"}), "accounting.queries"),
    *(
        (put("runs", "bm25", "per_query", "q0001", "AP", value=value), "q0001.AP")
        for value in ("0.5", True, [0.5], float("nan"), float("inf"), 1e300, 10**400)
    ),
]


@pytest.mark.parametrize(("change", "said"), DAMAGE)
def test_a_damaged_record_is_refused(tmp_path: Path, change: Change, said: str) -> None:
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
        ("{", "JSON"),
        ('{"schema": 1, "schema": 2}', "twice"),
        ('{"a": ' * 100_000, "nested|JSON"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
        ("", "score file"),
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


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["schema", "profile", "qrels", "measures", "runs"]), JSON)
def test_whatever_stands_in_a_part_is_read_or_refused(part: str, value: object) -> None:
    data = record({"AP": [0.1]}) | {part: value}
    try:
        ScoreRecord.from_data(data, source="x.json").scores(source="x.json")
    except FormatError as error:
        assert str(error).startswith("x.json: ")  # noqa: PT017


def test_a_file_with_several_runs(tmp_path: Path) -> None:
    data = record({"AP": [0.1, 0.2]}, run="a")
    data["runs"] |= record({"AP": [0.3, 0.4]}, run="b")["runs"]
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(data))
    with pytest.raises(FormatError, match="--baseline-run"):
        gate(path, path, "AP")
    with pytest.raises(UnknownNameError, match="'c'"):
        gate(path, path, "AP", baseline_run="a", candidate_run="c")
    result = gate(path, path, "AP", baseline_run="a", candidate_run="b")
    assert (result.baseline, result.candidate) == ("a", "b")
    assert result.checks[0].difference == pytest.approx(0.2)


# --- not comparable ------------------------------------------------------------------------------

SCORES = evaluate(QRELS, RUN, "AP")
BASE = record({"AP": [0.1, 0.2, 0.3, 0.4, 0.5]})
OTHER = [0.1] * 5
RENAMED = record({"AP(rel=2)": OTHER})


def changed(change: Change) -> dict[str, Any]:
    data = record({"AP": OTHER})
    change(data)
    return data


@pytest.mark.parametrize(
    ("baseline", "candidate", "options", "said"),
    [
        (BASE, record({"AP": OTHER}, qrels="b" * 64), {}, ["aaaaaaaaaaaa", "bbbbbbbbbbbb"]),
        (BASE, record({"AP": OTHER}, profile="ranx"), {}, ["rankscope", "ranx"]),
        (
            BASE,
            record({"AP": [0.1] * 6}, query_ids=["q0000", *"edcba"]),
            {},
            ["4 only in the baseline: 'q0001', 'q0002'", "5 only in the candidate: 'a', 'b'"],
        ),
        (
            BASE,
            changed(put("runs", "bm25", "accounting", "missing_policy", value="both")),
            {},
            ["(all in"],
        ),
        (
            BASE,
            record({"AP": [0.1]}, qrels="b" * 64, profile="ranx"),
            {},
            ["rules", "judgments", "queries"],
        ),
        (BASE, record({"RR": OTHER}), {}, ["AP", "RR"]),
        (BASE, {**RENAMED, "measures": {"AP(rel=2)": "AP"}}, {}, ["AP(rel=2)"]),
        (BASE, changed(put("runs", "bm25", "per_query", "q0001", "AP", value=None)), {}, ["q0001"]),
        (BASE, changed(put("runs", "bm25", "per_query", "q0003", value={})), {}, ["q0003"]),
        (SCORES, RUN, {"qrels": {"q1": {"d1": 1}}}, ["judgments"]),
        (SCORES, RUN, {"qrels": QRELS, "profile": "ranx"}, ["rankscope", "ranx"]),
        (RUN, {"q1": RUN["q1"]}, {"qrels": QRELS, "profile": "beir"}, ["'q2'"]),
        (SCORES, evaluate(QRELS, RUN, "AP", ties="id-asc"), {}, ["ties"]),
    ],
)
def test_what_is_not_comparable(
    baseline: Any, candidate: Any, options: Any, said: list[str]
) -> None:
    with pytest.raises(RankscopeError, match="not comparable") as caught:
        gate(baseline, candidate, "AP", **options)
    assert "\n" not in str(caught.value)
    assert [part for part in said if part not in str(caught.value)] == []
