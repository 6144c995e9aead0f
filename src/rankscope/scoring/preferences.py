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

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from rankscope.collection.qrels import Qrels
from rankscope.errors import FormatError, InputError, shown
from rankscope.files import decoded, read_bytes, source_name
from rankscope.runs.order import ranked
from rankscope.scoring.align import align
from rankscope.scoring.judgments import Judgments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankscope.files import PathLike
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray, JudgedRun
    from rankscope.scoring.rules import Profile

    _Results = Mapping[str, Mapping[str, float]]

Kind = Literal["prefs", "qrels_prefs", "qrels_jg"]
Groups = dict[str, dict[str, dict[str, float]]]
"""Of one query: by group and subgroup, the level of each document."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,2})?")

COUNTS = ("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret")
"""Printed as whole numbers, and summed over queries."""

PREFERENCES = (
    *COUNTS,
    *("prefs_simp", "prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel"),
    *("prefs_simp_ret", "prefs_pair_ret", "prefs_avgjg_ret", "prefs_avgjg_Rnonrel_ret"),
    *("prefs_simp_imp", "prefs_pair_imp", "prefs_avgjg_imp"),
)
BY_GROUP = {"map_avgjg": "map", "P_avgjg": "P", "Rprec_mult_avgjg": "Rprec_mult"}
"""Measures averaged over groups, and the measure each averages."""

MOST_DOCUMENTS = 5000
"""Preferences are counted in a table of documents by documents; one of more is refused."""

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
    source, columns = source_name(path), _COLUMNS[kind]
    text = decoded(read_bytes(path).removeprefix(b"\xef\xbb\xbf"), source=source)
    queries: dict[str, Groups] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        problem = f"expected {len(columns)} columns ({', '.join(columns)}), got {len(words)}"
        if len(words) == len(columns):
            query_id, group, *subgroup, doc_id, level = words
            groups = queries.setdefault(query_id, {}).setdefault(group, {})
            levels = groups.setdefault("".join(subgroup), {})
            problem = "" if _NUMBER.fullmatch(level) else f"{shown(level)} is no {columns[-1]}"
            if doc_id in levels:
                problem = (
                    f"document {shown(doc_id)} appears twice in group {shown(group)} of query "
                    f"{shown(query_id)}; keep one line"
                )
        if problem:
            raise FormatError(problem, source=source, line=number)
        levels[doc_id] = float(level)
    if not queries:
        raise FormatError(f"expected lines of {', '.join(columns)}, got none", source=source)
    return queries


# --- the preferences of one group ----------------------------------------------------------------


class _Group(NamedTuple):
    """The preferences of one group, over the positions of a query's judged documents."""

    levels: FloatArray
    """By position; NaN where the group says nothing of the document."""
    preferred: BoolArray
    """Whether the row's position is preferred to the column's."""
    is_one: bool
    """Whether there is one subgroup, whose levels say everything."""


def _group(
    subgroups: Mapping[str, Mapping[str, float]], places: Mapping[str, int], where: str
) -> _Group:
    """Collect the preferences of each subgroup, and all that follow from them.

    Raises:
        InputError: the subgroups contradict each other.
    """
    levels = np.full(len(places), np.nan)
    preferred = np.zeros((len(places), len(places)), np.bool_)
    for documents in subgroups.values():
        at = np.array([places[doc_id] for doc_id in documents])
        level = np.array(list(documents.values()))
        earlier = levels[at]
        if (~np.isnan(earlier) & ((earlier != 0) != (level != 0))).any():
            raise InputError(f"{where}: a document has level 0 in one subgroup only; correct it")
        levels[at] = level
        preferred[np.ix_(at, at)] |= level[:, None] > level[None, :]
    if len(subgroups) > 1:
        for middle in range(len(places)):  # a over b and b over c: a over c
            preferred |= preferred[:, middle, None] & preferred[None, middle, :]
    if preferred.diagonal().any():
        raise InputError(f"{where}: the subgroups contradict each other; correct their levels")
    return _Group(levels, preferred, len(subgroups) == 1)


# --- measures ------------------------------------------------------------------------------------

ALL, RETRIEVED, IMPLIED = range(3)
"""Which preferences count: all; those with both documents retrieved; those with one at least, for
then there is an order."""
_SUFFIXES = ("", "_ret", "_imp")


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def _added(total: float, values: Sequence[float] | FloatArray) -> float:
    """Add values one after the other, as NIST does: the last bit may decide a printed digit."""
    return float(np.add.accumulate(np.append(total, values))[-1])


def _tally(preferred: BoolArray, cut: int) -> IntArray:
    """Count preferences that a ranking agrees with (fulfils), and those there are, of each kind.

    The first ``cut`` positions are retrieved.
    """
    both, one_only, neither = preferred[:cut, :cut], preferred[:cut, cut:], preferred[cut:, cut:]
    in_order, all_ = np.triu(both, 1).sum(), preferred.sum()
    fulfilled = in_order + one_only.sum()
    return np.array([[fulfilled, in_order, fulfilled], [all_, both.sum(), all_ - neither.sum()]])


def query_preferences(groups: Groups, ranking: Sequence[str], query_id: str) -> dict[str, float]:
    """Return every preference measure of one query; ``ranking`` holds its documents, best first."""
    judged = {doc_id for group in groups.values() for part in group.values() for doc_id in part}
    if len(judged) > MOST_DOCUMENTS:
        raise InputError(
            f"trec-eval: query {shown(query_id)} has preferences among {len(judged):,} documents; "
            f"at most {MOST_DOCUMENTS:,} can be counted"
        )
    order = [doc_id for doc_id in ranking if doc_id in judged]
    cut = len(order)
    order += sorted(judged.difference(order))
    places = {doc_id: place for place, doc_id in enumerate(order)}
    parts = [
        _group(groups[name], places, f"query {shown(query_id)}, group {shown(name)}")
        for name in sorted(groups)
    ]
    tallies = [_tally(part.preferred, cut) for part in parts]
    total = np.sum(tallies, axis=0)
    values: dict[str, float] = {
        "prefs_num_prefs_poss": total[1, ALL],
        "prefs_num_prefs_ful": total[0, ALL],
        "prefs_num_prefs_ful_ret": total[0, RETRIEVED],
        "prefs_avgjg_Rnonrel": _balanced(parts, tallies, cut, ALL),
        "prefs_avgjg_Rnonrel_ret": _balanced(parts, tallies, cut, RETRIEVED),
    }
    for kind, (suffix, pair) in enumerate(zip(_SUFFIXES, _pair_shares(parts, cut), strict=True)):
        shares = [_ratio(*tally[:, kind]) for tally in tallies]
        values[f"prefs_simp{suffix}"] = _ratio(*total[:, kind])
        values[f"prefs_pair{suffix}"] = pair
        values[f"prefs_avgjg{suffix}"] = sum(shares) / len(parts)
    return values


def _pair_shares(parts: Sequence[_Group], cut: int) -> tuple[float, float, float]:
    """Average over pairs of documents the share of groups that agree with their order, by kind."""
    agree = np.zeros_like(parts[0].preferred, dtype=np.int32)  # documents × documents
    for part in parts:
        agree += part.preferred
    stated = agree + agree.T
    in_order = np.triu(stated > 0, 1)

    def shares(columns: slice) -> FloatArray:
        chosen = in_order[:cut, columns]
        return agree[:cut, columns][chosen] / stated[:cut, columns][chosen]

    both, either = shares(slice(cut)), shares(slice(cut, None))
    ret = _added(0.0, both)
    imp = _added(ret, either)
    looked_at = len(both) + len(either)
    return _ratio(imp, int(in_order.sum())), _ratio(ret, len(both)), _ratio(imp, looked_at)


def _balanced(parts: Sequence[_Group], tallies: Sequence[IntArray], cut: int, kind: int) -> float:
    """Average over groups, with as many nonrelevant documents as there are relevant ones.

    They are the first ones, as NIST takes them: with one subgroup the whole lowest class is also
    preferred to those that take part; else there are as many as relevant ones in all.
    """
    total = 0.0
    for part, tally in zip(parts, tallies, strict=True):
        levels, preferred = part.levels, part.preferred
        relevant = np.flatnonzero(levels > 0)
        nonrelevant = np.flatnonzero(levels <= 0 if part.is_one else levels == 0)
        retrieved = here = int(np.searchsorted(relevant, cut))
        others = int(np.searchsorted(nonrelevant, cut))
        if kind == ALL:
            here, others = len(relevant), len(nonrelevant)
        if here < others:
            preferred = preferred.copy()
            if part.is_one:
                lowest = np.flatnonzero(levels == np.nanmin(levels))
                preferred[:, lowest[here:]] = False
                preferred[np.ix_(lowest, lowest[:here])] = True
            else:
                dropped = nonrelevant[len(relevant) :]
                preferred[:, dropped] = preferred[dropped, :] = False
            tally = _tally(preferred, cut)  # noqa: PLW2901
        extra = max(here - others, 0)
        possible = tally[1, kind] + len(relevant) * extra
        if not possible:
            return 0.0
        total += (tally[0, kind] + retrieved * extra) / possible
    return total / len(parts)


def preference_values(
    queries: Mapping[str, Groups], results: _Results, *, rules: Profile, depth: int | None
) -> dict[str, FloatArray]:
    """Return every preference measure: its values by query."""
    rows = []
    for query_id, groups in queries.items():
        documents = results.get(query_id, {}).items()
        in_order = ranked(documents, ties="id-asc", precision=rules.precision)
        ranking = [doc_id for doc_id, _ in in_order[:depth]]
        rows.append(query_preferences(groups, ranking, query_id))
    return {name: np.array([row[name] for row in rows]) for name in PREFERENCES}


def judged_groups(queries: Mapping[str, Groups], results: _Results, *, rules: Profile) -> JudgedRun:
    """Align each group of each query as if it were a query, in order."""
    grades, answers = {}, {}
    for query_id, groups in queries.items():
        for group, subgroups in sorted(groups.items()):
            name = f"{query_id} {group}"  # a blank is in no id
            grades[name] = {doc_id: int(grade) for doc_id, grade in subgroups[""].items()}
            if query_id in results:
                answers[name] = results[query_id]
    judgments = Judgments(Qrels(grades))
    return align(judgments, answers, rules, sound=False).judged


def group_means(values: FloatArray, queries: Mapping[str, Groups]) -> FloatArray:
    """Average values by group over the groups of each query."""
    ends = np.cumsum([len(groups) for groups in queries.values()])
    return np.array([_added(0.0, part) / len(part) for part in np.split(values, ends[:-1])])
