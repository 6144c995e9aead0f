"""Pools: which documents are to be judged for which queries, and what is known about both.

A pool is read from a file (what `rankscope.diagnosis.judge_next.write_pool` writes, and any table
of pairs), or made of the first documents of runs. Texts are looked up in queries and corpora. A
pool holds neither systems nor ranks, so that no rater can be shown any.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from rankscope.collection.corpus import TITLES, Document, document_text, stream_corpus
from rankscope.collection.qrels import read_qrels
from rankscope.errors import InputError, shown
from rankscope.files import source_name, suffix_of
from rankscope.reports.judging.judgment_log import Pair
from rankscope.tables.columns import ALIASES, RecordLayout, find_name
from rankscope.tables.records import checked_id, read_records

if TYPE_CHECKING:
    from rankscope.collection.queries import Queries
    from rankscope.diagnosis.judge_next import ToJudge
    from rankscope.files import PathLike
    from rankscope.runs.table import Run
    from rankscope.tables.records import Record

POOL = RecordLayout(
    kind="ratings",  # what holds queries and documents, too
    noun="pair",
    id_column="query_id",
    id_names=ALIASES["query_id"],
    text_names=ALIASES["doc_id"],  # a header is known by the names of both
    headerless={
        2: ("query_id", "doc_id"),
        3: ("query_id", "doc_id", "grade"),
        4: ("query_id", "_", "doc_id", "grade"),
    },
)

NEEDS = (
    *("information_need", "need", "description", "desc", "narrative", "narr", "background"),
    *("context", "intent_description", "explanation"),
)
"""Fields of a query that say what is looked for, in the order in which they are shown."""

_QUERY_TEXTS = ("text", "query_text", "question_text")
_SNIPPETS = ("snippet", "passage_text", "doc_text", "document_text", "contents")


@dataclass(frozen=True, slots=True)
class QueryText:
    """What is known about a query."""

    text: str = ""
    needs: tuple[tuple[str, str], ...] = ()
    """What is looked for: fields and their texts."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """What is known about a document."""

    title: str = ""
    text: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    """All else: names and texts."""


@dataclass(frozen=True, slots=True)
class JudgingPool:
    """Pairs to judge, each once, in the order given."""

    source: str
    """What it is called in messages."""
    pairs: tuple[Pair, ...]
    queries: Mapping[str, QueryText] = field(default_factory=dict)
    documents: Mapping[str, DocumentText] = field(default_factory=dict)

    def with_texts(
        self,
        queries: Mapping[str, QueryText] | None = None,
        documents: Mapping[str, DocumentText] | None = None,
    ) -> JudgingPool:
        """Return the pool with what is known about queries and documents."""
        queries, documents = (
            {**self.queries, **(queries or {})},
            {**self.documents, **(documents or {})},
        )
        return replace(self, queries=queries, documents=documents)


def read_pool(path: PathLike) -> JudgingPool:
    """Read a pool: TREC lines, or a table with a query and a document in each row."""
    source = source_name(path)
    if suffix_of(path) in (".qrels", ".txt", ".trec", ".qrel", ""):
        frame = read_qrels(path).to_polars()
        pairs = dict.fromkeys(map(Pair, frame["query_id"], frame["doc_id"]))
        return JudgingPool(source, tuple(pairs))
    held: dict[Pair, None] = {}
    queries: dict[str, QueryText] = {}
    documents: dict[str, DocumentText] = {}
    for record in read_records(path, POOL):
        row, pair = record.fields, _pair(record)
        held[pair] = None
        text = _text(row, _QUERY_TEXTS)
        if text and text != pair.query_id:
            queries.setdefault(pair.query_id, QueryText(text, _needs(row)))
        title, snippet = _text(row, TITLES), _text(row, _SNIPPETS)
        if title or snippet:
            documents.setdefault(pair.doc_id, DocumentText(title, snippet))
    return JudgingPool(source, tuple(held), queries, documents)


def _pair(record: Record) -> Pair:
    row, ids = record.fields, []
    for role in ("query_id", "doc_id"):
        column = find_name(list(row), ALIASES[role])
        if column is None:
            listed = ", ".join(shown(each, 30) for each in list(row)[:8])
            raise record.error(
                f"no column for the {role} among {listed}; name one of them "
                f"{', '.join(ALIASES[role][:3])}"
            )
        ids.append(checked_id(row[column], role, record))
    return Pair(*ids)


def _text(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    column = find_name(list(row), names)
    value = None if column is None else row[column]
    return value if isinstance(value, str) else ""


def pool_of(rows: Iterable[ToJudge], source: str) -> JudgingPool:
    """Make a pool of what a diagnosis says is best judged next."""
    rows = list(rows)
    return JudgingPool(
        source,
        tuple(dict.fromkeys(Pair(row.query_id, row.doc_id) for row in rows)),
        {row.query_id: QueryText(row.text) for row in rows if row.text},
        {row.doc_id: DocumentText(row.title) for row in rows if row.title},
    )


def pool_of_runs(runs: Iterable[Run], depth: int, source: str) -> JudgingPool:
    """Make a pool of the first documents of each run, those of a query by their best rank."""
    ranks: dict[str, dict[str, int]] = {}
    for run in runs:
        top = run.answers(run.query_ids, depth)
        offsets, doc_ids = top.offsets.tolist(), top.doc_ids.to_list()
        for place, query_id in enumerate(top.query_ids):
            best = ranks.setdefault(query_id, {})
            answer = doc_ids[offsets[place] : offsets[place + 1]]
            for rank, doc_id in enumerate(answer, start=1):
                best[doc_id] = min(best.get(doc_id, rank), rank)
    pairs = [
        Pair(query_id, doc_id)
        for query_id, best in ranks.items()
        for doc_id in sorted(best, key=best.__getitem__)
    ]
    if not pairs:
        raise InputError(f"{source}: the runs hold no document; give runs that do")
    return JudgingPool(source, tuple(pairs))


# --- what is known about queries and documents ---------------------------------------------------


def _needs(fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    texts = ((need, fields.get(need)) for need in NEEDS)
    return tuple(
        (need, text.strip()) for need, text in texts if isinstance(text, str) and text.strip()
    )


def query_texts(queries: Queries) -> dict[str, QueryText]:
    """Return what queries ask and look for, by id; an experiment keeps metadata as JSON text."""
    texts = {}
    for query_id, text in queries.items():
        fields = dict(queries.metadata_of(query_id))
        with suppress(ValueError, TypeError):
            fields |= json.loads(str(fields.get("metadata") or "{}"))
        texts[query_id] = QueryText(text, _needs(fields))
    return texts


def document_texts(path: PathLike, doc_ids: Container[str]) -> dict[str, DocumentText]:
    """Return what a corpus knows about some documents, by id; it is read once."""
    return {
        document.doc_id: _document_text(document)
        for document in stream_corpus(path)
        if document.doc_id in doc_ids
    }


def _document_text(document: Document) -> DocumentText:
    title, text = document.title, document.text
    fields = ((str(name), document_text(document, [name])) for name in document.fields)
    rest = tuple((name, value) for name, value in fields if value and value not in (title, text))
    return DocumentText(title, text, rest)


# --- the order in which a rater sees them ---------------------------------------------------------

JudgingOrder = Literal["random", "given"]
"""``random``: queries at random, and at random the documents of each. ``given``: as in the pool."""


def ordered(pairs: Iterable[Pair], rater: str, order: JudgingOrder) -> list[Pair]:
    """Return the pairs as this rater sees them; all of a query together unless ``given``.

    Orders are made of hashes and not drawn: each rater has an order that others do not have, it is
    the same after a restart, and pairs that are added to a pool later do not move the others.
    """

    def drawn(*parts: str) -> bytes:
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()

    if order == "given":
        return list(pairs)
    return sorted(pairs, key=lambda pair: (drawn(rater, pair.query_id), drawn(rater, *pair)))
