"""Traces of OpenTelemetry and OpenInference as runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope.errors import FormatError, InputError, InvalidDataError


def value(plain: Any) -> dict[str, Any]:
    """Return a value as OTLP writes it in JSON."""
    if isinstance(plain, bool):
        return {"boolValue": plain}
    if isinstance(plain, int):
        return {"intValue": str(plain)}
    if isinstance(plain, float):
        return {"doubleValue": plain}
    if isinstance(plain, list):
        return {"arrayValue": {"values": [value(item) for item in plain]}}
    if isinstance(plain, dict):
        return {"kvlistValue": {"values": pairs(plain)}}
    return {"stringValue": plain}


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(plain)} for key, plain in attributes.items()]


def batch(*spans: dict[str, Any]) -> dict[str, Any]:
    """Return what the file exporter of OpenTelemetry writes on a line."""
    resource = {"attributes": pairs({"service.name": "support-bot"})}
    scope = {"name": "openinference.instrumentation.langchain", "version": "0.1.43"}
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]
    }


def span(trace: str, attributes: dict[str, Any], name: str = "retrieve") -> dict[str, Any]:
    ids = {"traceId": trace, "spanId": "eee19b7ec3c1b174", "parentSpanId": ""}
    return {**ids, "name": name, "kind": 1, "attributes": pairs(attributes), "status": {}}


def openinference(question: str, *documents: tuple[str, float]) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": question,
        "metadata": '{"question_id": "' + question.replace(" ", "-") + '"}',
        "app.question": question.replace(" ", "-"),
    }
    for place, (doc_id, score) in enumerate(documents):
        before = f"retrieval.documents.{place}.document"
        attributes |= {
            f"{before}.id": doc_id,
            f"{before}.score": score,
            f"{before}.content": "text",
            f"{before}.metadata": json.dumps({"source": f"{doc_id}.md"}),
        }
    return attributes


LEEK = openinference("leek soup", *((f"d{n}", 1.0 - n / 100) for n in range(12)))
PIE = openinference("apple pie", ("d3", 0.5), ("d1", 0.25))
CHAT = {"openinference.span.kind": "LLM", "input.value": "prompt", "llm.model_name": "m"}
RUN = {
    "t1": {f"d{n}": 1.0 - n / 100 for n in range(12)},
    "t2": {"d3": 0.5, "d1": 0.25},
}


def phoenix(trace: str, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return a row of Phoenix's spans: columns with dotted names, documents as a list."""
    documents: list[dict[str, Any]] = []
    row: dict[str, Any] = {
        "span_kind": attributes.get("openinference.span.kind"),
        "context.span_id": "ab12",
        "context.trace_id": trace,
    }
    for key, plain in attributes.items():
        parts = key.split(".")
        if parts[:2] != ["retrieval", "documents"]:
            row[f"attributes.{key}"] = plain
            continue
        if int(parts[2]) == len(documents):
            documents.append({})
        documents[int(parts[2])][".".join(parts[3:])] = plain
    return {**row, "attributes.retrieval.documents": documents or None}


def genai(trace: str, attributes: dict[str, Any]) -> dict[str, Any]:
    documents = phoenix(trace, attributes)["attributes.retrieval.documents"]
    if not documents:
        return span(trace, {"gen_ai.operation.name": "chat"}, "chat m")
    listed = [{"id": d["document.id"], "score": d["document.score"]} for d in documents]
    text = attributes["input.value"]
    return span(
        trace,
        {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": "kb",
            "gen_ai.retrieval.query.text": text,
            "gen_ai.retrieval.documents": json.dumps(listed),
        },
        "retrieval kb",
    )


SPANS = (("t0", CHAT), ("t1", LEEK), ("t2", PIE))
FORMS: dict[str, list[Any]] = {
    "otlp": [batch(*(span(trace, attributes) for trace, attributes in SPANS))],
    "otlp lines": [batch(span(trace, attributes)) for trace, attributes in SPANS],
    "phoenix": [phoenix(trace, attributes) for trace, attributes in SPANS],
    "gen_ai": [batch(genai(trace, attributes)) for trace, attributes in SPANS],
}


def written(tmp_path: Path, form: str) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in FORMS[form]))
    return path


@pytest.mark.parametrize("form", FORMS)
def test_traces_are_runs(form: str, tmp_path: Path) -> None:
    values, pretty = FORMS[form], tmp_path / "traces.json"
    pretty.write_text(json.dumps(values if len(values) > 1 else values[0], indent=2))
    for path in (written(tmp_path, form), pretty):
        assert rs.read_run(path).to_dict() == rs.Run(values).to_dict() == RUN
        assert rs.read_run(path).questions.texts == {"t1": "leek soup", "t2": "apple pie"}


@pytest.mark.parametrize("form", ["otlp", "phoenix"])
def test_keys(form: str, tmp_path: Path) -> None:
    path = written(tmp_path, form)
    run = rs.read_run(path, query="app.question", doc="source")
    assert run["apple-pie"] == {"d3.md": 0.5, "d1.md": 0.25}
    golden = {"apple pie": ["d1"], "leek soup": ["d0"]}
    assert rs.evaluate(golden, path, "RR", query="input.value")["RR"] == (1 / 2 + 1) / 2
    wrong: list[Any] = [{"query": "typo"}, {"doc": "typo"}]
    for keys in wrong:
        with pytest.raises(InputError, match="typo"):
            rs.read_run(path, **keys)


def test_nested_attributes(tmp_path: Path) -> None:
    """As Phoenix's API gives them."""
    path = tmp_path / "traces.json"
    documents = [{"document": {"id": "d1", "score": 0.5}}]
    attributes = {"input": {"value": "q"}, "retrieval": {"documents": documents}}
    one = {
        "context": {"trace_id": "t1", "span_id": "s"},
        "span_kind": "RETRIEVER",
        "attributes": attributes,
    }
    path.write_text(json.dumps([one]))
    assert rs.read_run(path).to_dict() == {"t1": {"d1": 0.5}}
    assert rs.read_run(path).questions.texts == {"t1": "q"}


def test_several_retrievals_of_one_trace(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    empty = {"openinference.span.kind": "RETRIEVER", "input.value": '{"query": "none"}'}
    spans = [span("t1", LEEK), span("t1", PIE), span("t1", empty), span("", PIE)]
    path.write_text(json.dumps(batch(*spans)) + "\n")
    run = rs.read_run(path)
    assert set(run) == {"t1", "t1-2", "t1-3", "4"}
    assert run["t1-3"] == {}
    assert run.questions.texts["t1-3"] == "none"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps(batch(span("t1", CHAT), span("t2", CHAT))) + "\n")
    with pytest.raises(FormatError, match="no retrieval among its 2 spans"):
        rs.read_run(path)
    twice = openinference("q", ("d1", 0.5), ("d1", 0.4))
    path.write_text(json.dumps(batch(span("t1", twice))) + "\n")
    with pytest.raises(InvalidDataError, match="RS106"):
        rs.read_run(path)
    assert rs.read_run(path, duplicates="first").to_dict() == {"t1": {"d1": 0.5}}
    nameless = {"retrieval.documents.0.document.content": "text", "input.value": "q"}
    path.write_text(
        json.dumps(batch(span("t0", CHAT))) + "\n" + json.dumps(batch(span("t1", nameless)))
    )
    with pytest.raises(InputError, match=r"traces\.jsonl:2: .*'content'"):
        rs.read_run(path)
    path.write_text(json.dumps(batch(span("t1", LEEK))) + "\n{")
    with pytest.raises(FormatError, match=r"traces\.jsonl:2"):
        rs.read_run(path)


@pytest.mark.parametrize(
    "attributes",
    [
        [],
        "text",
        [None, 1, {"key": 1}],
        {"retrieval.documents": "[" * 5000},
        {"gen_ai.retrieval.documents": "[1, 2]"},
        {"retrieval.documents.99999999999999999999.document.id": "x"},
        {"retrieval": {"documents": [{"document": {"id": {"a": 1}}}]}},
        {"openinference.span.kind": ["RETRIEVER"], "input.value": 7},
    ],
)
def test_odd_spans_are_refused_in_a_sentence(attributes: Any, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps({"trace_id": "t", "span_id": "s", "attributes": attributes}) + "\n")
    with pytest.raises(InputError) as error:
        rs.read_run(path)
    assert "traces.jsonl" in str(error.value)
    assert len(str(error.value)) < 1_000
