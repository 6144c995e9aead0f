"""BenchmarkComparison.md: its parts, what it leaves out, and that no name breaks it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from rankscope.benchmark.verdict import verdict
from rankscope.document.markdown import as_markdown
from rankscope.records import BenchmarkReport
from rankscope.reports.benchmark import benchmark_document
from reports.sample import sample, with_analyses

HOSTILE = "a|b`c<script>alert(1)</script>\n# **x** [y](z) \x1b[31m\u202e \\"


T = TypeVar("T", bound=BaseModel)


def benchmark_as_markdown(report: BenchmarkReport) -> str:
    return as_markdown(benchmark_document(report))


def changed(part: T, **update: Any) -> T:
    return part.model_copy(update=update)


def renamed(report: BenchmarkReport, old: str, new: str) -> BenchmarkReport:
    """Return the report with one name replaced wherever it stands."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(one) for key, one in value.items()}
        if isinstance(value, list):
            return [walk(one) for one in value]
        return new if value == old else value

    return BenchmarkReport.model_validate(walk(json.loads(report.to_json())))


def tables(text: str) -> Iterator[list[str]]:
    """Yield the lines of each table."""
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip().splitlines()
        if lines and lines[0].startswith("|"):
            yield lines


def cells(line: str) -> list[str]:
    """Split a row as GitHub does: at every pipe that has no backslash before it."""
    assert line.startswith("| ")
    assert line.endswith(" |")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def check_tables(text: str) -> int:
    count = 0
    for lines in tables(text):
        sizes = {len(cells(line)) for line in lines}
        assert len(sizes) == 1, lines
        assert all(re.fullmatch(r"-{2,}[-:]", rule) for rule in cells(lines[1])), lines[1]
        assert len(lines) > 2, "a table without rows"
        count += 1
    return count


def section(text: str, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, title
    return found[1]


@pytest.fixture(scope="module")
def report() -> BenchmarkReport:
    made = sample()
    return changed(made, verdict=verdict(made))


@pytest.fixture(scope="module")
def text(report: BenchmarkReport) -> str:
    return benchmark_as_markdown(report)


def test_structure(text: str) -> None:
    assert re.findall("^#+ .*", text, re.MULTILINE) == [
        "# Benchmark: recipes",
        "## Verdict",
        "## Results",
        "## Targets",
        "### Bands",
        "## What would gain most",
        "## Differences",
        "### Best system",
        "### Against words",
        "## Stages",
        "### What each stage has",
        "### What each stage changed in other measures",
        "### What rerankers made of their input",
        "### The first 10 of each answer",
        "## Groups of queries",
        "### By category",
        "### By difficulty",
        "## Time",
        "## Findings",
        "## What was run",
        "## What each mean covers",
        "## Definitions",
        "## How to repeat it",
        "### By content",
    ]
    assert check_tables(text) == 18
    assert "4 systems on recipes (test): 200 documents, 120 queries, 2,735 judgments" in text
    assert "Made 2025-06-01 09:30 UTC, experiment 3f9ac2d71b04." in text
    assert "rankscope benchmark verify DIR" in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_tables_line_up_in_the_source(text: str) -> None:
    for lines in tables(text):
        assert len({len(line) for line in lines}) == 1, lines


def test_main_table(report: BenchmarkReport, text: str) -> None:
    (results,) = tables(section(text, "Results"))
    best, against = tables(section(text, "Differences"))
    head, _, *rows = results
    assert cells(head) == ["measure", "words (baseline)", "letters", "hybrid", "reranked"]
    by_name = {cells(row)[0]: cells(row)[1:] for row in rows}
    value = report.systems[3].measures[0]
    assert value.interval is not None
    interval = f"[{value.interval.low:.3f}, {value.interval.high:.3f}]"
    assert by_name["nDCG@10"][3] == f"**{value.value:.3f}**↑‡ {interval} a"
    assert "RR@10 (MRR@10)" in by_name, "both names of a measure are shown"
    assert not re.search("[†‡]", "".join(row[0] for row in by_name.values())), "the baseline"
    assert cells(best[0]) == ["measure", "best system", "not shown to differ from it"]
    near = {cells(row)[0]: cells(row)[1:] for row in best[2:]}
    assert near["nDCG@10"] == ["reranked", "–"]
    assert near["R@50"] == ["hybrid, reranked", "letters"]
    assert near["Success@5"] == ["reranked", "–"]
    assert report.comparison is not None
    pair = report.comparison.pair("reranked", measure="nDCG@10")
    row = next(cells(row) for row in against[2:] if cells(row)[:2] == ["nDCG@10", "reranked"])
    assert row[2:4] == [
        "words",
        f"{pair.difference:+.4f} [{pair.shown.low:+.4f}, {pair.shown.high:+.4f}]",
    ]
    assert row[-1] == "better"
    said = section(text, "Results")
    assert "† better (↑) or worse (↓) than words at p ≤ 0.05, ‡ at p ≤ 0.01" in said
    assert "family: the 6 pairs of each measure, tested at once" in said


def test_targets(text: str) -> None:
    targets, bands = tables(section(text, "Targets"))
    rows = [cells(row) for row in targets[2:]]
    assert [row[0] for row in rows] == ["nDCG@10 ≥ 0.7", "RR@10 ≥ 0.75 (MRR@10)", "R@50 ≥ 0.95"]
    assert rows[0][1:] == ["0.691 !", "0.672 !", "0.701 ✓", "0.846 ✓"]
    assert rows[2][1] == "0.821 ✗"
    values = ["0.691 (fair)", "0.672 (fair)", "0.701 (strong)", "0.846 (strong)"]
    assert [cells(row) for row in bands[2:]] == [["nDCG@10", *values]]


def test_stages(report: BenchmarkReport, text: str) -> None:
    changes, means, others, rerankers, tops = tables(section(text, "Stages"))
    assert cells(means[4])[0] == "hybrid (fuse of words + letters)"
    assert [cells(row)[:2] for row in changes[2:]] == [
        ["hybrid (fuse)", "words"],
        ["hybrid (fuse)", "letters"],
        ["reranked (rerank)", "hybrid"],
    ]
    stage = report.stages[-1]
    first, second = stage.changes[:2]
    interval = f"[{first.interval.low:+.3f}, {first.interval.high:+.3f}]"
    assert cells(changes[4])[2] == f"{first.difference:+.3f}↑‡ {interval}"
    assert cells(changes[4])[3] == f"{first.p:.4f}"
    assert cells(others[0])[2:] == [info.measure for info in report.measures[1:]]
    assert cells(others[4])[:2] == ["reranked", "hybrid"]
    assert cells(others[4])[2].startswith(f"{second.difference:+.3f} [")
    room = stage.ceiling["nDCG@10"] - stage.measures["nDCG@10"]
    assert cells(rerankers[2]) == [
        "reranked",
        "20",
        f"{stage.input_recall:.3f}",
        f"{stage.output_recall:.3f}",
        f"{stage.measures['nDCG@10']:.3f}",
        f"{stage.ceiling['nDCG@10']:.3f}",
        f"{room:.3f}",
    ]
    labels = ["grade 3", "grade 2", "grade 1", "grade 0", "unjudged"]
    assert cells(tops[0]) == ["stage", "gained", "lost", *labels]
    assert cells(tops[5])[1:3] == [str(stage.promoted), str(stage.lost)]


def test_groups(report: BenchmarkReport, text: str) -> None:
    table = next(tables(section(text, "Groups of queries")))
    assert cells(table[0]) == ["group", "queries", "words", "letters", "hybrid", "reranked"]
    group = report.segments[0].groups[0]
    row = cells(table[2])
    assert row[:2] == [group.label, str(group.n)]
    assert "(" not in row[2], "the baseline has no difference to itself"
    own = next(one for one in group.means if one.system == "reranked")
    assert own.difference is not None
    assert f"({own.difference:+.3f})" in row[5]


def test_time_findings_and_specs(text: str) -> None:
    assert cells(next(tables(section(text, "Time")))[2]) == [
        *("words", "0.40", "2.10", "5.40", "11.20", "400.0", "120", "12", "0"),
    ]
    finding = cells(next(tables(section(text, "Findings")))[2])
    assert finding[:4] == ["! warning", "RS107 unjudged-top", "letters", "1 line"]
    spec = cells(next(tables(section(text, "What was run")))[2])[3]
    assert spec == '{"bm25": {"k1": 1.2, "b": 0.75}}'


# --- less than everything ------------------------------------------------------------------------


def test_one_system() -> None:
    made = sample(("hybrid",), None)
    text = benchmark_as_markdown(changed(made, verdict=verdict(made)))
    check_tables(text)
    assert "1 system on recipes" in text
    assert "Best system" not in text
    assert "**" not in text, "nothing is best of one"
    assert "## Stages" not in text
    assert "## Groups" not in text


def test_nothing_to_say_is_left_out(report: BenchmarkReport) -> None:
    bare = changed(report, verdict=[], kpis=[], findings=[], comparison=None)
    bare = with_analyses(bare, stages=[], segments=[])
    bare = changed(bare, measures=[changed(info, target=None) for info in report.measures])
    text = benchmark_as_markdown(bare)
    check_tables(text)
    titles = re.findall("^## (.*)", text, re.MULTILINE)
    assert titles == [
        "Results",
        "What would gain most",
        "Differences",
        "Time",
        "Findings",
        "What was run",
        "What each mean covers",
        "Definitions",
        "How to repeat it",
    ]
    assert "Nothing stands out." in section(text, "What would gain most")
    assert "No findings." in text
    best = next(iter(tables(section(text, "Differences"))))
    assert {cells(row)[2] for row in best[2:]} == {"not tested"}


def test_without_a_baseline() -> None:
    text = benchmark_as_markdown(sample(("words", "letters"), None))
    check_tables(text)
    assert "baseline" not in text
    assert "†" not in text


def test_missing_values(report: BenchmarkReport) -> None:
    words = report.systems[0]
    slow = changed(words.timing, p50=None, p95=None, p99=None)
    count = changed(words.measures[1], value=1234.0, interval=None)
    assert words.measures[2].interval is not None
    open_ = changed(words.measures[2].interval, low=None, high=None)
    measures = [count, changed(words.measures[2], interval=open_), *words.measures[3:]]
    systems = [changed(words, timing=slow, measures=measures), *report.systems[1:]]
    text = benchmark_as_markdown(changed(report, systems=systems))
    check_tables(text)
    rows = [cells(row)[1] for row in next(tables(section(text, "Results")))[2:]]
    assert rows[:3] == ["–", "1,234 c", "0.796 [-∞, ∞] b"]
    assert " – |" in section(text, "Time")


def test_lower_is_better(report: BenchmarkReport) -> None:
    infos = [changed(report.measures[0], higher_is_better=False), *report.measures[1:]]
    text = benchmark_as_markdown(changed(report, measures=infos))
    assert "| nDCG@10 ↓ " in text
    assert "- ↓ behind a measure: lower is better" in text
    assert "| nDCG@10 ≤ 0.7 " in text


# --- hostile names -------------------------------------------------------------------------------


def with_message(report: BenchmarkReport) -> BenchmarkReport:
    first = changed(report.findings[0], message=HOSTILE, advice=HOSTILE, code=HOSTILE)
    return changed(report, findings=[first])


def with_label(report: BenchmarkReport) -> BenchmarkReport:
    segment = report.segments[0]
    groups = [changed(segment.groups[0], label=HOSTILE), *segment.groups[1:]]
    return with_analyses(report, segments=[changed(segment, groups=groups, field=HOSTILE)])


def with_spec(report: BenchmarkReport) -> BenchmarkReport:
    return changed(
        report, systems=[changed(report.systems[0], spec={HOSTILE: HOSTILE}, kind=HOSTILE)]
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda report: renamed(report, "letters", HOSTILE),
        lambda report: renamed(report, "words", HOSTILE),
        lambda report: changed(report, name=HOSTILE, verdict=[HOSTILE], experiment=HOSTILE),
        lambda report: changed(report, collection=changed(report.collection, name=HOSTILE)),
        with_message,
        with_label,
        with_spec,
    ],
)
def test_hostile_names(
    report: BenchmarkReport, change: Callable[[BenchmarkReport], BenchmarkReport]
) -> None:
    text = benchmark_as_markdown(change(report))
    check_tables(text)
    assert "\x1b" not in text
    assert "\u202e" not in text
    outside = re.sub(r"(`+).+?(?<!`)\1(?!`)", "", text.replace("\\`", ""))
    assert "<script" not in outside
    assert "**x**" not in outside
    assert "[y](z)" not in outside
    assert not re.search(r"^# \**x", text, re.MULTILINE), "no name begins a line"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("- item", "\\- item"),
        ("1. one", "1\\. one"),
        ("3) three", "3\\) three"),
        ("-5 to 3", "-5 to 3"),
        ("1.5 to 3", "1.5 to 3"),
        ("13+", "13+"),
        ("+", "\\+"),
        ("a_b", "a\\_b"),
        ("x & y", "x &amp; y"),
    ],
)
def test_no_sentence_becomes_a_list(report: BenchmarkReport, name: str, shown: str) -> None:
    text = benchmark_as_markdown(changed(report, verdict=[name]))
    assert f"\n- {shown}\n" in text


def test_wide_signs_line_up(report: BenchmarkReport) -> None:
    text = benchmark_as_markdown(renamed(report, "letters", "文字"))
    rows = next(tables(section(text, "Time")))
    assert len(rows[3]) == len(rows[2]) - 2, "two signs that take two places each"


def test_a_renderer_shows_hostile_names_as_they_are(report: BenchmarkReport) -> None:
    from markdown_it import MarkdownIt

    hostile = with_label(with_message(renamed(report, "letters", HOSTILE)))
    hostile = changed(hostile, name=HOSTILE, verdict=[HOSTILE])
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    page = parser.render(benchmark_as_markdown(hostile))
    assert page.count("<table>") == check_tables(benchmark_as_markdown(hostile))
    assert set(re.findall(r"<(\w+)", page)) == {
        *("h1", "h2", "h3", "p", "ul", "li", "strong", "code", "pre"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    assert "<td>a|b`c&lt;script&gt;alert(1)&lt;/script&gt;\\n# **x** [y](z)" in page


def test_what_is_trained_says_what_it_learnt_from(report: BenchmarkReport) -> None:
    def page(source: str | None) -> str:
        collection = changed(report.collection, training=source)
        return benchmark_as_markdown(changed(report, collection=collection))

    assert "what is trained" not in page(None)
    assert "learnt from train, and not from these queries" in page("train")
    assert "answered by a model that had not seen it" in page("cross-validation")
