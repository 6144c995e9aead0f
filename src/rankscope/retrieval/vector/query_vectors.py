"""The vectors of queries: made together, and where that fails one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.retrieval.vector.embeddings import Embeddings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


def query_vectors(
    embeddings: Embeddings, texts: list[str], size: int
) -> tuple[Floats, list[str | None]]:
    """Embed queries; if that fails, one by one, so that only the bad ones have no answer.

    ``size`` is the length of the vectors of documents. Returned are the vectors, and for each query
    why it has none.
    """
    try:
        return _checked(embeddings, texts, size), [None] * len(texts)
    except InputError:
        pass
    vectors = np.zeros((len(texts), size), np.float32)
    errors: list[str | None] = []
    for at, text in enumerate(texts):
        try:
            vectors[at] = _checked(embeddings, [text], size)[0]
            errors.append(None)
        except InputError as error:
            errors.append(str(error))
    return vectors, errors


def _checked(embeddings: Embeddings, texts: list[str], size: int) -> Floats:
    vectors = embeddings.of(texts)
    if vectors.shape[1] != size:
        raise InputError(
            f"the embedder {embeddings.embedder.name} returned vectors of length "
            f"{vectors.shape[1]} for queries and of length {size} for documents"
        )
    return vectors
