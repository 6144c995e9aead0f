"""The terms of a file, as every reader of one returns them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from rankscope.errors import FormatError, shown
from rankscope.files import decoded

IS_A = "is_a"

MOST_TERMS = 5_000_000
"""No ontology may have more terms."""

MOST_SYNONYMS = 10_000
"""No term may have more synonyms; in HPO the most is 30 or so."""

SCOPES = ("EXACT", "NARROW", "BROAD", "RELATED")

_Places = TypeVar("_Places")

_BOM = b"\xef\xbb\xbf"
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_ADDRESS = re.compile(r"https?://purl\.obolibrary\.org/obo/([A-Za-z]+)_(\w+)")


@dataclass(frozen=True, slots=True)
class Synonym:
    """Another name of a term."""

    text: str
    scope: str
    """EXACT, NARROW, BROAD or RELATED."""
    kind: str = ""
    """What the ontology says of it, such as layperson or abbreviation."""


@dataclass(slots=True)
class TermEntry:
    """One term as a file has it."""

    term_id: str
    label: str = ""
    definition: str = ""
    synonyms: list[Synonym] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    """The terms it is below, by the relations that were asked for."""
    alternatives: list[str] = field(default_factory=list)
    """Other ids of the same term."""
    is_obsolete: bool = False
    replaced_by: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TermTable:
    """The terms of a file, by id."""

    terms: dict[str, TermEntry] = field(default_factory=dict)
    version: str = ""
    relations: set[str] = field(default_factory=set)
    """The relations that occur, beside is_a."""

    def add(self, entry: TermEntry, source: str, line: int | None = None) -> None:
        """Take a term, unless there is one with its id, or it is not as a term can be."""
        if _CONTROL.search(entry.term_id):
            raise FormatError(
                f"the id {shown(entry.term_id)} holds a line break or another control character",
                source=source,
                line=line,
            )
        if entry.term_id in self.terms:
            raise FormatError(
                f"the term {shown(entry.term_id)} is defined twice; keep one of the two",
                source=source,
                line=line,
            )
        refuse_many(entry, source, line)
        if len(self.terms) >= MOST_TERMS:
            raise FormatError(f"it has more than {MOST_TERMS:,} terms", source=source)
        self.terms[entry.term_id] = entry


def refuse_many(entry: TermEntry, source: str, line: int | None = None) -> None:
    """Refuse a term with more synonyms than any term has."""
    if len(entry.synonyms) > MOST_SYNONYMS:
        raise FormatError(
            f"the term {shown(entry.term_id)} has more than {MOST_SYNONYMS:,} synonyms; no term "
            "may have so many",
            source=source,
            line=line,
        )


def text_lines(data: bytes, source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text that are not blank, with their numbers."""
    text = decoded(data.removeprefix(_BOM), source=source)
    if "\0" in text:
        raise FormatError(
            "a NUL in the line, so it is not text",
            source=source,
            line=text.count("\n", 0, text.index("\0")) + 1,
        )
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.isspace():
            yield number, line


def table_rows(
    data: bytes, source: str, header: Callable[[list[str]], _Places | None]
) -> Iterator[tuple[int, list[str], _Places | None]]:
    """Yield the line number and cells of each row, with what ``header`` says of the first line.

    Lines that begin with ``#`` are comments; above the first row one of them may be the header.
    """
    places: _Places | None = None
    begun = False
    for number, line in text_lines(data, source):
        is_comment = line.startswith("#")
        if is_comment and begun:
            continue
        cells = [cell.strip() for cell in line.lstrip("#").split("\t")]
        if not begun:
            places = header(cells)
            begun = places is not None or not is_comment
            if places is not None or is_comment:
                continue
        yield number, cells, places


def short_id(text: str) -> str:
    """Return an id as it is used: ``HP:0001250``, also where it is written as an address."""
    if not text.startswith("http"):
        return text
    address = _ADDRESS.fullmatch(text)
    return f"{address[1]}:{address[2]}" if address else text
