"""What a TREC run says of itself: ir_metadata, YAML in comments at the top of the file.

The block begins with ``# ir_metadata.start`` and ends with ``# ir_metadata.end``. Readers pass over
it as over any comment; its text is kept with the run, and parsed only when somebody asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rankscope.errors import FormatError, InputError, shown
from rankscope.files import PathLike, decoded, read_bytes, source_name

_START, _END = "ir_metadata.start", "ir_metadata.end"
_LONGEST = 1 << 20
_DEEPEST = 50


def metadata_in(head: bytes) -> str:
    """Return the YAML in the comments at the top of a file; '' if there is none.

    Where the block is not closed, it ends with the comments.
    """
    lines: list[str] | None = None
    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        text = line.decode("utf-8", "replace").rstrip()
        if text and not text.startswith("#"):
            break
        content = text[1:]
        if lines is None:
            lines = [] if content.strip() == _START else None
        elif content.strip() == _END:
            break
        else:
            lines.append(content)
    if not lines:
        return ""
    indented = all(line.startswith(" ") for line in lines if line)
    return "\n".join(line[1:] if indented else line for line in lines)


def header(text: str) -> bytes:
    """Return the lines of a file that hold this YAML; nothing for ''."""
    if not text:
        return b""
    lines = (f"# {line}".rstrip() for line in (_START, *text.split("\n"), _END))
    return "".join(f"{line}\n" for line in lines).encode()


def read_metadata(path: PathLike) -> str:
    """Return the YAML of a file, checked."""
    source = source_name(path)
    return metadata_text(decoded(read_bytes(path), source=source), source=source)


def metadata_text(text: str, *, source: str) -> str:
    """Check YAML that a user gives, and return it without the marks that some tools write."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept = [line for line in lines if line.lstrip("# ").rstrip() not in (_START, _END)]
    text = "\n".join(kept).strip("\n")
    parse_metadata(text, source=source)
    return text


def dump_metadata(metadata: dict[str, Any]) -> str:
    """Return a mapping as YAML."""
    import yaml  # noqa: PLC0415

    try:
        text: str = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)
    except yaml.YAMLError as error:
        raise InputError(f"the metadata cannot be written as YAML ({shown(str(error))})") from None
    return metadata_text(text, source="metadata")


def parse_metadata(text: str, *, source: str) -> dict[str, Any]:
    """Parse the YAML; dates become text, and references, by which it can explode, are refused.

    Raises:
        FormatError: it is not YAML, or no mapping.
    """
    import yaml  # noqa: PLC0415

    problem = ""
    data: Any = None
    if len(text) > _LONGEST:
        raise FormatError(f"the ir_metadata has more than {_LONGEST:,} characters", source=source)
    try:
        problem = _problem(yaml.parse(text, yaml.SafeLoader))
        data = {} if problem else yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1} of it" if mark is not None else ""
        problem = f"it is not YAML{where}"
    except (ValueError, RecursionError, OverflowError) as error:
        problem = f"it cannot be read, {shown(str(error))}"
    if not problem and not isinstance(data, dict):
        problem = f"expected keys with values, found {shown(data, 40)}"
    if problem:
        raise FormatError(f"the ir_metadata is not usable: {problem}", source=source)
    return {str(key): _plain(value) for key, value in data.items()}


def _problem(events: Iterator[Any]) -> str:
    import yaml  # noqa: PLC0415

    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            return "it refers to another part of itself (*)"
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            return f"it is nested more than {_DEEPEST} levels deep"
    return ""


def _plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)
