"""Run: what one system returned.

A run is valid once made: every pair stands once and every score is a finite number. A file or
table that breaks this is refused with the same words `rankscope runs validate` uses.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from rankscope.errors import InvalidDataError
from rankscope.files import source_name
from rankscope.tables.columns import RUN
from rankscope.tables.grouping import group_by_query, repeated_rows
from rankscope.tables.objects import rows_from_object
from rankscope.tables.pairs import PairTable
from rankscope.tables.reading import TableFile
from rankscope.tables.rows import Rows, as_ids, as_numbers, missing

if TYPE_CHECKING:
    from rankscope.files import PathLike

__all__ = ["Run", "read_run"]


class Run(PairTable):
    """Documents a system returned for each query, with scores; higher is better.

    Made of ``{query_id: {doc_id: score}}``, ``{query_id: [doc_id, …]}`` in rank order, rows
    ``(query_id, doc_id, score)``, or any frame with such columns; where there is a rank and no
    score, the score is minus the rank.

    >>> Run({"q1": {"d1": 0.9, "d2": 0.4}}, name="bm25")["q1"]
    {'d1': 0.9, 'd2': 0.4}
    """

    __slots__ = ("_name",)

    layout = RUN
    _name: str

    def __init__(self, data: object = (), *, name: str = "run") -> None:
        self._take(rows_from_object(data, RUN, source=name), name)

    def _take(self, rows: Rows, name: str) -> None:
        """Set the content from rows that hold no error; refuse others."""
        query_id = as_ids(rows.frame["query_id"], rows)
        doc_id = as_ids(rows.frame["doc_id"], rows).cast(pl.String)
        score = scores_of(rows).rechunk()  # once: NumPy looks at it again and again
        if rows.malformed_count or score.null_count() or not score.is_finite().all():
            refuse(rows)
        if not rows.ids_complete and (missing(query_id).any() or missing(doc_id).any()):
            refuse(rows)
        groups = rows.groups or group_by_query(query_id)
        self._fill(groups, pl.DataFrame([doc_id, score]), rows.empty_queries)
        if repeated_rows(self._offsets, self._columns["doc_id"]).size:
            refuse(rows)
        object.__setattr__(self, "_name", name)

    @classmethod
    def from_rows(cls, rows: Rows, *, name: str) -> Run:
        """Make a run of rows as a reader gives them; a file without any is an error."""
        if not rows.frame.height and not rows.empty_queries:
            refuse(rows)
        made = object.__new__(cls)
        made._take(rows, name)
        return made

    @property
    def name(self) -> str:
        """What the run is called in tables."""
        return self._name

    @property
    def scores(self) -> pl.Series:
        """The scores of all rows, grouped by query."""
        return self.values

    def named(self, name: str) -> Run:
        """Return the same run under another name."""
        made: Run = object.__new__(Run)
        for slot in PairTable.__slots__:
            object.__setattr__(made, slot, getattr(self, slot))
        object.__setattr__(made, "_name", name)
        return made

    def fingerprint(self) -> str:
        """Return a hash of the content: queries, documents and scores, best first."""
        import hashlib  # noqa: PLC0415
        import io  # noqa: PLC0415

        buffer = io.BytesIO()
        columns = self.trec_columns().select("query_id", "doc_id", "score")
        columns.write_csv(buffer, separator="\t", include_header=False, quote_style="never")
        return hashlib.sha256(buffer.getbuffer()).hexdigest()

    def _title(self) -> str:
        return f"Run {self._name!r}"

    def trec_columns(self) -> pl.DataFrame:
        """Return the six columns of a TREC file: by query, best score first, ties as given."""
        lengths = np.diff(self._offsets)
        group = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((-self.values.to_numpy(), group))
        frame = self.to_polars()[order]
        tag = "_".join(self._name.split()) or "run"
        return frame.select(
            "query_id",
            pl.lit("Q0").alias("_"),
            "doc_id",
            pl.Series("rank", np.arange(len(group)) - self._offsets[group] + 1),
            "score",
            pl.lit(tag).alias("tag"),
        )


def scores_of(rows: Rows) -> pl.Series:
    """Return the scores as Float64, null where there is no number; ranks stand in negated."""
    frame = rows.frame
    if "score" in frame.columns:
        return as_numbers(frame["score"]).cast(pl.Float64).alias("score")
    return (-as_numbers(frame["rank"]).cast(pl.Float64)).alias("score")


def refuse(rows: Rows) -> NoReturn:
    """Raise for the errors of a run, in the words of the checks."""
    from rankscope.runs.checks import RUN_CHECKS, RunUnderTest  # noqa: PLC0415

    findings = RUN_CHECKS.errors(RunUnderTest(rows))
    more = len(findings) - 1
    hint = f" (and {more} more kind{'s' * (more > 1)} of error)" if more else ""
    raise InvalidDataError(f"{findings[0].sentence}{hint}", findings)


def read_run(path: PathLike, *, format: str | None = None, name: str | None = None) -> Run:
    """Read a run from a file: TREC, MS MARCO, csv, tsv, JSON, JSON lines or Parquet.

    The run's name is ``name``, or the tag in the file, or the file's name.

    Raises:
        FormatError: the file is not of its format.
        InvalidDataError: it is, but a document stands twice for a query, a score is no number, …
    """
    return run_from(TableFile.open(path, RUN, format=format), name=name)


def run_from(file: TableFile, *, name: str | None = None) -> Run:
    """Make a run of a file that was opened."""
    name = name or file.first_tag or stem_of(file.path)
    try:
        return Run.from_rows(file.rows(("query_id", "doc_id", "score")), name=name)
    except InvalidDataError:  # once more with the text of every column, to say what is wrong
        Run.from_rows(file.rows(RUN.roles, as_text=True), name=name)
        raise


def stem_of(path: PathLike) -> str:
    """Return a file's name without folder and suffixes."""
    name = Path(source_name(path)).name
    return name.split(".")[0] or name


def as_run(data: Any, *, name: str = "run") -> Run:
    """Return a run as it is, or make one of whatever was given."""
    return data if isinstance(data, Run) else Run(data, name=name)
