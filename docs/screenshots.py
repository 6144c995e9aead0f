"""Take the pictures of pages that the documentation shows: ``python docs/screenshots.py``.

It needs Playwright, Chromium and Pillow, and runs the bundled benchmark.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ASSETS = Path(__file__).parent / "assets"
SHOTS = (
    ("report", "", 1400, 900),
    ("query", "query/q046?a=reranked&b=lexical", 1400, 900),
    ("phone", "", 380, 820),
)
"""Name, address in the page, width, height."""


def main() -> None:
    """Write all pictures."""
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        command = [sys.executable, "-m", "rankscope", "demo", "--quiet", "--output", temporary]
        subprocess.run(command, check=True)
        (page,) = Path(temporary).glob("recipes-*/BenchmarkReport.html")
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, where, width, height in SHOTS:
            tab = browser.new_page(viewport={"width": width, "height": height})
            tab.goto(f"{page.as_uri()}#{where}")
            tab.wait_for_selector("html[data-ready]")
            tab.wait_for_timeout(500)
            target = ASSETS / f"{name}.png"
            tab.screenshot(path=target)
            Image.open(target).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(
                target, optimize=True
            )
            tab.close()
        browser.close()


if __name__ == "__main__":
    main()
