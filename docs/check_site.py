"""Fail if a page of the site would load anything from another site; `make docs` runs this.

python docs/check_site.py build/site
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*?\bsrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b[^>]*?\bhref=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|(?:@import\s*["']|url\(["']?)(?:https?:)?//[^)"']+""",
    re.IGNORECASE,
)
"""What a browser fetches without being asked to: an address after ``src``, ``href`` or ``url``."""


def main(site: Path) -> int:
    """Name every page that loads something, and return 1 if there is one."""
    pages = sorted(path for path in site.rglob("*") if path.suffix in (".html", ".css", ".svg"))
    loading = [
        (page, match[0]) for page in pages if (match := LOADED.search(page.read_text("utf-8")))
    ]
    for page, address in loading:
        print(f"{page.relative_to(site)} loads {address}", file=sys.stderr)  # noqa: T201
    return bool(loading) or not pages


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
