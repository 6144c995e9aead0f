r"""Files in OBO, version 1.2 to 1.4: stanzas of lines ``tag: value``.

Only what an ontology is made of here is looked at, so that a date or a cross-reference that breaks
a rule of the format does no harm; the same goes for comments and tags of other versions. In
values ``\n``, ``\t`` and ``\W`` are a line break, a tab and a blank, any other character after
``\`` is itself, and ``!`` begins a comment. What a file imports is not fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from rankscope.errors import FormatError, shown
from rankscope.ontology.term import IS_A, Synonym, Term, TermFile, text_lines

_ID = re.compile(r"\s*+((?:[^\s\\!{]++|\\.)++)")
_QUOTED = re.compile(r'"((?:[^"\\]++|\\.)*+)"')
_UNQUOTED = re.compile(r"(?:[^\\!]++|\\.)*+")
_QUALIFIERS = re.compile(r'(?<!\\)\{\s*[^\s"{}=]+\s*=\s*"[^{}]*\}\s*$')
_ESCAPE = re.compile(r"\\(.)")
_BLANKS = {"n": "\n", "t": "\t", "W": " "}
_ADDRESS = re.compile(r"https?://purl\.obolibrary\.org/obo/([A-Za-z]+)_(\w+)")
_SCOPES = ("EXACT", "NARROW", "BROAD", "RELATED")


def read_obo(data: bytes, source: str, wanted: frozenset[str]) -> TermFile:
    """Read the terms of an OBO file; ``wanted`` are the relations that put one below another."""
    file = TermFile(source)
    for kind, number, lines in _stanzas(data, source):
        if kind == "":
            versions = [value for _, tag, value in lines if tag == "data-version"]
            file.version = _text(versions[-1]) if versions else ""
        elif kind == "Term":
            values = _read(lines, number, source)
            relations = values["relationship"]
            file.relations.update(relation for relation, _ in relations)
            file.add(
                Term(
                    values["id"][0],
                    values["name"][-1] if values["name"] else "",
                    tuple(values["synonym"]),
                    values["def"][-1] if values["def"] else "",
                    (
                        *(values["is_a"] if IS_A in wanted else ()),
                        *(other for relation, other in relations if relation in wanted),
                    ),
                    tuple(values["alt_id"]),
                    "true" in values["is_obsolete"],
                    tuple(values["replaced_by"]),
                ),
                number,
            )
    return file


_Line: TypeAlias = tuple[int, str, str]
"""The number of a line, its tag and its value."""


def _stanzas(data: bytes, source: str) -> Iterator[tuple[str, int, list[_Line]]]:
    """Yield the kind of each stanza, where it begins, and its lines; the header has no kind."""
    kind, begun, lines = "", 1, list[_Line]()
    for number, line in text_lines(data, source):
        text = line.strip()
        if text[0] == "!":
            continue
        if text[0] == "[":
            yield kind, begun, lines
            kind, begun, lines = text[1:].partition("]")[0], number, []
        elif kind in ("", "Term"):
            tag, colon, value = text.partition(":")
            if not colon:
                raise _unlike("'tag: value'", text, source, number)
            lines.append((number, tag.rstrip(), value.strip()))
    yield kind, begun, lines


def _read(lines: list[_Line], begun: int, source: str) -> dict[str, list[Any]]:
    """Return what a term's lines say, by tag."""
    values: dict[str, list[Any]] = {tag: [] for tag in _READERS}
    for number, tag, value in lines:
        if (tag == "id") == bool(values["id"]):
            expected = "one id of a term, as its first line"
            raise _unlike(expected, f"{tag}: {value}", source, number)
        try:
            if tag in _READERS:
                values[tag].append(_READERS[tag](value))
        except ValueError as error:
            raise _unlike(str(error), value, source, number) from None
    if not lines:
        raise _unlike("a line 'id: …'", "a term that has no id", source, begun)
    return values


def _unlike(expected: str, got: str, source: str, line: int) -> FormatError:
    problem = f"not as OBO asks for: expected {expected}, got {shown(got)}"
    return FormatError(problem, source=source, line=line)


def _synonym(value: str) -> Synonym:
    """Read ``"text" SCOPE type [references]``; without a scope it is RELATED."""
    text, rest = _quoted(value)
    words = rest.partition("[")[0].partition("{")[0].partition("!")[0].split()
    scope, kind = [*words, "", ""][:2]
    scope = scope.upper() or "RELATED"
    if scope not in _SCOPES:
        raise ValueError(f"one of {', '.join(_SCOPES)} after the text of a synonym")
    return Synonym(text, scope, _short(_unescaped(kind)))


def _ids(value: str, count: int) -> list[str]:
    """Read ids with blanks between them; a comment or qualifiers in braces may follow."""
    ids = list[str]()
    end = 0
    while len(ids) < count and (match := _ID.match(value, end)):
        ids.append(_short(_unescaped(match[1])))
        end = match.end()
    rest = value[end:].lstrip()
    if len(ids) < count or (rest and rest[0] not in "!{"):
        raise ValueError("an id" if count == 1 else f"{count} ids")
    return ids


def _id(value: str) -> str:
    return _ids(value, 1)[0]


def _short(text: str) -> str:
    """Return an id as it is used: ``HP:0001250``, also where it is written as an address."""
    address = _ADDRESS.fullmatch(text)
    return f"{address[1]}:{address[2]}" if address else text


def _quoted(value: str) -> tuple[str, str]:
    """Return a text in quotation marks, and what follows it."""
    match = _QUOTED.match(value)
    if match is None:
        raise ValueError("a text in quotation marks")
    return _unescaped(match[1]), value[match.end() :]


def _text(value: str) -> str:
    """Return a text without quotation marks, which ends where a comment or qualifiers begin."""
    match = _UNQUOTED.match(value)
    text = match[0] if match else value
    if text.rstrip().endswith("}"):
        text = _QUALIFIERS.sub("", text)
    return _unescaped(text.strip())


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda escape: _BLANKS.get(escape[1], escape[1]), text)


_READERS: dict[str, Callable[[str], Any]] = {
    "id": _id,
    "name": _text,
    "def": lambda value: _quoted(value)[0],
    "synonym": _synonym,
    "is_a": _id,
    "relationship": lambda value: _ids(value, 2),
    "alt_id": _id,
    "replaced_by": _id,
    "is_obsolete": lambda value: _text(value).lower(),
}
"""How the value of each tag is read; a ValueError says what is expected of it."""
