"""The RAG specification's own block, understood as measures, alpha and how systems are asked."""

from __future__ import annotations

import doctest
import os
from pathlib import Path

import pytest

from rankscope.benchmark import environment, targets
from rankscope.benchmark.config import overrides, rag_spec, secrets, syntax
from rankscope.benchmark.config.loading import LoadedConfig, read_config
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
    names = ("confidence_intervals", "significance_testing", "caching_enabled")
    for name, note in zip(names, notes, strict=True):
        assert note.startswith(f"retrieval_metrics: {name} is false; this setting has no effect: ")
    assert read(tmp_path, text).config.fetch.jobs == 1


def test_settings_reach_into_it(tmp_path: Path) -> None:
    setting = "retrieval_metrics.statistical_analysis.alpha_level=0.1"
    assert read(tmp_path, BLOCK, setting).config.statistics.alpha == 0.1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            BLOCK + "measures: [RR]\n",
            "c.yaml:9: measures: retrieval_metrics sets this too; keep one of them",
        ),
        (
            BLOCK + "statistics: {alpha: 0.1}\n",
            "c.yaml:9: statistics.alpha: retrieval_metrics sets this too; keep one of them",
        ),
        (
            BLOCK + "fetch: {jobs: 3}\n",
            "c.yaml:9: fetch.jobs: retrieval_metrics sets this too; keep one of them",
        ),
        (BLOCK + "fetch: 3\n", "c.yaml:9: fetch: expected a table of keys, got 3"),
        (
            BLOCK.replace("mrr", "mmr"),
            "c.yaml:5: retrieval_metrics.enabled_metrics.6: unknown measure 'mmr'; nearest: mrr,",
        ),
        (
            BLOCK.replace("performance", "performence"),
            "c.yaml:8: retrieval_metrics: unknown key 'performence'; nearest: performance",
        ),
        (
            BLOCK.replace("batch_size", "batchsize"),
            "c.yaml:8: retrieval_metrics.performance: unknown key 'batchsize'; nearest:",
        ),
        (
            BLOCK.replace("100", "0"),
            "c.yaml:8: retrieval_metrics.performance.batch_size: expected a whole number from 1",
        ),
        (
            BLOCK.replace("0.01", "1"),
            "c.yaml:7: retrieval_metrics.statistical_analysis.alpha_level: expected a number",
        ),
        (
            BLOCK.replace("0.01", "0"),
            "c.yaml:7: retrieval_metrics.statistical_analysis.alpha_level: expected a number",
        ),
        (
            "retrieval_metrics: 5\n",
            "c.yaml:4: retrieval_metrics: expected a table of keys, got 5",
        ),
        (
            "retrieval_metrics:\n",
            "c.yaml:4: retrieval_metrics: key enabled_metrics is required: what is measured,",
        ),
        (
            "retrieval_metrics: {enabled_metrics: []}",
            "c.yaml:4: retrieval_metrics.enabled_metrics: expected at least one measure, such as",
        ),
        (
            "retrieval_metrics: {enabled_metrics: [5]}",
            "c.yaml:4: retrieval_metrics.enabled_metrics.0: expected a measure such as nDCG@10,",
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
    assert environment.cores() == 1


@pytest.mark.parametrize("module", [rag_spec, syntax, overrides, secrets, targets])
def test_examples_in_docstrings(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
