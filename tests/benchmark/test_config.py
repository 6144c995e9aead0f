"""The config of a benchmark: read, checked, hashed; every mistake is one sentence with its line."""

from __future__ import annotations

import hashlib
import inspect
import json
from pathlib import Path
from typing import get_args

import pytest

import rankscope
from rankscope.benchmark.config.collection_config import CollectionConfig, TrainingConfig
from rankscope.benchmark.config.loading import LoadedConfig, read_config
from rankscope.benchmark.config.model import (
    ANALYSES,
    Config,
    FetchConfig,
    StatisticsConfig,
    config_json_schema,
)
from rankscope.errors import FormatError
from rankscope.measures.language import DEFAULT_MEASURES
from rankscope.retrieval.registry import SYSTEMS
from rankscope.statistics.choices import TESTS
from rankscope.statistics.settings import Settings

EXAMPLE = """\
name: recipes
collection: {path: recipes, split: test}
systems:
  title:    {bm25: {fields: [title]}}
  lexical:  {bm25: {fields: {title: 2, text: 1}}}
  vector:   {vector: {embedder: wordllama}}
  hybrid:   {fuse: {of: [lexical, vector], method: minmax, weights: [0.5, 0.5]}}
  reranked: {rerank: {of: hybrid, ltr: {}, depth: 50}}
depth: 100
baseline: lexical
measures: [nDCG@10, AP@100, RR@10, R@50, R@100, Success@10]
targets: {nDCG@10: 0.40, R@100: 0.70}
bands: [trec-kpi]
segments: [category, difficulty, length]
statistics: {interval: bca, test: permutation, correction: holm, seed: 7}
"""

SHORT = """\
name: soup
collection: here
systems:
  lexical: {bm25: {k1: 1.2}}
"""


def read(tmp_path: Path, text: str = SHORT) -> LoadedConfig:
    path = tmp_path / "c.yaml"
    path.write_text(text, "utf-8")
    return read_config(path, environment={})


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{tmp_path}/", "")


def test_the_example(tmp_path: Path) -> None:
    loaded = read(tmp_path, EXAMPLE)
    config = loaded.config
    assert config.name == "recipes"
    assert (config.collection.path, config.collection.split) == ("recipes", "test")
    assert list(config.systems) == ["title", "lexical", "vector", "hybrid", "reranked"]
    assert config.systems["hybrid"]["fuse"]["weights"] == [0.5, 0.5]
    assert config.measures == list(DEFAULT_MEASURES)
    assert config.targets == {"nDCG@10": 0.4, "R@100": 0.7}
    assert config.analyses["segments"].fields == ("category", "difficulty", "length")
    assert config.statistics.seed == 7
    assert (loaded.folder, loaded.systems()) == (tmp_path, config.systems)
    assert (loaded.overrides, loaded.secrets.names) == ({}, ())


def test_what_is_not_said_has_its_default(tmp_path: Path) -> None:
    config = read(tmp_path).config
    assert config.collection == CollectionConfig(path="here")
    assert (config.depth, config.baseline, config.profile) == (100, None, "rankscope")
    assert (config.targets, config.bands, config.analyses["segments"].fields) == ({}, [], ())
    assert config.measures == list(DEFAULT_MEASURES)
    assert config.training == TrainingConfig(split=None, qrels=None, folds=5, seed=0)
    assert config.fetch == FetchConfig(batch=None, jobs=1, retries=2)
    empty = SHORT + "statistics:\ntraining: {split: }\ntargets:\nbaseline:\n"
    assert read(tmp_path, empty).config == config


def test_which_analyses_look(tmp_path: Path) -> None:
    some = [name for name in ANALYSES if name in ("ties", "failures")]
    for text, names in (("all", [*ANALYSES]), ("[ties, failures]", some), ("[]", [])):
        assert list(read(tmp_path, f"{SHORT}diagnosis: {text}\n").config.analyses) == names


def test_statistics_are_those_of_compare() -> None:
    given = StatisticsConfig()
    options = inspect.signature(rankscope.compare).parameters
    assert given.settings == Settings()
    for name, value in given.model_dump(exclude={"cluster"}).items():
        assert options[name].default == value
    assert get_args(StatisticsConfig.model_fields["test"].annotation) == (*TESTS,)


def test_plain_data_and_its_hash(tmp_path: Path) -> None:
    loaded = read(tmp_path, EXAMPLE)
    plain = loaded.plain()
    assert plain["statistics"]["resamples"] == 10_000
    assert Config.model_validate(plain) == loaded.config
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert loaded.sha256 == hashlib.sha256(text.encode()).hexdigest()
    again = read(tmp_path, "# words\n" + EXAMPLE.replace("depth: 100\n", "") + "depth: 100\n")
    assert again.sha256 == loaded.sha256
    assert read(tmp_path, EXAMPLE.replace("100\n", "99\n", 1)).sha256 != loaded.sha256
    toml = tmp_path / "c.toml"
    toml.write_text('name = "soup"\ncollection = "here"\n[systems.lexical.bm25]\nk1 = 1.2\n')
    assert read_config(toml, environment={}).sha256 == read(tmp_path).sha256


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "line", "word"),
    [
        ("dept: 3", 5, "'dept'; nearest: depth"),
        ("depth: '50'", 5, "depth: expected a whole number from 1 to 10,000,000, got '50'"),
        ("baseline: lexicl", 5, "baseline: unknown system 'lexicl'; nearest: lexical"),
        ("statistics:\n  seed: 1\n  test: permutaton", 7, "nearest: permutation"),
        ("statistics: {alpha: 2}", 5, "between 0 and 1"),
        ("training: {split: a, qrels: b}", 5, "training.qrels: cannot be combined with split"),
        ("diagnosis: [failurs]", 5, "diagnosis.0: unknown analysis 'failurs'; nearest: failures"),
        ("diagnosis: [ties]\nsegments: [a]", 6, "segments: has no effect"),
        ("segments:\n- a\n- 1", 7, "segments.1: expected text"),
        ("measures:\n- nDCG@10\n- nDGC@10", 7, "measures.1: unknown measure 'nDGC'; nearest: nDCG"),
        ("measures: []", 5, "at least one measure"),
        ("measures: [nDCG@5,10]", 5, "measures.1: expected a measure such as nDCG@10, got 10"),
        ("targets: {RR@10: 0.5, P@3: 0.5}", 5, "targets.P@3: P@3 is not measured"),
        ("targets:\n- trec-kpi\n- P@3: 0.5", 7, "targets.1.P@3: P@3 is not measured"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(
    tmp_path: Path, more: str, line: int, word: str
) -> None:
    message = refused(tmp_path, SHORT + more + "\n")
    assert message.startswith(f"c.yaml:{line}: ")
    assert word in message


@pytest.mark.parametrize(
    ("old", "new", "line", "word"),
    [
        ("collection: here\n", "", 1, "key collection is required"),
        ("\n  lexical: {bm25: {k1: 1.2}}", " {}", 3, "systems: expected"),
        ("soup", "''", 1, "name: expected one line of 1 to 200"),
        ("here", "{path: a, corpus: b}", 2, "collection.corpus: cannot be combined with path"),
        ("here", "{queries: a, qrels: b, split: c}", 2, "collection.split"),
        ("here", "{pth: a}", 2, "'pth'; nearest: path"),
    ],
)
def test_name_and_collection(tmp_path: Path, old: str, new: str, line: int, word: str) -> None:
    assert old in SHORT
    message = refused(tmp_path, SHORT.replace(old, new))
    assert message.startswith(f"c.yaml:{line}: ")
    assert word in message


# --- systems -------------------------------------------------------------------------------------


FINE = """\
  other2: bm25
  none: {bm25: }
  reranked: {rerank: {of: lexical, python: 'm:f'}}
  listed: {fuse: [lexical, bm25, {bm25: {k1: 2}}]}
  fused: {fuse: {of: [other2, vector]}}
  rewritten: {rewrite: {of: {rerank: {of: lexical, ltr: {}}}, keywords: {}}}
  model: {vector: {embedder: {sentence-transformers: some/model}}}
  small: {vector: {embedder: {wordllama: {dimensions: 64}}}}
  10: {python: 'm:f'}
  été: bm25
  ok, k1=1.2+x_y-z.w: bm25
  देवनागरी: bm25
"""


def test_specs_and_names_that_are_fine(tmp_path: Path) -> None:
    assert len(read(tmp_path, f"{SHORT}{FINE}  {'a' * 80}: bm25\n").config.systems) == 14


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("{bm52: {}}", "other: unknown system 'bm52'; nearest: bm25"),
        ("{bm25: {kk1: 1}}", "other.bm25: unknown option 'kk1'; nearest: k1"),
        ("{bm25: {k1: a}}", "bm25.k1: expected a number from 0 to 1000, got 'a'"),
        ("{}", "expected one system"),
        ("{fuse: {method: rrf}}", "option of is required"),
        ("{fuse: {of: [lexical, vectr]}}", "fuse.of.1: unknown system 'vectr'; nearest: vector"),
        ("{rerank: {of: lexical, ltr: {pol: 1}}}", "rerank.ltr: unknown option 'pol'"),
        ("{vector: {embedder: {wordllama: {dims: 3}}}}", "embedder.wordllama: unknown option"),
    ],
)
def test_specs_that_cannot_be(tmp_path: Path, spec: str, word: str) -> None:
    message = refused(tmp_path, f"{SHORT}  other: {spec}\n")
    assert message.startswith("c.yaml:5: systems.other")
    assert word in message


def test_names_that_cannot_be_files(tmp_path: Path) -> None:
    names = [".a", "-a", "'a '", "a.", "..", "a/b", r"'a\b'", r'"a\tb"', r'"a\0"', "'a:b'"]
    for name in (*names, "😀", "''", "a" * 81, "漢" * 80, "Lexical"):
        message = refused(tmp_path, f"{SHORT}  {name}: bm25\n")
        assert message.startswith("c.yaml:5: systems")
        assert "file name" in message or "differ by case" in message


# --- measures and targets ------------------------------------------------------------------------


def test_measures_keep_the_name_they_were_asked_for(tmp_path: Path) -> None:
    def asked(text: str) -> list[str]:
        return read(tmp_path, f"{SHORT}measures: {text}\n").config.measures

    assert asked("[ndcg_cut_10, MRR]") == ["ndcg_cut_10", "MRR"]
    assert asked("nDCG@10") == ["nDCG@10"]
    assert asked("['nDCG@5,10', 'P@5 R@5']") == ["nDCG@5", "nDCG@10", "P@5", "R@5"]
    assert asked("['map_cut.5,10']") == ["map_cut_5", "map_cut_10"]
    assert asked("[map@10, nDCG@10, AP@10]") == ["map@10", "nDCG@10"], "AP@10 is the same"


def test_targets_are_numbers_or_sets(tmp_path: Path) -> None:
    for text, expected in (
        ("{nDCG@10: 1}", {"nDCG@10": 1.0}),
        ("trec-kpi", "trec-kpi"),
        ("[trec-kpi, {mrr@10: 0.5}]", ["trec-kpi", {"mrr@10": 0.5}]),
    ):
        assert read(tmp_path, f"{SHORT}targets: {text}\n").config.targets == expected
    assert read(tmp_path, SHORT + "bands: a\nsegments: b\n").config.bands == ["a"]


# --- for editors ---------------------------------------------------------------------------------


def test_the_schema_names_every_system_and_option() -> None:
    schema = json.loads(json.dumps(config_json_schema()))
    assert schema["required"] == ["name", "collection", "systems"]
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {*Config.model_fields, "retrieval_metrics"}
    for section in schema["properties"].values():
        own = schema["$defs"][section["$ref"].rpartition("/")[2]] if "$ref" in section else {}
        assert section.get("description") or own["description"]
    kinds = schema["$defs"]["System"]["anyOf"][1]["properties"]
    assert list(kinds) == SYSTEMS.names()
    for entry in SYSTEMS:
        assert kinds[entry.name]["description"] == entry.summary
        options = kinds[entry.name]["anyOf"][0]["properties"]
        assert set(options) == set(entry.options_model.model_fields)
        assert all(option["description"] for option in options.values())
    k1 = kinds["bm25"]["anyOf"][0]["properties"]["k1"]
    assert (k1["type"], k1["default"]) == ("number", 1.5)
    test = schema["$defs"]["StatisticsConfig"]["properties"]["test"]
    assert test["enum"] == list(TESTS)
