"""Options that would do nothing, because of what another option is: they are refused.

A value that changes nothing looks as if it were measured; a sweep over it compares equal systems.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rankscope.retrieval.options import Options, SpecError, Unexpanded, given_as


@dataclass(frozen=True, slots=True)
class OnlyFor:
    """Options that have an effect only where another one, ``choice``, has one of ``values``."""

    options: tuple[str, ...]
    choice: str
    values: tuple[str | bool, ...]


def refuse_idle(options: Options, rules: Iterable[OnlyFor]) -> None:
    """Refuse the first option that was given and has no effect; null is as if not given.

    Raises:
        SpecError: there is one.
    """
    for rule in rules:
        chosen = getattr(options, rule.choice)
        if chosen in rule.values or isinstance(chosen, Unexpanded):
            continue
        for name in rule.options:
            if name in options.model_fields_set and getattr(options, name) is not None:
                raise SpecError(_problem(options, name, rule), (name,))


def _problem(options: Options, name: str, rule: OnlyFor) -> str:
    choice, is_given = rule.choice, rule.choice in options.model_fields_set
    *others, last = map(_written, rule.values)
    values = f"{', '.join(others)} or {last}" if others else last
    remedy = f"leave {name} out" if is_given else f"add {choice}: {_written(rule.values[0])}"
    chosen = _written(getattr(options, choice))
    return f"{name} is for {choice}: {values}, and {choice} is {chosen}; {remedy}"


def _written(value: object) -> str:
    """Return a value as a config writes it."""
    return value if isinstance(value, str) else given_as(value)
