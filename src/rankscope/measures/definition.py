"""What a measure is: its function, its parameters, and everything there is to say about it.

A `Definition` is made once, by the decorator `rankscope.measures.registry.define`, next to the
function that computes it. The language, the command line, the documentation and the laws in the
tests all read it from here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeGuard, cast

from rankscope.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankscope.measures.judged import FloatArray, JudgedRun
    from rankscope.measures.language import Measure

GainTable = tuple[tuple[float, float], ...]
"""Gains by grade, sorted by grade; a grade that is not listed keeps itself as its gain."""

Value = bool | int | float | str | tuple[float, ...] | GainTable | None
"""What a parameter may hold; always hashable."""

Need = Literal["", "subtopics", "spans", "terms"]
"""What a measure looks at beside hits and judgments."""

Aggregate = Literal["mean", "sum", "geometric", "pooled"]
"""How values become one; pooled: counts of all queries are added before they are divided."""

CutoffRule = Literal["required", "optional", "none"]
Kind = Literal["number", "whole", "flag", "choice", "gain", "numbers"]

LARGEST = 1e12
"""No parameter may be larger."""

LARGEST_CUTOFF = 10_000_000
"""No cutoff may be larger."""

MOST_ENTRIES = 50
"""No list and no gain table may be longer."""


class Function(Protocol):
    """A measure's function: one value for each query of a run."""

    def __call__(self, run: JudgedRun, /, **options: object) -> FloatArray:
        """Return the values, in the order of ``run.query_ids``."""


def written(value: Value) -> str:
    """Write a parameter's value such that parsing gives it back."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return str(value)
    if isinstance(value, tuple):
        if value and isinstance(value[0], tuple):
            pairs = (f"{written(key)}:{written(gained)}" for key, gained in value)
            return "{" + ",".join(pairs) + "}"
        return "[" + ",".join(written(item) for item in value) + "]"
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One option of a measure, and what it may be."""

    name: str
    kind: Kind
    default: Value
    summary: str
    lowest: float = -LARGEST
    highest: float = LARGEST
    open_ended: bool = False
    choices: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """Say in words what the parameter takes."""
        if self.kind == "flag":
            return "True or False"
        if self.kind == "choice":
            return " or ".join(self.choices)
        if self.kind == "gain":
            words = ", ".join(self.choices)
            return f"{words} or a table of gains from 0 up by grade, such as {{0:0,1:1,2:4}}"
        noun = {"whole": "a whole number", "numbers": "a list of numbers"}.get(
            self.kind, "a number"
        )
        if self.kind == "numbers" and self.choices:
            return f"a list of {len(self.choices)} numbers: {', '.join(self.choices)}"
        low, high = written(self.lowest), written(self.highest)
        if self.lowest == -LARGEST and self.highest == LARGEST:
            return noun
        if self.highest == LARGEST:
            return f"{noun} above {low}" if self.open_ended else f"{noun} from {low} up"
        between = "strictly between" if self.open_ended else "between"
        return f"{noun} {between} {low} and {high}"

    def checked(self, value: object, measure: str) -> Value:
        """Return the value in its canonical form, or say what is wrong with it."""
        parsed = self._read(value)
        if parsed is None and not (value is None and self.default is None):
            raise InputError(f"{measure}: {self.name} must be {self.expected}, not {_plain(value)}")
        return parsed

    def _read(self, value: object) -> Value:
        if self.kind == "flag":
            if isinstance(value, str):
                return {"true": True, "false": False}.get(value.casefold())
            return value if isinstance(value, bool) else None
        if self.kind in ("choice", "gain") and isinstance(value, str):
            return next((word for word in self.choices if word == value.casefold()), None)
        if self.kind == "gain":
            return _table(value)
        if self.kind == "numbers":
            return self._list(value)
        return self._number(value)

    def _number(self, value: object) -> float | int | None:
        if not _is_number(value, self.lowest, self.highest):
            return None
        if self.open_ended and value in (self.lowest, self.highest):
            return None
        if self.kind == "whole":
            return int(value) if float(value).is_integer() else None
        return float(value)

    def _list(self, value: object) -> tuple[float, ...] | None:
        if not isinstance(value, list | tuple) or not 0 < len(value) <= MOST_ENTRIES:
            return None
        items = [self._number(item) for item in value]
        fixed = len(self.choices)  # names of the places, where the length is given
        if None in items or (fixed and len(items) != fixed):
            return None
        return tuple(float(item) for item in items if item is not None)


def _plain(value: object) -> str:
    """Quote what was given for a message; a number needs no quotes."""
    if isinstance(value, int | float) and abs(value) < 1e20:
        return str(value)
    return shown(value)


def _is_number(value: object, low: float, high: float) -> TypeGuard[float]:
    is_plain = isinstance(value, int | float) and not isinstance(value, bool)
    return is_plain and low <= cast("float", value) <= high


def _table(value: object) -> GainTable | None:
    try:
        table = dict(value) if isinstance(value, dict | tuple) else {}
    except (TypeError, ValueError):
        return None
    cells = [*table, *table.values()]
    if not 0 < len(table) <= MOST_ENTRIES or not all(_is_number(n, 0, LARGEST) for n in cells):
        return None
    return tuple(sorted((float(grade), float(gain)) for grade, gain in table.items()))


def number(
    name: str,
    default: float,
    summary: str,
    *,
    lowest: float = 0.0,
    highest: float = LARGEST,
    open_ended: bool = False,
    whole: bool = False,
) -> Parameter:
    """Make a parameter that takes a number; ``open_ended`` leaves out both ends."""
    kind: Kind = "whole" if whole else "number"
    return Parameter(name, kind, default, summary, lowest, highest, open_ended)


def optional_number(name: str, summary: str, *, whole: bool = False) -> Parameter:
    """Make a parameter that takes a number above 0 and is unset by default."""
    kind: Kind = "whole" if whole else "number"
    return Parameter(name, kind, None, summary, 0.0, LARGEST, open_ended=True)


LEAST = optional_number("least", "grade below which nothing is gained")
"""A level for measures that look at gains, where ``rel`` would make them binary."""


def flag(name: str, summary: str, *, default: bool = False) -> Parameter:
    """Make a parameter that is True or False."""
    return Parameter(name, "flag", default, summary)


def choice(name: str, choices: tuple[str, ...], summary: str) -> Parameter:
    """Make a parameter that takes one of some words; the first is the default."""
    return Parameter(name, "choice", choices[0], summary, choices=choices)


def gain_parameter(*words: str) -> Parameter:
    """Make the parameter that turns grades into gains; the first word is the default."""
    summary = (
        "gain of a grade: the grade itself (linear), 2^grade − 1 (exp), "
        "1 from grade rel on (binary), or a table"
    )
    return Parameter("gain", "gain", words[0], summary, choices=words)


INFINITY = math.inf

REL = number("rel", 1.0, "lowest grade that counts as relevant")
GAIN = gain_parameter("linear", "exp", "binary")
MIN_REL = number("min_rel", 0.0, "grade that gains nothing")
MAX_REL = optional_number("max_rel", "grade that gains 1; the highest in the judgments by default")


_GRADED_BY = (
    "where documents are terms of an ontology: the grade of a term is how near it is to the "
    "expected ones, by this similarity; terms that were not retrieved have grades too"
)


def nearness_parameters(default: str | None) -> tuple[Parameter, Parameter, Parameter]:
    """Make the parameters that say how near two terms of an ontology are.

    Without a default for ``sim`` nearness plays no part unless it is asked for.
    """
    return (
        Parameter(
            "sim",
            "choice",
            default,
            "how near two terms are" if default else _GRADED_BY,
            choices=SIMILARITIES,
        ),
        choice("depth", ("longest", "shortest"), "which path from the root is a term's depth"),
        choice(
            "ic",
            ("structure", "annotations"),
            "where information content comes from: the terms below (Seco), or annotations",
        ),
    )


SIMILARITIES = (
    *("hybrid", "resnik-like", "wu-palmer", "resnik", "lin", "jiang-conrath", "simgic", "path"),
    "credit",
)
"""The names of similarities, those of `rankscope.ontology.nearness`."""

NEARNESS = nearness_parameters(None)
"""Every measure of documents takes them; `rankscope.measures.registry.compute` applies them."""

JUDGED_ONLY = flag("judged_only", "leave out unjudged documents before ranks are counted")
"""Every measure takes it; `rankscope.measures.registry.compute` applies it."""


@dataclass(frozen=True, slots=True)
class Factors:
    """The two factors of a measure that is a sum of gains times discounts."""

    gain: Callable[[float], float]
    """The gain of a grade."""
    discount: Callable[[int], float]
    """The discount of a rank."""
    share_of: str = ""
    """The measure that is this sum, if the measure itself is its share of the best possible."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One measure: how it is computed, written, aggregated and explained."""

    name: str
    function: Function
    family: str
    """Which kind of measure it is; groups the documentation."""
    cutoff: CutoffRule
    """Whether ``@k`` must, may or cannot follow the name."""
    parameters: tuple[Parameter, ...]
    """All it takes beside the cutoff, in the order they are written."""
    summary: str
    """What it means, in one sentence."""
    formula: str
    reference: str
    range: tuple[float, float]
    """The lowest and the highest value it can take."""
    higher_is_better: bool
    no_relevant: str
    """Its value for a query without a relevant document."""
    short_run: str
    """What it does with a run shorter than the cutoff, or empty."""
    example: str
    """How it is written, for instance."""
    aggregate: Aggregate
    """How values of several queries become one."""
    needs: Need = ""
    """What a run must have beside hits and judgments."""
    strict: str = ""
    """For a measure of nearness: the measure that counts exact matches only."""
    not_monotone: str = ""
    """Why it may fall when a relevant document moves up past a nonrelevant one; '' if never."""
    tie_bounds: bool | Callable[[Measure], bool] = True
    """Whether a few orders of equal scores, such as relevant documents first and last, are known to
    give the lowest and the highest value; may depend on cutoff and options."""
    sees_unjudged: bool = False
    """Whether it tells unjudged documents from those judged nonrelevant."""
    factors: Callable[..., Factors] | None = None
    """For a sum of gains times discounts: the two factors, from a run and the options."""

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of this name, if the measure has it."""
        return next((item for item in self.parameters if item.name == name), None)
