"""The RAG specification's own block, understood as measures, alpha and how systems are asked."""

from __future__ import annotations

import doctest
import os
from pathlib import Path

import pytest

from rankscope.benchmark import config_keys, configfile, overrides, rag_spec
from rankscope.benchmark.config import LoadedConfig, read_config
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
    assert loaded.config.fetch.jobs == rag_spec.cores() >= 1
    assert loaded.notes == ()
    assert "retrieval_metrics" not in loaded.plain()


def test_it_says_the_same_as_a_config_without_it(tmp_path: Path) -> None:
    block = "retrieval_metrics: {enabled_metrics: [ndcg@10, mrr], graded_relevance: true}\n"
    assert read(tmp_path, block).sha256 == read(tmp_path, "measures: [ndcg@10, mrr]\n").sha256


def test_grades_count_where_nothing_is_said(tmp_path: Path) -> None:
    for graded in ("", "  graded_relevance: true\n"):
        text = f"retrieval_metrics:\n  enabled_metrics: [ndcg@10, dcg@5]\n{graded}"
        assert canonical(read(tmp_path, text)) == ["nDCG@10", "DCG@5"]
    text = """retrieval_metrics:
  enabled_metrics: ["nDCG(gain=exp)@10", dcg@5, P@5]
  graded_relevance: false
"""
    assert canonical(read(tmp_path, text)) == ["nDCG(gain=exp)@10", "DCG(gain=binary)@5", "P@5"]


def test_what_cannot_be_followed_is_noted(tmp_path: Path) -> None:
    text = BLOCK.replace("true", "false")
    notes = read(tmp_path, text).notes
    assert len(notes) == 3
    assert "confidence_intervals is false, but every mean has an interval" in notes[0]
    assert "significance_testing is false, but systems are tested" in notes[1]
    assert "caching_enabled is false, but answers are kept" in notes[2]
    assert read(tmp_path, text).config.fetch.jobs == 1


def test_settings_reach_into_it(tmp_path: Path) -> None:
    setting = "retrieval_metrics.statistical_analysis.alpha_level=0.1"
    assert read(tmp_path, BLOCK, setting).config.statistics.alpha == 0.1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            BLOCK + "measures: [RR]\n",
            "c.yaml:9: measures is given, and retrieval_metrics says it too",
        ),
        (
            BLOCK + "statistics: {alpha: 0.1}\n",
            "c.yaml:9: statistics.alpha is given, and retrieval",
        ),
        (
            BLOCK + "fetch: {jobs: 3}\n",
            "c.yaml:9: fetch.jobs is given, and retrieval_metrics says it",
        ),
        (BLOCK + "fetch: 3\n", "c.yaml:9: fetch must be a mapping of keys to values, not 3"),
        (BLOCK.replace("mrr", "mmr"), "c.yaml:5: unknown measure 'mmr'; nearest: mrr"),
        (
            BLOCK.replace("performance", "performence"),
            "c.yaml:8: unknown key of retrieval_metrics '",
        ),
        (
            BLOCK.replace("batch_size", "batchsize"),
            "key of retrieval_metrics.performance 'batchsize'; ",
        ),
        (
            BLOCK.replace("100", "0"),
            "retrieval_metrics.performance.batch_size must be a whole number",
        ),
        (BLOCK.replace("0.01", "1"), "statistical_analysis.alpha_level must be a number below 1"),
        (BLOCK.replace("0.01", "0"), "statistical_analysis.alpha_level must be a number above 0"),
        (
            "retrieval_metrics: 5\n",
            "c.yaml:4: retrieval_metrics must be a mapping of keys to values",
        ),
        (
            "retrieval_metrics:\n",
            "c.yaml:4: retrieval_metrics needs enabled_metrics: what is measured",
        ),
        (
            "retrieval_metrics: {enabled_metrics: []}",
            "c.yaml:4: retrieval_metrics.enabled_metrics is e",
        ),
        (
            "retrieval_metrics: {enabled_metrics: [5]}",
            "retrieval_metrics.enabled_metrics.0 must be text",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_cores_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert rag_spec.cores() == 1


@pytest.mark.parametrize("module", [rag_spec, config_keys, configfile, overrides])
def test_examples_in_docstrings(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
