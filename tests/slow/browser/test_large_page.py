"""A page of 7,000 queries, 6 systems and their first 20 documents is small enough, and works."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from browser.chromium import (
    NEEDS_BROWSER,
    Watched,
    browser,  # noqa: F401
)
from rankscope.document.blocks import Document, Section, sentences
from rankscope.reports.explorer.contents import Answers, Contents, gathered
from rankscope.reports.explorer.packing import report_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = NEEDS_BROWSER

QUERIES, SYSTEMS, TOP, DOCUMENTS = 7_000, 6, 20, 300_000
LARGEST = 60_000_000
"""Bytes of the page."""


def large() -> Contents:
    """Make contents at random: titles of seven words, texts of fifty-five."""
    chance = np.random.default_rng(3)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(chance.choice(letters, 6)) for _ in range(20_000)]
    pool = chance.integers(0, DOCUMENTS, (QUERIES, 40))
    ids = [f"q{number}" for number in range(QUERIES)]
    asked = chance.integers(0, 20_000, (QUERIES, 6))
    queries = pl.DataFrame(
        {
            "query_id": ids,
            "text": [" ".join(words[at] for at in row) for row in asked],
            "metadata": [f'{{"topic": "t{number % 30}"}}' for number in range(QUERIES)],
        }
    )
    answers = []
    for system in range(SYSTEMS):
        docs = chance.permuted(pool, axis=1)[:, :TOP]
        top = pl.DataFrame(
            {
                "query_id": np.repeat(ids, TOP),
                "rank": np.tile(np.arange(1, TOP + 1), QUERIES),
                "doc_id": [f"D{doc}" for doc in docs.ravel().tolist()],
                "score": chance.random(QUERIES * TOP),
                "grade": chance.choice([0.0, 1.0, np.nan], QUERIES * TOP),
                "adds": chance.random(QUERIES * TOP) / 10,
            }
        ).unique(["query_id", "doc_id"], maintain_order=True)
        values = pl.concat(
            [
                pl.DataFrame({"query_id": ids, "measure": name, "value": chance.random(QUERIES)})
                for name in ("nDCG@10", "RR@10", "R@20")
            ]
        )
        answers.append(Answers(f"system {system}", values, top))
    judged = answers[0].top.filter(pl.col("rank") == 1).select("query_id", "doc_id", "rank")
    judged = judged.with_columns(pl.lit(1.0).alias("grade"), pl.lit(1).alias("count"))

    def document(doc_id: str) -> tuple[str, str]:
        at = int(doc_id[1:])
        return (
            " ".join(words[(at * 31 + step) % 20_000] for step in range(7)),
            " ".join(words[(at * 17 + step * step) % 20_000] for step in range(55)),
        )

    return gathered(
        queries, answers, ["nDCG@10", "RR@10", "R@20"], judged, document=document, top=TOP
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("large") / "large.html"
    document = Document("Large", (Section("Verdict", (sentences(["none"]),)),))
    file.write_text(report_page(document, large()), "utf-8")
    return file


def test_it_is_within_its_budget(browser: Browser, page: Path) -> None:  # noqa: F811
    assert page.stat().st_size < LARGEST
    tab = browser.new_page(viewport={"width": 1300, "height": 900})
    watched = Watched(tab)
    tab.goto(f"{page.as_uri()}#queries", wait_until="commit")
    tab.wait_for_selector("html[data-ready]")
    tab.wait_for_selector("#list details.question .sparks svg")
    tab.select_option("#pick-show", "worsened")
    tab.wait_for_selector("[data-chip=show]")
    tab.locator("#list details.question summary").nth(3).click()
    tab.click("#list details[open] .whole a")
    tab.wait_for_selector("#board .hit")
    tab.click("#next")
    tab.wait_for_selector("#board .hit")
    assert tab.locator("#list details.question").count() < 100
    assert watched.problems == []
