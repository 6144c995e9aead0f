"""Records: versioned, documented, read back as they were written; another version is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

from rankscope.errors import FormatError
from rankscope.part import Record
from rankscope.records import BenchmarkReport, EvaluationReport, ExperimentManifest
from rankscope.records.kept import KeptRecord

KINDS = (EvaluationReport, BenchmarkReport, ExperimentManifest)


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
    ("data", "said"),
    [
        ({"schema": "rankscope/grown/4"}, "use the version of rankscope that wrote it"),
        ({"schema": "rankscope/grown/2"}, "use the version of rankscope that wrote it"),
        ({"schema": "rankscope/grown/x"}, "expected the schema 'rankscope/grown/3'"),
        ({"schema": "rankscope/grown/0"}, "expected the schema 'rankscope/grown/3'"),
        ({"schema": "rankscope/scores/1"}, "got 'rankscope/scores/1'"),
        ({"schema": 3}, "expected the schema"),
        ({}, "got none"),
        ([], "expected the schema"),
        (
            {"schema": "rankscope/grown/3", "value": "?", "unit": ""},
            "value is '.'; expected a number",
        ),
        ({"schema": "rankscope/grown/3", "value": 1}, "unit is missing"),
    ],
)
def test_what_is_none_is_one_sentence(data: object, said: str) -> None:
    with pytest.raises(FormatError, match=said) as caught:
        Grown.from_data(data, source="a.json")
    assert str(caught.value).startswith("a.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[1]", b"null", b'{"schema": 1}'])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_hostile_files_are_refused(tmp_path: Path, kind: type[KeptRecord], content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(FormatError):
        kind.read(path)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_schemas_say_what_they_are(kind: type[Record]) -> None:
    schema = kind.json_schema()
    assert schema["properties"]["schema"]["const"] == kind.schema_name()
    assert "schema" in schema["required"]
    json.dumps(schema)
