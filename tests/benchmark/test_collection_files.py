"""Which files a collection is: folders, single files, splits, bundled data, grades as letters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope.benchmark.collection import Collection, load_collection
from rankscope.benchmark.collection_files import find_files
from rankscope.benchmark.config.collection_config import CollectionConfig, TrainingConfig
from rankscope.benchmark.config.loading import read_config
from rankscope.errors import InputError

DATA = Path(rs.__file__).parent / "data"
BEIR = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "qrels/train.tsv", "qrels/dev.tsv")


def collection(tmp_path: Path, *names: str) -> Path:
    home = tmp_path / "soups"
    for name in names:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return home


def test_a_folder(tmp_path: Path) -> None:
    home = collection(tmp_path, *BEIR, "qrels/.hidden.tsv", "qrels/notes.md")
    files = find_files(CollectionConfig(path="soups"), tmp_path)
    assert (files.corpus, files.queries) == (home / "corpus.jsonl", home / "queries.jsonl")
    assert (files.qrels, files.split) == (home / "qrels/test.tsv", "test")
    assert (files.train_qrels, files.name) == (home / "qrels/train.tsv", "soups")
    other = find_files(
        CollectionConfig(path=str(home), split="dev", name="Soups"), Path("/nowhere")
    )
    assert (other.qrels, other.split, other.name) == (home / "qrels/dev.tsv", "dev", "Soups")


def test_what_trained_parts_learn_from(tmp_path: Path) -> None:
    home = collection(tmp_path, *BEIR, "../own.tsv")

    def learnt(evaluated: str | None = None, **training: Any) -> Path | None:
        config = CollectionConfig(path="soups", split=evaluated)
        return find_files(config, tmp_path, TrainingConfig(**training)).train_qrels

    assert learnt() == home / "qrels/train.tsv"
    assert learnt("train") is None
    assert learnt("dev") == home / "qrels/train.tsv"
    assert learnt(split="dev") == home / "qrels/dev.tsv"
    assert learnt(split="test") is None
    assert learnt(split="cross-validation") is None
    assert learnt(qrels="own.tsv").samefile(tmp_path / "own.tsv")  # type: ignore[union-attr]


def test_single_files(tmp_path: Path) -> None:
    home = collection(tmp_path, "q.tsv", "judged.txt", "docs.jsonl", "more.txt")
    named: dict[str, Any] = {"queries": "soups/q.tsv", "qrels": "soups/judged.txt"}
    files = find_files(CollectionConfig(**named), tmp_path)
    assert (files.corpus, files.train_qrels, files.split) == (None, None, None)
    assert (files.queries, files.qrels) == (home / "q.tsv", home / "judged.txt")
    assert files.name == "soups"
    config = CollectionConfig(**named, corpus="soups/docs.jsonl", name="S")
    files = find_files(config, tmp_path, TrainingConfig(qrels="soups/more.txt"))
    assert (files.corpus, files.name) == (home / "docs.jsonl", "S")
    assert files.train_qrels == home / "more.txt"
    for training in (TrainingConfig(split="train"), TrainingConfig(qrels="soups/none.tsv")):
        with pytest.raises(InputError, match=r"training\.(split|qrels): "):
            find_files(config, tmp_path, training)


QUERIES_FILE = {"queries": "soups/queries.jsonl"}


@pytest.mark.parametrize(
    ("names", "config", "word"),
    [
        (BEIR, {"path": "soup"}, "collection.path: folder not found: soup; did you mean soups?"),
        (BEIR[2:], {"path": "soups"}, "queries.jsonl not found"),
        (BEIR, {"path": "soups", "split": "tset"}, "collection.split: unknown split 'tset'"),
        (("queries.tsv", "qrels.txt"), {"path": "soups", "split": "test"}, "has no splits"),
        ((*BEIR[:2], *BEIR[3:]), {"path": "soups"}, "the splits dev, train"),
        (BEIR, {**QUERIES_FILE, "qrels": "x", "corpus": "y"}, "collection.qrels: file not found"),
        (BEIR, {"path": "a" * 300}, "cannot be read"),
        (BEIR, {"path": "bundled:recipe"}, "bundled:recipes, bundled:hpo"),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, names: tuple[str, ...], config: dict[str, Any], word: str
) -> None:
    collection(tmp_path, *names)
    with pytest.raises(InputError) as caught:
        find_files(CollectionConfig(**config), tmp_path)
    assert word in str(caught.value).replace(f"{tmp_path}/", "")


# --- bundled data --------------------------------------------------------------------------------


def test_bundled_data_is_found_from_any_folder(tmp_path: Path) -> None:
    files = find_files(CollectionConfig(path="bundled:recipes", split="train"), tmp_path)
    assert files.queries == DATA / "recipes" / "queries.jsonl"
    assert (files.name, files.split) == ("recipes", "train")
    (tmp_path / "mine.tsv").write_text(LABELLED)
    config = CollectionConfig(
        corpus="bundled:recipes/corpus.jsonl",
        queries="bundled:recipes/queries.jsonl",
        qrels="mine.tsv",
    )
    files = find_files(config, tmp_path, TrainingConfig(qrels="bundled:recipes/qrels/train.tsv"))
    assert files.corpus == DATA / "recipes" / "corpus.jsonl"
    assert files.qrels == tmp_path / "mine.tsv"
    assert files.train_qrels == DATA / "recipes" / "qrels" / "train.tsv"
    assert find_files(CollectionConfig(cases=["bundled:hpo"]), tmp_path).queries == DATA / "hpo"


# --- grades that are letters ---------------------------------------------------------------------

LABELLED = "query_id\tdoc_id\tgrade\nq1\td1\tE\nq1\td2\tS\nq1\td3\tI\nq2\td4\tC\n"
LABELS = ", labels: {E: 3, S: 2, C: 1, I: 0}"


def labelled(tmp_path: Path, labels: str, more: str = "") -> Collection:
    (tmp_path / "queries.tsv").write_text("id\ttext\nq1\twireless headphones\nq2\tdog treats\n")
    (tmp_path / "qrels.tsv").write_text(LABELLED)
    (tmp_path / "train.tsv").write_text(LABELLED.replace("\tE\n", "\tS\n"))
    config = tmp_path / "bench.yaml"
    files = f"{{queries: queries.tsv, qrels: qrels.tsv{labels}}}"
    config.write_text(f"name: shop\ncollection: {files}\nsystems: {{a: {{run: a.run}}}}\n{more}")
    return load_collection(read_config(config, environment={}), tmp_path / "cache")


def test_letters_become_the_grades_that_the_config_gives_them(tmp_path: Path) -> None:
    found = labelled(tmp_path, LABELS)
    assert found.judgments.by_query["q1"] == {"d1": 3, "d2": 2, "d3": 0}
    assert found.judgments.by_query["q2"] == {"d4": 1}
    other = labelled(tmp_path, LABELS.replace("3", "7"))
    assert other.info.qrels_sha256 != found.info.qrels_sha256
    learnt = labelled(tmp_path, LABELS, "training: {qrels: train.tsv, folds: 2}\n").training
    assert learnt is not None
    assert learnt.qrels["q1"]["d1"] == 2


def test_a_label_without_a_meaning_is_named(tmp_path: Path) -> None:
    for labels, word in (
        ("", "labels"),
        (", labels: {E: 3, S: 2, C: 1}", "'I'"),
        (", labels: {E: exact}", r"collection\.labels\.E: expected a number"),
    ):
        with pytest.raises(InputError, match=word):
            labelled(tmp_path, labels)
