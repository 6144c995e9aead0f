"""An ontology: its terms, what they are called, and how near two of them are."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankscope.errors import FormatError, InputError, UnknownNameError, counted, shown
from rankscope.files import read_bytes, source_name, suffix_of
from rankscope.ontology.graph import DepthRule, Graph
from rankscope.ontology.nearness import Information, Way, from_annotations, from_structure, to_all
from rankscope.ontology.obo import read_obo
from rankscope.ontology.term import IS_A, Term, TermFile
from rankscope.ontology.term_tables import read_annotations, read_term_table

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.ontology.graph import FloatArray

__all__ = ["Ontology", "Term", "read_ontology"]

Status = Literal["current", "alternative", "replaced", "obsolete", "unknown"]
"""What an id is: a term's own, another of its ids, that of an obsolete term with one replacement,
that of one without, or none of this ontology."""

_NUMBERS_KEPT = 10_000_000
"""So many similarities of a term with all others are remembered: 80 MB, 500 terms of HPO."""

_MOST_NAMED = 8
"""An error names so many relations."""


def read_ontology(
    path: PathLike,
    *,
    relations: str | Iterable[str] = (),
    annotations: PathLike | None = None,
) -> Ontology:
    """Read an ontology: OBO, or a table of child and parent.

    ``relations`` are those besides is_a by which a term is below another, such as ``part_of``.
    ``annotations`` is a file with a thing and a term on each line (or `phenotype.hpoa`), for
    information content.

    Raises:
        FormatError: the file is in no known format.
        InputError: its terms form a cycle, or none has a relation that is named.
    """
    data, source = read_bytes(path), source_name(path)
    more = (relations,) if isinstance(relations, str) else relations
    chosen = tuple(dict.fromkeys([IS_A, *more]))
    key = hashlib.sha256(data)
    key.update(json.dumps(sorted(chosen)).encode())
    file = read_terms(data, source, chosen)
    ontology = _made(file, sha256=key.hexdigest(), relations=chosen)
    return ontology if annotations is None else _with_annotations(ontology, annotations)


def as_ontology(data: Any) -> Ontology:
    """Take an ontology as it is, or read the file that is named."""
    if isinstance(data, Ontology):
        return data
    if isinstance(data, str | os.PathLike):
        return read_ontology(data)
    raise InputError(
        f"an ontology is given as a file or as what read_ontology returns, not {shown(data)}"
    )


@dataclass(frozen=True, eq=False)
class Ontology:
    """Terms and which are above which; made by `read_ontology`.

    Terms that are not obsolete are numbered from 0. ``in`` tells whether an id can be looked up:
    that of a term, another of its ids, or an obsolete one that has one replacement.
    """

    source: str
    """The file it was read from."""
    sha256: str
    """The hash of the file's content and of the relations that count."""
    version: str
    """What the file says its version is; '' if it says nothing."""
    relations: tuple[str, ...]
    """The relations by which a term is below another."""
    terms: tuple[Term, ...] = field(repr=False)
    """The terms that are not obsolete, by number."""
    graph: Graph = field(repr=False)
    """Which terms are above which, by number."""
    alternatives: Mapping[str, str] = field(repr=False)
    """From other ids of terms to their own."""
    obsolete: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Obsolete ids and what replaces them."""
    undefined: tuple[str, ...]
    """Ids that terms are said to be below and that are not defined; such relations are left out."""
    annotations: Mapping[str, frozenset[int]] = field(default_factory=dict, repr=False)
    """The terms that things are annotated with, for information content."""
    annotations_sha256: str = ""
    """The hash of the file they are from."""

    @property
    def key(self) -> str:
        """What decides nearness: the hashes of the ontology and of its annotations."""
        return f"{self.sha256}{self.annotations_sha256 and '+'}{self.annotations_sha256}"

    def __len__(self) -> int:
        return len(self.terms)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __contains__(self, term_id: object) -> bool:
        return isinstance(term_id, str) and self.number(term_id) >= 0

    def __getitem__(self, term_id: str) -> Term:
        number = self.number(term_id)
        if number < 0:
            raise UnknownNameError("term", term_id, ())
        return self.terms[number]

    def __repr__(self) -> str:
        version = f" {self.version}" if self.version else ""
        return (
            f"Ontology({self.source}{version}: {counted(len(self), 'term')}, depth {self.depth()})"
        )

    # --- terms

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids by number."""
        return tuple(term.term_id for term in self.terms)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {term_id: number for number, term_id in enumerate(self.ids)}

    def number(self, term_id: str) -> int:
        """Return the number of the term that an id means; −1 if it means none."""
        number = self._numbers.get(term_id)
        if number is not None:
            return number
        current = self.alternatives.get(term_id) or self.replacement(term_id)
        return -1 if current is None else self._numbers[current]

    def replacement(self, term_id: str) -> str | None:
        """Return the one term that replaces an obsolete one; None if there is none, or several.

        What replaces it may be obsolete in its turn, and replaced by another.
        """
        waiting, seen, current = list(self.obsolete.get(term_id, ())), {term_id}, set()
        while waiting:
            other = waiting.pop()
            other = self.alternatives.get(other, other)
            if other in self._numbers:
                current.add(other)
            elif other not in seen:
                seen.add(other)
                waiting += self.obsolete.get(other, ())
        return current.pop() if len(current) == 1 else None

    def status(self, term_id: str) -> Status:
        """Tell what an id is."""
        if term_id in self._numbers:
            return "current"
        if term_id in self.alternatives:
            return "alternative"
        if term_id not in self.obsolete:
            return "unknown"
        return "obsolete" if self.replacement(term_id) is None else "replaced"

    def ancestors(self, term_id: str) -> tuple[str, ...]:
        """Return every term above one, the nearest first."""
        above, steps = self.graph.above(self._numbers[self[term_id].term_id])
        nearest_first = above[np.argsort(steps, kind="stable")]
        return tuple(self.ids[number] for number in nearest_first[1:].tolist())

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The terms with nothing above them."""
        return tuple(term.term_id for term in self.terms if not term.parents)

    def depth(self, rule: DepthRule = "longest") -> int:
        """Return the greatest depth of a term."""
        return int(self.graph.depths[rule].max(initial=0))

    def table(self) -> str:
        """Return the graph as a table that `read_ontology` reads, without synonyms and definitions.

        Terms have the same numbers when it is read.
        """
        rows = ["child\tparent\tlabel\talternatives\tobsolete\treplaced_by"]
        for term in self.terms:
            label, other_ids = " ".join(term.label.split()), "|".join(term.alternatives)
            first, *more = term.parents or ("",)
            rows.append(f"{term.term_id}\t{first}\t{label}\t{other_ids}\t\t")
            rows += [f"{term.term_id}\t{parent}\t\t\t\t" for parent in more]
        for term_id, others in self.obsolete.items():
            rows.append(f"{term_id}\t\t\t\ttrue\t{'|'.join(others)}")
        return "\n".join([*rows, ""])

    def annotation_table(self) -> str:
        """Return the annotations as a table that `read_ontology` reads."""
        rows = (
            f"{thing}\t{self.ids[number]}"
            for thing, numbers in self.annotations.items()
            for number in sorted(numbers)
        )
        return "\n".join(["entity\tterm", *rows, ""])

    # --- how near

    def similarity(
        self,
        expected: str | Sequence[str],
        retrieved: str | Sequence[str],
        sim: str = "hybrid",
        *,
        depth: DepthRule = "longest",
        ic: Information = "structure",
    ) -> Any:
        """Return how near terms are, from 0 to 1: of two ids a number, of two lists one each.

        ``sim`` names a similarity (`rankscope measures MaxOntSim` lists them). An id that is not
        known gives 0, unless both are the same id.
        """
        way = Way(sim, depth, ic)
        if isinstance(expected, str) and isinstance(retrieved, str):
            return float(self.similarity([expected], [retrieved], sim, depth=depth, ic=ic)[0])
        both = (expected, retrieved)
        if (
            not all(isinstance(ids, Sequence) and not isinstance(ids, str) for ids in both)
            or len(expected) != len(retrieved)
            or not all(isinstance(term_id, str) for ids in both for term_id in ids)
        ):
            raise InputError(
                "similarity takes two ids, or two lists of ids of one length, not "
                f"{shown(expected)} and {shown(retrieved)}"
            )
        near = np.array([a == b for a, b in zip(*both, strict=True)], np.float64)
        first, second = (np.array([self.number(each) for each in ids], np.int64) for ids in both)
        known = np.flatnonzero((first >= 0) & (second >= 0))
        for place in known[np.argsort(first[known], kind="stable")].tolist():  # each term at once
            near[place] = self.similarities(way, int(first[place]))[second[place]]
        return near

    def similarities(self, way: Way, number: int) -> FloatArray:
        """Return the similarity of one term, the expected one, with every term, by number.

        A term that is unknown (−1) is like none.
        """
        if number < 0:
            return np.zeros(len(self))
        row = self._rows.get((way, number))
        if row is None:
            row = to_all(way, self.graph, self.values(way), number)
            row.flags.writeable = False
            if (len(self._rows) + 1) * len(self) > _NUMBERS_KEPT:
                self._rows.clear()
            self._rows[way, number] = row
        return row

    @cached_property
    def _rows(self) -> dict[tuple[Way, int], FloatArray]:
        return {}

    def values(self, way: Way) -> FloatArray:
        """Return by term what a similarity looks at: its depth or its information content."""
        if way.similarity.basis == "information":
            return self.information(way.ic)
        return self.graph.depths[way.depth].astype(np.float64)

    def information(self, ic: Information = "structure") -> FloatArray:
        """Return by term its information content.

        Raises:
            InputError: it is to come from annotations, and there are none.
        """
        return self._structure if ic == "structure" else self._annotated

    @cached_property
    def _structure(self) -> FloatArray:
        return from_structure(self.graph)

    @cached_property
    def _annotated(self) -> FloatArray:
        if not self.annotations:
            raise InputError(
                "ic=annotations needs annotations; give a file of them with the ontology "
                "(annotations=…, --annotations), or use ic=structure"
            )
        return from_annotations(self.graph, self.annotations)


# --- reading -------------------------------------------------------------------------------------


def read_terms(data: bytes, source: str, relations: Iterable[str] = (IS_A,)) -> TermFile:
    """Read the terms of a file's content, which tells its format."""
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith((b"<", b"{")) or (head.startswith(b"[") and head[1:].lstrip()[:1] in b'[{"'):
        raise FormatError(
            "it looks like OWL or OBO graphs, and ontologies are read as OBO or as a table of "
            "child and parent; convert it with ROBOT (robot convert -i x.owl -o x.obo) or pronto",
            source=source,
        )
    first = next((line for line in head.splitlines() if line.strip() and line[:1] != b"#"), b"")
    is_obo = first.startswith((b"format-version:", b"[", b"!"))
    if not is_obo and (b"\t" in first or suffix_of(source) in (".tsv", ".tab")):
        file = read_term_table(data, source)
    elif not is_obo and suffix_of(source) == ".csv":
        raise FormatError(
            "a table of child and parent has tabs between its columns; write it as tsv",
            source=source,
        )
    else:
        file = read_obo(data, source, frozenset(relations))
    if not file.terms:
        raise FormatError("it has no terms", source=source)
    missing = sorted({*relations} - {IS_A} - file.relations)
    if missing:
        names = [shown(name)[1:-1] for name in sorted(file.relations)]
        more = ", …" if len(names) > _MOST_NAMED else ""
        raise InputError(
            f"{source}: no term has the relation {shown(missing[0])}; there are: "
            f"{', '.join(names[:_MOST_NAMED]) or 'none beside is_a'}{more}"
        )
    return file


def _made(file: TermFile, *, sha256: str, relations: tuple[str, ...]) -> Ontology:
    """Make an ontology of the terms of a file."""
    current = [term for term in file.terms.values() if not term.is_obsolete]
    if not current:
        raise InputError(f"{file.source}: every term is obsolete; give a current ontology")
    numbers = {term.term_id: number for number, term in enumerate(current)}
    alternatives, obsolete = _other_ids(file, numbers)
    undefined: dict[str, None] = {}
    terms = []
    for term in current:
        above = dict.fromkeys(alternatives.get(name, name) for name in term.parents)
        undefined |= dict.fromkeys(name for name in above if name not in numbers)
        terms.append(
            replace(
                term,
                parents=tuple(name for name in above if name in numbers),
                alternatives=tuple(
                    other for other in term.alternatives if alternatives.get(other) == term.term_id
                ),
            )
        )
    parents = [[numbers[name] for name in term.parents] for term in terms]
    return Ontology(
        source=file.source,
        sha256=sha256,
        version=file.version,
        relations=relations,
        terms=tuple(terms),
        graph=Graph.of(parents, list(numbers), file.source),
        alternatives=alternatives,
        obsolete=obsolete,
        undefined=tuple(undefined),
    )


def _other_ids(
    file: TermFile, numbers: Mapping[str, int]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return ids that mean a current term, and those of obsolete terms with what replaces them.

    Some ontologies give the id of an obsolete term to its successor; an id that two terms claim
    means neither.
    """
    claims: dict[str, dict[str, None]] = {}
    for term in file.terms.values():
        for other in term.alternatives:
            if other not in numbers:
                claims.setdefault(other, {})[term.term_id] = None
    obsolete = {
        term.term_id: tuple(term.replaced_by or claims.get(term.term_id, ()))
        for term in file.terms.values()
        if term.is_obsolete
    }
    alternatives = {}
    for other, (term_id, *more) in claims.items():
        if other in obsolete:
            continue
        if more or term_id not in numbers:
            obsolete[other] = (term_id, *more)
        else:
            alternatives[other] = term_id
    return alternatives, obsolete


def _with_annotations(ontology: Ontology, path: PathLike) -> Ontology:
    """Return the ontology with the annotations of a file; ids that it lacks are left out."""
    data = read_bytes(path)
    annotated: dict[str, set[int]] = {}
    unknown = 0
    for thing, term_id in read_annotations(data, source_name(path)):
        number = ontology.number(term_id)
        if number < 0:
            unknown += 1
        else:
            annotated.setdefault(thing, set()).add(number)
    if not annotated:
        raise InputError(
            f"{source_name(path)}: none of its {unknown:,} annotations names a term of "
            f"{ontology.source}, such as {shown(ontology.ids[0])}"
        )
    return replace(
        ontology,
        annotations={thing: frozenset(terms) for thing, terms in annotated.items()},
        annotations_sha256=hashlib.sha256(data).hexdigest(),
    )
