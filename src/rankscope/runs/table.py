"""Run: what one system returned.

A run is valid once made: every pair occurs once and every score is a finite number. A file or
table that breaks this is refused with the same words `rankscope runs validate` uses. What rankscope
made itself is not checked again (`Run.trusted`), and a run is sorted and hashed at most once.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

import numpy as np
import polars as pl

from rankscope.errors import InvalidDataError, UnknownNameError
from rankscope.files import is_path
from rankscope.runs import order
from rankscope.runs.collapsing import Chunking, Chunks
from rankscope.runs.run_files import LazyRun, name_in_file
from rankscope.tables.columns import NO_COLUMNS, RUN, Columns, Duplicates, Reading
from rankscope.tables.native_files import read_rows, suits_library
from rankscope.tables.pairs import PairTable, repeated_rows
from rankscope.tables.reading import TableFile, open_table
from rankscope.tables.rows import Rows, as_numbers, missing
from rankscope.tables.shapes import pair_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.files import PathLike
    from rankscope.runs.order import Floats, Ints

__all__ = ["Run", "read_run"]


NAMED = 3
"""How many ids that are of no document a run remembers."""

_UNKNOWN = {
    "_is_list": True, "_is_sorted": False, "_order": None, "_fingerprint": "", "_chunks": None,
}  # fmt: skip
"""What is known of a run that was just made."""


class Run(PairTable):
    """Documents a system returned for each query, with scores; higher is better.

    Made of anything in `rankscope.tables.shapes`: ``{query: {doc: score}}``, ``{query: [doc, …]}``
    in rank order, rows ``(query, doc, score)``, records, frames, an engine's answers, or, by
    position, a list for each query. Where there is a rank and no score, the score is minus the
    rank, and where there is neither, minus the place. A list may hold ids, (id, score) pairs,
    records, or documents of LangChain, LlamaIndex and Haystack. A document twice in a list is an
    error unless ``duplicates`` keeps the ``first`` or the ``best``. ``query``, ``retrieved``,
    ``doc`` and ``score`` name columns that go by no known name.

    >>> Run({"q1": {"d1": 0.9, "d2": 0.4}}, name="bm25")["q1"]
    {'d1': 0.9, 'd2': 0.4}
    """

    __slots__ = ("_chunks", "_fingerprint", "_is_list", "_is_sorted", "_name", "_order")

    layout = RUN
    _name: str
    _is_list: bool
    _is_sorted: bool  # whether _order is known
    _order: Ints | None
    _fingerprint: str
    _chunks: Chunks | None

    def __init__(
        self,
        data: object = (),
        *,
        name: str = "run",
        duplicates: Duplicates | None = None,
        query: str | None = None,
        retrieved: str | None = None,
        doc: str | None = None,
        score: str | None = None,
    ) -> None:
        columns = Columns(query=query, retrieved=retrieved, doc=doc, score=score)
        rows = pair_rows(data, RUN, columns, source=name)
        self._take(without_duplicates(rows, duplicates), name)

    def _take(self, rows: Rows, name: str) -> None:
        """Set the content from rows that hold no error; refuse others."""
        query_id = rows.ids("query_id")
        doc_id = rows.ids("doc_id")
        score = scores_of(rows).rechunk()  # once: NumPy looks at it again and again
        if rows.malformed_count or score.null_count() or not score.is_finite().all():
            refuse(rows)
        if missing(query_id).any() or missing(doc_id).any():
            refuse(rows)
        self._fill(query_id, pl.DataFrame([doc_id, score]), rows)
        if repeated_rows(self._offsets, self._columns["doc_id"]).size:
            refuse(rows)
        self._set(**{**_UNKNOWN, "_name": name, "_is_list": rows.is_list})

    @classmethod
    def from_rows(cls, rows: Rows, *, name: str) -> Run:
        """Make a run of rows as a reader gives them; a file without any is an error."""
        if not rows.frame.height and not rows.queries:
            refuse(rows)
        run = object.__new__(cls)
        run._take(rows, name)
        return run

    @classmethod
    def trusted(
        cls,
        query_ids: Sequence[str] | pl.Series,
        sizes: Ints,
        doc_ids: pl.Series,
        scores: Floats | pl.Series,
        *,
        name: str,
        is_best_first: bool = False,
        fingerprint: str = "",
    ) -> Run:
        """Make a run of content that is known to be right; nothing is checked or grouped again.

        The first ``sizes[0]`` rows are the first query's, and so on; 0 is a query without
        documents. Every query and every pair occurs once, no id is empty, scores are finite.
        ``is_best_first`` says that the rows are in the default order within each query (see
        `best_first`), and ``fingerprint`` what `fingerprint` returned for the same content.
        """
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        queries = pl.Series("query_id", query_ids, dtype=pl.String)
        columns = [doc_ids.alias("doc_id"), pl.Series("score", scores, dtype=pl.Float64).rechunk()]
        known = {"_name": name, "_is_sorted": is_best_first, "_fingerprint": fingerprint}
        return cls._trusted(queries, offsets, pl.DataFrame(columns), **{**_UNKNOWN, **known})

    def _changed(self, **slots: object) -> Run:
        """Return the same run but for this."""
        run: Run = object.__new__(Run)
        run._set(**{**self.__getstate__(), **slots})
        return run

    @property
    def name(self) -> str:
        """What the run is called in tables."""
        return self._name

    @property
    def scores(self) -> pl.Series:
        """The scores of all rows, grouped by query."""
        return self.values

    @property
    def sizes(self) -> Ints:
        """How many documents each query has."""
        return np.diff(self._offsets)

    @property
    def is_list(self) -> bool:
        """Whether the order of rows is meant: false for a file whose ranks go by score."""
        return self._is_list

    def in_given_order(self) -> Run:
        """Return the same documents ranked as they are listed: scores are minus the place."""
        places = np.arange(1, len(self) + 1) - np.repeat(self._offsets[:-1], self.sizes)
        score = pl.Series("score", -places.astype(np.float64))
        ranked = {"_columns": pl.DataFrame([self.doc_ids, score]), "_is_list": True}
        return self._changed(**ranked, _is_sorted=True, _order=None, _fingerprint="")

    @property
    def chunks(self) -> Chunks | None:
        """What the run was collapsed from; None if it was not."""
        return self._chunks

    def collapsed_from(self, chunks: Chunks) -> Run:
        """Return the same run, which is known to have been collapsed from these."""
        return self._changed(_chunks=chunks)

    def collapsed(self, doc_id_from: Any) -> Run:
        """Return the run of the documents that the chunks in it belong to.

        ``doc_id_from`` is a separator (``#``, ``::``), a regular expression, a dict from chunk to
        document or a function; a document has the score of the best of its chunks. See
        `rankscope.runs.collapsing`.

        >>> Run({"q1": {"a#2": 0.9, "b#1": 0.7, "a#1": 0.4}}).collapsed("#")["q1"]
        {'a': 0.9, 'b': 0.7}
        """
        chunking = doc_id_from
        if not isinstance(chunking, Chunking):
            chunking = Chunking.of(doc_id_from)
        chunk_ids = self.doc_ids.unique(maintain_order=True)
        of_chunks, unmatched = chunking.documents(chunk_ids.to_list())
        documents = pl.Series("doc_id", of_chunks, dtype=pl.String)
        number = np.repeat(np.arange(len(self.sizes)), self.sizes)
        best = (
            pl.DataFrame([pl.Series("query", number), self.doc_ids, self.scores])
            .with_columns(
                pl.col("doc_id").replace_strict(chunk_ids, documents.cast(pl.Categorical))
            )
            .group_by("query", "doc_id", maintain_order=True)
            .agg(pl.col("score").max())
        )
        sizes = np.bincount(best["query"], minlength=len(self.sizes))
        run = Run.trusted(
            self._query_ids, sizes, best["doc_id"].cast(pl.String), best["score"], name=self._name
        )
        return run._changed(
            _is_list=self._is_list,
            _questions=self._questions,
            _reading=self._reading,
            _chunks=Chunks(
                rule=chunking.rule,
                chunks=len(self),
                documents=len(best),
                unmatched=len(unmatched),
                unmatched_ids=tuple(unmatched[:NAMED]),
                is_doubtful=bool(unmatched) and chunking.is_complete,
            ),
        )

    def renamed(self, query_ids: Sequence[str]) -> Run:
        """Return the same run with these ids of its queries, in their order."""
        queries = pl.Series("query_id", query_ids, dtype=pl.String)
        reading = replace(self._reading, by_position=False)
        return self._changed(_query_ids=queries, _index=None, _fingerprint="", _reading=reading)

    def named(self, name: str) -> Run:
        """Return the same run under another name."""
        return self._changed(_name=name)

    def answers(self, query_ids: Sequence[str], depth: int | None = None) -> Run:
        """Return the run for these queries, in this order, with so many documents each at most.

        A query that is not in it has no documents.
        """
        place = {query_id: at for at, query_id in enumerate(self.query_ids)}
        groups = np.array([place.get(query_id, len(place)) for query_id in query_ids], np.int64)
        sizes = np.append(self.sizes, 0)[groups]  # the last is for a missing one
        if depth is not None:
            sizes = np.minimum(sizes, depth)
        ends = np.cumsum(sizes)
        rows = np.arange(ends[-1] if len(ends) else 0)
        rows += np.repeat(self.offsets[groups] - (ends - sizes), sizes)
        best = self.best_first()
        rows = rows if best is None else best[rows]
        is_whole = len(rows) == len(self) and bool((np.diff(groups[sizes > 0]) > 0).all())
        return Run.trusted(
            query_ids,
            sizes,
            self.doc_ids.gather(rows),
            self.scores.gather(rows),
            name=self.name,
            is_best_first=True,
            fingerprint=self._fingerprint if is_whole else "",
        )

    def best_first(self) -> Ints | None:
        """Return the rows of each query best first, ties by id descending; found once.

        None says that the rows are in this order already.
        """
        if not self._is_sorted:
            self._set(_order=self._sort(), _is_sorted=True)
        return self._order

    def _sort(self) -> Ints | None:
        """Sort the queries that are not in order yet, block by block."""
        offsets, score = self._offsets, self.scores.to_numpy()
        groups = np.flatnonzero(order.unsettled(offsets, score, ties=True))
        in_order: Ints | None = None
        for low, high in order.blocks(self.sizes[groups]):
            rows, _, best = order.best_first_rows(offsets, groups[low:high], score, self.doc_ids)
            if best is not rows:
                in_order = np.arange(len(score)) if in_order is None else in_order
                in_order[rows] = best
        return in_order

    def fingerprint(self) -> str:
        """Return a hash of the content: queries, documents and scores, best first; made once."""
        if not self._fingerprint:
            self._set(_fingerprint=self._hash())
        return self._fingerprint

    def _hash(self) -> str:
        buffer = io.BytesIO()
        columns = self.trec_columns().select("query_id", "doc_id", "score")
        ids = (columns["query_id"], columns["doc_id"])  # a query without documents is not written
        ambiguous = any(values.str.contains(r"[\t\n]").any() for values in ids)
        quotes: Literal["always", "never"] = "always" if ambiguous else "never"
        columns.write_csv(buffer, separator="\t", include_header=False, quote_style=quotes)
        return hashlib.sha256(buffer.getbuffer()).hexdigest()

    def _title(self) -> str:
        return f"Run {self._name!r}"

    def trec_columns(self) -> pl.DataFrame:
        """Return the six columns of a TREC file: by query, best first, ties by id descending."""
        rows = self.best_first()
        frame = self.to_polars() if rows is None else self.to_polars()[rows]
        rank = np.arange(1, len(self) + 1) - np.repeat(self._offsets[:-1], self.sizes)
        return frame.select(
            "query_id",
            pl.lit("Q0").alias("_"),
            "doc_id",
            pl.Series("rank", rank),
            "score",
            pl.lit("_".join(self._name.split()) or "run").alias("tag"),
        )


def read_run(
    path: PathLike,
    *,
    format: str | None = None,
    name: str | None = None,
    duplicates: Duplicates | None = None,
    query: str | None = None,
    retrieved: str | None = None,
    doc: str | None = None,
    score: str | None = None,
) -> Run:
    """Read a run from a file: TREC, csv, tsv, JSON, JSON lines, Parquet, xlsx, traces.

    The run's name is ``name``, or the tag in the file, or the file's name. A document twice in a
    list is an error unless ``duplicates`` keeps the ``first`` or the ``best``. ``query``,
    ``retrieved``, ``doc`` and ``score`` name columns that go by no known name.

    Raises:
        FormatError: the file is not of its format.
        InvalidDataError: a document occurs twice for a query, a score is not a number, …
    """
    columns = Columns(query=query, retrieved=retrieved, doc=doc, score=score)
    with open_table(path, RUN, format=format, columns=columns) as file:
        return run_from(file, name=name, duplicates=duplicates)


def run_from(
    file: TableFile, *, name: str | None = None, duplicates: Duplicates | None = None
) -> Run:
    """Make a run of a file that was opened."""
    name = name or name_in_file(file.path, file.first_tag)
    if duplicates is None and file.format == "trec":
        read = _read_natively(file, name)
        if read is not None:
            return read
    rows = file.rows(("query_id", "doc_id", "score"))
    run = Run.from_rows(without_duplicates(rows, duplicates), name=name)
    return run._changed(_is_list=False) if _ranks_go_by_score(file, run) else run


def _read_natively(file: TableFile, name: str) -> Run | None:
    """Read a run with the native library; None if that is not there, or refuses the file."""
    rows = read_rows(file) if suits_library(file, RUN) else None
    if rows is None:
        return None
    is_list = True
    if 2 * rows.rises > np.count_nonzero(np.diff(rows.offsets) > 1):
        by_rank = read_rows(file, ranks=True)
        if by_rank is None:
            return None
        is_list = not by_rank.ranks_go_by_score
    columns = pl.DataFrame([rows.doc_id, pl.Series("score", rows.score)])
    read = {"_name": name, "_is_list": is_list, "_reading": Reading("TREC lines")}
    return Run._trusted(rows.query_ids, rows.offsets, columns, **{**_UNKNOWN, **read})


def _ranks_go_by_score(file: TableFile, run: Run) -> bool:
    """Tell whether the lines of a file are in no order, and its ranks are in that of the scores.

    Ranks are read only where most queries have lines that are not in the order of their scores.
    """
    unsettled = order.unsettled(run.offsets, run.scores.to_numpy(), ties=False)
    if 2 * np.count_nonzero(unsettled) <= np.count_nonzero(run.sizes > 1):
        return False
    rows = file.rows(("query_id", "doc_id", "rank", "score"))
    if not {"rank", "score"} <= set(rows.frame.columns):
        return False
    rank = as_numbers(rows.frame["rank"]).cast(pl.Float64)
    return ranks_follow(pl.DataFrame([rows.frame["query_id"], scores_of(rows), rank]))


def ranks_follow(rows: pl.DataFrame) -> bool:
    """Tell whether ranks are in the order of the scores; the first column names the query."""
    query = rows.columns[0]
    by_rank = rows.sort(query, "rank", maintain_order=True)
    same = by_rank[query].eq_missing(by_rank[query].shift())
    rises = by_rank["score"] > by_rank["score"].shift()
    repeated = by_rank["rank"].eq_missing(by_rank["rank"].shift())
    return not (same & (rises | repeated)).any()


def as_run(
    data: Any,
    *,
    name: str = "run",
    chunking: Chunking | None = None,
    columns: Columns = NO_COLUMNS,
    duplicates: Duplicates | None = None,
) -> Run:
    """Take a run in any form: a run as it is, a path, or data that makes one.

    With ``chunking`` it is collapsed, unless it was before.
    """
    if is_path(data):
        with open_table(data, RUN, columns=columns) as file:
            data = run_from(file, duplicates=duplicates)
    if isinstance(data, LazyRun):
        data = data.loaded
    if isinstance(data, Run):
        run = data
    else:
        run = object.__new__(Run)
        run._take(without_duplicates(pair_rows(data, RUN, columns, source=name), duplicates), name)
    return run if chunking is None or run.chunks is not None else run.collapsed(chunking)


# --- the rows of a run before they are one -------------------------------------------------------


def without_duplicates(rows: Rows, duplicates: Duplicates | None) -> Rows:
    """Keep each document of a query once: the first, or the one with the highest score."""
    if duplicates is None:
        return rows
    if duplicates not in get_args(Duplicates):
        raise UnknownNameError("way to treat duplicates", duplicates, get_args(Duplicates))
    ids = [rows.ids(name) for name in ("query_id", "doc_id")]
    pairs = pl.DataFrame([*ids, scores_of(rows)]).with_row_index("row")
    if duplicates == "best":
        pairs = pairs.sort("score", descending=True, nulls_last=True, maintain_order=True)
    return rows.only(pairs.unique(["query_id", "doc_id"], keep="first")["row"].sort())


def scores_of(rows: Rows) -> pl.Series:
    """Return the scores as Float64, null where there is no number; or ranks, negated."""
    frame = rows.frame
    if "score" in frame.columns:
        return as_numbers(frame["score"]).cast(pl.Float64).alias("score")
    return (-as_numbers(frame["rank"]).cast(pl.Float64)).alias("score")


def refuse(rows: Rows) -> NoReturn:
    """Raise for the errors of a run, in the words of the checks."""
    from rankscope.runs.checks import RUN_CHECKS  # noqa: PLC0415
    from rankscope.runs.validation import Reference, RunUnderTest  # noqa: PLC0415

    findings = RUN_CHECKS.errors(RunUnderTest(rows, Reference()))
    more = len(findings) - 1
    hint = f" (and {more} more kind{'s' * (more > 1)} of error)" if more else ""
    raise InvalidDataError(f"{findings[0].sentence}{hint}", findings)
