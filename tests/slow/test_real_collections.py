"""Real collections, where these are at hand: what is read of them, and how good the systems are."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope.collection.corpus import stream_corpus, stream_doc_ids
from rankscope.collection.ratings import as_ratings
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import queries_of
from rankscope.retrieval.registry import build_system
from real import COLLECTIONS

FIELDS = ["title", "text", "ingredients", "steps"]
LEXICAL = {"bm25": {"fields": FIELDS}}
VECTOR = {"vector": {"fields": FIELDS}}
HYBRID = {"fuse": {"of": [LEXICAL, VECTOR], "method": "minmax", "weights": [0.5, 0.5]}}
NAMES = ["recipes", "electronics", "scifact", "cranfield"]


def at_hand(name: str) -> Path:
    folder = COLLECTIONS / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_corpora(tmp_path: Path, name: str) -> None:
    path = at_hand(name) / "corpus.jsonl.gz"
    made = rs.read_corpus(path)
    assert list(stream_doc_ids(path)) == made.ids
    assert all(document.title or document.text for document in islice(stream_corpus(path), 100))
    made.write(tmp_path / "c.jsonl")
    assert rs.read_corpus(tmp_path / "c.jsonl") == made
    made.write(tmp_path / "c.tsv")
    texts = rs.read_corpus(tmp_path / "c.tsv").field("text")  # an empty cell is no field
    assert [text or "" for text in texts] == made.field("text")


@pytest.mark.parametrize("name", NAMES)
def test_queries_and_judgments(tmp_path: Path, name: str) -> None:
    folder = at_hand(name)
    made = rs.read_queries(folder / "queries.jsonl")
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    assert made.to_dict() == {row.pop("_id"): row for row in rows}
    made.write(tmp_path / "q.jsonl")
    assert rs.read_queries(tmp_path / "q.jsonl") == made
    for path in sorted(folder.glob("qrels/*.tsv")):
        assert len(rs.read_qrels(path)) == len(path.read_text("utf-8").splitlines()) - 1


def test_judgments_of_trec_eval() -> None:
    for path in sorted(at_hand("trec_eval").glob("qrels.*")):
        if "prefs" not in path.name:
            assert len(rs.read_qrels(path))


def test_ratings() -> None:
    ratings = as_ratings(at_hand("electronics") / "ratings.tsv")
    assert ratings.raters == ("rater_1", "rater_2", "rater_3")
    assert ratings.to_polars().height == 3 * 3188
    assert ratings.final is not None
    assert ratings.final.height == 3188


def test_cases(tmp_path: Path) -> None:
    folder = at_hand("hpo-german")
    sizes = {"tiny_v1": (9, 18), "70cases_gemini_v1": (70, 70), "200cases_gemini_v1": (200, 200)}
    for name, (queries, judgments) in sizes.items():
        qrels = rs.read_qrels(folder / f"{name}.json")
        texts = rs.read_queries(folder / f"{name}.json")
        assert qrels.query_ids == texts.ids
        assert (len(qrels.query_ids), len(qrels)) == (queries, judgments)
        assert qrels.doc_ids.str.contains(r"^HP:\d{7}$").all()
        assert "description" in texts.metadata_of(texts.ids[0])
    qrels = rs.read_qrels(folder)
    assert (len(qrels.query_ids), qrels.languages) == (279, {})
    (tmp_path / "german").symlink_to(folder, target_is_directory=True)
    assert set(rs.read_qrels(tmp_path).languages.values()) == {"de"}


def scores(name: str, spec: Any) -> Any:
    folder = at_hand(name)
    qrels = rs.read_qrels(folder / "qrels" / "test.tsv")
    judged = set(qrels.query_ids)
    queries = [
        query
        for query in queries_of(rs.read_queries(folder / "queries.jsonl"))
        if query.query_id in judged
    ]
    system = build_system(spec)
    system.index(rs.read_corpus(folder / "corpus.jsonl.gz"))
    fetched = fetch(system, queries)
    assert not fetched.failures
    return rs.evaluate(qrels, fetched.run, ["nDCG@10", "Success@5", "RR@10", "R@100"])


def test_bm25_on_scifact() -> None:
    means = scores("scifact", {"bm25": {"k1": 0.9, "b": 0.4}})
    assert means["nDCG@10"] >= 0.67  # bm25s by hand: 0.676
    assert means["R@100"] >= 0.91


def test_character_ngrams_on_cranfield() -> None:
    assert scores("cranfield", {"bm25": {"ngrams": [3, 5]}})["nDCG@10"] >= 0.34


def test_bm25_on_recipes() -> None:
    full = scores("recipes", LEXICAL)["Success@5"]
    assert full >= 0.83
    assert scores("recipes", {"bm25": {"fields": ["title"]}})["Success@5"] < full


def test_hybrid_on_recipes() -> None:
    means = scores("recipes", HYBRID)
    assert means["Success@5"] >= 0.88
    assert means["RR@10"] >= 0.74
