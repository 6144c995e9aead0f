"""csv and JUnit: what programs read is exactly what was there."""

from __future__ import annotations

import csv
import io
import re
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings

from document.samples import any_text, document
from rankscope.document.blocks import Cell, Column, Document, Section, Table, plain_rows
from rankscope.document.csv_text import as_csv
from rankscope.document.junit import as_junit


@settings(deadline=None, max_examples=40)
@given(any_text)
def test_csv_holds_any_text(text: str) -> None:
    made = Table((Column("name", "text"), Column("value")), plain_rows([[text, 0.1], ["b", None]]))
    shown = Document("", (Section("", (made,)),))
    rows = list(csv.reader(io.StringIO(as_csv(shown, raw=True), newline="")))
    assert rows == [["name", "value"], [text, "0.1"], ["b", ""]]
    (_, (safe, _), _) = csv.reader(io.StringIO(as_csv(shown), newline=""))
    assert safe in {text, f"'{text}"}
    assert re.match(r"[=+@\t\r\n-]", safe) is None or is_number(safe)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_csv_has_the_ends_of_intervals_once_and_no_picture() -> None:
    ends = (-0.25, 0.5)
    columns = (Column("change"), Column("", "whisker"), Column("95%", "interval"))
    made = Table(columns, ((Cell(0.125), Cell(0.125, ends), Cell(interval=ends)),))
    rows = list(csv.reader(io.StringIO(as_csv(Document("", (Section("", (made,)),))), newline="")))
    assert rows == [["change", "95% low", "95% high"], ["0.125", "-0.25", "0.5"]]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("'=1", "''=1"),
        ("-", "'-"),
        ("-1-1", "'-1-1"),
        ("-1", "-1"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_no_spreadsheet_takes_text_for_a_formula(text: str, written: str) -> None:
    made = Table((Column("name", "text"), Column(text)), plain_rows([[text, -0.5]]))
    shown = Document("", (Section("", (made,)),))
    rows = list(csv.reader(io.StringIO(as_csv(shown), newline="")))
    assert rows == [["name", written], [written, "-0.5"]]
    rows = list(csv.reader(io.StringIO(as_csv(shown, raw=True), newline="")))
    assert rows == [["name", text], [text, "-0.5"]]


def test_csv_holds_every_digit() -> None:
    row = (Cell("a"), Cell(0.1 + 0.2, (1 / 3, float("inf")), "↑†", best=True), Cell(12345))
    made = Table((Column("name", "text"), Column("mean", digits=2), Column("n")), (row,))
    assert as_csv(Document("", (Section("", (made,)),))) == (
        "name,mean,mean low,mean high,n\na,0.30000000000000004,0.3333333333333333,,12345\n"
    )


@settings(deadline=None, max_examples=40)
@given(any_text)
def test_junit_always_parses(text: str) -> None:
    root = Xml.fromstring(as_junit(document(text), suite="rankscope gate"))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    assert len(list(root.iter("testcase"))) == 3
    assert len(list(root.iter("failure"))) == 1
    assert len(list(root.iter("error"))) == 1
