"""Other tools, where they are installed, answer as the page says; rankscope is always right."""

from __future__ import annotations

import pytest

from .cases import CASES, Case
from .page import PAGE, page
from .tools import TOOLS, Tool


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_answers_as_recorded(tool: Tool) -> None:
    pytest.importorskip(tool.module)
    for case in CASES:
        if tool.names_for(case):
            expected = case.answer_of(tool.name)[0]
            assert tool.answer(case) == pytest.approx(expected, abs=1e-5), case.title


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_case_is_right_in_rankscope_and_names_tools_that_can_be_asked(case: Case) -> None:
    named = {name for tools in case.others for name in tools.split(", ")}
    assert named <= {tool.name for tool in TOOLS[1:] if tool.names_for(case)}
    assert all(value != pytest.approx(case.right) for value, _ in case.others.values())


def test_the_page_is_made_of_the_cases() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it with: python -m tests.peers.page"
