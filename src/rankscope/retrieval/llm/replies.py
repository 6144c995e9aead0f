"""Replies of language models, cached by a hash of all that was sent, so nothing is asked twice.

A reply is cached as the model gave it, also one that cannot be read: the same question has the same
answer the next time, and the same counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from rankscope.records.origin import fingerprint
from rankscope.retrieval.cache_entries import make_folder, read_entry, write_entry


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered: its text, why it ended there, and how many tokens that took.

    Tokens that nobody counted are None.
    """

    content: str
    finish: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    """How long the answer took when it was asked for."""


class Outcome(NamedTuple):
    """A reply, the key it is cached under, and where it is from."""

    reply: Reply
    key: str
    is_new: bool
    """It was asked for now."""
    is_first: bool
    """It was not used before."""


class Replies:
    """The replies of one model; without a folder they are known as long as this lives."""

    def __init__(self, cache: Path | None, model: object) -> None:
        self._folder = None if cache is None else cache / "replies" / fingerprint(model)
        self._known: dict[str, Reply] = {}
        self._turns: dict[str, Lock] = {}
        self._used: set[str] = set()
        self._lock = Lock()

    def use(self, key: str) -> bool:
        """Tell whether a reply is used for the first time; from now on it was used."""
        with self._lock:
            is_first = key not in self._used
            self._used.add(key)
        return is_first

    def get(self, sent: object, ask: Callable[[], Reply]) -> Outcome:
        """Return the reply to what is ``sent``, asking only if there is none.

        ``sent`` is plain data, without any secret. Of several threads that send the same, one asks.
        """
        key = fingerprint(sent)
        with self._lock:
            turn = self._turns.setdefault(key, Lock())
        with turn:
            reply = self._cached(key)
            is_new = reply is None
            if reply is None:
                reply = ask()
                self._write(key, reply)
            return Outcome(reply, key, is_new, self.use(key))

    def _cached(self, key: str) -> Reply | None:
        if self._folder is None:
            return self._known.get(key)
        content = read_entry(self._folder / f"{key}.reply")
        if content is None:
            return None
        try:
            return Reply(**json.loads(content))
        except (ValueError, TypeError):  # of another version
            return None

    def _write(self, key: str, reply: Reply) -> None:
        if self._folder is None:
            self._known[key] = reply
        else:
            text = json.dumps(asdict(reply), ensure_ascii=False)
            path = make_folder(self._folder) / f"{key}.reply"
            write_entry(path, text.encode("utf-8", "surrogatepass"))
