"""Embeddings that are made once: kept by content of the text and model, in shards on disk.

Texts without an embedding are embedded a shard at a time, and every finished shard is kept, so a
run that is stopped goes on where it was. Each text is embedded once, however often it occurs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from rankscope.entries import (
    make_folder,
    read_arrays,
    read_entry,
    write_arrays,
    write_entry,
)
from rankscope.errors import InputError
from rankscope.retrieval.progress import report
from rankscope.retrieval.protocol import fingerprint
from rankscope.retrieval.vector.embedders import Embedder, embedded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

SHARD = 1024
"""How many texts are embedded before the result is kept."""

_BYTES = 16


class Embeddings:
    """The vectors of texts under one model, of length 1 each (or 0, where there is no direction).

    ``embedded_texts`` counts those that were embedded, which a second run should leave at 0.
    """

    def __init__(self, embedder: Embedder, cache: Path | None) -> None:
        self.embedder = embedder
        self.embedded_texts = 0
        self._cache = cache
        self._known: dict[bytes, tuple[str, int]] | None = None
        self._size: int | None = None
        self._lock = Lock()

    @cached_property
    def _folder(self) -> Path | None:
        """Where they are kept; found when first needed, as a model may have to be looked up."""
        if self._cache is None:
            return None
        return self._cache / "embeddings" / fingerprint(self.embedder.described())

    def of(self, texts: Sequence[str]) -> Floats:
        """Return one vector for each text.

        Raises:
            InputError: the embedder does not give one finite vector of one length for each.
        """
        with self._lock:
            return self._of(texts)

    def _of(self, texts: Sequence[str]) -> Floats:
        digests = [_digest(text) for text in texts]
        first: dict[bytes, int] = {}
        for at, digest in enumerate(digests):
            first.setdefault(digest, at)
        rows: dict[bytes, int] = {}
        parts = [self._loaded(first, rows)]
        missing = [at for digest, at in first.items() if digest not in rows]
        for low in range(0, len(missing), SHARD):
            shard = missing[low : low + SHARD]
            begin = sum(map(len, parts))
            rows.update({digests[at]: begin + place for place, at in enumerate(shard)})
            parts.append(self._make([texts[at] for at in shard], [digests[at] for at in shard]))
            report(low + len(shard), len(missing))
        filled = [part for part in parts if len(part)]
        if not filled:
            return np.zeros((0, self._size or 1), np.float32)
        vectors = np.concatenate(filled) if len(filled) > 1 else filled[0]
        order = [rows[digest] for digest in digests]
        return vectors if order == list(range(len(vectors))) else vectors[order]

    def _make(self, texts: list[str], digests: list[bytes]) -> Floats:
        vectors = embedded(self.embedder, texts)
        self._check_size(vectors)
        vectors = _of_length_one(vectors)
        self.embedded_texts += len(texts)
        if self._folder is not None:
            content = b"".join(digests)
            name = hashlib.sha256(content).hexdigest()
            folder = make_folder(self._folder)
            write_arrays(folder / f"{name}.vectors", {"vectors": vectors})
            write_entry(folder / f"{name}.texts", content)  # last: what it names is complete
            if self._known is not None:
                self._known.update({digest: (name, at) for at, digest in enumerate(digests)})
        return vectors

    def _check_size(self, vectors: Floats) -> None:
        size = vectors.shape[1]
        if self._size not in (None, size):
            raise InputError(
                f"the embedder {self.embedder.name} returned vectors of length {size}, "
                f"and of length {self._size} before"
            )
        self._size = size

    def _loaded(self, wanted: dict[bytes, int], rows: dict[bytes, int]) -> Floats:
        """Load what is on disk of the wanted texts; ``rows`` gets the row of each in the result."""
        parts: list[Floats] = []
        begin = 0
        for name, places in self._shards(wanted).items():
            vectors = self._vectors(name)
            if vectors is None:
                continue
            rows.update({digest: begin + at for at, digest in enumerate(places)})
            takes = list(places.values())
            parts.append(vectors if takes == list(range(len(vectors))) else vectors[takes])
            begin += len(takes)
        return np.concatenate(parts) if parts else np.zeros((0, self._size or 1), np.float32)

    def _vectors(self, name: str) -> Floats | None:
        """Read the vectors of a shard; a damaged shard is removed, to be made again."""
        if self._folder is None:
            return None
        stored = read_arrays(self._folder / f"{name}.vectors")
        if stored is None:
            (self._folder / f"{name}.texts").unlink(missing_ok=True)
            return None
        vectors: Floats = stored["vectors"]
        self._check_size(vectors)
        return vectors

    def _shards(self, wanted: dict[bytes, int]) -> dict[str, dict[bytes, int]]:
        """Return the shards that hold wanted texts, and the row of each."""
        if self._folder is None:
            return {}
        if self._known is None:
            self._known = _listed(self._folder)
        needed: dict[str, dict[bytes, int]] = {}
        for digest in wanted:
            if digest in self._known:
                name, row = self._known[digest]
                needed.setdefault(name, {})[digest] = row
        return needed


def _listed(folder: Path) -> dict[bytes, tuple[str, int]]:
    """Read which texts each shard holds."""
    known: dict[bytes, tuple[str, int]] = {}
    for path in sorted(folder.glob("*.texts")):
        content = read_entry(path) or b""
        for row, at in enumerate(range(0, len(content), _BYTES)):
            known[content[at : at + _BYTES]] = (path.stem, row)
    return known


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()


def _of_length_one(vectors: Floats) -> Floats:
    """Scale vectors to length 1; one of length 0 stays."""
    lengths = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    lengths[lengths == 0] = 1
    scaled: Floats = (vectors / lengths).astype(np.float32)
    return scaled
