"""trec_eval's command, line for line: which measures, in which order, printed how.

The numbers are our measures'; this module only knows trec_eval's names, options and layout, of
version 10 and of version 9 (single precision, another rule for recall points).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NoReturn

import numpy as np
import polars as pl

from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.errors import (
    FormatError,
    InputError,
    InvalidDataError,
    UnknownNameError,
    counted,
    shown,
)
from rankscope.files import read_bytes, source_name
from rankscope.measures.language import Measure, Parsed, parse_trec_measures
from rankscope.measures.names import NICKNAMES, TREC_NAMES
from rankscope.measures.registry import FLOOR, compute
from rankscope.measures.trec import relevance_string
from rankscope.runs.table import run_from
from rankscope.scoring.align import align
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.preference_output import BY_GROUP, preference_lines
from rankscope.scoring.preference_output import NICKNAMES as NICKNAMES_OF_GROUPS
from rankscope.scoring.preferences import PREFERENCES
from rankscope.scoring.soundness import refuse_repeat
from rankscope.tables.columns import RUN
from rankscope.tables.reading import TableFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.files import PathLike
    from rankscope.measures.judged import FloatArray, JudgedRun
    from rankscope.runs.table import Run
    from rankscope.scoring.align import Aligned

Version = Literal[9, 10]
Relevance = Literal["qrels", "prefs", "qrels_prefs", "qrels_jg"]
Zscores = dict[tuple[str, str], tuple[float, float]]

_COUNTS = {"NumQ", "NumRet", "NumRel", "NumRelRet", "NumNonrelJudgedRet"}
_SUMMARY_ONLY = {"NumQ", "GMAP", "GMBpref"}
_EMPTIED = {"NumRet", "Utility", "Unjudged", "RBP_residual"}
"""What version 10 blanks for a query that is missing from the run."""

_NOT_IN_9 = {"dcg", "ideal_dcg", "rbp", "rbp_resid", "unj"}
"""What version 10 added."""

_WITHOUT_PARAMETERS = {
    *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "infAP", "gm_bpref", "binG", "set_P", "set_relative_P", "set_recall"),
    *("set_map", "num_nonrel_judged_ret", "yaap", "rbp_resid"),
}
"""Measures that ignore parameters: ``map.5`` prints map."""

_BY_CUTOFF = {
    *("P", "recall", "ndcg_cut", "map_cut", "relative_P", "success", "unj"),
    *("iprec_at_recall", "Rprec_mult"),
}
"""Measures that print a line for each parameter, each given once."""

_AFTER_P = TREC_NAMES.index("P") + 1
_ORDER = ("runid", *TREC_NAMES[:_AFTER_P], "relstring", *TREC_NAMES[_AFTER_P:])
"""The order in which trec_eval prints, whatever the order asked."""


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


@dataclass(frozen=True, slots=True)
class _Line:
    """One line to print: its name, and the measure behind it (None: a text)."""

    name: str
    root: str
    measure: Measure | None
    length: int = 10


def _wanted(options: Options) -> list[_Line]:
    """Read all -m, keep the first parameters of each measure, and put them in trec_eval's order."""
    chosen: dict[str, str] = {}
    for text in options.measures:
        if text in NICKNAMES_OF_GROUPS or text.partition(".")[0] in (*PREFERENCES, *BY_GROUP):
            raise InputError(f"trec-eval: {text} needs -R prefs, -R qrels_prefs or -R qrels_jg")
        for root, parameters in _roots(text, options.version):
            if not chosen.get(root):
                chosen[root] = parameters
    lines: list[_Line] = []
    for root in sorted(chosen, key=_ORDER.index):
        lines += _of_root(root, chosen[root], options)
    return lines


def _roots(text: str, version: Version) -> list[tuple[str, str]]:
    """Split ``P.5,10`` into root and parameters; a nickname is the name of several roots."""
    known = [root for root in _ORDER if version == 10 or root not in _NOT_IN_9]
    root, dot, parameters = text.partition(".")
    if dot and not parameters:
        raise InputError(f"trec-eval: expected parameters after the dot of {shown(text)}")
    if root in NICKNAMES:
        texts = ("runid", "relstring") if root == "all_trec" else ("runid",)
        return [(name, "") for name in (*texts, *NICKNAMES[root]) if name in known]
    if root in known:
        return [(root, parameters)]
    if root in _NOT_IN_9:
        raise InputError(f"trec-eval: version 9 has no {root}; leave out --9")
    for name in known:
        if text.startswith(f"{name}_") and text[len(name) + 1 :].replace(",", "").isdecimal():
            asked = f"{name}.{text[len(name) + 1 :]}"
            raise InputError(f"trec-eval: parameters come after a dot: write {asked}, not {text}")
    raise UnknownNameError("trec_eval measure", text, [*NICKNAMES, *known])


def _of_root(root: str, parameters: str, options: Options) -> list[_Line]:
    if root == "runid":
        return [_Line("runid", root, None)]
    if root == "relstring":
        length = int(_leading_number(parameters)) if parameters else 10
        return [_Line(f"relstring_{parameters}" if parameters else root, root, None, length)]
    if root in _WITHOUT_PARAMETERS:
        parameters = ""
    if root == "rbp" and parameters and "=" not in parameters:
        raise InputError(f"trec-eval: expected pairs such as p=0.95, got {shown(parameters)}")
    measures = parse_trec_measures(f"{root}.{parameters}" if parameters else root)
    if parameters and root in _BY_CUTOFF and len(measures) != parameters.count(",") + 1:
        raise InputError(
            f"trec-eval: expected each parameter of {root} once, got {shown(parameters)}"
        )
    return [_Line(parsed.asked, root, _adapted(parsed, options)) for parsed in measures]


def _leading_number(text: str) -> float:
    """Read the number a text begins with, as C does; 0 if it begins with none."""
    match = re.match(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)", text)
    return 0.0 if match is None else float(match[0])


def _adapted(parsed: Parsed, options: Options) -> Measure:
    """Apply -l to binary measures, -N to utility, and version 9's rule for recall points."""
    measure = parsed.measure
    definition = measure.definition
    by_gain = definition.parameter("gain") is not None and measure.options["gain"] != "binary"
    if options.level != 1 and definition.parameter("rel") is not None and not by_gain:
        measure = measure.replaced(rel=options.level)
    if options.version == 9 and definition.parameter("rule") is not None:
        measure = measure.replaced(rule=9)
    if options.collection and definition.parameter("collection") is not None:
        measure = measure.replaced(collection=options.collection)
    return measure


def trec_eval_lines(qrels: PathLike, results: PathLike, options: Options) -> Iterator[str]:
    """Yield the lines trec_eval prints for a qrels file and a results file.

    Like version 10, it stops with an error at a judged query that the results lack, unless such
    queries count as 0 (``complete``); the queries before it were printed by then.
    """
    if options.relevance != "qrels":
        run = _read_results(results)
        yield from preference_lines(qrels, run, options.relevance, options)
        return
    lines = _wanted(options)
    zscores = None if options.zscores is None else _read_zscores(options.zscores)
    run = _read_results(results)
    read = read_qrels(qrels, format="trec")
    refuse_repeat(Judgments(read))
    judgments = Judgments(_whole_grades(read))
    aligned = align(
        judgments,
        run,
        precision="double" if options.version == 10 else "single",
        queries="all" if options.version == 10 and options.complete else "both",
        sound=False,
    )
    judged = _prepared(aligned, options)
    values = {line.name: _values(line.measure, judged, options) for line in lines if line.measure}
    if zscores is not None:
        values = {
            name: _standardised(name, judged.query_ids, row, zscores)
            for name, row in values.items()
        }
    by_id = sorted(range(len(judged)), key=judged.query_ids.__getitem__)
    stops = options.version == 10 and not options.complete and len(aligned.missing) > 0
    if options.per_query:
        for number in by_id:
            if stops and judged.query_ids[number] > min(aligned.missing):
                break
            yield from _of_query(number, lines, judged, values, zscores)
    if stops:
        _refuse_missing(aligned.missing)
    if not options.summary:
        return
    left_out = len(aligned.missing) if options.complete and options.version == 9 else 0
    for line in lines:
        if line.root == "runid":
            yield _printed("runid", "all", run.name)
        elif line.measure is not None:
            total = _summarised(line.measure, values[line.name][by_id], left_out)
            if line.root == "num_rel" and options.complete:
                total = float((judgments.judged_grade >= 1).sum())  # whatever the level
            yield _value_line(line, "all", total, zscores)


def _of_query(
    number: int,
    lines: list[_Line],
    judged: JudgedRun,
    values: dict[str, FloatArray],
    zscores: Zscores | None,
) -> Iterator[str]:
    """Yield the lines of one query."""
    query_id = judged.query_ids[number]
    for line in lines:
        if line.root == "relstring":
            text = relevance_string(judged, number, line.length) if judged.in_run[number] else ""
            yield _printed(line.name, query_id, f"'{text}'")
        elif line.measure is not None and line.measure.name not in _SUMMARY_ONLY:
            yield _value_line(line, query_id, values[line.name][number], zscores)


def _read_results(path: PathLike) -> Run:
    """Read results as trec_eval does: whatever comes after the sixth column is ignored."""
    file = TableFile.open(path, RUN, format="trec")
    name = _last_tag(file.content)
    try:
        return run_from(file, name=name)
    except InvalidDataError as error:
        if not any(finding.name == "malformed-line" for finding in error.findings):
            raise
    columns = len(RUN.headerless[6])
    lines = (b" ".join(line.split()[:columns]) for line in file.content.split(b"\n"))
    return run_from(file.holding(b"\n".join(lines)), name=name)


def _last_tag(content: bytes) -> str | None:
    """Return the tag of the last line, which trec_eval prints as the run's id."""
    end = len(content)
    while end > 0:
        start = content.rfind(b"\n", 0, end) + 1
        words = content[start:end].split()
        if len(words) >= len(RUN.headerless[6]) and not words[0].startswith(b"#"):
            return words[5].decode("utf-8", "replace")
        end = start - 1
    return None


def _whole_grades(qrels: Qrels) -> Qrels:
    """Cut grades to whole numbers, as trec_eval reads them."""
    if qrels.grades.dtype == pl.Int64:
        return qrels
    return Qrels(qrels.to_polars().with_columns(pl.col("grade").cast(pl.Int64)))


def _prepared(aligned: Aligned, options: Options) -> JudgedRun:
    """Apply -M and -J, and see to queries that are missing from the run."""
    judged = aligned.judged
    if not len(judged):
        raise InputError("trec-eval: the results hold none of the judged queries")
    if options.depth is not None:
        judged = judged.cut(options.depth)
    if options.judged_only:
        judged = judged.condensed()
    # version 10 scores a missing query as a ranking of one document that nobody knows
    return replace(judged, retrieved=np.where(judged.in_run, judged.retrieved, 1))


def _refuse_missing(missing: tuple[str, ...]) -> NoReturn:
    are = "is" if len(missing) == 1 else "are"
    raise InputError(
        f"trec-eval: {counted(len(missing), 'judged query')} {are} missing from the results, "
        f"{shown(missing[0])} first, and version 10 stops there; count them as 0 with -c, or leave "
        "them out with --9"
    )


def _values(measure: Measure, judged: JudgedRun, options: Options) -> FloatArray:
    values = compute(measure, judged)
    if measure.definition.aggregate == "geometric":
        values = np.log(np.maximum(values, FLOOR))
    if options.version == 10 and measure.name in _EMPTIED:
        values = np.where(judged.in_run, values, 0.0)
    if measure.name == "RnDCG":  # it gives up without a document of the level, whatever the gains
        values = np.where(judged.graded(options.level) > 0, values, 0.0)
    return values


def _summarised(measure: Measure, values: FloatArray, left_out: int) -> float:
    """Aggregate over queries, added one after the other; version 9's -c left some out as 0."""
    kind = measure.definition.aggregate
    if measure.name == "NumQ":
        return float(len(values) + left_out)
    total = float(np.add.accumulate(values)[-1])
    if kind == "geometric":
        return float(np.exp((total + left_out * np.log(FLOOR)) / (len(values) + left_out)))
    return total if kind == "sum" else total / (len(values) + left_out)


def _printed(name: str, query_id: str, value: str) -> str:
    return f"{name:<22}\t{query_id}\t{value}"


def _value_line(line: _Line, query_id: str, value: float, zscores: Zscores | None) -> str:
    if zscores is not None:
        return _printed(f"Z{line.name:<22}", query_id, f"{value:6.4f}")
    assert line.measure is not None
    number = f"{value:.0f}" if line.measure.name in _COUNTS else f"{value:6.4f}"
    return _printed(line.name, query_id, number)


def _read_zscores(path: PathLike) -> Zscores:
    """Read lines of query, measure, mean and deviation."""
    scores: Zscores = {}
    text = read_bytes(path).decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            query_id, measure, mean, deviation = line.split()
            scores[query_id, measure] = (float(mean), float(deviation))
        except ValueError:
            raise FormatError(
                "expected a query, a measure, a mean and a deviation",
                source=source_name(path),
                line=number,
            ) from None
    return scores


_NO_ZSCORE = -1000000.0


def _standardised(
    name: str, ids: tuple[str, ...], values: FloatArray, zscores: Zscores
) -> FloatArray:
    if name == "num_q":
        return values
    standard = []
    for query_id, value in zip(ids, values.tolist(), strict=True):
        mean, deviation = zscores.get((query_id, name), (None, None))
        if mean is None or deviation is None:
            standard.append(_NO_ZSCORE)
        elif deviation == 0:
            standard.append(0.0 if value == mean else _NO_ZSCORE)
        else:
            standard.append((value - mean) / deviation)
    return np.array(standard)
