"""What asking takes: counted for the record, and held against a budget.

A request is let through only if it fits into the budget at its largest: so many tokens as its text
may have, and as many as an answer may have. What it really took replaces that as soon as it is
known. Where the budget is nearly used up, a request waits for those under way: they may take less.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Condition
from typing import Any

import numpy as np

from rankscope.errors import InputError, counted
from rankscope.records.origin import KeptUsage, ModelUsage
from rankscope.retrieval.answers import Receipt
from rankscope.retrieval.llm.llm_options import Budget, LlmOptions, Price

MILLION = 1_000_000

CHARACTERS_PER_TOKEN = 3
"""For an estimate before an endpoint has counted; rather too many tokens than too few."""

BYTES_PER_TOKEN = 2
"""The same for letters that are not ASCII: a Chinese one is up to one and a half tokens."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens sent and received."""

    prompt: int = 0
    completion: int = 0

    @property
    def all(self) -> int:
        """Both together."""
        return self.prompt + self.completion

    def cost(self, price: Price | None) -> float | None:
        """Return what they cost; None if no price is stated."""
        if price is None:
            return None
        return (self.prompt * price.prompt + self.completion * price.completion) / MILLION

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.prompt + other.prompt, self.completion + other.completion)

    def __sub__(self, other: Tokens) -> Tokens:
        return Tokens(self.prompt - other.prompt, self.completion - other.completion)


def estimated(sent: object, longest_answer: int) -> Tokens:
    """Return about how many tokens a request may take at most; ``sent`` is plain data.

    >>> estimated(["leek soup"], 10), estimated(["韭菜汤"], 10)
    (Tokens(prompt=5, completion=10), Tokens(prompt=7, completion=10))
    """
    text = json.dumps(sent, ensure_ascii=False)
    others = [sign for sign in text if not sign.isascii()]
    size = len("".join(others).encode("utf-8", "surrogatepass"))
    plain = -(-(len(text) - len(others)) // CHARACTERS_PER_TOKEN)
    return Tokens(plain + -(-size // BYTES_PER_TOKEN), longest_answer)


class Meter:
    """Counts what a part asks of a model; several threads may use it at the same time."""

    def __init__(self, part: str, options: LlmOptions) -> None:
        self._part = part
        self._model = options.model
        self._price: Price | None = options.price
        self._budget = options.budget or Budget()
        self._changed = Condition()
        self._counts: Counter[str] = Counter()
        self._used = Tokens()
        self._charged = Tokens()  # what counts for the budget, with estimates where needed
        self._seconds: list[float] = []
        self._under_way = 0
        self._reserved = Tokens()
        self._cached: list[Receipt] = []

    def count(self, name: str, number: int = 1) -> None:
        """Count a question: answered, cached, failed, fallen_back, unanswered, unreadable."""
        with self._changed:
            self._counts[name] += number

    def count_cached(self, receipt: Receipt) -> None:
        """Count what a reply had taken that was cached before."""
        with self._changed:
            self._cached.append(receipt)

    @property
    def unanswered(self) -> int:
        """Questions without any answer, of those that may have one the next time."""
        with self._changed:
            return self._counts["unanswered"]

    def reserve(self, most: Tokens, *, is_repeat: bool) -> None:
        """Let a request through, or stop: the budget would be exceeded.

        Raises:
            InputError: says what was used.
        """
        with self._changed:
            while (limit := self._exceeded(most)) and self._under_way:
                self._changed.wait(0.1)
            if limit:
                raise InputError(
                    f"{self._part}: the next request could exceed the budget of {limit}; used so "
                    f"far: {self._so_far()}; answers so far are kept, so raise the budget and go on"
                )
            self._under_way += 1
            self._reserved += most
            self._counts["requests"] += 1
            self._counts["retried"] += is_repeat

    def settle(self, most: Tokens, took: Tokens | None, seconds: float) -> None:
        """Replace what a request may have taken by what it took; None: nobody knows."""
        with self._changed:
            self._under_way -= 1
            self._reserved -= most
            self._used += took or Tokens()
            self._charged += most if took is None else took
            self._seconds.append(seconds)
            self._changed.notify_all()

    def _exceeded(self, more: Tokens) -> str:
        """Say which limit a further request could exceed; '' if none."""
        whole = self._charged + self._reserved + more
        requests, tokens, money = self._budget.requests, self._budget.tokens, self._budget.money
        if requests is not None and self._counts["requests"] + 1 > requests:
            return counted(requests, "request")
        if tokens is not None and whole.all > tokens:
            return counted(tokens, "token")
        if money is not None and (whole.cost(self._price) or 0.0) > money:
            return f"{money:g} in money"
        return ""

    def _so_far(self) -> str:
        cost = self._used.cost(self._price)
        money = "" if cost is None else f", {cost:.4g} in money"
        requests = counted(self._counts["requests"], "request")
        more = self._charged.all - self._used.all
        uncounted = f", and up to {counted(more, 'token')} that nobody counted" if more else ""
        return f"{requests}, {counted(self._used.all, 'token')}{money}{uncounted}"

    def usage(self, *, with_cached: bool = False) -> ModelUsage:
        """Return all counts, for the record; if wanted, with what cached replies had taken."""
        with self._changed:
            counts, cached = Counter(self._counts), list(self._cached)
            spent = self._spent(self._used, self._seconds)
        known = [
            Tokens(receipt.prompt_tokens, receipt.completion_tokens)
            for receipt in cached
            if receipt.prompt_tokens is not None and receipt.completion_tokens is not None
        ]
        tokens = sum(known, Tokens()) if known or not cached else None
        of_cached = KeptUsage(
            requests=len(cached),
            uncounted=len(cached) - len(known),
            **self._spent(tokens, [receipt.seconds for receipt in cached]),
        )
        names = (
            *("requests", "answered", "cached", "retried"),
            *("failed", "fallen_back", "unanswered", "unreadable"),
        )
        return ModelUsage(
            part=self._part,
            model=self._model,
            kept=of_cached if with_cached else None,
            **{name: counts[name] for name in names},
            **spent,
        )

    def _spent(self, tokens: Tokens | None, seconds: Sequence[float]) -> dict[str, Any]:
        """Return what requests took; None: nobody knows."""
        p50, p95 = np.percentile(seconds, [50, 95]).tolist() if seconds else (None, None)
        return {
            "prompt_tokens": None if tokens is None else tokens.prompt,
            "completion_tokens": None if tokens is None else tokens.completion,
            "cost": None if tokens is None else tokens.cost(self._price),
            "seconds": sum(seconds),
            "p50": p50,
            "p95": p95,
        }
