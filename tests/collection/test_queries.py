"""Queries: made from anything, kept whole, written and read back."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankscope.collection.queries import Queries, read_queries
from rankscope.errors import FormatError, InputError, RankscopeError, UnknownNameError

LAW = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda text: not any(c.isspace() for c in text)
)
texts = st.text(
    st.one_of(st.sampled_from('"\t\n\r,<&'), st.characters(exclude_categories=["Cs"])),
    min_size=1,
    max_size=20,
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["", "lang", "metadata", "query_id", "a b", 'x"y', "t\tab", "Zahl"])
any_fields = st.dictionaries(names, values, max_size=3)
text_fields = st.dictionaries(names, texts, max_size=3)


def tables(fields: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    row = st.builds(lambda text, rest: {"text": text, **rest}, texts, fields)
    return st.dictionaries(ids, row, min_size=1, max_size=5)


def put(folder: Path, content: str | bytes, name: str = "q.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- making


def test_from_dicts_and_rows() -> None:
    expected = {"q1": {"text": "a"}, "7": {"text": "b", "lang": "de"}}
    assert Queries({"q1": "a", 7: {"text": "b", "lang": "de"}}).to_dict() == expected
    rows = [{"qid": "q1", "query": "a"}, {"Query-ID": 7, "question": "b", "lang": "de"}]
    assert Queries(rows).to_dict() == expected
    for name in ("question", "query", "utterance", "text"):  # a question is its own id
        assert list(Queries([{name: "who?"}]).items()) == [("who?", "who?")]
    assert Queries(iter([("q1", "a"), ("q2", "b")]))["q2"] == "b"
    assert Queries(Queries({"q1": "a"})) == Queries({"q1": "a"})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_from_frames(make: Callable[[Any], Any]) -> None:
    made = Queries(make({"qid": [7, 2**53 + 1], "text": ["a", "b"], "lang": ["de", None]}))
    assert made.to_dict() == {"7": {"text": "a", "lang": "de"}, "9007199254740993": {"text": "b"}}
    with pytest.raises(InputError, match="row 2: the id is null"):
        Queries(make({"qid": ["a", None], "text": ["x", "y"]}))


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


def test_nested_metadata_is_merged_and_kept(tmp_path: Path) -> None:
    line = '{"_id": "1", "text": "a", "metadata": {"lang": "de", "x": 1}, "lang": "en"}\n'
    made = read_queries(put(tmp_path, line))
    assert made.metadata_of("1") == {"lang": "en", "x": 1}
    made.write(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == line


def test_the_id_that_was_named_is_written(tmp_path: Path) -> None:
    path = put(tmp_path, '{"_id": "7", "question": "who?", "text": "x"}\n')
    read_queries(path, query="question").write(tmp_path / "out.jsonl")
    written = read_queries(tmp_path / "out.jsonl")
    assert written.to_dict() == {"who?": {"text": "x", "metadata._id": "7"}}


def test_types_of_columns(tmp_path: Path) -> None:
    table = {
        "a": {"text": "x", "n": 1, "f": 1, "mixed": 1, "l": ["u"]},
        "b": {"text": "y", "f": 0.5, "mixed": "one", "l": []},
    }
    Queries(table).write(tmp_path / "q.parquet")
    frame = pl.read_parquet(tmp_path / "q.parquet")
    assert frame.columns == ["_id", "text", "n", "f", "mixed", "l"]
    assert frame["f"].to_list() == [1.0, 0.5]
    assert frame["mixed"].to_list() == ["1", '"one"']
    assert frame["l"].to_list() == [["u"], []]


# --- files


@pytest.mark.parametrize("name", ["q.jsonl", "q.json.gz", "q.parquet"])
@LAW
@given(table=tables(any_fields))
def test_round_trip_of_everything(tmp_path: Path, name: str, table: dict[str, Any]) -> None:
    made = Queries(table)
    made.write(tmp_path / name)
    again = read_queries(tmp_path / name)
    assert again == made
    assert again.ids == made.ids


@pytest.mark.parametrize("name", ["q.csv", "q.tsv.bz2"])
@LAW
@given(table=tables(text_fields))
def test_round_trip_of_text(tmp_path: Path, name: str, table: dict[str, Any]) -> None:
    made = Queries(table)
    made.write(tmp_path / name)
    assert read_queries(tmp_path / name) == made


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('1\t"to be" or not\n2\t"open\n3\t6"\n', {"1": '"to be" or not', "2": '"open', "3": '6"'}),
        ('qid\ttext\n1\t"to be"\n2\tb\n', {"1": '"to be"', "2": "b"}),
        ('qid\ttext\n1\t"say ""hi"""\n', {"1": 'say "hi"'}),
        ('"qid"\t"text"\n2\t"two\nlines"\n', {"2": "two\nlines"}),
        ('"qid"\t"text"\n1\t"to be"\n2\t""\n3\t\n', {"1": "to be", "2": "", "3": ""}),
        ("\ufefftext\tQID\r\n\r\none\t007\r\n", {"007": "one"}),
    ],
)
def test_tsv_as_found(tmp_path: Path, content: str, expected: dict[str, str]) -> None:
    assert dict(read_queries(put(tmp_path, content, "q.tsv")).items()) == expected


def test_cells_may_be_long(tmp_path: Path) -> None:
    """Longer than the 128 kB at which the csv module stops, and with all that needs quotes."""
    made = Queries({"a": {"text": 'word, "word"\t\n' * 20_000, "lang": "x"}, "b": "x"})
    for name in ("q.csv", "q.tsv"):
        made.write(tmp_path / name)
        assert read_queries(tmp_path / name) == made


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
    with pytest.raises(FormatError, match=words):
        read_queries(put(tmp_path, content, name))


@LAW
@given(junk=st.binary(max_size=80), name=st.sampled_from(["q", "q.tsv", "q.csv", "q.json"]))
def test_junk_is_refused_or_read(tmp_path: Path, junk: bytes, name: str) -> None:
    with suppress(RankscopeError):
        read_queries(put(tmp_path, junk, name))


def test_names_of_formats_and_files(tmp_path: Path) -> None:
    made = Queries({"a": "x"})
    with pytest.raises(UnknownNameError, match="nearest: jsonl"):
        read_queries(tmp_path / "q", format="jsnl")
    with pytest.raises(UnknownNameError):
        made.write(tmp_path / "q", format="xls")
    with pytest.raises(InputError, match="format"):
        made.write(tmp_path / "q.doc")
    with pytest.raises(InputError, match="no queries"):
        Queries({}).write(tmp_path / "q.jsonl")
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InputError, match=r"not found|folder"):
            read_queries(path)
    assert list(tmp_path.iterdir()) == []
