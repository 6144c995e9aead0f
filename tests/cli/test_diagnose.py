"""``rankscope diagnose`` and `rankscope.diagnose`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import rankscope as rs
from benchmark.world import made, write_world
from rankscope.cli.app import app
from rankscope.diagnosis.registry import all_analyses
from rankscope.diagnosis.stages import StageSpec
from rankscope.records import BenchmarkReport

QRELS = {f"q{n:02}": {"a": 1} for n in range(20)}
RUNS = {
    "first": {
        q: {"x": 2.0, "a": 1.0} if n % 3 else {"a": 3.0, "x": 2.0} for n, q in enumerate(QRELS)
    },
    "second": {q: {"a": 3.0, "x": 2.0} for q in QRELS},
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    lines = {
        "qrels.txt": [f"{q} 0 a 1" for q in QRELS],
        **{
            f"{name}.run": [
                f"{q} Q0 {d} 0 {s} {name}" for q, docs in run.items() for d, s in docs.items()
            ]
            for name, run in RUNS.items()
        },
        "queries.jsonl": [
            json.dumps({"_id": q, "text": "some words", "kind": "even" if n % 2 else "odd"})
            for n, q in enumerate(QRELS)
        ],
    }
    for name, rows in lines.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n", "utf-8")
    return {name: str(tmp_path / name) for name in lines}


def run(files: dict[str, str], *arguments: str) -> Result:
    paths = [files["qrels.txt"], files["first.run"], files["second.run"]]
    return CliRunner().invoke(app, ["diagnose", *paths, *arguments])


def test_every_analysis_answers(files: dict[str, str]) -> None:
    result = run(files, "-m", "RR", "--format", "json", "--baseline", "first")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["schema"] == "rankscope/diagnosis/1"
    assert (data["runs"], data["queries"], data["baseline"]) == (["first", "second"], 20, "first")
    answers = data["analyses"]
    assert set(answers) == {analysis.name for analysis in all_analyses()}
    assert answers["segments"] == {
        "name": "segments",
        "reason": "no queries were given",
        "code": None,
    }
    [base, other] = answers["risk"]["systems"]
    assert base["against"] is None
    assert other["against"]["wins"] == 13


def test_one_analysis_with_its_config(files: dict[str, str]) -> None:
    result = run(
        files, "-m", "RR", "--only", "segments", "--queries", files["queries.jsonl"],
        "--set", "segments=[kind]", "--baseline", "first",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "By kind" in result.stdout  # a terminal shows what pages have as details
    assert "Risk" not in result.stdout
    both = run(files, "--only", "segments", "--queries", files["queries.jsonl"],
               "--set", "segments.fields=[words]", "--set", "segments.bins=2", "--format", "json",
               )  # fmt: skip
    [segment] = json.loads(both.stdout)["analyses"]["segments"]["segments"]
    assert segment["field"] == "words"
    assert json.loads(both.stdout)["analyses"]["risk"] is None


def test_languages(files: dict[str, str]) -> None:
    queries = ("-m", "RR", "--only", "languages", "--queries", files["queries.jsonl"])
    result = run(files, *queries, "--set", "languages.field=kind")
    assert result.exit_code == 0, result.output
    assert "even (10)" in result.stdout
    assert "worst pair" in result.stdout
    without = run(files, *queries)
    assert without.exit_code == 0, without.output
    assert "languages: no query has its language in the field language" in without.stdout


@pytest.mark.parametrize("format", ["table", "markdown", "html", "latex", "csv"])
def test_formats(files: dict[str, str], format: str) -> None:
    result = run(files, "-m", "RR", "--baseline", "first", "--format", format)
    assert result.exit_code == 0, result.output
    assert "second" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--only", "risks"], "risk"),
        (["--baseline", "third"], "third"),
        (["--set", "segments"], "--set must be"),
        (["--set", "segment=[kind]"], "segments"),
        (["--set", "risk.loss_weight=-1"], "risk.loss_weight"),
        (
            ["--set", "risk=3"],
            "risk: expected options by name, got '3'; what can be set: loss_weight",
        ),
        (["--set", "risk.weight=1"], "what can be set: loss_weight"),
        (["--set", "segments=[a]", "--set", "segments.bins=2"], "cannot both be given"),
        (["--queries", "none.jsonl"], "none.jsonl"),
    ],
)
def test_what_is_refused(files: dict[str, str], arguments: list[str], problem: str) -> None:
    result = run(files, *arguments)
    assert result.exit_code != 0
    assert problem in f"{result.output}{result.exception}"


def test_in_python() -> None:
    runs = {name: rs.Run(run, name=name) for name, run in RUNS.items()}
    pipeline = (StageSpec("first", "bm25"), StageSpec("second", "rerank", ("first",), 2))
    diagnosis = rs.diagnose(
        QRELS, runs, "RR", stages=pipeline, only=["stages"], queries=dict.fromkeys(QRELS, "words")
    )
    [(analysis, answer)] = diagnosis.answers()
    assert analysis.name == "stages"
    assert answer.to_dict()["stages"][1]["system"] == "second"
    assert diagnosis.findings == []
    assert "nothing to remark" in diagnosis._repr_html_()
    plain = rs.diagnose(QRELS, RUNS, ["RR"], only="risk", baseline="first", alpha=0.01)
    assert plain.settings.alpha == 0.01
    assert type(plain).from_data(plain.to_dict(), source="x") == plain


def test_stages_by_name(files: dict[str, str]) -> None:
    result = run(files, "--stages", "first, second", "--only", "stages", "--format", "json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["analyses"]["stages"]["stages"]
    assert [(row["system"], row["of"]) for row in rows] == [("first", []), ("second", ["first"])]


@pytest.mark.parametrize(
    ("stages", "problem"),
    [
        ("first,thrd", "unknown run (stages) 'thrd'"),
        ("first,first", "stages: 'first' appears twice"),
        ("", "unknown run (stages) ''"),
    ],
)
def test_stages_that_are_no_runs(files: dict[str, str], stages: str, problem: str) -> None:
    result = run(files, "--stages", stages)
    assert problem in f"{result.output}{result.exception}"


def test_several_analyses_by_one_option(files: dict[str, str]) -> None:
    result = run(files, "--only", "risk,failures", "--only", "risk", "--format", "json")
    answers = json.loads(result.stdout)["analyses"]
    assert {name for name, answer in answers.items() if answer} == {"risk", "failures"}
    assert run(files, "--only", "").exit_code != 0


def test_the_folder_of_a_benchmark(tmp_path: Path) -> None:
    """What the report holds is shown, and nothing that would change it can be asked."""
    world = write_world(tmp_path)
    folder = str(made(world, tmp_path / "out"))

    def shown(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["diagnose", folder, *arguments])

    result = shown("--only", "failures", "--format", "json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    report = BenchmarkReport.read(Path(folder) / "BenchmarkReport.json")
    assert data["analyses"]["failures"] == report.to_dict()["analyses"]["failures"]
    assert data["analyses"]["risk"] is None
    assert "What would gain most" in shown().stdout
    refused = shown("--baseline", "words")
    assert refused.exit_code == 2
    assert "--baseline cannot change what a benchmark found" in refused.output
    assert (
        "not an experiment" in f"{CliRunner().invoke(app, ['diagnose', str(tmp_path)]).exception}"
    )


def test_a_run_is_needed_beside_a_file(files: dict[str, str]) -> None:
    result = CliRunner().invoke(app, ["diagnose", files["qrels.txt"]])
    assert result.exit_code == 2
    assert "Missing argument 'RUN...'" in result.output


def test_a_verdict_beside_a_baseline() -> None:
    diagnosis = rs.diagnose(QRELS, RUNS, ["RR"], baseline="first")
    [sentence] = diagnosis.verdict
    assert sentence.startswith("RR: second is better than first by 0.3250")
    assert "Verdict" in str(diagnosis)
    assert rs.diagnose(QRELS, RUNS, ["RR"]).verdict == ()


def test_what_is_given_must_be_about_the_same_queries() -> None:
    with pytest.raises(rs.InputError, match="none of 1 query is judged"):
        rs.diagnose(QRELS, RUNS, ["RR"], queries={"other": "words"})
    some = rs.diagnose(QRELS, RUNS, ["RR"], queries={"q00": "words"})
    [finding] = [finding for finding in some.remarks if finding.code == "RS721"]
    assert finding.count == 19


def test_stages_as_mappings() -> None:
    stages = [{"system": "first"}, {"system": "second", "of": "first", "kind": "rerank"}]
    diagnosis = rs.diagnose(QRELS, RUNS, ["RR"], stages=stages, only="stages")
    rows = diagnosis.to_dict()["analyses"]["stages"]["stages"]
    assert rows[1]["of"] == ["first"]
    with pytest.raises(rs.RankscopeError, match="unknown key of a stage 'sys'"):
        rs.diagnose(QRELS, RUNS, ["RR"], stages=[{"sys": "first"}])


def test_several_names_show_all_of_each(files: dict[str, str]) -> None:
    names = ("risk", "ties", "gaps", "baselines", "pareto")
    shown = run(
        files, "--baseline", "first", *(word for name in names for word in ("--only", name))
    )
    for title in ("Risk", "Ties"):
        assert f"\n{title}\n" in shown.stdout
    everything = run(files, "--baseline", "first").stdout
    assert "Also looked at\n" in everything


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--targets", "trec-kpi"], "has no target of a figure"),
        (["--pool", "x.pool"], "the suffix does not tell the format of the pool"),
        (["--only", "foo"], "unknown analysis 'foo'; there are: failures"),
    ],
)
def test_what_is_refused_at_once(files: dict[str, str], arguments: list[str], problem: str) -> None:
    result = run(files, *arguments)
    assert problem in f"{result.output}{result.exception}"


def test_spans_are_refused_in_one_sentence() -> None:
    gold = [{"query_id": "q", "spans": [{"doc_id": "d", "start": 0, "end": 5}]}]
    pieces = {"q": [{"doc_id": "d", "start": 0, "end": 9}]}
    with pytest.raises(rs.InputError, match="use evaluate or compare"):
        rs.diagnose(gold, pieces)
