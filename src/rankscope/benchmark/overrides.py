"""What is said about a config outside its file: settings, and secrets from the environment.

A setting changes one value: ``--set systems.lexical.bm25.k1=1.2`` on the command line, or the
variable ``RANKSCOPE_SET_SYSTEMS__LEXICAL__BM25__K1=1.2``. The file counts least, then the
environment, then the command line. A secret is ``${NAME}`` in a text inside ``systems``; its value
is put in only when systems are made, and taken out again of whatever is shown or recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

from rankscope.benchmark.config_keys import DEEPEST, ConfigFile, Keys, dotted
from rankscope.benchmark.configfile import parse_value
from rankscope.errors import FormatError, InputError, UnknownNameError, shown

__all__ = ["PREFIX", "Override", "Places", "Secrets", "apply_overrides", "find_secrets"]

PREFIX = "RANKSCOPE_SET_"
"""How the names of variables that change a config begin."""


@dataclass(frozen=True, slots=True)
class Override:
    """One value set from outside; ``label`` is how messages call it."""

    keys: Keys
    value: Any
    label: str


@dataclass(frozen=True, slots=True)
class Places:
    """Where each value of a config was said: on a line of the file, or in a setting."""

    file: ConfigFile
    overrides: list[Override] = field(default_factory=list)

    def error(self, keys: Keys, problem: str) -> FormatError:
        """Return the error that a value is wrong, with the place where it was said."""
        for override in reversed(self.overrides):
            if keys[: len(override.keys)] == override.keys:
                return FormatError(problem, source=override.label)
        if keys not in self.file.lines:
            for override in reversed(self.overrides):
                if keys and override.keys[: len(keys)] == keys:  # it made what is wrong
                    return FormatError(problem, source=override.label)
        return FormatError(problem, source=self.file.source, line=self.file.line(keys))


# --- settings ------------------------------------------------------------------------------------


def apply_overrides(
    places: Places,
    settings: Sequence[str],
    environment: Mapping[str, str],
    sections: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return the file's data with all settings applied, and note them in ``places``.

    ``sections`` are the keys that a config may have, each with the keys it may have inside.
    """
    data = deepcopy(places.file.data)
    for name in sorted(environment):
        if name.upper().startswith(PREFIX):
            label = f"the environment variable {name}"
            parts = name[len(PREFIX) :].split("__")
            if not all(parts) or len(parts) > DEEPEST:
                raise FormatError(
                    f"names no key; write {PREFIX}DEPTH or {PREFIX}STATISTICS__SEED", source=label
                )
            keys = _keys(data, parts, sections, _folded)
            value = parse_value(environment[name], source=label)
            _apply(data, Override(keys, value, label), places)
    for setting in settings:
        path, text = _split(setting, data, sections)
        label = f"--set {path if path.isprintable() else shown(path)}"
        keys = _keys(data, path.split("."), sections, _exactly)
        _apply(data, Override(keys, parse_value(text, source=label), label), places)
    return data


_MOST_CUTS = 10
"""A path holds fewer signs of equality; those of a value are not tried."""


def _split(
    setting: str, data: dict[str, Any], sections: Mapping[str, Sequence[str]]
) -> tuple[str, str]:
    """Split at the first ``=``; a later one if that leads further into what is there."""
    cuts = [at for at, letter in enumerate(setting) if letter == "="][:_MOST_CUTS]
    best, furthest = None, -1
    for cut in cuts:
        path = setting[:cut].strip()
        parts = path.split(".")
        if not all(parts) or len(parts) > DEEPEST or path.count("(") != path.count(")"):
            continue
        keys = _keys(data, parts, sections, _exactly)
        depth = _known_depth(data, keys)
        if depth > furthest:
            best, furthest = cut, depth
    if best is None:
        raise InputError(
            f"--set {shown(setting)}: expected a key and a value, such as depth=50 or "
            "statistics.seed=3"
        )
    return setting[:best].strip(), setting[best + 1 :].strip()


def _known_depth(data: Any, keys: Keys) -> int:
    for depth, key in enumerate(keys):
        if not isinstance(data, dict) or key not in data:
            return depth
        data = data[key]
    return len(keys)


Match = Callable[[str, Sequence[str]], str | None]


def _exactly(text: str, known: Sequence[str]) -> str | None:
    return text if text in known else None


def _folded(text: str, known: Sequence[str]) -> str | None:
    """Find a key whatever its case; what a variable's name cannot hold stands as ``_``."""
    same = [key for key in known if key.casefold() == text.casefold()]
    like = [key for key in known if _as_variable(key) == _as_variable(text)]
    return same[0] if same else like[0] if len(like) == 1 else None


def _as_variable(text: str) -> str:
    return re.sub(r"\W", "_", text.casefold())


def _keys(
    data: Any, parts: Sequence[str], sections: Mapping[str, Sequence[str]], match: Match
) -> Keys:
    """Find the keys that a path names; of keys that hold a dot themselves the longest counts."""
    keys: list[str | int] = []
    parts = list(parts)
    while parts:
        known = list(data) if isinstance(data, dict) else []
        if not keys:
            known += sections
        elif len(keys) == 1:
            known += sections.get(str(keys[0]), ())
        joiner = "__" if match is _folded else "."
        for length in range(len(parts), 0, -1):
            found = match(joiner.join(parts[:length]), known)
            if found is not None:
                break
        else:
            length, found = 1, parts[0].casefold() if match is _folded else parts[0]
        key: str | int = found
        if isinstance(data, list) and found.isdecimal() and len(found) < 10:
            key = int(found)
        keys.append(key)
        parts = parts[length:]
        data = _inside(data, key)
    return tuple(keys)


def _inside(data: Any, key: str | int) -> Any:
    if isinstance(data, dict):
        return data.get(str(key))
    if isinstance(data, list) and isinstance(key, int) and key < len(data):
        return data[key]
    return {} if data == key else None  # a system given by name only: lexical: bm25


def _apply(data: dict[str, Any], override: Override, places: Places) -> None:
    """Set one value; what leads to it is made where that makes sense."""
    keys, label = override.keys, override.label
    if keys[0] == "systems" and len(keys) > 2:
        _check_system(data.get("systems"), keys, label)
    if keys[0] == "collection" and len(keys) > 1 and isinstance(data.get("collection"), str):
        data["collection"] = {"path": data["collection"]}
    holder: Any = data
    for depth, key in enumerate(keys[:-1]):
        below = _inside(holder, key) if _holds(holder, key) else None
        if below is None:
            below = {}
        elif keys[0] == "systems" and below == keys[depth + 1]:  # lexical: bm25
            below = {below: {}}
        _put(holder, key, below, keys[: depth + 1], label)
        holder = below
    _put(holder, keys[-1], override.value, keys, label)
    places.overrides.append(override)


def _check_system(systems: Any, keys: Keys, label: str) -> None:
    """Refuse to set an option of a system there is not, or that is of another kind."""
    if not isinstance(systems, dict):
        return
    name, kind = str(keys[1]), str(keys[2])
    if name not in systems:
        raise FormatError(str(UnknownNameError("system", name, systems)), source=label)
    spec = systems[name]
    kinds = [spec] if isinstance(spec, str) else list(spec) if isinstance(spec, dict) else []
    if kinds and kind not in kinds:
        problem = f"systems.{name} is {' and '.join(map(str, kinds))}, not {shown(kind)}"
        raise FormatError(f"{problem}; set an option of what it is", source=label)


def _holds(holder: Any, key: str | int) -> bool:
    if isinstance(holder, dict):
        return key in holder
    return isinstance(holder, list) and isinstance(key, int) and key < len(holder)


def _put(holder: Any, key: str | int, value: Any, keys: Keys, label: str) -> None:
    above = dotted(keys[:-1])
    if isinstance(holder, dict):
        holder[str(key)] = value
    elif isinstance(holder, list):
        if not isinstance(key, int) or key >= len(holder):
            raise FormatError(
                f"{above} is a list of {len(holder)}; its values are numbered from 0, and there is "
                f"no {shown(key)}",
                source=label,
            )
        holder[key] = value
    else:
        raise FormatError(
            f"{above} is {shown(holder)}, which has nothing inside that could be set", source=label
        )


# --- secrets -------------------------------------------------------------------------------------

_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")
_SHORT = 4
"""A value with fewer characters is hidden only where it stands by itself."""


class Secrets:
    """Values of variables that a config refers to as ``${NAME}``; they are never shown.

    >>> secrets = Secrets({"KEY": "hunter22"})
    >>> secrets.expand({"key": "Bearer ${KEY}"})
    {'key': 'Bearer hunter22'}
    >>> secrets.hide("refused: Bearer hunter22")
    'refused: Bearer ${KEY}'
    """

    __slots__ = ("_shapes", "_values")

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})
        self._shapes: dict[str, str] = {}
        for name, value in self._values.items():
            for shape in _shapes(value):
                self._shapes.setdefault(shape, name)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, by name."""
        return tuple(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"

    def expand(self, data: Any) -> Any:
        """Return plain data with the values put in, and ``$${`` as ``${``."""
        return _mapped(data, lambda text: _REFERENCE.sub(self._value, text), keys=False)

    def _value(self, found: re.Match[str]) -> str:
        if found[1] is None:
            return "${"
        if found[1] not in self._values:
            raise InputError(f"the variable {found[1]} is not among the config's secrets")
        return self._values[found[1]]

    def hide(self, data: Any) -> Any:
        """Return plain data in which every value stands as ``${NAME}`` again.

        Values are found as they are and as Python, JSON and web addresses write them, also where a
        message cut them short. One of fewer than 4 characters must stand by itself.
        """
        if not self._shapes:
            return data
        names = "|".join(re.escape(f"${{{name}}}") for name in self._values)
        shapes = sorted(self._shapes, key=len, reverse=True)
        pattern = re.compile("|".join([names, *map(_pattern, shapes)]))

        def hidden(text: str) -> str:
            text = pattern.sub(lambda found: self._name(found[0]), text)
            return self._hide_cut(text) if "…" in text else text

        return _mapped(data, hidden, keys=True)

    def _name(self, found: str) -> str:
        return f"${{{self._shapes[found]}}}" if found in self._shapes else found

    def _hide_cut(self, text: str) -> str:
        """Hide the beginnings of values before an ellipsis."""
        pieces = text.split("…")
        for at, piece in enumerate(pieces[:-1]):
            for shape, name in self._shapes.items():
                for length in range(min(len(shape), len(piece)), _SHORT - 1, -1):
                    if piece.endswith(shape[:length]):
                        pieces[at] = f"{piece[: len(piece) - length]}${{{name}}}"
                        break
        return "…".join(pieces)


def _shapes(value: str) -> Iterator[str]:
    """Yield the ways in which a value is written."""
    yield from (value, repr(value)[1:-1], json.dumps(value)[1:-1])
    yield from (quote(value, safe=""), quote(value), quote_plus(value))


def _pattern(shape: str) -> str:
    escaped = re.escape(shape)
    return escaped if len(shape) >= _SHORT else rf"(?<!\w){escaped}(?!\w)"


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
        made = [_mapped(value, change, keys=keys) for value in data]
        return made if isinstance(data, list) else tuple(made)
    return data


def find_secrets(
    data: Mapping[str, Any], environment: Mapping[str, str], places: Places
) -> Secrets:
    """Return the values of all variables that a config refers to.

    Raises:
        FormatError: a reference outside ``systems``, one that is no name, or one that is not set.
    """
    values: dict[str, str] = {}
    for keys, text, is_key in _texts(data, ()):
        for found in _REFERENCE.finditer(text):
            if keys[0] != "systems" or is_key:
                what = "a key" if is_key else dotted(keys)
                raise places.error(
                    keys,
                    f"{what} holds {shown(found[0])}; variables are allowed in the values of "
                    "systems only",
                )
            if found[0] == "$${":
                continue
            name = found[1]
            if name is None:
                raise places.error(
                    keys,
                    f"{dotted(keys)} holds '${{' without a variable's name; write ${{NAME}}, or "
                    "$${ for the characters themselves",
                )
            if not environment.get(name):
                state = "is empty" if name in environment else "is not set"
                raise places.error(
                    keys,
                    f"the environment variable {name} {state}; set it, as {dotted(keys)} needs it",
                )
            values[name] = environment[name]
    return Secrets(values)


def _texts(data: Any, keys: Keys) -> Iterator[tuple[Keys, str, bool]]:
    """Yield every text with the way to it, and whether it is a key."""
    if isinstance(data, str):
        yield keys, data, False
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield (*keys, key), key, True
            yield from _texts(value, (*keys, key))
    elif isinstance(data, list):
        for at, value in enumerate(data):
            yield from _texts(value, (*keys, at))
