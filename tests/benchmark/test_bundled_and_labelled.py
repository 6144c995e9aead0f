"""Collections that name bundled data, and judgments whose grades are letters."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankscope as rs
from rankscope.benchmark.collection import Collection, load_collection
from rankscope.benchmark.config.collection_files import (
    BUNDLED_NAMES,
    CollectionConfig,
    TrainingConfig,
)
from rankscope.benchmark.config.loading import read_config
from rankscope.errors import FormatError, InputError

DATA = Path(rs.__file__).parent / "data"

QUERIES = "id\ttext\nq1\twireless headphones\nq2\tdog treats\n"
LABELLED = "query_id\tdoc_id\tgrade\nq1\td1\tE\nq1\td2\tS\nq1\td3\tI\nq2\td4\tC\n"
LABELS = "{E: 3, S: 2, C: 1, I: 0}"


def loaded(tmp_path: Path, collection: str, more: str = "") -> Collection:
    (tmp_path / "queries.tsv").write_text(QUERIES)
    (tmp_path / "qrels.tsv").write_text(LABELLED)
    config = tmp_path / "bench.yaml"
    config.write_text(
        f"name: shop\ncollection: {collection}\nsystems: {{a: {{run: a.run}}}}\n{more}"
    )
    return load_collection(read_config(config, environment={}), tmp_path / "cache")


def test_letters_become_the_grades_that_the_config_gives_them(tmp_path: Path) -> None:
    files = "queries: queries.tsv, qrels: qrels.tsv"
    collection = loaded(tmp_path, f"{{{files}, labels: {LABELS}}}")
    assert collection.judgments.by_query["q1"] == {"d1": 3, "d2": 2, "d3": 0}
    assert collection.judgments.by_query["q2"] == {"d4": 1}
    other = loaded(tmp_path, f"{{{files}, labels: {{E: 7, S: 3, C: 1, I: 0}}}}")
    assert other.info.qrels_sha256 != collection.info.qrels_sha256


def test_judgments_to_learn_from_have_the_same_labels(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text(LABELLED.replace("\tE\n", "\tS\n"))
    files = "queries: queries.tsv, qrels: qrels.tsv"
    training = "training: {qrels: train.tsv, folds: 2}\n"
    collection = loaded(tmp_path, f"{{{files}, labels: {LABELS}}}", training)
    assert collection.training is not None
    assert collection.training.qrels["q1"]["d1"] == 2


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("", "write grades as numbers, or say what labels mean"),
        (", labels: {E: 3, S: 2, C: 1}", "the label 'I' is not among 'E', 'S', 'C'"),
        (", labels: {E: exact}", "collection.labels.E: expected a number, got 'exact'"),
        (", labels: {}", "collection.labels"),
    ],
)
def test_a_label_without_a_meaning_is_named(tmp_path: Path, labels: str, message: str) -> None:
    with pytest.raises((InputError, FormatError)) as caught:
        loaded(tmp_path, f"{{queries: queries.tsv, qrels: qrels.tsv{labels}}}")
    assert message in str(caught.value)


def test_bundled_data_is_collectionfrom_any_folder(tmp_path: Path) -> None:
    files = CollectionConfig(path="bundled:recipes", split="train").files(tmp_path)
    assert files.queries == DATA / "recipes" / "queries.jsonl"
    assert (files.name, files.split) == ("recipes", "train")
    (tmp_path / "mine.tsv").write_text(LABELLED)
    config = CollectionConfig(
        corpus="bundled:recipes/corpus.jsonl",
        queries="bundled:recipes/queries.jsonl",
        qrels="mine.tsv",
    )
    files = config.files(tmp_path, TrainingConfig(qrels="bundled:recipes/qrels/train.tsv"))
    assert files.corpus == DATA / "recipes" / "corpus.jsonl"
    assert files.qrels == tmp_path / "mine.tsv"
    assert files.train_qrels == DATA / "recipes" / "qrels" / "train.tsv"
    assert CollectionConfig(cases="bundled:hpo").files(tmp_path).queries == DATA / "hpo"


def test_every_bundled_collection_can_be_read() -> None:
    for name in BUNDLED_NAMES:
        assert len(rs.read_queries(DATA / name)) > 100
        assert len(rs.read_qrels(DATA / name).query_ids) > 100


@pytest.mark.parametrize(
    "name", ["bundled:recipe", "bundled:", "bundled:../data/recipes", "bundled:recipes/../../x"]
)
def test_only_the_bundled_collections_are_bundled(tmp_path: Path, name: str) -> None:
    expected = (
        rf"collection\.path: expected a path inside bundled:recipes, bundled:hpo, got '{name}'"
    )
    with pytest.raises(InputError, match=expected):
        CollectionConfig(path=name).files(tmp_path)


def test_a_bundled_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = CollectionConfig(queries="bundled:recipes/querys.jsonl", qrels="x")
    with pytest.raises(InputError, match=r"collection\.queries: file not found: .*did you mean"):
        config.files(tmp_path)
