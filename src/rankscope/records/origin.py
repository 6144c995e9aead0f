"""Where a run came from: what exactly answered, and what that took."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import model_validator

from rankscope.part import Part


class Identity(Part):
    """What exactly answered: two systems with the same identity give the same rankings."""

    kind: str
    """The name in the registry."""
    name: str = ""
    """What people call the system; it decides nothing. If not given, the kind."""
    version: str
    """The engine and its version."""
    parameters: dict[str, Any]
    """All that was chosen and changes answers, as plain data; no secret."""
    snapshot: str | None = None
    """What is searched: a hash of it, or what the user states; None: nothing was indexed."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {**data, "name": data.get("name") or data.get("kind")}

    @property
    def key(self) -> str:
        """A hash of everything but the name; what is kept on disk is kept under it."""
        return fingerprint(self.kind, self.version, self.parameters, self.snapshot)


def fingerprint(*parts: Any) -> str:
    """Return a hash of plain data: the same for the same content, in any process."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Timings(Part):
    """How long it took, in seconds.

    The percentiles are over the queries answered, of the time of each; for an answer taken from the
    store, when it was made. The time of a system that asks others is that of all of them, one after
    the other, and of its own work, also where their answers were known already.
    """

    index: float
    """What making or loading the index took."""
    search: float
    """From the first question to the last answer, in this call; answers that were known already
    took no time."""
    p50: float | None
    """The median over queries; null where they are answered in batches."""
    p95: float | None
    """The 95th percentile over queries; null where they are answered in batches."""
    p99: float | None
    """The 99th percentile over queries; null where they are answered in batches."""
    asked: int
    """How many queries were put to the system in this call."""
    stored: int
    """How many answers came from the store."""
    retried: int
    """How many questions were repeated."""
    per_second: float | None = None
    """Queries that are answered in a second, asked one after the other: one over the mean of their
    times; null if that is not known."""


class EngineFacts(Part):
    """An engine as it was when it was asked: what only it can say of itself."""

    engine: str
    """The name in the registry, such as postgres."""
    version: str
    """What the engine says its version is; empty if it does not say."""
    documents: int | None
    """How many documents it searched; null if it does not say."""
    settings: dict[str, Any]
    """How it searches: the index and its parameters, and what the engine chose itself."""
    snapshot: str | None
    """What is searched: a hash of what was loaded, or what the user states; null: unknown."""
    loaded: int = 0
    """How many documents were sent to it in this call; 0: it had them."""


class Spent(Part):
    """What requests to a language model took."""

    requests: int
    """How many there were, repeated ones included."""
    prompt_tokens: int | None
    """Tokens sent, as the endpoint counts them; null: not known of any."""
    completion_tokens: int | None
    """Tokens received; null: not known of any."""
    cost: float | None
    """What these tokens cost at the stated prices; null: no price was stated, or no tokens are
    known."""
    seconds: float
    """How long requests took, added up."""
    p50: float | None
    """The median over requests; null: there was none."""
    p95: float | None
    """The 95th percentile over requests; null: there was none."""


class KeptUsage(Spent):
    """What replies took when they were made, of those that were kept from before and used again.

    An earlier run had asked for them, or another system. Each counts once, however often it is
    used; what was asked for in the same fetch or round is not among them. A sum of tokens leaves
    out replies whose tokens are not known.
    """

    uncounted: int = 0
    """Of the requests, those whose tokens are not known, as the endpoint did not count them."""


class ModelUsage(Spent):
    """What asking a language model took, in one fetch or one round of judging.

    Requests, tokens, cost and seconds are of what was asked in it; what was kept from before and
    used again had taken what ``kept`` says, so both together are what the answers took.
    """

    part: str
    """What asked, such as the reranker llm_listwise."""
    model: str
    """The model that was asked."""
    answered: int
    """Questions with a usable answer, from the model or kept from before."""
    cached: int
    """Questions whose answer was kept from before, and that were not asked."""
    retried: int
    """Requests that were repeated: no answer, or none that could be read."""
    failed: int
    """Questions without a usable answer in the end."""
    fallen_back: int
    """Of these, those for which something else was taken: the incoming order, the plain query."""
    unanswered: int = 0
    """Questions that failed without any answer, as the endpoint was busy or gone: what was taken in
    their place is not kept, and the same command asks them again."""
    unreadable: int
    """Answers that could not be read."""
    kept: KeptUsage | None = None
    """What replies had taken that were kept from before; null: not known, as of embedders, whose
    vectors are kept without it."""
