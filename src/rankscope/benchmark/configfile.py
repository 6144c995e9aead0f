"""From the bytes of a config file to plain data in which every key knows its line.

The first step of reading a config: YAML, JSON or TOML in, ``dict``, ``list``, text, numbers, true,
false and null out. The bytes become text here, and the format is chosen; `config_yaml` and
`config_toml` read it. What the data mean is checked later, by `config`.
"""

from __future__ import annotations

from typing import Any

from rankscope.benchmark.config_keys import ConfigFile
from rankscope.benchmark.config_toml import is_toml, read_toml
from rankscope.benchmark.config_yaml import read_yaml
from rankscope.errors import FormatError, shown
from rankscope.files import PathLike, open_bytes, source_name, suffix_of
from rankscope.tables.delimited import decoded

__all__ = ["parse_config", "parse_value", "read_config_file"]

LARGEST = 1 << 18
"""No config has more bytes."""


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
    if suffix == ".toml" or (suffix not in (".yaml", ".yml", ".json") and is_toml(text)):
        content, lines = read_toml(text, source)
    else:
        content, lines = read_yaml(text.replace("\t", " ") if suffix == ".json" else text, source)
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
        return read_yaml(text, source)[0]
    except FormatError as error:
        raise FormatError(error.problem, source=source) from None
