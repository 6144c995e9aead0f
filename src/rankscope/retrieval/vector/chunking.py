"""Long documents in chunks: windows of words, embedded one by one."""

from __future__ import annotations

import re
from typing import Self

from pydantic import Field, model_validator

from rankscope.retrieval.options import Options, SpecError

_TOKEN = re.compile(r"\w+|[^\w\s]")


class ChunkOptions(Options):
    """How documents are cut: fixed windows, or sliding ones if there is an overlap."""

    tokens: int = Field(ge=1)
    """How many tokens a chunk has at most; a word or a sign is one."""
    overlap: int = Field(default=0, ge=0)
    """How many tokens a chunk shares with the one before it."""

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.overlap >= self.tokens:
            raise SpecError(
                f"chunks of {self.tokens} tokens cannot overlap by {self.overlap}; the overlap "
                "must be smaller"
            )
        return self


def chunks_of(text: str, options: ChunkOptions | None) -> list[str]:
    """Cut a text into windows; the last one ends with the text, an empty text has none.

    >>> chunks_of("one two, three", ChunkOptions(tokens=2, overlap=1))
    ['one two', 'two,', ', three']
    """
    if not text.strip():
        return []
    if options is None:
        return [text]
    spans = [match.span() for match in _TOKEN.finditer(text)]
    step = options.tokens - options.overlap
    last = max(len(spans) - options.overlap, 1)
    windows = (spans[low : low + options.tokens] for low in range(0, last, step))
    return [text[window[0][0] : window[-1][1]] for window in windows]
