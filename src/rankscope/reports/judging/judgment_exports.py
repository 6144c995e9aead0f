"""Judgments as files: TREC qrels, BEIR's tsv, or ratings with a row for each rater.

Qrels have one grade for a pair. Of several raters it is the median, and of an even number of them
the lower of the two grades in the middle, so that it is always a grade that somebody gave. Pairs
that nobody could judge are not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.errors import InputError, counted, shown
from rankscope.files import replacing, source_name, suffix_of
from rankscope.reports.judging.judgment_log import Pair
from rankscope.tables.delimited import delimited_bytes
from rankscope.tables.jsontext import dump_json
from rankscope.tables.writing import pair_pieces

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.reports.judging.judgment_log import Judgments

ExportFormat = Literal["trec", "beir", "ratings"]

_FORMATS: dict[str, ExportFormat] = {
    **dict.fromkeys((".qrels", ".txt", ".trec"), "trec"),
    ".tsv": "beir",
    **dict.fromkeys((".csv", ".jsonl", ".ndjson"), "ratings"),
}


def export_format(path: PathLike) -> ExportFormat:
    """Return the format of a file to write, which its suffix tells."""
    if suffix_of(path) not in _FORMATS:
        raise InputError(
            f"{source_name(path, output=True)}: the suffix does not tell the format; use .qrels or "
            ".txt (TREC), .tsv (BEIR), .csv or .jsonl (ratings)"
        )
    return _FORMATS[suffix_of(path)]


def check_kind(path: PathLike, kind: Literal["qrels", "ratings"]) -> None:
    """Refuse to write qrels to a file whose name is that of ratings, and the other way round."""
    if (export_format(path) == "ratings") != (kind == "ratings"):
        raise InputError(
            f"{source_name(path, output=True)}: qrels are written as .qrels or .txt (TREC) or .tsv "
            "(BEIR), ratings as .csv or .jsonl; rename the file"
        )


def middle_grade(grades: list[int]) -> int:
    """Return the median; of an even number of grades the lower of the two in the middle.

    >>> middle_grade([0, 3]), middle_grade([3, 1, 2])
    (0, 2)
    """
    return sorted(grades)[(len(grades) - 1) // 2]


def given_grades(judgments: Judgments) -> dict[Pair, list[int]]:
    """Return what all raters gave each pair."""
    given: dict[Pair, list[int]] = {}
    for judgment in judgments.all():
        if judgment.grade is not None:
            given.setdefault(judgment.pair, []).append(judgment.grade)
    return given


def existing_grades(path: PathLike) -> dict[Pair, float]:
    """Read judgments that are there already."""
    qrels = read_qrels(path)
    if qrels.subtopics is not None:
        raise InputError(
            f"{path}: judges subtopics, and documents are judged here as a whole; give judgments "
            "without subtopics"
        )
    frame = qrels.to_polars().select("query_id", "doc_id", "grade")
    return {Pair(query_id, doc_id): grade for query_id, doc_id, grade in frame.iter_rows()}


def check_nothing_lost(
    path: PathLike, judgments: Judgments, existing: Mapping[Pair, float]
) -> None:
    """Refuse to replace qrels that hold what neither the log nor ``existing`` has."""
    if not Path(path).is_file() or not Path(path).stat().st_size:
        return
    lost = existing_grades(path).keys() - judgments.pairs - existing.keys()
    if lost:
        first = min(lost)
        raise InputError(
            f"{path}: holds {counted(len(lost), 'judgment')} that would be lost, such as query "
            f"{shown(first.query_id, 40)}, document {shown(first.doc_id, 40)}; keep them with "
            f"--existing {path}, or name another file"
        )


def export_bytes(judgments: Judgments, path: PathLike, existing: Mapping[Pair, float]) -> bytes:
    """Return the judgments as a file of this name holds them.

    In qrels ``existing`` grades are kept where nobody judged.
    """
    if export_format(path) == "ratings":
        return _ratings_bytes(judgments, path)
    nested: dict[str, dict[str, float]] = {}
    given = {pair: middle_grade(grades) for pair, grades in given_grades(judgments).items()}
    for pair, grade in {**existing, **given}.items():
        nested.setdefault(pair.query_id, {})[pair.doc_id] = grade
    if not nested:
        raise _nothing()
    return qrels_bytes(Qrels(nested), path)


def _nothing() -> InputError:
    return InputError(
        "nothing is judged yet, and there is nothing to export; judge a document first"
    )


def _ratings_bytes(judgments: Judgments, path: PathLike) -> bytes:
    columns = ("query_id", "doc_id", "rater", "grade", "reason")
    rows = [each.model_dump(include=set(columns)) for each in judgments.all()]
    if not rows:
        raise _nothing()
    schema = {**dict.fromkeys(columns, pl.String), "grade": pl.Int64}
    return table_bytes(pl.DataFrame(rows, schema=schema), path)


def table_bytes(frame: pl.DataFrame, path: PathLike) -> bytes:
    """Return ratings as csv or as lines of JSON, which the suffix tells."""
    if suffix_of(path) == ".csv":
        return delimited_bytes(frame, ",")
    return "".join(f"{dump_json(row)}\n" for row in frame.iter_rows(named=True)).encode()


def qrels_bytes(qrels: Qrels, path: PathLike) -> bytes:
    """Return qrels in the format that the suffix of a file tells."""
    if export_format(path) == "trec":
        return b"".join(pair_pieces(qrels, "trec", otherwise="jsonl"))
    names = {"query_id": "query-id", "doc_id": "corpus-id", "grade": "score"}
    return delimited_bytes(qrels.to_polars().select(*names).rename(names), "\t")


def write_export(
    judgments: Judgments, path: PathLike, existing: Mapping[Pair, float] | None = None
) -> None:
    """Write the judgments to a file, all at once or not at all."""
    existing = existing or {}
    if export_format(path) != "ratings":
        check_nothing_lost(path, judgments, existing)
    content = export_bytes(judgments, path, existing)
    with replacing(path) as sink:
        sink.write(content)
