"""trec_eval's command, line for line: which measures, in which order, printed how.

The numbers are our measures'; this module only knows trec_eval's names, options and layout, of
version 10 and of version 9 (single precision, another rule for recall points).
"""

from __future__ import annotations

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
from rankscope.measures.registry import FLOOR, aggregate, compute
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

_NOT_IN_9 = {"rbp", "rbp_resid", "unj"}
"""What version 10 added to all_trec."""

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
    """Split ``P.5,10`` into root and parameters; a nickname stands for several roots."""
    if text in NICKNAMES:
        texts = ("runid", "relstring") if text == "all_trec" else ("runid",)
        later = _NOT_IN_9 if version == 9 else set()
        return [(root, "") for root in (*texts, *NICKNAMES[text]) if root not in later]
    for root in sorted(_ORDER, key=len, reverse=True):
        if text == root:
            return [(root, "")]
        if text.startswith((f"{root}.", f"{root}_")):
            return [(root, text[len(root) + 1 :])]
    raise UnknownNameError("trec_eval measure", text, [*NICKNAMES, *_ORDER])


def _of_root(root: str, parameters: str, options: Options) -> list[_Line]:
    if root == "runid":
        return [_Line("runid", root, None)]
    if root == "relstring":
        length = int(float(parameters)) if parameters.replace(".", "", 1).isdigit() else 10
        return [_Line(f"relstring_{length}" if parameters else root, root, None, length)]
    measures = parse_trec_measures(f"{root}.{parameters}" if parameters else root)
    return [_Line(parsed.asked, root, _adapted(parsed, options)) for parsed in measures]


def _adapted(parsed: Parsed, options: Options) -> Measure:
    """Apply -l to binary measures and version 9's rule for recall points."""
    measure = parsed.measure
    definition = measure.definition
    by_gain = definition.parameter("gain") is not None and measure.options["gain"] != "binary"
    if options.level != 1 and definition.parameter("rel") is not None and not by_gain:
        measure = measure.replaced(rel=options.level)
    if options.version == 9 and definition.parameter("rule") is not None:
        measure = measure.replaced(rule=9)
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
            total = _summarised(line.measure, values[line.name][by_id], left_out, zscores)
            if line.root == "num_rel" and options.complete and zscores is None:
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
    try:
        return run_from(file)
    except InvalidDataError as error:
        if not any(finding.name == "malformed-line" for finding in error.findings):
            raise
    columns = len(RUN.headerless[6])
    lines = (b" ".join(line.split()[:columns]) for line in file.content.split(b"\n"))
    return run_from(file.holding(b"\n".join(lines)))


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
    if options.version == 10 and measure.name in _EMPTIED:
        values = np.where(judged.in_run, values, 0.0)
    if measure.name == "RnDCG":  # it gives up without a document of the level, whatever the gains
        values = np.where(judged.graded(options.level) > 0, values, 0.0)
    return values


def _summarised(
    measure: Measure, values: FloatArray, left_out: int, zscores: Zscores | None
) -> float:
    """Aggregate over queries; ``left_out`` queries count as 0 in version 9's -c."""
    kind = measure.definition.aggregate
    if kind == "geometric":
        logs = values if zscores is not None else np.log(np.maximum(values, FLOOR))
        total = float(np.add.accumulate(logs)[-1]) + left_out * float(np.log(FLOOR))
        return float(np.exp(total / (len(values) + left_out)))
    if measure.name == "NumQ":
        return float(len(values) + left_out)
    mean = aggregate(measure, values)
    return mean if kind == "sum" else mean * len(values) / (len(values) + left_out)


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
