"""The cases: judgments and a run, a question, and the answers known for it.

Each line of ``cases.jsonl`` is one `Case`. Add one by adding a line: its answers are worked out by
hand or by a formula in their text, never taken from a tool.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from rankscope.document.views import Shown
from rankscope.errors import FormatError, RankscopeError, UnknownNameError
from rankscope.files import PathLike, decoded, read_bytes, source_name
from rankscope.measures.language import Measure
from rankscope.part import Part

CASES = Path(__file__).with_name("cases.jsonl")

Value = float | Literal["error", "undefined"]
"""A number; ``error``: the tool refuses; ``undefined``: it returns NaN or None."""


class Answer(Part):
    """One answer a tool may give, and what it implies."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[A-Z]$")
    """A letter: from A for definitions, from X for faults."""
    value: Value
    """The answer itself."""
    kind: Literal["definition", "fault"]
    """Whether somebody means this by the question, or nobody does."""
    text: str
    """The definition it implies, or what goes wrong."""

    def agrees(self, value: Value, tolerance: float) -> bool:
        """Tell whether a tool's answer is this one."""
        if isinstance(value, str) or isinstance(self.value, str):
            return value == self.value
        return math.isclose(value, self.value, rel_tol=0.0, abs_tol=tolerance)


class Case(Part):
    """One question to a tool."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    """What the case is called."""
    title: str
    """The situation, in a line."""
    about: Literal["ranking", "scores", "queries"] = "ranking"
    """What the tool must be handed for the question to mean anything: a ranked list, the scores,
    or all queries at once."""
    question: str
    """The measure asked for, in rankscope's notation."""
    minus: str | None = None
    """A measure asked for in the same call, whose value is subtracted."""
    asked_with: tuple[str, ...] = ()
    """Other measures asked for in the same call."""
    times: int = Field(default=1, ge=1)
    """How often the same evaluator is asked; its last answer counts."""
    qrels: dict[str, dict[str, int]]
    """The grade of each judged document, by query."""
    run: dict[str, tuple[tuple[str, float], ...]]
    """What was returned for each query, in the order it was returned: document and score."""
    answers: tuple[Answer, ...] = Field(min_length=1)
    """The answers known."""
    tolerance: float = 1e-5
    """How far a number may be from an answer."""
    why: str
    """Why it matters."""
    seen: tuple[str, ...]
    """Public threads about it, as ``project#number``."""

    @property
    def asked(self) -> str:
        """The question as it is shown."""
        return self.question if self.minus is None else f"{self.question} - {self.minus}"

    @property
    def measures(self) -> tuple[str, ...]:
        """Every measure of the call."""
        return (self.question, *([self.minus] if self.minus else ()), *self.asked_with)

    def answer(self, value: Value) -> Answer | None:
        """Return the known answer that a value is; None if it is none of them."""
        return next(
            (answer for answer in self.answers if answer.agrees(value, self.tolerance)), None
        )

    @field_validator("question", "minus")
    @classmethod
    def _is_a_measure(cls, text: str | None) -> str | None:
        if text is None:
            return None
        try:
            measure = Measure.parse(text)
        except RankscopeError as error:
            raise ValueError(str(error)) from None
        if str(measure) != text:
            raise ValueError(f"write the measure as {measure}")
        return text

    @model_validator(mode="after")
    def _answers_differ(self) -> Self:
        for first, second in combinations(self.answers, 2):
            if first.name == second.name or first.agrees(second.value, 2 * self.tolerance):
                raise ValueError(f"answers {first.name} and {second.name} have the same value")
        return self


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(map(str, problem["loc"]))
    message = problem["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


class CaseList(Part, Shown):
    """Cases of the suite."""

    cases: tuple[Case, ...]
    """The cases, in the order they are put."""


def read_cases(path: PathLike = CASES, *, only: Iterable[str] = ()) -> tuple[Case, ...]:
    """Read the cases of a file, in its order.

    Raises:
        FormatError: a line is not a case, or an id is used twice.
        UnknownNameError: ``only`` names a case that is not there.
    """
    source = source_name(path)
    cases: dict[str, Case] = {}
    for number, line in enumerate(decoded(read_bytes(path), source=source).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            case = Case.model_validate_json(line)
        except ValidationError as error:
            raise FormatError(_first_problem(error), source=source, line=number) from None
        if case.id in cases:
            raise FormatError(f"the id {case.id!r} is used twice", source=source, line=number)
        cases[case.id] = case
    wanted = list(only) or list(cases)
    for name in wanted:
        if name not in cases:
            raise UnknownNameError("conformance case", name, cases)
    return tuple(cases[name] for name in wanted)
