"""Asking a language model: one client for chat and embeddings of an OpenAI-compatible endpoint.

What is not answered is asked again, and in the end the part that asks goes on without. A mistake of
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
from contextvars import ContextVar, copy_context
from dataclasses import replace
from typing import Any, TypeVar

from rankscope.errors import InputError, counted, shown
from rankscope.retrieval.hiding import SHORT, Hider
from rankscope.retrieval.llm.answer_forms import UnreadableError
from rankscope.retrieval.llm.llm_options import LlmOptions
from rankscope.retrieval.llm.spending import Meter, Tokens
from rankscope.retrieval.llm.stopwatch import counted_as, side_by_side, timed
from rankscope.retrieval.protocol import Component
from rankscope.retrieval.waiting import Pace, Stop
from rankscope.retrieval.web import REFUSED, Web, WebError

log = logging.getLogger(__name__)

T = TypeVar("T")
Item = TypeVar("Item")

LONGEST_WAIT = 600.0
"""An endpoint that asks to be left alone for more seconds than this is not waited for."""

KEPT = "answers so far are kept"

MOST_TOKENS = 10**9
"""An endpoint that counts more tokens for one request does not count."""

_THREADS: ContextVar[int | None] = ContextVar("threads", default=None)
"""How many threads may be started inside a thread, so that there are about ``jobs`` of them."""


class NoAnswerError(Exception):
    """A question without an answer, in one sentence; the next one may have one."""


class RefusedError(NoAnswerError):
    """A question that the endpoint refuses, and would refuse again."""


class NoUsableAnswerError(NoAnswerError):
    """A question whose answers cannot be read."""


class _CurrentStop(Stop):
    """Ends waiting when the fetch that is going on has to end, or nothing more is asked."""

    def __init__(self, fatal: Callable[[], InputError | None], owner: Component | None) -> None:
        super().__init__(None)
        self._fatal, self._owner = fatal, owner

    def check(self) -> None:
        """Raise if nothing more may be asked."""
        fatal = self._fatal()
        if fatal is not None:
            raise InputError(str(fatal))
        if self._owner is not None:
            self._owner.work.check()
        super().check()


class Client:
    """Asks one model for one part; several threads may use it at the same time."""

    def __init__(self, options: LlmOptions, *, part: str, owner: Component | None = None) -> None:
        self.options = options
        self.part = part
        self.meter = Meter(part, options)
        self._web = Web(
            options.for_web(),
            needed_for=part,
            extra="llm",
            connections=options.jobs,
        )
        weakref.finalize(self, self._web.close)  # where nobody closes it
        self._turns = threading.BoundedSemaphore(options.jobs)
        self._stop = _CurrentStop(lambda: self._fatal, owner)
        self._pace = Pace(self._stop, options.rate)
        self._hider = Hider(dict.fromkeys(options.secrets(), "…"))
        keys = [value for value in options.secrets() if len(value) >= SHORT]
        self._answer_hider = Hider(dict.fromkeys(keys, "…"))
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        self._fatal: InputError | None = None
        self._was_answered = False
        self._in_a_row = 0

    def close(self) -> None:
        """Close all connections; calls that were left behind ask nothing more."""
        self._fatal = self._fatal or InputError(f"{self.part} is closed; build the system anew")
        self._web.close()

    def hide_in_answer(self, text: str) -> str:
        """Take keys out of an answer; a header such as ``1`` is no key, and may be the answer."""
        return self._answer_hider.hide(text)

    def hide(self, text: str) -> str:
        """Take keys out of what an endpoint says; it may repeat what it was sent."""
        return self._hider.hide(text)

    # --- one request ---------------------------------------------------------------------------

    def post(  # noqa: PLR0917
        self,
        path: str,
        body: Mapping[str, Any],
        probe: Mapping[str, Any],
        most: Tokens,
        shape: Callable[[Any], T],
        again: bool = False,
    ) -> T:
        """Send a request, repeat it where that may help, and return what ``shape`` makes of it.

        ``probe`` is a request that any endpoint answers whose address, model and parameters are
        right; ``most`` is what the request may take; ``again``: it repeats an earlier one.

        Raises:
            NoAnswerError: there is no answer.
            InputError: there will be none to any question.
        """
        problem = "no answer"
        for attempt in range(self.options.retries + 1):
            try:
                answer = self._once(path, body, most, shape, again or attempt > 0)
            except UnreadableError as error:
                problem = f"{self._web.host} sent something else than an answer: {error}"
            except WebError as error:
                problem = self.hide(str(error))
                if not error.may_repeat:
                    self._refused(error.status, problem, path, probe, most)
                    self._unanswered(problem, is_gone=False)
                    raise RefusedError(problem) from None
                self._wait_as_asked(getattr(error, "retry_after", None), problem)
            else:
                with self._lock:
                    self._was_answered, self._in_a_row = True, 0
                return answer
            if attempt < self.options.retries:
                seconds = self.options.pause * 2**attempt * random.uniform(0.75, 1.25)
                log.info("%s: %s; asking again in %.1f s", self.part, problem, seconds)
                self._stop.sleep(seconds)
        self._unanswered(problem, is_gone=True)
        raise NoAnswerError(problem)

    def _once(
        self,
        path: str,
        body: Mapping[str, Any],
        most: Tokens,
        shape: Callable[[Any], T],
        again: bool,
    ) -> T:
        with self._turns:
            self._pace.wait_for(1)
            self._stop.check()
            self._guarded(lambda: self.meter.reserve(most, again=again))
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
                return shape(data)
            except WebError as error:
                if error.status is not None or not error.was_sent:
                    took = Tokens()
                raise
            finally:
                self.meter.settle(most, took, time.perf_counter() - began)

    def _guarded(self, call: Callable[[], T]) -> T:
        """Make a call; if it is an error of the user's, nothing more is asked."""
        try:
            return call()
        except InputError as error:
            self._fatal = self._fatal or error
            raise

    def stop_with(self, text: str) -> InputError:
        """Let nothing more be asked, and return why."""
        self._fatal = self._fatal or InputError(text)
        return InputError(text)

    def _wait_as_asked(self, wait: float | None, problem: str) -> None:
        """Ask nothing for as long as the endpoint wants."""
        if wait is None:
            return
        if wait > LONGEST_WAIT:
            raise self.stop_with(
                f"{self.part}: {problem}, and it asks to wait {wait:,.0f} s; {KEPT}, so try "
                "again later"
            )
        self._pace.hold(wait)

    def _refused(
        self,
        status: int | None,
        problem: str,
        path: str,
        probe: Mapping[str, Any],
        most: Tokens,
    ) -> None:
        """Raise if the endpoint refuses any question, and not this one only."""
        options = self.options
        if status in (401, 403, 407):
            has_key = options.key is not None or options.headers
            remedy = (
                "check the key and the variable that holds it"
                if has_key
                else "it wants a key: add key: ${NAME}"
            )
            raise self.stop_with(f"{self.part}: {problem}; {remedy}; {KEPT}")
        if status in REFUSED:
            raise self.stop_with(
                f"{self.part}: {problem}; is {shown(options.url)} the address that {path} is added "
                f"to, and {shown(options.model)} a model of it?"
            )
        if status is None or not 400 <= status < 500 or status == 402:
            raise self.stop_with(f"{self.part}: {problem}; {KEPT}")
        with self._probing:
            if self._was_answered:
                return
            try:
                self._once(path, probe, replace(most, prompt=100), lambda _: None, again=False)
            except WebError as refusal:
                if not refusal.may_repeat:
                    why = self.hide(str(refusal))
                    raise self.stop_with(
                        f"{self.part}: {why}; even a short question is refused, so check the "
                        f"model {shown(options.model)} and the parameters that are sent"
                    ) from None
            else:
                self._was_answered = True

    def _unanswered(self, problem: str, *, is_gone: bool) -> None:
        """Count a question without an answer; raise if there was none to many in a row."""
        with self._lock:
            self._in_a_row += 1
            count, was_answered = self._in_a_row, self._was_answered
        if is_gone and not was_answered:
            self._guarded(self._web.reach)
        if count >= self.options.stop_after:
            raise self.stop_with(
                f"{self.part}: no answer to the last {counted(count, 'question')} ({problem}); "
                f"{KEPT}, so run this again when the endpoint answers"
            )

    # --- many at a time ------------------------------------------------------------------------

    def each(self, work: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
        """Do some work for each item, several at a time, and return what comes of it in order."""
        return [result for result, _ in self.each_timed(work, items)]

    def each_timed(self, work: Callable[[Item], T], items: Sequence[Item]) -> list[tuple[T, float]]:
        """Do the same, and return with each result how many seconds it took, whatever was kept.

        Whoever measures the whole counts what it takes with so many at a time.
        """
        allowed = min(_THREADS.get() or self.options.jobs, len(items))

        def measured(item: Item) -> tuple[T, float]:
            with timed() as watch:
                return work(item), watch.seconds

        with counted_as() as spent:
            if allowed < 2:
                results = [measured(item) for item in items]
            else:
                results = self._in_threads(measured, items, allowed)
            spent.append(side_by_side((seconds for _, seconds in results), allowed))
        return results

    def _in_threads(
        self, work: Callable[[Item], T], items: Sequence[Item], allowed: int
    ) -> list[T]:
        """Work in so many threads, which end with the process, whatever they wait for."""
        results: dict[int, T] = {}
        errors: list[BaseException] = []
        places = iter(range(len(items)))
        lock = threading.Lock()

        def worker() -> None:
            _THREADS.set(-(-(_THREADS.get() or self.options.jobs) // allowed))
            while not errors:
                with lock:
                    place = next(places, None)
                if place is None:
                    return
                try:
                    results[place] = work(items[place])
                except BaseException as error:
                    errors.append(error)

        threads = [
            threading.Thread(target=copy_context().run, args=(worker,), daemon=True)
            for _ in range(allowed)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.5)
                    if errors and not isinstance(errors[0], Exception):
                        raise errors[0]
        except BaseException as error:
            errors.append(error)  # no further item is begun
            raise
        if errors:
            raise errors[0]
        return [results[place] for place in range(len(items))]


def read_usage(data: Any) -> Tokens | None:
    """Return how many tokens an endpoint counted; None if it does not say."""
    usage = data.get("usage") if isinstance(data, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    counts = [usage.get("prompt_tokens"), usage.get("completion_tokens", 0)]
    if not all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts):
        return None
    return Tokens(*counts)
