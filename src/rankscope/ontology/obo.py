r"""Files in OBO, version 1.0 to 1.4: stanzas of lines ``tag: value``.

Only what an ontology is made of here is looked at, so that a date or a cross-reference that breaks
a rule of the format does no harm; the same goes for comments and tags of other versions. In
values ``\n``, ``\t`` and ``\W`` are a line break, a tab and a blank, any other character after
``\`` is itself, and ``!`` begins a comment.
"""

from __future__ import annotations

import re
from typing import NoReturn

from rankscope.errors import FormatError, shown
from rankscope.ontology.term_table import (
    IS_A,
    SCOPES,
    Synonym,
    TermEntry,
    TermTable,
    refuse_many,
    short_id,
    text_lines,
)

_ID = re.compile(r"\s*+((?:[^\s\\!{]++|\\.)++)")
_QUOTED = re.compile(r'"((?:[^"\\]++|\\.)*+)"')
_UNQUOTED = re.compile(r"(?:[^\\!]++|\\.)*+")
_QUALIFIERS = re.compile(r'(?<!\\)\{\s*[^\s"{}=]+\s*=\s*"[^{}]*\}\s*$')
_ESCAPE = re.compile(r"\\(.)")
_BLANKS = {"n": "\n", "t": "\t", "W": " "}

_SYNONYMS = {f"{scope.lower()}_synonym": scope for scope in SCOPES}
"""Tags of OBO 1.0, which have the scope in their name."""


def terms_of_obo(data: bytes, source: str, wanted: frozenset[str]) -> TermTable:
    """Read the terms of an OBO file."""
    table = TermTable()
    stanza, begun = "", 0
    entry: TermEntry | None = None
    for number, line in text_lines(data, source):
        line = line.strip()  # noqa: PLW2901
        if line[0] == "!":
            continue
        if line[0] == "[":
            _added(table, stanza, entry, source, begun)
            stanza, begun, entry = line[1:].partition("]")[0], number, None
            continue
        if stanza not in ("", "Term"):
            continue
        tag, colon, value = line.partition(":")
        if not colon:
            raise FormatError(
                f"not as OBO asks for: expected 'tag: value', got {shown(line)}",
                source=source,
                line=number,
            )
        tag, value = tag.rstrip(), value.strip()
        try:
            if not stanza:
                if tag == "data-version":
                    table.version = _text(value)
            elif tag == "id":
                entry = _begun(entry, value)
            elif entry is not None:
                _take(entry, tag, value, wanted, table.relations)
            elif tag in _KNOWN:
                _refuse("the id of a term as its first line", line)
        except FormatError as error:
            raise FormatError(error.problem, source=source, line=number) from None
        if entry is not None:
            refuse_many(entry, source, number)
    _added(table, stanza, entry, source, begun)
    return table


def _added(table: TermTable, stanza: str, entry: TermEntry | None, source: str, line: int) -> None:
    if entry is not None:
        table.add(entry, source, line)
    elif stanza == "Term":
        raise FormatError(
            "not as OBO asks for: this term has no id; give it a line 'id: …'",
            source=source,
            line=line,
        )


def _begun(entry: TermEntry | None, value: str) -> TermEntry:
    if entry is not None:
        _refuse(f"one id, after {shown(entry.term_id, 30)}", value)
    return TermEntry(_ids(value, 1)[0])


_KNOWN = {
    *("name", "def", "synonym", "is_a", "relationship", "alt_id", "is_obsolete", "replaced_by"),
    *_SYNONYMS,
}


def _take(
    entry: TermEntry, tag: str, value: str, wanted: frozenset[str], relations: set[str]
) -> None:
    """Put what a line says into a term."""
    if tag == "is_a":
        if IS_A in wanted:
            entry.parents += _ids(value, 1)
    elif tag == "name":
        entry.label = _text(value)
    elif tag == "synonym" or tag in _SYNONYMS:
        entry.synonyms.append(_synonym(value, _SYNONYMS.get(tag)))
    elif tag == "def":
        entry.definition = _quoted(value)[0]
    elif tag == "relationship":
        relation, other = _ids(value, 2)
        relations.add(relation)
        if relation in wanted:
            entry.parents.append(other)
    elif tag == "alt_id":
        entry.alternatives += _ids(value, 1)
    elif tag == "replaced_by":
        entry.replaced_by += _ids(value, 1)
    elif tag == "is_obsolete":
        entry.is_obsolete = _text(value).lower() in ("true", "1")


def _synonym(value: str, scope: str | None) -> Synonym:
    """Read ``"text" SCOPE type [references]``; without a scope it is RELATED."""
    text, rest = _quoted(value)
    words = rest.partition("[")[0].partition("{")[0].partition("!")[0].split()
    if scope is None:
        scope = words.pop(0).upper() if words else "RELATED"
        if scope not in SCOPES:
            _refuse(f"one of {', '.join(SCOPES)} after the text of a synonym", value)
    return Synonym(text, scope, short_id(_unescaped(words[0])) if words else "")


def _ids(value: str, count: int) -> list[str]:
    """Read ids with blanks between them; a comment or qualifiers in braces may follow."""
    ids, end = [], 0
    for _ in range(count):
        match = _ID.match(value, end)
        if match is None:
            break
        ids.append(short_id(_unescaped(match[1])))
        end = match.end()
    rest = value[end:].lstrip()
    if len(ids) < count or (rest and rest[0] not in "!{"):
        _refuse("an id" if count == 1 else f"{count} ids", value)
    return ids


def _quoted(value: str) -> tuple[str, str]:
    """Return a text in quotation marks, and what follows it."""
    match = _QUOTED.match(value)
    if match is None:
        _refuse("a text in quotation marks", value)
    return _unescaped(match[1]), value[match.end() :]


def _text(value: str) -> str:
    """Return a text without quotation marks, which ends where a comment or qualifiers begin."""
    if "!" in value:
        match = _UNQUOTED.match(value)
        value = match[0] if match else value
    if value.rstrip().endswith("}"):
        value = _QUALIFIERS.sub("", value)
    return _unescaped(value.strip())


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda escape: _BLANKS.get(escape[1], escape[1]), text)


def _refuse(expected: str, got: str) -> NoReturn:
    raise FormatError(f"not as OBO asks for: expected {expected}, got {shown(got)}", source="")
