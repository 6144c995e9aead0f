"""Parts: results are defined once, documented field by field, and read back as written."""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest

import rankscope
import rankscope as rs
from rankscope.diagnosis.analysis import analyses_model
from rankscope.errors import FormatError
from rankscope.findings import Finding
from rankscope.part import (
    FileRef,
    High,
    Low,
    Part,
    Private,
    Record,
    checked,
    field_docs,
    left_out,
)
from rankscope.records.report import EvaluationReport
from rankscope.scoring.score_files import ScoreRecord
from rankscope.statistics.intervals import mean_intervals
from rankscope.statistics.power import plan_power


def modules() -> Iterator[str]:
    native = "rankscope.tables._scan"  # a library that only looks like a module
    skipped = ("rankscope.__main__", "rankscope.cli", "rankscope.retrieval", native)
    for module in pkgutil.walk_packages(rankscope.__path__, "rankscope."):
        if not module.name.startswith(skipped):
            yield module.name


def subclasses(kind: type[Part]) -> Iterator[type[Part]]:
    for model in kind.__subclasses__():
        yield model
        yield from subclasses(model)


def parts() -> list[type[Part]]:
    for name in modules():
        importlib.import_module(name)
    ours = {model for model in subclasses(Part) if model.__module__.startswith("rankscope.")}
    return sorted(ours, key=lambda model: (model.__module__, model.__name__))


PARTS = [
    model
    for model in parts()
    if not model.__name__.startswith("_") and model.model_fields  # not a base
]


def test_every_field_is_documented() -> None:
    for model in PARTS:
        docs = field_docs(model)
        described = {name for name, field in model.model_fields.items() if field.description}
        assert model.model_fields.keys() <= docs.keys() | described, model
        assert model.__doc__, model


def test_a_schema_describes_every_field() -> None:
    schema = EvaluationReport.json_schema()
    json.dumps(schema)
    assert schema["properties"]["schema"]["const"] == EvaluationReport.schema_name()
    for model in (schema, *schema["$defs"].values()):
        for name, entry in model.get("properties", {}).items():
            assert "description" in entry, (model.get("title"), name)


def test_names_of_parts_are_taken_once() -> None:
    names = [model.__name__ for model in PARTS]
    assert sorted(names) == sorted(set(names))


# --- read back as written ------------------------------------------------------------------------

QRELS = {f"q{n}": {"a": 1, "b": 2} for n in range(12)}
ONE = {query_id: {"a": 2.0, "x": 1.0, "b": 0.5} for query_id in QRELS}
TWO = {q: {"b": float(n % 3), "x": 1.5, "a": 1.5} for n, q in enumerate(QRELS)}
BETTER = {query_id: {"b": 2.0, "a": 1.0} for query_id in QRELS}


def results() -> Iterator[Part]:
    runs = {"one": ONE, "two": TWO, "three": BETTER}
    seeds = {"both": ["one", "two"]}
    measures = ["nDCG@2", "RR", "NumRet", "DCG@3"]
    fast: Any = {"resamples": 100}
    yield rs.compare(QRELS, runs, measures, margin=0.1, **fast)
    yield rs.compare(QRELS, runs, measures, baseline="three", seeds=seeds, **fast)
    yield rs.gate(ONE, TWO, ["nDCG@2", "RR"], qrels=QRELS, **fast)
    yield rs.power(QRELS, ONE, TWO, ["nDCG@2", "RR"], target=0.1)
    yield plan_power(sd=0.2, difference=0.1, queries=[1, 20])
    yield rs.explain(QRELS, ONE, "q1", "nDCG@2")
    yield rs.why(QRELS, TWO, "nDCG@2", numbers=["0.5"])
    yield rs.validate_run(TWO, qrels=QRELS)
    yield from rs.bounds(QRELS, TWO, ["RR", "AP"])
    yield rs.evaluate(QRELS, {"one": ONE, "two": TWO}, ["RR", "AP"]).record()
    yield from mean_intervals(np.array([[1.0] * 12, range(12)]))


@pytest.mark.parametrize("result", list(results()), ids=lambda result: type(result).__name__)
def test_what_is_written_is_read_back(result: Part) -> None:
    data = json.loads(result.to_json())
    assert data == result.to_dict()
    back = type(result).model_validate(data)
    assert back.to_dict() == result.to_dict()
    if isinstance(result, Record):
        assert next(iter(data)) == "schema"
        assert type(result).from_data(data, source="x.json").to_dict() == result.to_dict()


def test_infinite_effects_keep_their_sign() -> None:
    """JSON has no infinity; the sign of the difference says which one it was."""
    comparison = rs.compare(QRELS, {"one": ONE, "better": BETTER}, ["RR", "nDCG@1"], resamples=100)
    for base in ("one", "better"):
        result = rs.compare(
            QRELS, {"one": ONE, "better": BETTER}, ["nDCG@1"], baseline=base, resamples=100
        )
        [pair] = result.pairs
        assert pair.d == math.copysign(math.inf, pair.difference)
        assert pair.to_dict()["d"] is None
        assert type(pair).model_validate(pair.to_dict()) == pair
    assert [pair.d for pair in comparison.pairs] == [0.0, math.inf]


# --- the base ------------------------------------------------------------------------------------


class Small(Part):
    """A part with everything that is special."""

    low: Low
    """The lower end."""
    high: High
    """The upper end."""
    extra: str | None = left_out()
    """Seldom there."""


def test_infinite_ends_are_null() -> None:
    small = Small(low=-math.inf, high=math.inf)
    assert small.to_dict() == {"low": None, "high": None}
    assert Small.model_validate({"low": None, "high": None}) == small
    assert Small(low=0, high=1, extra="x").to_dict() == {"low": 0.0, "high": 1.0, "extra": "x"}
    assert small.json_schema()["properties"]["low"]["anyOf"] == [
        {"type": "number"},
        {"type": "null"},
    ]


def test_parts_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Small(low=0, high=1).low = 1.0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"path": "a", "sha256": "b"}, "bytes"),
        ({"path": 1, "sha256": "b", "bytes": 2}, "path is '1'"),
        ({"path": "a", "sha256": "b", "bytes": "x"}, "bytes is 'x'"),
        ([], r"'\[\]'"),
    ],
)
def test_what_does_not_fit_is_one_sentence(data: object, said: str) -> None:
    with pytest.raises(FormatError, match=f"^a.json: .*{said}") as caught:
        checked(FileRef, data, source="a.json")
    assert "\n" not in str(caught.value)


def test_places_in_lists_are_numbered() -> None:
    data = rs.evaluate(QRELS, ONE, "RR").to_dict()
    data["runs"]["run"]["bounds"] = [
        {"measure": "RR", "value": "high", "ties": None, "holes": None}
    ]
    with pytest.raises(FormatError, match=r"runs\.run\.bounds\[0\]\.value is 'high'; expected a"):
        ScoreRecord.from_data(data, source="a.json")


def test_a_finding_names_its_system_only_where_it_is_about_one() -> None:
    finding = Finding(code="RS1", name="x", severity="note", message="m", advice="a")
    assert "system" not in finding.to_dict()
    assert finding.model_copy(update={"system": "bm25"}).to_dict()["system"] == "bm25"


TEXTS = {"text", "title", "source_text", "snippet"}


def test_what_analyses_quote_is_marked_as_private() -> None:
    """A page without texts leaves out what is marked; sentences of our own are never null."""
    seen: set[type[Part]] = set()

    def parts_in(model: type[Part]) -> None:
        seen.add(model)
        for field in model.model_fields.values():
            for part in _classes(field.annotation):
                if part not in seen:
                    parts_in(part)

    parts_in(analyses_model())
    assert len(seen) > 50
    for model in seen:
        for name, field in model.model_fields.items():
            if name in TEXTS and field.annotation is not str:
                assert any(isinstance(mark, Private) for mark in field.metadata), (model, name)


def _classes(annotation: Any) -> Iterator[type[Part]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for inner in get_args(annotation):
        yield from _classes(inner)
