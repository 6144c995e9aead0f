"""trec_eval's command, line for line: which measures, in which order, printed how.

The numbers are our measures'; this module knows trec_eval's names, options and layout, of version
10 and of version 9 (single precision, another rule for recall points). A few values are computed
here once more, operation by operation as NIST's program does: their last bit decides a digit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.errors import (
    FormatError,
    InputError,
    InvalidDataError,
    RankscopeError,
    UnknownNameError,
    counted,
    shown,
)
from rankscope.files import read_bytes, source_name
from rankscope.measures.language import parse_trec_measures
from rankscope.measures.names import NICKNAMES, TREC_NAMES
from rankscope.measures.parts import decay, ratio
from rankscope.measures.registry import FLOOR, compute
from rankscope.measures.trec import relevance_string
from rankscope.runs.table import run_from
from rankscope.scoring.align import align
from rankscope.scoring.bounds import holes_in
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.preferences import (
    BY_GROUP,
    PREFERENCES,
    group_means,
    judged_groups,
    preference_values,
    read_groups,
)
from rankscope.scoring.preferences import COUNTS as PREFERENCE_COUNTS
from rankscope.scoring.rules import PROFILES
from rankscope.scoring.soundness import refuse_repeat
from rankscope.tables.columns import RUN
from rankscope.tables.reading import TableFile, open_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rankscope.files import PathLike
    from rankscope.measures.judged import FloatArray, JudgedRun
    from rankscope.measures.language import Measure
    from rankscope.runs.table import Run
    from rankscope.scoring.rules import Profile

Version = Literal[9, 10]
Relevance = Literal["qrels", "prefs", "qrels_prefs", "qrels_jg"]

_NOT_IN_9 = {"dcg", "ideal_dcg", "rbp", "rbp_resid", "unj"}
"""What version 10 added."""

_PARAMETERS: dict[str, Literal["each", "pairs", "list"]] = {
    **dict.fromkeys(("P", "recall", "ndcg_cut", "map_cut", "relative_P", "success", "unj"), "each"),
    **dict.fromkeys(("iprec_at_recall", "Rprec_mult"), "each"),
    **dict.fromkeys(("G", "dcg", "ideal_dcg", "ndcg", "ndcg_rel", "Rndcg"), "pairs"),
    **dict.fromkeys(("rbp", "rbp_resid"), "pairs"),
    **dict.fromkeys(("utility", "11pt_avg", "set_F"), "list"),
}
"""What parameters a measure takes: a line is printed for each, or all become part of the name,
pairs such as ``1=3,2=9`` and ``p=0.5`` or a list. All others ignore theirs."""

_AFTER_P = TREC_NAMES.index("P") + 1
_ROOTS: dict[Relevance, tuple[str, ...]] = {
    "qrels": ("runid", *TREC_NAMES[:_AFTER_P], "relstring", *TREC_NAMES[_AFTER_P:]),
    "prefs": ("runid", "num_q", *PREFERENCES),
    "qrels_prefs": ("runid", "num_q", *PREFERENCES),
    "qrels_jg": ("runid", "num_q", *BY_GROUP),
}
"""What can be asked of each kind of judgments, in the order trec_eval prints it."""

_NAMES = tuple(dict.fromkeys(root for roots in _ROOTS.values() for root in roots))

_NICKNAMES: dict[str, tuple[str, ...]] = {
    **{name: ("runid", *roots) for name, roots in NICKNAMES.items()},
    "all_trec": ("runid", "relstring", *NICKNAMES["all_trec"]),
    "all_prefs": _ROOTS["prefs"],
    "prefs": _ROOTS["prefs"][:8],
    "qrels_jg": _ROOTS["qrels_jg"],
}

_EMPTIED = ("num_ret", "utility", "rbp_resid")
"""What version 10 sets to 0 for a missing query, by the printed name: not ``utility_1,-1,0,0``."""


_NOTHING = "trec-eval: the results hold none of the judged queries"


@dataclass(frozen=True, slots=True)
class Options:
    """trec_eval's options under our words; the letters are its own."""

    measures: tuple[str, ...] = ("official",)  # -m
    per_query: bool = False  # -q
    complete: bool = False  # -c
    depth: int | None = None  # -M
    level: int = 1  # -l
    judged_only: bool = False  # -J
    summary: bool = True  # not -n
    zscores: PathLike | None = None  # -Z
    collection: int = 0  # -N
    relevance: Relevance = "qrels"  # -R
    version: Version = 10

    @property
    def rules(self) -> Profile:
        """The rules of the version."""
        return PROFILES[f"trec_eval-{self.version}"]


@dataclass(frozen=True, slots=True)
class _Page:
    """What is printed of each measure: its values by query, and one over all."""

    query_ids: Sequence[str]
    """The queries that count, in the order of their ids' bytes."""
    missing: Sequence[str]
    """Judged queries that the results lack, in the same order."""
    left_out: int
    """How many of these count as 0 without being measured."""
    zscores: Mapping[tuple[str, str], tuple[float, float]] | None
    """By query and measure: the mean and the deviation by which values are standardised."""
    rows: list[tuple[str, Sequence[str], str]] = field(default_factory=list)
    """Name, texts by query if any are printed, and the text for all if one is."""

    def add(self, name: str, values: FloatArray, kind: str, *, total: float | None = None) -> None:
        """Add a measure; ``total`` is its summary where that does not follow from the values."""
        if self.zscores is not None and name != "num_q":
            known = [self.zscores.get((each, name), (np.nan, 0.0)) for each in self.query_ids]
            mean, deviation = np.array(known).T
            off = np.where(values == mean, 0.0, -1000000.0)  # where there is no such number
            values = np.divide(values - mean, deviation, out=off, where=deviation != 0)
        if total is None:  # added one after the other, as NIST does
            total = float(np.add.accumulate(values)[-1])
            queries = len(values) + self.left_out
            if kind == "geometric":
                total = float(np.exp((total + self.left_out * np.log(FLOOR)) / queries))
            elif kind != "sum":
                total /= queries
        digits = 0 if kind == "sum" and self.zscores is None else 4
        only_all = name in ("num_q", "gm_map", "gm_bpref")
        texts = [] if only_all else [f"{value:.{digits}f}" for value in values.tolist()]
        prefix = "" if self.zscores is None else "Z"
        self.rows.append((f"{prefix}{name:<22}", texts, f"{total:.{digits}f}"))


def trec_eval_lines(qrels: PathLike, results: PathLike, options: Options) -> Iterator[str]:
    """Yield the lines trec_eval prints for a file of judgments and a results file.

    Raises:
        InputError: version 10 stops at a judged query that the results lack, unless such queries
            count as 0 (``complete``); the queries before it were printed by then.
    """
    asked = _asked(options)
    zscores = None if options.zscores is None else dict(_read_zscores(options.zscores))
    run = _read_results(results)
    fill = _judged_page if options.relevance == "qrels" else _group_page
    page = fill(qrels, run, asked, options, zscores)
    stops = options.version == 10 and not options.complete and len(page.missing) > 0
    for place, query_id in enumerate(page.query_ids if options.per_query else ()):
        if stops and query_id > page.missing[0]:
            break
        yield from (
            f"{name:<22}\t{query_id}\t{texts[place]}" for name, texts, _ in page.rows if texts
        )
    if stops:
        are = "is" if len(page.missing) == 1 else "are"
        raise InputError(
            f"trec-eval: {counted(len(page.missing), 'judged query')} {are} missing from the "
            f"results, {shown(page.missing[0])} first; count them as 0 with -c, or use --9"
        )
    if options.summary:
        yield from (f"{name:<22}\tall\t{text}" for name, _, text in page.rows if text)


# --- what is asked -------------------------------------------------------------------------------


def _asked(options: Options) -> dict[str, str]:
    """Return the parameters of each measure in the order of printing; the first given count."""
    asked: dict[str, str] = {}
    fitting = _ROOTS[options.relevance]
    known = [name for name in _NAMES if options.version == 10 or name not in _NOT_IN_9]
    for text in options.measures:
        root, dot, parameters = text.partition(".")
        if dot and not parameters:
            raise InputError(f"trec-eval: expected parameters after the dot of {shown(text)}")
        names = [name for name in _NICKNAMES.get(root, (root,)) if name in known]
        if not names:
            raise _unknown(text, root, known)
        for name in names:
            if name not in fitting:
                kinds = " or ".join(kind for kind, roots in _ROOTS.items() if name in roots)
                raise InputError(
                    f"trec-eval: {shown(text)} needs -R {kinds}, not {options.relevance}"
                )
            asked[name] = asked.get(name) or (parameters if name == root else "")
    return {root: asked[root] for root in fitting if root in asked}


def _unknown(text: str, root: str, known: list[str]) -> RankscopeError:
    if root in _NOT_IN_9:
        return InputError(f"trec-eval: version 9 has no {root}; leave out --9")
    name = next((name for name in known if re.fullmatch(f"{name}_[0-9,]+", text)), None)
    if name is None:
        return UnknownNameError("trec_eval measure", text, [*_NICKNAMES, *known])
    rest = text.removeprefix(f"{name}_")
    return InputError(f"trec-eval: parameters come after a dot: write {name}.{rest}, not {text}")


def _leading_number(text: str) -> float:
    """Read the number a text begins with, as C does; 0 if it begins with none."""
    match = re.match(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)", text)
    return 0.0 if match is None else float(match[0])


# --- what is read --------------------------------------------------------------------------------


def _read_results(path: PathLike) -> Run:
    """Read results; the tag of the last line is the run's id, and a seventh column is ignored."""
    with open_table(path, RUN, format="trec") as opened:
        content = opened.content
        file = TableFile(path, RUN, "trec", opened.sniffed, data=content)
    name = None
    for line in reversed(content[-100_000:].splitlines()):
        words = line.split()
        if len(words) >= 6 and not words[0].startswith(b"#"):
            name = words[5].decode("utf-8", "replace")
            break
    try:
        return run_from(file, name=name)
    except InvalidDataError as error:
        if all(finding.name != "malformed-line" for finding in error.findings):
            raise
    file.data = b"\n".join(b" ".join(line.split()[:6]) for line in content.split(b"\n"))
    return run_from(file, name=name)


def _read_zscores(path: PathLike) -> Iterator[tuple[tuple[str, str], tuple[float, float]]]:
    """Read lines of query, measure, mean and deviation."""
    lines = read_bytes(path).decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, start=1):
        words = line.split()
        try:
            if words:
                query_id, measure, mean, deviation = words
                yield (query_id, measure), (float(mean), float(deviation))
        except ValueError:
            problem = "expected a query, a measure, a mean and a deviation"
            raise FormatError(problem, source=source_name(path), line=number) from None


# --- ordinary measures ---------------------------------------------------------------------------


def _judged_page(
    path: PathLike, run: Run, asked: dict[str, str], options: Options, zscores: Any
) -> _Page:
    qrels = read_qrels(path, format="trec")
    refuse_repeat(Judgments(qrels))
    if qrels.grades.dtype != pl.Int64:  # trec_eval cuts grades to whole numbers
        qrels = Qrels(qrels.to_polars().with_columns(pl.col("grade").cast(pl.Int64)))
    judgments = Judgments(qrels)
    aligned = align(judgments, run, options.rules, sound=False)
    judged, missing = aligned.judged, sorted(aligned.missing)
    if len(missing) == len(judgments.query_ids):
        raise InputError(_NOTHING)
    if options.version == 9 or not options.complete:
        judged = judged.only(judged.in_run)
    # version 10 scores a missing query as a ranking of one document that nobody knows
    judged = replace(judged, retrieved=np.where(judged.in_run, judged.retrieved, 1))
    judged = _cut(judged, options)
    order = sorted(range(len(judged)), key=judged.query_ids.__getitem__)
    query_ids = [judged.query_ids[place] for place in order]
    left_out = len(missing) if options.complete and options.version == 9 else 0
    page = _Page(query_ids, missing, left_out, zscores)
    totals: dict[str, float] = {}
    if options.complete:  # whatever the level, and whether in the results or not
        relevant = np.count_nonzero(judgments.judged_grade >= 1)
        totals = {"num_q": len(judgments.query_ids), "num_rel": float(relevant)}
    for root, parameters in asked.items():
        if root == "runid":
            page.rows.append((root, (), run.name))
        elif root == "relstring":
            name = f"relstring_{parameters}" if parameters else "relstring"
            length = int(_leading_number(parameters)) if parameters else 10
            texts = [
                f"'{relevance_string(judged, place, length)}'"
                if parameters or judged.in_run[place]
                else "''"  # emptied for a missing query, as _EMPTIED
                for place in order
            ]
            page.rows.append((name, texts, ""))
        else:
            for name, values, kind in _measured(root, parameters, judged, options):
                page.add(name, values[order], kind, total=totals.get(name))
    return page


def _cut(judged: JudgedRun, options: Options) -> JudgedRun:
    """Apply -M and -J."""
    if options.depth is not None:
        judged = judged.cut(options.depth)
    return judged.condensed() if options.judged_only else judged


def _measured(
    root: str, parameters: str, judged: JudgedRun, options: Options
) -> Iterator[tuple[str, FloatArray, str]]:
    """Yield the printed names of one measure, its values by query, and how they are summed up."""
    kind = _PARAMETERS.get(root)
    parameters = parameters if kind else ""
    if kind == "pairs" and parameters and "=" not in parameters:
        raise InputError(f"trec-eval: expected pairs such as p=0.95, got {shown(parameters)}")
    read = parameters.partition(",")[0] if root == "set_F" else parameters  # the first counts
    parsed = parse_trec_measures(f"{root}.{read}" if read else root)
    if parameters and kind == "each" and len(parsed) != parameters.count(",") + 1:
        raise InputError(
            f"trec-eval: expected each parameter of {root} once, got {shown(parameters)}"
        )
    for each in parsed:
        name = f"set_F_{parameters}" if root == "set_F" and parameters else each.asked
        measure = _adapted(each.measure, options)
        values = _values(root, measure, judged, options, read)
        if options.version == 10 and (name in _EMPTIED or root == "unj"):
            values = np.where(judged.in_run, values, 0.0)
        yield name, values, measure.definition.aggregate


def _adapted(measure: Measure, options: Options) -> Measure:
    """Apply -l to binary measures, -N to utility, and version 9's rule for recall points."""
    definition = measure.definition
    by_gain = definition.parameter("gain") is not None and measure.options["gain"] != "binary"
    if options.level != 1 and definition.parameter("rel") is not None and not by_gain:
        measure = measure.replaced(rel=options.level)
    if options.version == 9 and definition.parameter("rule") is not None:
        measure = measure.replaced(rule=9)
    if options.collection and definition.parameter("collection") is not None:
        measure = measure.replaced(collection=options.collection)
    return measure


def _values(
    root: str, measure: Measure, judged: JudgedRun, options: Options, parameters: str
) -> FloatArray:
    """Return a measure's values by query, with NIST's operations where their order shows."""
    if root == "set_F":
        weight = _leading_number(parameters) if parameters else 1.0
        hits = judged.found(options.level)
        precision, recall = (
            ratio(hits, judged.retrieved),
            ratio(hits, judged.graded(options.level)),
        )
        return ratio((weight + 1.0) * precision * recall, weight * precision + recall)
    if root == "rbp_resid":
        p: Any = measure.options["p"]
        query, rank = holes_in(judged, None)
        unjudged = judged.total(query, decay(p, rank))
        residual = decay(p, judged.retrieved + 1) + (1.0 - p) * unjudged
        return np.where(judged.count(query) > 0, residual, 0.0)
    values = compute(measure, judged)
    if measure.definition.aggregate == "geometric":
        values = np.log(np.maximum(values, FLOOR))
    if root == "Rndcg":  # it gives up without a document of the level, whatever the gains
        values = np.where(judged.graded(options.level) > 0, values, 0.0)
    return values


# --- preferences and judgment groups -------------------------------------------------------------


def _group_page(
    path: PathLike, run: Run, asked: dict[str, str], options: Options, zscores: Any
) -> _Page:
    assert options.relevance != "qrels"
    queries = dict(sorted(read_groups(path, options.relevance).items()))
    missing = [query_id for query_id in queries if query_id not in run]
    if len(missing) == len(queries):
        raise InputError(_NOTHING)
    left_out = 0
    if options.version == 9 or not options.complete:
        left_out = len(missing) if options.complete else 0
        queries = {query_id: groups for query_id, groups in queries.items() if query_id in run}
    page = _Page(list(queries), missing, left_out, zscores)
    if "runid" in asked:
        page.rows.append(("runid", (), run.name))
    if "num_q" in asked:
        page.add("num_q", np.ones(len(queries)), "sum", total=len(queries) + left_out)
    results = {query_id: run[query_id] for query_id in queries if query_id in run}
    if options.relevance != "qrels_jg":
        by_measure = preference_values(queries, results, rules=options.rules, depth=options.depth)
        for name in PREFERENCES:
            if name in asked:
                page.add(name, by_measure[name], "sum" if name in PREFERENCE_COUNTS else "mean")
        return page
    judged = _cut(judged_groups(queries, results, rules=options.rules), options)
    for name, root in BY_GROUP.items():
        for printed, values, kind in (
            _measured(root, asked[name], judged, options) if name in asked else ()
        ):
            page.add(name + printed.removeprefix(root), group_means(values, queries), kind)
    return page
