"""Every problem of a run, in one pass, as data: what `rankscope runs validate` shows.

`Reference` is what runs are held against, and `RunUnderTest` what the checks look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from rankscope.collection.corpus import Corpus, stream_doc_ids
from rankscope.collection.qrels import Qrels, prepared
from rankscope.collection.qrels_checks import QRELS_CHECKS
from rankscope.collection.queries import Queries, read_queries
from rankscope.document.views import Shown
from rankscope.errors import InvalidDataError
from rankscope.files import can_be_read_again, is_path
from rankscope.findings import (
    PLACES_SHOWN,
    CannotLookError,
    Finding,
    NotApplicable,
    Place,
    Seen,
    worst_first,
)
from rankscope.part import Part
from rankscope.runs.checks import RUN_CHECKS, STRICT
from rankscope.runs.run_files import answered_questions
from rankscope.runs.table import Run, scores_of, without_duplicates
from rankscope.tables.columns import NO_COLUMNS, QRELS, QUERY_ROWS, RUN
from rankscope.tables.reading import open_table
from rankscope.tables.rows import Rows, as_numbers
from rankscope.tables.shapes import pair_rows

if TYPE_CHECKING:
    from rankscope.runs.collapsing import Chunking
    from rankscope.tables.columns import Columns, Duplicates, PairLayout

__all__ = ["Validation", "validate_run"]


class Validation(Part, Shown):
    """What the checks say of one run: findings, worst first, and the size of what was looked at."""

    run: str
    """The run's file, or what it is called."""
    ok: bool
    """Whether there is no error; warnings and notes may remain."""
    rows: int
    """Lines."""
    queries: int
    """Queries."""
    fewest: int
    """The fewest documents that a query has."""
    most: int
    """The most documents that a query has."""
    findings: tuple[Finding, ...]
    """What was found, worst first."""
    not_applicable: tuple[NotApplicable, ...] = ()
    """The checks that could not look, and why; this is not the same as "passed"."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """What runs are held against, read once for any number of runs; None is what was not given."""

    findings: tuple[Finding, ...] = ()
    """About the qrels; they cannot be used if one is an error."""
    qrels: Qrels | None = None
    query_ids: list[str] | None = None
    corpus_ids: Callable[[], Iterable[str]] | None = None
    listed: tuple[str, ...] = ()
    """The questions of a golden list, in its order: answers without query ids are to these."""
    chunking: Chunking | None = None
    """How chunks become documents, before runs are checked."""
    columns: Columns = NO_COLUMNS
    duplicates: Duplicates | None = None

    @classmethod
    def read(
        cls,
        *,
        qrels: Any = None,
        queries: Any = None,
        corpus: Any = None,
        labels: Mapping[str, float] | None = None,
        chunking: Chunking | None = None,
        columns: Columns = NO_COLUMNS,
        duplicates: Duplicates | None = None,
    ) -> Reference:
        """Read what was given as paths, tables or plain data, and check the qrels."""
        findings: list[Finding] = []
        judged: Qrels | None = None
        listed: tuple[str, ...] = ()
        if qrels is not None:
            rows = prepared(_rows(qrels, QRELS, columns)[0], labels=labels)
            if rows.reading.shape == QUERY_ROWS:
                listed = rows.queries
            if isinstance(qrels, Qrels) and qrels.is_listed:
                listed = tuple(qrels.query_ids)
            findings, _ = QRELS_CHECKS.all(rows)
            if not any(finding.severity == "error" for finding in findings):
                judged = Qrels.from_rows(rows)
                judged = judged.without(judged.no_answer)
        query_ids = None if queries is None else _ids_of(queries, Queries)
        ids = None if corpus is None else passes_over_ids(corpus, chunking)
        return cls(tuple(findings), judged, query_ids, ids, listed, chunking, columns, duplicates)

    def validate(
        self, run: Any, *, max_depth: int = 100, strict: bool = False, format: str | None = None
    ) -> Validation:
        """Check one run; ``strict`` makes errors of what runs that are handed in must not have."""
        rows, format = _rows(run, RUN, self.columns, format=format)
        rows = _named(without_duplicates(rows, self.duplicates), self.listed)
        if self.chunking is not None:
            try:
                whole = Run.from_rows(rows, name=rows.source)
                rows, _ = _rows(whole.collapsed(self.chunking), RUN)
            except InvalidDataError:
                pass  # rows with errors stay as they are, to be shown
        under_test = RunUnderTest(rows, self, max_depth, strict, format)
        seen, not_applicable = RUN_CHECKS.all(under_test)
        fatal = STRICT if strict else ()
        findings = worst_first(
            finding.model_copy(update={"severity": "error"}) if finding.code in fatal else finding
            for finding in (*seen, *self.findings)
        )
        return Validation(
            run=rows.source,
            ok=all(finding.severity != "error" for finding in findings),
            rows=rows.frame.height,
            queries=len(under_test.query_ids),
            fewest=min(under_test.lengths, default=0),
            most=max(under_test.lengths, default=0),
            findings=tuple(findings),
            not_applicable=tuple(not_applicable),
        )


@dataclass(eq=False)
class RunUnderTest:
    """A run's rows, and what they are held against.

    What was not given raises `CannotLookError` when a check asks for it.
    """

    rows: Rows
    reference: Reference
    max_depth: int = 100
    strict: bool = False
    format: str | None = None

    def __post_init__(self) -> None:
        self.has_ranks = "rank" in self.rows.frame.columns
        self.has_scores = "score" in self.rows.frame.columns
        scores = scores_of(self.rows)
        self.scores = scores.set(~scores.is_finite(), None)
        """The scores, or minus the ranks; null where there is no finite number."""

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows as they are in the file: ids, score and rank, null where there is no number."""
        columns = [self.rows.ids(name) for name in ("query_id", "doc_id")]
        if self.has_ranks:
            columns.append(as_numbers(self.rows.frame["rank"]).cast(pl.Float64).fill_nan(None))
        return pl.DataFrame([*columns, self.scores])

    def is_repeated(self, column: str) -> pl.Series:
        """Tell which rows have a value that their query had before."""
        return ~self.frame.select(pl.col(column).is_first_distinct().over("query_id"))[column]

    @cached_property
    def by_query(self) -> pl.DataFrame:
        """A row for each query with documents: how many, and what its scores do."""
        score = pl.col("score")
        by_rank = score
        if self.has_ranks:
            by_rank = score.sort_by("rank", nulls_last=True, maintain_order=True)
        return self.frame.group_by("query_id", maintain_order=True).agg(
            documents=pl.len(),
            is_deep=pl.len() > self.max_depth,
            rises=(score.diff() > 0).any(),
            rises_by_rank=(by_rank.diff() > 0).any(),
            tied=(score.is_duplicated() & score.is_not_null()).sum(),
            is_level=(score.n_unique() == 1) & (pl.len() > 1),
        )

    def where(self, column: str) -> list[str]:
        """Return the queries in which something is so."""
        return self.by_query.filter(pl.col(column).cast(pl.Boolean))["query_id"].to_list()

    @property
    def lengths(self) -> list[int]:
        """How many documents the queries have."""
        return self.by_query["documents"].to_list()

    @cached_property
    def several(self) -> int:
        """How many queries have two documents or more."""
        return sum(length > 1 for length in self.lengths)

    @property
    def query_ids(self) -> list[str]:
        """The queries, with those that have no document."""
        return [*self.by_query["query_id"], *self.rows.empty_queries]

    # --- what the run is held against

    @property
    def qrels(self) -> Qrels:
        """The judgments."""
        if self.reference.qrels is None:
            is_broken = bool(self.reference.findings)
            raise CannotLookError("the qrels have errors" if is_broken else "no qrels were given")
        return self.reference.qrels

    @property
    def listed_queries(self) -> list[str]:
        """The queries that should be answered."""
        if self.reference.query_ids is None:
            raise CannotLookError("no queries were given")
        return self.reference.query_ids

    def missing(self, query_ids: list[str]) -> list[str]:
        """Return the queries that the run lacks; a strict look wants a document for each."""
        answered = set(self.by_query["query_id"] if self.strict else self.query_ids)
        return [query_id for query_id in query_ids if query_id not in answered]

    @cached_property
    def outside(self) -> tuple[set[str], set[str]]:
        """The documents that the run names, and those that the qrels name, outside the corpus."""
        if self.reference.corpus_ids is None:
            raise CannotLookError("no corpus was given")
        qrels = self.reference.qrels
        named = set(self.frame["doc_id"].unique())
        judged = set() if qrels is None else set(qrels.doc_ids)
        for doc_id in self.reference.corpus_ids():
            named.discard(doc_id)
            judged.discard(doc_id)
        return named, judged

    # --- what was seen, and where

    def seen_rows(self, message: str, bad: pl.Series) -> Seen | None:
        """Say something about the rows that are bad; nothing if there are none."""
        return self.rows.seen(message, bad.arg_true())

    def seen_queries(self, message: str, query_ids: list[str]) -> Seen | None:
        """Say something about queries; nothing if there are none."""
        few = query_ids[:PLACES_SHOWN]
        places = tuple(Place(self.rows.source, query_id=query_id) for query_id in few)
        return Seen(message, len(query_ids), places) if places else None

    def seen_run(self, message: str) -> Seen:
        """Say something about the run as a whole."""
        return Seen(message, places=(Place(self.rows.source),))


def validate_run(
    run: Any,
    *,
    qrels: Any = None,
    queries: Any = None,
    corpus: Any = None,
    labels: Mapping[str, float] | None = None,
    max_depth: int = 100,
    strict: bool = False,
    format: str | None = None,
) -> Validation:
    """Check a run, given as a path or as data, alone and against what it answers.

    Nothing is repaired. ``max_depth`` is how many documents a query may have. ``strict`` fails runs
    that are not fit to be handed in: six columns, every query answered, unique ranks that agree
    with the scores, no list too deep. The qrels are checked too. Each of ``qrels``, ``queries`` and
    ``corpus`` is a path, a table or plain data (of queries and a corpus the ids are enough); a
    corpus that is a path is read as a stream. ``labels`` are the grades of labels in the qrels.

    Raises:
        InputError: something cannot be read at all.
    """
    reference = Reference.read(qrels=qrels, queries=queries, corpus=corpus, labels=labels)
    return reference.validate(run, max_depth=max_depth, strict=strict, format=format)


def _rows(
    data: Any,
    layout: PairLayout,
    columns: Columns = NO_COLUMNS,
    *,
    format: str | None = None,
) -> tuple[Rows, str | None]:
    """Return rows with all columns, and the format of a file."""
    if isinstance(data, Run):
        rows = Rows(
            data.to_polars(),
            data.name,
            layout,
            queries=tuple(data.query_ids),
            is_list=data.is_list,
            reading=data.reading,
        )
        return rows, None
    if not is_path(data):
        table = data.to_polars() if isinstance(data, Qrels) else data
        return pair_rows(table, layout, columns, source=layout.kind), None
    with open_table(data, layout, format=format, columns=columns) as file:
        return file.rows(layout.roles), file.format


def _named(rows: Rows, listed: Sequence[str]) -> Rows:
    """Give answers without query ids those of the questions, if their order is known."""
    if not rows.reading.by_position or not listed:
        return rows
    names = answered_questions(len(rows.queries), listed, rows.source)
    if names is None:
        return rows
    by_number = {str(number): name for number, name in enumerate(names, start=1)}
    query_id = rows.frame["query_id"].replace_strict(by_number, return_dtype=pl.String)
    queries = tuple(map(by_number.__getitem__, rows.queries))
    return replace(rows, frame=rows.frame.with_columns(query_id), queries=queries)


def passes_over_ids(corpus: Any, chunking: Chunking | None = None) -> Callable[[], Iterable[str]]:
    """Return a function that passes over the ids, of documents where chunks are collapsed.

    Only what cannot be read again is kept.
    """
    if chunking is not None:
        chunks = passes_over_ids(corpus)
        return lambda: dict.fromkeys(chunking.documents(chunks())[0])
    if is_path(corpus) and can_be_read_again(corpus):
        return lambda: stream_doc_ids(corpus)
    ids = list(stream_doc_ids(corpus)) if is_path(corpus) else _ids_of(corpus, Corpus)
    return lambda: ids


def _ids_of(data: Any, table: type[Queries] | type[Corpus]) -> list[str]:
    """Return the ids of a table, of a file or data that makes one, or of an iterable of ids."""
    if is_path(data):
        data = read_queries(data)
    if isinstance(data, Queries | Corpus):
        return data.ids
    if not isinstance(data, Mapping) and not hasattr(data, "__arrow_c_stream__"):
        data = list(data)
        ids = [entry for entry in data if isinstance(entry, str)]
        if len(ids) == len(data):
            return ids
    return table(data).ids
