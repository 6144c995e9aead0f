"""The page of documentation: made of the cases and of recorded answers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rankscope.conformance.cases import read_cases
from rankscope.conformance.suite import CaseOutcome, Conformance, ToolReport
from rankscope.conformance.tools import all_tools

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conformance_page", DOCS / "conformance_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["conformance_page"] = module
    spec.loader.exec_module(module)
    return module


def test_the_record_holds_known_tools_and_every_case(page: ModuleType) -> None:
    record = page.read_record()
    cases = [case.id for case in read_cases()]
    assert {recorded.tool for recorded in record.tools} <= set(all_tools())
    assert "rankscope" in {recorded.tool for recorded in record.tools}
    for recorded in record.tools:
        assert list(recorded.answers) == cases, recorded.tool


def test_new_answers_take_the_place_of_former_ones(page: ModuleType) -> None:
    def report(tool: str, version: str | None, value: float) -> ToolReport:
        outcome = CaseOutcome(case="ap-by-found", kind="other", value=value)
        return ToolReport(tool=tool, package=tool, version=version, outcomes=(outcome,))

    former = page.updated(
        page.Recorded(date="2026-01-01", tools=()),
        [Conformance(tools=(report("a", "1", 1.0), report("b", "1", 0.5)))],
        "2026-01-01",
    )
    new = Conformance(tools=(report("a", "2", 0.5), report("b", None, 0.1), report("c", "1", 0.7)))
    record = page.updated(former, [new], "2026-02-02")
    assert record.date == "2026-02-02"
    assert [(recorded.tool, recorded.version) for recorded in record.tools] == [
        ("a", "2"),
        ("b", "1"),
        ("c", "1"),
    ]
    text = page.conformance_page(record)
    others = len(read_cases()) - 1
    assert f"| a | 2 | 1 | {others} | – |" in text
    assert f"| c | 1 | 0 | {others} | [ap-by-found](#ap-by-found) |" in text
    assert "| – | 0.7 | | c |" in text
