"""Asking a language model: one client for chat and embeddings of an OpenAI-compatible endpoint.

What is not answered is retried, and in the end the part that asks goes on without. A mistake of
the user's (address, key, model, parameter), an exhausted budget and an endpoint that is gone stop
everything with one sentence; replies so far are kept.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rankscope.errors import InputError, counted, shown
from rankscope.retrieval.hiding import SHORT, Hider
from rankscope.retrieval.llm.answer_forms import UnreadableError
from rankscope.retrieval.llm.llm_options import LlmOptions
from rankscope.retrieval.llm.spending import Meter, Tokens
from rankscope.retrieval.protocol import Component
from rankscope.retrieval.waiting import Pace, Stop
from rankscope.retrieval.web import REFUSED, Web, WebError

log = logging.getLogger(__name__)

T = TypeVar("T")
Item = TypeVar("Item")

LONGEST_WAIT = 600.0
"""An endpoint that asks to be left alone for more seconds than this is not waited for."""

MOST_TOKENS = 10**9
"""An endpoint that counts more tokens for one request does not count."""


class NoAnswerError(Exception):
    """A question without an answer, in one sentence; the next one may have one.

    ``is_refused``: the endpoint refuses it, and would refuse it again.
    """

    def __init__(self, problem: str, *, is_refused: bool = False) -> None:
        super().__init__(problem)
        self.is_refused = is_refused


class Client:
    """Asks one model for one part; several threads may use it at the same time."""

    def __init__(self, options: LlmOptions, *, part: str, owner: Component | None = None) -> None:
        self.options = options
        self.part = part
        self.meter = Meter(part, options)
        self._web = Web(options.for_web(), needed_for=part, extra="llm", connections=options.jobs)
        weakref.finalize(self, self._web.close)  # where nobody closes it
        self._turns = threading.BoundedSemaphore(options.jobs)
        self._stop = _ClientStop(self, owner)
        self._pace = Pace(self._stop, options.rate)
        secrets = options.secrets()
        self._hider = Hider(dict.fromkeys(secrets, "…"))
        long = [secret for secret in secrets if len(secret) >= SHORT]
        self._answer_hider = Hider(dict.fromkeys(long, "…"))
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        self.fatal: str | None = None
        self._was_answered = False
        self._unanswered_in_a_row = 0

    def close(self) -> None:
        """Close all connections; calls that were left behind ask nothing more."""
        self.fatal = self.fatal or f"{self.part} is closed; build the system anew"
        self._web.close()

    def hide_in_answer(self, text: str) -> str:
        """Take keys out of an answer; a header such as ``1`` is no key, and may be the answer."""
        return self._answer_hider.hide(text)

    def stop_with(self, problem: str) -> InputError:
        """Let nothing more be asked, and return why."""
        problem = f"{self.part}: {problem}"
        self.fatal = self.fatal or problem
        return InputError(problem)

    # --- one request ---------------------------------------------------------------------------

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[Any], T],
        *,
        probe: Mapping[str, Any],
        most: Tokens,
        is_repeat: bool = False,
    ) -> T:
        """Send a request, repeat it where that may help, and return what ``read`` makes of it.

        ``probe`` is a request that any endpoint answers whose address, model and parameters are
        right; ``most`` is what the request may take; ``is_repeat``: it repeats an earlier one.

        Raises:
            NoAnswerError: there is no answer.
            InputError: there will be none to any question.
        """
        problem = "no answer"
        for attempt in range(self.options.retries + 1):
            try:
                return self._once(path, body, read, most, is_repeat=is_repeat or attempt > 0)
            except UnreadableError as error:
                problem = f"{self._web.host} sent something else than an answer: {error}"
            except WebError as error:
                problem = self._hider.hide(str(error))
                if not error.may_repeat:
                    self._stop_if_hopeless(error.status, problem, path)
                    self._probe(path, probe, most)
                    self._count_unanswered(problem)
                    raise NoAnswerError(problem, is_refused=True) from None
                self._wait_as_asked(getattr(error, "retry_after", None), problem)
            if attempt < self.options.retries:
                seconds = self.options.pause * 2**attempt * random.uniform(0.75, 1.25)
                log.info("%s: %s; retrying in %.1f s", self.part, problem, seconds)
                self._stop.sleep(seconds)
        if not self._was_answered:
            try:
                self._web.reach()
            except InputError as error:
                self.fatal = self.fatal or str(error)
                raise
        self._count_unanswered(problem)
        raise NoAnswerError(problem)

    def _once(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[Any], T],
        most: Tokens,
        *,
        is_repeat: bool,
    ) -> T:
        with self._turns:
            self._pace.wait_for(1)
            self._stop.check()
            try:
                self.meter.reserve(most, is_repeat=is_repeat)
            except InputError as error:
                self.fatal = self.fatal or str(error)
                raise
            began = time.perf_counter()
            took: Tokens | None = None  # nobody knows: an answer that was never read may cost
            try:
                data = self._web.json(
                    "POST",
                    path,
                    body,
                    params=self.options.params or None,
                    seconds=self.options.timeout,
                )
                took = read_usage(data)
                answer = read(data)
            except WebError as error:
                if error.status is not None or not error.was_sent:
                    took = Tokens()
                raise
            finally:
                self.meter.settle(most, took, time.perf_counter() - began)
        with self._lock:
            self._was_answered, self._unanswered_in_a_row = True, 0
        return answer

    def _wait_as_asked(self, wait: float | None, problem: str) -> None:
        """Ask nothing for as long as the endpoint wants."""
        if wait is not None and wait > LONGEST_WAIT:
            raise self.stop_with(
                f"{problem}, and it asks to wait {wait:,.0f} s; answers so far are kept, so try "
                "again later"
            )
        if wait is not None:
            self._pace.hold(wait)

    def _stop_if_hopeless(self, status: int | None, problem: str, path: str) -> None:
        """Raise if a refusal is about the address, the key or the model, not the question."""
        options = self.options
        if status in (401, 403, 407):
            has_key = options.key is not None or options.headers
            remedy = (
                "check the key and the variable that holds it"
                if has_key
                else "it wants a key: add key: ${NAME}"
            )
            raise self.stop_with(f"{problem}; {remedy}; answers so far are kept")
        if status in REFUSED:
            raise self.stop_with(
                f"{problem}; is {shown(options.url)} the address that {path} is added to, and "
                f"{shown(options.model)} a model of it?"
            )
        if status is None or not 400 <= status < 500 or status == 402:
            raise self.stop_with(f"{problem}; answers so far are kept")

    def _probe(self, path: str, probe: Mapping[str, Any], most: Tokens) -> None:
        """Where nothing was answered yet, raise if even a short question is refused."""
        with self._probing:
            if self._was_answered:
                return
            try:
                self._once(path, probe, lambda _: None, replace(most, prompt=100), is_repeat=False)
            except WebError as refusal:
                if not refusal.may_repeat:
                    raise self.stop_with(
                        f"{self._hider.hide(str(refusal))}; even a short question is refused, so "
                        f"check the model {shown(self.options.model)} and the parameters that are "
                        "sent"
                    ) from None

    def _count_unanswered(self, problem: str) -> None:
        """Count a question without an answer; raise if there was none to many in a row."""
        with self._lock:
            self._unanswered_in_a_row += 1
            count = self._unanswered_in_a_row
        if count >= self.options.stop_after:
            raise self.stop_with(
                f"no answer to the last {counted(count, 'question')} ({problem}); answers so far "
                "are kept, so run this again when the endpoint answers"
            )

    # --- many at a time ------------------------------------------------------------------------

    def each(self, work: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
        """Do some work for each item, several at a time, and return what comes of it in order.

        The threads end with the process, whatever they wait for.
        """
        results: dict[int, T] = {}
        errors: list[BaseException] = []
        places = iter(range(len(items)))

        def worker() -> None:
            while not errors:
                with self._lock:
                    place = next(places, None)
                if place is None:
                    return
                try:
                    results[place] = work(items[place])
                except BaseException as error:
                    errors.append(error)

        threads = [
            threading.Thread(target=worker, daemon=True)
            for _ in range(min(self.options.jobs, len(items)))
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.5)
        except BaseException as error:
            errors.append(error)  # no further item is begun
            raise
        if errors:
            raise errors[0]
        return [results[place] for place in range(len(items))]


class _ClientStop(Stop):
    """Ends waiting when the fetch that is going on has to end, or nothing more is asked."""

    def __init__(self, client: Client, owner: Component | None) -> None:
        super().__init__(None)
        self._client, self._owner = client, owner

    def check(self) -> None:
        """Raise if nothing more may be asked."""
        if self._client.fatal is not None:
            raise InputError(self._client.fatal)
        if self._owner is not None:
            self._owner.work.check()


def read_usage(data: Any) -> Tokens | None:
    """Return how many tokens an endpoint counted; None if it does not say."""
    usage = data.get("usage") if isinstance(data, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    counts = [usage.get("prompt_tokens"), usage.get("completion_tokens", 0)]
    if not all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts):
        return None
    return Tokens(*counts)
