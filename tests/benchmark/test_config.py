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
from rankscope.benchmark.config import (
    MEASURES,
    Config,
    FetchConfig,
    LoadedConfig,
    StatisticsConfig,
    read_config,
)
from rankscope.benchmark.config_collection import CollectionConfig, TrainingConfig
from rankscope.benchmark.config_schema import config_json_schema
from rankscope.errors import FormatError, InputError, MissingExtraError
from rankscope.retrieval.registry import SYSTEMS
from rankscope.statistics.pairwise import PAIR_TESTS, Settings

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
    assert (config.bands, config.segments) == (["trec-kpi"], ["category", "difficulty", "words"])
    assert config.statistics.seed == 7
    assert loaded.folder == tmp_path
    assert loaded.source == str(tmp_path / "c.yaml")
    assert (loaded.overrides, loaded.notes, loaded.secrets.names) == ({}, (), ())
    assert loaded.systems() == config.systems


def test_what_is_not_said_has_its_default(tmp_path: Path) -> None:
    config = read(tmp_path).config
    assert config.collection == CollectionConfig(path="here")
    assert (config.depth, config.baseline, config.profile) == (100, None, "rankscope")
    assert (config.targets, config.bands, config.segments) == ({}, [], [])
    assert config.measures == list(MEASURES)
    assert config.training == TrainingConfig(split=None, qrels=None, folds=5, seed=0)
    assert config.fetch == FetchConfig(batch=None, jobs=1, retries=2)
    empty = SHORT + "statistics:\ntraining: {split: }\ntargets:\nbaseline:\n"
    assert read(tmp_path, empty).config == config


def test_statistics_are_those_of_compare() -> None:
    given = StatisticsConfig()
    options = inspect.signature(rankscope.compare).parameters
    assert Settings(**given.model_dump()) == Settings()
    for name, value in given.model_dump().items():
        assert options[name].default == value
    assert get_args(StatisticsConfig.model_fields["test"].annotation) == PAIR_TESTS


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
    with pytest.raises(FormatError, match=r"c\.toml:4: system lexical: bm25\.kk: unknown option"):
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
        ("depth: '50'", "c.yaml:5: depth must be a whole number, not '50'"),
        ("depth: true", "c.yaml:5: depth must be a whole number, not true"),
        ("depth: 1.5", "c.yaml:5: depth must be a whole number, not 1.5"),
        ("depth: [1]", "c.yaml:5: depth must be a whole number, not a list"),
        ("depth: 0", "c.yaml:5: depth must be a whole number from 1 up, not 0"),
        ("depth: 99999999", "c.yaml:5: depth must be a whole number up to 10000000, not 99999999"),
        ("baseline: lexicl", "c.yaml:5: baseline: unknown system 'lexicl'; nearest: lexical"),
        ("baseline: [a]", "c.yaml:5: baseline must be text, not a list"),
        ("profile: trec", "c.yaml:5: unknown profile 'trec'; nearest: trec_eval-9"),
        ("statistics: 5", "c.yaml:5: statistics must be a mapping of keys to values, not 5"),
        ("statistics:\n  sed: 3", "c.yaml:6: unknown key of statistics 'sed'; nearest: seed"),
        (
            "statistics:\n  seed: 1\n  test: permutaton",
            "wilcoxon, sign, tukey; unknown choice 'permutaton'; nearest: permutation",
        ),
        ("statistics: {interval: bcaa}", "unknown choice 'bcaa'; nearest: bca"),
        ("statistics: {correction: hom}", "unknown choice 'hom'; nearest: holm"),
        ("statistics: {family: 3}", "statistics.family is one of measure, all; unknown choice '3'"),
        ("statistics: {alpha: 2}", "c.yaml:5: statistics.alpha must be strictly between 0 and 1"),
        ("statistics: {level: 0}", "c.yaml:5: statistics.level must be strictly between 0 and 1"),
        ("statistics: {alpha: x}", "c.yaml:5: statistics.alpha must be a number, not 'x'"),
        ("statistics: {resamples: 5}", "statistics.resamples must be a whole number from 100 up"),
        ("statistics: {margin: -1}", "statistics.margin must be a finite number above 0"),
        ("statistics: {seed: -1}", "statistics.seed must be a whole number from 0 up, not -1"),
        (
            "training: {split: a, qrels: b}",
            "training has a split and a qrels file; keep one of them",
        ),
        (
            "training: {folds: 1}",
            "c.yaml:5: training.folds must be a whole number from 2 up, not 1",
        ),
        ("fetch: {job: 1}", "c.yaml:5: unknown key of fetch 'job'; nearest: jobs"),
        ("fetch: {batch: 0}", "c.yaml:5: fetch.batch must be a whole number from 1 up, not 0"),
        ("segments: [a, a]", "c.yaml:5: 'a' stands twice; keep one"),
        ("segments:\n- a\n- 1", "c.yaml:7: segments.1 must be text, not 1"),
        ("bands: ['']", "c.yaml:5: bands.0 must be text that is not empty, not ''"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(tmp_path: Path, more: str, message: str) -> None:
    assert message in refused(tmp_path, SHORT + more + "\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "systems: {a: bm25}\ncollection: b",
            "c.yaml:1: the config needs name: what the benchmark",
        ),
        (
            "name: a\nsystems: {a: bm25}",
            "c.yaml:1: the config needs collection: what is searched and",
        ),
        ("name: a\ncollection: b", "c.yaml:1: the config needs systems: the systems by name"),
        (
            SHORT.replace("soup", "''"),
            "c.yaml:1: name must be one line of 1 to 200 characters, not ''",
        ),
        (
            SHORT.replace("soup", '"a\\nb"'),
            r"c.yaml:1: name must be one line of 1 to 200 characters",
        ),
        (SHORT.replace("soup", "5"), "c.yaml:1: name must be text, not 5"),
        (
            SHORT.replace("here", "{path: a, corpus: b}"),
            "c.yaml:2: collection has a folder (path) and",
        ),
        (
            SHORT.replace("here", "{queries: a, qrels: b, split: c}"),
            "collection.split goes with a fol",
        ),
        (SHORT.replace("here", "{queries: a}"), "c.yaml:2: collection needs qrels, too"),
        (SHORT.replace("here", "{qrels: a, corpus: b}"), "c.yaml:2: collection needs queries, too"),
        (SHORT.replace("here", "{}"), "c.yaml:2: collection needs path, or queries and qrels"),
        (
            SHORT.replace("here", "{pth: a}"),
            "c.yaml:2: unknown key of collection 'pth'; nearest: path",
        ),
        (
            SHORT.replace("here", "[a]"),
            "c.yaml:2: collection must be a mapping of keys to values, not",
        ),
        (
            SHORT.replace("here", "''"),
            "c.yaml:2: collection.path must be text that is not empty, not",
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
        ("{bm52: {}}", "system other: bm52: unknown system 'bm52'; nearest: bm25"),
        ("bm2", "system other: unknown system 'bm2'; nearest: bm25"),
        ("lexical", "system other: unknown system 'lexical'"),
        ("{bm25: {kk1: 1}}", "system other: bm25.kk1: unknown option 'kk1'; nearest: k1"),
        ("{bm25: {k1: a}}", "bm25.k1: expected a number from 0 up, got 'a'"),
        ("{bm25: {language: englich}}", "unknown language 'englich'; nearest: english"),
        (
            "{bm25: {}, vector: {}}",
            "expected one system, by its name or as a name with its options, got bm25, vector",
        ),
        ("{}", "system other: expected one system, by its name or as a name with its options, got"),
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
            "system other: fuse.of.1: unknown system 'vectr'; nearest: ",
        ),
        (
            "{fuse: [lexical, vectr]}",
            "system other: fuse.1: unknown system 'vectr'; nearest: vector",
        ),
        (
            "{rerank: {of: lexcal, ltr: {}}}",
            "system other: rerank.of: unknown system 'lexcal'; nearest:",
        ),
        ("{fuse: {of: [{bm25: {kk: 1}}]}}", "fuse.of.0.bm25.kk: unknown option 'kk'; nearest: k1"),
        (
            "{fuse: {of: [{bm52: {}}]}}",
            "system other: fuse.of.0.bm52: unknown system 'bm52'; nearest: bm25",
        ),
        ("{rerank: {of: {rerank: {of: x, ltr: {}}}, ltr: {}}}", "unknown system 'x'"),
        (
            "{rerank: {of: lexical, ltr: {pol: 1}}}",
            "rerank.ltr.pol: unknown option 'pol'; nearest: pool",
        ),
        ("{rewrite: {of: lexical, rm3: {docs: 3}}}", "rewrite.rm3.docs: unknown option 'docs'"),
        ("{vector: {embedder: wordlama}}", "unknown embedder 'wordlama'; nearest: wordllama"),
        ("{vector: {embedder: {wordlama: {}}}}", "unknown embedder 'wordlama'; nearest: wordllama"),
        ("{vector: {embedder: {wordllama: {dims: 3}}}}", "wordllama.dims: unknown option 'dims'"),
        ("{vector: {chunk: {token: 3}}}", "chunk.token: unknown option 'token'; nearest: tokens"),
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
    assert refused(tmp_path, text).startswith(
        "c.yaml:8: system other: bm25.bb: unknown option 'bb'"
    )


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
        (".a", "the system name '.a' must begin with a letter or digit"),
        ("-a", "the system name '-a' must begin with a letter or digit"),
        ("'a '", "and not end with a dot or space, as it becomes a file name"),
        ("a.", "and not end with a dot or space, as it becomes a file name"),
        ("..", "must begin with a letter or digit"),
        ("a/b", "the system name 'a/b' holds '/'; use letters, digits and -_.+ ,=, as it becomes"),
        (r"'a\b'", "use letters, digits and -_.+ ,=, as it becomes"),
        (r'"a\tb"', r"the system name 'a\tb' holds '\t'"),
        (r'"a\0"', r"the system name 'a\x00' holds '\x00'"),
        ("'a:b'", "the system name 'a:b' holds ':'"),
        ("😀", "the system name '😀' holds '😀'"),
        ("''", "the system name '' must have 1 to 80 characters"),
        ("a" * 81, "must have 1 to 80 characters"),
        ("漢" * 80, "must have 1 to 80 characters"),
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
        assert found.startswith("c.yaml:3: systems ")


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
        ("measures:\n- nDCG@10\n- nDGC@10", "c.yaml:7: unknown measure 'nDGC'; nearest: nDCG"),
        ("measures: [nDCG@0]", "c.yaml:5: nDCG: the cutoff must be a whole number between 1 and"),
        (
            "measures: []",
            "c.yaml:5: measures is empty; name one, such as nDCG@10, or leave the key",
        ),
        ("measures: ''", "c.yaml:5: expected a measure such as nDCG@10, not an empty text"),
        (
            "measures: [nDCG@5,10]",
            "c.yaml:5: a measure is text such as nDCG@10, not 10; quote one that",
        ),
        ("measures: {a: 1}", "c.yaml:5: measures must be a list, not a mapping"),
        ("targets:\n  nDGC@10: 1", "c.yaml:6: targets: unknown measure 'nDGC'; nearest: nDCG"),
        ("targets: {nDCG@10: high}", "c.yaml:5: targets: nDCG@10 needs a number, not 'high'"),
        ("targets: {nDCG@10: true}", "c.yaml:5: targets: nDCG@10 needs a number, not true"),
        ("targets: {map@10: 1, AP@10: 2}", "targets: 'AP@10' and 'map@10' are the same measure"),
        ("targets: 5", "c.yaml:5: targets are a mapping such as nDCG@10: 0.4, or the name or file"),
        (
            "targets: ''",
            "c.yaml:5: targets are a mapping such as nDCG@10: 0.4, or the name or file",
        ),
        ("targets:\n- a\n- nDCG@10: x", "c.yaml:7: targets: nDCG@10 needs a number, not 'x'"),
        ("targets:\n- a\n- 5", "c.yaml:7: targets are a mapping such as nDCG@10: 0.4, or the name"),
    ],
)
def test_measures_and_targets_that_cannot_be(tmp_path: Path, more: str, message: str) -> None:
    assert message in refused(tmp_path, SHORT + more + "\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{nDCG@10: 1}", {"nDCG@10": 1.0}),
        ("trec-kpi", "trec-kpi"),
        ("[trec-kpi, {RR: 0.5}]", ["trec-kpi", {"RR": 0.5}]),
        ("[]", []),
    ],
)
def test_targets_are_numbers_or_sets(tmp_path: Path, text: str, expected: Any) -> None:
    assert read(tmp_path, f"{SHORT}targets: {text}\n").config.targets == expected


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
        InputError, match=r"training.split is 'train', but the collection is no fol"
    ):
        config.files(tmp_path, TrainingConfig(split="train"))


def test_a_folder_with_one_file_of_judgments(tmp_path: Path) -> None:
    home = collection(tmp_path, "queries.tsv", "qrels.txt")
    files = CollectionConfig(path="soups").files(tmp_path)
    assert (files.corpus, files.qrels, files.split) == (None, home / "qrels.txt", None)
    with pytest.raises(InputError, match="unknown split 'test'; there are no splits"):
        CollectionConfig(path="soups", split="test").files(tmp_path)


@pytest.mark.parametrize(
    ("names", "config", "message"),
    [
        (BEIR, {"path": "soup"}, "soup: no such folder; collection.path names one; did you mean"),
        (
            BEIR,
            {"path": "soups/corpus.jsonl"},
            "is a file, not a folder; collection.path names one",
        ),
        (
            BEIR[2:],
            {"path": "soups"},
            "soups: has no queries.jsonl; a collection needs its queries",
        ),
        (
            BEIR[:2],
            {"path": "soups"},
            "soups: has no judgments; they are expected in qrels/test.tsv",
        ),
        (
            BEIR,
            {"path": "soups", "split": "tset"},
            "unknown split 'tset'; nearest: test; there are dev",
        ),
        (
            (*BEIR[:2], *BEIR[3:]),
            {"path": "soups"},
            "soups: has the splits dev, train and no test; say which with collection.split",
        ),
        (
            BEIR,
            {"queries": "soups/query.jsonl", "qrels": "x"},
            "query.jsonl: no such file, which que",
        ),
        (BEIR, {"queries": "soups/query.jsonl", "qrels": "x"}, "did you mean "),
        (BEIR, {"queries": "soups", "qrels": "x"}, "soups: is a folder; queries names a file"),
        (BEIR, {"path": "a" * 300}, "cannot be looked into"),
        (BEIR, {"path": "a\0"}, "no such folder"),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, names: tuple[str, ...], config: dict[str, str], message: str
) -> None:
    collection(tmp_path, *names)
    with pytest.raises(InputError) as caught:
        CollectionConfig(**config).files(tmp_path)
    assert message in str(caught.value)


def test_a_split_to_train_on_that_is_not_there(tmp_path: Path) -> None:
    collection(tmp_path, *BEIR)
    with pytest.raises(InputError, match=r"training\.split: unknown split 'trian'; nearest: train"):
        CollectionConfig(path="soups").files(tmp_path, TrainingConfig(split="trian"))
    with pytest.raises(InputError, match=r"own\.tsv: no such file, which training\.qrels names"):
        CollectionConfig(path="soups").files(tmp_path, TrainingConfig(qrels="own.tsv"))


# --- for editors ---------------------------------------------------------------------------------


def test_the_schema_names_every_system_and_option() -> None:
    schema = json.loads(json.dumps(config_json_schema()))
    assert schema["required"] == ["name", "collection", "systems"]
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {*Config.model_fields, "retrieval_metrics"}
    assert all(one.get("description") for one in schema["properties"].values())
    kinds = schema["$defs"]["System"]["anyOf"][1]["properties"]
    assert list(kinds) == SYSTEMS.names()
    for entry in SYSTEMS:
        assert kinds[entry.name]["description"] == entry.summary
        options = kinds[entry.name]["anyOf"][0]["properties"]
        assert set(options) == set(entry.options_model.model_fields)
        assert all(option["description"] for option in options.values())
    k1 = kinds["bm25"]["anyOf"][0]["properties"]["k1"]
    assert (k1["type"], k1["default"]) == ("number", 1.5)
    assert schema["$defs"]["StatisticsConfig"]["properties"]["test"]["enum"] == list(PAIR_TESTS)


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
