"""Tables with columns, and JSON: every shape the field writes, and what is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rankscope.collection.qrels import read_qrels
from rankscope.errors import FormatError, InputError, InvalidDataError
from rankscope.runs.table import read_run

EXPECTED = {"q1": {"d1": 2.5, "d2": 1.5}}


def put(folder: Path, content: str | bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- columns


@pytest.mark.parametrize("header", ["query_id,doc_id,score", "qid,docno,RSV", "query-id,pid,prob"])
def test_delimited_runs(header: str, tmp_path: Path) -> None:
    for separator in (",", "\t", ";"):
        text = f"{header}\nq1,d1,2.5\nq1,d2,1.5\n".replace(",", separator)
        for name in ("a.csv", "a.tsv", "a.txt", "a"):
            assert read_run(put(tmp_path, text, name)).to_dict() == EXPECTED
        crlf = "\ufeff" + text.replace("\n", "\r\n") + "\r\n"
        assert read_run(put(tmp_path, crlf, "b.csv")).to_dict() == EXPECTED


def test_beir_qrels(tmp_path: Path) -> None:
    path = put(tmp_path, "query-id\tcorpus-id\tscore\n007\t4983\t1\n7\t4983\t0\n", "test.tsv")
    assert read_qrels(path).to_dict() == {"007": {"4983": 1}, "7": {"4983": 0}}


def test_a_telling_name_wins(tmp_path: Path) -> None:
    path = put(tmp_path, "query,query_id,product_id,rank,score\nshoes,7,B0,1,0.5\n", "a.csv")
    assert read_run(path).to_dict() == {"7": {"B0": 0.5}}


def test_ranks_without_scores(tmp_path: Path) -> None:
    path = put(tmp_path, "query_id,doc_id,rank\nq,a,1\nq,b,2\n", "a.csv")
    assert read_run(path).to_dict() == {"q": {"a": -1.0, "b": -2.0}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query_id,doc_id,scr\nq,d,1\n", "scr"),
        ("query_id,score\nq,1\n", "retrieved="),
        ("a,b,c,d,e\n1,2,3,4,5\n", "retrieved="),
        ("query_id,doc_id,score\nq,d,1,more\n", ":2: "),
        ('query_id,doc_id,score\nq,"d,1\n', "quoted|RS10"),
        ("query_id,doc_id,score\nq,d,1\nq,M\udcfcnchen,1\n", ":3: "),
    ],
)
def test_columns_that_are_wrong(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_run(put(tmp_path, text.encode("utf-8", "surrogateescape"), "a.csv"))


@pytest.mark.parametrize("break_in_quotes", ["\n", "\r\n", '\n""\n'])
def test_lines_are_counted_through_quotes(break_in_quotes: str, tmp_path: Path) -> None:
    text = f'query_id,doc_id,score\nq,"a{break_in_quotes}b",1\n\nq,c,high\n'
    with pytest.raises(InvalidDataError) as refused:
        read_run(put(tmp_path, text, "a.csv"))
    (found,) = refused.value.findings
    assert found.places[0].line == text.count("\n")


# --- three columns


@pytest.mark.parametrize("separator", ["\t", " ", ","])
def test_three_columns(separator: str, tmp_path: Path) -> None:
    """Whole numbers that rise from 1 are ranks, numbers with a point are scores."""
    ranks = "7\ta\t1\n8\tx\t1\n7\tb\t2\n8\ty\t2\n".replace("\t", separator)
    scores = "q1\td1\t2.5\nq1\td2\t1.5\n".replace("\t", separator)
    for name in ("a.csv", "a") if separator == "," else ("a.tsv", "a.txt", "a"):
        run = read_run(put(tmp_path, ranks, name))
        assert run.to_dict() == {"7": {"a": -1, "b": -2}, "8": {"x": -1, "y": -2}}
        assert read_run(put(tmp_path, scores, name)).to_dict() == EXPECTED


@pytest.mark.parametrize("third", ["30 20 10", "5 5 5", "2 3 4", "1 3 2", "0 0 1"])
def test_whole_numbers_that_may_be_either_are_refused(third: str, tmp_path: Path) -> None:
    for separator, name in (("\t", "a.tsv"), (",", "a.csv")):
        text = "".join(f"q{separator}d{n}{separator}{x}\n" for n, x in enumerate(third.split()))
        with pytest.raises(FormatError, match="neither ranks"):
            read_run(put(tmp_path, text, name))


def test_six_columns_without_a_header_have_ranks_and_scores(tmp_path: Path) -> None:
    text = "q1,Q0,d1,1,30,t\nq1,Q0,d2,2,20,t\n"
    for name in ("a.csv", "a"):
        assert read_run(put(tmp_path, text, name)).to_dict() == {"q1": {"d1": 30.0, "d2": 20.0}}


# --- JSON


RUN_SHAPES: dict[str, Any] = {
    "dict of dicts": {"q1": {"d1": 2.5, "d2": 1.5}},
    "records": [
        {"qid": "q1", "docid": "d1", "score": 2.5},
        {"qid": "q1", "docid": "d2", "score": 1.5},
    ],
    "rows": [["q1", "d1", 2.5], ["q1", "d2", 1.5]],
    "results": [{"query_id": "q1", "results": [{"id": "d1", "score": 2.5}, ["d2", 1.5]]}],
    "id and text": [{"id": "q1", "question": "?", "retrieved": {"d1": 2.5, "d2": 1.5}}],
    "columns": {"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [2.5, 1.5]},
}


@pytest.mark.parametrize("shape", RUN_SHAPES)
def test_json_shapes(shape: str, tmp_path: Path) -> None:
    value = RUN_SHAPES[shape]
    for indent in (None, 2):
        path = put(tmp_path, json.dumps(value, indent=indent), "a.json")
        assert read_run(path).to_dict() == EXPECTED
    if isinstance(value, list) and isinstance(value[0], dict):
        lines = "\n\n".join(json.dumps(record) for record in value)
        for name in ("a.jsonl", "a.ndjson", "a"):
            assert read_run(put(tmp_path, lines, name)).to_dict() == EXPECTED


def test_json_lists_are_rankings(tmp_path: Path) -> None:
    path = put(tmp_path, '{"q": ["a", "b"], "p": [], "r": [7]}', "a.json")
    assert read_run(path).to_dict() == {"q": {"a": -1.0, "b": -2.0}, "r": {"7": -1.0}, "p": {}}
    assert read_qrels(path).to_dict() == {"q": {"a": 1, "b": 1}, "r": {"7": 1}, "p": {}}


def test_json_grades_by_subtopic(tmp_path: Path) -> None:
    value = {"q": {"d": {"1": 1, "2": 0}, "e": {"2": 3}}}
    assert read_qrels(put(tmp_path, json.dumps(value), "a.json")).to_dict() == value


LONG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"q": {"d": 1, "d": 2}}', "'d' appears twice"),
        ('{"q": {"d": 1}, "q": {"e": 2}}', "'q' appears twice"),
        ('[{"qid": 1, "results": ["a"]}, {"qid": "1", "results": []}]', "'1' appears twice"),
        ('{"q": {"d": NaN}}', "nan"),
        ('{"q": {"d": null}}', "missing"),
        ('{"q": {"d": "high"}}', "'high'"),
        ('{"q": {"": 1}}', "an id is missing"),
        ('{"": {"d": 1}}', "a query is missing"),
        ('{"q": 1.5}', "expected {doc_id: number}"),
        ('[{"qid": "q", "results": [["a", 1, 2]]}]', "whole number"),
        ('{"q": {"\\ud800": 1}}', "surrogate"),
        ("[" * 200_000, "JSON"),
        (f'{{"q": {{"d": {LONG}}}}}', "JSON|not a number|inf"),
        ("[]", "empty"),
        ("[true]", "whole number|flat list|cannot make"),
        ("[null]", "None|flat list|cannot make"),
        ('{"q": {"d": 1}', "JSON"),
        ("null", "object|JSON"),
    ],
)
def test_json_that_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_run(put(tmp_path, text, "a.json"))


def test_json_lines_name_the_line(tmp_path: Path) -> None:
    good = '{"qid": "q", "doc": "d", "score": 1}\n'
    for bad in ('{"qid": "q",\n', "[1]\n", '{"qid": "q", "qid": "p", "doc": "d", "score": 1}\n'):
        with pytest.raises(FormatError, match=r"a\.jsonl:3: "):
            read_run(put(tmp_path, f"{good}\n{bad}", "a.jsonl"))


# --- files of others

_PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
    'content-types"><Default Extension="xml" ContentType="application/xml"/><Override '
    'PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'spreadsheetml.sheet.main+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
    'relationships"><Relationship Id="a" Target="xl/workbook.xml" Type="http://schemas.'
    'openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/'
    'main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
    '<sheet name="s" sheetId="1" r:id="b"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/'
    '2006/relationships"><Relationship Id="b" Target="worksheets/s.xml" Type="http://schemas.'
    'openxmlformats.org/officeDocument/2006/relationships/worksheet"/></Relationships>',
}


def write_xlsx(path: Path, rows: list[list[Any]]) -> None:
    """Write a workbook by hand: one sheet, texts and numbers."""

    def cell(value: Any, place: str) -> str:
        if isinstance(value, str):
            return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
        return f'<c r="{place}"><v>{value}</v></c>'

    lines = (
        f'<row r="{n}">'
        + "".join(cell(v, f"{'ABC'[at]}{n}") for at, v in enumerate(row))
        + "</row>"
        for n, row in enumerate(rows, start=1)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{main}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w") as book:
        for name, text in {**_PARTS, "xl/worksheets/s.xml": sheet}.items():
            book.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')


def test_what_is_packed_by_lz4_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, b"\x04\x22\x4d\x18\x64\x40\xa7", "a.run.lz4")
    with pytest.raises(FormatError, match=r"a\.run\.lz4: is compressed by lz4, .*; unpack it"):
        read_run(path)


def test_spreadsheets(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_xlsx(path, [["question", "expected_ids"], ["a", "d1; d2"], ["b", "d3"]])
    assert read_qrels(path).to_dict() == {"a": {"d1": 1, "d2": 1}, "b": {"d3": 1}}
    write_xlsx(path, [["query_id", "doc_id", "score"], ["q1", "d1", 2.5], ["q1", "d2", 1.5]])
    assert read_run(path).to_dict() == EXPECTED
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(FormatError, match="not a sheet"):
        read_run(path)
