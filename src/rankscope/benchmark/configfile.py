"""From the bytes of a config file to plain data in which every key knows its line.

The first step of reading a config: YAML, JSON or TOML in, ``dict``, ``list``, text, numbers, true,
false and null out. YAML is read as its version 1.2 means it, without tags, anchors and aliases:
``no``, ``on``, ``12:30`` and dates are text, ``1e3`` is a number, and keys are always text. The
sections of a config are checked by models made from `Section`; `first_problem` puts in words what
they refuse.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from rankscope.errors import FormatError, UnknownNameError, counted, shown
from rankscope.files import PathLike, open_bytes, source_name, suffix_of
from rankscope.tabular.delimited import decoded

__all__ = [
    "DEEPEST",
    "ConfigFile",
    "Keys",
    "Section",
    "came",
    "dotted",
    "first_problem",
    "parse_config",
    "parse_value",
    "read_config_file",
    "refuse",
]

Keys = tuple[str | int, ...]
"""The way to a value: the keys and places in lists that lead to it."""

LARGEST = 1 << 18
"""No config has more bytes."""

DEEPEST = 50
"""No value stands inside more others."""

LONGEST_NUMBER = 100
"""No number is written with more characters."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a config file says, and on which line."""

    data: dict[str, Any]
    source: str
    lines: Mapping[Keys, int] = field(default_factory=dict)

    def line(self, keys: Keys) -> int | None:
        """Return the line of a value, or of the nearest one around it that is known."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys)


def dotted(keys: Keys) -> str:
    """Write the way to a value as messages show it.

    >>> dotted(("systems", "hybrid", "fuse", "weights", 0))
    'systems.hybrid.fuse.weights.0'
    """
    return ".".join(key if key.isprintable() else shown(key) for key in map(str, keys))


def read_config_file(path: PathLike) -> ConfigFile:
    """Read a config file; the suffix tells the format, and the content where the suffix does not.

    Raises:
        FormatError: the content cannot be used; names the line.
        InputError: there is no such file, or it is a folder.
    """
    with open_bytes(path) as stream:
        data = stream.read(LARGEST + 1)
    return parse_config(data, source=source_name(path), suffix=suffix_of(path))


def parse_config(data: bytes, *, source: str, suffix: str = ".yaml") -> ConfigFile:
    """Make plain data of a config's bytes."""
    if len(data) > LARGEST:
        raise FormatError(
            f"is larger than {LARGEST >> 10} KB, which no config is; name the config, not the data",
            source=source,
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError("is UTF-16; save the file as UTF-8", source=source, line=1)
    text = decoded(data, source=source).removeprefix("\ufeff")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if suffix == ".toml" or (suffix not in (".yaml", ".yml", ".json") and _is_toml(text)):
        content, lines = _read_toml(text, source)
    else:
        content, lines = _read_yaml(text.replace("\t", " ") if suffix == ".json" else text, source)
    if content is None:
        raise FormatError(
            "is empty; a config needs at least name, collection and systems", source=source
        )
    if not isinstance(content, dict):
        came = "a list" if isinstance(content, list) else f"the value {shown(content)}"
        raise FormatError(
            f"expected keys such as name: and systems: at the top, came {came}",
            source=source,
            line=lines.get((), 1),
        )
    return ConfigFile(content, source, lines)


def parse_value(text: str, *, source: str) -> Any:
    """Read one YAML value, such as ``50``, ``[0.5, 0.5]`` or ``{bm25: {k1: 1.2}}``.

    >>> parse_value("[1e3, no]", source="--set")
    [1000.0, 'no']
    """
    if len(text) > LARGEST:
        raise FormatError("the value is too long", source=source)
    try:
        return _read_yaml(text, source)[0]
    except FormatError as error:
        raise FormatError(error.problem, source=source) from None


# --- YAML ----------------------------------------------------------------------------------------


def _read_yaml(text: str, source: str) -> tuple[Any, dict[Keys, int]]:
    builder = _Builder(source)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FormatError(
            _yaml_problem(error), source=source, line=None if mark is None else mark.line + 1
        ) from None
    except yaml.reader.ReaderError as error:
        raise FormatError(
            f"the character {shown(chr(int(error.character)))} cannot stand in a config; remove it",
            source=source,
            line=text.count("\n", 0, error.position) + 1,
        ) from None
    except (ValueError, OverflowError) as error:  # an escape beyond Unicode
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            "holds an escape that stands for no character; write the character itself",
            source=source,
            line=builder.line,
        ) from None
    return builder.root, builder.lines


def _yaml_problem(error: yaml.MarkedYAMLError) -> str:
    problem = " ".join(str(error.problem or error.context or "it cannot be read").split())
    if "'\\t'" in problem:
        return "a tab stands where YAML wants spaces; indent with spaces"
    if "mapping values are not allowed" in problem:
        return "a colon stands where no key can; quote the text, or check the indentation"
    if "cannot start any token" in problem:
        return f"is not YAML here ({problem}); put the text in quotes"
    return f"is not YAML here ({problem}); check indentation, quotes and brackets"


@dataclass(slots=True)
class _Open:
    """A mapping or list that has begun and not ended."""

    value: dict[str, Any] | list[Any]
    keys: Keys
    key: str | None = None
    """The key that waits for its value."""


class _Builder:
    """Makes plain data of YAML's events, without calling itself however deep they go."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: dict[Keys, int] = {}
        self.line = 1
        self.root: Any = None
        self._open: list[_Open] = []
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        """Take the next event."""
        self.line = event.start_mark.line + 1 if event.start_mark is not None else self.line
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._fail("a second document begins (---); a config is one")
        elif isinstance(event, yaml.AliasEvent):
            self._fail("anchors and aliases (&name, *name) are not read; write the value out")
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
        elif isinstance(event, yaml.NodeEvent):
            self._node(event)

    def _node(self, event: yaml.NodeEvent) -> None:
        if event.anchor is not None:
            self._fail("anchors and aliases (&name, *name) are not read; write the value out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            written = tag.replace("tag:yaml.org,2002:", "!!")
            self._fail(f"the tag {shown(written)} is not read; leave it out")
        is_scalar = isinstance(event, yaml.ScalarEvent)
        holder = self._open[-1] if self._open else None
        if holder is not None and isinstance(holder.value, dict) and holder.key is None:
            if not isinstance(event, yaml.ScalarEvent):
                self._fail("a key must be text, not a list or a mapping; quote it")
            self._key(holder, self._text(event.value))
            return
        value: Any = (
            self._scalar(event)
            if isinstance(event, yaml.ScalarEvent)
            else {}
            if isinstance(event, yaml.MappingStartEvent)
            else []
        )
        keys = self._placed(holder, value)
        if not is_scalar:
            if len(self._open) >= DEEPEST:
                self._fail(f"values stand inside each other more than {DEEPEST} deep")
            self._open.append(_Open(value, keys))

    def _key(self, holder: _Open, key: str) -> None:
        keys = (*holder.keys, key)
        if key in holder.value:
            first = self.lines[keys]
            where = "this line" if first == self.line else f"line {first}"
            self._fail(f"the key {shown(key)} stands twice, first on {where}; keep one")
        holder.key = key
        self.lines[keys] = self.line

    def _placed(self, holder: _Open | None, value: Any) -> Keys:
        """Put a value where it belongs, and return the way to it."""
        if holder is None:
            self.root = value
            self.lines[()] = self.line
            return ()
        if isinstance(holder.value, list):
            keys = (*holder.keys, len(holder.value))
            holder.value.append(value)
            self.lines[keys] = self.line
            return keys
        key = str(holder.key)
        holder.value[key] = value
        holder.key = None
        return (*holder.keys, key)

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text = self._text(event.value)
        if event.style is not None:
            return text
        try:
            return _plain(text)
        except ValueError as error:
            self._fail(f"{shown(text)} {error}")

    def _text(self, text: str) -> str:
        """Join escaped surrogates (JSON writes some characters as two); refuse a single one."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._fail("holds half of a character (a surrogate); write the character itself")

    def _fail(self, problem: str) -> NoReturn:
        raise FormatError(problem, source=self.source, line=self.line)


_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_WHOLE = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def _plain(text: str) -> Any:
    """Return what text without quotes means in YAML 1.2."""
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return _TRUE.fullmatch(text) is not None
    if _WHOLE.fullmatch(text) or _OTHER_BASE.fullmatch(text):
        return _whole(text)
    if _REAL.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return _real(text)
    return text


def _whole(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"is a number of {counted(len(text), 'character')}, which is too long")
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _real(text: str) -> float:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"is a number of {counted(len(text), 'character')}, which is too long")
    value = math.nan if _NOT_FINITE.fullmatch(text) else float(text)
    if not math.isfinite(value):
        raise ValueError("is no finite number; give one, or quote it if text is meant")
    return value


# --- TOML ----------------------------------------------------------------------------------------

_BARE_OR_QUOTED = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_BARE_OR_QUOTED}(?:\s*\.\s*{_BARE_OR_QUOTED})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?")
_ENTRY = re.compile(rf"\s*({_DOTTED})\s*=")
_PLACE = re.compile(r"(.*) \(at (?:line ([0-9]+), column [0-9]+|end of document)\)", re.DOTALL)


def _is_toml(text: str) -> bool:
    """Tell whether text whose suffix says nothing is TOML: its first line is a table or an =."""
    for line in text.split("\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            return bool(_HEADER.fullmatch(line) or _ENTRY.match(line))
    return False


def _read_toml(text: str, source: str) -> tuple[Any, dict[Keys, int]]:
    for number, row in enumerate(text.split("\n"), start=1):  # tomllib is slow on long keys
        if not row.lstrip().startswith("#") and row.partition("=")[0].count(".") > DEEPEST:
            problem = f"a key has more than {DEEPEST} parts"
            raise FormatError(problem, source=source, line=number)
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise FormatError(
            f"values stand inside each other more than {DEEPEST} deep", source=source
        ) from None
    except ValueError as error:
        found = _PLACE.fullmatch(str(error))
        line = None
        if found is not None:
            line = int(found[2]) if found[2] else text.count("\n") + 1
        raise FormatError(_toml_problem(found), source=source, line=line) from None
    lines: dict[Keys, int] = {(): 1}
    lines |= {keys: line for keys, line in _toml_lines(text) if _is_there(data, keys)}
    return _checked_toml(data, ConfigFile(data, source, lines)) or None, lines


def _toml_problem(found: re.Match[str] | None) -> str:
    if found is None:  # not a word about where, or in the language of Python
        return "holds a number that is too long, or another value that cannot be read"
    problem = " ".join(found[1].split())
    if re.match("Cannot (overwrite|declare|mutate|redefine)", problem):
        return f"a key or table stands twice ({problem}); keep one"
    return f"is not TOML here ({problem}); check quotes and brackets"


def _checked_toml(data: dict[str, Any], file: ConfigFile) -> dict[str, Any]:
    """Make dates text; refuse what is too deep and numbers that are too long or not finite."""
    made: dict[str, Any] = {}
    waiting: list[tuple[Any, Any, Keys]] = [(data, made, ())]
    while waiting:
        holder, copy, keys = waiting.pop()
        if len(keys) >= DEEPEST:
            problem = f"values stand inside each other more than {DEEPEST} deep"
            raise FormatError(problem, source=file.source, line=file.line(keys))
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            own: Any = value
            if isinstance(value, dict | list):
                own = {} if isinstance(value, dict) else []
                waiting.append((value, own, (*keys, key)))
            elif isinstance(value, datetime.date | datetime.time):
                own = value.isoformat()
            elif isinstance(value, float | int) and not abs(value) < 10**LONGEST_NUMBER:
                raise FormatError(
                    f"{dotted((*keys, key))} is no finite number, or one that is too long",
                    source=file.source,
                    line=file.line((*keys, key)),
                )
            if isinstance(copy, dict):
                copy[key] = own
            else:
                copy.append(own)
    return made


def _toml_lines(text: str) -> Iterator[tuple[Keys, int]]:
    """Yield the keys that begin lines; those inside a value of several lines are its line's."""
    table: Keys = ()
    counts: dict[Keys, int] = {}
    seen: set[Keys] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        header = _HEADER.fullmatch(line)
        entry = None if header else _ENTRY.match(line)
        if header is not None:
            table = tuple(_toml_keys(header[2]))
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            keys = table
        elif entry is not None:
            keys = (*table, *_toml_keys(entry[1]))
        else:
            continue
        for length in range(1, len(keys) + 1):
            if keys[:length] not in seen:
                seen.add(keys[:length])
                yield keys[:length], number


def _toml_keys(text: str) -> list[str]:
    return [part[1:-1] if part[0] in "\"'" else part for part in re.findall(_BARE_OR_QUOTED, text)]


def _is_there(data: Any, keys: Keys) -> bool:
    for key in keys:
        named = isinstance(data, dict) and key in data
        numbered = isinstance(data, list) and isinstance(key, int) and key < len(data)
        if not named and not numbered:
            return False
        data = data[key]
    return True


# --- checked sections ----------------------------------------------------------------------------


class Section(BaseModel):
    """A part of a config with keys of its own; a key without a value is as if it were not there."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if value is not None}
        return data


def refuse(problem: str, *keys: str | int) -> NoReturn:
    """Raise, inside a check of a section, what is wrong with the value that ``keys`` lead to."""
    raise PydanticCustomError("refused", "{problem}", {"problem": problem, "keys": keys})


def first_problem(
    error: ValidationError, model: type[Section], above: Keys = ()
) -> tuple[Keys, str]:
    """Return the way to the first thing that is wrong, and what it is, in our words.

    ``above`` is the way to what was checked, if that is not the whole config.
    """
    first = error.errors(include_url=False)[0]
    keys: Keys = tuple(key for key in first["loc"] if key != "[key]")
    kind, context = first["type"], first.get("ctx", {})
    name = dotted((*above, *keys)) or "a config"
    if kind == "refused":
        return (*keys, *context["keys"]), context["problem"]
    if kind == "value_error":
        return keys, str(context["error"])
    if kind == "missing":
        return keys[:-1], _missing(model, keys, above)
    if kind == "extra_forbidden":
        owner = f" of {dotted((*above, *keys[:-1]))}" if above or keys[:-1] else ""
        known = [*_model_at(model, keys[:-1]).model_fields, *([] if owner else TOP_LEVEL)]
        return keys, str(UnknownNameError(f"key{owner}", str(keys[-1]), known))
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", context["expected"])
        unknown = UnknownNameError("choice", str(first["input"]), known)
        return keys, f"{name} is one of {', '.join(known)}; {unknown}"
    expected = _EXPECTED.get(kind, "something else").format(**context)
    return keys, f"{name} must be {expected}, not {came(first['input'])}"


TOP_LEVEL = ("retrieval_metrics",)
"""Keys at the top of a config that are translated into others."""

_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a whole number from {ge} up",
    "less_than": "a number below {lt}",
    "less_than_equal": "a whole number up to {le}",
}


def came(value: Any) -> str:
    """Say what a value is, for a message about what was expected instead."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return shown(value) if isinstance(value, str) else str(value)


def _missing(model: type[Section], keys: Keys, above: Keys) -> str:
    owner = dotted((*above, *keys[:-1])) or "the config"
    doc = _model_at(model, keys[:-1]).model_fields[str(keys[-1])].description or ""
    return f"{owner} needs {keys[-1]}: {doc[:1].lower()}{doc[1:].rstrip('.')}"


def _model_at(model: type[Section], keys: Keys) -> type[Section]:
    """Return the section that keys lead to."""
    for key in keys:
        inner = model.model_fields[str(key)].annotation
        if not isinstance(inner, type) or not issubclass(inner, Section):
            break
        model = inner
    return model
