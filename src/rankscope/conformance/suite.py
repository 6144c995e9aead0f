"""Put the cases to tools and compare what they answer."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Literal

from rankscope.conformance.cases import Value, read_cases
from rankscope.conformance.tools import CannotAskError, Question, all_tools, tool_named
from rankscope.document.views import Shown
from rankscope.part import Part

if TYPE_CHECKING:
    from rankscope.conformance.cases import Case
    from rankscope.conformance.tools import Tool

Kind = Literal["definition", "fault", "other", "not asked"]


class CaseOutcome(Part):
    """What a tool answered to a case."""

    case: str
    """The case."""
    asked: str = ""
    """The question."""
    kind: Kind
    """Whether the answer is that of a definition, a known fault, neither (``other``), or the
    question cannot be put to the tool."""
    answer: str | None = None
    """The letter of the known answer."""
    means: str = ""
    """What the known answer is: a definition, or a fault, in words."""
    value: Value | None = None
    """What the tool answered."""
    note: str = ""
    """The message of an error, or why the question cannot be put."""


class ToolReport(Part):
    """What one tool answered."""

    tool: str
    """The tool."""
    package: str
    """The package it comes in."""
    version: str | None
    """The version asked; None if it is not installed."""
    outcomes: tuple[CaseOutcome, ...] = ()
    """Its answers, in the order of the cases."""

    def of_kind(self, kind: Kind) -> int:
        """Count the answers of a kind."""
        return sum(outcome.kind == kind for outcome in self.outcomes)


class Conformance(Part, Shown):
    """What tools answered to the cases."""

    tools: tuple[ToolReport, ...]
    """The tools asked, in the order asked for."""


def ask(case: Case, tool: Tool) -> CaseOutcome:
    """Put a case to an installed tool."""
    question = Question(
        qrels={query_id: dict(grades) for query_id, grades in case.qrels.items()},
        run={query_id: list(pairs) for query_id, pairs in case.run.items()},
        measures=case.measures,
        times=case.times,
        about=case.about,
    )
    silence = io.StringIO()
    logging.disable(logging.CRITICAL)
    value: Value
    note = ""
    try:
        with warnings.catch_warnings(), redirect_stdout(silence), redirect_stderr(silence):
            warnings.simplefilter("ignore")
            values = tool.answer(question)
        number = values.get(case.question, 0.0)
        if number is not None and case.minus is not None:
            number -= values[case.minus] or 0.0
        value = "undefined" if number is None or number != number else float(number)  # noqa: PLR0124
    except CannotAskError as error:
        return CaseOutcome(case=case.id, asked=case.asked, kind="not asked", note=str(error))
    except Exception as error:  # whatever a tool raises is its answer
        value = "error"
        note = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
    finally:
        logging.disable(logging.NOTSET)
    known = case.answer(value)
    return CaseOutcome(
        case=case.id,
        asked=case.asked,
        kind="other" if known is None else known.kind,
        answer=None if known is None else known.name,
        means="" if known is None else known.text,
        value=value,
        note=note,
    )


def conformance(*, tools: Iterable[str] = (), cases: Iterable[str] = ()) -> Conformance:
    """Put cases to tools, to all of both where none are named."""
    chosen = read_cases(only=cases)
    reports = []
    for tool in [tool_named(name) for name in tools] or all_tools().values():
        version = tool.version()
        outcomes = () if version is None else tuple(ask(case, tool) for case in chosen)
        reports.append(
            ToolReport(tool=tool.name, package=tool.package, version=version, outcomes=outcomes)
        )
    return Conformance(tools=tuple(reports))
