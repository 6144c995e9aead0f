"""Queries: made from anything, kept whole, written and read back."""

from __future__ import annotations

import builtins
import gzip
import io
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankscope.collection.queries import Queries, read_queries
from rankscope.errors import (
    FormatError,
    InputError,
    MissingExtraError,
    RankscopeError,
    UnknownNameError,
)
from real import COLLECTIONS

LAW = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda text: not any(c.isspace() for c in text)
)
texts = st.text(
    st.one_of(st.sampled_from('"\t\n\r,<&'), st.characters(exclude_categories=["Cs"])), max_size=20
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
    assert Queries(iter([("q1", "a"), ("q2", "b")]))["q2"] == "b"
    assert Queries(Queries({"q1": "a"})) == Queries({"q1": "a"})


FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
}


@pytest.mark.parametrize("library", FRAMES)
def test_from_frames(library: str) -> None:
    make = FRAMES[library]
    made = Queries(make({"qid": [7, 2**53 + 1], "text": ["a", "b"], "lang": ["de", None]}))
    assert made.to_dict() == {"7": {"text": "a", "lang": "de"}, "9007199254740993": {"text": "b"}}
    with pytest.raises(InputError, match="row 2: the id is null"):
        Queries(make({"qid": ["a", None], "text": ["x", "y"]}))


def test_frame_values_that_json_lacks() -> None:
    frame = pl.DataFrame({"qid": ["a"], "text": ["x"], "day": [date(2024, 5, 1)], "n": [{"k": 1}]})
    assert Queries(frame).metadata_of("a") == {"day": "2024-05-01", "n": {"k": 1}}
    with pytest.raises(InputError, match="bytes cannot be kept"):
        Queries(pl.DataFrame({"qid": ["a"], "text": ["x"], "raw": [b"x"]}))
    with pytest.raises(InputError, match="frame cannot be read"):
        Queries(pl.Series([1, 2]))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({None: "a"}, "the id is null"),
        ({"": "a"}, "the id is empty"),
        ({True: "a"}, r"'True' \(bool\)"),
        ({1.5: "a"}, r"'1.5' \(float\)"),
        ({"q": 3}, "expected text or named fields"),
        ({"q": {"text": None}}, "has no text"),
        ({"q": {"text": 5}}, "as text"),
        ({"q": {"_id": "r", "text": "a"}}, "calls itself 'r'"),
        ({"q": "\ud800"}, "surrogate"),
        ({"q": {"text": "a", "x": {1, 2}}}, "set cannot be kept"),
        ([{"text": "a"}], "row 1: no id among the fields 'text'"),
        ([("a", "b", "c")], r"expected named fields or \(_id, text\)"),
        (["ab"], "row 1: expected named fields .* got 'ab'"),
        ([("7", "a"), (7, "b")], "row 2: query '7' was given before, at row 1"),
        ("queries.jsonl", "read_queries"),
        (5, "expected queries as a dict, a list of rows or a frame, got '5'"),
    ],
)
def test_what_cannot_be_queries(data: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Queries(data)


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
    assert repr(made) == "Queries(2 queries: '007': 'a', '7': 'b')"
    with pytest.raises(UnknownNameError, match="unknown query id '07'; nearest"):
        made["07"]
    assert len(Queries({})) == 0


def test_equality_is_about_content() -> None:
    made = Queries({"a": {"text": "x", "n": 1}, "b": "y"})
    assert made == Queries({"b": "y", "a": {"n": 1.0, "text": "x", "none": None}})
    assert made != Queries({"a": {"text": "x", "n": True}, "b": "y"})
    assert made != Queries({"a": "x"})
    assert made != {"a": "x"}
    assert Queries({"a": {"text": "x", "n": float("nan")}}) == Queries(
        [{"_id": "a", "text": "x", "n": float("nan")}]
    )


def test_nested_metadata_is_merged_and_kept(tmp_path: Path) -> None:
    line = '{"_id": "1", "text": "a", "metadata": {"lang": "de", "x": 1}, "lang": "en"}\n'
    made = read_queries(put(tmp_path, line))
    assert made.metadata_of("1") == {"lang": "en", "x": 1}
    made.write(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == line


def test_frames_out() -> None:
    made = Queries(
        {
            "a": {"text": "x", "n": 1, "f": 1, "mixed": 1, "l": ["u"], "query_id": "z"},
            "b": {"text": "y", "f": 0.5, "mixed": "one", "l": []},
        }
    )
    frame = made.to_polars()
    assert frame.schema == {
        "query_id": pl.String,
        "text": pl.String,
        "n": pl.Int64,
        "f": pl.Float64,
        "mixed": pl.String,
        "l": pl.List(pl.String),
        "metadata.query_id": pl.String,
    }
    assert frame["mixed"].to_list() == ["1", '"one"']
    assert made.to_pandas()["text"].tolist() == ["x", "y"]


def test_to_pandas_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ModuleNotFoundError("no pandas", name="pandas")
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankscope\[frames\]'"):
        Queries({"a": "x"}).to_pandas()


# --- files


@pytest.mark.parametrize("name", ["q.jsonl", "q.json", "q.parquet", "q.parquet.zst", "q.json.gz"])
@LAW
@given(table=tables(any_fields))
def test_round_trip_of_everything(tmp_path: Path, name: str, table: dict[str, Any]) -> None:
    made = Queries(table)
    made.write(tmp_path / name)
    again = read_queries(tmp_path / name)
    assert again == made
    assert again.ids == made.ids


@pytest.mark.parametrize("name", ["q.csv", "q.tsv", "q.tsv.bz2", "q.csv.xz"])
@LAW
@given(table=tables(text_fields))
def test_round_trip_of_text(tmp_path: Path, name: str, table: dict[str, Any]) -> None:
    made = Queries(table)
    made.write(tmp_path / name)
    assert read_queries(tmp_path / name) == made


def test_csv_turns_other_values_into_their_json(tmp_path: Path) -> None:
    Queries({"a": {"text": "x", "n": 5, "l": [1]}}).write(tmp_path / "q.csv")
    assert read_queries(tmp_path / "q.csv").metadata_of("a") == {"n": "5", "l": "[1]"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1\tone\n2\ttwo\n", {"1": "one", "2": "two"}),
        ('1\t"to be" or not\n2\t"open\n3\t6"\n', {"1": '"to be" or not', "2": '"open', "3": '6"'}),
        ('qid\ttext\n1\t"open\n2\t6"\n', {"1": '"open', "2": '6"'}),
        ('qid\ttext\n1\t"to be"\n2\tb\n', {"1": '"to be"', "2": "b"}),
        ('qid\ttext\n1\t"say ""hi"""\n2\t"two\nlines"\n', {"1": 'say "hi"', "2": "two\nlines"}),
        ('"qid"\t"text"\n1\t"to be"\n2\t""\n3\t\n', {"1": "to be", "2": "", "3": ""}),
        ("12\ttopic\n13\tid\n", {"12": "topic", "13": "id"}),
        ("\ufefftext\tQID\r\n\r\none\t007\r\n", {"007": "one"}),
        ("1\t\n", {"1": ""}),
    ],
)
def test_tsv_as_found(tmp_path: Path, content: str, expected: dict[str, str]) -> None:
    assert dict(read_queries(put(tmp_path, content, "q.tsv")).items()) == expected
    assert dict(read_queries(put(tmp_path, content, "q.txt")).items()) == expected


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("q.json", '{"1": "a", "2": {"text": "b"}}', ["1", "2"]),
        ("q.json", '[{"id": 1, "text": "a"}]', ["1"]),
        ("q.json", '{"_id": "1", "text": "a"}\n{"_id": "2", "text": "b"}\n', ["1", "2"]),
        ("q", '{"_id": "1", "text": "a"}', ["1"]),
        ("q", 'qid,text\n1,"a,b"\n', ["1"]),
        ("q.jsonl", '\ufeff{"_id": 1, "text": "a"}\r\n\r\n', ["1"]),
        ("q.csv", '1,"a\nb"\n', ["1"]),
        ("q.csv", 'qid;text\n1;"a;b"\n', ["1"]),
        ("q.csv", "1,a;b;c;d\n", ["1"]),
        ("q.csv", '[{"id": 1, "text": "a"}]', ["1"]),
        ("q", "<top><num> 1 <title> a </top>", ["1"]),
    ],
)
def test_format_found(tmp_path: Path, name: str, content: str, expected: list[str]) -> None:
    assert read_queries(put(tmp_path, content, name)).ids == expected


@pytest.mark.parametrize("name", ["q.csv", "q.tsv"])
def test_cells_may_be_long(tmp_path: Path, name: str) -> None:
    """Longer than the 128 kB at which the csv module stops, and with all that needs quotes."""
    made = Queries({"a": {"text": 'word, "word"\t\n' * 20_000, "lang": ""}, "b": "x"})
    made.write(tmp_path / name)
    assert read_queries(tmp_path / name) == made


GOOD = '{"_id": "a", "text": "x"}\n'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("q.jsonl", GOOD + "{oops}\n", "q.jsonl:2: not valid JSON"),
        ("q.jsonl", GOOD + "[1]\n", "q.jsonl:2: expected one JSON object on each line, found"),
        ("q.jsonl", GOOD + GOOD, "q.jsonl:2: query 'a' was given before, at line 1"),
        ("q.jsonl", '{"_id": "a", "_id": "b"}', "'_id' appears twice"),
        ("q.jsonl", '{"_id": true, "text": "x"}', r"q.jsonl:1: the id is 'True' \(bool\)"),
        ("q.jsonl", '{"_id": null, "text": "x"}', "q.jsonl:1: the id is null"),
        ("q.jsonl", '{"_id": "a", "text": "\\ud800"}', "surrogate"),
        ("q.jsonl", '{"_id": "a", "d": ' + "[" * 9000 + "]" * 9000 + "}", "nested (too|more than)"),
        ("q.jsonl", f'{{"_id": "a", "text": "x", "d": {"[" * 300}{"]" * 300}}}', "nested more"),
        ("q.jsonl", '{"_id": ' + "9" * 5000 + "}", "too many digits"),
        ("q.jsonl", GOOD.encode() + b'{"_id": "\xff"}', "q.jsonl:2: byte 0xff is not UTF-8"),
        ("q.json", '{"a": "x",\n "b": }', "q.json:2: not valid JSON"),
        ("q.json", '[{"text": "x"}]', "item 1: no id"),
        ("q.json", "[]", "is empty"),
        ("q.json", "5", "expected an object or a list"),
        ("q.tsv", "a\tx\nb\n", "q.tsv:2: expected 2 cells"),
        ("q.tsv", "a\tx\ty\n", "q.tsv:1: has 3 cells and no header"),
        ("q.tsv", "qid\tqid\n", "names 'qid' twice"),
        ("q.tsv", "qid\ttext\n\tx\n", "q.tsv:2: the id is null"),
        ("q.csv", 'qid,text\n1,"open\n2,b\n', "q.csv:2: a broken quoted cell .unexpected end"),
        ("q.csv", 'qid,text\n1,"a" b\n', "q.csv:2: a broken quoted cell"),
        ("q.csv", "qid,text\n", "is empty"),
        ("q.jsonl", "", "is empty"),
        ("q.txt", " \n\n", "is empty"),
        ("q.txt", "plain words", "does not look like queries"),
        ("q.parquet", b"PAR1" + b"\x07" * 64 + b"PAR1", "not a parquet file"),
        ("q.jsonl.gz", gzip.compress(GOOD.encode() * 99, mtime=0)[:-9], "cut short"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, content: str | bytes, words: str
) -> None:
    with pytest.raises(FormatError, match=words):
        read_queries(put(tmp_path, content, name))


def test_parquet_that_makes_polars_panic_is_a_format_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Queries({"a": "x"}).write(tmp_path / "q.parquet")

    def panic(*_: Any, **__: Any) -> Any:
        raise pl.exceptions.PanicException("range end index 9")

    monkeypatch.setattr("rankscope.tables.parquet.arrow_frame", panic)
    with pytest.raises(FormatError, match="PanicException"):
        read_queries(tmp_path / "q.parquet")


@LAW
@given(junk=st.binary(max_size=80), name=st.sampled_from(["q", "q.tsv", "q.csv", "q.json"]))
def test_junk_is_refused_or_read(tmp_path: Path, junk: bytes, name: str) -> None:
    with suppress(RankscopeError):
        read_queries(put(tmp_path, junk, name))


def test_cut_parquet_is_refused(tmp_path: Path) -> None:
    Queries({str(n): "x" for n in range(50)}).write(tmp_path / "q.parquet")
    whole = (tmp_path / "q.parquet").read_bytes()
    for length in range(4, len(whole), 37):
        with pytest.raises(FormatError):
            read_queries(put(tmp_path, whole[:length], "cut.parquet"))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress(GOOD.encode(), mtime=0))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert read_queries("-").ids == ["a"]


def test_names_of_formats_and_files(tmp_path: Path) -> None:
    made = Queries({"a": "x"})
    with pytest.raises(UnknownNameError, match="unknown format 'jsnl'; nearest: jsonl"):
        read_queries(tmp_path / "q", format="jsnl")
    with pytest.raises(UnknownNameError):
        made.write(tmp_path / "q", format="xls")
    with pytest.raises(InputError, match="does not tell the format"):
        made.write(tmp_path / "q.doc")
    with pytest.raises(InputError, match="no queries to write"):
        Queries({}).write(tmp_path / "q.jsonl")
    with pytest.raises(InputError, match="file not found"):
        read_queries(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        read_queries(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not COLLECTIONS.is_dir(), reason="the real collections are not here")
@pytest.mark.parametrize("name", ["recipes", "electronics", "scifact", "cranfield"])
def test_real_queries(tmp_path: Path, name: str) -> None:
    path = COLLECTIONS / name / "queries.jsonl"
    made = read_queries(path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert made.ids == [row["_id"] for row in rows]
    assert list(made.to_dict().values()) == [
        {key: value for key, value in row.items() if key != "_id"} for row in rows
    ]
    made.write(tmp_path / "q.parquet")
    assert read_queries(tmp_path / "q.parquet") == made
    assert made.to_polars().height == len(made)


@pytest.mark.parametrize("header", ["queryId\ttext", "QUERY ID\tText", "query-id\tquery"])
def test_header_names_are_compared_without_case_and_separators(tmp_path: Path, header: str) -> None:
    path = tmp_path / "queries.tsv"
    path.write_text(f"{header}\n007\thow long to boil an egg\n", encoding="utf-8")
    assert read_queries(path)["007"] == "how long to boil an egg"
