"""A real browser for tests: Chromium, which loads nothing but what this machine serves.

These tests take long and need Playwright and Chromium: they run where ``RANKSCOPE_BROWSER`` is 1.
``RANKSCOPE_AXE`` names axe.min.js of axe-core, for checks of accessibility.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def _missing() -> str:
    if os.environ.get("RANKSCOPE_BROWSER") != "1":
        return "tests in a browser run where RANKSCOPE_BROWSER is 1"
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed"
    return "" if PROGRAM else "there is no Chromium"


MISSING = _missing()
NEEDS_BROWSER = pytest.mark.skipif(bool(MISSING), reason=MISSING or "there is a browser")

AXE = os.environ.get("RANKSCOPE_AXE", "")
NEEDS_AXE = pytest.mark.skipif(not AXE, reason="RANKSCOPE_AXE names no axe.min.js")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        yield program
        program.close()


_HERE = ("file:///", "http://127.0.0.1:", "data:", "blob:")


class Watched:
    """What a page did that it should not: errors, dialogs, requests that leave this machine."""

    def __init__(self, page: Page) -> None:
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self._asked(request.url))

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(f"{kind}: {text}")

    def _dialog(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, url: str) -> None:
        if not url.startswith(_HERE):
            self.problems.append(f"request: {url}")

    def without_lost_connections(self) -> list[str]:
        """Return all problems but those of a server that was stopped on purpose."""
        return [each for each in self.problems if "net::ERR_CONNECTION" not in each]


def violations(page: Page) -> list[str]:
    """Return what axe-core objects to, by the rules of WCAG 2.2 A and AA and good practice."""
    page.evaluate(Path(AXE).read_text("utf-8"))
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    answer = page.evaluate(
        "(tags) => axe.run(document, {runOnly: {type: 'tag', values: tags}})", tags
    )
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in answer["violations"]
        for node in each["nodes"]
    ]


def fits(page: Page) -> bool:
    """Tell whether a page needs no scrolling to the side."""
    width: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return width <= 0
