"""The page of the reference on known search APIs, written from `search_apis.yaml`."""

from __future__ import annotations

from pathlib import Path

import yaml

INTRODUCTION = """\
# Known search APIs

What to write for the [`http` system](../how-to/connect-a-search-api.md), to be copied and changed:
the address, the index (`products`), fields and keys are yours. A test reads each as a system; none
was run against the engine itself, so look at the first answers.
"""
SOURCE = Path(__file__).with_name("search_apis.yaml")


def search_apis_page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for name, engine in yaml.safe_load(SOURCE.read_text("utf-8")).items():
        systems = yaml.safe_dump({"systems": engine["systems"]}, sort_keys=False, width=88)
        parts.append(f"## {name}\n\n{engine['notes']}\n\n```yaml\n{systems}```\n")
    return "\n".join(parts)
