"""``rankscope convert``: between any two formats, and never over what it cannot replace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rankscope.collection.corpus import read_corpus
from rankscope.collection.qrels import read_qrels
from rankscope.collection.queries import read_queries
from rankscope.errors import InputError
from rankscope.integrations.convert import guess_kind
from rankscope.runs.table import read_run

if TYPE_CHECKING:
    from conftest import Rankscope

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
        "unclear": "a b\n",
    }.items():
        (tmp_path / name).write_text(content, "utf-8")


@pytest.mark.parametrize(
    "name", ["a.csv", "a.tsv.gz", "a.json.zst", "a.jsonl.xz", "a.parquet", "a.run.bz2"]
)
def test_runs(rankscope: Rankscope, tmp_path: Path, name: str) -> None:
    done = rankscope("convert", "bm25.run", name)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"run: 2 lines written to {name}\n"
    assert read_run(tmp_path / name).to_dict() == EXPECTED
    assert rankscope("convert", name, "back.run", "--kind", "run", "--name", "bm25").returncode == 0
    back = read_run(tmp_path / "back.run")
    assert (back.to_dict(), back.name) == (EXPECTED, "bm25")


def test_qrels(rankscope: Rankscope, tmp_path: Path) -> None:
    assert rankscope("convert", "qrels.tsv", "a.qrels").returncode == 0
    assert (tmp_path / "a.qrels").read_text() == "q1 0 d1 1\n"
    assert rankscope("convert", "esci.csv", "b.qrels", "--labels", "E=3,I=0").returncode == 0
    assert read_qrels(tmp_path / "b.qrels").to_dict() == {"q1": {"d1": 3, "d2": 0}}
    done = rankscope("convert", "ratings.csv", "c.qrels", "--raters", "mean", "--kind", "qrels")
    assert done.returncode == 0
    assert read_qrels(tmp_path / "c.qrels").to_dict() == {"q1": {"d1": 0.5}}


def test_queries_and_corpora(rankscope: Rankscope, tmp_path: Path) -> None:
    assert rankscope("convert", "queries.jsonl", "q.parquet").returncode == 0
    assert read_queries(tmp_path / "q.parquet") == read_queries(tmp_path / "queries.jsonl")
    assert rankscope("convert", "corpus.jsonl", "c.tsv.gz").returncode == 0
    assert read_corpus(tmp_path / "c.tsv.gz").ids == ["d1"]


def test_streams(rankscope: Rankscope) -> None:
    done = rankscope("convert", "-", "-", "--kind", "run", "--to", "csv", given=RUN)
    assert done.stdout == "query_id,doc_id,score\nq1,d1,2.5\nq1,d2,1.5\n"
    assert done.stderr == "run: 2 lines written to standard output\n"


def test_a_pipe_is_not_emptied_by_guessing(tmp_path: Path) -> None:
    many = "".join(f"q{n} Q0 d 1 1 t\n" for n in range(20_000))
    command = [sys.executable, "-m", "rankscope", "convert", "/dev/fd/0", "run.csv"]
    done = subprocess.run(
        command, input=many.encode(), cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(read_run(tmp_path / "run.csv")) == 20_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.run", "a.csv"], "rankscope: missing.run: file not found"),
        (["unclear", "x.csv"], "rankscope: unclear: cannot tell whether it holds qrels, a run"),
        (["bm25.run", "a.what"], "rankscope: a.what: the suffix does not tell the format"),
        (["bm25.run", "no/a.csv"], "rankscope: no/a.csv: cannot be written"),
        (["bm25.run", "."], "rankscope: "),
        (["bm25.run", "a.csv", "--from", "trek"], "rankscope: unknown format 'trek'"),
        (["bm25.run", "a.csv", "--labels", "E=3"], "rankscope: labels and raters are for qrels"),
        (["esci.csv", "a.qrels", "--labels", "E"], "rankscope: labels: expected LABEL=NUMBER"),
        (["ratings.csv", "a.qrels", "--kind", "qrels"], "rankscope: ratings.csv: one column for"),
    ],
)
def test_mistakes(rankscope: Rankscope, arguments: list[str], message: str) -> None:
    done = rankscope("convert", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_a_refused_conversion_keeps_the_old_file(rankscope: Rankscope, tmp_path: Path) -> None:
    (tmp_path / "blank.json").write_text('{"q 1": {"d": 1.5}}')
    (tmp_path / "old.run").write_text("old")
    done = rankscope("convert", "blank.json", "old.run", "--kind", "run")
    assert done.returncode == 2
    assert (tmp_path / "old.run").read_text() == "old"


def test_onto_itself(rankscope: Rankscope, tmp_path: Path) -> None:
    assert rankscope("convert", "bm25.run", "bm25.run").returncode == 0
    assert read_run(tmp_path / "bm25.run").to_dict() == EXPECTED


def test_a_reader_that_goes_away(tmp_path: Path) -> None:
    (tmp_path / "big.run").write_text("".join(f"q{n} Q0 d 1 1 t\n" for n in range(50_000)))
    with subprocess.Popen(
        [sys.executable, "-m", "rankscope", "convert", "big.run", "-", "--to", "jsonl"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.readline()
        writer.stdout.close()
        assert writer.stderr.read() == b""
    assert writer.returncode == 0


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a", "q Q0 d 1 1 t\n", "run"),
        ("a", "q 0 d 1\n", "qrels"),
        ("a", "query_id,doc_id,rank\n", "run"),
        ("a", "query-id\tcorpus-id\tscore\n", "qrels"),
        ("a", "query_id,doc_id,relevance\n", "qrels"),
        ("a", "<top>\n<num> 1\n", "queries"),
        ("a", '{"_id": "1", "title": "", "text": ""}\n', "corpus"),
        ("queries.jsonl", '{"_id": "1", "text": ""}\n', "queries"),
        ("docs.jsonl", '{"_id": "1", "text": ""}\n', "corpus"),
        ("my.run.json", '{"q": {"d": 1}}', "run"),
        ("my.qrels.json", '{"q": {"d": 1}}', "qrels"),
    ],
)
def test_guess(name: str, content: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    assert guess_kind(path) == kind


def test_guess_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("x\n")
    with pytest.raises(InputError, match=r"say which with --kind qrels\|run\|queries\|corpus"):
        guess_kind("a")
