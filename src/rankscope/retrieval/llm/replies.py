"""Replies of language models, kept by a hash of all that was sent, so that nothing is asked twice.

A reply is kept as the model gave it, also one that cannot be read: the same question has the same
answer the next time, and the same counts. A question that is under way is not asked a second time
meanwhile; whoever asks it waits for the first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple

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


Source = Literal["asked", "kept", "shared"]
"""Where a reply is from: asked for now, kept from before, or what another thread asked for."""


class Outcome(NamedTuple):
    """A reply, where it is from, what it is kept under, and whether it was not used before."""

    reply: Reply
    source: Source
    key: str
    is_first: bool


class Replies:
    """The replies of one model; without a folder they are kept as long as this lives."""

    def __init__(self, cache: Path | None, model: object) -> None:
        self._folder = None if cache is None else cache / "replies" / fingerprint(model)
        self._known: dict[str, Reply] = {}
        self._under_way: dict[str, Future[Reply]] = {}
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

        ``sent`` is plain data, without any secret.
        """
        key = fingerprint(sent)
        reply = self._kept(key)
        if reply is not None:
            return Outcome(reply, "kept", key, self.use(key))
        with self._lock:
            waiting = self._under_way.get(key)
            if waiting is None:
                mine: Future[Reply] = Future()
                self._under_way[key] = mine
        if waiting is not None:
            return Outcome(waiting.result(), "shared", key, is_first=False)
        try:
            reply = self._kept(key)  # another thread may just have finished
            source: Source = "asked" if reply is None else "kept"
            is_first = self.use(key)  # before others can find it and take it for an earlier one
            if reply is None:
                reply = ask()
                self._keep(key, reply)
            mine.set_result(reply)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._under_way[key]
        return Outcome(reply, source, key, is_first)

    def _kept(self, key: str) -> Reply | None:
        if self._folder is None:
            with self._lock:
                return self._known.get(key)
        content = read_entry(self._folder / f"{key}.reply")
        if content is None:
            return None
        try:
            return Reply(**json.loads(content))
        except (ValueError, TypeError):  # of another version
            return None

    def _keep(self, key: str, reply: Reply) -> None:
        if self._folder is None:
            with self._lock:
                self._known[key] = reply
        else:
            text = json.dumps(asdict(reply), ensure_ascii=False)
            path = make_folder(self._folder) / f"{key}.reply"
            write_entry(path, text.encode("utf-8", "surrogatepass"))
