"""The cases put to other tools (`slow/peers`): rankscope is right, and the page is made of them."""

from __future__ import annotations

import pytest
from peers.cases import CASES
from peers.page import PAGE, page
from peers.tools import TOOLS


def test_rankscope_is_right_and_the_tools_named_can_be_asked() -> None:
    rankscope, *others = TOOLS
    for case in CASES:
        assert rankscope.answer(case) == pytest.approx(case.right), case.title
        named = {name for tools in case.others for name in tools.split(", ")}
        assert named <= {tool.name for tool in others if tool.names_for(case)}, case.title
        assert all(value != pytest.approx(case.right) for value, _ in case.others.values())


def test_the_page_is_made_of_the_cases() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it with: python -m tests.slow.peers.page"
