"""What servers say when they refuse: the sentence in an error page, whatever its shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress

from rankscope.errors import shown

_REASONS = (
    *("root_cause", "message", "msg", "reason", "detail", "description"),
    *("error", "errors", "root", "title"),
)
"""Where errors say what is wrong, best first; many are inside others."""


def reason_of(content: bytes) -> str:
    """Return what an error page says, as short as possible."""
    text = content[:4096].decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        data = json.loads(content[: 64 * 1024])
        for _ in range(8):  # the message is often inside: {"error": {"reason": …}}
            if isinstance(data, list) and data:
                data = data[0]
            if not isinstance(data, Mapping):
                break
            inner = next((data[name] for name in _REASONS if data.get(name)), None)
            if inner is None:
                break
            data = inner
        if isinstance(data, str):
            text = data
    text = " ".join(text.split())
    return shown(text, 240) if text else ""
