"""A run file as a system: it is not kept twice, and its copy verifies."""

from __future__ import annotations

from pathlib import Path

from benchmark.world import QUERIES, World, write_world
from rankscope.benchmark.run import Result, run_benchmark
from rankscope.benchmark.verify import verify

CONFIG = """\
name: large
collection: {{queries: queries.jsonl, qrels: qrels.tsv}}
systems: {{file: {{run: answers.run}}}}
depth: 10
measures: [nDCG@5, R@10]
diagnosis: []
statistics: {{resamples: 100, seed: 3}}
"""


def answers(shift: int = 0) -> str:
    return "".join(
        f"{query_id} Q0 d{(at + rank + shift) % 24:02} {rank} {30 - rank} tag\n"
        for at, query_id in enumerate(QUERIES)
        for rank in range(1, 16)
    )


def run(world: World, output: str, cache: str = "cache") -> Result:
    return run_benchmark(world.config, output=world.folder / output, cache=world.folder / cache)


def test_a_run_file_is_not_kept_once_more(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", config=CONFIG)
    (world.folder / "answers.run").write_text(answers())
    first = run(world, "first")
    kept = [path.read_bytes() for path in (world.folder / "cache").rglob("*") if path.is_file()]
    assert not any(b"d05" in content for content in kept)
    second = run(world, "second")
    assert second.report.systems[0].run == first.report.systems[0].run
    for result in (first, second):
        assert verify(result.folder).ok
    (world.folder / "answers.run").write_text(answers(shift=3))
    third = run(world, "third")
    assert third.report.systems[0].run.run_id != first.report.systems[0].run.run_id
