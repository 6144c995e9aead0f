"""Records: versioned, documented, read back as they were written; another version is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

from rankscope.errors import FormatError
from rankscope.part import Record
from rankscope.records.report import BenchmarkReport, EvaluationReport, ExperimentManifest


class Grown(Record):
    """A record of a third version."""

    kind: ClassVar[str] = "grown"
    version: ClassVar[int] = 3

    value: float
    """The value."""
    unit: str
    """What it is counted in."""


def test_its_own_version_is_read() -> None:
    new = Grown.from_data({"schema": "rankscope/grown/3", "value": 1, "unit": "m"}, source="x")
    assert (new.value, new.unit) == (1.0, "m")
    assert json.loads(new.to_json())["schema"] == "rankscope/grown/3"


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({"schema": "rankscope/grown/4"}, "version"),
        ({"schema": "rankscope/grown/2"}, "version"),
        ({"schema": "rankscope/grown/x"}, "rankscope/grown/3"),
        ({"schema": "rankscope/grown/0"}, "rankscope/grown/3"),
        ({"schema": "rankscope/scores/1"}, "rankscope/scores/1"),
        ({"schema": 3}, "schema"),
        ({}, "schema"),
        ([], "schema"),
        ({"schema": "rankscope/grown/3", "value": "?", "unit": ""}, "value"),
        ({"schema": "rankscope/grown/3", "value": 1}, "unit"),
    ],
)
def test_what_is_none_is_one_sentence(data: object, word: str) -> None:
    with pytest.raises(FormatError, match=word) as caught:
        Grown.from_data(data, source="a.json")
    assert str(caught.value).startswith("a.json")
    assert "\n" not in str(caught.value)


def test_hostile_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for content in (b"", b"{", b"\xff", b"[1]", b"null", b'{"schema": 1}'):
        path.write_bytes(content)
        for kind in (EvaluationReport, BenchmarkReport, ExperimentManifest):
            with pytest.raises(FormatError):
                kind.read(path)
