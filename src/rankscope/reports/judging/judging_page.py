"""The judging page: one file of HTML with its style and script inside, and the policy it needs.

Nothing that a user gave is in it: the script asks the server for everything, and puts it in as
text. The policy allows this very script and style, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from rankscope.document.palette import palette


class JudgingPage(NamedTuple):
    """The page and its policy."""

    html: bytes
    policy: str


def _asset(name: str) -> str:
    return (files("rankscope.reports.judging") / name).read_text("utf-8")


def _colours() -> str:
    """Return the colours of reports, light and dark, for a page with a switch between the two."""
    colours = "; ".join(f"{name}: light-dark({light}, {dark})" for name, light, dark in palette())
    return (
        f":root {{ color-scheme: light dark; {colours}; }}\n"
        ":root[data-theme=light] { color-scheme: light; }\n"
        ":root[data-theme=dark] { color-scheme: dark; }\n"
    )


def _hashed(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def judging_page() -> JudgingPage:
    """Return the page; it is the same for everybody."""
    style, script = _colours() + _asset("judging.css"), _asset("judging.js")
    html = _asset("judging.html").replace("/* style */", style).replace("/* script */", script)
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashed(script)}",
            f"style-src {_hashed(style)}",
            "connect-src 'self'",
            "img-src data:",
            "form-action 'none'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )
    return JudgingPage(html.encode(), policy)
