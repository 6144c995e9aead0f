"""The corpus: documents of several fields, in memory and streamed."""

from __future__ import annotations

import pickle
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankscope.collection.corpus import (
    Corpus,
    Document,
    document_text,
    read_corpus,
    stream_corpus,
    stream_doc_ids,
)
from rankscope.errors import FormatError, InputError, UnknownNameError

ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda text: not any(c.isspace() for c in text)
)
texts = st.text(
    st.one_of(st.sampled_from('"\t\n\r,'), st.characters(exclude_categories=["Cs"])),
    min_size=1,
    max_size=20,
)
names = st.sampled_from(["title", "text", "contents", "url", "id"])
documents = st.dictionaries(ids, st.dictionaries(names, texts, max_size=4), min_size=1, max_size=5)
LAW = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def test_from_dicts_rows_and_documents() -> None:
    expected = Corpus({"d1": {"title": "T", "text": "a"}, "2": "b"})
    assert Corpus([("d1", "T", "a"), (2, "b")]) == expected
    assert Corpus([{"docno": "d1", "title": "T", "text": "a"}, {"pid": 2, "text": "b"}]) == expected
    assert Corpus(expected.documents()) == expected
    assert Corpus(expected) == expected
    with pytest.raises(InputError, match="row 2: the doc_id 'd'"):
        Corpus([("d", "a"), ("d", "b")])
    with pytest.raises(InputError, match="read_corpus"):
        Corpus("corpus.jsonl")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_from_frames(make: Any) -> None:
    made = Corpus(make({"product_id": [1, 2], "product_title": ["A", "B"], "tags": [["x"], []]}))
    assert made["1"] == Document("1", {"product_title": "A", "tags": ["x"]})
    assert (made["2"].title, made["2"].text) == ("B", "")


def test_documents_and_fields() -> None:
    made = Corpus({"a": {"body": ["p", "q"], "n": 3}, "b": {"metadata": {"n": 4}, "text": "t"}})
    assert made["a"].text == "p\nq"
    assert made.fields == ["body", "n", "text", "metadata"]
    assert made.field("n") == [3, 4]
    assert made.field("text") == [None, "t"]
    assert Corpus({"a": "x"}).field("text") == ["x"]
    with pytest.raises(UnknownNameError, match="nearest: body"):
        made.field("bodi")
    with pytest.raises(UnknownNameError, match="document id"):
        made["c"]
    assert pickle.loads(pickle.dumps(made)) == made


def test_document_text_joins() -> None:
    fields = {
        "title": "T",
        "l": ["a", None, ["b"]],
        "n": 1.5,
        "yes": True,
        "o": {"k": "v"},
        "e": "",
    }
    joined = document_text(Document("d", fields), [*fields, "none"])
    assert joined == "T\na\nb\n1.5\ntrue\nv"


@pytest.mark.parametrize("name", ["c.jsonl", "c.json", "c.csv.gz", "c.parquet", "c.tsv.zst"])
@LAW
@given(table=documents)
def test_round_trip(tmp_path: Path, name: str, table: dict[str, dict[str, str]]) -> None:
    made = Corpus(table)
    path = tmp_path / name
    made.write(path)
    assert read_corpus(path) == made
    assert list(stream_doc_ids(path)) == made.ids
    assert list(stream_corpus(path)) == list(made.documents())


def test_tables_as_found(tmp_path: Path) -> None:
    path = tmp_path / "c.tsv"
    path.write_text('1\tT\t"open\n2\tU\tb\n')
    assert read_corpus(path).to_dict() == {
        "1": {"title": "T", "text": '"open'},
        "2": {"title": "U", "text": "b"},
    }
    path.write_text("docid\turl\tbody\n1\t\tb\n")
    assert read_corpus(path).to_dict() == {"1": {"body": "b"}}
    path.write_text("1\ta\tb\tc\n")
    with pytest.raises(FormatError, match=r"c.tsv:1: .*4 cells"):
        read_corpus(path)
    with pytest.raises(UnknownNameError, match="topics"):
        read_corpus(path, format="topics")
    with pytest.raises(InputError, match="not written"):
        Corpus({"a": "x"}).write(path, format="trec")


def test_a_stream_reads_no_further_than_asked(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"_id": "a", "text": "x"}\n' * 2 + "{broken\n")
    assert list(islice(stream_doc_ids(path), 2)) == ["a", "a"]
    with pytest.raises(FormatError, match=r"c\.jsonl:3"):
        list(stream_doc_ids(path))
    path.write_text('{"_id": "a", "text": "x')
    with pytest.raises(FormatError, match=r"c\.jsonl:1"):
        list(stream_doc_ids(path))


def test_ids_are_found_wherever_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    for line in (
        '{"_id": "a\\u0062", "text": ""}',
        '{"text": "\\"_id\\": \\"x\\"", "_id": "ab"}',
        '{"doc_id": "ab"}',
        ' { "_id" : "ab" , "text": ""} ',
    ):
        path.write_text(f"{line}\n\n")
        assert list(stream_doc_ids(path)) == ["ab"] == read_corpus(path).ids
