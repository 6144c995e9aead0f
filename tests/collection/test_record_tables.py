"""Queries and corpora: made from anything, kept whole, written and read back."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from contextlib import suppress
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
from rankscope.collection.queries import Queries, read_queries
from rankscope.errors import FormatError, InputError, RankscopeError, UnknownNameError

LAW = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
letters = st.characters(exclude_categories=["Cs"])
ids = st.text(letters, min_size=1, max_size=8).filter(lambda text: not any(map(str.isspace, text)))
texts = st.text(st.sampled_from('"\t\n\r,<&') | letters, min_size=1, max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["", "lang", "title", "metadata", "id", "a b", 'x"y', "t\tab", "Zahl"])


def tables(fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    more = st.dictionaries(names, fields, max_size=3)
    row = st.builds(lambda text, rest: {"text": text, **rest}, texts, more)
    return st.dictionaries(ids, row, min_size=1, max_size=5)


def put(folder: Path, content: str | bytes, name: str = "q.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- making


@pytest.mark.parametrize(
    "data",
    [
        {"q1": "a", 7: {"text": "b", "lang": "de"}},
        [{"qid": "q1", "query": "a"}, {"Query-ID": 7, "question": "b", "lang": "de"}],
        iter([{"id": "q1", "text": "a", "lang": None}, {"id": "7", "text": "b", "lang": "de"}]),
        {"_id": ["q1", 7], "text": ["a", "b"], "lang": [None, "de"]},
        {
            "version": 1,
            "queries": [{"qid": "q1", "text": "a"}, {"qid": 7, "text": "b", "lang": "de"}],
        },
        Queries({"q1": "a", "7": {"text": "b", "lang": "de"}}),
        *(
            make({"qid": ["q1", "7"], "text": ["a", "b"], "lang": [None, "de"]})
            for make in (pd.DataFrame, pl.DataFrame, pa.table)
        ),
    ],
    ids=lambda data: type(data).__name__,
)
def test_queries_of_objects(data: Any) -> None:
    made = Queries(data)
    assert made.to_dict() == {"q1": {"text": "a"}, "7": {"text": "b", "lang": "de"}}
    assert made.metadata == {"q1": {}, "7": {"lang": "de"}}


def test_a_question_is_its_own_id() -> None:
    for name in ("question", "query", "utterance", "text"):
        assert list(Queries([{name: "who?"}]).items()) == [("who?", "who?")]


@pytest.mark.parametrize(
    "data",
    [
        {"d1": {"title": "T", "text": "a"}, "2": "b"},
        [("d1", "T", "a"), (2, "b")],
        [{"docno": "d1", "title": "T", "text": "a"}, {"pid": 2, "text": "b"}],
        (
            document
            for document in [Document("d1", {"title": "T", "text": "a"}), {"id": 2, "text": "b"}]
        ),
        pl.DataFrame({"doc_id": ["d1", "2"], "title": ["T", None], "text": ["a", "b"]}),
    ],
    ids=lambda data: type(data).__name__,
)
def test_corpora_of_objects(data: Any) -> None:
    made = Corpus(data)
    assert made.to_dict() == {"d1": {"title": "T", "text": "a"}, "2": {"text": "b"}}
    assert Corpus(made.documents()) == made
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({None: "a"}, "the id is null"),
        ({1.5: "a"}, "'1.5'"),
        ({"q": 3}, "query 'q' has '3' (int) as text"),
        ({"q": {"text": None}}, "no text"),
        ({"q": {"_id": "r", "text": "a"}}, "'r'"),
        ({"q": "\ud800"}, "surrogate"),
        ({"q": {"text": "a", "x": {1, 2}}}, "set"),
        ([{"lang": "a"}], "row 1: no id"),
        ([("7", "a"), (7, "b")], "row 2: the query_id '7'"),
        (pl.DataFrame({"qid": ["a", None], "text": ["x", "y"]}), "row 2: the id is null"),
        ("queries.jsonl", "read_queries"),
        (5, "'5'"),
    ],
)
def test_what_cannot_be_queries(data: Any, words: str) -> None:
    with pytest.raises(InputError) as refused:
        Queries(data)
    assert words in str(refused.value)


def test_the_callers_objects_stay() -> None:
    data = {"q1": {"text": "a", "tags": ["x"]}}
    made = Queries(data)
    made.to_dict()["q1"]["tags"] = []
    made.metadata["q1"].clear()
    assert data == {"q1": {"text": "a", "tags": ["x"]}} == made.to_dict()


# --- using


def test_behaves_like_a_mapping() -> None:
    made = Queries({"007": "a", "7": "b"})
    assert (len(made), list(made), made.ids, made["007"]) == (2, ["007", "7"], ["007", "7"], "a")
    assert "007" in made
    assert 7 not in made
    assert dict(made.items()) == {"007": "a", "7": "b"}
    with pytest.raises(UnknownNameError, match="nearest"):
        made["07"]
    assert len(Queries({})) == 0


def test_equality_is_about_content() -> None:
    made = Queries({"a": {"text": "x", "n": 1}, "b": "y"})
    assert made == Queries({"b": "y", "a": {"n": 1.0, "text": "x", "none": None}})
    assert made != Queries({"a": "x"})
    assert made != {"a": "x"}


def test_documents_and_fields() -> None:
    made = Corpus({"a": {"body": ["p", "q"], "n": 3}, "b": {"metadata": {"n": 4}, "text": "t"}})
    assert made["a"].text == "p\nq"
    assert made.fields == ["body", "n", "text", "metadata"]
    assert made.field("n") == [3, 4]
    assert made.field("text") == [None, "t"]
    assert Corpus({"a": "x"}).field("text") == ["x"]
    for lookup in (lambda: made.field("bodi"), lambda: made["c"]):
        with pytest.raises(UnknownNameError, match=r"nearest: body|document id"):
            lookup()
    product = Corpus([{"product_id": 1, "product_title": "A", "tags": ["x"]}])["1"]
    assert (product.title, product.text, product.body) == ("A", "", "tags: x")
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


# --- files


@pytest.mark.parametrize("name", ["t.jsonl", "t.json.gz"])
@LAW
@given(table=tables(values))
def test_round_trip_of_everything(tmp_path: Path, name: str, table: dict[str, Any]) -> None:
    made = Queries(table)
    made.write(tmp_path / name)
    again = read_queries(tmp_path / name)
    assert again == made
    assert again.ids == made.ids


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.bz2", "t.jsonl.zst"])
@LAW
@given(table=tables(texts))
def test_round_trip_of_text(tmp_path: Path, name: str, table: dict[str, Any]) -> None:
    Queries(table).write(tmp_path / name)
    assert read_queries(tmp_path / name) == Queries(table)
    made = Corpus(table)
    made.write(tmp_path / name)
    assert read_corpus(tmp_path / name) == made
    assert list(stream_doc_ids(tmp_path / name)) == made.ids
    assert list(stream_corpus(tmp_path / name)) == list(made.documents())


def test_nested_metadata_and_a_named_id_are_kept(tmp_path: Path) -> None:
    line = '{"_id": "1", "text": "a", "metadata": {"lang": "de", "x": 1}, "lang": "en"}\n'
    made = read_queries(put(tmp_path, line))
    assert made.metadata_of("1") == {"lang": "en", "x": 1}
    made.write(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == line
    path = put(tmp_path, '{"_id": "7", "question": "who?", "text": "x"}\n')
    read_queries(path, query="question").write(tmp_path / "out.jsonl")
    written = read_queries(tmp_path / "out.jsonl")
    assert written.to_dict() == {"who?": {"text": "x", "metadata._id": "7"}}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('1\t"to be" or not\n2\t"open\n3\t6"\n', {"1": '"to be" or not', "2": '"open', "3": '6"'}),
        ('qid\ttext\n1\t"to be"\n2\tb\n', {"1": '"to be"', "2": "b"}),
        ('qid\ttext\n1\t"say ""hi"""\n2\t""\n', {"1": 'say "hi"', "2": '""'}),
        ("1\t" + '"' * 400_001 + "x\n", {"1": '"' * 400_001 + "x"}),  # else for hours
        ('"qid"\t"text"\n2\t"two\nlines"\n', {"2": "two\nlines"}),
        ('"qid"\t"text"\n1\t"to be"\n2\t""\n3\t\n', {"1": "to be", "2": "", "3": ""}),
        ("\ufefftext\tQID\r\n\r\none\t007\r\n", {"007": "one"}),
        ("# by hand\n\n#1\tfirst\n", {"#1": "first"}),
    ],
)
def test_tsv_as_found(tmp_path: Path, content: str, expected: dict[str, str]) -> None:
    assert dict(read_queries(put(tmp_path, content, "q.tsv")).items()) == expected


def test_corpora_as_found(tmp_path: Path) -> None:
    content = '1\tT\t"open\n2\tU\tb\n'
    expected = {"1": {"title": "T", "text": '"open'}, "2": {"title": "U", "text": "b"}}
    assert read_corpus(put(tmp_path, content, "c.tsv")).to_dict() == expected
    content = "docid\turl\tbody\n1\t\tb\n"  # an empty cell is no field
    assert read_corpus(put(tmp_path, content, "c.tsv")).to_dict() == {"1": {"body": "b"}}
    for line in (
        '{"_id": "a\\u0062", "text": ""}',
        '{"text": "\\"_id\\": \\"x\\"", "_id": "ab"}',
        '{"doc_id": "ab"}',
        ' { "_id" : "ab" , "text": ""} ',
    ):
        path = put(tmp_path, f"{line}\n\n", "c.jsonl")
        assert list(stream_doc_ids(path)) == ["ab"] == read_corpus(path).ids


def test_cells_may_be_long(tmp_path: Path) -> None:
    """Longer than the 128 kB at which the csv module stops, and with all that needs quotes."""
    made = Queries({"a": {"text": 'word, "word"\t\n' * 20_000, "lang": "x"}, "b": "x"})
    for name in ("q.csv", "q.tsv"):
        made.write(tmp_path / name)
        assert read_queries(tmp_path / name) == made


def test_a_stream_reads_no_further_than_asked(tmp_path: Path) -> None:
    path = put(tmp_path, '{"_id": "a", "text": "x"}\n' * 2 + "{broken\n", "c.jsonl")
    assert list(islice(stream_doc_ids(path), 2)) == ["a", "a"]
    with pytest.raises(FormatError, match=r"c\.jsonl:3"):
        list(stream_doc_ids(path))
    with pytest.raises(FormatError, match=r"c\.jsonl:1"):
        list(stream_doc_ids(put(tmp_path, '{"_id": "a", "text": "x', "c.jsonl")))


GOOD = '{"_id": "a", "text": "x"}\n'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("q.jsonl", GOOD + "{oops}\n", "q.jsonl:2: "),
        ("q.jsonl", GOOD + GOOD, "q.jsonl:2: the query_id 'a'"),
        ("q.jsonl", '{"_id": "a", "_id": "b"}', "'_id' appears twice"),
        ("q.jsonl", '{"_id": true, "text": "x"}', "'True'"),
        ("q.jsonl", '{"_id": "a", "text": "\\ud800"}', "surrogate"),
        ("q.jsonl", f'{{"_id": "a", "text": "x", "d": {"[" * 300}{"]" * 300}}}', "nested"),
        ("q.jsonl", '{"_id": ' + "9" * 5000 + "}", "digits"),
        ("q.jsonl", GOOD.encode() + b'{"_id": "\xff"}', "q.jsonl:2: byte 0xff"),
        ("q.json", '{"a": "x",\n "b": }', "q.json:2: "),
        ("q.json", '[{"lang": "x"}]', "item 1: no id"),
        ("q.json", '{"a": {"_id": "b", "text": "x"}}', "q.json: query 'a' calls itself 'b'"),
        ("q.tsv", "a\tx\nb\n", "q.tsv:2: expected 2 cells"),
        ("q.tsv", 'qid\ttext\n2\t"two\nlines"\n', "q.tsv:3: .*quote the header"),
        ("q.tsv", "a\tx\ty\n", "q.tsv:1: has 3 cells"),
        ("q.tsv", "qid\tqid\n", "'qid' twice"),
        ("q.csv", 'qid,text\n1,"open\n2,b\n', "q.csv:2: "),
        ("q.csv", "qid,text\n", "empty"),
        ("q.txt", " \n\n", "empty"),
        ("q.txt", "plain words", "queries"),
        ("q.jsonl.gz", gzip.compress(GOOD.encode() * 99, mtime=0)[:-9], "cut short"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, content: str | bytes, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        read_queries(put(tmp_path, content, name))


@LAW
@given(junk=st.binary(max_size=80), name=st.sampled_from(["q", "q.tsv", "q.csv", "q.json"]))
def test_junk_is_refused_or_read(tmp_path: Path, junk: bytes, name: str) -> None:
    with suppress(RankscopeError):
        read_queries(put(tmp_path, junk, name))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda folder: read_queries(folder / "q", format="jsnl"), "nearest: jsonl"),
        (lambda folder: read_corpus(folder / "q", format="topics"), "topics"),
        (lambda folder: Queries({"a": "x"}).write(folder / "q", format="xls"), "unknown format"),
        (lambda folder: Queries({"a": "x"}).write(folder / "q.doc"), "name the format"),
        (lambda folder: Corpus({"a": "x"}).write(folder / "q", format="trec"), "not written"),
        (lambda folder: Queries({}).write(folder / "q.jsonl"), "no queries"),
        (lambda folder: read_queries(folder / "none.jsonl"), "not found"),
        (read_queries, "folder"),
    ],
)
def test_names_of_formats_and_files(
    tmp_path: Path, act: Callable[[Path], object], words: str
) -> None:
    with pytest.raises(RankscopeError, match=words):
        act(tmp_path)
    assert list(tmp_path.iterdir()) == []
