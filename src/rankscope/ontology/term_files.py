"""Files of terms: OBO and OBO graphs (by fastobo), OWL (by pronto), and tables of two columns.

Every reader makes a `TermTable`; nothing is fetched, whatever a file says it imports.
"""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

from rankscope.errors import FormatError, InputError, MissingExtraError, shown
from rankscope.files import suffix_of

IS_A = "is_a"

MOST_TERMS = 5_000_000
"""No ontology may have more terms."""

MOST_SYNONYMS = 10_000
"""No term may have more synonyms; in HPO the most is 30 or so."""

SCOPES = ("EXACT", "NARROW", "BROAD", "RELATED")

_PURL = re.compile(r"^https?://purl\.obolibrary\.org/obo/([A-Za-z]+)_(\w+)$")


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


def read_terms(data: bytes, source: str, relations: Iterable[str] = (IS_A,)) -> TermTable:
    """Read the content of a file; its format is found by looking at it.

    Raises:
        FormatError: it is in no known format, or not as its format asks for.
        MissingExtraError: its format needs a package that is not installed.
    """
    wanted = frozenset(relations)
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"<"):
        table = _from_owl(data, source, wanted)
    elif head.startswith(b"{"):
        table = _from_frames(_graph_frames(data, source), source, wanted)
    elif _is_table(head, source):
        table = _from_columns(data, source)
    else:
        table = _from_frames(_obo_frames(data, source), source, wanted)
    if not table.terms:
        raise FormatError("it has no terms", source=source)
    missing = wanted - {IS_A} - table.relations
    if missing:
        known = ", ".join(sorted(table.relations)) or "none beside is_a"
        raise InputError(
            f"{source}: no term has the relation {shown(min(missing))}; there are: {known}"
        )
    return table


def _engine(module: str, package: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(
            package, needed_for="reading an ontology", extra="ontology"
        ) from None


def _added(table: TermTable, entry: TermEntry, source: str) -> None:
    if entry.term_id in table.terms:
        raise FormatError(
            f"the term {shown(entry.term_id)} is defined twice; keep one of the two", source=source
        )
    _refuse_many(entry, source)
    if len(table.terms) >= MOST_TERMS:
        raise FormatError(f"it has more than {MOST_TERMS:,} terms", source=source)
    table.terms[entry.term_id] = entry


def _refuse_many(entry: TermEntry, source: str) -> None:
    if len(entry.synonyms) > MOST_SYNONYMS:
        raise FormatError(
            f"the term {shown(entry.term_id)} has more than {MOST_SYNONYMS:,} synonyms; no term "
            "may have so many",
            source=source,
        )


def text_lines(data: bytes, source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a table with their numbers, but for blank ones and comments."""
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError("the text is not UTF-8", source=source, line=line) from None
    for number, content in enumerate(text.split("\n"), start=1):
        if content.strip() and not content.startswith("#"):
            yield number, content.rstrip("\r")


# --- OBO and OBO graphs --------------------------------------------------------------------------


def _obo_frames(data: bytes, source: str) -> Iterator[Any]:
    fastobo = _engine("fastobo", "fastobo")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data:
        raise FormatError("it holds a NUL, so it is no text", source=source)
    try:
        reader = fastobo.iter(io.BytesIO(data), ordered=True)
        yield from reader.header()
        yield from reader
    except SyntaxError as error:
        raise FormatError(
            f"not as OBO asks for: {_plain(error.msg)} at {shown((error.text or '').strip())}",
            source=source,
            line=error.lineno,
        ) from None
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read as OBO ({error})", source=source) from None


def _plain(message: str) -> str:
    """Put a parser's message in words: ``expected a header clause`` for ``HeaderClause``."""
    kind = re.fullmatch(r"expected (\w+)", message)
    if kind is None:
        return message
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", kind[1]).lower()
    return f"expected {'an' if words[0] in 'aeiou' else 'a'} {words}"


def _graph_frames(data: bytes, source: str) -> Iterator[Any]:
    try:
        graphs = json.loads(data)["graphs"]
        if not isinstance(graphs, list) or not graphs:
            raise KeyError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError(
            "not an OBO graph: expected a JSON object with the key 'graphs'; ontologies are also "
            "read as OBO, OWL (RDF/XML) or a table of child and parent",
            source=source,
        ) from None
    fastobo = _engine("fastobo", "fastobo")
    try:
        document = fastobo.load_graph(io.BytesIO(data))
    except Exception as error:  # whatever the parser raises about a hostile file
        raise FormatError(f"cannot be read as an OBO graph ({error})", source=source) from None
    yield from document.header
    yield from document


def _from_frames(frames: Iterable[Any], source: str, wanted: frozenset[str]) -> TermTable:
    table = TermTable()
    for frame in frames:
        kind = type(frame).__name__
        if kind == "DataVersionClause":
            table.version = str(frame.version)
        elif kind == "TermFrame":
            entry = TermEntry(_short(frame.id))
            for clause in frame:
                _clause(entry, clause, wanted, table.relations)
                if len(entry.synonyms) > MOST_SYNONYMS:
                    break
            _added(table, entry, source)
    return table


def _clause(entry: TermEntry, clause: Any, wanted: frozenset[str], relations: set[str]) -> None:
    kind = type(clause).__name__
    if kind == "NameClause":
        entry.label = clause.name
    elif kind == "DefClause":
        entry.definition = str(clause.definition)
    elif kind == "SynonymClause":
        told = clause.synonym
        entry.synonyms.append(
            Synonym(told.desc, told.scope, "" if told.type is None else str(told.type))
        )
    elif kind == "IsAClause":
        if IS_A in wanted:
            entry.parents.append(_short(clause.term))
    elif kind == "RelationshipClause":
        relation = str(clause.typedef)
        relations.add(relation)
        if relation in wanted:
            entry.parents.append(_short(clause.term))
    elif kind == "AltIdClause":
        entry.alternatives.append(_short(clause.alt_id))
    elif kind == "IsObsoleteClause":
        entry.is_obsolete = bool(clause.obsolete)
    elif kind == "ReplacedByClause":
        entry.replaced_by.append(_short(clause.term))


def _short(identifier: Any) -> str:
    """Return an id as it is used: ``HP:0001250``, also where it is written as an address."""
    text = str(identifier).replace("\\:", ":")
    address = _PURL.match(text)
    return f"{address[1]}:{address[2]}" if address else text


# --- OWL -----------------------------------------------------------------------------------------


def _from_owl(data: bytes, source: str, wanted: frozenset[str]) -> TermTable:
    pronto = _engine("pronto", "pronto")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what it leaves out: properties, restrictions
            ontology = pronto.Ontology(
                io.BytesIO(data), import_depth=0, threads=1, encoding="utf-8"
            )
            return _of_pronto(ontology, source, wanted)
    except KeyError as error:
        raise FormatError(
            f"a term is below {shown(error.args[0])}, which is not defined here; give the ontology "
            "with its imports merged",
            source=source,
        ) from None
    except FormatError:
        raise
    except Exception as error:  # whatever the parser raises about a hostile file
        reason = str(error).partition(" <_io")[0]
        raise FormatError(f"cannot be read as OWL in RDF/XML ({reason})", source=source) from None


def _of_pronto(ontology: Any, source: str, wanted: frozenset[str]) -> TermTable:
    table = TermTable(version=ontology.metadata.data_version or "")
    for term in ontology.terms():
        entry = TermEntry(
            _short(term.id),
            term.name or "",
            str(term.definition or ""),
            [
                Synonym(each.description, each.scope, each.type.id if each.type else "")
                for each in sorted(term.synonyms, key=lambda each: (each.description, each.scope))
            ],
            alternatives=sorted(map(_short, term.alternate_ids)),
            is_obsolete=term.obsolete,
            replaced_by=sorted(_short(other.id) for other in term.replaced_by),
        )
        if IS_A in wanted:
            above = term.superclasses(distance=1, with_self=False)
            entry.parents += sorted(_short(parent.id) for parent in above)
        for relation, others in term.relationships.items():
            table.relations.add(relation.id)
            if relation.id in wanted:
                entry.parents += sorted(_short(other.id) for other in others)
        _added(table, entry, source)
    return table


# --- a table of child and parent -----------------------------------------------------------------

_COLUMNS = {
    "child": ("child", "id", "term", "term_id", "child_id"),
    "parent": ("parent", "is_a", "parent_id", "parents"),
    "label": ("label", "name"),
    "definition": ("definition", "def"),
    "synonyms": ("synonyms", "synonym"),
    "alternatives": ("alternatives", "alt_id", "alt_ids"),
    "obsolete": ("obsolete", "is_obsolete"),
    "replaced_by": ("replaced_by",),
}


def _is_table(head: bytes, source: str) -> bool:
    """Tell a table from OBO, whose lines are ``tag: value``."""
    first = next(
        (line for line in head.splitlines() if line.strip() and not line.startswith(b"#")), b""
    )
    if first.startswith((b"format-version:", b"[", b"!")):
        return False
    return b"\t" in first or suffix_of(source) in (".tsv", ".tab")


def _from_columns(data: bytes, source: str) -> TermTable:
    """Read lines ``child<TAB>parent``; a term without a parent is a root.

    A header may name more columns, which are about the child: label, definition, synonyms,
    alternatives (other ids), obsolete (true) and replaced_by; of several there is ``|`` between.
    """
    table = TermTable()
    places: dict[str, int] = {}
    for number, line in text_lines(data, source):
        cells = [cell.strip() for cell in line.split("\t")]
        if not places:
            named = _header(cells)
            places = named or {"child": 0, "parent": 1}
            if named is not None:
                continue
        row = {column: cells[place] for column, place in places.items() if place < len(cells)}
        if not row.get("child"):
            raise FormatError(
                f"expected child and parent with a tab between them, got {shown(line)}",
                source=source,
                line=number,
            )
        _row(table, row, source)
    for entry in list(table.terms.values()):
        for parent in entry.parents:
            if parent not in table.terms:  # a root needs no line of its own
                _added(table, TermEntry(parent), source)
    return table


def _header(cells: list[str]) -> dict[str, int] | None:
    folded = [cell.strip().lower().replace(" ", "_") for cell in cells]
    places = {
        column: folded.index(name)
        for column, names in _COLUMNS.items()
        for name in names
        if name in folded
    }
    return places if {"child", "parent"} <= places.keys() else None


def _row(table: TermTable, row: dict[str, str], source: str) -> None:
    child, parent = row["child"], row.get("parent")
    entry = table.terms.get(child)
    if entry is None:
        entry = TermEntry(child)
        _added(table, entry, source)
    if parent and parent not in entry.parents:
        entry.parents.append(parent)
    entry.label = entry.label or row.get("label", "")
    entry.definition = entry.definition or row.get("definition", "")
    entry.is_obsolete = entry.is_obsolete or row.get("obsolete", "").lower() in ("true", "1", "yes")
    entry.alternatives += _listed(row, "alternatives", entry.alternatives)
    entry.replaced_by += _listed(row, "replaced_by", entry.replaced_by)
    known = [synonym.text for synonym in entry.synonyms]
    entry.synonyms += [Synonym(name, "EXACT") for name in _listed(row, "synonyms", known)]
    _refuse_many(entry, source)


def _listed(row: dict[str, str], column: str, known: list[str]) -> list[str]:
    """Return what a cell lists, but for what is known."""
    if not row.get(column):
        return []
    items = map(str.strip, row[column].split("|"))
    return [item for item in dict.fromkeys(items) if item and item not in known]
