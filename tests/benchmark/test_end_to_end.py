"""A benchmark from config to reports, as a user has it: every number can be found again by hand."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankscope as rs
from benchmark.world import (
    CONFIG,
    QUERIES,
    World,
    cli,
    contents,
    documents,
    judgments,
    made,
    only_experiment,
    queries,
    write_qrels,
    write_world,
)
from rankscope.benchmark.run import run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.errors import UnknownNameError
from rankscope.records.report import (
    BenchmarkReport,
    EvaluationReport,
    ExperimentManifest,
    ExperimentTimings,
)
from rankscope.statistics.comparison import compare_scores
from rankscope.statistics.settings import Settings

# ------------------------------------------------------------------------------ the numbers


@pytest.fixture(scope="module")
def report(experiment: Path) -> BenchmarkReport:
    return BenchmarkReport.read(experiment / "BenchmarkReport.json")


def test_every_file_is_listed_and_every_record_parses(
    experiment: Path, report: BenchmarkReport
) -> None:
    manifest = ExperimentManifest.read(experiment / "ExperimentManifest.json")
    files = (path for path in experiment.rglob("*") if path.is_file())
    there = {path.relative_to(experiment).as_posix() for path in files}
    pages = ExperimentTimings.read(experiment / "Timings.json").pages
    records = {"ExperimentManifest.json", "Timings.json"}
    assert there == {file.path for file in (*manifest.artifacts, *pages)} | records
    assert [one.name for one in report.systems] == ["words", "code", "both"]
    for system in report.systems:
        own = EvaluationReport.read(experiment / system.report)
        assert (own.experiment, own.measures) == (experiment.name, system.measures)
        assert (own.run, own.collection) == (system.run, report.collection)
    assert verify(experiment).ok


def test_the_means_are_those_of_the_written_runs(
    small: World, experiment: Path, report: BenchmarkReport
) -> None:
    qrels = rs.read_qrels(small.folder / "qrels.tsv")
    runs = {one.name: rs.read_run(experiment / one.run.file.path) for one in report.systems}
    scores = rs.evaluate(qrels, runs, [one.asked for one in report.measures])
    for system in report.systems:
        assert (system.run.queries, system.run.failures) == (12, {})
        assert {one.measure: one.value for one in system.measures} == scores.run(system.name).means
        values = pl.read_parquet(experiment / system.per_query.path)
        own = scores.per_query.filter(pl.col("run") == system.name).drop("run")
        assert values.sort("query_id", "measure").equals(own.sort("query_id", "measure"))
    settings = Settings.of(seed=3, resamples=200)
    comparison = compare_scores(scores, baseline="words", settings=settings, all_pairs=True)
    assert report.comparison is not None
    assert report.comparison.pairs == comparison.pairs
    assert report.comparison.means == comparison.means


def test_the_results_have_titles_grades_and_scores(
    experiment: Path, report: BenchmarkReport
) -> None:
    titles = {one["_id"]: one["title"] for one in documents()}
    grades = {(query, doc): grade for query, doc, grade in judgments()}
    for system in report.systems:
        run = rs.read_run(experiment / system.run.file.path)
        scores = run.to_dict()
        table = pl.read_parquet(experiment / system.results.path)
        assert table.columns == ["query_id", "rank", "doc_id", "title", "score", "grade", "adds"]
        for row in table.iter_rows(named=True):
            query_id, doc_id = row["query_id"], row["doc_id"]
            assert row["title"] == titles[doc_id]
            assert row["score"] == scores[query_id][doc_id]
            assert row["grade"] == grades.get((query_id, doc_id))
            assert list(run[query_id])[row["rank"] - 1] == doc_id


# ------------------------------------------------------------------------------- once more


def test_again_elsewhere_it_is_the_same_but_for_times(
    small: World, experiment: Path, tmp_path: Path
) -> None:
    again = made(small, tmp_path)
    assert again.name == experiment.name
    assert contents(again) == contents(experiment)


def test_what_is_there_is_not_made_again_and_what_was_changed_is(
    small: World, experiment: Path, tmp_path: Path
) -> None:
    shutil.copytree(experiment.parent, tmp_path / "out")
    copy = tmp_path / "out" / experiment.name
    assert run_benchmark(small.config, output=copy.parent).reused
    (copy / "BenchmarkComparison.md").write_text("forged")
    assert not run_benchmark(small.config, output=copy.parent).reused
    assert contents(copy) == contents(experiment)
    manifest = copy / "ExperimentManifest.json"
    data = json.loads(manifest.read_text())
    data["artifacts"][0]["path"] = "/etc/hostname"
    manifest.write_text(json.dumps(data))
    assert not run_benchmark(small.config, output=copy.parent).reused


def test_changing_one_system_touches_its_answers_only(
    small: World, experiment: Path, tmp_path: Path
) -> None:
    settings = ["systems.words.bm25.k1=0.5"]
    cache = experiment.parent / ".cache"
    result = run_benchmark(small.config, output=tmp_path, cache=cache, settings=settings)
    stored = {system.name: system.timing.stored for system in result.report.systems}
    assert [name for name, count in stored.items() if count] == ["code"]


def test_other_judgments_or_targets_are_another_experiment(tmp_path: Path) -> None:
    config = CONFIG.replace("targets: {{nDCG@5: 0.4}}", "targets: goals.yaml")
    world = write_world(tmp_path / "world", config=config)
    found = []
    for target, rows in ((0.1, judgments()), (0.9, judgments()), (0.9, judgments()[:-1])):
        (world.folder / "goals.yaml").write_text(
            f"name: ours\nsource: us\nmeasures: {{nDCG@5: {{target: {target}}}}}\n"
        )
        write_qrels(world.folder / "qrels.tsv", rows)
        result = run_benchmark(world.config, output=tmp_path / "out")
        assert result.report.measures[0].target == target
        found.append(result.folder.name)
    assert len(set(found)) == 3


def test_a_query_that_fails_is_never_found_nothing(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    world.trouble("raise", "q03")
    run = ("benchmark", "run", world.config, "--output", tmp_path / "out")
    code, out, _ = cli(*run)
    assert code == 1
    assert "code: 1 query could not be answered" in out
    assert "\x1b" not in out
    asked = world.calls
    assert asked.count("q03") == 4, "once more each by 'code' and by 'both', which builds on it"
    assert asked.count("q02") == 2
    folder = only_experiment(tmp_path / "out")
    report = EvaluationReport.read(folder / "EvaluationReport.code.json")
    assert list(report.run.failures) == ["q03"]
    assert "the engine has no" in report.run.failures["q03"]
    [code_system] = [
        system
        for system in BenchmarkReport.read(folder / "BenchmarkReport.json").systems
        if system.name == "code"
    ]
    assert (report.run.queries, code_system.timing.retried) == (11, 1)
    (failed,) = (one for one in report.diagnostics.findings if one.code == "RS704")
    assert (failed.severity, failed.count) == ("error", 1)
    written = rs.read_run(folder / "runs" / "code.run.gz")
    assert sorted(written.query_ids) == [one for one in QUERIES if one != "q03"]
    assert verify(folder).ok
    assert cli(*run)[0] == 1
    assert world.calls == ["q03"] * 4, "only what failed is asked again"
    world.trouble("empty", "q03")
    assert cli(*run)[0] == 0
    assert world.calls == ["q03"] * 2
    report = EvaluationReport.read(folder / "EvaluationReport.code.json")
    assert (report.run.queries, report.run.failures) == (12, {})


# ------------------------------------------------------------------------------ hostile data

HOSTILE = "</script><img src=x onerror=alert(1)>|a|\n\x1b[31mred\x00 [bold]x[/] {{7}} `${HOME}`"


def _renamed(template: str) -> dict[str, Any]:
    """Return queries and judgments under other ids."""
    names = {one: template.format(one) for one in QUERIES}
    return {
        "asked": [{**one, "_id": names[one["_id"]]} for one in queries()],
        "qrels": [(names[query], doc, grade) for query, doc, grade in judgments()],
    }


CASES: dict[str, dict[str, Any]] = {
    "texts": {
        "corpus": [{**one, "title": HOSTILE, "text": HOSTILE + one["text"]} for one in documents()],
        "asked": [
            {**one, "text": f"{one['text']} {HOSTILE}", "group": HOSTILE, "more": {"a": [None]}}
            for one in queries()
        ],
    },
    "ids that are paths": _renamed("../../{}"),
    "ids with signs": _renamed("ü\u00a0{}\u2028|<b>"),
    "one document": {"corpus": documents()[:1]},
    "one query": {"asked": queries()[:1], "qrels": judgments()[:3]},
    "fractions, and a query nobody can ask": {
        "qrels": [*((query, doc, n / 3) for query, doc, n in judgments()), ("q99", "d01", 1)]
    },
    "the same words": {"asked": [{**one, "text": "apple"} for one in queries()]},
}


@pytest.mark.parametrize("case", CASES)
def test_whatever_the_data_is_the_experiment_verifies(tmp_path: Path, case: str) -> None:
    world = write_world(tmp_path / "a folder, été 日本", **CASES[case])
    code, out, err = cli("benchmark", "run", world.config, "--output", tmp_path / "out")
    assert (code, err) == (0, "")
    folder = only_experiment(tmp_path / "out")
    text = (folder / "BenchmarkComparison.md").read_text(encoding="utf-8")
    assert not {"\x1b", "\0"}.intersection(out + text)
    assert "<img" not in text.replace("\\<img", "")
    assert verify(folder).ok
    code, out, err = cli("benchmark", "compare", folder, folder)
    assert (code, err) == (0, "")
    assert "\x1b" not in out


AWKWARD = ("q 1", "#q2", "q%203", "q 3", "q\t4", "\ufeffq5", "q\n6", "ü q7", " q8", "q9")


def test_any_id_can_be_benchmarked(tmp_path: Path) -> None:
    """White space and signs that a TREC file has other uses for."""
    asked = [{"_id": query_id, "text": "apple bread", "group": "a"} for query_id in AWKWARD]
    corpus = [
        {"_id": query_id.replace("q", "d"), "title": "apple", "text": f"number{number}"}
        for number, query_id in enumerate(AWKWARD)
    ]
    world = write_world(tmp_path, asked=asked, corpus=corpus)
    judged = {query_id: {query_id.replace("q", "d"): 1} for query_id in AWKWARD}
    rs.Qrels(judged).write(tmp_path / "qrels.json")
    settings = ("--set", "collection.qrels=qrels.json", "--quiet")
    run = cli("benchmark", "run", world.config, "--output", tmp_path / "out", *settings)
    assert run == (0, "", "")
    folder = only_experiment(tmp_path / "out")
    assert verify(folder).ok
    path = folder / "runs" / "words.run.gz"
    assert set(rs.read_run(path).query_ids) == set(AWKWARD)
    assert gzip.decompress(path.read_bytes()).startswith(b'{"query_id"')


@pytest.mark.parametrize(
    ("old", "new", "data", "word"),
    [
        ("of: [words, code]", "of: [words, both]", {}, "in a circle: both → both"),
        ("of: [words, code]", "of: [wordz]", {}, "unknown system 'wordz'"),
        ("words: bm25", '"../words": bm25', {}, "file name"),
        ("{module}:answer", "nowhere:answer", {}, "module nowhere not found"),
        ("", "", {"qrels": [(*row[:2], 0) for row in judgments()]}, "no grade in the qrels"),
        ("", "", {"qrels": [("x1", "d01", 1)]}, "none of its queries is judged"),
        ("", "", {"corpus": []}, "is empty"),
        ("", "", {"corpus": [{"_id": "d1", "title": "", "text": ""}]}, "no document has a word"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    tmp_path: Path, old: str, new: str, data: dict[str, Any], word: str
) -> None:
    assert old in CONFIG
    world = write_world(tmp_path / "world", config=CONFIG.replace(old, new or old), **data)
    code, out, err = cli("benchmark", "run", world.config, "--output", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert word in err
    assert not list((tmp_path / "out").glob("[!.]*"))


def test_queries_in_clusters(small: World, tmp_path: Path) -> None:
    """Two groups of six queries are two of what is drawn: nothing can be shown with so few."""
    settings = ["statistics.cluster=group"]
    comparison = run_benchmark(small.config, output=tmp_path, settings=settings).report.comparison
    assert comparison is not None
    assert comparison.clusters == 2
    assert {pair.verdict for pair in comparison.pairs} == {"can't tell"}
    with pytest.raises(UnknownNameError, match="'grop'; nearest: group"):
        run_benchmark(small.config, output=tmp_path, settings=["statistics.cluster=grop"])
