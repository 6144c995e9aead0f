"""Records: versioned, documented, read back as they were written; those of 0.1.0 are still read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rankscope.benchmark.changes import compare_experiments
from rankscope.benchmark.verify import verify
from rankscope.errors import FormatError
from rankscope.part import Record
from rankscope.records import BenchmarkReport, EvaluationReport, ExperimentManifest
from rankscope.records.kept import KeptRecord
from rankscope.scoring.score_files import ScoreRecord, read_scores
from rankscope.statistics.gate import gate

KINDS = (EvaluationReport, BenchmarkReport, ExperimentManifest)
DATA = Path(__file__).parent / "data"
OLD = DATA / "experiment-v1" / "first-f516d3865bc8"
"""An experiment that version 0.1.0 wrote."""


class Grown(Record):
    """A record whose second version has renamed a field, and whose third has added one."""

    kind: ClassVar[str] = "grown"
    version: ClassVar[int] = 3
    upgrades: ClassVar[Any] = {
        1: lambda data: {**data, "value": data["score"]},
        2: lambda data: {**data, "unit": "points"},
    }

    value: float
    """The value."""
    unit: str
    """What it is counted in."""


def test_old_versions_are_brought_up_to_date() -> None:
    new = Grown.from_data({"schema": "rankscope/grown/3", "value": 1, "unit": "m"}, source="x")
    assert (new.value, new.unit) == (1.0, "m")
    middle = Grown.from_data({"schema": "rankscope/grown/2", "value": 2}, source="x")
    assert (middle.value, middle.unit) == (2.0, "points")
    old = Grown.from_data({"schema": "rankscope/grown/1", "score": 3}, source="x")
    assert (old.value, old.unit) == (3.0, "points")
    assert json.loads(old.to_json())["schema"] == "rankscope/grown/3"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"schema": "rankscope/grown/4"}, "use a newer one"),
        ({"schema": "rankscope/grown/x"}, "expected the schema 'rankscope/grown/3'"),
        ({"schema": "rankscope/grown/0"}, "expected the schema 'rankscope/grown/3'"),
        ({"schema": "rankscope/scores/1"}, "got 'rankscope/scores/1'"),
        ({"schema": 3}, "expected the schema"),
        ({}, "got none"),
        ([], "expected the schema"),
        (
            {"schema": "rankscope/grown/3", "value": "?", "unit": ""},
            "value is '.'; expected a number",
        ),
        ({"schema": "rankscope/grown/3", "value": 1}, "unit is missing"),
    ],
)
def test_what_is_none_is_one_sentence(data: object, said: str) -> None:
    with pytest.raises(FormatError, match=said) as caught:
        Grown.from_data(data, source="a.json")
    assert str(caught.value).startswith("a.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[1]", b"null", b'{"schema": 1}'])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_hostile_files_are_refused(tmp_path: Path, kind: type[KeptRecord], content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(FormatError):
        kind.read(path)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_schemas_say_what_they_are(kind: type[Record]) -> None:
    schema = kind.json_schema()
    assert schema["properties"]["schema"]["const"] == kind.schema_name()
    assert "schema" in schema["required"]
    json.dumps(schema)


# --- what 0.1.0 wrote ----------------------------------------------------------------------------


def test_an_old_report_is_read() -> None:
    data = json.loads((OLD / "BenchmarkReport.json").read_text("utf-8"))
    assert data["schema"] == "rankscope/benchmark/1"
    report = BenchmarkReport.read(OLD / "BenchmarkReport.json")
    assert [segment.to_dict() for segment in report.segments] == data["segments"]
    assert [stage.to_dict() for stage in report.stages] == data["stages"]
    assert [finding.code for finding in report.findings] == [
        one["code"] for one in data["findings"]
    ]
    comparison, before = report.comparison, data["comparison"]
    assert comparison is not None
    for name in ("runs", "measures", "baseline", "queries", "family", "settings", "anova"):
        assert comparison.to_dict()[name] == before[name]
    for mean, then in zip(comparison.means, before["means"], strict=True):
        assert {key: mean.to_dict()[key] for key in then} == then
        assert mean.near_best is None
    for pair, then in zip(comparison.pairs, before["pairs"], strict=True):
        held = pair.to_dict()
        assert {key: held[key] for key in then if key != "sentence"} == {
            key: value for key, value in then.items() if key != "sentence"
        }
        assert pair.shown == pair.interval
    assert (comparison.left_out, comparison.profile) == (0, "rankscope")
    assert list(comparison.accounting) == before["runs"]
    assert BenchmarkReport.from_data(json.loads(report.to_json()), source="x") == report


@pytest.mark.parametrize("path", sorted(OLD.glob("EvaluationReport.*.json")), ids=lambda p: p.stem)
def test_old_evaluation_reports_are_read(path: Path) -> None:
    report = EvaluationReport.read(path)
    data = json.loads(path.read_text("utf-8"))
    written = json.loads(report.to_json())
    assert written == data | {"diagnostics": written["diagnostics"]}
    assert len(report.diagnostics.findings) == len(data["diagnostics"]["findings"])


def test_an_old_manifest_is_read() -> None:
    path = OLD / "ExperimentManifest.json"
    manifest = ExperimentManifest.read(path)
    assert json.loads(manifest.to_json()) == json.loads(path.read_text("utf-8"))


def test_an_old_experiment_holds() -> None:
    result = verify(OLD)
    assert [check for check in result.checks if check.problem] == []
    assert result.ok


def test_old_experiments_are_compared() -> None:
    result = compare_experiments(OLD, OLD, resamples=100)
    assert {change.system for change in result.changes} == {
        "titles",
        "lexical",
        "hybrid",
        "reranked",
    }
    assert {change.verdict for change in result.changes} == {"no difference shown"}
    assert (result.differs, result.queries) == ((), 12)


def test_the_gate_takes_old_evaluation_reports() -> None:
    one, other = (OLD / f"EvaluationReport.{name}.json" for name in ("lexical", "hybrid"))
    result = gate(one, other, "nDCG@10", resamples=100)
    assert (result.baseline, result.candidate, result.queries) == ("lexical", "hybrid", 12)
    means = {
        path: next(
            value.value
            for value in EvaluationReport.read(path).measures
            if value.asked == "nDCG@10"
        )
        for path in (one, other)
    }
    [check] = result.checks
    assert (check.baseline, check.candidate) == pytest.approx((means[one], means[other]))


def test_an_old_score_file_is_read() -> None:
    path = DATA / "scores-v1.json"
    data = json.loads(path.read_text("utf-8"))
    assert ScoreRecord.from_data(data, source="x").to_dict() == data
    scores = read_scores(path)
    assert list(scores.runs) == list(data["runs"])
    for name, run in scores.runs.items():
        rows = dict(zip(scores.measures, run.values.tolist(), strict=True))
        for measure, values in rows.items():
            by_query = data["runs"][name]["per_query"]
            assert values == [by_query[query_id][measure] for query_id in run.query_ids]


@pytest.mark.parametrize("key", ["measures", "systems", "comparison", "segments", "findings"])
@pytest.mark.parametrize("value", [None, 3, "x", [3], {"a": 1}])
def test_a_damaged_old_report_is_refused_or_read(key: str, value: object) -> None:
    """Bringing it up to date never crashes."""
    data = json.loads((OLD / "BenchmarkReport.json").read_text("utf-8"))
    data[key] = value
    try:
        BenchmarkReport.from_data(data, source="x.json")
    except FormatError as error:
        assert str(error).startswith("x.json: ")  # noqa: PT017
