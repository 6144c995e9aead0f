"""Write ``reference/conformance.md`` from the cases and the answers in ``conformance.json``.

``docs/build.py`` writes the page. With files that ``rankscope conformance --format json`` printed,
this takes over their answers first, each tool's in place of its former ones:

    python docs/conformance_page.py --date 2026-11-16 ranx.json mlflow.json

Tools need not be installed to write the page, and those that cannot share an environment are asked
one after the other.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from rankscope.conformance.cases import Case, Value, read_cases
from rankscope.conformance.suite import Conformance
from rankscope.part import Part

HERE = Path(__file__).parent
RECORD = HERE / "conformance.json"


class RecordedTool(Part):
    """What one version of a tool answered."""

    tool: str
    """The tool."""
    version: str
    """The version asked."""
    answers: dict[str, Value | None]
    """By case: what it answered; null if the question cannot be put to it."""


class Recorded(Part):
    """Answers of tools, and when they were asked."""

    date: str
    """The day the newest answers were taken."""
    tools: tuple[RecordedTool, ...]
    """The tools, in the order of the page."""


def read_record() -> Recorded:
    """Read the answers recorded."""
    return Recorded.model_validate_json(RECORD.read_text("utf-8"))


def updated(record: Recorded, results: Iterable[Conformance], date: str) -> Recorded:
    """Put the answers of installed tools in place of their former ones."""
    by_tool = {recorded.tool: recorded for recorded in record.tools}
    for report in (report for result in results for report in result.tools):
        if report.version is not None:
            answers = {outcome.case: outcome.value for outcome in report.outcomes}
            by_tool[report.tool] = RecordedTool(
                tool=report.tool, version=report.version, answers=answers
            )
    return Recorded(date=date, tools=tuple(by_tool.values()))


def conformance_page(record: Recorded | None = None) -> str:
    """Return the page."""
    record = record or read_record()
    cases = read_cases()
    parts = [_INTRODUCTION.format(date=record.date), _tools_table(record, cases), "## The cases"]
    parts += [_case_section(case, record.tools) for case in cases]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """# Conformance

Tools that score rankings disagree, and mostly for a reason: two definitions share a name. Sometimes
one of them is wrong. This suite is a file of small cases
(`src/rankscope/conformance/cases.jsonl`: judgments, a run, a question) with the
answers known for each. An answer is that of a **definition** (A, B, …: somebody means this by the
question; several can be right, and a report has to say which it is) or of a **fault** (W to Z:
nobody means this). The letters of definitions say nothing about their rank.

Put the cases to what you have installed, or to one tool in its own CI:

```console
$ rankscope conformance --list
$ rankscope conformance --tool rankscope
```

The answers below were taken on {date}, each from a release that could be installed that day, with
its default options. A tool is not asked what it does not offer, nor what cannot be expressed in its
input. What is listed as a fault is one of the version named; many of them are fixed quickly once
they are reported."""


def _tools_table(record: Recorded, cases: tuple[Case, ...]) -> str:
    lines = [
        "| tool | version | by a definition | not asked | by a fault, or by neither |",
        "|---|---|---:|---:|---|",
    ]
    for recorded in record.tools:
        by_definition, not_asked, unexplained = 0, 0, []
        for case in cases:
            value = recorded.answers.get(case.id)
            known = None if value is None else case.answer(value)
            by_definition += known is not None and known.kind == "definition"
            not_asked += value is None
            if value is not None and (known is None or known.kind == "fault"):
                unexplained.append(f"[{case.id}](#{case.id})")
        lines.append(
            f"| {recorded.tool} | {recorded.version} | {by_definition} | {not_asked} | "
            f"{', '.join(unexplained) or '–'} |"
        )
    return "\n".join(lines)


def _case_section(case: Case, tools: Iterable[RecordedTool]) -> str:
    given: dict[str, list[str]] = {}
    for recorded in tools:
        value = recorded.answers.get(case.id)
        if value is not None:
            known = case.answer(value)
            key = _shown(value) if known is None else known.name
            given.setdefault(key, []).append(recorded.tool)
    rows = ["| | answer | | given by |", "|---|---:|---|---|"]
    for answer in case.answers:
        text = answer.text if answer.kind == "definition" else f"**Fault.** {answer.text}"
        by = ", ".join(given.pop(answer.name, [])) or "–"
        rows.append(f"| {answer.name} | {_shown(answer.value)} | {text} | {by} |")
    rows += [f"| – | {value} | | {', '.join(by)} |" for value, by in given.items()]
    times = f", asked {case.times} times" if case.times > 1 else ""
    beside = f", together with {', '.join(case.asked_with)}" if case.asked_with else ""
    seen = f" Seen in {', '.join(case.seen)}." if case.seen else ""
    return "\n\n".join(
        [
            f"### {case.id}",
            f"{case.title}: `{case.asked}`{beside}{times}. {case.why}{seen}",
            "```text\n" + "\n".join(_input_lines(case)) + "\n```",
            "\n".join(rows),
        ]
    )


def _input_lines(case: Case) -> Iterable[str]:
    for query_id, grades in case.qrels.items():
        judged = " ".join(f"{doc_id}={grade}" for doc_id, grade in grades.items())
        yield f"judged   {query_id}: {judged}"
    for query_id, pairs in case.run.items():
        returned = " ".join(f"{doc_id} ({score:.9g})" for doc_id, score in pairs)
        yield f"returned {query_id}: {returned or '(nothing)'}"


def _shown(value: Value) -> str:
    if value == "error":
        return "refused"
    return value if isinstance(value, str) else f"{value:.11f}".rstrip("0").rstrip(".")[:13]


def main() -> None:
    """Take over results into the record."""
    parser = argparse.ArgumentParser(description="Record what tools answered.")
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--date", required=True, help="the day the results were taken")
    arguments = parser.parse_args()
    former = read_record() if RECORD.exists() else Recorded(date=arguments.date, tools=())
    taken = [Conformance.model_validate_json(path.read_text("utf-8")) for path in arguments.results]
    record = updated(former, taken, arguments.date)
    RECORD.write_text(json.dumps(record.to_dict(), indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
