"""The RAG specification's own block, understood as measures, alpha and how systems are asked."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from benchmark.world import World
from rankscope.benchmark import environment, targets
from rankscope.benchmark.config import overrides, rag_spec, secrets, syntax
from rankscope.benchmark.config.loading import LoadedConfig, read_config
from rankscope.benchmark.run import run_benchmark
from rankscope.errors import FormatError
from rankscope.measures.language import Measure

HEAD = """\
name: soup
collection: here
systems: {lexical: bm25}
"""

BLOCK = """\
retrieval_metrics:
  enabled_metrics: [hit@1, hit@3, hit@5, hit@10, ndcg@5, ndcg@10, mrr, map@10]
  graded_relevance: false
  statistical_analysis: {confidence_intervals: true, significance_testing: true, alpha_level: 0.01}
  performance: {batch_size: 100, caching_enabled: true, parallel_processing: true}
"""


def read(tmp_path: Path, text: str, *sets: str) -> LoadedConfig:
    path = tmp_path / "c.yaml"
    path.write_text(HEAD + text)
    return read_config(path, settings=sets, environment={})


def canonical(loaded: LoadedConfig) -> list[str]:
    return [str(Measure.parse(name)) for name in loaded.config.measures]


def test_the_block_of_the_specification(tmp_path: Path) -> None:
    loaded = read(tmp_path, BLOCK)
    assert canonical(loaded) == [
        *("Success@1", "Success@3", "Success@5", "Success@10"),
        *("nDCG(gain=binary)@5", "nDCG(gain=binary)@10", "RR", "AP@10"),
    ]
    assert loaded.config.measures[0] == "hit@1"
    assert loaded.config.statistics.alpha == 0.01
    assert loaded.config.fetch.batch == 100
    assert loaded.config.fetch.jobs == environment.cores() >= 1
    assert "retrieval_metrics" not in loaded.plain()
    setting = "retrieval_metrics.statistical_analysis.alpha_level=0.1"
    assert read(tmp_path, BLOCK, setting).config.statistics.alpha == 0.1
    assert loaded.config.fetch.cache
    off = BLOCK.replace("_enabled: true", "_enabled: false").replace("ing: true}", "ing: false}")
    fetch = read(tmp_path, off).config.fetch
    assert (fetch.cache, fetch.jobs) == (False, 1)


def test_the_block_as_a_file_of_its_own(tmp_path: Path) -> None:
    """The config names it, or the rest is said in settings."""
    (tmp_path / "metrics.yaml").write_text(BLOCK)
    named = read(tmp_path, "retrieval_metrics: metrics.yaml\n")
    assert named.plain() == read(tmp_path, BLOCK).plain()
    settings = ("collection=here", "systems.lexical=bm25")
    alone = read_config(tmp_path / "metrics.yaml", settings=settings, environment={})
    assert (alone.config.name, alone.config.measures) == ("metrics", named.config.measures)
    (tmp_path / "metrics.yaml").write_text(BLOCK.replace("mrr", "mmr"))
    with pytest.raises(FormatError, match=r"metrics.yaml:2: .*enabled_metrics.6: unknown measure"):
        read(tmp_path, "retrieval_metrics: metrics.yaml\n")
    (tmp_path / "metrics.yaml").write_text(BLOCK + "depth: 3\n")
    with pytest.raises(FormatError, match="and no other"):
        read(tmp_path, "retrieval_metrics: metrics.yaml\n")


def test_without_caching_nothing_is_kept(small: World, tmp_path: Path) -> None:
    for setting in ("fetch.cache=false", "depth=9"):
        run_benchmark(small.config, output=tmp_path, settings=[setting])
        kept = [path for path in (tmp_path / ".cache").rglob("*") if path.is_file()]
        assert bool(kept) is (setting == "depth=9")


def test_grades_count_where_nothing_is_said(tmp_path: Path) -> None:
    asked = '["nDCG(gain=exp)@10", ndcg@10, dcg@5, P@5]'
    block = f"retrieval_metrics:\n  enabled_metrics: {asked}\n"
    for graded in ("", "  graded_relevance: true\n"):
        names = canonical(read(tmp_path, block + graded))
        assert names == ["nDCG(gain=exp)@10", "nDCG@10", "DCG@5", "P@5"]
    names = canonical(read(tmp_path, block + "  graded_relevance: false\n"))
    assert names == ["nDCG(gain=exp)@10", "nDCG(gain=binary)@10", "DCG(gain=binary)@5", "P@5"]


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        (BLOCK + "measures: [RR]\n", 9, "measures: retrieval_metrics sets this too"),
        (BLOCK + "statistics: {alpha: 0.1}\n", 9, "statistics.alpha: retrieval_metrics sets"),
        (BLOCK.replace("mrr", "mmr"), 5, "enabled_metrics.6: unknown measure 'mmr'; nearest: mrr"),
        (BLOCK.replace("batch_size", "batchsize"), 8, "nearest: batch_size"),
        (BLOCK.replace("0.01", "0"), 7, "alpha_level: expected a number"),
        (BLOCK.replace("intervals: true", "intervals: false"), 7, "every mean has an interval"),
        (BLOCK.replace("testing: true", "testing: false"), 7, "every pair a test"),
        ("retrieval_metrics: 5\n", 4, "expected a table"),
        ("retrieval_metrics:\n", 4, "enabled_metrics is required"),
        ("retrieval_metrics: {enabled_metrics: [5]}", 4, "enabled_metrics.0: expected a measure"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, text: str, line: int, word: str) -> None:
    with pytest.raises(FormatError, match=f":{line}: .*{word}"):
        read(tmp_path, text)


def test_examples_in_docstrings() -> None:
    for module in (rag_spec, syntax, overrides, secrets, targets):
        assert doctest.testmod(module).failed == 0, module
