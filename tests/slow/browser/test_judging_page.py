"""The judging page in a real browser: by keyboard, in two tabs, with hostile texts, when killed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from judging_client import POOL, Client, Served, serving, start, stop, write_pool

from browser.chromium import (
    NEEDS_AXE,
    NEEDS_BROWSER,
    Watched,
    browser,  # noqa: F401
    fits,
    violations,
)
from rankscope import read_qrels
from rankscope.reports.judging.judgment_log import Judgment, JudgmentLog

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = NEEDS_BROWSER

ARGUMENTS = ("pool.jsonl", "--corpus", "corpus.jsonl", "--queries", "queries.jsonl")
SIZES = {"wide": (1600, 900), "phone": (360, 740)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_pool(tmp_path / "pool.jsonl")
    documents = [
        {"_id": f"d{n}", "title": f"Title {n}", "text": f"Body {n}. " * 60, "price": n}
        for n in range(1, 5)
    ]
    queries = [
        {"_id": f"q{n}", "text": f"question {n}", "narrative": f"what is wanted of {n}"}
        for n in range(1, 4)
    ]
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines)
    return tmp_path


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    with serving(folder, *ARGUMENTS, "--rater", "ann") as served:
        yield served


def kept(folder: Path, rater: str = "ann") -> dict[tuple[str, str], Judgment]:
    log = JudgmentLog(folder / "pool.jsonl.judgments.jsonl")
    return {(pair.query_id, pair.doc_id): given for pair, given in log.judgments.of(rater).items()}


def opened(browser: Browser, link: str, *, is_ready: bool = True, **options: Any) -> Page:  # noqa: F811
    context = browser.new_context(**options)
    page = context.new_page()
    page.goto(link)
    if is_ready:
        page.wait_for_selector("#document h2")
    return page


def shown(page: Page) -> tuple[str, str]:
    return page.inner_text("#query-id"), page.inner_text("#document .label code")


def press(page: Page, key: str) -> None:
    """Press a key, and wait until it is saved and the next document is there."""
    before = page.inner_text("#progress-text")
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.getElementById('progress-text').textContent !== before"
        " && document.body.dataset.busy === 'false'",
        arg=before,
    )


def test_judging_by_keyboard_alone(browser: Browser, served: Served, folder: Path) -> None:  # noqa: F811
    page = opened(browser, served.client.link)
    watched = Watched(page)
    given = {}
    for turn in range(12):
        key = "0123x"[turn % 5]
        given[shown(page)] = key
        press(page, key)
        assert "Saved: " in page.inner_text("#status")
    assert page.is_visible("#done")
    assert page.inner_text("#progress-text") == "12 of 12"
    assert {
        pair: "x" if each.cannot else str(each.grade) for pair, each in kept(folder).items()
    } == given
    assert watched.problems == []


def test_undo_back_skip_and_reason(browser: Browser, served: Served, folder: Path) -> None:  # noqa: F811
    page = opened(browser, served.client.link)
    first = shown(page)
    page.keyboard.press("r")
    page.keyboard.type("has 3 of 4 x u")  # keys that mean something elsewhere
    page.keyboard.press("Enter")
    press(page, "2")
    assert (kept(folder)[first].grade, kept(folder)[first].reason) == (2, "has 3 of 4 x u")
    press(page, "u")
    assert shown(page) == first
    assert kept(folder) == {}
    assert page.input_value("#reason") == "has 3 of 4 x u", "what was typed is not lost"
    press(page, "3")
    second = shown(page)
    page.keyboard.press("n")
    page.wait_for_selector("#status:text('Skipped')")
    assert shown(page) != second
    page.keyboard.press("p")
    page.wait_for_selector("#status:text('Back')")
    assert shown(page) == second
    page.keyboard.press("p")
    page.wait_for_selector(".before:text('You judged this: 3 perfect')")
    assert page.get_attribute("#grades [data-grade='3']", "aria-pressed") == "true"
    page.keyboard.press("1")
    page.wait_for_selector("#status:text('Saved: 1 related.')")
    assert kept(folder)[first].grade == 1


def test_a_held_key_counts_once(browser: Browser, served: Served, folder: Path) -> None:  # noqa: F811
    page = opened(browser, served.client.link)
    page.keyboard.down("1")
    for _ in range(5):
        page.keyboard.down("1")  # as a keyboard repeats it
    page.keyboard.up("1")
    page.wait_for_function("() => document.body.dataset.busy === 'false'")
    assert "once" in page.inner_text("#status") or "Saved" in page.inner_text("#status")
    assert len(kept(folder)) == 1


def test_a_key_while_saving_is_refused_visibly(browser: Browser, served: Served) -> None:  # noqa: F811
    page = opened(browser, served.client.link)

    held: list[Any] = []

    def hold(route: Any) -> None:  # it is being saved for as long as we like
        held.append(route)

    page.route("**/api/judge", hold)
    page.keyboard.press("1")
    page.wait_for_function("() => document.body.dataset.busy === 'true'")
    page.keyboard.press("2")
    page.wait_for_selector("#status:text('that key was not used')")
    for route in held:
        route.continue_()
    page.wait_for_selector("#status:text('Saved: 1')")


def test_a_server_killed_midway_loses_nothing_and_the_page_says_so(
    browser: Browser,  # noqa: F811
    folder: Path,
) -> None:
    served = start(folder, *ARGUMENTS, "--rater", "ann")
    page = opened(browser, served.client.link)
    watched = Watched(page)
    for key in "123":
        press(page, key)
    saved = kept(folder)
    assert len(saved) == 3
    unsaved = shown(page)
    served.process.kill()
    served.process.communicate(timeout=30)
    page.keyboard.press("2")
    page.wait_for_selector("#alert:text('NOT SAVED YET: 2 relevant')")
    assert "What was shown as saved is safe" in page.inner_text("#alert")
    assert shown(page) == unsaved, "it does not go on"
    assert kept(folder) == saved
    again = start(folder, *ARGUMENTS, "--rater", "ann")
    try:
        assert again.client.host == served.client.host
        page.wait_for_selector("#alert:text('open the link that it printed now')")
        assert "NOT SAVED YET" in page.inner_text("#alert")
        fresh = page.context.new_page()
        fresh.goto(again.client.link)
        fresh.wait_for_selector("#status:text('Saved now: 1 judgment from before the restart')")
        assert kept(folder)[unsaved].grade == 2
        assert len(kept(folder)) == 4
        assert shown(fresh) not in kept(folder)
        assert stop(again)[0] == 0
    finally:
        again.process.kill()
    lost = [each for each in watched.without_lost_connections() if "403" not in each]
    assert lost == []


def test_what_cannot_be_saved_after_a_restart_is_said(browser: Browser, served: Served) -> None:  # noqa: F811
    page = opened(browser, served.client.link)
    entry = {"id": "11111111", "key": "gone", "grade": 2, "rater": "ann", "title": "Old one"}
    page.evaluate(
        "entry => localStorage.setItem('rankscope.unsaved.11111111', JSON.stringify(entry))", entry
    )
    page.reload()
    page.wait_for_selector("#alert:text('NOT SAVED: 2 relevant for “Old one”')")
    assert "not in the pool that is judged now" in page.inner_text("#alert")
    page.wait_for_selector("#document h2")
    press(page, "1")


def test_a_lost_answer_counts_once(browser: Browser, served: Served, folder: Path) -> None:  # noqa: F811
    page = opened(browser, served.client.link)
    turns = []

    def lose(route: Any) -> None:
        turns.append(1)
        if len(turns) == 1:
            route.fetch()  # the server saves, and its answer is lost
            route.abort()
        else:
            route.continue_()

    page.route("**/api/judge", lose)
    page.keyboard.press("3")
    page.wait_for_selector("#alert:text('NOT SAVED YET')")
    page.wait_for_selector("#status:text('Saved: 3 perfect')")
    page.wait_for_selector("#alert:empty", state="attached")
    lines = (folder / "pool.jsonl.judgments.jsonl").read_text().splitlines()
    assert len(lines) == 1


def test_the_page_asks_who_judges(browser: Browser, folder: Path) -> None:  # noqa: F811
    with serving(folder, *ARGUMENTS) as served:
        page = opened(browser, served.client.link, is_ready=False)
        page.wait_for_selector("#welcome")
        page.fill("#rater", "gold")
        page.click("#begin")
        page.wait_for_selector("#welcome-problem:text('choose another name')")
        page.fill("#rater", "bob")
        page.keyboard.press("Enter")
        page.wait_for_selector("#document h2")
        first = shown(page)
        press(page, "3")
    assert kept(folder, "bob")[first].grade == 3


@pytest.mark.parametrize("place", [0, 1])
def test_downloads(browser: Browser, served: Served, tmp_path: Path, place: int) -> None:  # noqa: F811
    page = opened(browser, served.client.link)
    judged = shown(page)
    press(page, "2")
    page.keyboard.press("e")
    with page.expect_download() as waiting:
        page.locator("#panel-body button").nth(place).click()
    target = tmp_path / f"out{(Path(waiting.value.suggested_filename)).suffix}"
    waiting.value.save_as(target)
    assert read_qrels(target).to_dict() == {judged[0]: {judged[1]: 2}}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_light_and_dark_fit_all_widths(
    browser: Browser,  # noqa: F811
    served: Served,
    size: str,
    scheme: str,
) -> None:
    width, height = SIZES[size]
    page = opened(
        browser,
        served.client.link,
        viewport={"width": width, "height": height},
        color_scheme=scheme,
    )
    watched = Watched(page)
    paper = {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 18, 22)"}
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == paper[scheme]
    for key in ("", "g", "a", "e", "?"):
        if key:
            page.keyboard.press(key)
            page.wait_for_timeout(150)
        assert fits(page), key
        if not page.is_visible("#panel"):
            for grade in "0123x":
                box = page.locator(f"#grades [data-grade='{grade}']").bounding_box()
                assert box is not None
                assert box["y"] + box["height"] <= height, "keys are always visible"
                assert min(box["width"], box["height"]) >= 44, "large enough for a thumb"
    page.keyboard.press("Escape")
    if size == "phone":
        page.click("#menu")
    other = "dark" if scheme == "light" else "light"
    for _ in range(2):
        page.click("#tool-theme")
        if page.evaluate(colour) == paper[other]:
            break
        if size == "phone" and not page.is_visible("#tool-theme"):
            page.click("#menu")
    assert page.evaluate(colour) == paper[other], "the switch wins over the system"
    page.reload()
    page.wait_for_selector("#document h2")
    assert page.evaluate(colour) == paper[other], "and is remembered"
    assert watched.problems == []


@NEEDS_AXE
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(browser: Browser, folder: Path, size: str, scheme: str) -> None:  # noqa: F811
    width, height = SIZES[size]
    with serving(folder, *ARGUMENTS) as served:
        for key in served.client.keys("bob")[:4]:
            served.client.judge("bob", key, 0)
            served.client.judge("ann", key, 3)
        page = opened(
            browser,
            served.client.link,
            is_ready=False,
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            bypass_csp=True,
        )
        page.wait_for_selector("#welcome")
        assert violations(page) == []
        page.fill("#rater", "ann")
        page.keyboard.press("Enter")
        page.wait_for_selector("#document h2")
        assert violations(page) == []
        press(page, "2")
        page.keyboard.press("r")
        assert violations(page) == []
        page.keyboard.press("Escape")
        for key in ("g", "e", "?"):
            page.keyboard.press(key)
            page.wait_for_selector("#panel")
            page.wait_for_timeout(150)
            assert violations(page) == [], key
            page.keyboard.press("Escape")
        while page.is_visible("#card"):
            press(page, "1")
        assert violations(page) == []


def test_all_of_a_long_query_can_be_read(browser: Browser, tmp_path: Path) -> None:  # noqa: F811
    asked = "a question of some length, " * 4 + "and its end"
    write_pool(tmp_path / "pool.jsonl", [{"query_id": "q", "doc_id": "d", "text": asked}])
    with serving(tmp_path, "pool.jsonl", "--rater", "ann") as served:
        page = opened(browser, served.client.link, viewport={"width": 1600, "height": 900})
        assert page.is_hidden("#query-whole"), "the heading holds it"
        page.set_viewport_size({"width": 360, "height": 740})
        page.wait_for_selector("#query-whole")
        assert page.inner_text("#query-whole") == asked


def test_single_keys_can_be_turned_off(browser: Browser, served: Served, folder: Path) -> None:  # noqa: F811
    page = opened(browser, served.client.link)
    page.keyboard.press("?")
    page.uncheck("#single-keys")
    page.click("#panel-close")
    page.keyboard.press("2")
    page.wait_for_timeout(200)
    assert kept(folder) == {}
    page.click("#grades [data-grade='2']")
    page.wait_for_selector("#status:text('Saved: 2')")


def test_a_covered_document_is_not_judged(browser: Browser, served: Served, folder: Path) -> None:  # noqa: F811
    page = opened(browser, served.client.link, viewport={"width": 360, "height": 740})
    page.keyboard.press("g")
    page.wait_for_selector("#panel")
    page.keyboard.press("1")
    page.wait_for_selector("#panel", state="hidden")
    assert kept(folder) == {}
    press(page, "1")
    assert len(kept(folder)) == 1


def test_digits_of_keyboards_that_need_shift_for_them(
    browser: Browser,  # noqa: F811
    served: Served,
    folder: Path,
) -> None:
    page = opened(browser, served.client.link)
    page.evaluate(
        "() => document.body.dispatchEvent(new KeyboardEvent('keydown',"
        " {key: '\u00e9', code: 'Digit2', bubbles: true}))"
    )
    page.wait_for_selector("#status:text('Saved: 2 relevant.')")
    assert [each.grade for each in kept(folder).values()] == [2]


# --- hostile content -----------------------------------------------------------------------------

RUNS = "window.ran = true; document.title = 'ran'; alert('ran')"
TEXTS = [
    f"<script>{RUNS}</script>",
    f"</script><script>{RUNS}</script>",
    f'<img src=x onerror="{RUNS}"><svg onload="{RUNS}">',
    f"javascript:{RUNS}",
    "<form action='http://evil.example'><input name=a autofocus><button>x</button></form>",
    "<style>*{display:none!important}</style><div style='position:fixed;inset:0;z-index:99'>",
    "<base href='http://evil.example/'><meta http-equiv=refresh content='0;url=http://evil.example'>",
    "\u202egnp.exe\u202c \u2066isolated\u2069 \u0000 nul \x1b[31m \x07 \ud83d\ude00 \u200f",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)} `x`",
    "Z̸̢̛a̶l̷g̵o" * 50,
    "W" * 5_000,
    "long title " * 100_000,  # 1.1 MB
]


def test_hostile_texts_run_nothing_and_the_page_stays_usable(
    browser: Browser,  # noqa: F811
    tmp_path: Path,
) -> None:
    rows = [
        {"query_id": f"q{n} {text[:200]}", "doc_id": f"{text[:300]}{n}", "text": text,
         "title": text, "snippet": text}
        for n, text in enumerate(TEXTS)
    ]  # fmt: skip
    write_pool(tmp_path / "pool.jsonl", rows)
    corpus = [
        {"_id": row["doc_id"], "title": row["title"], "text": row["title"], row["title"][:90]: "v"}
        for row in rows
    ]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (tmp_path / "guide.md").write_text("".join(TEXTS[:7]))
    arguments = ("pool.jsonl", "--corpus", "corpus.jsonl", "--guidelines", "guide.md")
    with serving(tmp_path, *arguments, "--rater", "ann") as served:
        for width in (1400, 360):
            _judge_hostile(browser, served.client, width)
    assert len(JudgmentLog(tmp_path / "pool.jsonl.judgments.jsonl").judgments.pairs) == len(TEXTS)


def _judge_hostile(browser: Browser, client: Client, width: int) -> None:  # noqa: F811
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    watched = Watched(page)
    page.goto(client.link)
    page.wait_for_selector("#document h2, #done:not([hidden])")
    if width == 360:
        for _ in range(3):
            press(page, "u")
    page.keyboard.press("g")
    page.wait_for_selector("#panel")
    assert "<script>" in page.inner_text("#panel-body")
    page.keyboard.press("Escape")
    elements = page.locator("#document *, #needs *, #query *")
    while page.is_visible("#card"):
        kinds = set(elements.evaluate_all("all => all.map(each => each.tagName)"))
        assert kinds <= {
            "H1", "H2", "P", "CODE", "SPAN", "DL", "DT", "DD", "DIV", "BUTTON", "STRONG"
        }  # fmt: skip
        assert fits(page)
        text = page.inner_text("#document")
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", text)
        whole = page.locator("#document .all").first
        if whole.is_visible():
            whole.click()
            page.wait_for_selector("#status:text('All is shown.')")
            assert fits(page)
        press(page, "1")
    assert page.evaluate("window.ran") is None
    assert page.url == client.link
    assert page.locator("form, img, iframe, base, object").count() == 0
    assert watched.problems == []


def test_the_pool_of_these_tests_tells_ranks() -> None:
    assert all(row["ranks"] for row in POOL), "so that it can be seen that they stay hidden"
