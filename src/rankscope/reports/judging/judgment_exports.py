"""Judgments as files: TREC qrels, BEIR's tsv, or ratings with a row for each rater.

Qrels have one grade for a pair. Of several raters it is the median, and of an even number of them
the lower of the two grades in the middle, so that it is always a grade that somebody gave. Pairs
that nobody could judge are not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.errors import InputError, UnknownNameError, counted, shown
from rankscope.files import replacing, source_name, suffix_of
from rankscope.reports.judging.judgment_log import Pair
from rankscope.tables.delimited import delimited_bytes
from rankscope.tables.jsontext import dump_json
from rankscope.tables.writing import trec_or_jsonl_bytes

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.reports.judging.judgment_log import Judgments

ExportFormat = Literal["trec", "beir", "ratings"]

_RATINGS = (".csv", ".jsonl", ".ndjson", ".tsv")
_BY_SUFFIX: dict[str, ExportFormat] = {
    **dict.fromkeys((".qrels", ".txt", ".trec"), "trec"),
    **dict.fromkeys(_RATINGS, "ratings"),
    ".tsv": "beir",
}


def export_format(path: PathLike, chosen: str | None = None) -> ExportFormat:
    """Return the format of a file to write: the one that is named, or that of its suffix."""
    if chosen is not None and chosen not in get_args(ExportFormat):
        raise UnknownNameError("format of judgments", chosen, get_args(ExportFormat))
    suffix = suffix_of(path)
    where = source_name(path, output=True)
    if chosen is None and suffix not in _BY_SUFFIX:
        raise InputError(
            f"{where}: the suffix does not tell the format; use .qrels or .txt (TREC), .tsv "
            "(BEIR), .csv or .jsonl (ratings)"
        )
    format = _BY_SUFFIX[suffix] if chosen is None else chosen
    if format == "ratings" and suffix not in _RATINGS:
        raise InputError(f"{where}: ratings are written as .csv, .tsv or .jsonl; rename the file")
    return format  # type: ignore[return-value]


def qrels_format(path: PathLike) -> ExportFormat:
    """Return the format of a file of qrels; ratings are none."""
    format = export_format(path)
    if format == "ratings":
        raise InputError(
            f"{source_name(path, output=True)}: qrels are written as .qrels or .txt (TREC) or .tsv "
            "(BEIR); ratings are written by --export"
        )
    return format


def middle_grade(grades: list[int]) -> int:
    """Return the median; of an even number of grades the lower of the two in the middle.

    >>> middle_grade([0, 3]), middle_grade([3, 1, 2])
    (0, 2)
    """
    return sorted(grades)[(len(grades) - 1) // 2]


def grades_of(
    judgments: Judgments, existing: Mapping[Pair, float] | None = None
) -> dict[Pair, float]:
    """Return the grade of each judged pair; ``existing`` ones are kept where nobody judged."""
    given: dict[Pair, list[int]] = {}
    for judgment in judgments.all():
        if judgment.grade is not None:
            given.setdefault(judgment.pair, []).append(judgment.grade)
    settled: dict[Pair, float] = dict(existing or {})
    settled.update({pair: middle_grade(grades) for pair, grades in given.items()})
    return settled


def existing_grades(path: PathLike) -> dict[Pair, float]:
    """Read judgments that are there already."""
    qrels = read_qrels(path)
    if qrels.subtopics is not None:
        raise InputError(
            f"{path}: judges subtopics, and documents are judged here as a whole; give judgments "
            "without subtopics"
        )
    frame = qrels.to_polars()
    columns = (frame["query_id"], frame["doc_id"], frame["grade"])
    return {Pair(query_id, doc_id): grade for query_id, doc_id, grade in zip(*columns, strict=True)}


def check_nothing_lost(
    path: PathLike, judgments: Judgments, existing: Mapping[Pair, float] | None
) -> None:
    """Refuse to replace qrels that hold what neither the log nor ``existing`` has."""
    if not Path(path).is_file() or not Path(path).stat().st_size:
        return
    known = judgments.pairs | set(existing or ())
    lost = [pair for pair in existing_grades(path) if pair not in known]
    if lost:
        raise InputError(
            f"{path}: holds {counted(len(lost), 'judgment')} that would be lost, such as query "
            f"{shown(lost[0].query_id, 40)}, document {shown(lost[0].doc_id, 40)}; keep them with "
            f"--existing {path}, or name another file"
        )


def export_bytes(
    judgments: Judgments,
    format: ExportFormat,
    *,
    existing: Mapping[Pair, float] | None = None,
    suffix: str = ".tsv",
) -> bytes:
    """Return the judgments as a file; ``suffix`` tells how ratings are written."""
    settled = {} if format == "ratings" else grades_of(judgments, existing)
    if not settled and not (format == "ratings" and judgments.raters):
        raise InputError(
            "nothing is judged yet, and there is nothing to export; judge a document first"
        )
    if format != "ratings":
        nested: dict[str, dict[str, float]] = {}
        for pair, grade in settled.items():
            nested.setdefault(pair.query_id, {})[pair.doc_id] = grade
        return _qrels_bytes(Qrels(nested), format)
    schema = dict.fromkeys(("query_id", "doc_id", "rater"), pl.String)
    frame = pl.DataFrame(
        [(*each.pair, each.rater, each.grade, each.reason) for each in judgments.all()],
        schema={**schema, "grade": pl.Int64, "reason": pl.String},
        orient="row",
    )
    return ratings_bytes(frame, suffix)


def ratings_bytes(frame: pl.DataFrame, suffix: str) -> bytes:
    """Return ratings, a row each, as a file of this suffix."""
    if suffix in (".jsonl", ".ndjson"):
        return "".join(f"{dump_json(row)}\n" for row in frame.iter_rows(named=True)).encode()
    return delimited_bytes(frame, "," if suffix == ".csv" else "\t")


def qrels_bytes(qrels: Qrels, path: PathLike) -> bytes:
    """Return qrels in the format that the suffix of a file tells."""
    return _qrels_bytes(qrels, qrels_format(path))


def _qrels_bytes(qrels: Qrels, format: ExportFormat) -> bytes:
    if format == "trec":
        return trec_or_jsonl_bytes(qrels)
    names = {"query_id": "query-id", "doc_id": "corpus-id", "grade": "score"}
    return delimited_bytes(qrels.to_polars().select(*names).rename(names), "\t")


def write_export(
    judgments: Judgments,
    path: PathLike,
    format: ExportFormat,
    *,
    existing: Mapping[Pair, float] | None = None,
) -> None:
    """Write the judgments to a file, all at once or not at all."""
    if format != "ratings":
        check_nothing_lost(path, judgments, existing)
    content = export_bytes(judgments, format, existing=existing, suffix=suffix_of(path))
    with replacing(path) as sink:
        sink.write(content)
