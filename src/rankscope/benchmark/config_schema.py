"""The JSON schema of a config, for editors that complete and check while it is written.

Made from the same models and registers that `config` and `config_systems` check with; it is what
``rankscope benchmark schema config`` prints.
"""

from __future__ import annotations

from typing import Any

from rankscope.benchmark.config import Config
from rankscope.benchmark.rag_spec import BLOCK, RetrievalMetrics
from rankscope.retrieval.registry import SYSTEMS, spec_schema
from rankscope.retrieval.vector.embedders import EMBEDDERS

__all__ = ["config_json_schema"]


def config_json_schema() -> dict[str, Any]:
    """Return the JSON schema of a config, with every system and its options, for editors."""
    made = Config.model_json_schema()
    definitions = made.setdefault("$defs", {})
    block = RetrievalMetrics.model_json_schema()
    definitions.update(block.pop("$defs", {}))
    definitions["RetrievalMetrics"] = block
    definitions["System"] = spec_schema(SYSTEMS)
    definitions["Embedder"] = spec_schema(EMBEDDERS)
    properties = made["properties"]
    properties["systems"] = {
        "description": properties["systems"]["description"],
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"$ref": "#/$defs/System"},
    }
    properties["collection"] = {
        "anyOf": [{"type": "string"}, {"$ref": "#/$defs/CollectionConfig"}],
    }
    for name in ("measures", "bands", "segments"):
        listed = properties[name]
        kept = {
            key: listed.pop(key) for key in ("description", "default", "title") if key in listed
        }
        properties[name] = {**kept, "anyOf": [{"type": "string"}, listed]}
    for name, one in Config.model_fields.items():
        properties[name].setdefault("description", one.description)
    properties[BLOCK] = {
        "description": "The RAG specification's way to say what is measured, instead of measures.",
        "$ref": "#/$defs/RetrievalMetrics",
    }
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return made
