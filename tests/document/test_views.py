"""Views: every public result has one, and so a form for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rankscope.document.blocks import Document
from rankscope.document.views import document_of, view

if TYPE_CHECKING:
    from rankscope.statistics.compare import Comparison


def test_a_result_without_a_view() -> None:
    with pytest.raises(TypeError, match="there is no view of int"):
        document_of(1)


def test_two_views_of_one_class() -> None:
    with pytest.raises(TypeError):
        document_of(1)  # all views are loaded now
    with pytest.raises(ValueError, match="Comparison has two views"):

        @view
        def again(_: Comparison) -> Document:
            raise AssertionError
