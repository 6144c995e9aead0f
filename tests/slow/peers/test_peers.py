"""Other tools, where they are installed, answer as the page says."""

from __future__ import annotations

import pytest

from .cases import CASES
from .tools import TOOLS, Tool


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_answers_as_recorded(tool: Tool) -> None:
    pytest.importorskip(tool.module)
    for case in CASES:
        if tool.names_for(case):
            expected = case.answer_of(tool.name)[0]
            assert tool.answer(case) == pytest.approx(expected, abs=1e-5), case.title
