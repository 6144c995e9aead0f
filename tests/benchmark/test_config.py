"""The config of a benchmark: read, checked, hashed; every mistake is one sentence with its line."""

from __future__ import annotations

import gzip
import hashlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

import rankscope
from rankscope.benchmark.config.collection_files import CollectionConfig, TrainingConfig
from rankscope.benchmark.config.json_schema import config_json_schema
from rankscope.benchmark.config.loading import LoadedConfig, read_config
from rankscope.benchmark.config.model import (
    ANALYSES,
    MEASURES,
    Config,
    FetchConfig,
    StatisticsConfig,
)
from rankscope.errors import FormatError, InputError, MissingExtraError
from rankscope.retrieval.registry import SYSTEMS
from rankscope.statistics.choices import PAIR_TESTS
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
measures: [nDCG@10, "nDCG(gain=exp)@10", AP@100, RR@10, R@50, R@100, Success@10]
targets: {nDCG@10: 0.40, R@100: 0.70}
bands: [trec-kpi]
segments: [category, difficulty, words]
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
    assert config.measures == list(MEASURES)
    assert config.targets == {"nDCG@10": 0.4, "R@100": 0.7}
    assert config.bands == ["trec-kpi"]
    assert config.analyses["segments"].fields == ("category", "difficulty", "words")
    assert config.statistics.seed == 7
    assert loaded.folder == tmp_path
    assert (loaded.overrides, loaded.notes, loaded.secrets.names) == ({}, (), ())
    assert loaded.systems() == config.systems


def test_what_is_not_said_has_its_default(tmp_path: Path) -> None:
    config = read(tmp_path).config
    assert config.collection == CollectionConfig(path="here")
    assert (config.depth, config.baseline, config.profile) == (100, None, "rankscope")
    assert (config.targets, config.bands, config.analyses["segments"].fields) == ({}, [], ())
    assert config.measures == list(MEASURES)
    assert config.training == TrainingConfig(split=None, qrels=None, folds=5, seed=0)
    assert config.fetch == FetchConfig(batch=None, jobs=1, retries=2)
    empty = SHORT + "statistics:\ntraining: {split: }\ntargets:\nbaseline:\n"
    assert read(tmp_path, empty).config == config


def test_which_analyses_look(tmp_path: Path) -> None:
    def asked(more: str) -> list[str]:
        return list(read(tmp_path, SHORT + more).config.analyses)

    assert asked("") == asked("diagnosis: all\n") == list(ANALYSES)
    assert asked("diagnosis: [ties, failures]\n") == [n for n in ANALYSES if n in "ties failures"]
    assert asked("diagnosis: ties\n") == ["ties"]
    assert asked("diagnosis: []\n") == []


def test_statistics_are_those_of_compare() -> None:
    given = StatisticsConfig()
    options = inspect.signature(rankscope.compare).parameters
    assert given.settings == Settings()
    for name, value in given.model_dump(exclude={"cluster"}).items():
        assert options[name].default == value
    assert get_args(get_args(StatisticsConfig.model_fields["test"].annotation)[0]) == (*PAIR_TESTS,)


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


def test_toml_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        'name = "soup"\ncollection = "here"\n[systems.lexical.bm25]\nk1 = 1.2\n', "utf-8"
    )
    assert read_config(path, environment={}).sha256 == read(tmp_path).sha256
    path.write_text('name = "soup"\ncollection = "here"\n[systems.lexical.bm25]\nkk = 1.2\n')
    with pytest.raises(
        FormatError, match=r"c\.toml: systems\.lexical\.bm25: unknown option 'kk'; nearest: k1"
    ):
        read_config(path, environment={})


def test_nothing_changes_a_config(tmp_path: Path) -> None:
    loaded = read(tmp_path)
    with pytest.raises(ValidationError):
        loaded.config.depth = 3
    loaded.systems()["lexical"]["bm25"]["k1"] = 9
    loaded.plain()["systems"]["lexical"]["bm25"]["k1"] = 9
    assert loaded.config.systems == {"lexical": {"bm25": {"k1": 1.2}}}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("dept: 3", "c.yaml:5: unknown key 'dept'; nearest: depth"),
        (
            "retrieval_metric: 3",
            "c.yaml:5: unknown key 'retrieval_metric'; nearest: retrieval_metr",
        ),
        ("depth: '50'", "c.yaml:5: depth: expected a whole number from 1 to 10,000,000, got '50'"),
        ("depth: true", "c.yaml:5: depth: expected a whole number from 1 to 10,000,000, got true"),
        ("depth: 1.5", "c.yaml:5: depth: expected a whole number from 1 to 10,000,000, got 1.5"),
        ("depth: [1]", "c.yaml:5: depth: expected a whole number from 1 to 10,000,000, got a list"),
        ("depth: 0", "c.yaml:5: depth: expected a whole number from 1 to 10,000,000, got 0"),
        (
            "depth: 99999999",
            "c.yaml:5: depth: expected a whole number from 1 to 10,000,000, got 99999999",
        ),
        ("baseline: lexicl", "c.yaml:5: baseline: unknown system 'lexicl'; nearest: lexical"),
        ("baseline: [a]", "c.yaml:5: baseline: expected text, got a list"),
        (
            "profile: trec",
            "c.yaml:5: profile: unknown profile 'trec'; nearest: trec_eval-9, trec_eval-10",
        ),
        ("statistics: 5", "c.yaml:5: statistics: expected a table of keys, got 5"),
        ("statistics:\n  sed: 3", "c.yaml:6: statistics: unknown key 'sed'; nearest: seed"),
        (
            "statistics:\n  seed: 1\n  test: permutaton",
            "c.yaml:7: statistics.test: unknown test 'permutaton'; nearest: permutation",
        ),
        (
            "statistics: {interval: bcaa}",
            "c.yaml:5: statistics.interval: unknown interval 'bcaa'; nearest: bca",
        ),
        (
            "statistics: {correction: hom}",
            "c.yaml:5: statistics.correction: unknown correction 'hom'; nearest: holm",
        ),
        (
            "statistics: {family: 3}",
            "c.yaml:5: statistics.family: expected one of measure, all, got 3",
        ),
        (
            "statistics: {alpha: 2}",
            "c.yaml:5: statistics.alpha: alpha must be strictly between 0 and 1, such as 0.05,",
        ),
        (
            "statistics: {level: 0}",
            "c.yaml:5: statistics.level: level must be strictly between 0 and 1, such as 0.95,",
        ),
        ("statistics: {alpha: x}", "c.yaml:5: statistics.alpha: expected a number, got 'x'"),
        (
            "statistics: {resamples: 5}",
            "c.yaml:5: statistics.resamples: resamples must be a whole number from 100 to 100,000",
        ),
        (
            "statistics: {margin: -1}",
            "c.yaml:5: statistics.margin: margin must be a finite number above 0, such as 0.01,",
        ),
        (
            "statistics: {seed: -1}",
            "c.yaml:5: statistics.seed: expected a whole number from 0 up and below 3.40282e+38,",
        ),
        (
            "training: {split: a, qrels: b}",
            "c.yaml:5: training.qrels: cannot be combined with split; keep one of them",
        ),
        (
            "training: {folds: 1}",
            "c.yaml:5: training.folds: expected a whole number from 2 up, got 1",
        ),
        ("fetch: {job: 1}", "c.yaml:5: fetch: unknown key 'job'; nearest: jobs"),
        (
            "diagnosis: [failurs]",
            "c.yaml:5: diagnosis.0: unknown analysis 'failurs'; nearest: fail",
        ),
        ("diagnosis: 3", "c.yaml:5: diagnosis: expected"),
        (
            "diagnosis: [ties]\nsegments: [a]",
            "c.yaml:6: segments: has no effect, as diagnosis does not name segments; add it there",
        ),
        ("fetch: {batch: 0}", "c.yaml:5: fetch.batch: expected a whole number from 1 up, got 0"),
        ("segments: [a, a]", "c.yaml:5: segments: 'a' appears twice; keep one"),
        ("segments:\n- a\n- 1", "c.yaml:7: segments.1: expected text, got 1"),
        ("bands: ['']", "c.yaml:5: bands.0: expected text, got ''"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(tmp_path: Path, more: str, message: str) -> None:
    assert message in refused(tmp_path, SHORT + more + "\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "systems: {a: bm25}\ncollection: b",
            "c.yaml:1: key name is required: what the benchmark is called",
        ),
        (
            "name: a\nsystems: {a: bm25}",
            "c.yaml:1: key collection is required: what is searched and judged",
        ),
        (
            "name: a\ncollection: b",
            "c.yaml:1: key systems is required: the systems by name, each a kind with its",
        ),
        (
            SHORT.replace("soup", "''"),
            "c.yaml:1: name: expected one line of 1 to 200 characters, got ''",
        ),
        (
            SHORT.replace("soup", '"a\\nb"'),
            "c.yaml:1: name: expected one line of 1 to 200 characters, got 'a\\nb'",
        ),
        (SHORT.replace("soup", "5"), "c.yaml:1: name: expected text, got 5"),
        (
            SHORT.replace("here", "{path: a, corpus: b}"),
            "c.yaml:2: collection.corpus: cannot be combined with path; give path, or queries",
        ),
        (
            SHORT.replace("here", "{queries: a, qrels: b, split: c}"),
            "c.yaml:2: collection.split: only a folder (path) has splits; name the file in qrels",
        ),
        (SHORT.replace("here", "{queries: a}"), "c.yaml:2: collection: missing key 'qrels'"),
        (
            SHORT.replace("here", "{qrels: a, corpus: b}"),
            "c.yaml:2: collection: missing key 'queries'",
        ),
        (
            SHORT.replace("here", "{}"),
            "c.yaml:2: collection: expected path, cases, or queries and qrels",
        ),
        (
            SHORT.replace("here", "{pth: a}"),
            "c.yaml:2: collection: unknown key 'pth'; nearest: path, split",
        ),
        (
            SHORT.replace("here", "[a]"),
            "c.yaml:2: collection: expected text or a table of keys, got a list",
        ),
        (
            SHORT.replace("here", "''"),
            "c.yaml:2: collection: expected text, got ''",
        ),
    ],
)
def test_name_and_collection(tmp_path: Path, text: str, message: str) -> None:
    assert message in refused(tmp_path, text)


# --- systems -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        "bm25",
        "{bm25: }",
        "{bm25: {}}",
        "{run: answers.run}",
        "{rerank: {of: lexical, python: 'm:f'}}",
        "{fuse: [lexical, bm25, {bm25: {k1: 2}}]}",
        "{fuse: {of: [other2, vector]}}",
        "{rewrite: {of: {rerank: {of: lexical, ltr: {}}}, keywords: {}}}",
        "{vector: {embedder: {sentence-transformers: some/model}}}",
        "{vector: {embedder: {wordllama: {dimensions: 64}}}}",
        "{python: 'm:f'}",
    ],
)
def test_specs_that_are_fine(tmp_path: Path, spec: str) -> None:
    read(tmp_path, f"{SHORT}  other: {spec}\n  other2: bm25\n")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{bm52: {}}", "c.yaml:5: systems.other: unknown system 'bm52'; nearest: bm25"),
        ("bm2", "c.yaml:5: systems.other: unknown system 'bm2'; nearest: bm25"),
        ("lexical", "c.yaml:5: systems.other: unknown system 'lexical'"),
        ("{bm25: {kk1: 1}}", "c.yaml:5: systems.other.bm25: unknown option 'kk1'; nearest: k1"),
        ("{bm25: {k1: a}}", "bm25.k1: expected a number from 0 to 1000, got 'a'"),
        ("{bm25: {language: englich}}", "unknown language 'englich'; nearest: english"),
        (
            "{bm25: {}, vector: {}}",
            "expected one system, by its name or as a name with its options, got bm25, vector",
        ),
        ("{}", "c.yaml:5: systems.other: expected one system, by its name or as a name with its"),
        ("", "a name with its options, got null"),
        ("[bm25]", "a name with its options, got a list"),
        ("5", "a name with its options, got 5"),
        (
            "{fuse: {method: rrf}}",
            "fuse: option of is required: the systems: a list of names or specs",
        ),
        (
            "{fuse: {of: lexical}}",
            "fuse.of: expected a list of systems, by name or spec, got 'lexical'",
        ),
        (
            "{fuse: {of: [lexical, vectr]}}",
            "c.yaml:5: systems.other.fuse.of.1: unknown system 'vectr'; nearest: vector",
        ),
        (
            "{fuse: [lexical, vectr]}",
            "c.yaml:5: systems.other.fuse.1: unknown system 'vectr'; nearest: vector",
        ),
        (
            "{rerank: {of: lexcal, ltr: {}}}",
            "c.yaml:5: systems.other.rerank.of: unknown system 'lexcal'; nearest: lexical",
        ),
        (
            "{fuse: {of: [{bm25: {kk: 1}}]}}",
            "c.yaml:5: systems.other.fuse.of.0.bm25: unknown option 'kk'; nearest: k1",
        ),
        (
            "{fuse: {of: [{bm52: {}}]}}",
            "c.yaml:5: systems.other.fuse.of.0: unknown system 'bm52'; nearest: bm25",
        ),
        ("{rerank: {of: {rerank: {of: x, ltr: {}}}, ltr: {}}}", "unknown system 'x'"),
        (
            "{rerank: {of: lexical, ltr: {pol: 1}}}",
            "c.yaml:5: systems.other.rerank.ltr: unknown option 'pol'; nearest: pool",
        ),
        (
            "{rewrite: {of: lexical, rm3: {docs: 3}}}",
            "c.yaml:5: systems.other.rewrite.rm3: unknown option 'docs'; nearest: documents",
        ),
        ("{vector: {embedder: wordlama}}", "unknown embedder 'wordlama'; nearest: wordllama"),
        ("{vector: {embedder: {wordlama: {}}}}", "unknown embedder 'wordlama'; nearest: wordllama"),
        (
            "{vector: {embedder: {wordllama: {dims: 3}}}}",
            "c.yaml:5: systems.other.vector.embedder.wordllama: unknown option 'dims'; nearest:",
        ),
        (
            "{vector: {chunk: {token: 3}}}",
            "c.yaml:5: systems.other.vector.chunk: unknown option 'token'; nearest: tokens",
        ),
    ],
)
def test_specs_that_cannot_be(tmp_path: Path, spec: str, message: str) -> None:
    found = refused(tmp_path, f"{SHORT}  other: {spec}\n")
    assert found.startswith("c.yaml:5: ")
    assert message in found


def test_the_line_is_that_of_the_option(tmp_path: Path) -> None:
    text = SHORT + "  other:\n    fuse:\n      of:\n      - lexical\n      - vectr\n"
    assert refused(tmp_path, text).startswith("c.yaml:9: ")
    text = SHORT + "  other:\n    bm25:\n      k1: 1\n      bb: 2\n"
    assert refused(tmp_path, text).startswith("c.yaml:8: systems.other.bm25: unknown option 'bb'")


def test_a_missing_engine_is_not_the_configs_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingExtraError("PyStemmer", needed_for="bm25", extra="retrieval")

    monkeypatch.setattr("rankscope.retrieval.lexical.words.engine", missing)
    read(tmp_path, SHORT.replace("k1: 1.2", "language: english"))


@pytest.mark.parametrize(
    "name", ["10", "null", "été", "'ok, k1=1.2+x_y-z.w'", "bm25", "a" * 80, "देवनागरी"]
)
def test_names_that_are_fine(tmp_path: Path, name: str) -> None:
    assert len(read(tmp_path, f"{SHORT}  {name}: bm25\n").config.systems) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            ".a",
            "c.yaml:5: systems..a: the name becomes a file name: it must begin with a letter or",
        ),
        (
            "-a",
            "c.yaml:5: systems.-a: the name becomes a file name: it must begin with a letter or",
        ),
        ("'a '", "begin with a letter or digit, and not end with a dot or space"),
        ("a.", "begin with a letter or digit, and not end with a dot or space"),
        ("..", "must begin with a letter or digit"),
        (
            "a/b",
            "c.yaml:5: systems.a/b: the name becomes a file name: expected letters, digits and",
        ),
        (
            r"'a\b'",
            "c.yaml:5: systems.a\\b: the name becomes a file name: expected letters, digits and",
        ),
        (
            r'"a\tb"',
            "c.yaml:5: systems.'a\\tb': the name becomes a file name: expected letters, digits",
        ),
        (
            r'"a\0"',
            "c.yaml:5: systems.'a\\x00': the name becomes a file name: expected letters, digits",
        ),
        (
            "'a:b'",
            "c.yaml:5: systems.a:b: the name becomes a file name: expected letters, digits and",
        ),
        ("Con", "c.yaml:5: systems.Con: the name becomes a file name: on Windows Con is a device"),
        ("lpt1.x", "c.yaml:5: systems.lpt1.x: the name becomes a file name: on Windows"),
        ("😀", "c.yaml:5: systems.😀: the name becomes a file name: expected letters, digits and"),
        (
            "''",
            "c.yaml:5: systems.: the name becomes a file name: expected 1 to 80 characters, got",
        ),
        ("a" * 81, "c.yaml:5:"),
        ("漢" * 80, "c.yaml:5:"),
        ("Lexical", "the systems lexical and Lexical differ by case only; rename one"),
    ],
)
def test_names_that_cannot_be_files(tmp_path: Path, name: str, message: str) -> None:
    found = refused(tmp_path, f"{SHORT}  {name}: bm25\n")
    assert found.startswith("c.yaml:5: ")
    assert message in found


def test_there_must_be_systems(tmp_path: Path) -> None:
    for text in ("{}", "[a]", "a"):
        found = refused(tmp_path, f"name: a\ncollection: b\nsystems: {text}\n")
        assert found.startswith("c.yaml:3: systems: expected ")


# --- measures and targets ------------------------------------------------------------------------


def test_measures_keep_the_name_they_were_asked_for(tmp_path: Path) -> None:
    def asked(text: str) -> list[str]:
        return read(tmp_path, f"{SHORT}measures: {text}\n").config.measures

    assert asked("[ndcg_cut_10, MRR]") == ["ndcg_cut_10", "MRR"]
    assert asked("nDCG@10") == ["nDCG@10"]
    assert asked("['nDCG@5,10', 'P@5 R@5']") == ["nDCG@5", "nDCG@10", "P@5", "R@5"]
    assert asked("['map_cut.5,10']") == ["map_cut_5", "map_cut_10"]


def test_a_measure_asked_for_twice_is_reported_once(tmp_path: Path) -> None:
    loaded = read(tmp_path, SHORT + "measures: [map@10, nDCG@10, AP@10]\n")
    assert loaded.config.measures == ["map@10", "nDCG@10"]
    assert loaded.notes == ("measures: 'AP@10' is the same as 'map@10', and is reported once",)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "measures:\n- nDCG@10\n- nDGC@10",
            "c.yaml:7: measures.1: unknown measure 'nDGC'; nearest: nDCG, RnDCG, DCG",
        ),
        (
            "measures: [nDCG@0]",
            "c.yaml:5: measures.0: nDCG: the cutoff must be a whole number between 1 and",
        ),
        (
            "measures: []",
            "c.yaml:5: measures: expected at least one measure, such as nDCG@10, got an empty",
        ),
        (
            "measures: ''",
            "c.yaml:5: measures: expected a measure such as nDCG@10, not an empty text",
        ),
        (
            "measures: [nDCG@5,10]",
            "c.yaml:5: measures.1: expected a measure such as nDCG@10, got 10; quote one that",
        ),
        (
            "measures: {a: 1}",
            "c.yaml:5: measures: expected a measure such as nDCG@10, got a table; quote one that",
        ),
        (
            "targets:\n  nDGC@10: 1",
            "c.yaml:6: targets.nDGC@10: unknown measure 'nDGC'; nearest: nDCG, RnDCG, DCG",
        ),
        ("targets: {nDCG@10: high}", "c.yaml:5: targets.nDCG@10: expected a number, got 'high'"),
        ("targets: {nDCG@10: true}", "c.yaml:5: targets.nDCG@10: expected a number, got true"),
        (
            "targets: {map@10: 1, AP@10: 2}",
            "c.yaml:5: targets.AP@10: 'AP@10' and 'map@10' are the same measure; keep one",
        ),
        (
            "targets: 5",
            "c.yaml:5: targets: expected numbers such as nDCG@10: 0.4, or the name or file of a",
        ),
        (
            "targets: ''",
            "c.yaml:5: targets: expected numbers such as nDCG@10: 0.4, or the name or file of a",
        ),
        ("targets:\n- a\n- nDCG@10: x", "c.yaml:7: targets.1.nDCG@10: expected a number, got 'x'"),
        (
            "targets: {RR@10: 0.5, P@3: 0.5}",
            "c.yaml:5: targets.P@3: P@3 is not measured; add it to measures, or take the target",
        ),
        (
            "targets:\n- trec-kpi\n- P@3: 0.5",
            "c.yaml:7: targets.1.P@3: P@3 is not measured",
        ),
        (
            "targets:\n- a\n- 5",
            "c.yaml:7: targets.1: expected numbers such as nDCG@10: 0.4, or the name or file of",
        ),
    ],
)
def test_measures_and_targets_that_cannot_be(tmp_path: Path, more: str, message: str) -> None:
    assert message in refused(tmp_path, SHORT + more + "\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{nDCG@10: 1}", {"nDCG@10": 1.0}),
        ("trec-kpi", "trec-kpi"),
        ("[trec-kpi, {mrr@10: 0.5}]", ["trec-kpi", {"mrr@10": 0.5}]),
        ("[]", []),
    ],
)
def test_targets_are_numbers_or_sets(tmp_path: Path, text: str, expected: Any) -> None:
    assert read(tmp_path, f"{SHORT}targets: {text}\n").config.targets == expected


@pytest.mark.parametrize(
    ("text", "key"),
    [("{AP@7: 0.4}", "targets.AP@7"), ("[trec-kpi, {nDCG@11: 0.4}]", "targets.1.nDCG@11")],
)
def test_a_target_on_what_is_not_measured(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(FormatError, match=rf"{key}: .* is not measured; add it to measures"):
        read(tmp_path, f"{SHORT}targets: {text}\n")


def test_one_set_of_bands_needs_no_list(tmp_path: Path) -> None:
    assert read(tmp_path, SHORT + "bands: a\nsegments: b\n").config.bands == ["a"]


# --- the collection's files ----------------------------------------------------------------------


def collection(tmp_path: Path, *names: str) -> Path:
    home = tmp_path / "soups"
    for name in names:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(b"x") if name.endswith(".gz") else b"x")
    return home


BEIR = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "qrels/train.tsv", "qrels/dev.tsv")


def test_a_folder(tmp_path: Path) -> None:
    home = collection(tmp_path, *BEIR, "qrels/.hidden.tsv", "qrels/notes.md")
    files = CollectionConfig(path="soups").files(tmp_path)
    assert (files.corpus, files.queries) == (home / "corpus.jsonl", home / "queries.jsonl")
    assert (files.qrels, files.split) == (home / "qrels/test.tsv", "test")
    assert (files.train_qrels, files.name) == (home / "qrels/train.tsv", "soups")
    other = CollectionConfig(path=str(home), split="dev", name="Soups").files(Path("/nowhere"))
    assert (other.qrels, other.split, other.name) == (home / "qrels/dev.tsv", "dev", "Soups")


def test_a_compressed_folder(tmp_path: Path) -> None:
    home = collection(tmp_path, "corpus.jsonl.gz", "queries.jsonl.gz", "qrels/dev.tsv.gz")
    files = CollectionConfig(path="soups").files(tmp_path)
    assert files.corpus == home / "corpus.jsonl.gz"
    assert (files.qrels, files.split, files.train_qrels) == (home / "qrels/dev.tsv.gz", "dev", None)


def test_what_trained_parts_learn_from(tmp_path: Path) -> None:
    home = collection(tmp_path, *BEIR, "../own.tsv")

    def learnt(evaluated: str | None = None, **training: Any) -> Path | None:
        config = CollectionConfig(path="soups", split=evaluated)
        return config.files(tmp_path, training=TrainingConfig(**training)).train_qrels

    assert learnt() == home / "qrels/train.tsv"
    assert learnt("train") is None
    assert learnt("dev") == home / "qrels/train.tsv"
    assert learnt(split="dev") == home / "qrels/dev.tsv"
    assert learnt(split="test") is None
    assert learnt(split="cross-validation") is None
    assert learnt(qrels="own.tsv").samefile(tmp_path / "own.tsv")  # type: ignore[union-attr]


def test_single_files(tmp_path: Path) -> None:
    home = collection(tmp_path, "q.tsv", "judged.txt", "docs.jsonl", "more.txt")
    config = CollectionConfig(queries="soups/q.tsv", qrels="soups/judged.txt")
    files = config.files(tmp_path)
    assert (files.corpus, files.train_qrels, files.split) == (None, None, None)
    assert (files.queries, files.qrels, files.name) == (
        home / "q.tsv",
        home / "judged.txt",
        "soups",
    )
    config = CollectionConfig(
        queries="soups/q.tsv", qrels="soups/judged.txt", corpus="soups/docs.jsonl", name="S"
    )
    files = config.files(tmp_path, TrainingConfig(qrels="soups/more.txt"))
    assert (files.corpus, files.name) == (home / "docs.jsonl", "S")
    assert files.train_qrels == home / "more.txt"
    with pytest.raises(
        InputError, match=r"training.split: there is no split 'train', as the collection is"
    ):
        config.files(tmp_path, TrainingConfig(split="train"))


def test_a_folder_with_one_file_of_judgments(tmp_path: Path) -> None:
    home = collection(tmp_path, "queries.tsv", "qrels.txt")
    files = CollectionConfig(path="soups").files(tmp_path)
    assert (files.corpus, files.qrels, files.split) == (None, home / "qrels.txt", None)
    with pytest.raises(
        InputError, match=r"collection\.split: unknown split 'test'; .*soups has no splits"
    ):
        CollectionConfig(path="soups", split="test").files(tmp_path)


@pytest.mark.parametrize(
    ("names", "config", "message"),
    [
        (BEIR, {"path": "soup"}, "collection.path: folder not found: soup; did you mean soups?"),
        (
            BEIR,
            {"path": "soups/corpus.jsonl"},
            "collection.path: expected a folder, got a file: soups/corpus.jsonl",
        ),
        (BEIR[2:], {"path": "soups"}, "soups: queries.jsonl not found; a collection has its"),
        (BEIR[:2], {"path": "soups"}, "soups: no judgments found; they are expected in qrels/"),
        (
            BEIR,
            {"path": "soups", "split": "tset"},
            "collection.split: unknown split 'tset'; nearest: test; others: dev, train",
        ),
        (
            (*BEIR[:2], *BEIR[3:]),
            {"path": "soups"},
            "soups: has the splits dev, train, and none is called test; choose one with",
        ),
        (
            BEIR,
            {"queries": "soups/queries.jsonl", "qrels": "x", "corpus": "y"},
            "collection.qrels: file not found: x",
        ),
        (
            BEIR,
            {"queries": "soups/query.jsonl", "qrels": "x"},
            "collection.queries: file not found: soups/query.jsonl; did you mean soups/queries.",
        ),
        (
            BEIR,
            {
                "queries": "soups/queries.jsonl",
                "qrels": "soups/qrels/dev.tsv",
                "corpus": "soups/corpse.jsonl",
            },
            "collection.corpus: file not found: soups/corpse.jsonl; did you mean soups/corpus.",
        ),
        (
            BEIR,
            {"queries": "soups", "qrels": "x"},
            "collection.queries: expected a file, got a folder: soups",
        ),
        (BEIR, {"path": "a" * 300}, "cannot be read (File name too long)"),
        (BEIR, {"path": "a\0"}, "collection.path: folder not found"),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, names: tuple[str, ...], config: dict[str, Any], message: str
) -> None:
    collection(tmp_path, *names)
    with pytest.raises(InputError) as caught:
        CollectionConfig(**config).files(tmp_path)
    assert message in str(caught.value).replace(f"{tmp_path}/", "")


def test_a_split_to_train_on_that_is_not_there(tmp_path: Path) -> None:
    collection(tmp_path, *BEIR)
    with pytest.raises(InputError, match=r"training\.split: unknown split 'trian'; nearest: train"):
        CollectionConfig(path="soups").files(tmp_path, TrainingConfig(split="trian"))
    with pytest.raises(InputError, match=r"training\.qrels: file not found: .*own\.tsv"):
        CollectionConfig(path="soups").files(tmp_path, TrainingConfig(qrels="own.tsv"))


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
    assert test["anyOf"][0]["enum"] == list(PAIR_TESTS)


def test_a_section_of_an_analysis_follows_from_its_registration(tmp_path: Path) -> None:
    properties = config_json_schema()["properties"]
    config = read(tmp_path)
    assert list(config.config.analyses) == list(ANALYSES)
    for key, section in ANALYSES.items():
        assert properties[key]["$ref"] == f"#/$defs/{section.__name__}"
        assert config.plain()[key] == section().model_dump(mode="json")
        assert f"unknown key '{key}s'; nearest: {key}" in refused(tmp_path, f"{SHORT}{key}s: 1\n")


def test_every_reference_of_the_schema_leads_somewhere() -> None:
    schema = config_json_schema()

    def references(data: Any) -> list[str]:
        if isinstance(data, dict):
            own = [data["$ref"]] if isinstance(data.get("$ref"), str) else []
            return own + [one for value in data.values() for one in references(value)]
        return (
            [one for value in data for one in references(value)] if isinstance(data, list) else []
        )

    found = set(references(schema))
    assert found
    assert all(one.removeprefix("#/$defs/") in schema["$defs"] for one in found)


def test_rankscope_itself_imports_neither_pydantic_nor_yaml() -> None:
    code = "import sys, rankscope; print({'pydantic', 'yaml'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name x\ncollection:\n", r":1: expected 'key: value', got 'name x'"),
        (
            "name: x\nsystems # all\n\n  # why\n  a: 1\n",
            r":2: expected 'key: value', got 'systems'",
        ),
        ("name: x\ncollection: {path: a\nsystems:\n", r":2: '{' is not closed by '}'"),
        ("name: x\nmeasures: [a\nsystems:\n", r":2: '\[' is not closed by '\]'"),
        ("name: x\nnote: this: that\n", r":2: unexpected ':'; quote the text"),
    ],
)
def test_a_colon_is_missing_where_the_message_says(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bench.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_config(tmp_path / "bench.yaml")
