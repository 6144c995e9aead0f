"""Write docs/reference/peers.md: ``python -m tests.slow.peers.page``."""

from __future__ import annotations

from pathlib import Path

from .cases import CASES, Case, Value
from .tools import TOOLS, Tool

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "peers.md"

_HEAD = """\
# What other tools answer

Small cases with a known answer, put to tools that score rankings, each with its default options.
*differs* is not always a fault: where several definitions share a name, right is that of trec_eval.
– is a case that cannot be put to a tool: it has no such measure, or takes no such input."""


def page() -> str:
    """Return the page, made of the cases alone: no tool is asked."""
    titles = ["case", *(f"{tool.name} {tool.version}".strip() for tool in TOOLS)]
    rows = [[case.title, *(_cell(case, tool) for tool in TOOLS)] for case in CASES]
    lines = [f"| {' | '.join(row)} |" for row in (titles, ["---"] * len(titles), *rows)]
    lines += ["", "## The cases", "", *map(_line, CASES), "", "## The differences", ""]
    lines += [
        f"- {case.title}, {tools}: {_shown(value)}. {text}"
        for case in CASES
        for tools, (value, text) in case.others.items()
    ]
    return "\n".join([_HEAD, "", *lines, ""])


def _cell(case: Case, tool: Tool) -> str:
    if not tool.names_for(case):
        return "–"
    return "right" if case.answer_of(tool.name)[0] == case.right else "differs"


def _line(case: Case) -> str:
    data = f"judged `{case.judged}`, returned `{case.returned}`"
    return f"- {case.title}: {data}. `{case.ask}` is {_shown(case.right)}. {case.why}"


def _shown(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
