"""The small changes a mutant is made of: one operator, number, name or statement of a module.

What cannot change an answer is left alone: documentation, annotations, the text of messages,
`strict=` and `frozen=`. A change keeps the line numbers, so code objects keep their place.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.MatMult: ast.Mult,
}
BOUNDARIES: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
OPPOSITES: dict[type, type] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
NAMESAKES = [("min", "max"), ("minimum", "maximum"), ("any", "all"), ("floor", "ceil"),
             ("argmin", "argmax"), ("zeros", "ones"), ("log", "log2"), ("lower", "upper"),
             ("isf", "sf"), ("cdf", "sf"), ("first", "last"), ("left", "right")]  # fmt: skip
OTHER_NAME = dict(NAMESAKES) | {second: first for first, second in NAMESAKES}
SYMMETRIC = {"min", "max", "minimum", "maximum", "isinstance", "getattr", "hasattr", "setattr",
             "zip", "isclose", "allclose", "gcd", "cast", "logaddexp", "hypot"}  # fmt: skip
QUIET_KEYWORDS = {"strict", "frozen", "slots", "repr", "eq", "init", "validate_default"}
"""Keywords whose value guards against mistakes in our own code, or is for people."""


@dataclass
class Change:
    """One change: put ``new`` where ``old`` is."""

    path: Path
    kind: str
    line: int
    """Where the changed node is."""
    lines: range
    """The lines of the statement around it, for finding the tests that reach it."""
    in_function: bool
    """False where it takes effect at import: constants, default values, class bodies."""
    node: Any
    field: str
    index: int | None
    old: Any
    new: Any
    shown: str = ""
    """The changed statement's part, before and after."""

    def put(self, value: Any) -> None:
        """Write ``value`` into the tree."""
        if self.index is None:
            setattr(self.node, self.field, value)
        else:
            getattr(self.node, self.field)[self.index] = value

    @property
    def name(self) -> str:
        """What identifies the change in a list."""
        return f"{self.path}:{self.line}: {self.kind}: {self.shown}"


Place = tuple[Any, str, int | None]
"""Parent, field and index of a node."""


class Changes:
    """Collects the changes of one module."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        self.path, self.found = path, list[Change]()
        self.statement: ast.AST = tree
        self.depth = 0
        self.children(tree)

    def children(self, node: ast.AST, skip: tuple[str, ...] = ()) -> None:
        """Look at what is below, but for annotations."""
        for field, value in ast.iter_fields(node):
            if field in skip or field in ("annotation", "returns", "type_comment"):
                continue
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        self.look((node, field, index), item)
            elif isinstance(value, ast.AST):
                self.look((node, field, None), value)

    def add(
        self, place: Place, kind: str, old: Any, new: Any, about: ast.AST | None = None
    ) -> None:
        """Note a change; ``about`` is what is shown, by default the changed node's parent."""
        parent, field, index = place
        about = about or parent
        line = getattr(old, "lineno", getattr(about, "lineno", 0))
        if isinstance(new, ast.AST):
            ast.copy_location(new, old if hasattr(old, "lineno") else about)
            ast.fix_missing_locations(new)
        first = getattr(self.statement, "lineno", line)
        last = getattr(self.statement, "end_lineno", line)
        if isinstance(body := getattr(self.statement, "body", None), list):
            last = body[0].lineno - 1  # the head of a compound statement
        lines = range(first, max(first, last) + 1)
        change = Change(
            self.path, kind, line, lines, self.depth > 0, parent, field, index, old, new
        )
        before = ast.unparse(about)
        change.put(new)
        after = ast.unparse(new if about is old else about)
        change.put(old)
        change.shown = f"{short(before)} → {short(after)}"
        self.found.append(change)

    def look(self, place: Place, node: ast.AST) -> None:
        """Collect the changes of ``node`` and below."""
        if isinstance(node, ast.stmt):
            self.statements(place, node)
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
            pass  # a type
        elif isinstance(node, ast.expr):
            self.expressions(place, node)
            self.children(node)
        elif isinstance(node, ast.keyword):
            if node.arg not in QUIET_KEYWORDS:
                self.children(node)
        else:
            self.children(node)

    def statements(self, place: Place, node: ast.stmt) -> None:
        """Collect what can be changed in a statement."""
        outer, self.statement = self.statement, node
        if isinstance(node, ast.FunctionDef):
            self.children(node, skip=("body",))
            self.depth += 1
            self.children(node, skip=("args", "decorator_list"))
            self.depth -= 1
        elif isinstance(node, ast.Raise):  # of its message nothing
            if node.exc is not None:
                self.add(place, "no error", node, ast.Pass(), node)
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self.add(place, "statement removed", node, ast.Pass(), node)
                self.children(node)
        elif not is_quiet(node):
            self.simple_statements(place, node)
            self.children(node)
        self.statement = outer

    def simple_statements(self, place: Place, node: ast.stmt) -> None:
        """Change a statement as a whole."""
        if isinstance(node, ast.Return) and node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                self.add((node, "value", None), "returns None", node.value, ast.Constant(None))
        elif isinstance(node, ast.AugAssign):
            self.add(place, "statement removed", node, ast.Pass(), node)
            self.add((node, "op", None), "arithmetic", node.op, OPERATORS[type(node.op)]())
        elif isinstance(node, ast.Continue):
            self.add(place, "statement removed", node, ast.Pass(), node)
        elif isinstance(node, ast.Break):
            self.add(place, "break for continue", node, ast.Continue(), node)
        elif isinstance(node, ast.If | ast.While):
            self.condition((node, "test", None), node.test)

    def condition(self, place: Place, test: ast.expr) -> None:
        """Negate a condition that is no comparison, which has changes of its own."""
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            self.add(place, "condition", test, ast.UnaryOp(ast.Not(), test), test)

    def expressions(self, place: Place, node: ast.expr) -> None:
        """Change an expression."""
        if isinstance(node, ast.BinOp):
            if not is_text(node.left) and not is_text(node.right):
                self.add((node, "op", None), "arithmetic", node.op, OPERATORS[type(node.op)]())
        elif isinstance(node, ast.BoolOp):
            new = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            self.add((node, "op", None), "and, or", node.op, new)
        elif isinstance(node, ast.UnaryOp):
            self.add(place, "sign or not", node, node.operand)
        elif isinstance(node, ast.IfExp):
            self.condition((node, "test", None), node.test)
        else:
            self.larger_expressions(place, node)

    def larger_expressions(self, place: Place, node: ast.expr) -> None:
        """Change a comparison, a constant, a call, a slice or a comprehension."""
        if isinstance(node, ast.Compare):
            self.comparisons(node)
        elif isinstance(node, ast.Constant):
            self.constants(place, node)
        elif isinstance(node, ast.Call):
            self.calls(node)
        elif isinstance(node, ast.Slice):
            for name in ("lower", "upper"):
                end = getattr(node, name)
                if end is not None and not isinstance(end, ast.Constant):
                    new = ast.BinOp(end, ast.Add(), ast.Constant(1))
                    self.add((node, name, None), "slice", end, new)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            for part in node.generators:
                for index, test in enumerate(part.ifs):
                    self.add((part, "ifs", index), "filter removed", test, ast.Constant(True), node)

    def comparisons(self, node: ast.Compare) -> None:
        """Move a boundary, turn a comparison round, compare with another text."""
        for index, operator in enumerate(node.ops):
            for table, kind in ((BOUNDARIES, "boundary"), (OPPOSITES, "comparison")):
                if type(operator) in table:
                    new = table[type(operator)]()
                    self.add((node, "ops", index), kind, operator, new)
        for index, side in enumerate(node.comparators):
            if is_text(side):
                self.add((node, "comparators", index), "text", side, ast.Constant("?"))

    def constants(self, place: Place, node: ast.Constant) -> None:
        """Add 1 and take away 1."""
        value = node.value
        if isinstance(value, bool):
            self.add(place, "constant", node, ast.Constant(not value))
        elif isinstance(value, int | float):
            if value + 1 == value:  # too large for 1 to matter
                self.add(place, "constant", node, ast.Constant(value * 2))
                return
            self.add(place, "constant", node, ast.Constant(value + 1))
            if value != 0:
                self.add(place, "constant", node, ast.Constant(value - 1))

    def calls(self, node: ast.Call) -> None:
        """Call the function's counterpart, swap the first two arguments."""
        function = node.func
        name = getattr(function, "attr", getattr(function, "id", ""))
        if name in OTHER_NAME:
            field = "attr" if isinstance(function, ast.Attribute) else "id"
            self.add((function, field, None), "other function", name, OTHER_NAME[name], node)
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        if len(node.args) < 2 or name in SYMMETRIC or starred:
            return
        first, second = node.args[:2]
        if ast.dump(first) != ast.dump(second):
            swapped = [second, first, *node.args[2:]]
            self.add((node, "args", None), "arguments swapped", node.args, swapped)


def is_quiet(node: ast.stmt) -> bool:
    """Tell whether a statement computes nothing."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    if isinstance(node, ast.Assign):
        return "__all__" in ast.unparse(node.targets[0])
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal)


def is_text(node: ast.expr) -> bool:
    """Tell whether an expression is written as text."""
    is_constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_constant or isinstance(node, ast.JoinedStr)


def short(text: str, length: int = 90) -> str:
    """Return text in one line, cut if need be."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def changes_of(path: Path) -> tuple[ast.Module, list[Change]]:
    """Return the module's tree and everything that can be changed in it."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    return tree, Changes(path, tree).found
