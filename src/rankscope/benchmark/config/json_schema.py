"""The JSON schema of a config, for editors that complete and check while it is written.

Made from the same models and registers that `config` and `config_systems` check with; it is what
``rankscope benchmark schema config`` prints.
"""

from __future__ import annotations

from typing import Any

from rankscope.benchmark.config.model import Config
from rankscope.benchmark.config.rag_spec import BLOCK, RetrievalMetrics
from rankscope.benchmark.config.specs import STAGES, register_of
from rankscope.retrieval.registry import SYSTEMS, Entry, Registry
from rankscope.retrieval.vector.embedders import EMBEDDERS

__all__ = ["config_json_schema"]


def config_json_schema() -> dict[str, Any]:
    """Return the JSON schema of a config, with every system and its options, for editors."""
    made = Config.model_json_schema()
    definitions = made.setdefault("$defs", {})
    block = RetrievalMetrics.model_json_schema()
    definitions.update(block.pop("$defs", {}))
    definitions["RetrievalMetrics"] = block
    definitions["System"] = _spec_schema(SYSTEMS)
    definitions["Embedder"] = _spec_schema(EMBEDDERS)
    properties = made["properties"]
    properties["systems"] = {
        "description": properties["systems"]["description"],
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"$ref": "#/$defs/System"},
    }
    properties[BLOCK] = {
        "description": "The RAG specification's way to say what is measured, instead of measures.",
        "$ref": "#/$defs/RetrievalMetrics",
    }
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return made


def _spec_schema(registry: Registry[Any]) -> dict[str, Any]:
    """Return the schema of a spec: a kind by name, or one kind with its options."""
    return {
        "anyOf": [
            {
                "type": "string",
                "anyOf": [
                    {"const": entry.name, "description": entry.summary} for entry in registry
                ],
            },
            {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": False,
                "properties": {entry.name: _entry_schema(entry) for entry in registry},
            },
        ]
    }


def _entry_schema(entry: Entry[Any]) -> dict[str, Any]:
    options = {}
    for option in entry.described():
        options[option.name] = {
            **_option_schema(entry.name, option.name, option.default, required=option.required),
            "description": option.doc,
        }
    table = {
        "type": "object",
        "additionalProperties": False,
        "properties": options,
        "required": [option.name for option in entry.described() if option.required],
    }
    short = {"type": ["string", "number", "boolean", "array", "null"]}
    return {"description": entry.summary, "anyOf": [table, short]}


def _option_schema(kind: str, name: str, default: Any, *, required: bool) -> dict[str, Any]:
    """Return what is known of an option's value: its part, or the type of its default."""
    if name == "of" and kind in STAGES:
        one = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/System"}]}
        return {"type": "array", "items": one, "minItems": 1} if kind == "fuse" else one
    part = register_of(kind, name)
    if part is not None:
        return (
            {"$ref": "#/$defs/Embedder"} if part is EMBEDDERS else _entry_schema(part.entry(name))
        )
    if required or default is None:
        return {}
    types = {bool: "boolean", int: "integer", float: "number", str: "string"}
    known = types.get(type(default))
    return {} if known is None else {"default": default, "type": known}
