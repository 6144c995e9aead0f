"""``rankscope convert``: between any two formats, and never over what it cannot replace."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Rankscope
from rankscope.collection.corpus import read_corpus
from rankscope.collection.qrels import read_qrels
from rankscope.collection.queries import read_queries
from rankscope.errors import InputError
from rankscope.integrations.convert import guess_kind
from rankscope.runs.table import read_run

RUN = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n"
EXPECTED = {"q1": {"d1": 2.5, "d2": 1.5}}


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    for name, content in {
        "bm25.run": RUN,
        "qrels.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
        "esci.csv": "query_id,product_id,esci_label\nq1,d1,E\nq1,d2,I\n",
        "ratings.csv": "query_id,doc_id,rater_1,rater_2\nq1,d1,0,1\n",
        "queries.jsonl": '{"_id": "q1", "text": "x", "metadata": {"a": 1}}\n',
        "corpus.jsonl": '{"_id": "d1", "title": "t", "text": "x"}\n',
        "blank.json": '{"q 1": {"d": 1.5}}',
        "unclear": "a b\n",
    }.items():
        (tmp_path / name).write_text(content, "utf-8")


def test_runs_come_back(rankscope: Rankscope, tmp_path: Path) -> None:
    for name in ("a.csv", "a.tsv.gz", "a.json.zst", "a.jsonl.xz", "a.parquet", "a.run.bz2"):
        done = rankscope("convert", "bm25.run", name)
        assert (done.returncode, done.stdout) == (0, "")
        assert read_run(tmp_path / name).to_dict() == EXPECTED
        rankscope("convert", name, "back.run", "--kind", "run", "--name", "bm25")
        back = read_run(tmp_path / "back.run")
        assert (back.to_dict(), back.name) == (EXPECTED, "bm25")


def test_qrels(rankscope: Rankscope, tmp_path: Path) -> None:
    rankscope("convert", "qrels.tsv", "a.qrels")
    assert (tmp_path / "a.qrels").read_text() == "q1 0 d1 1\n"
    rankscope("convert", "esci.csv", "b.qrels", "--labels", "E=3,I=0")
    assert read_qrels(tmp_path / "b.qrels").to_dict() == {"q1": {"d1": 3, "d2": 0}}
    rankscope("convert", "ratings.csv", "c.qrels", "--raters", "mean", "--kind", "qrels")
    assert read_qrels(tmp_path / "c.qrels").to_dict() == {"q1": {"d1": 0.5}}


def test_queries_and_corpora(rankscope: Rankscope, tmp_path: Path) -> None:
    rankscope("convert", "queries.jsonl", "q.json")
    assert read_queries(tmp_path / "q.json") == read_queries(tmp_path / "queries.jsonl")
    rankscope("convert", "corpus.jsonl", "c.tsv.gz")
    assert read_corpus(tmp_path / "c.tsv.gz").ids == ["d1"]


def test_streams_and_a_file_onto_itself(rankscope: Rankscope, tmp_path: Path) -> None:
    done = rankscope("convert", "-", "-", "--kind", "run", "--to", "csv", given=RUN)
    assert done.stdout == "query_id,doc_id,score\nq1,d1,2.5\nq1,d2,1.5\n"
    assert rankscope("convert", "bm25.run", "bm25.run").returncode == 0
    assert read_run(tmp_path / "bm25.run").to_dict() == EXPECTED


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a", "q Q0 d 1 1 t\n", "run"),
        ("a", "q 0 d 1\n", "qrels"),
        ("a", "query_id,doc_id,relevance\n", "qrels"),
        ("a", "<top>\n<num> 1\n", "queries"),
        ("a", '{"_id": "1", "title": "", "text": ""}\n', "corpus"),
        ("queries.jsonl", '{"_id": "1", "text": ""}\n', "queries"),
        ("docs.jsonl", '{"_id": "1", "text": ""}\n', "corpus"),
        ("my.qrels.json", '{"q": {"d": 1}}', "qrels"),
        ("a", "x\n", None),
    ],
)
def test_the_kind_is_told_by_name_and_content(
    name: str, content: str, kind: str | None, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    if kind is None:
        with pytest.raises(InputError, match="--kind"):
            guess_kind(tmp_path / name)
    else:
        assert guess_kind(tmp_path / name) == kind
