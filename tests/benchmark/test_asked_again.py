"""Systems asked more than once: what moved, how it is counted, and what the record holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankscope as rs
from benchmark.world import QUERIES, write_world
from rankscope.benchmark.changes import compare_experiments
from rankscope.benchmark.run import run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.cli import main
from rankscope.diagnosis.repeats import REPEATS, noise_sentence
from rankscope.records import BenchmarkReport
from rankscope.scoring.evaluate import Scores
from rankscope.statistics.compare import compare_scores
from rankscope.statistics.settings import Settings

NOISY = '''
import json
from pathlib import Path

from rankscope.retrieval.protocol import Query

HOME = Path(__file__).parent
DOCUMENTS = [json.loads(line) for line in (HOME / "corpus.jsonl").read_text().splitlines()]


def answer(query: Query, depth: int) -> dict[str, float]:
    """Put documents in another order for every second question, each time it is asked."""
    log = HOME / "calls"
    with log.open("a") as sink:
        sink.write(query.query_id + "\\n")
    time = log.read_text().split().count(query.query_id)
    words = set(query.text.split())
    hits = [one["_id"] for one in DOCUMENTS if words & set(one["text"].split())]
    number = int(query.query_id[1:])
    if number % 4 == 1:
        hits = hits[time % len(hits):] + hits[:time % len(hits)]
    if number % 4 == 2:
        return {doc_id: 100.0 * time - place for place, doc_id in enumerate(hits[:depth])}
    return {doc_id: -float(place) for place, doc_id in enumerate(hits[:depth])}
'''

CONFIG = """\
name: again
collection: {{corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}}
systems:
  words: bm25
  code: {{python: {{function: "{module}:answer", batch: 3}}}}
depth: 3
baseline: words
measures: [nDCG@3, RR@3]
statistics: {{resamples: 200, seed: 3}}
repeat: 3
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("again")
    small = write_world(place, config=CONFIG)
    [module] = place.glob("engine_*.py")
    module.write_text(NOISY)
    result = run_benchmark(small.config, output=place / "out")
    (place / "asked").write_text("\n".join(small.calls))
    return result.folder


@pytest.fixture(scope="module")
def report(folder: Path) -> BenchmarkReport:
    return BenchmarkReport.read(folder / "BenchmarkReport.json")


def test_only_what_may_vary_is_asked_again(folder: Path, report: BenchmarkReport) -> None:
    asked = (folder.parents[1] / "asked").read_text().split()
    assert sorted(asked) == sorted(QUERIES * 3)
    assert {system.name: len(system.again) for system in report.systems} == {"words": 0, "code": 2}
    assert (folder / "runs" / "again" / "3" / "code.run.gz").exists()


def test_ids_order_and_scores_are_told_apart(report: BenchmarkReport) -> None:
    result = REPEATS.of(report.analyses)
    assert result is not None
    [row] = result.systems
    assert (row.system, row.times, row.queries) == ("code", 3, 12)
    assert row.other_scores == 3  # q02, q06, q10: the same order, other scores
    assert row.same == 6
    assert row.other_ids + row.other_order + row.other_below == 3  # q01, q05, q09
    assert row.measures[0].deviation > 0
    assert len(row.measures[0].means) == 3
    first = next(system for system in report.systems if system.name == "code")
    assert row.measures[0].means[0] == pytest.approx(first.measures[0].value, abs=1e-12)


def test_the_comparison_and_the_verdict_count_it(report: BenchmarkReport) -> None:
    assert report.comparison is not None
    pair = report.comparison.pair("code", "words", "nDCG@3")
    assert pair.interval.method == "t, with noise"
    assert any(text.startswith("Asked again, code's nDCG@3 moves by") for text in report.verdict)
    assert [finding.code for finding in report.findings if finding.code == "RS741"]


def test_it_holds_and_a_changed_run_is_noticed(folder: Path) -> None:
    assert verify(folder).ok
    other = folder / "runs" / "again" / "2" / "code.run.gz"
    kept = other.read_bytes()
    try:
        other.write_bytes((folder / "runs" / "again" / "3" / "code.run.gz").read_bytes())
        assert not verify(folder).ok
    finally:
        other.write_bytes(kept)


def test_a_second_run_asks_nothing(folder: Path) -> None:
    place = folder.parents[1]
    again = run_benchmark(place / "config.yaml", output=place / "out", fresh=False)
    assert again.reused
    assert not (place / "calls").exists()


def test_runs_can_be_the_noise_of_a_gate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [folder / "runs" / "code.run.gz", *sorted(folder.glob("runs/again/*/code.run.gz"))]
    noise = [word for run in runs for word in ("--noise", str(run))]
    qrels = folder.parents[1] / "qrels.tsv"
    with pytest.raises(SystemExit) as end:
        main(
            [
                *("gate", str(runs[0]), str(runs[1]), "--qrels", str(qrels), "-m", "nDCG@3"),
                *(*noise, "--format", "json"),
            ]
        )
    output = json.loads(capsys.readouterr().out)
    assert end.value.code in (0, None)
    assert output["checks"][0]["interval"]["method"] == "t, with noise"


def test_noise_is_no_change_between_experiments(folder: Path, tmp_path: Path) -> None:
    """The same noisy code once more: what moved is counted as noise of both experiments."""
    place = folder.parents[1]
    second = run_benchmark(place / "config.yaml", output=tmp_path / "out", fresh=True)
    changes = compare_experiments(folder, second.folder).changes
    by_system = {change.system: change for change in changes if change.measure == "nDCG@3"}
    assert by_system["code"].interval.method == "t, with noise"
    assert by_system["words"].interval.method != "t, with noise"
    assert by_system["code"].verdict == "no difference shown"


def test_nothing_that_moves_changes_nothing(tmp_path: Path) -> None:
    config = CONFIG.replace("repeat: 3", "repeat: {{times: 2, systems: [words, code]}}")
    small = write_world(tmp_path, config=config)
    result = run_benchmark(small.config, output=tmp_path / "out")
    once = write_world(tmp_path / "once", config=CONFIG.replace("repeat: 3\n", ""))
    single = run_benchmark(once.config, output=tmp_path / "out2")
    assert result.report.comparison is not None
    assert single.report.comparison is not None
    assert result.report.comparison.pairs == single.report.comparison.pairs
    repeats = REPEATS.of(result.report.analyses)
    assert repeats is not None
    assert [row.same for row in repeats.systems] == [12, 12]
    assert noise_sentence(repeats) == ""
    assert repeats.findings == ()


def test_noise_as_large_as_the_difference_leaves_nothing_shown() -> None:
    """Without repeats the difference is shown; with repeats that move as far, it is not."""
    qrels = {f"q{number}": {"d": 1} for number in range(30)}

    def run(rank: int) -> dict[str, dict[str, float]]:
        above = {f"x{place}": 9.0 for place in range(rank - 1)}
        return {query_id: {**above, "d": 1.0} for query_id in qrels}

    scores = rs.evaluate(qrels, {"a": run(2), "b": run(1)}, ["RR@10"])
    assert isinstance(scores, Scores)
    plain = compare_scores(scores, settings=Settings.of())
    assert plain.pair("b", "a").verdict == "better"
    times = rs.evaluate(qrels, {"1": run(2), "2": run(1)}, ["RR@10"])
    noisy = scores.with_again("b", [times.run("1"), times.run("2")])
    counted = compare_scores(noisy, settings=Settings.of()).pair("b", "a")
    assert counted.verdict == "no difference shown"
    assert counted.interval.low < 0 < counted.interval.high
    same = scores.with_again("b", [times.run("2"), times.run("2")])
    assert compare_scores(same, settings=Settings.of()).pairs == plain.pairs


def test_an_unknown_system_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = CONFIG.replace("repeat: 3", "repeat: {{times: 2, systems: [cod]}}")
    small = write_world(tmp_path, config=config)
    with pytest.raises(SystemExit) as end:
        main(["benchmark", "run", str(small.config), "--output", str(tmp_path / "out")])
    assert end.value.code == 2
    assert "repeat.systems.0: unknown system 'cod'" in capsys.readouterr().err
