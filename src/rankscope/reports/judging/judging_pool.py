"""Pools: which documents are to be judged for which queries, and what is known about both.

A pool is read from a file (what `rankscope.diagnosis.judge_next.write_pool` writes, and any table
of pairs), or made of the first documents of runs. Texts are looked up in queries and corpora.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from rankscope.collection.corpus import TITLES, Document, document_text, stream_corpus
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
class Asked:
    """What is known about a query."""

    text: str = ""
    needs: tuple[tuple[str, str], ...] = ()
    """What is looked for: fields and their texts."""


@dataclass(frozen=True, slots=True)
class Shelved:
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
    ranks: Mapping[Pair, int | None]
    """By pair: its best rank; None where it is not known. It is never shown."""
    queries: Mapping[str, Asked] = field(default_factory=dict)
    documents: Mapping[str, Shelved] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ranks)

    def joined(self, other: JudgingPool) -> JudgingPool:
        """Return both pools as one; what the first one knows wins."""
        ranks = dict(self.ranks)
        for pair, rank in other.ranks.items():
            ranks[pair] = _better(ranks.get(pair), rank)
        return JudgingPool(
            self.source,
            ranks,
            {**other.queries, **self.queries},
            {**other.documents, **self.documents},
        )

    def without(self, pairs: Iterable[Pair]) -> JudgingPool:
        """Return the pool without some pairs."""
        left_out = set(pairs)
        kept = {pair: rank for pair, rank in self.ranks.items() if pair not in left_out}
        return replace(self, ranks=kept)

    def with_queries(self, queries: Mapping[str, Asked]) -> JudgingPool:
        """Return the pool with what is known about queries."""
        return replace(self, queries={**self.queries, **queries})

    def with_documents(self, documents: Iterable[tuple[str, Shelved]]) -> JudgingPool:
        """Return the pool with what is known about its documents; others are passed over."""
        return replace(self, documents={**self.documents, **dict(self.only(documents))})

    def only(self, documents: Iterable[tuple[str, Shelved]]) -> Iterator[tuple[str, Shelved]]:
        """Pass over documents, and yield those of the pool."""
        wanted = {pair.doc_id for pair in self.ranks}
        return ((doc_id, document) for doc_id, document in documents if doc_id in wanted)


def _better(known: int | None, rank: int | None) -> int | None:
    return min((each for each in (known, rank) if each is not None), default=None)


def read_pool(path: PathLike) -> JudgingPool:
    """Read a pool: TREC lines, or a table with a query and a document in each row."""
    source = source_name(path)
    if suffix_of(path) in (".qrels", ".txt", ".trec", ".qrel", ""):
        from rankscope.collection.qrels import read_qrels  # noqa: PLC0415

        frame = read_qrels(path).to_polars()
        pairs = zip(frame["query_id"], frame["doc_id"], strict=True)
        return JudgingPool(source, dict.fromkeys((Pair(*ids) for ids in pairs), None))
    ranks: dict[Pair, int | None] = {}
    queries: dict[str, Asked] = {}
    documents: dict[str, Shelved] = {}
    for record in read_records(path, POOL):
        row = record.fields
        pair, rank = _pair(record), _rank(row)
        ranks[pair] = _better(ranks.get(pair), rank)
        asked = _text(row, _QUERY_TEXTS)
        if asked and asked != pair.query_id:
            queries.setdefault(pair.query_id, Asked(asked, _needs(row)))
        title, snippet = _text(row, TITLES), _text(row, _SNIPPETS)
        if title or snippet:
            documents.setdefault(pair.doc_id, Shelved(title, snippet))
    return JudgingPool(source, ranks, queries, documents)


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


def _rank(row: Mapping[str, Any]) -> int | None:
    """Return the best rank that a row tells: of all systems, or its only one."""
    ranks, known = row.get("ranks"), []
    values: list[Any] = [*ranks.values()] if isinstance(ranks, dict) else [row.get("rank")]
    for value in values:
        with suppress(TypeError, ValueError, OverflowError):
            known.append(int(value))
    return min(known, default=None)


def pool_of(pairs: Iterable[ToJudge], source: str) -> JudgingPool:
    """Make a pool of what a diagnosis says is best judged next."""
    ranks: dict[Pair, int | None] = {}
    queries, documents = {}, {}
    for pair in pairs:
        ranks[Pair(pair.query_id, pair.doc_id)] = min(pair.ranks.values(), default=None)
        if pair.text:
            queries[pair.query_id] = Asked(pair.text)
        if pair.title:
            documents[pair.doc_id] = Shelved(pair.title)
    return JudgingPool(source, ranks, queries, documents)


def pool_of_runs(runs: Iterable[Run], depth: int, source: str) -> JudgingPool:
    """Make a pool of the first documents of each run: every one that any of them has there."""
    ranks: dict[Pair, int | None] = {}
    for run in runs:
        top = run.answers(run.query_ids, depth)
        offsets, doc_ids = top.offsets.tolist(), top.doc_ids.to_list()
        for place, query_id in enumerate(top.query_ids):
            answer = doc_ids[offsets[place] : offsets[place + 1]]
            for rank, doc_id in enumerate(answer, start=1):
                pair = Pair(query_id, doc_id)
                ranks[pair] = min(ranks.get(pair) or rank, rank)
    if not ranks:
        raise InputError(f"{source}: the runs hold no document; give runs that do")
    first: dict[str, int] = {}
    for pair in ranks:
        first.setdefault(pair.query_id, len(first))
    order = sorted(ranks, key=lambda pair: (first[pair.query_id], ranks[pair] or 0))
    return JudgingPool(source, {pair: ranks[pair] for pair in order})


# --- what is known about queries and documents ---------------------------------------------------


def _needs(fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    needs = []
    for need in NEEDS:
        value = fields.get(need)
        if isinstance(value, str) and value.strip():
            needs.append((need, value.strip()))
    return tuple(needs)


def asked_in(queries: Queries) -> dict[str, Asked]:
    """Return what queries ask and look for, by id; an experiment keeps metadata as JSON text."""
    asked = {}
    for query_id, text in queries.items():
        fields = dict(queries.metadata_of(query_id))
        with suppress(ValueError, TypeError):
            fields |= json.loads(str(fields.get("metadata") or "{}"))
        asked[query_id] = Asked(text, _needs(fields))
    return asked


def shelved(document: Document) -> Shelved:
    """Return what is known about a document of a corpus."""
    title, text = document.title, document.text
    rest = []
    for name in document.fields:
        value = document_text(document, [name])
        if value and value not in (title, text):
            rest.append((str(name), value))
    return Shelved(title, text, tuple(rest))


def shelved_in(path: PathLike) -> Iterator[tuple[str, Shelved]]:
    """Pass over the documents of a corpus once."""
    return ((document.doc_id, shelved(document)) for document in stream_corpus(path))


# --- the order in which a rater sees them ---------------------------------------------------------

JudgingOrder = Literal["random", "depth", "given"]
"""``random``: queries at random, and at random the documents of each. ``depth``: the documents of
each query by their best rank. ``given``: as in the pool."""


def _drawn(*parts: str) -> bytes:
    """Return what things are ordered by that come in no order."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


def ordered(pool: JudgingPool, rater: str, order: JudgingOrder) -> list[Pair]:
    """Return the pairs as this rater sees them; all of a query together unless ``given``.

    Orders are made of hashes and not drawn: each rater has an order that others do not have, it is
    the same after a restart, and pairs that are added to a pool later do not move the others.
    """
    pairs = list(pool.ranks)
    if order == "given":
        return pairs
    first: dict[str, int] = {}
    for place, pair in enumerate(pairs):
        first.setdefault(pair.query_id, place)
    if order == "depth":
        last = len(pairs) + max((rank or 0 for rank in pool.ranks.values()), default=0)

        def depth(pair: Pair) -> tuple[int, int]:
            rank = pool.ranks[pair]
            return first[pair.query_id], last if rank is None else rank

        return sorted(pairs, key=depth)
    drawn = {query_id: _drawn(rater, query_id) for query_id in first}
    return sorted(pairs, key=lambda pair: (drawn[pair.query_id], _drawn(rater, *pair)))
