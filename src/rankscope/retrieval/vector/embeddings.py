"""Embeddings that are made once: cached by model and by the content of each text, in shards.

Texts without an embedding are embedded a shard at a time, and every finished shard is cached, so a
run that is stopped goes on where it was. Each text is embedded once, however often it occurs. The
vectors of many texts are gathered in a temporary file and searched there, so that they need not fit
into memory.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import InputError
from rankscope.retrieval.cache_entries import (
    make_folder,
    read_arrays,
    read_entry,
    write_arrays,
    write_entry,
)
from rankscope.retrieval.protocol import fingerprint
from rankscope.retrieval.vector.embedders import Embedder, embedded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.intp]
    Digests = NDArray[np.bytes_]

SHARD = 1024
"""How many texts are embedded before the result is cached."""

WORTH_CACHING = 0.002
"""Seconds from which on the vector of a single text, made in this process, is worth a file."""

ON_DISK_FROM = 1 << 15
"""From so many texts on, their vectors are gathered on disk."""

_DIGEST = np.dtype("S16")  # what a text is known by
_ROWS = 1 << 15  # of a matrix that are copied at a time


class Embeddings:
    """The vectors of texts under one model, of length 1 each (or 0, where there is no direction).

    ``embedded_texts`` counts those that were embedded, which a second run should leave at 0.
    ``seconds_saved`` adds up what embedding the others had taken, less what caching takes: a query
    takes that long in use, though its embedding was cached.
    """

    def __init__(self, embedder: Embedder, cache: Path | None) -> None:
        self.embedder = embedder
        self.embedded_texts = 0
        self.seconds_saved = 0.0
        self._cache = cache
        self._size: int | None = None
        self._lock = Lock()

    @cached_property
    def _shards(self) -> _Shards | None:
        """The shards on disk; found when first needed, as a model may have to be looked up."""
        if self._cache is None:
            return None
        return _Shards(self._cache / "embeddings" / fingerprint(self.embedder.described()))

    def of(self, texts: Iterable[str]) -> Floats:
        """Return one vector for each text; those of many texts stay on disk if there is a cache.

        ``texts`` can be iterated over again, and are never held all at once.

        Raises:
            InputError: the embedder does not give one finite vector of one length for each.
        """
        with self._lock:
            digests = np.frombuffer(b"".join(map(_digest, texts)), _DIGEST)
            if not len(digests):
                return np.zeros((0, self._size or 1), np.float32)
            _, first, number = np.unique(digests, return_index=True, return_inverse=True)
            first = first[number]  # for each text, where the same occurs first
            missing = first == np.arange(len(digests))
            vectors = None
            for places, part in self._cached(digests, np.flatnonzero(missing)):
                vectors = self._put(vectors, part, places, len(digests))
                missing[places] = False
            for places, part in self._made(digests, texts, missing):
                vectors = self._put(vectors, part, places, len(digests))
            assert vectors is not None
            repeated = np.flatnonzero(first != np.arange(len(first)))
            for low in range(0, len(repeated), _ROWS):
                rows = repeated[low : low + _ROWS]
                vectors[rows] = vectors[first[rows]]
            return vectors

    def _put(self, vectors: Floats | None, part: Floats, places: Ints, total: int) -> Floats:
        """Put rows into a matrix, which is made when its width is known."""
        if vectors is None:
            shape = total, part.shape[1]
            if self._shards is None or total < ON_DISK_FROM:
                vectors = np.empty(shape, np.float32)
            else:
                vectors = _matrix_on_disk(self._shards.folder, shape)
        vectors[places] = part
        release(vectors)
        return vectors

    def _cached(self, digests: Digests, wanted: Ints) -> Iterator[tuple[Ints, Floats]]:
        """Load what is on disk of the wanted texts, shard by shard; a damaged one is made again."""
        if self._shards is None:
            return
        for name, at, rows in self._shards.holding(digests[wanted]):
            stored = self._shards.read(name)
            if stored is not None:
                vectors, seconds = stored
                self._check_size(vectors)
                self.seconds_saved += seconds * len(at)
                yield wanted[at], vectors[rows]

    def _made(
        self, digests: Digests, texts: Iterable[str], missing: NDArray[np.bool_]
    ) -> Iterator[tuple[Ints, Floats]]:
        """Embed the texts that have no vector yet, shard by shard."""
        total, done = int(missing.sum()), 0
        places: list[int] = []
        some: list[str] = []
        for place, text in enumerate(texts) if total else ():
            if missing[place]:
                places.append(place)
                some.append(text)
                if len(some) == min(SHARD, total - done):
                    yield np.array(places), self._embedded(some, digests[places])
                    done += len(some)
                    places, some = [], []
                    self.embedder.work.report(done, total)

    def _embedded(self, texts: list[str], digests: Digests) -> Floats:
        began = time.perf_counter()
        vectors = embedded(self.embedder, texts)
        ended = time.perf_counter()
        share = (ended - began) / len(texts)
        self._check_size(vectors)
        lengths = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
        lengths[lengths == 0] = 1
        vectors = np.asarray(vectors / lengths, np.float32)
        self.embedded_texts += len(texts)
        is_remote = self.embedder.capabilities.remote
        is_worth_it = is_remote or len(texts) > 1 or share >= WORTH_CACHING
        if self._shards is not None and is_worth_it:
            self._shards.write(digests, vectors, share)
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


def query_vectors(
    embeddings: Embeddings, texts: Sequence[str], size: int
) -> tuple[Floats, list[str | None]]:
    """Embed queries; if that fails, one by one, so that only the bad ones have no answer.

    ``size`` is the length of the vectors of documents. Returned are the vectors, and for each query
    why it has none.
    """

    def checked(texts: Sequence[str]) -> Floats:
        vectors = embeddings.of(texts)
        if vectors.shape[1] != size:
            raise InputError(
                f"the embedder {embeddings.embedder.name} returned vectors of length "
                f"{vectors.shape[1]} for queries and of length {size} for documents"
            )
        return vectors

    errors: list[str | None] = [None] * len(texts)
    try:
        return checked(texts), errors
    except InputError:
        vectors = np.zeros((len(texts), size), np.float32)
    for at, text in enumerate(texts):
        try:
            vectors[at] = checked([text])[0]
        except InputError as error:
            errors[at] = str(error)
    return vectors, errors


def _matrix_on_disk(folder: Path, shape: tuple[int, int]) -> Floats:
    """Return a matrix in a file that is gone with it."""
    size = 4 * shape[0] * shape[1]
    try:
        with TemporaryFile(dir=make_folder(folder)) as file:
            try:  # a full disk would end the process later
                os.posix_fallocate(file.fileno(), 0, size)
            except AttributeError:  # macOS and Windows
                pass
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # the disk cannot tell
                    raise
            return np.memmap(file, np.float32, "w+", shape=shape)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot make room for {size / 2**30:,.1f} GB of vectors ({error.strerror}); "
            "name another folder as cache"
        ) from error


def release(vectors: Floats) -> None:
    """Give back the memory of vectors on disk; what is needed again is read again."""
    file: object = vectors
    while isinstance(file, np.ndarray):
        file = file.base
    if isinstance(file, mmap.mmap) and hasattr(file, "madvise"):  # not on Windows
        file.madvise(mmap.MADV_DONTNEED)


class _Shards:
    """The shards in a folder: ``NAME.texts`` holds the digests of texts, ``NAME.vectors`` the rest.

    Millions of texts are looked up all at once, and are columns of bytes, not objects.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._digests: dict[str, Digests] = {}
        self._table: tuple[Digests, Ints, Ints] | None = None
        for path in sorted(folder.glob("*.texts")):
            content = read_entry(path)
            if content:
                self._digests[path.stem] = np.frombuffer(content, _DIGEST)

    def holding(self, wanted: Digests) -> Iterator[tuple[str, Ints, Ints]]:
        """Yield each shard that holds some texts: its name, which of them, and in which rows."""
        if not self._digests:
            return
        if self._table is None:
            sizes = [len(digests) for digests in self._digests.values()]
            digests = np.concatenate([*self._digests.values()])
            order = np.argsort(digests, kind="stable")
            shards = np.repeat(np.arange(len(sizes)), sizes)
            rows = np.concatenate([np.arange(size) for size in sizes])
            self._table = digests[order], shards[order], rows[order]
        digests, shards, rows = self._table
        nearest = np.minimum(np.searchsorted(digests, wanted), len(digests) - 1)
        places = np.flatnonzero(digests[nearest] == wanted)
        places = places[np.argsort(shards[nearest[places]], kind="stable")]
        held = shards[nearest[places]]
        names = list(self._digests)
        for part in np.split(places, np.flatnonzero(np.diff(held)) + 1):
            if len(part):
                yield names[shards[nearest[part[0]]]], part, rows[nearest[part]]

    def read(self, name: str) -> tuple[Floats, float] | None:
        """Read the vectors of a shard, and how long each took; a damaged one is forgotten."""
        stored = read_arrays(self.folder / f"{name}.vectors")
        if stored is None or len(stored["vectors"]) != len(self._digests[name]):
            (self.folder / f"{name}.texts").unlink(missing_ok=True)
            del self._digests[name]
            self._table = None
            return None
        return stored["vectors"], float(stored["seconds"])

    def write(self, digests: Digests, vectors: Floats, seconds: float) -> None:
        """Cache the vectors of some texts."""
        content = digests.tobytes()
        name = hashlib.sha256(content).hexdigest()
        make_folder(self.folder)
        arrays = {"vectors": vectors, "seconds": np.array(seconds)}
        write_arrays(self.folder / f"{name}.vectors", arrays)
        write_entry(self.folder / f"{name}.texts", content)  # last: what it names is complete
        self._digests[name] = digests
        self._table = None


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
