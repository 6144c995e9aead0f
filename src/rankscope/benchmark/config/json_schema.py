"""The JSON schema of a config, for editors that complete and check while it is written.

It follows from the models of the config and from the registers of systems and their parts; it is
what ``rankscope benchmark schema config`` prints.
"""

from __future__ import annotations

from typing import Any

from rankscope.benchmark.config.model import Config
from rankscope.benchmark.config.sweeps import SWEEP
from rankscope.part import DocumentedSchema
from rankscope.retrieval.registry import SYSTEMS, spec_schema
from rankscope.retrieval.vector.embedders import EMBEDDERS


def config_json_schema() -> dict[str, Any]:
    """Return the JSON schema of a config, with every system and its options."""
    schema = Config.model_json_schema(schema_generator=DocumentedSchema)
    schema["$defs"]["System"] = spec_schema(SYSTEMS)
    schema["$defs"]["NamedSystem"] = _with_sweeps(spec_schema(SYSTEMS))
    schema["$defs"]["Embedder"] = spec_schema(EMBEDDERS)
    schema["properties"]["systems"] |= {
        "minProperties": 1,
        "additionalProperties": {"$ref": "#/$defs/NamedSystem"},
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema


def _with_sweeps(schema: dict[str, Any]) -> dict[str, Any]:
    """Let the options of a system have a sweep beside them."""
    values = {"type": "array", "minItems": 1}
    sweep = {
        "type": "object",
        "description": "Options with lists of values: a system for each combination.",
        "additionalProperties": values,
        "minProperties": 1,
    }
    for entry in schema["anyOf"][1]["properties"].values():
        options = entry["anyOf"][0]
        options["properties"] = {**options.get("properties", {}), SWEEP: sweep}
        options.pop("required", None)  # it may be in the sweep
    return schema
