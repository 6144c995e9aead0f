"""Systems asked more than once: what moved, how it is counted, and what the record holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.world import QUERIES, World, write_world
from rankscope.benchmark.changes import compare_experiments
from rankscope.benchmark.run import Result, run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.diagnosis.baselines import baselines
from rankscope.diagnosis.holes import holes
from rankscope.diagnosis.repeats import repeats
from rankscope.diagnosis.stages import stages
from rankscope.records.report import BenchmarkReport

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
diagnosis: [repeats]
statistics: {{resamples: 200, seed: 3}}
repeat: 3
"""


def noisy_world(folder: Path) -> World:
    world = write_world(folder, config=CONFIG)
    [module] = folder.glob("engine_*.py")
    module.write_text(NOISY)
    return world


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Result, list[str]]:
    """Return a noisy benchmark, its result, and the queries that were asked."""
    world = noisy_world(tmp_path_factory.mktemp("again"))
    result = run_benchmark(world.config, output=world.folder / "out")
    return world, result, world.calls


def test_only_what_may_vary_is_asked_again(noisy: tuple[World, Result, list[str]]) -> None:
    world, result, asked = noisy
    assert sorted(asked) == sorted(QUERIES * 3)
    again = {system.name: len(system.again) for system in result.report.systems}
    assert again == {"words": 0, "code": 2}
    assert (result.folder / "runs" / "again" / "3" / "code.run.gz").exists()
    assert run_benchmark(world.config, output=world.folder / "out").reused
    assert world.calls == []


def test_ids_and_order_are_told_apart(noisy: tuple[World, Result, list[str]]) -> None:
    report = noisy[1].report
    result = repeats.of(report.analyses)
    assert result is not None
    [row] = result.systems
    assert (row.system, row.times, row.queries) == ("code", 3, 12)
    assert row.same == 9  # of q02, q06, q10 the same order, other scores
    assert row.other_ids + row.other_order == 3  # q01, q05, q09
    assert row.measures[0].deviation > 0
    assert len(row.measures[0].means) == 3
    first = next(system for system in report.systems if system.name == "code")
    assert row.measures[0].means[0] == pytest.approx(first.measures[0].value, abs=1e-12)
    assert [finding.code for finding in report.findings if finding.code == "RS741"]
    assert report.comparison is not None
    assert report.comparison.pair("code", "words", "nDCG@3").interval.method == "t, with noise"


def test_it_holds_and_a_changed_run_is_noticed(noisy: tuple[World, Result, list[str]]) -> None:
    folder = noisy[1].folder
    assert verify(folder).ok
    other = folder / "runs" / "again" / "2" / "code.run.gz"
    kept = other.read_bytes()
    try:
        other.write_bytes((folder / "runs" / "again" / "3" / "code.run.gz").read_bytes())
        assert not verify(folder).ok
    finally:
        other.write_bytes(kept)


def test_noise_is_no_change_between_experiments(
    noisy: tuple[World, Result, list[str]], tmp_path: Path
) -> None:
    """The same noisy code once more: what moved is counted as noise of both experiments."""
    world, result, _ = noisy
    second = run_benchmark(world.config, output=tmp_path / "out", fresh=True)
    world.calls  # noqa: B018 (forget them)
    changes = compare_experiments(result.folder, second.folder).changes
    by_system = {change.system: change for change in changes if change.measure == "nDCG@3"}
    assert by_system["code"].interval.method == "t, with noise"
    assert by_system["words"].interval.method != "t, with noise"
    assert by_system["code"].verdict == "can't tell"


def test_nothing_that_moves_changes_nothing(tmp_path: Path) -> None:
    config = CONFIG.replace("repeat: 3", "repeat: {{times: 2, systems: [words, code]}}")
    result = run_benchmark(write_world(tmp_path, config=config).config, output=tmp_path / "out")
    once = write_world(tmp_path / "once", config=CONFIG.replace("repeat: 3\n", ""))
    single = run_benchmark(once.config, output=tmp_path / "out2")
    assert result.report.comparison is not None
    assert single.report.comparison is not None
    assert result.report.comparison.pairs == single.report.comparison.pairs
    again = repeats.of(result.report.analyses)
    assert again is not None
    assert [row.same for row in again.systems] == [12, 12]
    assert again.findings == ()


# --- no section shows a difference that the comparison does not ----------------------------------

MOVING = '''
import random

ASKED = {}


def found(name, levels, text, k):
    """Find relevant documents with a chance that differs from time to time, for all queries."""
    number = int(text.split()[0][4:])
    time = ASKED[name, number] = ASKED.get((name, number), -1) + 1
    dice = random.Random(f"{name} {time} {number}")
    relevant = [f"d{(number + step) % 120}" for step in (0, 11, 22)]
    hits = [doc_id for doc_id in relevant if dice.random() < levels[time % 4]]
    return (hits + [f"d{(number + 40 + step) % 120}" for step in range(40)])[:k]


def good(text, k):
    return found("good", (0.9, 0.3, 0.8, 0.4), text, k)


def bad(text, k):
    return found("bad", (0.3, 0.9, 0.4, 0.8), text, k)


def kept(query, documents):
    return [-place for place in range(len(documents))]
'''

MOVING_CONFIG = """\
name: moving
collection: {{corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}}
systems:
  good: {{python: {{function: "moving_code:good", version: "1"}}}}
  bad: {{python: {{function: "moving_code:bad", version: "1"}}}}
  kept: {{rerank: {{of: good, python: "moving_code:kept"}}}}
depth: 20
baseline: good
measures: [nDCG@10]
repeat: 4
statistics: {{resamples: 500}}
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkReport:
    world = write_world(
        tmp_path_factory.mktemp("moving"),
        config=MOVING_CONFIG,
        corpus=[{"_id": f"d{at}", "text": f"word{at} some"} for at in range(120)],
        asked=[{"_id": f"q{at}", "text": f"word{at} some", "kind": at % 2} for at in range(40)],
        qrels=[(f"q{at}", f"d{(at + step) % 120}", 1) for at in range(40) for step in (0, 11, 22)],
    )
    (world.folder / "moving_code.py").write_text(MOVING)
    return run_benchmark(world.config, output=world.folder / "out").report


def test_no_section_shows_what_the_comparison_does_not(report: BenchmarkReport) -> None:
    assert report.comparison is not None
    pair = report.comparison.pair("bad", "good", "nDCG@10")
    assert abs(pair.difference) > 0.3
    assert pair.verdict == "can't tell"
    pipeline, against = stages.of(report.analyses), baselines.of(report.analyses)
    unjudged = holes.of(report.analyses)
    assert pipeline is not None
    assert against is not None
    rows = [row for row in against.ladder if row.verdict is not None]
    assert {row.verdict for row in rows} == {"can't tell"}
    for row in rows:
        assert row.gained is not None
        assert row.gained.low <= 0 <= row.gained.high
    assert unjudged is not None
    assert unjudged.conclusions
    p_values = {frozenset((p.base, p.system)): p.p_corrected for p in report.comparison.pairs}
    for found in unjudged.conclusions:
        own = p_values[frozenset((found.better, found.worse))]
        assert found.p_corrected == pytest.approx(own)
