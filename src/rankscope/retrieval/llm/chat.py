"""Questions in words: an answer that fits its form, or none.

What cannot be read is sent back with what is wrong; replies are cached, and not asked for again.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from rankscope.errors import counted, shown
from rankscope.records.origin import ModelUsage, fingerprint
from rankscope.retrieval.answers import Receipt
from rankscope.retrieval.llm.answer_forms import Form, T, UnreadableError
from rankscope.retrieval.llm.client import Client, NoAnswerError, read_usage
from rankscope.retrieval.llm.llm_options import ChatOptions
from rankscope.retrieval.llm.prompts import Message, quoted_reply, read_prompt, repair
from rankscope.retrieval.llm.replies import Outcome, Replies, Reply
from rankscope.retrieval.llm.spending import estimated
from rankscope.retrieval.protocol import Capabilities, Component
from rankscope.retrieval.registry import Context
from rankscope.retrieval.stages.stage import Part

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The answer to a question; None if there is none that can be used.

    ``seconds`` is how long it took; of cached replies, how long they took when they were made. So a
    system looks as fast when its replies are cached as it was when they were asked for.
    """

    value: T | None
    seconds: float
    problem: str = ""
    is_unreadable: bool = False
    """There were replies, and none could be read."""


class Chat:
    """Asks questions in words, and reads the answers."""

    def __init__(
        self,
        options: ChatOptions,
        context: Context,
        *,
        part: str,
        owner: Component | None = None,
    ) -> None:
        self.options = options
        self.client = Client(options, part=part, owner=owner)
        self.meter = self.client.meter
        self._replies = Replies(context.cache, options.named())
        self._receipts: dict[str, dict[Receipt, None]] = {}
        self._asker = fingerprint(part, options.named())
        self._attempt = context.attempt
        self._has_read, self._unread = False, 0

    def ask(
        self,
        messages: Sequence[Message],
        form: Form[T],
        *,
        attempt: int = 0,
        query_id: str | None = None,
    ) -> Answer[T]:
        """Return the answer to a question.

        ``attempt``: with another number the same question is asked anew. ``query_id``: which query
        it is asked to answer; what the reply took is recorded for it.

        Raises:
            InputError: there will be no answer to any question.
        """
        exchange = list(messages)
        seconds, is_new, problem = 0.0, False, ""
        for number in range(self.options.retries + 1):
            body = self._body(exchange)
            sent: dict[str, Any] = {"sent": body, "attempt": [self._attempt, attempt]}
            if number > 1:  # the same wrong answer again is no reason to give up
                sent["repetition"] = number
            began = time.perf_counter()
            try:
                outcome = self._replies.get(sent, lambda: self._reply(body, number > 0))  # noqa: B023
            except NoAnswerError as error:
                self.meter.count("failed")
                if not error.is_refused:
                    self.meter.count("unanswered")
                return Answer(None, seconds + time.perf_counter() - began, str(error))
            reply = outcome.reply
            seconds += reply.seconds
            is_new = is_new or outcome.is_new
            self._note(outcome, query_id)
            try:
                value = form(reply.content)
            except UnreadableError as error:
                problem = str(error)
                if reply.finish == "length":
                    problem = f"{problem}, as it was cut off; raise max_tokens"
                elif reply.finish in ("content_filter", "refusal"):
                    problem = f"{problem}, as the model refused to answer"
                self.meter.count("unreadable")
                log.info("%s: an answer cannot be read: %s", self.client.part, problem)
                exchange = [
                    *messages,
                    {"role": "assistant", "content": quoted_reply(reply.content)},
                    {"role": "user", "content": repair(str(error))},
                ]
            else:
                self._has_read, self._unread = True, 0
                self.meter.count("answered")
                if not is_new:
                    self.meter.count("cached")
                return Answer(value, seconds)
        problem = f"the answer cannot be read: {problem}"
        self.meter.count("failed")
        self._unread += 1
        if not self._has_read and self._unread >= self.options.stop_after:
            raise self.client.stop_with(
                f"none of {counted(self._unread, 'answer')} can be read ({problem}); is the model "
                f"{shown(self.options.model)} right, and the prompt? Answers are kept; --fresh, or "
                "another snapshot, asks again"
            )
        return Answer(None, seconds, problem, is_unreadable=True)

    def fell_back(self) -> None:
        """Count that something else was taken in place of an answer."""
        self.meter.count("fallen_back")

    def receipts(self, query_id: str) -> tuple[Receipt, ...]:
        """Return what the replies took that were used to answer a query."""
        return tuple(self._receipts.get(query_id, ()))

    def recall(self, receipts: Sequence[Receipt]) -> None:
        """Count the replies behind answers that are in the store, but for those of other parts."""
        for receipt in receipts:
            if receipt.asker == self._asker and self._replies.use(receipt.reply):
                self.meter.count_cached(receipt)

    def _note(self, outcome: Outcome, query_id: str | None) -> None:
        """Count what a reply took, by itself and for the query that it helps to answer."""
        reply = outcome.reply
        tokens = (reply.prompt_tokens, reply.completion_tokens)
        receipt = Receipt(self._asker, outcome.key, *tokens, reply.seconds)
        if outcome.is_first and not outcome.is_new:
            self.meter.count_cached(receipt)
        if query_id is not None:  # replies of a query may come from several threads, one dict each
            self._receipts.setdefault(query_id, {})[receipt] = None

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {
            "model": self.options.model,
            "messages": [*messages],
            **self.options.parameters(),
        }

    def _reply(self, body: Mapping[str, Any], is_repeat: bool) -> Reply:
        short = [{"role": "user", "content": "Answer with an empty JSON object: {}"}]
        began = time.perf_counter()
        reply = self.client.post(
            "/chat/completions",
            body,
            self._read,
            probe={**body, "messages": short},
            most=estimated(body, self.options.longest_answer()),
            is_repeat=is_repeat,
        )
        return replace(reply, seconds=time.perf_counter() - began)

    def _read(self, data: Any) -> Reply:
        """Take the answer out of what an endpoint sent."""
        try:
            choice = data["choices"][0]
            message = choice["message"]
            content, refusal = message.get("content"), message.get("refusal")
            finish = "refusal" if refusal else choice.get("finish_reason")
        except (TypeError, KeyError, IndexError, AttributeError):
            raise UnreadableError("there is no message in it") from None
        text = content if content is not None else refusal
        if text is not None and not isinstance(text, str):
            raise UnreadableError("its message is not a text")
        took = read_usage(data)
        return Reply(
            content=self.client.hide_in_answer(_HALF.sub("\ufffd", text or "")),
            finish=finish if isinstance(finish, str) else "",
            prompt_tokens=None if took is None else took.prompt,
            completion_tokens=None if took is None else took.completion,
            seconds=0.0,
        )


_HALF = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair, which cannot be sent back."""


class Asking(Part):
    """A part of a stage that asks a language model, by a prompt."""

    capabilities = Capabilities(deterministic=False, concurrent=True, remote=True)
    seconds_to_answer = 60.0
    options: ChatOptions

    def __init__(self, context: Context, *, part: str, prompt: str, places: Sequence[str]) -> None:
        options = self.options
        path = None if options.prompt is None else context.path(options.prompt)
        self._prompt = read_prompt(prompt, path, places)
        self._chat = Chat(options, context, part=part, owner=self)

    def facts(self) -> Sequence[ModelUsage]:
        """Say what was asked."""
        return [self._chat.meter.usage(with_cached=True)]

    def receipts(self, query_id: str) -> Sequence[Receipt]:
        """Return what the replies took that were used to answer a query."""
        return self._chat.receipts(query_id)

    def recall(self, receipts: Sequence[Receipt]) -> None:
        """Count what the answers in the store had taken."""
        self._chat.recall(receipts)

    def unanswered(self) -> int:
        """Say how many questions had no answer, and may have one the next time."""
        return self._chat.meter.unanswered

    def close(self) -> None:
        """Close all connections."""
        self._chat.client.close()
