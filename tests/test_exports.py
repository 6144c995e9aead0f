"""The public names: all there, all found, and none of them loaded before it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rankscope

HEAVY = {"numpy", "pandas", "polars", "pyarrow", "rich", "scipy", "zstandard"}


def type_checking_imports() -> dict[str, str]:
    """Return what a type checker sees: public name → module in rankscope."""
    tree = ast.parse(Path(rankscope.__file__).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: (node.module or "").removeprefix("rankscope.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("name", rankscope.__all__)
def test_name_resolves(name: str) -> None:
    assert getattr(rankscope, name) is not None
    assert name in dir(rankscope)


@pytest.mark.parametrize(("name", "home"), sorted(rankscope._HOME.items()))
def test_name_is_exported_by_its_home(name: str, home: str) -> None:
    module = import_module(f"rankscope.{home}")
    assert name in module.__all__
    assert getattr(module, name) is getattr(rankscope, name)


def test_type_checkers_see_the_same_names() -> None:
    assert type_checking_imports() == rankscope._HOME


def test_all_is_sorted_and_complete() -> None:
    assert rankscope.__all__ == ["__version__", *sorted(rankscope._HOME)]


def test_every_error_is_public() -> None:
    errors = import_module("rankscope.errors")
    classes = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}
    assert classes <= set(rankscope.__all__)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="'rankscope' has no attribute 'read_rum'"):
        rankscope.read_rum  # noqa: B018


def loaded_after(code: str) -> set[str]:
    """Run code in a fresh Python and return the top-level packages it loaded."""
    script = f"{code}\nimport sys; print('\\n' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


COMMAND = """
from rankscope.cli import main
try:
    main({arguments})
except SystemExit as stop:
    assert stop.code == 0, stop.code
"""


COMMANDS: list[list[str]] = [[], ["evaluate"], ["compare"], ["gate"], ["benchmark", "run"]]


@pytest.mark.parametrize(
    "code",
    [
        "import rankscope",
        "import rankscope; rankscope.InputError; rankscope.Finding; dir(rankscope)",
        COMMAND.format(arguments=["--help"]),
        COMMAND.format(arguments=["--version"]),
        COMMAND.format(arguments=["runs", "--help"]),
        COMMAND.format(arguments=["runs", "validate", "--help"]),
        COMMAND.format(arguments=["convert", "--help"]),
        COMMAND.format(arguments=["evaluate", "--help"]),
        COMMAND.format(arguments=["compare", "--help"]),
        COMMAND.format(arguments=["gate", "--help"]),
        COMMAND.format(arguments=["benchmark", "run", "--help"]),
    ],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    assert loaded_after(code) & HEAVY == set()


@pytest.mark.parametrize(
    "code", ["import rankscope", *(COMMAND.format(arguments=[*one, "--help"]) for one in COMMANDS)]
)
def test_help_is_shown_without_pydantic(code: str) -> None:
    assert "pydantic" not in loaded_after(code)


def test_a_first_evaluation_of_dicts_loads_little() -> None:
    """Neither what reads files nor what checks records; a test alone must not take a second."""
    code = "import rankscope; rankscope.evaluate({'q': {'d': 1}}, {'q': {'d': 1.0}}, 'nDCG@10')"
    assert loaded_after(code) & {"polars", "pydantic", "scipy"} == set()
    assert "pydantic" in loaded_after(code + ".accounting"), "it is loaded when it is needed"


def test_heavy_loading_would_be_seen() -> None:
    assert "polars" in loaded_after("import rankscope; rankscope.Run")
