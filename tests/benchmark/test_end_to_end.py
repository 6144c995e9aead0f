"""A benchmark from config to reports, as a user has it: every number can be found again by hand."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Mapping, Sequence
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
from rankscope.errors import InputError, UnknownNameError
from rankscope.part import Record
from rankscope.records import BenchmarkReport, EvaluationReport, ExperimentManifest
from rankscope.statistics.compare import compare_scores
from rankscope.statistics.settings import Settings

DATA = Path(rs.__file__).parent / "data" / "recipes"
SYSTEMS = ["title", "lexical", "vector", "hybrid", "reranked"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Run the bundled benchmark, and return its folder and what was printed."""
    output = tmp_path_factory.mktemp("demo")
    code, out, err = cli("demo", "--output", output, "--format", "json")
    assert (code, err) == (0, "")
    return only_experiment(output), json.loads(out)


# ------------------------------------------------------------------------------ the bundled one


def test_every_file_is_listed_and_every_record_parses(demo: tuple[Path, dict[str, Any]]) -> None:
    folder, printed = demo
    manifest = ExperimentManifest.read(folder / "ExperimentManifest.json")
    report = BenchmarkReport.read(folder / "BenchmarkReport.json")
    assert json.loads((folder / "BenchmarkReport.json").read_text()) == printed
    listed = {one.path for one in manifest.artifacts}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there == listed | {"ExperimentManifest.json"}
    assert [one.name for one in report.systems] == SYSTEMS
    for system in report.systems:
        own = EvaluationReport.read(folder / system.report)
        assert (own.experiment, own.measures) == (folder.name, system.measures)
        assert (own.run, own.collection) == (system.run, report.collection)
    assert verify(folder).ok


def test_the_means_are_those_of_the_written_runs(demo: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = demo
    report = BenchmarkReport.read(folder / "BenchmarkReport.json")
    qrels = rs.read_qrels(DATA / "qrels" / "test.tsv")
    asked = set(qrels.query_ids)
    runs = {}
    for system in report.systems:
        written = rs.read_run(folder / system.run.file.path).to_dict()
        runs[system.name] = rs.Run({one: written.get(one, {}) for one in asked})
        assert system.run.queries == len(asked) == 120
        assert not system.run.failures
    scores = rs.evaluate(qrels, runs, [one.asked for one in report.measures])
    for system in report.systems:
        assert {one.measure: one.value for one in system.measures} == scores.run(system.name).means
        values = pl.read_parquet(folder / system.per_query.path)
        own = scores.per_query.filter(pl.col("run") == system.name).drop("run")
        assert values.sort("query_id", "measure").equals(own.sort("query_id", "measure"))
    comparison = compare_scores(
        scores, baseline="lexical", settings=Settings.of(seed=7), all_pairs=True
    )
    assert report.comparison == comparison
    assert {pair.base for pair in comparison.pairs if "lexical" in (pair.base, pair.system)} == {
        "lexical"
    }


def test_the_results_have_titles_grades_and_scores(demo: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = demo
    report = BenchmarkReport.read(folder / "BenchmarkReport.json")
    lines = (DATA / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    titles = {one["_id"]: one["title"] for one in map(json.loads, lines)}
    grades = rs.read_qrels(DATA / "qrels" / "test.tsv").to_dict()
    for system in report.systems:
        run = rs.read_run(folder / system.run.file.path)
        scores = run.to_dict()
        table = pl.read_parquet(folder / system.results.path)
        assert table.columns == ["query_id", "rank", "doc_id", "title", "score", "grade", "adds"]
        assert table["rank"].max() == report.top == 20
        for row in table.iter_rows(named=True):
            query_id, doc_id = row["query_id"], row["doc_id"]
            assert row["title"] == titles[doc_id]
            assert row["score"] == scores[query_id][doc_id]
            assert row["grade"] == grades[query_id].get(doc_id)
            assert list(run[query_id])[row["rank"] - 1] == doc_id


def _violations(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[str]:
    """Check a value against the part of JSON Schema that the records use."""
    if "$ref" in schema:
        return _violations(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        ways = [_violations(value, one, root) for one in schema["anyOf"]]
        return [] if [] in ways else min(ways, key=len)
    if "const" in schema or "enum" in schema:
        allowed = schema.get("enum", [schema.get("const")])
        return [] if value in allowed else [f"{value!r} is not in {allowed}"]
    kinds: dict[str, Any] = {
        "object": dict, "array": list, "string": str, "number": (int, float), "integer": int,
        "boolean": bool, "null": type(None),
    }  # fmt: skip
    kind = schema.get("type")
    if kind is not None and not isinstance(value, kinds[kind]):
        return [f"{value!r} is no {kind}"]
    found = []
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{key} is missing" for key in schema.get("required", ()) if key not in value]
        for key, one in value.items():
            inner = known.get(key, schema.get("additionalProperties", {}))
            found += _violations(one, inner if isinstance(inner, dict) else {}, root)
    if isinstance(value, list) and "items" in schema:
        found += [said for one in value for said in _violations(one, schema["items"], root)]
    return found


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("BenchmarkReport.json", BenchmarkReport),
        ("ExperimentManifest.json", ExperimentManifest),
        ("EvaluationReport.reranked.json", EvaluationReport),
    ],
)
def test_the_records_have_the_form_that_their_schema_says(
    demo: tuple[Path, dict[str, Any]], name: str, record: type[Record]
) -> None:
    code, out, _ = cli("benchmark", "schema", record.kind)
    assert code == 0
    schema = json.loads(out)
    data = json.loads((demo[0] / name).read_text(encoding="utf-8"))
    assert _violations(data, schema, schema) == []
    rare = {"broken", "figure_kpis"}  # there for a few only
    described = set(schema["properties"]) - rare
    assert set(data) == described, "every field is described, and there"
    assert _violations({**data, "experiment": 3}, schema, schema) == ["3 is no string"]


# ------------------------------------------------------------------------------ the small one


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def first(world: World) -> Path:
    return made(world, world.folder / "first")


@pytest.mark.parametrize("jobs", [1, 2])
def test_again_elsewhere_it_is_the_same_but_for_times(
    world: World, first: Path, tmp_path: Path, jobs: int
) -> None:
    again = made(world, tmp_path, jobs=jobs)
    assert again.name == first.name
    assert contents(again) == contents(first)


def test_what_is_there_is_not_made_again_and_what_was_changed_is(
    world: World, first: Path, tmp_path: Path
) -> None:
    shutil.copytree(first, tmp_path / first.name)
    shutil.copytree(first.parent / ".cache", tmp_path / ".cache")
    assert run_benchmark(world.config, output=tmp_path).reused
    (tmp_path / first.name / "BenchmarkComparison.md").write_text("forged")
    assert not run_benchmark(world.config, output=tmp_path).reused
    assert contents(tmp_path / first.name) == contents(first)


def test_changing_one_system_touches_its_stages_only(world: World, first: Path) -> None:
    setting = "systems.words.bm25.k1=0.5"
    code, out, _ = cli(
        *("benchmark", "run", world.config, "--output", first.parent, "--dry-run"),
        *("--format", "json", "--set", setting),
    )
    assert code == 0
    states = {one["stage"]: one["state"] for one in json.loads(out)}
    assert [name for name, state in states.items() if state == "there"] == [
        "fetch code",
        "check code",
    ]


# Fails: experiment.py `experiment_id` hashes the config, where a set of targets is only named, so
# that the experiment with the old targets is taken for this one. The content of `load_targets`
# belongs into the hash.
def test_other_targets_in_a_file_are_another_result(tmp_path: Path) -> None:
    config = CONFIG.replace("targets: {{nDCG@5: 0.4}}", "targets: goals.yaml")
    world = write_world(tmp_path / "world", config=config)
    for target in (0.1, 0.9):
        (world.folder / "goals.yaml").write_text(
            f"name: ours\nsource: us\nmeasures: {{nDCG@5: {{target: {target}}}}}\n"
        )
        report = run_benchmark(world.config, output=tmp_path / "out").report
        assert report.measures[0].target == target


# Fails: running.py `_finished` catches InputError and OSError, but `file_ref` raises ValueError for
# a path that leads out of the folder; any manifest that cannot be used should count as none.
def test_a_manifest_that_leads_elsewhere_is_no_finished_experiment(
    world: World, first: Path, tmp_path: Path
) -> None:
    shutil.copytree(first, tmp_path / first.name)
    path = tmp_path / first.name / "ExperimentManifest.json"
    data = json.loads(path.read_text())
    data["artifacts"][0]["path"] = "/etc/hostname"
    path.write_text(json.dumps(data))
    assert not run_benchmark(world.config, output=tmp_path).reused


# --------------------------------------------------------------------------- failing queries


def test_a_query_that_fails_is_never_found_nothing(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world")
    world.trouble("raise", "q03")
    code, out, _ = cli("benchmark", "run", world.config, "--output", tmp_path / "out")
    assert code == 1
    assert "code could not answer 1 of 12 queries" in out
    assert "\x1b" not in out
    asked = world.calls
    assert asked.count("q03") == 4, "once more each by 'code' and by 'both', which builds on it"
    assert asked.count("q02") == 2
    folder = only_experiment(tmp_path / "out")
    report = EvaluationReport.read(folder / "EvaluationReport.code.json")
    assert list(report.run.failures) == ["q03"]
    assert "the engine has no" in report.run.failures["q03"]
    assert (report.run.queries, report.diagnostics.timing.retried) == (11, 1)
    (failed,) = (one for one in report.diagnostics.findings if one.code == "RS704")
    assert (failed.severity, failed.count) == ("error", 1)
    run = rs.read_run(folder / "runs" / "code.run.gz")
    assert sorted(run.query_ids) == [one for one in QUERIES if one != "q03"]
    assert verify(folder).ok

    assert cli("benchmark", "run", world.config, "--output", tmp_path / "out")[0] == 1
    assert world.calls == ["q03"] * 4, "only what failed is asked again"

    world.trouble("empty", "q03")
    code, out, _ = cli("benchmark", "run", world.config, "--output", tmp_path / "out")
    assert code == 0
    assert world.calls == ["q03"] * 2
    report = EvaluationReport.read(folder / "EvaluationReport.code.json")
    assert (report.run.queries, report.run.failures) == (12, {})
    assert "could not" not in out
    assert verify(folder).ok
    assert run_benchmark(world.config, output=tmp_path / "out").reused


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
    "one has relevant": {
        "qrels": [(query, doc, grade * (query == "q05")) for query, doc, grade in judgments()]
    },
    "grades with fractions": {
        "qrels": [(query, doc, grade / 3) for query, doc, grade in judgments()]
    },
    "a query nobody can ask": {"qrels": [*judgments(), ("q99", "d01", 1)]},
}


@pytest.mark.parametrize("case", CASES)
def test_whatever_the_data_is_the_experiment_verifies(tmp_path: Path, case: str) -> None:
    world = write_world(tmp_path / "a folder, été 日本", **CASES[case])
    code, out, err = cli("benchmark", "run", world.config, "--output", tmp_path / "out")
    assert (code, err) == (0, "")
    assert not {"\x1b", "\0"}.intersection(out)
    folder = only_experiment(tmp_path / "out")
    text = (folder / "BenchmarkComparison.md").read_text(encoding="utf-8")
    assert not {"\x1b", "\0"}.intersection(text)
    assert "<img" not in text.replace("\\<img", "")
    report = BenchmarkReport.read(folder / "BenchmarkReport.json")
    assert len({one.run.queries for one in report.systems}) == 1
    assert verify(folder).ok
    for command in (("list", tmp_path / "out"), ("compare", folder, folder)):
        code, out, err = cli("benchmark", *command)
        assert (code, err) == (0, "")
        assert "\x1b" not in out


# Fails: collection.py `_training` counts judged queries by id, and `Training` by different words;
# where fewer are different than there are folds, a benchmark without any trained part is refused.
def test_queries_with_the_same_words_need_no_training(tmp_path: Path) -> None:
    world = write_world(tmp_path, asked=[{**one, "text": "apple"} for one in queries()])
    assert made(world, tmp_path / "out").is_dir()


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
    settings = ("--set", "collection.qrels=qrels.json")
    code, _, err = cli("benchmark", "run", world.config, "--output", tmp_path / "out", *settings)
    assert (code, err) == (0, "")
    folder = only_experiment(tmp_path / "out")
    assert verify(folder).ok
    run = rs.read_run(folder / "runs" / "words.run.gz")
    assert set(run.query_ids) == set(AWKWARD)
    content = gzip.decompress((folder / "runs" / "words.run.gz").read_bytes()).decode()
    assert content.startswith("# rankscope: ids in percent-encoding")
    assert '# query_id "q\\t4" is written as q%094\n' in content
    code, _, err = cli(
        "runs", "fetch", world.config, "--output", tmp_path / "runs", "--quiet", *settings
    )
    assert (code, err) == (0, "")
    fetched = (tmp_path / "runs" / "words.run.gz").read_bytes()
    assert fetched == (folder / "runs" / "words.run.gz").read_bytes()


BROKEN: list[tuple[str, Sequence[tuple[str, str]], Mapping[str, Any], str]] = [
    ("circle", [("of: [words, code]", "of: [words, both]")], {}, "in a circle: both → both"),
    ("unknown", [("of: [words, code]", "of: [wordz]")], {}, "unknown system 'wordz'"),
    ("no file", [("queries.jsonl", "querys.jsonl")], {}, "did you mean"),
    ("folder", [("qrels: qrels.tsv", "qrels: .")], {}, "expected a file, got a folder"),
    ("qrels", [], {"qrels": []}, "the qrels are empty"),
    (
        "nothing relevant",
        [],
        {"qrels": [(query, doc, 0) for query, doc, _ in judgments()]},
        "no grade in the qrels is above 0",
    ),
    ("corpus", [], {"corpus": []}, "is empty; expected documents"),
    ("blank", [], {"corpus": [{"_id": "", "title": "", "text": "x"}]}, "the id is empty"),
    ("words", [], {"corpus": [{"_id": "d1", "title": "", "text": ""}]}, "no document has a word"),
    ("other ids", [], {"qrels": [("x1", "d01", 1)]}, "none of its queries is judged"),
    ("name", [("words: bm25", '"../words": bm25')], {}, "the name becomes a file name"),
    ("module", [("{module}:answer", "nowhere:answer")], {}, "module nowhere not found"),
]


@pytest.mark.parametrize(
    ("changes", "data", "said"), [one[1:] for one in BROKEN], ids=[one[0] for one in BROKEN]
)
def test_what_cannot_be_is_one_sentence(
    tmp_path: Path, changes: Sequence[tuple[str, str]], data: Mapping[str, Any], said: str
) -> None:
    config = CONFIG
    for old, new in changes:
        assert old in config
        config = config.replace(old, new)
    world = write_world(tmp_path / "world", config=config, **data)
    code, out, err = cli("benchmark", "run", world.config, "--output", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert not list((tmp_path / "out").glob("[!.]*"))


def test_judgments_that_change_are_another_experiment(world: World, tmp_path: Path) -> None:
    copy = write_world(tmp_path / "world")
    before = made(copy, tmp_path / "out")
    write_qrels(copy.folder / "qrels.tsv", judgments()[:-1])
    after = made(copy, tmp_path / "out")
    assert before.name != after.name
    with pytest.raises(InputError, match="jobs: expected a whole number from 1 up"):
        made(world, tmp_path / "out", jobs=0)


def test_queries_in_clusters(tmp_path: Path) -> None:
    """Two groups of six queries are two of what is drawn: nothing can be shown with so few."""
    config = CONFIG.replace("seed: 3}}", "seed: 3, cluster: group}}")
    world = write_world(tmp_path / "world", config=config)
    report = run_benchmark(world.config, output=tmp_path / "out").report
    assert report.comparison is not None
    assert report.comparison.clusters == 2
    assert {pair.verdict for pair in report.comparison.pairs} == {"no difference shown"}
    assert report.systems[0].measures[0].interval is not None
    assert report.systems[0].measures[0].interval.method in ("cluster t", "unseen")
    wrong = write_world(
        tmp_path / "wrong", config=config.replace("cluster: group", "cluster: grop")
    )
    with pytest.raises(UnknownNameError, match=r"statistics.cluster\) 'grop'; nearest: group"):
        run_benchmark(wrong.config, output=tmp_path / "out2")
