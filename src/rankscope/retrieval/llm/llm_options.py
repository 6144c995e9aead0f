"""Options of everything that asks a language model: where it is, what is sent, what it may cost.

An identity holds what changes answers (model, prompt, parameters), and neither keys nor how fast,
how often and for how much money the model may be asked.
"""

from __future__ import annotations

import re
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from rankscope.errors import InputError, shown
from rankscope.retrieval.options import Options, Secret, Snapshot, SpecError, Text
from rankscope.retrieval.web import WebOptions

_KEY = re.compile(r"[\x21-\x7e]+")
_PATHS = ("/chat/completions", "/completions", "/embeddings")

_LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")
"""What endpoints call the length of the longest answer."""


class Price(Options):
    """What tokens cost, in any currency."""

    prompt: float = Field(ge=0)
    """For a million tokens sent."""
    completion: float = Field(default=0.0, ge=0)
    """For a million tokens received."""


class Budget(Options):
    """What may be used before asking stops; kept answers cost nothing."""

    requests: int | None = Field(default=None, ge=0)
    """Requests, repeated ones included."""
    tokens: int | None = Field(default=None, ge=0)
    """Tokens sent and received."""
    money: float | None = Field(default=None, ge=0)
    """In the currency of the price."""


class LlmOptions(WebOptions):
    """A model behind an endpoint, and how it may be asked."""

    model: Text
    """The name of the model, as the endpoint knows it."""
    key: Secret | None = None
    """Sent as Authorization: Bearer KEY; write ${NAME} for a variable of the environment. Never
    recorded."""
    snapshot: Snapshot | None = None
    """Which version of the model answers, in your words, such as a date. Answers are kept under
    it: with another one the model is asked again."""
    params: dict[str, Text] = Field(default_factory=dict)
    """Added to the address of each request, where an endpoint wants it; recorded, so no keys."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds that one request may take."""
    jobs: int = Field(default=4, ge=1, le=256)
    """How many requests are under way at the same time."""
    rate: float | None = Field(default=None, gt=0)
    """Requests in a second at most. If not given, any number."""
    retries: int = Field(default=2, ge=0, le=20)
    """How often a question is repeated that has no answer, or none that can be read."""
    pause: float = Field(default=1.0, ge=0)
    """Seconds before the first repetition, twice as long before each further one; an endpoint that
    says how long to wait is heeded."""
    stop_after: int = Field(default=20, ge=1)
    """After so many questions in a row without any answer, asking stops."""
    price: Price | None = None
    """What tokens cost: {prompt: 0.15, completion: 0.6} for a million. If not given, the record
    holds no cost."""
    budget: Budget | None = None
    """What may be used: {requests: 1000, tokens: 1000000, money: 5}. If not given, any amount."""

    @field_validator("url")
    @classmethod
    def _base(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.query or parts.fragment:
            raise InputError(
                "the address holds a query, which would be recorded; use params, or headers for a "
                "key"
            )
        path = parts.path.rstrip("/")
        for ending in _PATHS:
            if path.endswith(ending):
                base = url.rstrip("/").removesuffix(ending)
                raise InputError(
                    f"expected the address that {ending} is added to, got {shown(url)}; write "
                    f"{shown(base)}"
                )
        return url

    @field_validator("key")
    @classmethod
    def _sendable(cls, key: Secret | None) -> Secret | None:
        if isinstance(key, Secret) and not _KEY.fullmatch(key.get_secret_value()):
            raise InputError(
                "the key is empty, or holds a space, a line break or another sign that cannot be "
                "sent; is there one at the end of the variable?"
            )
        return key

    @model_validator(mode="after")
    def _money_has_a_price(self) -> Self:
        if self.budget is not None and self.budget.money is not None and self.price is None:
            raise SpecError("a budget of money needs the option price: what tokens cost")
        return self

    def named(self) -> dict[str, Any]:
        """Say what model answers, for an identity."""
        return {
            "url": self.url.rstrip("/"),
            "model": self.model,
            "snapshot": self.snapshot,
            "params": dict(self.params),
        }

    def for_web(self) -> WebOptions:
        """Return where and with which headers to ask."""
        headers = dict(self.headers)
        if self.key is not None:
            headers["Authorization"] = Secret(f"Bearer {self.key.get_secret_value()}")
        return WebOptions(url=self.url, headers=headers, verify=self.verify)


class ChatOptions(LlmOptions):
    """What a model that answers in words is sent."""

    prompt: Text | None = None
    """A file with a prompt of yours. If not given, the one that comes with rankscope; recorded by
    its hash."""
    characters: int = Field(default=4000, ge=1)
    """How much of a document is sent."""
    temperature: float | None = Field(default=0.0, ge=0)
    """0 for the answer that the model thinks most likely; null: not sent, for models that refuse
    it."""
    seed: int | None = 0
    """Sent with every request; null: not sent."""
    max_tokens: int | None = Field(default=1024, ge=1)
    """The longest answer; null: not sent. A model that thinks before it answers needs more."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """More parameters of the request, as the endpoint knows them, such as
    {response_format: {type: json_object}}; recorded, so no keys."""

    @field_validator("extra")
    @classmethod
    def _leaves_the_rest(cls, extra: dict[str, Any]) -> dict[str, Any]:
        for name in ("model", "messages", "stream"):
            if name in extra:
                raise InputError(f"{name} cannot be set in extra: rankscope sends it itself")
        return extra

    @model_validator(mode="after")
    def _budget_has_a_longest_answer(self) -> Self:
        budget = self.budget
        is_limited = budget is not None and (budget.tokens, budget.money) != (None, None)
        if is_limited and not self.longest_answer():
            raise SpecError(
                "a budget of tokens or money needs to know the longest answer: set max_tokens, or "
                "max_completion_tokens in extra"
            )
        return self

    def longest_answer(self) -> int:
        """Return how many tokens an answer may have; 0: nobody says."""
        sent = self.parameters()
        lengths = [sent[name] for name in _LENGTHS if type(sent.get(name)) is int]
        answers = sent.get("n")
        return max(lengths, default=0) * (answers if type(answers) is int else 1)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of a request beside its messages, as they are sent."""
        sent = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.max_tokens}
        return {**{name: value for name, value in sent.items() if value is not None}, **self.extra}

    def named(self) -> dict[str, Any]:
        """Say what model answers, and what it is sent."""
        return {
            **super().named(),
            "parameters": self.parameters(),
            "characters": self.characters,
        }
