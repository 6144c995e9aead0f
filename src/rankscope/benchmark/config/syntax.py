"""From the bytes of a config file to plain data in which every key of a YAML file knows its line.

The first step of reading a config: YAML, JSON or TOML in; dicts, lists, text, numbers, true, false
and null out. What the data mean is checked later, by the models of `model`. YAML is read as version
1.2 defines it, without tags, anchors and aliases: ``no``, ``on``, ``12:30`` and dates are text,
``1e3`` is a number, and keys are always text. TOML knows no lines; its dates become text.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.reader import ReaderError

from rankscope.errors import FormatError, counted, shown
from rankscope.files import PathLike, decoded, open_bytes, source_name, suffix_of
from rankscope.retrieval.options import Keys, SpecError, UnknownSpecNameError

LARGEST = 1 << 18
"""The most bytes a config may have."""

DEEPEST = 50
"""How deep values may be nested."""

LONGEST_NUMBER = 100
"""The most characters a number may have."""

_TOO_DEEP = f"values are nested more than {DEEPEST} deep"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a config file says, and on which lines; TOML has none."""

    data: dict[str, Any]
    source: str
    lines: Mapping[Keys, int] = field(default_factory=dict)

    def line(self, keys: Keys) -> int | None:
        """Return the line of a value, or of the nearest one around it that is known."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys)

    def error(self, error: SpecError) -> FormatError:
        """Return the error that a value is wrong, with file, line and path."""
        path = path_of(error)
        text = f"{dotted(path)}: {error.problem}" if path else error.problem
        return FormatError(text, source=self.source, line=self.line(error.keys))


def path_of(error: SpecError) -> Keys:
    """Return the path that a message names: of an unknown key that of the section it is in."""
    is_key = isinstance(error, UnknownSpecNameError) and error.keys[-1:] == (error.name,)
    return error.keys[:-1] if is_key else error.keys


_LONGEST_KEY = 100
"""Characters of a key that a message shows as it is."""


def dotted(keys: Keys) -> str:
    """Write the path to a value as messages show it.

    >>> dotted(("systems", "hybrid", "fuse", "weights", 0))
    'systems.hybrid.fuse.weights.0'
    """
    return ".".join(
        key if key.isprintable() and len(key) <= _LONGEST_KEY else shown(key)
        for key in map(str, keys)
    )


def read_config_file(path: PathLike) -> ConfigFile:
    """Read a config file: TOML, if its suffix says so, else YAML or JSON.

    Raises:
        FormatError: the content cannot be used; names the line.
        InputError: the file is missing, or is a folder.
    """
    with open_bytes(path) as stream:
        data = stream.read(LARGEST + 1)
    return parse_config(data, source=source_name(path), suffix=suffix_of(path))


def parse_config(data: bytes, *, source: str, suffix: str = ".yaml") -> ConfigFile:
    """Make plain data of a config's bytes."""
    if len(data) > LARGEST:
        problem = f"larger than {LARGEST >> 10} KB, too large for a config"
        raise FormatError(f"{problem}; name the config, not the data", source=source)
    text = decoded(data, source=source).removeprefix("\ufeff")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines: dict[Keys, int] = {}
    if suffix == ".toml":
        content = _read_toml(text, source)
    else:
        text = text.replace("\t", " ") if suffix == ".json" else text
        content, lines = _read_yaml(text, source)
    if content is None or content == {}:
        raise FormatError("is empty; expected keys and values, such as name: soup", source=source)
    if not isinstance(content, dict):
        actual = "a list" if isinstance(content, list) else f"the value {shown(content)}"
        problem = f"expected keys and values at the top, such as name: soup, got {actual}"
        raise FormatError(problem, source=source, line=lines.get(()))
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


class _Refused(yaml.MarkedYAMLError):
    """Valid YAML that a config cannot hold; ``problem`` is our own sentence."""

    def __init__(self, problem: str, mark: yaml.Mark | None) -> None:
        super().__init__(problem=problem, problem_mark=mark)


class _Composer(yaml.BaseLoader):
    """Composes nodes without tags, anchors and aliases."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if event.anchor is not None:
            problem = "anchors and aliases (&name, *name) are not supported; write the value out"
            raise _Refused(problem, event.start_mark)
        if getattr(event, "tag", None) is not None:
            written = shown(event.tag.replace("tag:yaml.org,2002:", "!!"))
            raise _Refused(f"the tag {written} is not supported; remove it", event.start_mark)
        return super().compose_node(parent, index)


def _read_yaml(text: str, source: str) -> tuple[Any, dict[Keys, int]]:
    """Return what the text says, None if nothing, and the line of each key and list item."""
    lines: dict[Keys, int] = {}
    try:
        composer = _Composer(text)
        node = composer.get_single_node()
        return None if node is None else _plain(node, (), lines), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise FormatError(_yaml_problem(error, text), source=source, line=line) from None
    except ReaderError as error:
        problem = f"the character {shown(chr(int(error.character)))} is not allowed; remove it"
        line = text.count("\n", 0, error.position) + 1
        raise FormatError(problem, source=source, line=line) from None
    except RecursionError:
        raise FormatError(_TOO_DEEP, source=source, line=composer.line + 1) from None
    except (ValueError, OverflowError):  # an escape beyond Unicode
        problem = "an escape is not a valid character; write the character itself"
        raise FormatError(problem, source=source, line=composer.line + 1) from None


def _yaml_problem(error: yaml.MarkedYAMLError, text: str) -> str:
    """Say what is wrong in our words."""
    mark = error.problem_mark
    letter = "" if mark is None else text[mark.index : mark.index + 1]
    problem = " ".join(str(error.problem or error.context or "cannot be read").split())
    if isinstance(error, _Refused):
        return problem
    if isinstance(error, ComposerError):  # the only one that can be left
        return "a second document begins (---); a config is a single document"
    return {
        "\t": "unexpected tab; indent with spaces",
        ":": "unexpected ':'; quote the text if the colon is part of it, or look at the line "
        "above: is it 'key: value', and is every bracket closed?",
    }.get(letter, f"not valid YAML ({problem}); expected 'key: value', check quotes and brackets")


def _plain(node: yaml.Node, keys: Keys, lines: dict[Keys, int]) -> Any:
    """Return the data of a node, and note its line and those of everything inside it."""
    if len(keys) > DEEPEST:
        raise _Refused(_TOO_DEEP, node.start_mark)
    lines.setdefault(keys, node.start_mark.line + 1)  # a value is on the line of its key
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*keys, at), lines) for at, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            problem = "a key must be text, not a list or a mapping; quote it"
            raise _Refused(problem, key_node.start_mark)
        key, line = _text(key_node), key_node.start_mark.line + 1
        below = (*keys, key)
        if key in data:
            problem = f"the key {shown(key)} appears twice, first on line {lines[below]}; keep one"
            raise _Refused(problem, key_node.start_mark)
        lines[below] = line
        data[key] = _plain(value_node, below, lines)
    return data


def _text(node: yaml.ScalarNode) -> str:
    """Join escaped surrogates (JSON writes some characters as two); refuse a single one."""
    try:
        return str(node.value).encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        problem = "half of a character (a surrogate); write the character itself"
        raise _Refused(problem, node.start_mark) from None


_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def _scalar(node: yaml.ScalarNode) -> Any:
    """Return what a scalar means; without quotes it may be a number, true, false or null."""
    text = _text(node)
    if node.style is not None:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    is_integer, is_real = _INTEGER.fullmatch(text), _REAL.fullmatch(text)
    if (is_integer or is_real) and len(text) > LONGEST_NUMBER:
        problem = f"the number {shown(text)} has {counted(len(text), 'character')}; use fewer"
        raise _Refused(problem, node.start_mark)
    if is_integer:
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    if _NOT_FINITE.fullmatch(text) or (is_real and not math.isfinite(float(text))):
        problem = f"{shown(text)} is not a finite number; quote it if text is meant"
        raise _Refused(problem, node.start_mark)
    return float(text) if is_real else text


# --- TOML ----------------------------------------------------------------------------------------


def _read_toml(text: str, source: str) -> Any:
    """Return what the text says, read once more as YAML, by whose rules numbers are checked."""
    if any(row.partition("=")[0].count(".") > DEEPEST for row in text.split("\n")):
        # tomllib takes minutes for a key of many parts
        raise FormatError(f"a line has a key of more than {DEEPEST} parts", source=source)
    try:
        plain = json.dumps(tomllib.loads(text), default=str, ensure_ascii=False)  # dates are text
        return _read_yaml(plain, source)[0]
    except FormatError as error:
        raise FormatError(error.problem, source=source) from None
    except RecursionError:
        raise FormatError(_TOO_DEEP, source=source) from None
    except ValueError as error:  # tomllib's own, and int() of more digits than Python takes
        problem = " ".join(str(error).split())
        raise FormatError(f"not valid TOML: {problem}", source=source) from None
