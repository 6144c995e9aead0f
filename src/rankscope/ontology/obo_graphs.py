"""Files of OBO graphs in JSON: nodes, and edges between them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rankscope.errors import FormatError, shown
from rankscope.ontology.term_table import (
    IS_A,
    Synonym,
    TermEntry,
    TermTable,
    short_id,
    short_name,
    short_version,
)

_SCOPES = {
    "hasExactSynonym": "EXACT",
    "hasNarrowSynonym": "NARROW",
    "hasBroadSynonym": "BROAD",
    "hasRelatedSynonym": "RELATED",
}


def terms_of_graphs(data: bytes, source: str, wanted: frozenset[str]) -> TermTable:
    """Read the terms of OBO graphs; where a file has several, they make one ontology."""
    table = TermTable()
    relations: dict[str, str] = {}
    edges: list[tuple[str, str, str]] = []
    for number, graph in enumerate(_graphs(data, source)):
        place = f"graphs[{number}]"
        version = _dict(graph, "meta", place, source).get("version")
        if not table.version and isinstance(version, str):
            table.version = short_version(version)
        here: set[str] = set()
        for node, at in _dicts(graph, "nodes", place, source):
            node_id = short_id(_text(node, "id", at, source))
            kind = node.get("type")
            if kind == "PROPERTY":
                relations[node_id] = _relation(node, node_id, at, source)
            elif kind in (None, "CLASS"):
                entry = _entry(node, node_id, at, source)
                if node_id in here or node_id not in table.terms:
                    table.add(entry, source)
                here.add(node_id)
        for edge, at in _dicts(graph, "edges", place, source):
            child, predicate, parent = (
                _text(edge, key, at, source) for key in ("sub", "pred", "obj")
            )
            edges.append((child, predicate, parent))
    for child, predicate, parent in edges:
        entry_below = table.terms.get(short_id(child))
        if entry_below is None:
            continue
        if predicate == IS_A:
            names = {IS_A}
        else:
            name = short_name(predicate)
            names = {name, relations.get(name, name)}
            table.relations.add(relations.get(name, name))
        if names & wanted:
            entry_below.parents.append(short_id(parent))
            table.relations |= names & wanted - {IS_A}
    return table


def _graphs(data: bytes, source: str) -> list[dict[str, Any]]:
    try:
        content = json.loads(data)
    except RecursionError:
        raise FormatError(
            "its JSON is nested too deeply to be an ontology", source=source
        ) from None
    except UnicodeDecodeError:
        raise FormatError("the text is not UTF-8; save the file as UTF-8", source=source) from None
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON ({error.msg})", source=source, line=error.lineno) from None
    except ValueError:  # Python refuses to read an integer of thousands of digits
        raise FormatError("a number in it has too many digits", source=source) from None
    graphs = content.get("graphs") if isinstance(content, dict) else None
    if not isinstance(graphs, list) or not graphs:
        raise FormatError(
            "not an OBO graph: expected a JSON object with the key 'graphs'; ontologies are also "
            "read as OBO, OWL (RDF/XML) or a table of child and parent",
            source=source,
        )
    return [graph for graph, _ in _dicts(content, "graphs", "", source)]


def _entry(node: dict[str, Any], node_id: str, at: str, source: str) -> TermEntry:
    meta = _dict(node, "meta", at, source)
    at = f"{at}.meta"
    entry = TermEntry(node_id, _text(node, "lbl", at, source, default=""))
    definition = _dict(meta, "definition", at, source)
    if definition:
        entry.definition = _text(definition, "val", f"{at}.definition", source)
    entry.is_obsolete = meta.get("deprecated") is True
    for synonym, place in _dicts(meta, "synonyms", at, source):
        scope = _SCOPES.get(short_name(_text(synonym, "pred", place, source)), "RELATED")
        kind = short_name(_text(synonym, "synonymType", place, source, default=""))
        entry.synonyms.append(Synonym(_text(synonym, "val", place, source), scope, kind))
    for name, value in _properties(meta, at, source):
        if name == "hasAlternativeId":
            entry.alternatives.append(short_id(value))
        elif name == "IAO:0100001":
            entry.replaced_by.append(short_id(value))
    return entry


def _relation(node: dict[str, Any], node_id: str, at: str, source: str) -> str:
    """Return the name that OBO files have for a relation: ``part_of`` for BFO:0000050."""
    properties = dict(_properties(_dict(node, "meta", at, source), f"{at}.meta", source))
    label = _text(node, "lbl", at, source, default="").replace(" ", "_")
    return properties.get("shorthand") or label or node_id


def _properties(meta: dict[str, Any], at: str, source: str) -> Iterator[tuple[str, str]]:
    for pair, place in _dicts(meta, "basicPropertyValues", at, source):
        name = short_name(_text(pair, "pred", place, source))
        if name in ("hasAlternativeId", "IAO:0100001", "shorthand"):
            yield name, _text(pair, "val", place, source)


# --- what a JSON value must be -------------------------------------------------------------------


def _dicts(
    parent: dict[str, Any], key: str, at: str, source: str
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the objects in a list, with their places."""
    values = parent.get(key)
    path = f"{at}.{key}".lstrip(".")
    if values is None:
        return
    if not isinstance(values, list):
        raise _wrong(path, "a list", values, source)
    for number, value in enumerate(values):
        place = f"{path}[{number}]"
        if not isinstance(value, dict):
            raise _wrong(place, "an object", value, source)
        yield value, place


def _dict(parent: dict[str, Any], key: str, at: str, source: str) -> dict[str, Any]:
    value = parent.get(key)
    if value is not None and not isinstance(value, dict):
        raise _wrong(f"{at}.{key}", "an object", value, source)
    return value or {}


def _text(
    parent: dict[str, Any], key: str, at: str, source: str, default: str | None = None
) -> str:
    value = parent.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise _wrong(f"{at}.{key}", "a text", value, source)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # JSON can spell half a character: \\ud83d
            raise _wrong(f"{at}.{key}", "a text", value, source) from None
    return value


def _wrong(place: str, expected: str, got: object, source: str) -> FormatError:
    if isinstance(got, list | dict):
        what = "a list" if isinstance(got, list) else "an object"
    else:
        what = "nothing" if got is None else shown(got)
    return FormatError(
        f"not an OBO graph: expected {expected} at {place}, got {what}", source=source
    )
