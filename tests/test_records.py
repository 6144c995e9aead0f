"""Records: documented field by field, versioned, and read back as they were written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rankscope import records
from rankscope.errors import FormatError
from rankscope.records import BenchmarkReport, EvaluationReport, ExperimentManifest, Record

KINDS = (EvaluationReport, BenchmarkReport, ExperimentManifest)


def parts() -> Iterator[type[records.Part]]:
    for value in vars(records).values():
        if isinstance(value, type) and issubclass(value, records.Part):
            yield value


@pytest.mark.parametrize("model", list(parts()), ids=lambda model: model.__name__)
def test_every_field_is_documented(model: type[records.Part]) -> None:
    silent = [name for name, field in model.model_fields.items() if not field.description]
    assert silent == []


class Grown(Record):
    """A record whose second version has renamed a field, and whose third has added one."""

    kind: ClassVar[str] = "grown"
    version: ClassVar[int] = 3
    upgrades: ClassVar[Any] = {
        1: lambda data: {**data, "value": data["score"]},
        2: lambda data: {**data, "unit": "points"},
    }

    value: float
    """The value."""
    unit: str
    """What it is counted in."""


def test_old_versions_are_brought_up_to_date() -> None:
    new = Grown.from_data({"schema": "rankscope/grown/3", "value": 1, "unit": "m"}, source="x")
    assert (new.value, new.unit) == (1.0, "m")
    middle = Grown.from_data({"schema": "rankscope/grown/2", "value": 2}, source="x")
    assert (middle.value, middle.unit) == (2.0, "points")
    old = Grown.from_data({"schema": "rankscope/grown/1", "score": 3}, source="x")
    assert (old.value, old.unit) == (3.0, "points")
    assert json.loads(old.to_json())["schema"] == "rankscope/grown/3"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"schema": "rankscope/grown/4"}, "use a newer one"),
        ({"schema": "rankscope/grown/x"}, "expected the schema 'rankscope/grown/3'"),
        ({"schema": "rankscope/scores/1"}, "came 'rankscope/scores/1'"),
        ({"schema": 3}, "expected the schema"),
        ({}, "came none"),
        ([], "expected the schema"),
        ({"schema": "rankscope/grown/3", "value": "?", "unit": ""}, "value: input should be"),
        ({"schema": "rankscope/grown/3", "value": 1}, "unit: field required"),
    ],
)
def test_what_is_none_is_one_sentence(data: object, said: str) -> None:
    with pytest.raises(FormatError, match=said) as caught:
        Grown.from_data(data, source="a.json")
    assert str(caught.value).startswith("a.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[1]", b"null", b'{"schema": 1}'])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_hostile_files_are_refused(tmp_path: Path, kind: type[Record], content: bytes) -> None:
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
