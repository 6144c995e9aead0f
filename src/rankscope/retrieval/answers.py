"""Answers kept on disk while a run is fetched: one file for each finished batch.

Answers are found by query (its id, text and metadata), not by batch, so that a fetch that goes on
may use other batches. Failed queries are never kept: the next call asks them again.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import polars as pl

from rankscope.records.origin import EngineFacts
from rankscope.retrieval.cache_entries import make_folder, read_entry, write_entry
from rankscope.retrieval.protocol import Query, Ranking, fingerprint

_SCHEMA = {
    "query": pl.String(),
    "doc_ids": pl.List(pl.String()),
    "scores": pl.List(pl.Float64()),
    "seconds": pl.Float64(),
    "replies": pl.String(),  # of language models: receipts, as JSON
}


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one reply of a model took that an answer is made of; None: nobody counted the tokens.

    Parts that ask a model keep them by query (`Component.receipts`), and they are kept with the
    answer: where that is taken from the store later, no part is asked, and still it is known what
    it took.
    """

    asker: str
    """A hash of the part that asked and the model that replied."""
    reply: str
    """A hash of all that was sent."""
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer from the store, and what the replies took that it is made of."""

    ranking: Ranking
    receipts: tuple[Receipt, ...]


class Answers:
    """The answers of one system (by its identity's key) at one depth, in a folder."""

    def __init__(self, store: Path, key: str, depth: int) -> None:
        self._folder = store / "answers" / f"{key}-{depth}"
        self._facts = f"{fingerprint('facts', key, depth)}.facts"

    def read(self) -> dict[str, StoredAnswer]:
        """Return all answers there are, by `query_key`; a damaged file has none."""
        answers: dict[str, StoredAnswer] = {}
        for path in sorted(self._folder.glob("*.answers")):
            content = read_entry(path)
            if content is None:
                continue
            try:
                table = pl.read_ipc(io.BytesIO(content))
                if dict(table.schema) != _SCHEMA:
                    continue
                for query, doc_ids, scores, seconds, replies in table.iter_rows():
                    receipts = tuple(Receipt(*fields) for fields in json.loads(replies))
                    ranking = Ranking(tuple(doc_ids), tuple(scores), seconds)
                    answers[query] = StoredAnswer(ranking, receipts)
            except (pl.exceptions.PolarsError, OSError, ValueError, TypeError):
                continue  # of another version
        return answers

    def write(
        self,
        queries: Sequence[Query],
        rankings: Sequence[Ranking],
        receipts: Callable[[str], Sequence[Receipt]],
    ) -> None:
        """Keep the answers of a batch, without those that failed."""
        rows = [
            (
                query_key(query),
                ranking.doc_ids,
                ranking.scores,
                ranking.seconds,
                json.dumps([astuple(receipt) for receipt in receipts(query.query_id)]),
            )
            for query, ranking in zip(queries, rankings, strict=True)
            if ranking.error is None
        ]
        if not rows:
            return
        columns = zip(_SCHEMA.items(), zip(*rows, strict=True), strict=True)
        frame = pl.DataFrame(
            [pl.Series(name, list(values), dtype=dtype) for (name, dtype), values in columns]
        )
        buffer = io.BytesIO()
        frame.write_ipc(buffer)
        name = hashlib.sha256("".join(row[0] for row in rows).encode()).hexdigest()
        write_entry(make_folder(self._folder) / f"{name}.answers", buffer.getvalue())

    def write_facts(self, facts: Sequence[EngineFacts]) -> None:
        """Keep what engines said of themselves, for when all answers are here."""
        if facts:
            content = json.dumps([fact.to_dict() for fact in facts]).encode()
            write_entry(make_folder(self._folder) / self._facts, content)

    def read_facts(self) -> tuple[EngineFacts, ...]:
        """Return what engines said of themselves when they were last asked."""
        content = read_entry(self._folder / self._facts)
        try:
            data = [] if content is None else json.loads(content)
            facts = tuple(EngineFacts.model_validate(fact) for fact in data)
        except ValueError:  # of another version
            return ()
        return tuple(fact.model_copy(update={"loaded": 0}) for fact in facts)


def query_key(query: Query) -> str:
    """Return what an answer is kept under: a hash of all that is known of the query."""
    return fingerprint(query.query_id, query.text, dict(query.metadata))
