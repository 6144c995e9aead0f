"""A term as a file has it, and the terms of a file, as every reader returns them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rankscope.errors import FormatError, shown
from rankscope.files import decoded

IS_A = "is_a"

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Synonym:
    """Another name of a term."""

    text: str
    scope: str = "EXACT"
    """EXACT, NARROW, BROAD or RELATED."""
    kind: str = ""
    """What the ontology says of it, such as layperson or abbreviation."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term of an ontology."""

    term_id: str
    label: str = ""
    synonyms: tuple[Synonym, ...] = ()
    definition: str = ""
    parents: tuple[str, ...] = ()
    """The terms directly above it, by the relations that count."""
    alternatives: tuple[str, ...] = ()
    """Other ids that mean it."""
    is_obsolete: bool = False
    replaced_by: tuple[str, ...] = ()
    """The terms to use instead of an obsolete one."""


@dataclass(slots=True)
class TermFile:
    """The terms of a file, by id."""

    source: str
    terms: dict[str, Term] = field(default_factory=dict)
    version: str = ""
    relations: set[str] = field(default_factory=set)
    """The relations that occur, beside is_a."""

    def add(self, term: Term, line: int | None = None) -> None:
        """Add a term; refuse an id that is there already, or that no line of a table can hold."""
        problem = ""
        if _CONTROL.search(term.term_id):
            problem = f"the id {shown(term.term_id)} holds a control character; remove it"
        elif term.term_id in self.terms:
            problem = f"the term {shown(term.term_id)} is defined twice; keep one of the two"
        if problem:
            raise FormatError(problem, source=self.source, line=line)
        self.terms[term.term_id] = term


def text_lines(data: bytes, source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text that are not blank, with their numbers."""
    text = decoded(data.removeprefix(b"\xef\xbb\xbf"), source=source)
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if "\0" in line:
            raise FormatError("a NUL in the line, so it is not text", source=source, line=number)
        if line and not line.isspace():
            yield number, line
