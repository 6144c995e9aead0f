"""Questions in words: an answer that fits its form, or none.

What cannot be read is sent back with what is wrong; replies are kept, and not asked for again.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rankscope.errors import counted, shown
from rankscope.records.origin import ModelUsage, fingerprint
from rankscope.retrieval.answers import Receipt
from rankscope.retrieval.llm.answer_forms import Form, T, UnreadableError
from rankscope.retrieval.llm.client import (
    Client,
    NoAnswerError,
    NoUsableAnswerError,
    RefusedError,
    read_usage,
)
from rankscope.retrieval.llm.llm_options import ChatOptions
from rankscope.retrieval.llm.prompts import Message, quoted_reply, repair
from rankscope.retrieval.llm.replies import Outcome, Replies, Reply
from rankscope.retrieval.llm.spending import KeptMeter, Meter, estimated
from rankscope.retrieval.llm.stopwatch import counted_as
from rankscope.retrieval.protocol import Component
from rankscope.retrieval.registry import Context

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Item = TypeVar("Item")


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
        self._receipts: dict[str, dict[Receipt, None]] = {}
        self._replies = Replies(context.cache, options.named())
        self._kept = KeptMeter(options.price)
        self._asker = fingerprint(part, options.named())
        self._attempt = context.attempt
        self._has_read, self._unread = False, 0

    @property
    def meter(self) -> Meter:
        """What was asked so far."""
        return self.client.meter

    def usage(self) -> ModelUsage:
        """Return what was asked so far, and what replies took that were kept from before."""
        return self.meter.usage(self._kept.usage())

    def recall(self, receipts: Sequence[Receipt]) -> None:
        """Count the replies behind answers that are in the store, but for those of other parts."""
        for receipt in receipts:
            if receipt.asker == self._asker and self._replies.use(receipt.reply):
                self._kept.count(receipt)

    def ask(
        self, messages: Sequence[Message], form: Form[T], *, query_id: str | None = None
    ) -> T | None:
        """Return the answer to a question, or None if there is none that can be used.

        Raises:
            InputError: there will be none to any question.
        """
        try:
            return self.answer(messages, form, query_id=query_id)
        except NoAnswerError:
            return None

    def answer(
        self,
        messages: Sequence[Message],
        form: Form[T],
        *,
        attempt: int = 0,
        query_id: str | None = None,
    ) -> T:
        """Return the answer to a question.

        ``attempt``: with another number the same question is asked anew. ``query_id``: which query
        it is asked to answer; what the reply took is kept under it.

        Raises:
            NoUsableAnswerError: there were answers, and none could be read.
            NoAnswerError: there was none.
            InputError: there will be none to any question.
        """
        exchange = list(messages)
        was_asked, problem = False, ""
        for number in range(self.options.retries + 1):
            body = self._body(exchange, form)
            sent: dict[str, Any] = {"sent": body, "attempt": [self._attempt, attempt]}
            if number > 1:  # the same wrong answer again is no reason to give up
                sent["repetition"] = number
            try:
                with counted_as() as seconds:
                    outcome = self._replies.get(sent, lambda: self._reply(body, number > 0))  # noqa: B023
                    reply = outcome.reply
                    seconds.append(reply.seconds)
            except NoAnswerError as error:
                self.meter.failed(str(error))
                if not isinstance(error, RefusedError):
                    self.meter.count("unanswered")
                raise
            was_asked = was_asked or outcome.source == "asked"
            self._note(outcome, query_id)
            try:
                answer = form.read(reply.content)
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
                if not was_asked:
                    self.meter.count("cached")
                return answer
        self.meter.failed(f"the answer cannot be read: {problem}")
        self._unread += 1
        if not self._has_read and self._unread >= self.options.stop_after:
            raise self.client.stop_with(
                f"{self.client.part}: none of {counted(self._unread, 'answer')} can be read "
                f"({problem}); is the model {shown(self.options.model)} right, and the prompt? "
                "Answers are kept; --fresh, or another snapshot, asks again"
            )
        raise NoUsableAnswerError(f"the answer cannot be read: {problem}")

    def each_timed(
        self, work: Callable[[Item], Answer], queries: Sequence[Item]
    ) -> list[tuple[Answer, float]]:
        """Do some work for each query, several at a time; each takes as long as by itself."""
        return self.client.each_timed(work, queries)

    def fell_back(self) -> None:
        """Count that something else was taken in place of an answer."""
        self.meter.count("fallen_back")

    def receipts(self, query_id: str) -> tuple[Receipt, ...]:
        """Return what the replies took that were used to answer a query."""
        return tuple(self._receipts.get(query_id, ()))

    def _note(self, outcome: Outcome, query_id: str | None) -> None:
        """Count what a reply took, by itself and for the query that it helps to answer."""
        reply = outcome.reply
        tokens = (reply.prompt_tokens, reply.completion_tokens)
        receipt = Receipt(self._asker, outcome.key, *tokens, reply.seconds)
        if outcome.source == "kept" and outcome.is_first:
            self._kept.count(receipt)
        if query_id is not None:  # a query is one thread's business at a time, or a dict's
            self._receipts.setdefault(query_id, {})[receipt] = None

    def _body(self, messages: Sequence[Message], form: Form[Any]) -> dict[str, Any]:
        options = self.options
        body = {"model": options.model, "messages": [*messages], **options.parameters()}
        if options.response_format == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif options.response_format == "json_schema":
            schema = {"name": "answer", "strict": True, "schema": form.schema()}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _reply(self, body: Mapping[str, Any], again: bool) -> Reply:
        short = [{"role": "user", "content": "Answer with an empty JSON object: {}"}]
        began = time.perf_counter()
        reply = self.client.post(
            "/chat/completions",
            body,
            {**body, "messages": short},
            estimated(body, self.options.longest_answer()),
            self._read,
            again,
        )
        return replace(reply, seconds=time.perf_counter() - began)

    def _read(self, data: Any) -> Reply:
        reply = _read_reply(data)
        return replace(reply, content=self.client.hide_in_answer(reply.content))


_HALF = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair, which cannot be sent back."""


def _read_reply(data: Any) -> Reply:
    """Take the answer out of what an endpoint sent."""
    try:
        choice = data["choices"][0]
        message = choice["message"]
        content = message.get("content")
        refusal = message.get("refusal")
        finish = "refusal" if refusal else choice.get("finish_reason")
    except (TypeError, KeyError, IndexError, AttributeError):
        raise UnreadableError("there is no message in it") from None
    text = content if content is not None else refusal
    if text is not None and not isinstance(text, str):
        raise UnreadableError("its message is not a text")
    took = read_usage(data)
    return Reply(
        content=_HALF.sub("\ufffd", text or ""),
        finish=finish if isinstance(finish, str) else "",
        prompt_tokens=None if took is None else took.prompt,
        completion_tokens=None if took is None else took.completion,
        seconds=0.0,
    )


class Asking:
    """What a part says of the model that it asks by its chat."""

    _chat: Chat

    def facts(self) -> Sequence[ModelUsage]:
        """Say what was asked."""
        return [self._chat.usage()]

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
