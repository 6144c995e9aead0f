"""The register of measures: `define` adds one, the others find, compute and aggregate.

The built-in families are imported when a measure is first looked up, and the measures of other
packages (entry points of the group ``rankscope.measures``) when a name is unknown or when all are
listed.
"""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures.definition import (
    JUDGED_ONLY,
    NEARNESS,
    Aggregate,
    CutoffRule,
    Definition,
    Factors,
    Need,
    Parameter,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankscope.measures.judged import FloatArray, JudgedRun
    from rankscope.measures.language import Measure

__all__ = ["define", "measure"]

FAMILIES = (
    *("rank", "graded", "user_models", "incomplete", "sets", "trec", "diversity", "spans"),
    "near",
)
"""The modules of this package that hold the built-in measures."""

GROUP = "rankscope.measures"
"""The entry point group under which other packages offer measures."""

FLOOR = 1e-5
"""A geometric mean counts lower values as this one, as trec_eval does."""

_F = TypeVar("_F", bound="Callable[..., Any]")
_definitions: dict[str, Definition] = {}

_SECTIONS = ("Formula", "No relevant document", "Short run", "Reference")


def _sections(doc: str) -> dict[str, str]:
    """Take a docstring apart: its first paragraph, and the sections every measure has."""
    sections = {"Summary": ""}
    current: str | None = "Summary"
    for line in doc.splitlines():
        text = line.strip()
        head, colon, rest = text.partition(": ")
        if colon and head in _SECTIONS:
            current, text = head, rest
        elif not text:
            current = None
        if current is not None:
            sections[current] = f"{sections.get(current, '')} {text}".strip()
    return sections


def define(
    name: str,
    *parameters: Parameter,
    example: str = "",
    range: tuple[float, float] = (0.0, 1.0),  # noqa: A002
    higher_is_better: bool = True,
    aggregate: Aggregate = "mean",
    needs: Need = "",
    strict: str = "",
    by_grade: bool = True,
    not_monotone: str = "",
    tie_bounds: bool | Callable[[Measure], bool] = True,
    sees_unjudged: bool = False,
    factors: Callable[..., Factors] | None = None,
) -> Callable[[_F], _F]:
    """Make a function of a `JudgedRun` a measure that can be asked for by ``name``.

    The function gets the run, then by keyword each of its parameters, and ``cutoff`` if it takes
    one (which may be left out if it may be None), and returns one number for each query. What is to
    be said about the measure is in its docstring: the first paragraph says what it means; lines
    that begin with ``Formula:``, ``No relevant document:`` (0 if not said), ``Short run:`` and
    ``Reference:`` say the rest. What does not look at grades (``by_grade`` false) takes no nearness
    for one.

    >>> @define("First", example="First")
    ... def first(run):
    ...     '''Whether the first document is relevant.'''
    ...     return run.found(1.0, 1).astype(float)
    """
    if not re.fullmatch(r"\w{1,40}", name) or not re.search(r"[^\W\d_]", name):
        raise InputError(f"a measure's name is made of letters, digits and _, not {shown(name)}")

    def register(function: _F) -> _F:
        if name in _definitions:
            raise InputError(f"there is a measure {name} already; choose another name")
        taken = {parameter.name for parameter in parameters}
        sections = _sections(function.__doc__ or "")
        rule: CutoffRule = "none"
        taker = inspect.signature(function).parameters.get("cutoff")
        if taker is not None:
            may_be_none = taker.default is None or "None" in str(taker.annotation)
            rule = "optional" if may_be_none else "required"
        package, _, family = function.__module__.rpartition(".")
        _definitions[name] = Definition(
            name=name,
            function=function,
            family=family if package == "rankscope.measures" else "own",
            cutoff=rule,
            parameters=(
                *parameters,
                JUDGED_ONLY,
                *(near for near in NEARNESS if by_grade and not needs and near.name not in taken),
            ),
            summary=sections["Summary"],
            formula=sections.get("Formula", ""),
            reference=sections.get("Reference", ""),
            range=range,
            higher_is_better=higher_is_better,
            no_relevant=sections.get("No relevant document", "0"),
            short_run=sections.get("Short run", "ranks past its end count as nonrelevant"),
            example=example or (name if rule == "none" else f"{name}@10"),
            aggregate=aggregate,
            needs=needs,
            strict=strict,
            not_monotone=not_monotone,
            tie_bounds=tie_bounds,
            sees_unjudged=sees_unjudged,
            factors=factors,
        )
        return function

    return register


measure = define
"""The public name of `define`: ``@rankscope.measure("name")``."""


@cache
def _load_families() -> None:
    for family in FAMILIES:
        import_module(f"rankscope.measures.{family}")


@cache
def _load_plugins() -> None:
    """Import what other packages offer; one that fails is warned about and left out."""
    import warnings  # noqa: PLC0415
    from importlib.metadata import entry_points  # noqa: PLC0415

    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:  # of one package, which must not stop the others
            warnings.warn(
                f"the measures of {point.value} could not be loaded: {error}", stacklevel=4
            )


def definition_of(name: str) -> Definition:
    """Return the measure of exactly this name; an unknown one is an error that names the nearest.

    >>> definition_of("nDCG").cutoff
    'optional'
    """
    _load_families()
    if name not in _definitions:
        _load_plugins()
    if name not in _definitions:
        raise UnknownNameError("measure", name, list(_definitions))
    return _definitions[name]


def known_names() -> list[str]:
    """Return the names of all measures that are loaded, without looking for other packages'."""
    _load_families()
    return list(_definitions)


def all_definitions() -> list[Definition]:
    """Return all measures, family by family."""
    _load_families()
    _load_plugins()
    place = {family: number for number, family in enumerate((*FAMILIES, "own"))}
    return sorted(_definitions.values(), key=lambda definition: place[definition.family])


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """A measure made ready to be computed: its function, and what is done to a run before."""

    measure: Measure
    definition: Definition
    options: dict[str, Value]
    """The options of its function."""
    condenses: bool
    near: tuple[str, ...] | None
    """How near terms are graded; None if grades are as judged."""

    def values(self, run: JudgedRun) -> FloatArray:
        """Return the value for each query of a run, in the order of its ``query_ids``."""
        needs = self.definition.needs or ("terms" if self.near else "")
        if needs and getattr(run, needs) is None:
            raise InputError(f"{self.measure}: needs {_NEEDS[needs]}")
        judged = run.condensed() if self.condenses else run
        if self.near is not None:
            return self._softened(judged, self.near)
        values = self.definition.function(judged, **self.options)
        return self._checked(len(run), values) if self.definition.family == "own" else values

    def _softened(self, run: JudgedRun, near: tuple[str, ...]) -> FloatArray:
        """Return the values where nearness to expected terms is the grade."""
        import numpy as np  # noqa: PLC0415

        from rankscope.measures.term_lists import softened  # noqa: PLC0415
        from rankscope.ontology.nearness import Way  # noqa: PLC0415

        plain = self.measure.strict
        assert plain is not None
        plain = plain.replaced(**{JUDGED_ONLY.name: False})  # done already, by what was judged
        return np.concatenate([compute(plain, part) for part in softened(run, Way.of(*near))])

    def _checked(self, queries: int, values: object) -> FloatArray:
        """Refuse what the function of another package must not return."""
        import numpy as np  # noqa: PLC0415

        try:
            computed = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            computed = np.empty(0)
        if computed.shape != (queries,) or not np.isfinite(computed).all():
            raise InputError(
                f"{self.measure}: its function must return one finite number for each of the "
                f"{queries} queries"
            )
        return computed

    def mean(self, values: FloatArray, run: JudgedRun | None = None) -> float:
        """Turn the values of several queries into one number; see `aggregate`."""
        rule = self.definition.aggregate
        if len(values) == 0:
            return 0.0 if rule == "sum" else math.nan
        if rule == "pooled":
            if run is None:
                raise InputError(
                    f"{self.measure} pools all queries, so it has a value for a whole run only; "
                    f"use {self.measure.replaced(mean='macro')} here"
                )
            relevant = run.graded(cast("float", self.options["rel"]))
            return float((values * relevant).round().sum() / max(relevant.sum(), 1))
        if rule == "geometric":
            logarithms = [math.log(max(value, FLOOR)) for value in values.tolist()]
            return math.exp(math.fsum(logarithms) / len(values))
        total = math.fsum(values.tolist())
        return total if rule == "sum" else total / len(values)


_NEEDS = {
    "subtopics": "judgments by subtopic (the second column of diversity qrels)",
    "spans": "gold that is spans or texts, and not ids",
    "terms": "an ontology, of which the documents are terms; evaluate, compare, gate, diagnose and "
    "benchmarks take one (--ontology, ontology=…)",
}


@lru_cache(maxsize=1024)
def computation(measure: Measure) -> Computation:
    """Make a measure ready to be computed."""
    definition, options = measure.definition, measure.options
    condenses = bool(options.pop(JUDGED_ONLY.name))
    near = None
    if not definition.needs:
        shared = {item for item in NEARNESS if item in definition.parameters}
        way = [options.pop(item.name) if item in shared else item.default for item in NEARNESS]
        near = None if way[0] is None else tuple(map(str, way))
    if definition.cutoff != "none":
        options["cutoff"] = measure.cutoff
    return Computation(measure, definition, options, condenses, near)


def compute(measure: Measure, run: JudgedRun) -> FloatArray:
    """Return a measure's value for each query of a run, in the order of its ``query_ids``."""
    return computation(measure).values(run)


def aggregate(measure: Measure, values: FloatArray, run: JudgedRun | None = None) -> float:
    """Turn a measure's values for several queries into one number.

    A mean, unless the measure says otherwise: counts are summed, GMAP is a geometric mean, and
    R(mean=micro) divides what all queries found by what they could find, which takes the run that
    the values are of. The mean of no query is not a number (NaN). The sum is exact before it is
    rounded, so the number does not depend on the order of the queries.
    """
    return computation(measure).mean(values, run)
