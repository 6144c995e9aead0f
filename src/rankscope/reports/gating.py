"""A gate's answer for people and for machines: table cells, plain text, JUnit XML, Markdown.

Ids and names come from anywhere: in XML, characters it cannot hold are replaced; in Markdown, every
name stands in a code span that it cannot leave, so it is neither markup, nor HTML, nor a mention.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from rankscope.statistics.sentences import p_value, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankscope.statistics.gate import GateResult, Loss, MeasureCheck, Reason

__all__ = [
    "error_as_junit",
    "error_as_markdown",
    "gate_as_junit",
    "gate_as_markdown",
    "gate_as_text",
    "gate_cells",
    "gate_head",
    "how_tested",
    "remarks",
    "verdict_sentence",
]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 100
"""Longer names are cut in Markdown, where one could fill a whole comment."""


_VERDICTS: dict[Reason, str] = {
    "regression": "FAIL",
    "no power": "FAIL: power",
    "improved": "pass: better",
    "within margin": "pass: small",
    "not significant": "pass",
    "identical": "pass: equal",
}


def _end(value: float) -> str:
    return f"{value:+.4f}" if math.isfinite(value) else ("−∞" if value < 0 else "∞")


def _visible(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.4f}" if math.isfinite(value) else "none"


def gate_head(result: GateResult) -> list[str]:
    """Return the titles of the table's columns."""
    difference = f"difference [{percent(1 - result.alpha)}]"
    return ["measure", "baseline", "candidate", difference, "p", "margin", "visible", "verdict"]


def gate_cells(check: MeasureCheck) -> list[str]:
    """Return one row of the table, a text for each column."""
    return [
        check.measure if check.higher_is_better else f"{check.measure} ↓",
        f"{check.baseline:.4f}",
        f"{check.candidate:.4f}",
        f"{check.difference:+.4f} [{_end(check.interval.low)}, {_end(check.interval.high)}]",
        p_value(check.corrected_p),
        f"{check.max_drop:g}",
        _visible(check.visible_drop),
        _VERDICTS[check.reason],
    ]


def verdict_sentence(result: GateResult, name: Callable[[str], str] = str) -> str:
    """Return the answer in one sentence; ``name`` writes the names of measures."""
    failed = [check for check in result.checks if check.verdict == "fail"]
    if failed:
        why = "; ".join(f"{name(check.measure)} {check.explanation}" for check in failed)
        return f"gate failed: {why}."
    margins = f"{result.max_drop:g}"
    several = f" in any of {len(result.checks)} measures" if len(result.checks) > 1 else ""
    queries = f"{result.queries:,} {'query' if result.queries == 1 else 'queries'}"
    unseen = [check for check in result.checks if check.warning]
    but = ", but one could have passed unseen" if unseen else ""
    return f"gate passed: no significant drop above {margins}{several} over {queries}{but}."


def remarks(result: GateResult, name: Callable[[str], str] = str) -> list[str]:
    """Return what should be known beside the verdict: warnings first, then notes."""
    said = [f"warning: {name(one.measure)} {one.warning}" for one in result.checks if one.warning]
    return said + [f"note: {name(one.measure)} {one.note}" for one in result.checks if one.note]


def how_tested(result: GateResult) -> str:
    """Return how the p-values were made."""
    count = len(result.checks)
    over = f", corrected by Holm over {count} measures" if count > 1 else ""
    lower = any(not check.higher_is_better for check in result.checks)
    arrow = "; ↓ lower is better, so that a rise counts as a drop" if lower else ""
    return (
        f"two-sided paired test ({result.test.method}, seed {result.test.seed}){over}, significant "
        f"up to {result.alpha:g}; visible: the smallest drop found with {percent(result.power)} "
        f"probability{arrow}"
    )


def gate_as_text(result: GateResult) -> str:
    """Return the table, the verdict and the remarks as plain text."""
    rows = [gate_head(result), *(gate_cells(check) for check in result.checks)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(wide) if place in (0, len(widths) - 1) else cell.rjust(wide)
            for place, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", verdict_sentence(result), *remarks(result), how_tested(result)])


# --- JUnit ---------------------------------------------------------------------------------------


def _xml(text: str) -> str:
    """Replace what XML 1.0 cannot hold, not even escaped."""
    return _NOT_XML.sub("\ufffd", text)


def _suite(tests: int, failures: int, errors: int) -> tuple[Xml.Element, Xml.Element]:
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    root = Xml.Element("testsuites", {"name": "rankscope gate", **counts})
    suite = Xml.SubElement(root, "testsuite", {"name": "rankscope gate", **counts, "skipped": "0"})
    return root, suite


def _written(root: Xml.Element) -> str:
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def gate_as_junit(result: GateResult) -> str:
    """Return JUnit XML: a test case for each measure; warnings and the row are its output."""
    failures = sum(check.verdict == "fail" for check in result.checks)
    root, suite = _suite(len(result.checks), failures, 0)
    listed = Xml.SubElement(suite, "properties")
    for key, value in (
        ("baseline", result.baseline),
        ("candidate", result.candidate),
        ("queries", result.queries),
        ("qrels_sha256", result.qrels),
        ("profile", result.profile),
        ("test", how_tested(result)),
    ):
        Xml.SubElement(listed, "property", {"name": key, "value": _xml(str(value))})
    head = gate_head(result)
    for check in result.checks:
        name = _xml(check.measure)
        case = Xml.SubElement(suite, "testcase", {"classname": "rankscope.gate", "name": name})
        if check.verdict == "fail":
            said = _xml(f"{check.measure} {check.explanation}")
            kind = check.reason.replace(" ", "-")
            failure = Xml.SubElement(case, "failure", {"message": said, "type": kind})
            failure.text = _xml("\n".join([said, *(_loss(one) for one in check.worst)]))
        lines = [f"{title}: {cell}" for title, cell in zip(head, gate_cells(check), strict=True)]
        lines += [f"warning: {check.warning}"] * bool(check.warning)
        lines += [f"note: {check.note}"] * bool(check.note)
        Xml.SubElement(case, "system-out").text = _xml("\n".join(lines))
    return _written(root)


def _loss(loss: Loss) -> str:
    return f"query {loss.query_id}: {loss.baseline:.4f} to {loss.candidate:.4f}"


def error_as_junit(message: str) -> str:
    """Return JUnit XML of a gate that could not answer."""
    root, suite = _suite(1, 0, 1)
    case = Xml.SubElement(suite, "testcase", {"classname": "rankscope.gate", "name": "gate"})
    Xml.SubElement(case, "error", {"message": _xml(message), "type": "not-comparable"})
    return _written(root)


# --- Markdown ------------------------------------------------------------------------------------


def _code(text: str) -> str:
    r"""Return text as a code span, also inside a table.

    What could end the span (`), split a cell (|) or move what is shown (control characters, line
    breaks) is spelt out as in Python, and so is the backslash that spells it.
    """
    kept = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    safe = "".join(
        one if one.isprintable() and one not in "`|\\" else _spelt(ord(one)) for one in kept
    )
    return f"`{safe}`" if safe.strip() else f"`'{safe}'`"


def _spelt(code: int) -> str:
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


def _checks(result: GateResult, checks: Sequence[MeasureCheck]) -> list[str]:
    rows = []
    for check in checks:
        measure, *cells, verdict = gate_cells(check)
        strong = f"**{verdict}**" if check.verdict == "fail" else verdict
        rows.append([_code(measure), *cells, strong])
    return _table(gate_head(result), rows)


def gate_as_markdown(result: GateResult) -> str:
    """Return Markdown for a comment: significant and not significant apart, then worst losses."""
    sign = "✓ passed" if result.passed else "✗ failed"
    lines = [f"### rankscope gate: {sign}", "", verdict_sentence(result, _code), ""]
    lines += [f"{_code(result.candidate)} against {_code(result.baseline)}", ""]
    for line in remarks(result, _code):
        lines += [f"> {line}", ""]
    apart = {
        "Significant": [check for check in result.checks if check.significant],
        "Not significant": [check for check in result.checks if not check.significant],
    }
    for title, checks in apart.items():
        if checks:
            lines += [f"#### {title}", "", *_checks(result, checks), ""]
    with_losses = [check for check in result.checks if check.worst]
    if with_losses:
        lines += ["#### Worst losses by query", ""]
    for check in with_losses:
        rows = [
            [
                _code(loss.query_id),
                f"{loss.baseline:.4f}",
                f"{loss.candidate:.4f}",
                f"{loss.change:+.4f}",
            ]
            for loss in check.worst
        ]
        count = f"{check.losses:,} of {result.queries:,} queries lost, {check.wins:,} gained"
        lines += [f"{_code(check.measure)}: {count}", ""]
        lines += [*_table(["query", "baseline", "candidate", "change"], rows), ""]
    return "\n".join([*lines, f"<sub>{how_tested(result)}</sub>", ""])


def error_as_markdown(message: str) -> str:
    """Return Markdown of a gate that could not answer."""
    return f"### rankscope gate: no answer\n\n{_code_block(message)}\n"


def _code_block(text: str) -> str:
    """Return one line as an indented block of code, in which nothing is markup."""
    return "    " + "".join(one if one.isprintable() else _spelt(ord(one)) for one in text)
