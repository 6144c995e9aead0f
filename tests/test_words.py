"""The words of the code: names say what they hold, and sentences are plain English."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import rankscope

PACKAGE = Path(rankscope.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

EMPTY_NAMES = {"one", "found", "said", "own", "told", "came", "every"}
"""Names that say nothing about what they hold."""

STILTED = re.compile(
    r"\b(stands?(?! (for|out)\b)|stood|came(?! from\b))\b|no such file|cannot be told apart"
    r"|chance explains|best mode"
)
"""Words that a good technical writer would not use here: is, got, file not found."""


def names_bound(tree: ast.AST) -> Counter[str]:
    names = (
        node.id if isinstance(node, ast.Name) else node.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    )
    return Counter(name for name in names if name in EMPTY_NAMES)


def texts(tree: ast.AST) -> list[tuple[int, str]]:
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_names_say_what_they_hold(path: Path) -> None:
    assert names_bound(ast.parse(path.read_text("utf-8"))) == Counter()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_sentences_are_plain(path: Path) -> None:
    stilted = [
        f"{path.name}:{line}: {match.group(0)}"
        for line, text in texts(ast.parse(path.read_text("utf-8")))
        if (match := STILTED.search(text))
    ]
    assert stilted == []
