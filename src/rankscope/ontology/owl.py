"""Files in OWL, written as RDF/XML: classes, and axioms that say more about their synonyms.

Nothing is fetched: not what the file imports, and no entity from elsewhere. Entities that mean
a short text, as Protégé writes them for prefixes, are the only ones that are allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast
from urllib.parse import urljoin
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers.expat import ExpatError, ParserCreate

from rankscope.errors import FormatError, shown
from rankscope.ontology.term_table import (
    IS_A,
    Synonym,
    TermEntry,
    TermTable,
    refuse_many,
    short_id,
    short_name,
    short_version,
)

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_RDFS = "{http://www.w3.org/2000/01/rdf-schema#}"
_OWL = "{http://www.w3.org/2002/07/owl#}"
_OBO = "{http://purl.obolibrary.org/obo/}"
_OBO_IN_OWL = "{http://www.geneontology.org/formats/oboInOwl#}"
_XML = "{http://www.w3.org/XML/1998/namespace}"

_ABOUT, _ID, _RESOURCE = f"{_RDF}about", f"{_RDF}ID", f"{_RDF}resource"
_BASE, _LANGUAGE = f"{_XML}base", f"{_XML}lang"
_THING = "http://www.w3.org/2002/07/owl#Thing"

_SYNONYMS = {
    f"{_OBO_IN_OWL}hasExactSynonym": "EXACT",
    f"{_OBO_IN_OWL}hasNarrowSynonym": "NARROW",
    f"{_OBO_IN_OWL}hasBroadSynonym": "BROAD",
    f"{_OBO_IN_OWL}hasRelatedSynonym": "RELATED",
}
_LONGEST_ENTITY = 200
"""An entity is an address, not a way to make a small file large."""
_MOST_GROWTH = 10
"""No more times its size may a file become by its entities."""
_CHUNK = 1 << 20  # a long comment is looked through again with each further chunk


@dataclass(slots=True)
class _Class:
    """What is said of a class, in one place or several."""

    entry: TermEntry
    short: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    """By language."""
    parents: list[tuple[str, str]] = field(default_factory=list)
    """Relation and class, by address."""


@dataclass(slots=True)
class _Content:
    """What a file says, by address."""

    base: str = ""
    version: str = ""
    classes: dict[str, _Class] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)
    kinds: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """By class, scope and text: the kind of a synonym."""

    def address(self, text: str) -> str:
        """Return an address in full."""
        if "://" in text[:12]:
            return text
        return urljoin(self.base, text) if self.base else text.removeprefix("#")


def terms_of_owl(data: bytes, source: str, wanted: frozenset[str]) -> TermTable:
    """Read the classes of an ontology in RDF/XML."""
    content = _Content()
    try:
        _check_head(data, source)
        for element in _elements(data, content):
            _take(element, content, source)
    except (ExpatError, ParseError) as error:
        reason = str(error).partition(": line ")[0]
        line = error.lineno if isinstance(error, ExpatError) else error.position[0]
        raise FormatError(
            f"cannot be read as OWL in RDF/XML ({reason})", source=source, line=line
        ) from None
    except (ValueError, LookupError) as error:  # an encoding or address that cannot be
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"cannot be read as OWL in RDF/XML ({error})", source=source) from None
    return _table(content, source, wanted)


def _check_head(data: bytes, source: str) -> None:
    """Refuse another root, and entities that are fetched or grow, which come before the root."""
    parser = ParserCreate(namespace_separator="}")
    inside = False
    longest = 0

    def declared(name: str, is_parameter: int, value: str | None, *elsewhere: str | None) -> None:
        is_plain = value is not None and "&" not in value and len(value) <= _LONGEST_ENTITY
        if is_parameter or any(elsewhere) or not is_plain:
            raise FormatError(
                f"it declares the entity {shown(name)}, which is not a short text; no ontology "
                "needs that",
                source=source,
                line=parser.CurrentLineNumber,
            )
        nonlocal longest
        longest = max(longest, len(value or ""))

    def begun(name: str, _: object) -> None:
        nonlocal inside
        if not inside and f"{{{name}" != f"{_RDF}RDF":
            is_xml = f"{{{name}" == f"{_OWL}Ontology"
            raise FormatError(
                "cannot be read as OWL in RDF/XML: expected rdf:RDF, got "
                f"{shown(name.rpartition('}')[2])}"
                f"{'; it is OWL/XML, save it as RDF/XML' if is_xml else ''}",
                source=source,
                line=parser.CurrentLineNumber,
            )
        inside = True

    parser.EntityDeclHandler = declared
    parser.StartElementHandler = begun
    for start in range(0, len(data), _CHUNK):
        parser.Parse(data[start : start + _CHUNK], start + _CHUNK >= len(data))
        if inside:
            break
    if longest * data.count(b"&") > _MOST_GROWTH * len(data):
        raise FormatError(
            f"its entities make it more than {_MOST_GROWTH} times as large; no ontology needs that",
            source=source,
        )


def _elements(data: bytes, content: _Content) -> Iterator[Element]:
    """Yield what is directly below the root, and forget it after."""
    depth = 0
    root: Element | None = None
    parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
    for start in range(0, len(data) + 1, _CHUNK):
        chunk = data[start : start + _CHUNK]
        if chunk:
            parser.feed(chunk)
        if start + _CHUNK > len(data):
            parser.close()
        events = cast("Iterator[tuple[str, Element]]", parser.read_events())
        for event, element in events:
            if event == "start":
                if root is None:
                    root = element
                    content.base = root.get(_BASE, "")
                depth += 1
                continue
            depth -= 1
            if depth == 1 and root is not None:
                yield element
                root.clear()


def _take(element: Element, content: _Content, source: str) -> None:
    types = {element.tag} | {
        f"{{{address.replace('#', '#}')}" for address in _resources(element, f"{_RDF}type")
    }
    if f"{_OWL}Class" in types:
        address = _about(element, content)
        if address and address != _THING:
            _take_class(element, address, content, source)
    elif f"{_OWL}ObjectProperty" in types:
        _take_relation(element, content)
    elif f"{_OWL}Axiom" in types:
        _take_axiom(element, content)
    elif f"{_OWL}Ontology" in types:
        addresses = _resources(element, f"{_OWL}versionIRI")
        for version in (*addresses, *_texts(element, f"{_OWL}versionInfo")):
            content.version = content.version or short_version(version)


def _about(element: Element, content: _Content) -> str:
    address = element.get(_ABOUT)
    if address is not None:
        return content.address(address)
    name = element.get(_ID)
    return "" if name is None else content.address(f"#{name}")


def _take_class(element: Element, address: str, content: _Content, source: str) -> None:
    known = content.classes.get(address)
    if known is None:
        known = content.classes[address] = _Class(TermEntry(short_id(address)))
    entry = known.entry
    for child in element:
        tag = child.tag
        text = (child.text or "").strip()
        resource = child.get(_RESOURCE)
        if tag == f"{_RDFS}subClassOf":
            known.parents += _parents(child, content)
        elif tag == f"{_RDFS}label":
            known.labels.setdefault(child.get(_LANGUAGE, ""), text)
        elif tag in _SYNONYMS:
            entry.synonyms.append(Synonym(text or resource or "", _SYNONYMS[tag]))
            refuse_many(entry, source)
        elif tag == f"{_OBO}IAO_0000115":
            entry.definition = entry.definition or text
        elif tag == f"{_OBO_IN_OWL}id":
            known.short = known.short or text
        elif tag == f"{_OBO_IN_OWL}hasAlternativeId":
            entry.alternatives.append(short_id(resource or text))
        elif tag == f"{_OBO}IAO_0100001":
            entry.replaced_by.append(resource or text)
        elif tag == f"{_OWL}deprecated":
            entry.is_obsolete = entry.is_obsolete or text.lower() in ("true", "1")


def _parents(element: Element, content: _Content) -> Iterator[tuple[str, str]]:
    """Yield relation and class of a subClassOf: a class, or some restriction to one."""
    for parent in _resources_of(element, f"{_OWL}Class", content):
        yield IS_A, parent
    restriction = element.find(f"{_OWL}Restriction")
    if restriction is not None:
        for name in restriction.iterfind(f"{_OWL}onProperty"):
            for relation in _resources_of(name, f"{_OWL}ObjectProperty", content):
                for target in restriction.iterfind(f"{_OWL}someValuesFrom"):
                    for parent in _resources_of(target, f"{_OWL}Class", content):
                        yield relation, parent


def _resources_of(element: Element, tag: str, content: _Content) -> Iterator[str]:
    """Yield what an element refers to, by address or by an element inside it."""
    resource = element.get(_RESOURCE)
    if resource is not None:
        yield content.address(resource)
    yield from filter(None, (_about(child, content) for child in element.iterfind(tag)))


def _take_relation(element: Element, content: _Content) -> None:
    """Keep the name that OBO files have for a relation: ``part_of`` for BFO:0000050."""
    address = _about(element, content)
    names = (*_texts(element, f"{_OBO_IN_OWL}shorthand"), *_texts(element, f"{_RDFS}label"))
    if address and names:
        content.relations[address] = names[0].replace(" ", "_")


def _take_axiom(element: Element, content: _Content) -> None:
    """Keep what is said of a synonym."""
    kinds = _resources(element, f"{_OBO_IN_OWL}hasSynonymType")
    sources = _resources(element, f"{_OWL}annotatedSource")
    texts = _texts(element, f"{_OWL}annotatedTarget")
    for name in _resources(element, f"{_OWL}annotatedProperty"):
        scope = _SYNONYMS.get(f"{{{name.replace('#', '#}')}")
        if scope and kinds and sources and texts:
            content.kinds[content.address(sources[0]), scope, texts[0]] = short_name(kinds[0])


def _resources(element: Element, tag: str) -> list[str]:
    return [child.get(_RESOURCE, "") for child in element.iterfind(tag)]


def _texts(element: Element, tag: str) -> list[str]:
    """Return texts, which are also allowed as an attribute."""
    texts = [(child.text or "").strip() for child in element.iterfind(tag)]
    attribute = element.get(tag)
    return [text for text in (*texts, (attribute or "").strip()) if text]


def _table(content: _Content, source: str, wanted: frozenset[str]) -> TermTable:
    table = TermTable(version=content.version)
    classes = content.classes
    ids = {address: known.short or known.entry.term_id for address, known in classes.items()}
    for address, known in classes.items():
        entry = known.entry
        entry.term_id = ids[address]
        entry.label = next(
            (known.labels[language] for language in ("", "en") if language in known.labels),
            next(iter(known.labels.values()), ""),
        )
        entry.synonyms = [
            replace(synonym, kind=content.kinds.get((address, synonym.scope, synonym.text), ""))
            for synonym in entry.synonyms
        ]
        entry.replaced_by = [ids.get(other) or short_id(other) for other in entry.replaced_by]
        for relation, parent in known.parents:
            if parent == _THING:
                continue
            names = {IS_A}
            if relation != IS_A:
                name = content.relations.get(relation) or short_name(relation)
                names = {name, short_name(relation)}
                table.relations.add(name)
            if names & wanted:
                table.relations |= names & wanted - {IS_A}
                entry.parents.append(ids.get(parent) or short_id(parent))
        table.add(entry, source)
    return table
