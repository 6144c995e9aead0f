"""An ontology: its terms, what they are called, and how near two of them are."""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankscope.errors import InputError, UnknownNameError, counted, shown
from rankscope.files import read_bytes, source_name
from rankscope.ontology.annotations import read_annotations
from rankscope.ontology.graph import Graph
from rankscope.ontology.information import from_annotations, from_structure
from rankscope.ontology.nearness import Way, of_pairs, to_all
from rankscope.ontology.term_files import read_terms
from rankscope.ontology.term_table import IS_A, Synonym

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.ontology.graph import DepthRule, FloatArray, IntArray
    from rankscope.ontology.information import Information
    from rankscope.ontology.term_table import TermTable

__all__ = ["Ontology", "read_ontology"]

Status = Literal["current", "alternative", "replaced", "obsolete", "unknown"]
"""What an id is: a term's own, another of its ids, that of an obsolete term with one replacement,
that of one without, or none of this ontology."""

_NUMBERS_KEPT = 10_000_000
"""So many similarities of a term with all others are remembered: 80 MB, 500 terms of HPO."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term of an ontology."""

    term_id: str
    label: str
    synonyms: tuple[Synonym, ...]
    definition: str
    parents: tuple[str, ...]
    """The terms directly above it."""
    alternatives: tuple[str, ...]
    """Other ids that mean it."""


@dataclass(frozen=True, eq=False)
class Ontology:
    """Terms and what is above what; made by `read_ontology`.

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
    ids: tuple[str, ...]
    """The ids by number."""
    labels: tuple[str, ...]
    """What each term is called."""
    graph: Graph
    """What is above what."""
    alternatives: Mapping[str, str]
    """From other ids of terms to their own."""
    obsolete: Mapping[str, tuple[str, ...]]
    """Obsolete ids and what replaces them."""
    undefined: tuple[str, ...]
    """Ids that terms are said to be below and that are not defined; such relations are left out."""
    synonyms: tuple[tuple[Synonym, ...], ...] = field(repr=False)
    """The other names of each term."""
    definitions: tuple[str, ...] = field(repr=False)
    """What each term means; '' where the file does not say."""
    annotations: Mapping[str, frozenset[int]] = field(default_factory=dict, repr=False)
    """The terms that things are annotated with, for information content."""
    annotations_sha256: str = ""
    """The hash of the file they are from."""

    @property
    def key(self) -> str:
        """What decides nearness: the hashes of the ontology and of its annotations."""
        return f"{self.sha256}{self.annotations_sha256 and '+'}{self.annotations_sha256}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", OrderedDict())

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __contains__(self, term_id: object) -> bool:
        return isinstance(term_id, str) and self.number(term_id) >= 0

    def __repr__(self) -> str:
        version = f" {self.version}" if self.version else ""
        return (
            f"Ontology({self.source}{version}: {counted(len(self), 'term')}, depth {self.depth()})"
        )

    # --- terms

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {term_id: number for number, term_id in enumerate(self.ids)}

    def number(self, term_id: str) -> int:
        """Return the number of the term that an id means; −1 if it means none."""
        number = self._numbers.get(term_id)
        if number is not None:
            return number
        current = self.alternatives.get(term_id)
        if current is None:
            current = self.replacement(term_id)
        return -1 if current is None else self._numbers.get(current, -1)

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

    @cached_property
    def _alternatives_of(self) -> dict[str, list[str]]:
        by_term: dict[str, list[str]] = {}
        for other, term_id in self.alternatives.items():
            by_term.setdefault(term_id, []).append(other)
        return by_term

    def __getitem__(self, term_id: str) -> Term:
        number = self.number(term_id)
        if number < 0:
            raise UnknownNameError("term", term_id, ())
        return self.term(number)

    def term(self, number: int) -> Term:
        """Return the term with this number."""
        return Term(
            self.ids[number],
            self.labels[number],
            self.synonyms[number],
            self.definitions[number],
            tuple(self.ids[parent] for parent in self.graph.parents[number].tolist()),
            tuple(self._alternatives_of.get(self.ids[number], ())),
        )

    def terms(self) -> Iterator[Term]:
        """Iterate over all terms that are not obsolete."""
        return map(self.term, range(len(self)))

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The terms with nothing above them."""
        alone = np.flatnonzero(np.diff(self.graph.parents.starts) == 0)
        return tuple(self.ids[number] for number in alone.tolist())

    def table(self) -> str:
        """Return the graph as a table that `read_ontology` reads, without synonyms and definitions.

        Terms have the same numbers when it is read.
        """
        rows = ["child\tparent\tlabel\talternatives\tobsolete\treplaced_by"]
        for number, term_id in enumerate(self.ids):
            label = " ".join(self.labels[number].split())
            other_ids = "|".join(self._alternatives_of.get(term_id, ()))
            parents = [self.ids[parent] for parent in self.graph.parents[number].tolist()]
            rows += [f"{term_id}\t{(parents or [''])[0]}\t{label}\t{other_ids}\t\t"]
            rows += [f"{term_id}\t{parent}\t\t\t\t" for parent in parents[1:]]
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

    def depth(self, rule: DepthRule = "longest") -> int:
        """Return the greatest depth of a term."""
        return int(self.graph.depths[rule].max(initial=0))

    def values(self, way: Way) -> FloatArray:
        """Return by term what a similarity looks at: its depth or its information content."""
        if way.similarity.basis in ("information", "ancestors"):
            return self.information(way.ic)
        return self._depths[way.depth]

    @cached_property
    def _depths(self) -> dict[str, FloatArray]:
        return {rule: depths.astype(np.float64) for rule, depths in self.graph.depths.items()}

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

    def similarities(self, way: Way, number: int) -> FloatArray:
        """Return the similarity of one term, the expected one, with every term, by number.

        A term that is unknown (−1) is like none.
        """
        if number < 0:
            return np.zeros(len(self))
        rows: OrderedDict[tuple[Way, int], FloatArray] = self._rows  # type: ignore[attr-defined]
        key = way, number
        row = rows.get(key)
        if row is None:
            row = to_all(way, self.graph, self.values(way), number)
            row.flags.writeable = False
            rows[key] = row
            if len(rows) * len(self) > _NUMBERS_KEPT:
                rows.popitem(last=False)
        return row

    def similarity_of_pairs(self, way: Way, first: IntArray, second: IntArray) -> FloatArray:
        """Return the similarity of many pairs of terms, by number; those unknown (−1) give 0."""
        known = (first >= 0) & (second >= 0)
        near = np.zeros(len(first))
        near[known] = of_pairs(way, self.graph, self.values(way), first[known], second[known])
        return near

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
        way = checked_way(sim, depth, ic)
        for ids in (expected, retrieved):
            if not isinstance(ids, str) and not (
                isinstance(ids, Sequence) and all(isinstance(term_id, str) for term_id in ids)
            ):
                raise InputError(f"similarity takes ids of terms as text, not {shown(ids)}")
        ours = [expected] if isinstance(expected, str) else list(expected)
        theirs = [retrieved] if isinstance(retrieved, str) else list(retrieved)
        if len(ours) != len(theirs):
            raise InputError(
                f"similarity takes two lists of one length, not of {len(ours)} and {len(theirs)}"
            )
        first = np.fromiter(map(self.number, ours), np.int64, len(ours))
        second = np.fromiter(map(self.number, theirs), np.int64, len(theirs))
        near = self.similarity_of_pairs(way, first, second)
        near[[ours[place] == theirs[place] for place in range(len(ours))]] = 1.0
        return float(near[0]) if isinstance(expected, str) else near


def checked_way(sim: str, depth: str, ic: str) -> Way:
    """Return a way to compare terms; names that are not known are refused."""
    if depth not in ("longest", "shortest"):
        raise UnknownNameError("rule for depths", depth, ["longest", "shortest"])
    if ic not in ("structure", "annotations"):
        raise UnknownNameError("source of information content", ic, ["structure", "annotations"])
    way = Way(sim, depth, ic)  # type: ignore[arg-type]
    _ = way.similarity  # refuses a name that is not known
    return way


# --- reading -------------------------------------------------------------------------------------


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
        InputError: its terms form a cycle; says which.
    """
    source = source_name(path)
    data = read_bytes(path)
    more = (relations,) if isinstance(relations, str) else relations
    chosen = tuple(dict.fromkeys([IS_A, *more]))
    key = hashlib.sha256(data)
    key.update(json.dumps(sorted(chosen)).encode())
    ontology = _made(read_terms(data, source, chosen), source, key.hexdigest(), chosen)
    return _with_annotations(ontology, annotations)


def _made(table: TermTable, source: str, sha256: str, relations: tuple[str, ...]) -> Ontology:
    """Make an ontology of the terms of a file."""
    current = [entry for entry in table.terms.values() if not entry.is_obsolete]
    if not current:
        raise InputError(f"{source}: every term is obsolete; give a current ontology")
    ids = tuple(entry.term_id for entry in current)
    numbers = {term_id: number for number, term_id in enumerate(ids)}
    alternatives, obsolete = _other_ids(table, numbers)
    undefined: dict[str, None] = {}
    parents: list[list[int]] = []
    for entry in current:
        above: dict[int, None] = {}
        for name in entry.parents:
            number = numbers.get(alternatives.get(name, name))
            if number is None:
                undefined[name] = None
            else:
                above[number] = None
        parents.append(list(above))
    return Ontology(
        source=source,
        sha256=sha256,
        version=table.version,
        relations=relations,
        ids=ids,
        labels=tuple(entry.label for entry in current),
        graph=Graph.of(parents, ids, source),
        alternatives=alternatives,
        obsolete=obsolete,
        undefined=tuple(undefined),
        synonyms=tuple(tuple(entry.synonyms) for entry in current),
        definitions=tuple(entry.definition for entry in current),
    )


def _other_ids(
    table: TermTable, numbers: Mapping[str, int]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return ids that mean a current term, and those of obsolete terms with what replaces them.

    Some ontologies give the id of an obsolete term to its successor; an id that two terms claim
    means neither.
    """
    claims: dict[str, dict[str, None]] = {}
    for entry in table.terms.values():
        for other in entry.alternatives:
            if other not in numbers:
                claims.setdefault(other, {})[entry.term_id] = None
    obsolete = {
        entry.term_id: tuple(entry.replaced_by or claims.get(entry.term_id, ()))
        for entry in table.terms.values()
        if entry.is_obsolete
    }
    alternatives = {}
    for other, claiming in claims.items():
        if other in obsolete:
            continue
        term_id, *more = claiming
        if more or term_id not in numbers:
            obsolete[other] = tuple(claiming)
        else:
            alternatives[other] = term_id
    return alternatives, obsolete


def _with_annotations(ontology: Ontology, path: PathLike | None) -> Ontology:
    if path is None:
        return ontology
    from dataclasses import replace  # noqa: PLC0415

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


def as_ontology(data: Any) -> Ontology:
    """Take an ontology as it is, or read the file that is named."""
    if isinstance(data, Ontology):
        return data
    if isinstance(data, str | os.PathLike):
        return read_ontology(data)
    raise InputError(
        f"an ontology is given as a file or as what read_ontology returns, not {shown(data)}"
    )
