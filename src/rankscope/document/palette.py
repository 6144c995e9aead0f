"""The colours of reports, as ``style.css`` has them: each for light pages and for dark ones."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


@cache
def palette() -> tuple[tuple[str, str, str], ...]:
    """Return the name of each colour, its light form and its dark one.

    >>> palette()[0]
    ('--ink', '#1c2430', '#e4e9f0')
    """
    style = (files("rankscope.document") / "style.css").read_text("utf-8")
    colours = re.findall(r"(--[\w-]+): light-dark\((#\w+), (#\w+)\)", style)
    return tuple((name, light, dark) for name, light, dark in colours)
