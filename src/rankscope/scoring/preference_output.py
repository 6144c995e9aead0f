"""What trec_eval prints for preferences and grouped judgments: ``-R prefs``, ``-R qrels_jg``.

The counterpart of `trec_eval` for the three kinds of files that `preferences` reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankscope.collection.qrels import Qrels
from rankscope.errors import InputError, UnknownNameError, counted, shown
from rankscope.files import source_name
from rankscope.measures.language import parse_trec_measures
from rankscope.measures.registry import compute
from rankscope.runs.order import ranked
from rankscope.scoring.align import align
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.preferences import (
    COUNTS,
    PREFERENCES,
    added,
    check_groups,
    preference_values,
    read_groups,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rankscope.files import PathLike
    from rankscope.measures.judged import FloatArray
    from rankscope.runs.order import Precision
    from rankscope.runs.table import Run
    from rankscope.scoring.preferences import Groups, Kind
    from rankscope.scoring.trec_eval import Options

    _Results = Mapping[str, Mapping[str, float]]

BY_GROUP = {"map_avgjg": "map", "P_avgjg": "P", "Rprec_mult_avgjg": "Rprec_mult"}
"""Measures averaged over groups, and the measure each averages."""

ROOTS = ("runid", "num_q", *PREFERENCES, *BY_GROUP)
"""In the order trec_eval prints them."""

NICKNAMES = {
    "all_prefs": ("runid", "num_q", *PREFERENCES),
    "prefs": ("runid", "num_q", *PREFERENCES[:6]),
    "qrels_jg": ("runid", "num_q", *BY_GROUP),
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """One line to print for each query: its name, and its values by query."""

    name: str
    values: FloatArray

    def total(self, left_out: int) -> float:
        """Return the sum of counts, or the mean; ``left_out`` queries count as 0."""
        total = added(0.0, self.values)
        return total if self.name in COUNTS else total / (len(self.values) + left_out)


def preference_lines(judgments: PathLike, run: Run, kind: Kind, options: Options) -> Iterator[str]:
    """Yield the lines trec_eval prints for preferences or grouped judgments and a run.

    Raises:
        InputError: a judged query is missing from the run and version 10 stops there, after the
            lines of the queries before it.
    """
    if options.zscores is not None:
        raise InputError(f"trec-eval: -Z is not supported with -R {kind}; leave one of them out")
    roots = _wanted(kind, options.measures)
    queries = read_groups(judgments, kind)
    for query_id, groups in queries.items():
        check_groups(groups, query_id, source_name(judgments))
    query_ids = sorted(queries)
    missing = [query_id for query_id in query_ids if query_id not in run]
    if len(missing) == len(queries):
        raise InputError("trec-eval: the results hold none of the judged queries")
    stop = missing[0] if missing and options.version == 10 and not options.complete else None
    if options.version == 9:
        query_ids = [query_id for query_id in query_ids if query_id in run]
    if stop is not None:
        query_ids = [query_id for query_id in query_ids if query_id < stop]
    measured = _by_group if kind == "qrels_jg" else _by_preference
    chosen = {query_id: queries[query_id] for query_id in query_ids}
    results = {query_id: run[query_id] for query_id in query_ids if query_id in run}
    asked = measured(chosen, results, roots, options) if chosen else []
    if options.per_query:
        for place, query_id in enumerate(query_ids):
            yield from (_line(line.name, query_id, line.values[place]) for line in asked)
    if stop is not None:
        raise InputError(
            f"trec-eval: {counted(len(missing), 'judged query')} "
            f"{'is' if len(missing) == 1 else 'are'} missing from the results, {shown(stop)} first,"
            " and version 10 stops there; count them as 0 with -c, or leave them out with --9"
        )
    if not options.summary:
        return
    left_out = len(missing) if options.version == 9 and options.complete else 0
    if "runid" in roots:
        yield f"{'runid':<22}\tall\t{run.name}"
    if "num_q" in roots:
        yield _line("num_q", "all", len(query_ids) + left_out)
    yield from (_line(line.name, "all", line.total(left_out)) for line in asked)


def _line(name: str, query_id: str, value: float) -> str:
    number = f"{value:.0f}" if name in (*COUNTS, "num_q") else f"{value:6.4f}"
    return f"{name:<22}\t{query_id}\t{number}"


def _wanted(kind: Kind, measures: tuple[str, ...]) -> dict[str, str]:
    """Return the parameters of each measure asked for, in the order of printing."""
    chosen: dict[str, str] = {}
    for text in measures:
        root, _, parameters = text.partition(".")
        if text not in NICKNAMES and root not in ROOTS:
            raise UnknownNameError(f"measure for -R {kind}", text, [*NICKNAMES, *ROOTS])
        for name in NICKNAMES.get(text, (root,)):
            if not chosen.get(name):
                chosen[name] = parameters if name == root else ""
    fitting = ("runid", "num_q", *(BY_GROUP if kind == "qrels_jg" else PREFERENCES))
    for name in chosen:
        if name not in fitting:
            other = "qrels_jg" if name in BY_GROUP else "prefs or qrels_prefs"
            raise InputError(f"trec-eval: {name} needs judgments of the format {other}, not {kind}")
    return {root: chosen[root] for root in ROOTS if root in chosen}


def _precision(options: Options) -> Precision:
    return "double" if options.version == 10 else "single"


def _by_preference(
    queries: Mapping[str, Groups], results: _Results, roots: Mapping[str, str], options: Options
) -> list[_Asked]:
    rows = []
    for query_id, groups in queries.items():
        documents = results.get(query_id, {}).items()
        in_order = ranked(documents, ties="id-asc", precision=_precision(options))
        ranking = [doc_id for doc_id, _ in in_order[: options.depth]]
        rows.append(preference_values(groups, ranking))
    return [
        _Asked(name, np.array([row[name] for row in rows])) for name in PREFERENCES if name in roots
    ]


def _by_group(
    queries: Mapping[str, Groups], results: _Results, roots: Mapping[str, str], options: Options
) -> list[_Asked]:
    """Measure each group as if it were a query, and average over the groups of each query."""
    grades = {  # a blank is in no id: query and group together stand for one query
        f"{query_id} {group}": {doc_id: int(grade) for doc_id, grade in subgroups[""].items()}
        for query_id, groups in queries.items()
        for group, subgroups in sorted(groups.items())
    }
    answers = {
        f"{query_id} {group}": results[query_id]
        for query_id, groups in queries.items()
        for group in groups
        if query_id in results
    }
    ends = np.cumsum([len(groups) for groups in queries.values()])
    precision = _precision(options)
    judged = align(Judgments(Qrels(grades)), answers, precision=precision, sound=False).judged
    if options.depth is not None:
        judged = judged.cut(options.depth)
    if options.judged_only:
        judged = judged.condensed()
    asked = []
    for name, root in BY_GROUP.items():
        if name not in roots:
            continue
        parameters = roots[name] if root != "map" else ""
        for parsed in parse_trec_measures(f"{root}.{parameters}" if parameters else root):
            values = compute(parsed.measure.replaced(rel=options.level), judged)
            label = name + parsed.asked.removeprefix(root)
            means = [added(0.0, part) / len(part) for part in np.split(values, ends[:-1])]
            asked.append(_Asked(label, np.array(means)))
    return asked
