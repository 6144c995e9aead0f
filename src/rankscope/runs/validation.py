"""Every problem of a run, in one pass, as data: what `rankscope runs validate` shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.collection.corpus import Corpus, stream_doc_ids
from rankscope.collection.qrels import Qrels, prepared
from rankscope.collection.qrels_checks import QRELS_CHECKS
from rankscope.collection.queries import Queries, read_queries
from rankscope.files import can_be_read_again, is_path
from rankscope.findings import Finding, worst_first
from rankscope.runs.checks import RUN_CHECKS, RunUnderTest
from rankscope.runs.checks_against import AGAINST_CHECKS, RunAgainst
from rankscope.runs.table import Run
from rankscope.tables.columns import QRELS, RUN
from rankscope.tables.objects import rows_from_object
from rankscope.tables.reading import TableFile
from rankscope.tables.rows import Rows

if TYPE_CHECKING:
    from rankscope.tables.columns import Layout

__all__ = ["Reference", "Validation", "validate_run"]


@dataclass(frozen=True, slots=True)
class Validation:
    """What the checks say of one run: findings, worst first, and the size of what was looked at."""

    source: str
    findings: tuple[Finding, ...]
    rows: int
    queries: int
    documents_per_query: tuple[int, int, int]  # fewest, median, most

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings and notes may remain."""
        return not any(finding.severity == "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        fewest, median, most = self.documents_per_query
        return {
            "run": self.source,
            "ok": self.ok,
            "rows": self.rows,
            "queries": self.queries,
            "documents_per_query": {"min": fewest, "median": median, "max": most},
            "findings": [finding.to_dict() for finding in self.findings],
        }


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """What runs are held against, read once for any number of runs; None is what was not given."""

    findings: tuple[Finding, ...] = ()
    qrels: Qrels | None = None
    query_ids: list[str] | None = None
    corpus_ids: Callable[[], Iterable[str]] | None = None

    @classmethod
    def read(cls, *, qrels: Any = None, queries: Any = None, corpus: Any = None) -> Reference:
        """Read what was given as paths, tables or plain data, and check the qrels."""
        findings: list[Finding] = []
        judged: Qrels | None = None
        if qrels is not None:
            judgments = prepared(_rows(qrels, QRELS))
            findings, _ = QRELS_CHECKS.all(judgments)
            if not any(finding.severity == "error" for finding in findings):
                judged = Qrels.from_rows(judgments)
        return cls(tuple(findings), judged, _query_ids(queries), _corpus_ids(corpus))

    def validate(self, run: Any, *, depth: int = 100, format: str | None = None) -> Validation:
        """Check one run."""
        rows = _rows(run, RUN, format=format)
        under_test = RunUnderTest(rows, depth=depth)
        ids = None if self.corpus_ids is None else self.corpus_ids()
        against = RunAgainst(under_test, self.qrels, self.query_ids, ids)
        findings = [
            *RUN_CHECKS.all(under_test)[0],
            *self.findings,
            *AGAINST_CHECKS.all(against)[0],
        ]
        lengths = under_test.lengths if len(under_test.lengths) else np.zeros(1, np.int64)
        return Validation(
            source=rows.source,
            findings=tuple(worst_first(findings)),
            rows=rows.frame.height,
            queries=len(under_test.query_ids),
            documents_per_query=(int(lengths.min()), int(np.median(lengths)), int(lengths.max())),
        )


def validate_run(
    run: Any,
    *,
    qrels: Any = None,
    queries: Any = None,
    corpus: Any = None,
    depth: int = 100,
    format: str | None = None,
) -> Validation:
    """Check a run, given as a path or as data, alone and against what it answers.

    Nothing is repaired. ``depth`` is how many documents a query should have. The qrels are checked
    too. Each of ``qrels``, ``queries`` and ``corpus`` is a path, a table or plain data (of queries
    and a corpus the ids are enough); a corpus that is a path is read as a stream.

    Raises:
        InputError: something cannot be read at all.
    """
    reference = Reference.read(qrels=qrels, queries=queries, corpus=corpus)
    return reference.validate(run, depth=depth, format=format)


def _rows(data: Any, layout: Layout, *, format: str | None = None) -> Rows:
    """Return rows with all columns; values as text where some are not what they should be."""
    if not is_path(data):
        if isinstance(data, Run):
            empty = np.flatnonzero(np.diff(data.offsets) == 0)
            found = tuple(data.query_ids[place] for place in empty)
            return Rows(data.to_polars(), data.name, layout, empty_queries=found)
        table = data.to_polars() if isinstance(data, Qrels) else data
        return rows_from_object(table, layout, source=layout.kind)
    file = TableFile.open(data, layout, format=format)
    rows = file.rows(layout.roles)
    if rows.malformed_count or any(rows.frame[name].null_count() for name in rows.frame.columns):
        return file.rows(layout.roles, as_text=True)
    return rows


def _query_ids(queries: Any) -> list[str] | None:
    if queries is None:
        return None
    if is_path(queries):
        return read_queries(queries).ids
    return _ids_of(queries, Queries)


def _corpus_ids(corpus: Any) -> Callable[[], Iterable[str]] | None:
    """Return a function that passes over the ids; only what cannot be read again is kept."""
    if corpus is None:
        return None
    if is_path(corpus) and can_be_read_again(corpus):
        return lambda: stream_doc_ids(corpus)
    ids = set(stream_doc_ids(corpus)) if is_path(corpus) else _ids_of(corpus, Corpus)
    return lambda: ids


def _ids_of(data: Any, table: type[Queries] | type[Corpus]) -> list[str]:
    """Return the ids of a table, of data that makes one, or of an iterable of ids."""
    if isinstance(data, Queries | Corpus):
        return data.ids
    if not isinstance(data, Mapping) and not hasattr(data, "__arrow_c_stream__"):
        data = list(data)
        ids = [one for one in data if isinstance(one, str)]
        if len(ids) == len(data):
            return ids
    return table(data).ids
