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


def column(page: Page, place: int) -> list[str]:
    cells = page.locator(f"#list tbody tr[data-at] > :nth-child({place})")
    return [text.split("\n")[0].strip() for text in cells.all_inner_texts()]


def numbers(texts: list[str]) -> list[float | None]:
    return [None if text == "–" else float(text.replace("−", "-").strip("▲▼ +")) for text in texts]


def count(page: Page) -> int:
    return int(page.inner_text("#count").split(" of ")[0].replace(",", ""))


def settle(page: Page, count_of: str) -> None:
    page.wait_for_selector(f"[data-chip={count_of}]")


# --- the list ------------------------------------------------------------------------------------


def test_it_opens_with_the_verdict_and_leads_to_every_part(tabs: Any, demo: Path) -> None:
    page = tabs(demo)
    assert page.locator("#answer").is_visible()
    assert page.locator("#overview h3").first.inner_text() == "Measures"
    for part, heading in (("diagnosis", "Failing questions"), ("method", "Definitions")):
        page.click(f"#views a[href='#{part}']")
        assert page.locator(f"#{part} h3", has_text=heading).first.is_visible()
        assert page.locator("#answer").is_hidden()
    assert page.locator("#method th", has_text="formula").first.is_visible()
    assert demo.stat().st_size < 1_000_000


def test_a_number_leads_to_its_queries_and_a_query_to_its_documents(tabs: Any, demo: Path) -> None:
    page = tabs(demo)
    page.locator("#measures td a").nth(7).click()  # nDCG@10 of hybrid
    page.wait_for_selector("#list tbody tr a")
    assert "a=hybrid" in page.url
    values = numbers(column(page, 2))
    assert values == sorted(values, key=lambda value: (value is None, value))
    page.locator("#list tbody tr a").first.click()
    page.wait_for_selector("#board .hit .title")
    assert page.locator("#board .hit").count() > 10


def test_sorting_puts_what_has_no_value_last_either_way(tabs: Any, plain: Path) -> None:
    folder = plain.parent
    target = folder / "holes.html"
    runs = [str(folder / f"{name}.run") for name in ("first", "gone")]
    more = ("-m", "nDCG@10", "--intersect", "--format", "html", "-o", str(target))
    command("evaluate", str(folder / "qrels.txt"), *runs, *more)
    page = tabs(target, "queries")
    at = next(
        place
        for place, text in enumerate(page.locator("#list thead th").all_inner_texts(), start=1)
        if text.startswith("gone")
    )
    for _ in range(2):
        page.locator(f"#list thead th:nth-child({at}) button").click()
        values = numbers(column(page, at))
        assert values[-5:] == [None] * 5
        known = [value for value in values if value is not None]
        assert len(known) == 35
        assert known in (sorted(known), sorted(known, reverse=True))


def test_each_filter_filters_and_can_be_taken_back(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries")
    everything = count(page)
    assert everything == 40
    for show in ("failing", "improved", "worsened", "different", "unjudged"):
        page.click(f"button[data-show={show}]")
        settle(page, "show")
        assert 0 < count(page) <= everything
        page.click("[data-chip=show]")
        assert count(page) == everything
    page.select_option("#pick-cause", index=1)
    settle(page, "cause")
    chosen = page.locator("#pick-cause option").nth(1).inner_text()
    causes = column(page, page.locator("#list thead th").count())
    assert {f"{cause} ({count(page)})" for cause in causes} == {chosen}
    page.click("[data-chip=cause]")
    page.select_option("#pick-field", "kind")
    page.fill("#value", "kind 1")
    settle(page, "field")
    assert count(page) == 13
    page.click("[data-chip=field]")
    page.fill("#min", "-1")
    page.fill("#max", "-0.1")
    page.wait_for_selector("[data-chip=range]:has-text('Δ -1 to -0.1')")
    assert all(value is not None and value <= -0.1 for value in numbers(column(page, 4)))
    page.click("#reset")
    assert count(page) == everything
    assert page.locator("#chips button").count() == 0
    assert page.input_value("#min") == page.input_value("#max") == ""


def test_improved_and_worsened_are_what_the_values_say(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries?show=improved")
    assert all(value is not None and value > 0 for value in numbers(column(page, 4)))
    improved = count(page)
    page.click("button[data-show=worsened]")
    assert all(value is not None and value < 0 for value in numbers(column(page, 4)))
    worsened = count(page)
    page.click("button[data-show=different]")
    assert count(page) == improved + worsened


def test_words_are_looked_for_in_queries_ids_and_documents(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries")
    page.fill("#find", "apple")
    settle(page, "find")
    in_queries = count(page)
    assert 0 < in_queries < 40
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
    first.click("button[data-show=worsened]")
    first.fill("#find", "a")
    settle(first, "find")
    first.select_option("#pick-measure", "RR@10")
    first.locator("#list thead button", has_text="Δ").click()
    shown, where = column(first, 1), first.url.partition("#")[2]
    assert shown
    second = tabs(plain, where)
    second.wait_for_selector("[data-chip=find]")
    assert column(second, 1) == shown
    assert second.input_value("#find") == "a"
    first.locator("#list tbody tr a").nth(1).click()
    first.wait_for_selector("#board .hit")
    third = tabs(plain, first.url.partition("#")[2])
    third.wait_for_selector("#board .hit")
    assert third.inner_text("#detail") == first.inner_text("#detail")
    third.click("#back")
    third.wait_for_selector("[data-chip=find]")
    assert column(third, 1) == shown


def test_all_rows_are_copied_though_few_are_in_the_page(tabs: Any, tmp_path: Path) -> None:
    write_collection(tmp_path, queries=900)
    page = tabs(written_page(tmp_path), "queries", accept_downloads=True)
    assert page.locator("#list tbody tr[data-at]").count() < 100
    with page.expect_download() as saved:
        page.click("#list button[aria-label='Save the queries as CSV']")
    rows = list(csv.reader(io.StringIO(Path(saved.value.path()).read_text("utf-8"))))
    assert len(rows) == 901
    assert {row[0] for row in rows[1:]} == {f"q{number}" for number in range(900)}
    page.locator("#list .list").focus()
    page.keyboard.press("Control+a")
    copied = page.evaluate(
        """() => { const sent = new DataTransfer();
        document.dispatchEvent(new ClipboardEvent("copy", {clipboardData: sent, cancelable: true}));
        return sent.getData("text/plain"); }"""
    )
    assert copied.count("\n") == 901
    page.locator("#list .list").evaluate("region => { region.scrollTop = region.scrollHeight; }")
    page.wait_for_selector("#list tr[data-at='899']")


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
    page.locator("#list tbody tr a").first.click()
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
    assert "no such query" in page.inner_text("#detail")


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


def test_the_charts_lead_to_queries_and_can_be_saved(tabs: Any, demo: Path) -> None:
    page = tabs(demo, accept_downloads=True)
    chart = page.locator("#query-charts svg").first
    chart.scroll_into_view_if_needed()
    for name, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        for button in (
            page.locator(f"#query-charts button:has-text('{name}')").first,
            page.locator(f"#measures figure button:has-text('{name}')").first,
        ):
            with page.expect_download() as saved:
                button.click()
            assert Path(saved.value.path()).read_bytes().startswith(begins)
    inks = page.locator("#query-charts svg text").evaluate_all(
        "texts => [...new Set(texts.map((text) => getComputedStyle(text).fill))]"
    )
    assert "rgb(0, 0, 0)" not in inks, "labels have the colours of the page"
    page.locator("#query-charts input[type=range]").fill("3")
    words = page.inner_text("#query-charts .pointed p")
    page.select_option("#chart-b", "vector")
    assert page.inner_text("#query-charts .pointed p") != words
    box = chart.bounding_box()
    page.locator("#query-charts svg").first.click(position={"x": 80, "y": 60})
    page.wait_for_selector("#board .hit")
    assert "b=vector" in page.url
    assert box


def test_tables_are_copied_and_saved(tabs: Any, demo: Path) -> None:
    page = tabs(demo, accept_downloads=True)
    with page.expect_download() as saved:
        page.locator("#measures .tabletools button:has-text('CSV')").click()
    rows = list(csv.reader(io.StringIO(Path(saved.value.path()).read_text("utf-8"))))
    assert rows[0][:3] == ["system", "nDCG@10", "nDCG@10 interval"]
    assert rows[1][0] == "reranked"
    assert rows[1][2].startswith("[")


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
    assert 3 < pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") < 200
    page.emulate_media(media="print")
    assert page.locator("#diagnosis").is_visible()
    assert page.locator("#views").is_hidden()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"


VIEWS = ("", "queries", "query/q004", "query/q004?ideal=1&s=title&s=lexical&s=vector", "diagnosis",
         "method")  # fmt: skip


@pytest.mark.parametrize("where", VIEWS)
def test_it_fits_a_phone(tabs: Any, demo: Path, where: str) -> None:
    page = tabs(demo, where, viewport={"width": 360, "height": 740})
    page.wait_for_timeout(200)
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
    assert violations(page) == []


def test_parts_begin_at_their_top_and_back_leads_to_where_one_was(tabs: Any, demo: Path) -> None:
    """Clicks are made by script: those of a mouse may move the page first, and take their time."""
    page = tabs(demo, "diagnosis")
    page.evaluate("scrollTo({ top: 1500, behavior: 'instant' })")
    link = page.locator("#failing-questions td a, #failing-questions th a").last
    for target in (page.locator("#views a[href='#method']"), link):
        if target is link:
            target.evaluate("a => a.scrollIntoView({ behavior: 'instant', block: 'start' })")
        before = page.evaluate("scrollY")
        assert before > 100
        page.wait_for_timeout(300)  # until the page has come to rest, and knows where it is
        assert page.evaluate("scrollY") == before
        target.evaluate("a => a.click()")
        page.wait_for_function("scrollY === 0")
        page.go_back()
        page.wait_for_function("before => scrollY === before", arg=before)


def test_focus_is_kept_where_one_was(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries")
    page.locator("#list thead button").nth(1).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#list th[aria-sort]")
    page.wait_for_function("document.activeElement.className === 'sorter'")
    page.locator("#list tbody tr a").nth(6).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#board .hit")
    page.keyboard.press("Escape")
    page.wait_for_selector("#list:not([hidden])")
    page.wait_for_function("document.activeElement.closest('tr')?.dataset.at === '6'")


def test_the_charts_chosen_are_in_the_address(tabs: Any, demo: Path) -> None:
    page = tabs(demo)
    page.select_option("#chart-a", "vector")
    where = page.url.partition("#")[2]
    again = tabs(demo, where)
    again.wait_for_function("document.getElementById('chart-a').value === 'vector'")
    assert again.locator("#answer").is_visible()


def test_an_empty_list_says_so(tabs: Any, plain: Path) -> None:
    page = tabs(plain, "queries?find=nothinglikethis")
    assert page.inner_text("#list tbody") == "No query fits these filters."


# --- hostile content -----------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["", "queries", "diagnosis"])
def test_nothing_hostile_runs(tabs: Any, hostile: Path, where: str) -> None:
    page = tabs(hostile, where)
    page.wait_for_timeout(300)
    assert page.title() == "Diagnosis"
    assert page.evaluate("window.pwned") is None
    assert page.locator("form, iframe, object, embed, base, link").count() == 0
    assert page.locator("script").count() == page.locator("script[id^=data-]").count() + 1
    assert fits(page)


def test_a_hostile_query_is_shown_as_text(tabs: Any, hostile: Path) -> None:
    page = tabs(hostile, "queries")
    assert count(page) == 40
    for number in range(11):
        page.locator("#list tbody tr a").nth(number).click()
        page.wait_for_selector("#board .hit")
        assert page.evaluate("window.pwned") is None
        assert "\u202e" not in page.inner_text("#detail")
        assert len(page.inner_text("#detail")) < 60_000
        page.click("#back")
        page.wait_for_selector("#list:not([hidden])")
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
