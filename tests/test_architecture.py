"""The data flows one way: a module imports from its own box and earlier ones, never from later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

import rankscope

PACKAGE = Path(rankscope.__file__).parent

FLOW: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("printing",),
    ("part",),
    ("findings",),
    ("temporary",),
    ("files",),
    ("document",),
    ("tables",),
    ("collection",),
    ("ontology",),
    ("runs",),
    ("measures",),
    ("scoring",),
    ("statistics",),
    ("diagnosis",),
    ("records",),
    ("reports",),
    ("retrieval",),
    ("functions",),
    ("benchmark",),
    ("scale",),
    ("integrations",),
    ("cli",),
    ("__main__",),
)
"""The boxes, earliest first: what stands in a later one may import what stands in an earlier one.

Modules in one box may import each other. A new module or package of `rankscope` goes here.
"""

BOX = {name: number for number, box in enumerate(FLOW) for name in box}

MODULES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path != PACKAGE / "__init__.py" and PACKAGE / "data" not in path.parents  # templates there
)


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in MODULES}


def box_of(name: str) -> int:
    if name not in BOX:
        pytest.fail(
            f"rankscope.{name} stands in no box; place it in FLOW of {Path(__file__).name}, "
            "before everything that imports it"
        )
    return BOX[name]


def imported(node: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield line and full name of every import that can happen when the code runs."""
    if isinstance(node, ast.expr):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for statement in node.orelse:
            yield from imported(statement, package)
        return
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else ()
        module = ".".join((*above, *filter(None, [node.module])))
        yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
    for child in ast.iter_child_nodes(node):
        yield from imported(child, package)


def box_name(full_name: str) -> str | None:
    """Return which part of rankscope an imported name is from; None for other packages."""
    package, _, rest = full_name.partition(".")
    if package != "rankscope" or not rest:
        return None
    part = rest.split(".")[0]
    if (PACKAGE / part).is_dir() or (PACKAGE / f"{part}.py").is_file():
        return part
    home = rankscope._HOME.get(part)  # a public name, loaded from its home
    return home.split(".")[0] if home else None


def violations(tree: ast.AST, where: tuple[str, ...]) -> list[str]:
    """Name the imports of a module that point forwards; ``where`` is its path in rankscope."""
    mine = box_of(where[0])
    package = ("rankscope", *where[:-1])
    return [
        f"rankscope.{'.'.join(where)}:{line} imports {name}, which comes later"
        for line, name in imported(tree, package)
        if (part := box_name(name)) is not None and box_of(part) > mine
    ]


def parts_of(path: Path) -> tuple[str, ...]:
    return path.relative_to(PACKAGE).with_suffix("").parts


def test_imports_point_backwards() -> None:
    found = [violations(tree, parts_of(path)) for path, tree in trees().items()]
    assert list(chain.from_iterable(found)) == []


def test_a_forward_import_is_seen() -> None:
    for source in (
        "from rankscope.runs.table import Run",
        "import rankscope.runs",
        "from rankscope import read_run",
        "def late() -> None:\n    from ..runs import table",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from rankscope.runs import table",
    ):
        assert len(violations(ast.parse(source), ("tables", "new"))) == 1, source
    for source in (
        "from rankscope.errors import InputError",
        "from . import rows",
        "import rankscope\nimport polars",
        "if TYPE_CHECKING:\n    from rankscope.runs.table import Run",
    ):
        assert violations(ast.parse(source), ("tables", "new")) == [], source
    with pytest.raises(pytest.fail.Exception, match="place it in FLOW"):
        violations(ast.parse(""), ("novelty",))


SHARED_NAMES = {"__init__.py", "__main__.py", "registry.py"}
"""File names that may occur in several rooms, as they do the same job in each."""


def test_a_file_name_is_found_in_one_room() -> None:
    rooms: dict[str, list[str]] = {}
    for path in MODULES:
        if path.name not in SHARED_NAMES and parts_of(path)[0] != "cli":
            rooms.setdefault(path.name, []).append(str(path.parent.relative_to(PACKAGE)))
    assert {name: where for name, where in rooms.items() if len(where) > 1} == {}


def test_only_public_modules_list_their_names() -> None:
    """``__all__`` is where users import from: the homes of public names, and what plug-ins use."""
    public = {*rankscope._HOME.values(), "retrieval.protocol", "retrieval.registry", "records"}
    listing = {
        ".".join(parts_of(path)).removesuffix(".__init__")
        for path in MODULES
        if "\n__all__ = " in path.read_text("utf-8")
    }
    assert listing <= public


EMPTY_NAMES = {"one", "found", "said", "own", "told", "came", "every"}


def test_names_say_what_they_hold() -> None:
    """A variable is not called by a word that says nothing about it."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            bound = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = node.arg if isinstance(node, ast.arg) else node.id if bound else ""  # type: ignore[attr-defined]
            assert name not in EMPTY_NAMES, f"{path.name}:{getattr(node, 'lineno', 0)}: {name}"
