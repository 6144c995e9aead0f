"""Embeddings that are made once: kept by content of the text and model, in shards on disk.

Texts without an embedding are embedded a shard at a time, and every finished shard is kept, so a
run that is stopped goes on where it was. Each text is embedded once, however often it occurs. The
shards of many texts become one matrix, which is searched where it is, on disk.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.retrieval.cache_entries import (
    Mapped,
    is_whole,
    make_folder,
    map_matrix,
    read_arrays,
    write_arrays,
    write_entry,
    writing_matrix,
)
from rankscope.retrieval.protocol import fingerprint
from rankscope.retrieval.vector.embedders import Embedder, embedded
from rankscope.retrieval.vector.kept_texts import BYTES, KeptTexts, digest, first_of_each

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

SHARD = 1024
"""How many texts are embedded before the result is kept."""

WORTH_KEEPING = 0.002
"""Seconds from which on the vector of a single text, made in this process, is worth a file."""

MAPPED_FROM = 1 << 15
"""From so many texts on, their vectors stay on disk."""

_ROWS = 1 << 15  # of a matrix that are copied at a time
_TRIES = 3  # at a matrix, if shards are damaged


class Embeddings:
    """The vectors of texts under one model, of length 1 each (or 0, where there is no direction).

    ``embedded_texts`` counts those that were embedded, which a second run should leave at 0.
    ``seconds_saved`` adds up what embedding the others had taken, less what keeping takes: a query
    takes that long in use, though its embedding was kept.
    """

    def __init__(self, embedder: Embedder, cache: Path | None) -> None:
        self.embedder = embedder
        self.embedded_texts = 0
        self.seconds_saved = 0.0
        self._cache = cache
        self._known: KeptTexts | None = None
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

    def of_many(self, texts: Iterable[str]) -> Floats | Mapped:
        """Return one vector for each text; of many, in a matrix that stays on disk.

        ``texts`` can be iterated over again, and are never held all at once if they are many.

        Raises:
            InputError: as in `of`.
        """
        with self._lock:
            if self._folder is None:
                return self._of(list(texts))
            digests = bytearray()
            for text in texts:
                digests += digest(text)
            if len(digests) < MAPPED_FROM * BYTES:
                return self._of(list(texts))
            return self._mapped(texts, bytes(digests))

    def _of(self, texts: Sequence[str]) -> Floats:
        digests = [digest(text) for text in texts]
        first: dict[bytes, int] = {}
        for at, each in enumerate(digests):
            first.setdefault(each, at)
        rows: dict[bytes, int] = {}
        vectors = np.zeros((0, self._size or 1), np.float32)
        for kept, part in self._loaded(list(first)):
            vectors = _put(vectors, part, len(rows), len(first))
            rows.update({each: len(rows) + place for place, each in enumerate(kept)})
        missing = [at for each, at in first.items() if each not in rows]
        for low in range(0, len(missing), SHARD):
            shard = missing[low : low + SHARD]
            part = self._make([texts[at] for at in shard], [digests[at] for at in shard])
            vectors = _put(vectors, part, len(rows), len(first))
            rows.update({digests[at]: len(rows) + place for place, at in enumerate(shard)})
            self.embedder.work.report(low + len(shard), len(missing))
        order = [rows[each] for each in digests]
        return vectors if order == list(range(len(vectors))) else vectors[order]

    def _make(self, texts: list[str], digests: list[bytes]) -> Floats:
        began = time.perf_counter()
        vectors = embedded(self.embedder, texts)
        ended = time.perf_counter()
        share = (ended - began) / len(texts)
        self._check_size(vectors)
        vectors = _of_length_one(vectors)
        self.embedded_texts += len(texts)
        is_remote = self.embedder.capabilities.remote
        is_worth_it = is_remote or len(texts) > 1 or share >= WORTH_KEEPING
        if self._folder is not None and is_worth_it:
            content = b"".join(digests)
            name = hashlib.sha256(content).hexdigest()
            folder = make_folder(self._folder)
            arrays = {"vectors": vectors, "seconds": np.array(share)}
            write_arrays(folder / f"{name}.vectors", arrays)
            write_entry(folder / f"{name}.texts", content)  # last: what it names is complete
            if self._known is not None:
                self._known.add(name, content)
            self.seconds_saved -= time.perf_counter() - ended
        return vectors

    def _check_size(self, vectors: Floats) -> None:
        size = vectors.shape[1]
        if self._size not in (None, size):
            raise InputError(
                f"the embedder {self.embedder.name} returned vectors of length {size}, "
                f"and of length {self._size} before"
            )
        self._size = size

    def _loaded(self, wanted: Sequence[bytes]) -> Iterator[tuple[list[bytes], Floats]]:
        """Load what is on disk of the wanted texts: which, and their vectors, shard by shard."""
        if self._folder is None or not wanted:
            return
        shards, rows = self._listed().places(b"".join(wanted))
        for number, places in _by_shard(shards):
            stored = self._stored(self._listed().names[number])
            if stored is not None:
                vectors, share = stored
                self.seconds_saved += share * len(places)
                matrix = vectors.matrix if isinstance(vectors, Mapped) else vectors
                yield [wanted[at] for at in places.tolist()], matrix[rows[places]]

    def _stored(self, name: str) -> tuple[Floats | Mapped, float] | None:
        """Open the vectors of a shard, and how long each took; a damaged one is made again."""
        if self._folder is None:
            return None
        stored = read_arrays(self._folder / f"{name}.vectors")
        if stored is not None:
            vectors: Floats = stored["vectors"]
            self._check_size(vectors)
            return vectors, float(stored.get("seconds", 0.0))  # earlier versions did not keep it
        mapped = map_matrix(self._folder / f"{name}.matrix")
        if mapped is None:
            (self._folder / f"{name}.texts").unlink(missing_ok=True)
            return None
        self._check_size(mapped.matrix)
        return mapped, 0.0

    def _listed(self) -> KeptTexts:
        if self._known is None:
            assert self._folder is not None
            self._known = KeptTexts.listed(self._folder)
        return self._known

    # --- many: a matrix on disk ------------------------------------------------------------------

    def _mapped(self, texts: Iterable[str], digests: bytes) -> Floats | Mapped:
        """Return the matrix of these texts, which is put together of shards if it is not there."""
        assert self._folder is not None
        name = hashlib.sha256(digests).hexdigest()
        path = make_folder(self._folder) / f"{name}.matrix"
        for _ in range(_TRIES):
            mapped = map_matrix(path)
            if mapped is not None:
                self._check_size(mapped.matrix)
                if not is_whole(path.with_suffix(".texts")):
                    write_entry(path.with_suffix(".texts"), digests)
                return mapped
            self._make_missing(texts, digests)
            try:
                self._put_together(path, digests)
            except _DamagedError:
                self._known = None  # read again: what is damaged is no longer listed
        return self._of(list(texts))

    def _make_missing(self, texts: Iterable[str], digests: bytes) -> None:
        """Embed the texts that have no vector yet."""
        shards, _ = self._listed().places(digests)
        missing = (shards < 0) & first_of_each(digests)
        total, done = int(missing.sum()), 0
        some: list[str] = []
        for is_missing, text in zip(missing.tolist(), texts, strict=True):
            if is_missing:
                some.append(text)
                if len(some) == min(SHARD, total - done):
                    self._make(some, [digest(text) for text in some])
                    done += len(some)
                    some = []
                    self.embedder.work.report(done, total)

    def _put_together(self, path: Path, digests: bytes) -> None:
        """Write the matrix of texts that all have a vector, and forget shards that are in it."""
        assert self._folder is not None
        known = self._listed()
        shards, rows = known.places(digests)
        first = self._stored(known.names[shards[0]])
        if first is None:
            raise _DamagedError
        width = (first[0].matrix if isinstance(first[0], Mapped) else first[0]).shape[1]
        whole = []
        with writing_matrix(path, (len(shards), width)) as write:
            for number, places in _by_shard(shards):
                stored = self._stored(known.names[number])
                if stored is None:
                    raise _DamagedError
                for low in range(0, len(places), _ROWS):
                    part = places[low : low + _ROWS]
                    if isinstance(stored[0], Mapped):
                        write(part, stored[0].matrix[rows[part]])
                        stored[0].release()
                    else:
                        write(part, stored[0][rows[part]])
                if len(np.unique(rows[places])) == known.sizes[number]:
                    whole.append(known.names[number])
        write_entry(path.with_suffix(".texts"), digests)  # last: what it names is complete
        for name in whole:
            for suffix in ("texts", "vectors", "matrix"):
                with suppress(OSError):  # another process may use it, or took it away
                    if name != path.stem:
                        (self._folder / f"{name}.{suffix}").unlink(missing_ok=True)
        self._known = None


class _DamagedError(Exception):
    """A shard that was listed is not as it was written."""


def _by_shard(shards: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each shard with the places of the texts that are in it, in order; -1 is none."""
    order = np.argsort(shards, kind="stable")
    order = order[np.searchsorted(shards[order], 0) :]
    for places in np.split(order, np.flatnonzero(np.diff(shards[order])) + 1):
        if len(places):
            yield int(shards[places[0]]), places


def _put(vectors: Floats, part: Floats, at: int, total: int) -> Floats:
    """Put rows into a matrix, which is made when its width is known."""
    if not len(vectors):
        vectors = np.empty((total, part.shape[1]), np.float32)
    vectors[at : at + len(part)] = part
    return vectors


def _of_length_one(vectors: Floats) -> Floats:
    """Scale vectors to length 1; one of length 0 stays."""
    lengths = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    lengths[lengths == 0] = 1
    scaled: Floats = (vectors / lengths).astype(np.float32)
    return scaled
