"""Fields of queries: what is known about them, and the groups that they fall into by it.

A field is a key of the queries' metadata (``style.difficulty`` reaches into objects), or one of
those that can be derived of every query; metadata of such a name wins:

- ``length``: the number of words, as pieces between blanks.
- ``constraints``: how many conditions an answer has to meet (`constraints`), of English queries.
- ``overlap``: the share of its words in the best relevant document; needs qrels and corpus.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.collection.corpus import document_text
from rankscope.diagnosis.ranked_run import RELEVANT
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.findings import declare
from rankscope.scoring.coverage import words_of

if TYPE_CHECKING:
    from rankscope.collection.corpus import Corpus
    from rankscope.scoring.judgments import Judgments

Query = tuple[str, str, Mapping[str, Any]]
"""Id, text and metadata."""

Number = int | float

DERIVED = ("length", "constraints", "overlap")
"""The fields that every query has."""

CUTS: Mapping[str, tuple[Number, ...]] = {"length": (8, 16), "constraints": (3, 5)}
"""Where ranges begin unless set otherwise: short, medium and long; simple, medium and complex."""

RANGES = 4
"""Other numbers fall into so many ranges."""

OVERLAPS = ("none", "less than half", "half or more", "all")
"""How many of a query's words a document has."""

MOST_RELEVANT = 20
"""The overlap looks at so many of a query's best documents at most."""

DEEPEST = 20
"""Metadata is looked into down to this depth."""

LARGEST = 1e300
"""A larger number is taken as text."""

UNKNOWN_QUERIES = declare(
    "RS721",
    "queries-without-text",
    "warning",
    unit="query",
    advice="give the file that holds all judged queries, or check the ids",
    meaning="""Queries were given, and some judged queries are not among them: their text and
    metadata are not known, so groups of queries are told apart without them.""",
)

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?", re.ASCII)


@dataclass(frozen=True, eq=False)
class QueryFields:
    """Queries, and what there is to know about them."""

    queries: Sequence[Query]
    qrels: Judgments | None = None
    corpus: Corpus | None = None

    @cached_property
    def metadata(self) -> dict[str, dict[str, Any]]:
        """By field of the metadata and query: what it has there."""
        fields: dict[str, dict[str, Any]] = {}
        for query_id, _, metadata in self.queries:
            for name, value in _flat(metadata):
                fields.setdefault(name, {})[query_id] = value
        return fields

    def values(self, field: str) -> dict[str, Any]:
        """Return by query what it has in a field, where that can be a label."""
        if field in self.metadata:
            return labels_of(self.metadata[field])
        if field == "length":
            return {query_id: len(text.split()) for query_id, text, _ in self.queries}
        if field == "constraints":
            return {query_id: constraints(text) for query_id, text, _ in self.queries}
        return self.overlaps if field == "overlap" else {}

    def lacking(self, field: str) -> str:
        """Say what a derived field needs and is not given; '' if nothing is lacking."""
        if field in self.metadata or field not in DERIVED:
            return ""
        if field == "overlap" and (self.qrels is None or self.corpus is None):
            return "no qrels were given" if self.qrels is None else "no corpus was given"
        if field == "constraints":
            english = [not ENGLISH.isdisjoint(words_of(text)) for _, text, _ in self.queries]
            if 2 * sum(english) < len(english):
                return "constraints are counted in English queries only"
        return ""

    def check(self, field: str, analysis: str) -> None:
        """Refuse a field that no query has, with the nearest that one has."""
        known = [*self.metadata, *DERIVED]
        if field not in known:
            error = UnknownNameError("field of the queries", field, known)
            raise InputError(f"{analysis}: {error}")

    def groups(self, field: str, cuts: Sequence[Number] = ()) -> dict[str, list[str]]:
        """Return the queries of each label of a field, in the order to show them.

        - Numbers, also written as text, fall into ranges: each begins at a cut. Without cuts there
          are four of about equal size; up to five different numbers are each a group.
        - Text is a label as it is; groups come by size, then name. A list puts its query in the
          group of each entry. True and False are yes and no.
        - Nothing, blank text, objects and what is no finite number give no label.

        >>> fields = QueryFields([("q1", "cat", {}), ("q2", "a cat that is white", {})])
        >>> fields.groups("length", cuts=[5])
        {'up to 4': ['q1'], '5+': ['q2']}
        """
        values = self.values(field)
        numbers = {query_id: _number(value) for query_id, value in values.items()}
        texts = [values[query_id] for query_id, number in numbers.items() if number is None]
        if texts and cuts:
            raise InputError(f"{field}: ranges need numbers, and {shown(texts[0])} is none")
        if texts or not values:
            return _by_text(values, OVERLAPS if field not in self.metadata else ())
        return _by_range(numbers, cuts or CUTS.get(field, ()))

    @cached_property
    def overlaps(self) -> dict[str, str]:
        """By query: how many of its words the best relevant document has that has most of them."""
        assert self.corpus is not None
        vocabulary: dict[str, set[str]] = {}
        overlaps = {}
        best = self._best_documents()
        for query_id, text, _ in self.queries:
            words = set(words_of(text))
            words = words - ENGLISH or words
            for doc_id in best.get(query_id, ()):
                if doc_id not in vocabulary:
                    document = self.corpus[doc_id]
                    vocabulary[doc_id] = {*words_of(document_text(document, document.fields))}
            if words and best.get(query_id):
                share = max(len(words & vocabulary[doc]) for doc in best[query_id]) / len(words)
                overlaps[query_id] = OVERLAPS[(share > 0) + (share >= 0.5) + (share == 1)]
        return overlaps

    def _best_documents(self) -> dict[str, list[str]]:
        """By query: its relevant documents of the highest grade, if the corpus has them."""
        assert self.qrels is not None
        assert self.corpus is not None
        qrels = self.qrels
        grades = qrels.pairs["grade"].cast(pl.Float64).to_numpy()
        highest = np.full(len(qrels.query_ids), RELEVANT)
        np.maximum.at(highest, qrels.query, grades)
        rows = np.flatnonzero(grades >= highest[qrels.query])
        doc_ids = qrels.pairs["doc_id"].cast(pl.String).gather(rows).to_list()
        best: dict[str, list[str]] = {}
        for query, doc_id in zip(qrels.query[rows].tolist(), doc_ids, strict=True):
            documents = best.setdefault(qrels.query_ids[query], [])
            if len(documents) < MOST_RELEVANT and doc_id in self.corpus:
                documents.append(doc_id)
        return best


# --- values and labels ---------------------------------------------------------------------------


def _flat(
    metadata: Mapping[str, Any], before: str = "", depth: int = 0
) -> Iterator[tuple[str, Any]]:
    """Yield the fields of metadata that are no objects, as dotted paths, and what they hold."""
    for name, value in metadata.items():
        if not isinstance(value, Mapping):
            yield f"{before}{name}", value
        elif depth < DEEPEST:
            yield from _flat(value, f"{before}{name}.", depth + 1)


def labels_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what can be a label, or a list of labels."""
    usable: dict[str, Any] = {}
    for query_id, value in values.items():
        if isinstance(value, list | tuple | set | frozenset):
            label: Any = [each for each in map(_label, value) if each is not None] or None
        else:
            label = _label(value)
        if label is not None:
            usable[query_id] = label
    return usable


def _label(value: Any) -> Any:
    """Return a single value, or None if it says nothing."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if isinstance(value, Mapping | list | tuple | set | frozenset) else value


def label_text(value: Any) -> str:
    """Return what a value is called as a label; True and False are ``yes`` and ``no``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(value).removesuffix(".0") if isinstance(value, int | float) else str(value)


def _number(value: Any) -> Number | None:
    """Return a number, also of its text; a whole one as int."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST:
        return None
    return _whole(value)


def _whole(number: Number) -> Number:
    """Return a whole number as int."""
    return int(number) if float(number).is_integer() else number


def _by_text(values: Mapping[str, Any], order: Sequence[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for query_id, value in values.items():
        for label in dict.fromkeys(map(label_text, value if isinstance(value, list) else [value])):
            groups.setdefault(label, []).append(query_id)
    names = [name for name in order if name in groups]
    names = names or sorted(groups, key=lambda label: (-len(groups[label]), label))
    return {name: groups[name] for name in names}


def _by_range(numbers: Mapping[str, Any], cuts: Sequence[Number]) -> dict[str, list[str]]:
    """Group numbers into ranges; each begins at a cut, and equal numbers are never parted."""
    distinct = sorted(set(numbers.values()))
    if not cuts and len(distinct) <= RANGES + 1:
        names, starts = list(map(label_text, distinct)), distinct[1:]
    else:
        starts = sorted({_whole(cut) for cut in cuts}) or _quantiles(
            sorted(numbers.values()), distinct
        )
        is_whole = all(isinstance(number, int) for number in (*distinct, *starts))
        ends = [start - 1 if is_whole else start for start in starts]
        inner = [
            label_text(start) if start == end else f"{label_text(start)}–{label_text(end)}"
            for start, end in zip(starts, ends[1:], strict=False)
        ]
        first = f"{'up to' if is_whole else 'below'} {label_text(ends[0])}"
        names = [first, *inner, f"{label_text(starts[-1])}+"]
    groups: dict[str, list[str]] = {name: [] for name in names}
    for query_id, number in numbers.items():
        groups[names[bisect_right(starts, number)]].append(query_id)
    return {name: members for name, members in groups.items() if members}


def _quantiles(ordered: Sequence[Number], distinct: Sequence[Number]) -> list[Number]:
    """Return where ranges of about equal size begin, at numbers with few digits."""
    ends = (ordered[math.ceil(len(ordered) * n / RANGES) - 1] for n in range(1, RANGES))
    return [  # the last range keeps at least the highest number
        _between(end, distinct[bisect_right(distinct, end)])
        for end in dict.fromkeys(min(end, distinct[-2]) for end in ends)
    ]


def _between(below: Number, above: Number) -> Number:
    """Return the shortest number that is above one and not above the other.

    >>> _between(0.2391, 0.2618)
    0.25
    """
    for digits in range(-15, 16):
        for near in ((below + above) / 2, above):
            number = round(near, digits)
            if below < number <= above:
                return _whole(number)
    return above


# --- constraints ---------------------------------------------------------------------------------

_JOINTS = """about above across after against although and around as at because before below
between but by despite during for from if in into near of on onto or over per since so than that
though through till under until unless versus via vs while with within who whom whose what which
when where why how cannot except excluding neither never no none nor not without"""

_OTHERS = """a all also am an any are be been being can could d did do does don done each every get
got had has have having he her here him his i is isn it its just know let ll m may me might must my
need our please re s shall she should some sure t tell the their them there these they this those to
too us ve very want was we were will would you your"""

JOINTS = frozenset(_JOINTS.split())
"""Prepositions, conjunctions, negations and question words: another condition follows."""

ENGLISH = JOINTS | frozenset(_OTHERS.split())
"""English function words; the others are about something."""

_TOKEN = re.compile(
    r"""(?P<quoted>["“„«][^"“”„«»]+["”“»])"""
    r"""|(?P<word>\d+(?:[.,/]\d+)+\w*|\w+(?:['’-]\w+)*)"""  # 2.5, 1/2, yeast-based, don't
    r"""|(?P<cut>[,.;:?!()\[\]/|\n、。，；：？！])"""
)
_AMOUNT = re.compile(r"\d+(?:[.,/]\d+)*[^\W\d]{0,4}")
_NEGATED = re.compile(r"non-.+|.+-(?:free|less)")


def constraints(text: str) -> int:
    """Count the constraints of an English query: the conditions that an answer has to meet.

    A deterministic rule, not an understanding:

    1. The text is cut at punctuation, prepositions, conjunctions, negations and question words.
       Each part that holds a word about something is one constraint.
    2. A number, with the word behind it, is one of its own; so is a phrase in quotation marks.
    3. A word that leaves something out ("gluten-free", "non-stick") is one of its own.

    >>> constraints("What air fryer temperature for crispy vegetables?")  # cut at "for"
    2
    >>> constraints("gluten-free bread without eggs in 30 minutes")  # free, bread, eggs, 30
    4

    Each query has at least one.
    """
    count, filled, after_amount = 0, False, False
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup, match.group().casefold().replace("’", "'")
        stem = word.partition("'")[0]
        was_amount, after_amount = after_amount, bool(_AMOUNT.fullmatch(word))
        if kind == "quoted" or after_amount or _NEGATED.fullmatch(word):
            count += 1
        elif kind == "cut" or word.endswith("n't") or stem in JOINTS:
            count, filled = count + filled, False
        elif stem not in ENGLISH and not was_amount:
            filled = True
    return max(count + filled, 1)
