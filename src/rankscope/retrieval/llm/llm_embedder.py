"""Embeddings by a model behind an OpenAI-compatible endpoint.

``{vector: {embedder: {llm: {url: http://host/v1, model: NAME}}}}``. Vectors are kept as those of
any embedder are, so a text is sent once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from rankscope.errors import InputError, shown
from rankscope.records.origin import ModelUsage
from rankscope.retrieval.llm.answer_forms import UnreadableError
from rankscope.retrieval.llm.client import Client, NoAnswerError
from rankscope.retrieval.llm.llm_options import LlmOptions
from rankscope.retrieval.llm.spending import estimated
from rankscope.retrieval.protocol import Capabilities
from rankscope.retrieval.registry import Context
from rankscope.retrieval.vector.embedders import EMBEDDERS, Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class LlmEmbedderOptions(LlmOptions):
    """A model that embeds."""

    dimensions: int | None = Field(default=None, ge=1)
    """The length of the vectors: asked of the endpoint, and checked. If not given, the model's
    own."""
    batch: int = Field(default=64, ge=1, le=2048)
    """How many texts are sent at once."""


@EMBEDDERS.add("llm", LlmEmbedderOptions, summary="a model behind an OpenAI-compatible endpoint")
class LlmEmbedder(Embedder):
    """Vectors of texts, several requests at a time."""

    capabilities = Capabilities(deterministic=False, concurrent=True, remote=True)
    seconds_to_answer = 60.0

    def __init__(self, options: LlmEmbedderOptions, context: Context) -> None:
        self.options: LlmEmbedderOptions = options
        self._client = Client(options, part="the embedder llm", owner=self)
        self._attempt = context.attempt

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"llm {self.options.model}"

    def described(self) -> dict[str, Any]:
        """Say what model this is; nothing kept from another attempt is used."""
        attempt = {"attempt": self._attempt} if self._attempt else {}
        dimensions = {"dimensions": self.options.dimensions}
        return {"embedder": "llm", **self.options.named(), **dimensions, **attempt}

    def facts(self) -> Sequence[ModelUsage]:
        """Say what was asked."""
        return [self._client.meter.usage()]

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def embed(self, texts: list[str]) -> Floats:
        """Return the vector of each text."""
        size = self.options.batch
        batches = [texts[low : low + size] for low in range(0, len(texts), size)]
        parts = self._client.each(self._embedded, batches)
        lengths = sorted({part.shape[1] for part in parts})
        if len(lengths) > 1:
            raise InputError(
                f"the embedder {self.name} returned vectors of length {lengths[0]} and of length "
                f"{lengths[-1]}; do several models answer at {shown(self.options.url)}?"
            )
        return np.concatenate(parts)

    def _embedded(self, texts: list[str]) -> Floats:
        body: dict[str, Any] = {"model": self.options.model, "input": texts}
        if self.options.dimensions is not None:
            body["dimensions"] = self.options.dimensions
        meter = self._client.meter
        try:
            vectors = self._client.post(
                "/embeddings",
                body,
                lambda data: _vectors(data, len(texts)),
                probe={**body, "input": ["leek soup"]},
                most=estimated(body, 0),
            )
        except NoAnswerError as error:
            meter.count("failed")
            raise InputError(f"the embedder {self.name}: {error}") from None
        expected, length = self.options.dimensions, vectors.shape[1]
        if expected not in (None, length):
            raise InputError(
                f"the embedder {self.name} returned vectors of length {length}, not of the "
                f"{expected} dimensions asked for; the model may not be able to shorten them"
            )
        meter.count("answered")
        return vectors


def _vectors(data: Any, count: int) -> Floats:
    """Take the vectors out of what an endpoint sent, in the order of the texts."""
    try:
        rows = {row["index"]: row["embedding"] for row in data["data"]}
        number = len(data["data"])
        with np.errstate(over="ignore"):  # what single precision cannot hold is infinite
            vectors = np.array([*map(rows.get, range(count))], np.float64).astype(np.float32)
    except (TypeError, KeyError, ValueError, OverflowError):
        raise UnreadableError("there is no list of numbers in it for each text") from None
    if number != count or vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
        raise UnreadableError(f"there are no {count} embeddings in it, finite and equally long")
    return vectors
