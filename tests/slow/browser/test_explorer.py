"""The pages of reports in a real browser: links, filters, keys, phones, dark, hostile texts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser.chromium import (
    NEEDS_AXE,
    NEEDS_BROWSER,
    Watched,
    browser,  # noqa: F401
    fits,
    violations,
)
from browser.explored import WORDS, command, write_collection, written_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A diagnosis of two runs."""
    folder = tmp_path_factory.mktemp("plain")
    write_collection(folder)
    return written_page(folder)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of a collection whose texts, ids and metadata mean harm."""
    folder = tmp_path_factory.mktemp("hostile")
    write_collection(folder, hostile=True)
    return written_page(folder)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the bundled benchmark."""
    folder = tmp_path_factory.mktemp("demo")
    command("demo", "--output", str(folder / "out"), "--quiet")
    (page,) = folder.glob("out/recipes-*/BenchmarkReport.html")
    return page


class Tab:
    """A page that is open, and what it did that it should not."""

    def __init__(self, browser: Browser, file: Path, where: str = "", **options: Any) -> None:  # noqa: F811
        shape = {"viewport": {"width": 1300, "height": 900}, **options}
        self.context = browser.new_context(**shape)
        self.page: Page = self.context.new_page()
        self.watched = Watched(self.page)
        self.page.goto(f"{file.as_uri()}#{where}")
        self.page.wait_for_selector("html[data-ready]")

    def close(self) -> None:
        assert self.watched.problems == []
        self.context.close()


@pytest.fixture
def tabs(browser: Browser) -> Iterator[Any]:  # noqa: F811
    opened: list[Tab] = []

    def make(file: Path, where: str = "", **options: Any) -> Page:
        opened.append(Tab(browser, file, where, **options))
        return opened[-1].page

    yield make
    for tab in opened:
        tab.close()


ROW = "#list details.question"


def changes(page: Page) -> list[float | None]:
    """Return what each row that is shown says first: the change, or the only value."""
    texts = page.locator(f"{ROW} .change b").all_inner_texts()
    return [None if text == "–" else float(text.replace("−", "-")) for text in texts]


def asked(page: Page) -> list[str]:
    texts: list[str] = page.locator(f"{ROW} .asked").all_inner_texts()
    return texts


def count(page: Page) -> int:
    return int(page.inner_text("#count").split(" of ")[0].replace(",", ""))


def settle(page: Page, count_of: str) -> None:
    page.wait_for_selector(f"[data-chip={count_of}]")


# --- the list ------------------------------------------------------------------------------------


def test_it_opens_with_the_decision_and_closed_sections(tabs: Any, demo: Path) -> None:
    page = tabs(demo)
    assert page.locator("#answer h1").inner_text() == "Start with hybrid."
    assert page.locator("#answer tr.picked th .value").inner_text() == "hybrid"
    assert page.locator("#answer svg.axis circle").count() == 5
    above = page.locator("#queries").evaluate("node => node.getBoundingClientRect().top")
    assert above < 900, "the decision fits the first screen"
    assert page.locator("details.section[open]").count() == 0
    assert page.locator("details.section > summary > p").count() > 8, "each says what it found"
    page.click("#views a[href='#diagnosis']")
    section = page.locator("#failing-questions")
    section.locator("summary").first.click()
    assert section.locator("table").first.is_visible()
    assert page.evaluate("document.documentElement.scrollHeight") < 8 * 900
    assert demo.stat().st_size < 1_000_000


def test_a_link_opens_the_section_that_it_leads_into(tabs: Any, demo: Path) -> None:
    page = tabs(demo, "measures")
    assert page.locator("#measures[open] th", has_text="R@100").is_visible()


def test_a_number_leads_to_its_questions_and_a_question_to_its_documents(
    tabs: Any, demo: Path
) -> None:
    page = tabs(demo)
    page.locator("#answer tr.picked td a").first.click()
    page.wait_for_function("location.hash.includes('a=hybrid')")
    page.locator(f"{ROW} summary").first.click()
    page.wait_for_selector(f"{ROW}[open] .two li")
    assert page.locator(f"{ROW}[open] .two li").count() == 20
    page.locator(f"{ROW}[open] .whole a").click()
    page.wait_for_selector("#board .hit .title")
    assert page.locator("#board .hit").count() > 10


def test_rankings_are_drawn_in_ten_places(tabs: Any, demo: Path) -> None:
    page = tabs(demo)
    page.wait_for_selector(f"{ROW} .sparks svg path", state="attached")
    first = page.locator(ROW).first
    assert first.locator(".sparks > span").count() == 5
    assert first.locator(".sparks .chosen").count() == 2


def test_the_largest_loss_comes_first_and_what_has_no_value_last(tabs: Any, plain: Path) -> None:
    folder = plain.parent
    target = folder / "holes.html"
    runs = [str(folder / f"{name}.run") for name in ("first", "gone")]
    more = ("-m", "nDCG@10", "--intersect", "--format", "html", "-o", str(target))
    command("evaluate", str(folder / "qrels.txt"), *runs, *more)
    page = tabs(target, "queries")
    for sort in ("loss", "gain"):
        page.evaluate("document.getElementById('filters').open = true")
        page.select_option("#pick-sort", sort)
        page.click("#more")
        values = changes(page)
        assert values[-5:] == [None] * 5
        known = [value for value in values if value is not None]
        assert len(known) == 35
        assert known == sorted(known, reverse=sort == "gain")


def test_each_filter_filters_and_can_be_taken_back(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries")
    everything = count(page)
    assert everything == 40
    for show in ("failing", "improved", "worsened", "different", "unjudged"):
        page.select_option("#pick-show", show)
        settle(page, "show")
        assert 0 < count(page) <= everything
        page.click("[data-chip=show]")
        assert count(page) == everything
    page.evaluate("document.getElementById('filters').open = true")
    page.select_option("#pick-cause", index=1)
    settle(page, "cause")
    chosen = page.locator("#pick-cause option").nth(1).inner_text()
    causes = page.locator(f"{ROW} .asked em").all_inner_texts()
    assert len(causes) == count(page)
    assert all(chosen.rpartition(" (")[0] in cause for cause in causes)
    page.click("[data-chip=cause]")
    page.select_option("#pick-field", "kind")
    page.fill("#value", "kind 1")
    settle(page, "field")
    assert count(page) == 13
    page.click("[data-chip=field]")
    page.fill("#min", "-1")
    page.fill("#max", "-0.1")
    page.wait_for_selector("[data-chip=range]:has-text('Δ -1 to -0.1')")
    assert all(value is not None and value <= -0.1 for value in changes(page))
    page.click("#reset")
    assert count(page) == everything
    assert page.locator("#chips button").count() == 0
    assert page.input_value("#min") == page.input_value("#max") == ""


def test_improved_and_worsened_are_what_the_values_say(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries?show=improved")
    assert all(value is not None and value > 0 for value in changes(page))
    improved = count(page)
    page.select_option("#pick-show", "worsened")
    assert all(value is not None and value < 0 for value in changes(page))
    worsened = count(page)
    page.select_option("#pick-show", "different")
    assert count(page) == improved + worsened
    assert f"on {improved} questions, worse on {worsened}" in page.inner_text("#compared")


def test_words_are_looked_for_in_queries_ids_and_documents(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries")
    page.fill("#find", "apple")
    settle(page, "find")
    in_queries = count(page)
    assert 0 < in_queries < 40
    page.evaluate("document.getElementById('filters').open = true")
    page.check("#in-documents")
    page.wait_for_selector("[data-chip=find]:has-text('documents')")
    assert count(page) > in_queries
    page.click("#reset")
    page.fill("#find", "q17")
    settle(page, "find")
    assert count(page) == 1
    assert not page.is_checked("#in-documents")


def test_what_is_shown_is_in_the_address(tabs: Any, plain: Path) -> None:
    first = tabs(plain, "queries")
    first.select_option("#pick-show", "worsened")
    first.fill("#find", "a")
    settle(first, "find")
    first.evaluate("document.getElementById('filters').open = true")
    first.select_option("#pick-measure", "RR@10")
    first.select_option("#pick-sort", "query")
    shown, where = asked(first), first.url.partition("#")[2]
    assert shown
    second = tabs(plain, where)
    second.wait_for_selector("[data-chip=find]")
    assert asked(second) == shown
    assert second.input_value("#find") == "a"
    first.locator(f"{ROW} summary").nth(1).click()
    first.locator(f"{ROW}[open] .whole a").click()
    first.wait_for_selector("#board .hit")
    third = tabs(plain, first.url.partition("#")[2])
    third.wait_for_selector("#board .hit")
    assert third.inner_text("#detail") == first.inner_text("#detail")
    third.click("#back")
    third.wait_for_selector("[data-chip=find]")
    assert asked(third) == shown


def test_all_rows_are_saved_though_few_are_in_the_page(tabs: Any, tmp_path: Path) -> None:
    write_collection(tmp_path, queries=900)
    page = tabs(written_page(tmp_path), "queries", accept_downloads=True)
    assert page.locator(ROW).count() == 30
    with page.expect_download() as saved:
        page.click("#list button[aria-label='Save the questions as CSV']")
    rows = list(csv.reader(io.StringIO(Path(saved.value.path()).read_text("utf-8"))))
    assert len(rows) == 901
    assert {row[0] for row in rows[1:]} == {f"q{number}" for number in range(900)}
    page.click("#more")
    assert page.locator(ROW).count() == 230


# --- one query -----------------------------------------------------------------------------------


def test_two_rankings_side_by_side(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "query/q7")
    page.wait_for_selector("#board .hit")
    assert page.locator(".ranking").count() == 2
    both, only_left, only_right = (
        int(text.split()[-1]) for text in page.locator(".overlap span").all_inner_texts()[:3]
    )
    docs = [
        [item.get_attribute("data-doc") for item in ranking.locator(".hit").all()]
        for ranking in page.locator(".ranking").all()
    ]
    assert both == len(set(docs[0]) & set(docs[1]))
    assert (only_left, only_right) == (12 - both, 12 - both)
    assert page.locator(".ranking").first.locator(".move.only").count() == only_left
    assert page.locator(".grade").count() == 24
    added = [
        float(text.removeprefix("adds ").replace("−", "-"))
        for text in page.locator(".ranking").first.locator(".adds").all_inner_texts()
    ]
    value = float(page.locator(".ranking .summary strong").first.inner_text())
    assert abs(sum(added) - value) < 0.003
    assert page.locator(".hit mark").count() > 0
    page.click("button:has-text('Ideal order')")
    page.wait_for_selector(".ranking.ideal")
    grades = [float(text) for text in page.locator(".ideal .grade").all_inner_texts()]
    assert grades == sorted(grades, reverse=True)
    page.select_option("#detail .pickers select >> nth=1", "")
    page.wait_for_selector(".board.columns-2 .ideal")
    assert page.locator(".ranking:not(.ideal)").count() == 1


def test_next_and_previous_stay_in_the_list(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries?show=worsened")
    wanted = count(page)
    page.locator(f"{ROW} summary").first.click()
    page.locator(f"{ROW}[open] .whole a").click()
    page.wait_for_selector("#board .hit")
    titles = [page.inner_text("#query-title")]
    for number in range(2, wanted + 1):
        page.keyboard.press("n")
        page.wait_for_selector(f"#detail .quiet:has-text('{number} of {wanted}')")
        titles.append(page.inner_text("#query-title"))
    assert len(set(titles)) == wanted
    assert page.is_disabled("#next")
    page.keyboard.press("p")
    page.wait_for_selector(f"#detail .quiet:has-text('{wanted - 1} of {wanted}')")
    page.keyboard.press("Escape")
    page.wait_for_selector("#list:not([hidden])")
    assert count(page) == wanted


def test_a_query_that_does_not_exist_is_said(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "query/nothing%2Fhere")
    assert "no such question" in page.inner_text("#detail")


def test_unjudged_documents_are_saved_as_a_pool(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries?show=unjudged", accept_downloads=True)
    with page.expect_download() as saved:
        page.click("button:has-text('Judge these')")
    assert saved.value.suggested_filename == "pool.jsonl"
    lines = Path(saved.value.path()).read_text("utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    qrels = (plain.parent / "qrels.txt").read_text("utf-8").splitlines()
    judged = {tuple(line.split()[::2]) for line in qrels}
    assert pairs
    assert not {(pair["query_id"], pair["doc_id"]) for pair in pairs} & judged


# --- how it is used ------------------------------------------------------------------------------


def test_a_keyboard_is_enough(tabs: Any, plain: Path) -> None:
    page = tabs(plain)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("/")
    page.wait_for_selector("#find:focus")
    page.keyboard.type("apple")
    settle(page, "find")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{ROW}[open] .whole a")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#board .hit")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.wait_for_selector("#list:not([hidden])")


def test_single_keys_can_be_turned_off(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries")
    page.keyboard.press("?")
    page.uncheck("#keys-on")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") != "find"


def test_charts_can_be_saved(tabs: Any, demo: Path) -> None:
    page = tabs(demo, "ranking-or-retrieval", accept_downloads=True)
    page.click("#ranking-or-retrieval details.more > summary")
    for name, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saved:
            page.locator(f"#ranking-or-retrieval figure button:has-text('{name}')").click()
        assert Path(saved.value.path()).read_bytes().startswith(begins)


def test_copied_tables_hold_plain_numbers(tabs: Any, demo: Path) -> None:
    page = tabs(demo, accept_downloads=True)
    with page.expect_download() as saved:
        page.locator("#answer .tabletools button:has-text('CSV')").click()
    rows = list(csv.reader(io.StringIO(Path(saved.value.path()).read_text("utf-8"))))
    assert rows[0][:4] == [
        "system",
        "nDCG@10",
        *(f"change from lexical [95%]{end}" for end in ("", " low")),
    ]
    best, worst = rows[1], rows[-1]
    assert best[0] == "reranked"
    assert float(best[3]) > 0 > float(worst[2]) > float(worst[3])


def test_light_and_dark(tabs: Any, demo: Path) -> None:
    def paper(page: Page) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    page = tabs(demo, color_scheme="dark")
    dark = paper(page)
    page.click("#theme")
    light = paper(page)
    assert dark != light == "rgb(255, 255, 255)"
    page.click("#theme")
    assert paper(page) == dark
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert paper(page) == dark
    assert paper(tabs(demo, color_scheme="light")) == light


def test_it_prints(tabs: Any, demo: Path, tmp_path: Path) -> None:
    page = tabs(demo, color_scheme="dark")
    pdf = page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert pdf.startswith(b"%PDF")
    assert 3 < pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") <= 12
    page.emulate_media(media="print")
    assert page.locator("#diagnosis table").first.is_visible()
    assert page.locator("#views").is_hidden()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"


VIEWS = ("", "query/q004", "query/q004?ideal=1&s=title&s=lexical&s=vector", "opened")
"""What is looked at; the last is no address: everything is opened."""


def open_all(page: Page, where: str) -> None:
    if where == "opened":
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        page.wait_for_timeout(500)


@pytest.mark.parametrize("where", VIEWS)
def test_it_fits_a_phone(tabs: Any, demo: Path, where: str) -> None:
    page = tabs(demo, where, viewport={"width": 360, "height": 740})
    page.wait_for_timeout(200)
    open_all(page, where)
    assert fits(page)


@NEEDS_AXE
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("where", VIEWS)
@pytest.mark.parametrize("width", [360, 1600])
def test_nothing_bars_anybody(tabs: Any, demo: Path, where: str, scheme: str, width: int) -> None:
    page = tabs(
        demo,
        where,
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
        bypass_csp=True,
    )
    page.wait_for_timeout(300)
    open_all(page, where)
    assert violations(page) == []


def test_back_leads_to_where_one_was(tabs: Any, demo: Path) -> None:
    """The click is made by script: that of a mouse may move the page first, and take its time."""
    page = tabs(demo, "failing-questions")
    link = page.locator("#failing-questions > .tabled a").last
    link.evaluate("a => a.scrollIntoView({ behavior: 'instant', block: 'center' })")
    page.wait_for_timeout(300)  # until the page has come to rest, and knows where it is
    before = page.evaluate("scrollY")
    assert before > 1000
    link.evaluate("a => a.click()")
    page.wait_for_function("before => scrollY < before - 300", arg=before)
    page.go_back()
    page.wait_for_function("before => Math.abs(scrollY - before) < 2", arg=before)


def test_focus_is_kept_where_one_was(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries")
    page.locator(f"{ROW} summary").nth(6).click()
    page.locator(f"{ROW}[open] .whole a").click()
    page.wait_for_selector("#board .hit")
    place = page.locator(ROW).nth(6).get_attribute("data-query")
    page.keyboard.press("Escape")
    page.wait_for_selector("#list:not([hidden])")
    page.wait_for_function(
        "place => document.activeElement.closest('details')?.dataset.query === place", arg=place
    )


def test_an_empty_list_says_so(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries?find=nothinglikethis")
    assert "No question fits these filters." in page.inner_text("#list")


# --- hostile content -----------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["", "opened"])
def test_nothing_hostile_runs(tabs: Any, hostile: Path, where: str) -> None:
    page = tabs(hostile, where)
    page.wait_for_timeout(300)
    open_all(page, where)
    assert page.title() == "Diagnosis"
    assert page.evaluate("window.pwned") is None
    assert page.locator("form, iframe, object, embed, base, link").count() == 0
    assert page.locator("script").count() == page.locator("script[id^=data-]").count() + 1
    assert fits(page)


def test_a_hostile_query_is_shown_as_text(tabs: Any, hostile: Path) -> None:
    page = tabs(hostile, "queries")
    assert count(page) == 40
    for number in range(11):
        page.locator(f"{ROW} summary").nth(number).click()
        page.locator(ROW).nth(number).locator(".whole a").click()
        page.wait_for_selector("#board .hit")
        assert page.evaluate("window.pwned") is None
        assert "\u202e" not in page.inner_text("#detail")
        assert len(page.inner_text("#detail")) < 60_000
        page.click("#back")
        page.wait_for_selector("#list:not([hidden])")
    page.evaluate("document.getElementById('filters').open = true")
    page.select_option("#pick-field", "kind")
    assert page.locator("#values option").count() <= 200
    page.fill("#find", "<script>document")
    settle(page, "find")
    assert 0 < count(page) < 40


def test_no_text_leaves_no_text(tabs: Any, plain: Path) -> None:
    page = tabs(written_page(plain.parent, "--no-text", "--top", "3", name="bare.html"), "query/q7")
    page.wait_for_selector("#board .hit")
    assert page.inner_text("#query-title") == "q7"
    assert page.locator(".ranking").first.locator(".hit").count() == 3
    assert not any(word in page.inner_text("body") for word in WORDS)


def test_a_system_is_never_compared_with_itself(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries")
    chosen = "[document.getElementById('pick-a').value, document.getElementById('pick-b').value]"
    names = page.evaluate("[...document.getElementById('pick-a').options].map((o) => o.value)")
    for name in [*names, *names[::-1]]:
        for side in ("a", "b"):
            page.select_option(f"#pick-{side}", name)
            page.wait_for_timeout(30)
            first, second = page.evaluate(chosen)
            assert first != second
