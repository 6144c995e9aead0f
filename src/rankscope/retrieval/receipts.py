"""Receipts: what the replies of language models took that the answer to a query is made of.

Parts that ask a model note them while a query is answered, and `fetch` keeps them with the answer:
where that is taken from the store later, no part is asked, and still it is known what it took.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock

_QUERY: ContextVar[str | None] = ContextVar("query", default=None)
_RECEIPTS: ContextVar[Receipts | None] = ContextVar("receipts", default=None)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one reply took when it was made; None: nobody counted the tokens."""

    asker: str
    """A hash of the part that asked and the model that replied."""
    reply: str
    """A hash of all that was sent."""
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float


class Receipts:
    """Those of a batch of queries; several threads may add to them at the same time."""

    def __init__(self) -> None:
        self._by_query: dict[str, dict[Receipt, None]] = {}
        self._lock = Lock()

    def add(self, query_id: str, receipt: Receipt) -> None:
        """Take one; what a query needed twice is there once."""
        with self._lock:
            self._by_query.setdefault(query_id, {})[receipt] = None

    def of(self, query_id: str) -> tuple[Receipt, ...]:
        """Return those of a query."""
        with self._lock:
            return tuple(self._by_query.get(query_id, ()))


@contextmanager
def noted() -> Iterator[Receipts]:
    """Within it, receipts are gathered, in whatever threads the work is done."""
    receipts = Receipts()
    token = _RECEIPTS.set(receipts)
    try:
        yield receipts
    finally:
        _RECEIPTS.reset(token)


@contextmanager
def answering(query_id: str) -> Iterator[None]:
    """Within it, what is asked is asked to answer this query."""
    token = _QUERY.set(query_id)
    try:
        yield
    finally:
        _QUERY.reset(token)


def note(receipt: Receipt) -> None:
    """Say what a reply took; nobody may be listening."""
    receipts, query_id = _RECEIPTS.get(), _QUERY.get()
    if receipts is not None and query_id is not None:
        receipts.add(query_id, receipt)
