"""Secrets: ``${NAME}`` in a text inside ``systems`` stands for a variable of the environment.

The value is put in only when systems are made, and taken out again of whatever is shown or
recorded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rankscope.benchmark.config.overrides import Origins
from rankscope.errors import InputError, shown
from rankscope.retrieval.hiding import Hider, hidden_in_errors
from rankscope.retrieval.options import Keys, SpecError

_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")


class Secrets:
    """Values of variables that a config refers to as ``${NAME}``; they are never shown.

    >>> secrets = Secrets({"KEY": "hunter22"})
    >>> secrets.expand({"key": "Bearer ${KEY}"})
    {'key': 'Bearer hunter22'}
    >>> secrets.hide("refused: Bearer hunter22")
    'refused: Bearer ${KEY}'
    """

    __slots__ = ("_hider", "_values")

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})
        self._hider = Hider({value: f"${{{name}}}" for name, value in self._values.items()})

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, by name."""
        return tuple(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"

    def expand(self, data: Any) -> Any:
        """Return plain data with the values put in, and ``$${`` as ``${``."""
        return _mapped(data, lambda text: _REFERENCE.sub(self._value, text), keys=False)

    def _value(self, reference: re.Match[str]) -> str:
        if reference[1] is None:
            return "${"
        if reference[1] not in self._values:
            raise InputError(f"the variable {reference[1]} is not among the config's secrets")
        return self._values[reference[1]]

    def hide(self, data: Any) -> Any:
        """Return plain data in which every value is written as ``${NAME}`` again.

        In which forms it is recognised, `rankscope.retrieval.hiding` says.
        """
        return _mapped(data, self._hider.hide, keys=True) if self._values else data

    def hidden_in_errors(self) -> AbstractContextManager[None]:
        """Return a context in which any exception, what led to it included, holds no value."""
        return hidden_in_errors(self._hider.hide) if self._values else nullcontext()


def _mapped(data: Any, change: Callable[[str], str], *, keys: bool) -> Any:
    """Return a copy of plain data with every text changed."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, Mapping):
        return {
            change(key) if keys and isinstance(key, str) else key: _mapped(value, change, keys=keys)
            for key, value in data.items()
        }
    if isinstance(data, list | tuple):
        return type(data)(_mapped(value, change, keys=keys) for value in data)
    return data


def find_secrets(
    data: Mapping[str, Any],
    environment: Mapping[str, str],
    origins: Origins,
    *,
    section: str | None = "systems",
) -> Secrets:
    """Return the values of all variables that a config refers to.

    ``section`` is where it may do so; None: in any value.

    Raises:
        FormatError: a reference outside the section, one that is no name, or one that is not set.
    """
    values: dict[str, str] = {}
    for keys, text, is_key in _texts(data, ()):
        for reference in _REFERENCE.finditer(text):
            name = reference[1]
            if section not in (None, keys[0]) or is_key:
                place = "values" if section is None else f"the values of {section}"
                problem = f"{shown(reference[0])} is allowed only in {place}"
            elif reference[0] == "$${":
                continue
            elif name is None:
                problem = "'${' without a variable's name; write ${NAME}, or $${ for the text '${'"
            elif not environment.get(name):
                state = "is empty" if name in environment else "is not set"
                problem = f"the environment variable {name} {state}; set it"
            else:
                values[name] = environment[name]
                continue
            raise origins.error(SpecError(problem, keys))
    return Secrets(values)


def _texts(data: Any, keys: Keys) -> Iterator[tuple[Keys, str, bool]]:
    """Yield every text with the path to it, and whether it is a key."""
    if isinstance(data, str):
        yield keys, data, False
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield (*keys, key), key, True
            yield from _texts(value, (*keys, key))
    elif isinstance(data, list):
        for at, value in enumerate(data):
            yield from _texts(value, (*keys, at))
