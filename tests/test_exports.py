"""The public names: all there and all found."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import rankscope


def type_checked_imports() -> dict[str, str]:
    """Return what a type checker sees: public name → module in rankscope."""
    stub = Path(rankscope.__file__).with_suffix(".pyi")
    return {
        alias.asname or alias.name: (node.module or "").removeprefix("rankscope.")
        for node in ast.parse(stub.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_every_name_is_found_at_its_home() -> None:
    for name, home in rankscope._HOME.items():
        module = import_module(f"rankscope.{home}")
        assert name in module.__all__, name
        assert getattr(module, name) is getattr(rankscope, name), name
        assert name in dir(rankscope), name


def test_type_checkers_see_the_same_names() -> None:
    assert type_checked_imports() == rankscope._HOME


def test_all_is_sorted_and_complete() -> None:
    assert rankscope.__all__ == ["__version__", *sorted(rankscope._HOME)]


def test_every_error_is_public() -> None:
    errors = import_module("rankscope.errors")
    classes = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}
    assert classes <= set(rankscope.__all__)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="'rankscope' has no attribute 'read_rum'"):
        rankscope.read_rum  # type: ignore[attr-defined]  # noqa: B018
