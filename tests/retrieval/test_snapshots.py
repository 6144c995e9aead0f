"""The snapshot of what is asked, in the user's words, also where YAML reads a number or a date."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from rankscope.errors import InputError
from rankscope.retrieval.options import RemoteOptions, read_options


@pytest.mark.parametrize(
    ("given", "taken"),
    [("monday", "monday"), (date(2026, 11, 17), "2026-11-17"), (1, "1"), (7.1, "7.1")],
)
def test_what_is_written_is_taken(given: Any, taken: str) -> None:
    assert read_options(RemoteOptions, {"snapshot": given}).snapshot == taken


@pytest.mark.parametrize("given", [True, "", [1]])
def test_what_says_nothing_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match=r"^snapshot: "):
        read_options(RemoteOptions, {"snapshot": given})
