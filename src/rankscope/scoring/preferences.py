"""trec_eval's measures of preferences and of judgment groups: ``-R prefs``, ``-R qrels_jg``.

A preference says that one document is better than another. Judgments come from groups (a rater, a
session); a group states its preferences by levels, in one or several subgroups. The measures ask
how many preferences a ranking agrees with. `trec_eval` hands over a file of one of three kinds:

- ``prefs``: lines ``query group subgroup document level``;
- ``qrels_prefs``: a qrels file whose second column is the group, each of one subgroup;
- ``qrels_jg``: a qrels file whose second column is the group; no preferences, but ordinary measures
  for each group by itself, averaged.

Only documents in some preference of the query have a position: the retrieved ones 0 … J - 1 in rank
order, the others after them by id. Two things differ from all other measures: ties go by id
*ascending*, and a preferred document that was not retrieved is still compared with the others.

Where NIST's program counts a document twice that a subgroup lists twice, or reads memory it did not
write (levels below 0, fewer documents at the lowest level than above 0), ours refuses the file, and
takes the documents that are there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from rankscope.errors import FormatError, InputError, shown
from rankscope.files import read_bytes, source_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.files import PathLike
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray

Kind = Literal["prefs", "qrels_prefs", "qrels_jg"]

COUNTS = ("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret")
"""Printed as whole numbers, and summed over queries."""

PREFERENCES = (
    *COUNTS,
    "prefs_simp",
    "prefs_pair",
    "prefs_avgjg",
    "prefs_avgjg_Rnonrel",
    "prefs_simp_ret",
    "prefs_pair_ret",
    "prefs_avgjg_ret",
    "prefs_avgjg_Rnonrel_ret",
    "prefs_simp_imp",
    "prefs_pair_imp",
    "prefs_avgjg_imp",
)
Levels = dict[str, float]
"""The level of each document of a subgroup."""
Groups = dict[str, dict[str, Levels]]
"""The subgroups of each group of a query."""


# --- the files -----------------------------------------------------------------------------------

_COLUMNS: dict[Kind, tuple[str, ...]] = {
    "prefs": ("query", "group", "subgroup", "document", "level"),
    "qrels_prefs": ("query", "group", "document", "level"),
    "qrels_jg": ("query", "group", "document", "grade"),
}


def read_groups(path: PathLike, kind: Kind) -> dict[str, Groups]:
    """Read a file of preferences or of grouped judgments: its groups, by query.

    Raises:
        FormatError: a line has other columns, a level is no number, or a subgroup lists a document
            twice.
    """
    source = source_name(path)
    columns = _COLUMNS[kind]
    queries: dict[str, Groups] = {}
    for number, line in enumerate(_lines(read_bytes(path), source), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != len(columns):
            raise FormatError(
                f"expected {len(columns)} columns ({', '.join(columns)}), got {len(words)}",
                source=source,
                line=number,
            )
        query_id, group = words[:2]
        subgroup = words[2] if kind == "prefs" else ""
        doc_id = words[-2]
        levels = queries.setdefault(query_id, {}).setdefault(group, {}).setdefault(subgroup, {})
        if doc_id in levels:
            raise FormatError(
                f"document {shown(doc_id)} appears twice in group {shown(group)} of query "
                f"{shown(query_id)}; keep one line",
                source=source,
                line=number,
            )
        levels[doc_id] = _level(words[-1], columns[-1], source, number)
    if not queries:
        raise FormatError(f"expected lines of {', '.join(columns)}, got none", source=source)
    return queries


def _lines(data: bytes, source: str) -> list[str]:
    try:
        return data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError("expected UTF-8 text", source=source, line=line) from None


def _level(text: str, column: str, source: str, line: int) -> float:
    try:
        level = float(text)
        if np.isfinite(level):
            return level
    except ValueError:
        pass
    raise FormatError(f"expected a number as {column}, got {shown(text)}", source=source, line=line)


# --- counting preferences ------------------------------------------------------------------------


class Tally(NamedTuple):
    """How many preferences there are, and how many the ranking agrees with.

    ``ret``: both documents are retrieved; ``imp``: one of them, which implies an order; ``none``:
    neither.
    """

    fulfilled_ret: int = 0
    possible_ret: int = 0
    fulfilled_imp: int = 0
    possible_imp: int = 0
    possible_none: int = 0

    @property
    def fulfilled(self) -> int:
        """All that the ranking agrees with."""
        return self.fulfilled_ret + self.fulfilled_imp

    @property
    def possible(self) -> int:
        """All that there are."""
        return self.possible_ret + self.possible_imp + self.possible_none

    def plus(self, other: Tally) -> Tally:
        """Add another one's counts."""
        return Tally(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def _all_above_all(better: IntArray, worse: IntArray, retrieved: int) -> Tally:
    """Count the preferences of every document of one set over every one of another.

    Both hold positions, ascending; a position below ``retrieved`` is that of a retrieved document.
    """
    better_ret, worse_ret = (int(np.searchsorted(part, retrieved)) for part in (better, worse))
    better_not, worse_not = len(better) - better_ret, len(worse) - worse_ret
    above = np.searchsorted(better[:better_ret], worse[:worse_ret])  # strictly above, for each
    return Tally(
        fulfilled_ret=int(above.sum()),
        possible_ret=better_ret * worse_ret,
        fulfilled_imp=better_ret * worse_not,
        possible_imp=better_ret * worse_not + better_not * worse_ret,
        possible_none=better_not * worse_not,
    )


@dataclass(frozen=True, slots=True)
class _Group(ABC):
    """The preferences of one group, over the positions of a query's judged documents."""

    levels: FloatArray
    """By position; NaN where the group says nothing of the document."""
    retrieved: int
    """How many positions are of retrieved documents; they are the first."""

    @abstractmethod
    def preferred(self, rows: slice, columns: slice) -> BoolArray:
        """Tell of some positions which of some others they are preferred to: rows × columns."""

    @abstractmethod
    def tally(self, only: int | None = None) -> Tally:
        """Count the preferences; with ``only`` the first so many nonrelevant documents."""

    @abstractmethod
    def nonrelevant(self) -> IntArray:
        """Return the positions of nonrelevant documents."""

    def relevant(self) -> IntArray:
        """Return the positions of documents above level 0."""
        return np.flatnonzero(self.levels > 0)


@dataclass(frozen=True, slots=True)
class _Classes(_Group):
    """A group of one subgroup: documents of a higher level are preferred to those of a lower."""

    def preferred(self, rows: slice, columns: slice) -> BoolArray:
        return self.levels[rows, None] > self.levels[None, columns]

    def nonrelevant(self) -> IntArray:
        return np.flatnonzero(self.levels <= 0)

    def tally(self, only: int | None = None) -> Tally:
        values = np.unique(self.levels[~np.isnan(self.levels)])[::-1]
        classes = [np.flatnonzero(self.levels == value) for value in values]
        total = Tally()
        if only is not None:
            # NIST's count also takes the whole lowest class as preferred to those that take part
            lowest = classes[-1]
            classes[-1] = lowest[:only]
            total = _all_above_all(lowest, classes[-1], self.retrieved)
        for place, better in enumerate(classes[:-1], start=1):
            worse = np.sort(np.concatenate(classes[place:]))
            total = total.plus(_all_above_all(better, worse, self.retrieved))
        return total


@dataclass(frozen=True, slots=True)
class _Closed(_Group):
    """A group of several subgroups: the preferences of each, and all that follow from them."""

    matrix: BoolArray
    """Whether the row's position is preferred to the column's."""

    def preferred(self, rows: slice, columns: slice) -> BoolArray:
        return self.matrix[rows, columns]

    def nonrelevant(self) -> IntArray:
        return np.flatnonzero(self.levels == 0)

    def tally(self, only: int | None = None) -> Tally:
        matrix, cut = self.matrix, self.retrieved
        if only is not None:
            # NIST keeps as many as there are relevant ones in all, whatever the number asked for
            takes_part = np.ones(len(self.levels), bool)
            takes_part[self.nonrelevant()[len(self.relevant()) :]] = False
            matrix = matrix & takes_part[:, None] & takes_part[None, :]
        fulfilled_imp = int(matrix[:cut, cut:].sum())
        return Tally(
            fulfilled_ret=int(np.triu(matrix[:cut, :cut]).sum()),
            possible_ret=int(matrix[:cut, :cut].sum()),
            fulfilled_imp=fulfilled_imp,
            possible_imp=fulfilled_imp + int(matrix[cut:, :cut].sum()),
            possible_none=int(matrix[cut:, cut:].sum()),
        )


def _group(subgroups: Mapping[str, Levels], places: Mapping[str, int], retrieved: int) -> _Group:
    levels = np.full(len(places), np.nan)
    positions = [
        np.array([places[doc_id] for doc_id in documents]) for documents in subgroups.values()
    ]
    for where, documents in zip(positions, subgroups.values(), strict=True):
        levels[where] = list(documents.values())
    if len(subgroups) == 1:
        return _Classes(levels, retrieved)
    matrix = np.zeros((len(places), len(places)), bool)
    for where, documents in zip(positions, subgroups.values(), strict=True):
        level = np.array(list(documents.values()))
        matrix[np.ix_(where, where)] |= level[:, None] > level[None, :]
    for middle in range(len(places)):  # a over b and b over c: a over c
        matrix |= matrix[:, middle, None] & matrix[None, middle, :]
    return _Closed(levels, retrieved, matrix)


def check_groups(groups: Groups, query_id: str, source: str) -> None:
    """Refuse a group whose subgroups contradict each other, whatever the ranking."""
    for name, subgroups in groups.items():
        if len(subgroups) == 1:
            continue
        where = f"{source}: query {shown(query_id)}, group {shown(name)}"
        relevance: dict[str, bool] = {}
        for documents in subgroups.values():
            for doc_id, level in documents.items():
                if relevance.setdefault(doc_id, level != 0) != (level != 0):
                    raise InputError(
                        f"{where}: document {shown(doc_id)} has level 0 in one subgroup and "
                        "another level in a second; correct one of them"
                    )
        doc_ids = list(relevance)
        places = {doc_id: place for place, doc_id in enumerate(doc_ids)}
        closed = _group(subgroups, places, 0)
        at_fault = np.flatnonzero(np.diagonal(closed.preferred(slice(None), slice(None))))
        if len(at_fault):
            raise InputError(
                f"{where}: the subgroups contradict each other: they prefer document "
                f"{shown(doc_ids[at_fault[0]])} to itself; correct their levels"
            )


# --- measures of one query -----------------------------------------------------------------------


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def preference_values(groups: Groups, ranking: list[str]) -> dict[str, float]:
    """Return every preference measure of one query; ``ranking`` holds its documents, best first."""
    judged = {doc_id for group in groups.values() for part in group.values() for doc_id in part}
    order = [doc_id for doc_id in ranking if doc_id in judged]
    retrieved = len(order)
    order += sorted(judged.difference(order))
    places = {doc_id: place for place, doc_id in enumerate(order)}
    parts = [_group(groups[name], places, retrieved) for name in sorted(groups)]
    tallies = [part.tally() for part in parts]
    total = Tally()
    for tally in tallies:
        total = total.plus(tally)
    pair, pair_ret, pair_imp = _pairs(parts, total, retrieved, len(order))
    return {
        "prefs_num_prefs_poss": total.possible,
        "prefs_num_prefs_ful": total.fulfilled,
        "prefs_num_prefs_ful_ret": total.fulfilled_ret,
        "prefs_simp": _all(total),
        "prefs_pair": pair,
        "prefs_avgjg": sum(map(_all, tallies)) / len(parts),
        "prefs_avgjg_Rnonrel": _by_relevant(parts, only_retrieved=False),
        "prefs_simp_ret": _ret(total),
        "prefs_pair_ret": pair_ret,
        "prefs_avgjg_ret": sum(map(_ret, tallies)) / len(parts),
        "prefs_avgjg_Rnonrel_ret": _by_relevant(parts, only_retrieved=True),
        "prefs_simp_imp": _imp(total),
        "prefs_pair_imp": pair_imp,
        "prefs_avgjg_imp": sum(map(_imp, tallies)) / len(parts),
    }


def _all(tally: Tally) -> float:
    return _ratio(tally.fulfilled, tally.possible)


def _ret(tally: Tally) -> float:
    return _ratio(tally.fulfilled_ret, tally.possible_ret)


def _imp(tally: Tally) -> float:
    return _ratio(tally.fulfilled, tally.possible_ret + tally.possible_imp)


_BLOCK = 4_000_000
"""Pairs of documents looked at together, so that a large pool needs no more memory."""


def _pairs(
    parts: list[_Group], total: Tally, retrieved: int, judged: int
) -> tuple[float, float, float]:
    """Average over pairs of documents the share of groups that agree with their order.

    Over all pairs with a preference; those with both documents retrieved; with at least one.
    """
    if len(parts) == 1:  # each pair has one preference
        return _all(total), _ret(total), _imp(total)
    first, rest = (0, retrieved), (retrieved, judged)
    ret, ret_pairs = _agreement(parts, first, first, 0.0)
    imp, imp_pairs = _agreement(parts, first, rest, ret)  # in this order, as NIST adds
    _, none_pairs = _agreement(parts, rest, rest, 0.0)
    one_pairs = ret_pairs + imp_pairs
    return _ratio(imp, one_pairs + none_pairs), _ratio(ret, ret_pairs), _ratio(imp, one_pairs)


def _agreement(
    parts: list[_Group], above: tuple[int, int], below: tuple[int, int], total: float
) -> tuple[float, int]:
    """Add to ``total``, over pairs of positions in two ranges, the shares of groups that agree.

    Returns the sum and the number of pairs with a preference.
    """
    pairs = 0
    columns = slice(*below)
    width = columns.stop - columns.start
    height = max(1, _BLOCK // max(width, 1))
    for start in range(*above, height):
        rows = slice(start, min(start + height, above[1]))
        # rows × columns: how many groups prefer the row's document, how many the column's
        agree = np.zeros((rows.stop - start, width), np.int32)
        differ = np.zeros_like(agree)
        for part in parts:
            agree += part.preferred(rows, columns)
            differ += part.preferred(columns, rows).T
        in_order = np.arange(*below) > np.arange(rows.start, rows.stop)[:, None]
        row, column = np.nonzero(in_order & (agree + differ > 0))
        agreeing = agree[row, column]
        total = added(total, agreeing / (agreeing + differ[row, column]))
        pairs += len(row)
    return total, pairs


def added(total: float, values: FloatArray) -> float:
    """Add values one after the other, as NIST does: the last bit may decide a printed digit."""
    return float(np.add.accumulate(np.append(total, values))[-1])


def _by_relevant(parts: list[_Group], *, only_retrieved: bool) -> float:
    """Average over groups, with as many nonrelevant documents as there are relevant ones."""
    total = 0.0
    for part in parts:
        relevant, nonrelevant = part.relevant(), part.nonrelevant()
        relevant_all = len(relevant)
        relevant_ret = int(np.searchsorted(relevant, part.retrieved))
        here, others = relevant_all, len(nonrelevant)
        if only_retrieved:
            here, others = relevant_ret, int(np.searchsorted(nonrelevant, part.retrieved))
        extra = max(here - others, 0)
        tally = part.tally(None if here >= others else here)
        fulfilled, possible = (
            (tally.fulfilled_ret, tally.possible_ret)
            if only_retrieved
            else (tally.fulfilled, tally.possible)
        )
        possible += relevant_all * extra
        if not possible:
            return 0.0
        total += (fulfilled + relevant_ret * extra) / possible
    return total / len(parts)
