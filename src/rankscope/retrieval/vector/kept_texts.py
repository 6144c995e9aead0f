"""Which texts have a vector on disk, and where: in which shard, in which row of it.

Texts are known by 16 bytes of their hash. Millions of them are columns of numbers here, not
objects, and are looked up all at once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.retrieval.cache_entries import read_entry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

BYTES = 16
"""Of the hash of a text."""

_BOTH = ["high", "low"]  # halves of a hash


def digest(text: str) -> bytes:
    """Return what a text is known by."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=BYTES).digest()


class KeptTexts:
    """The texts of every shard; a shard is known by its name, and here by its number."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.sizes: list[int] = []
        self._digests: list[bytes] = []
        self._table: pl.DataFrame | None = None

    @classmethod
    def listed(cls, folder: Path) -> KeptTexts:
        """Read which texts each shard in a folder holds."""
        kept = cls()
        for path in sorted(folder.glob("*.texts")):
            content = read_entry(path)
            if content:
                kept.add(path.stem, content)
        return kept

    def add(self, name: str, digests: bytes) -> None:
        """Take a shard: the hashes of its texts, row by row."""
        self.names.append(name)
        self.sizes.append(len(digests) // BYTES)
        self._digests.append(digests)
        self._table = None

    def places(self, digests: bytes) -> tuple[Ints, Ints]:
        """Return the shard and the row of each text; -1 for one that has no vector yet."""
        if self._table is None:
            sizes = np.array(self.sizes, np.int64)
            starts = np.cumsum(sizes) - sizes
            self._table = _halves(b"".join(self._digests)).with_columns(
                pl.Series("shard", np.repeat(np.arange(len(sizes)), sizes)),
                pl.Series("row", np.arange(sizes.sum()) - np.repeat(starts, sizes)),
            )
            self._table = self._table.unique(_BOTH, keep="last", maintain_order=True)
        joined = _halves(digests).join(self._table, on=_BOTH, how="left", maintain_order="left")
        joined = joined.select(pl.col("shard", "row").fill_null(-1))
        return joined["shard"].to_numpy(), joined["row"].to_numpy()


def first_of_each(digests: bytes) -> NDArray[np.bool_]:
    """Return for each text whether it is the first that is the same."""
    return _halves(digests).select(pl.struct(_BOTH).is_first_distinct()).to_series().to_numpy()


def _halves(digests: bytes) -> pl.DataFrame:
    halves = np.frombuffer(digests, "<u8").reshape(-1, 2)
    return pl.DataFrame({"high": halves[:, 0].copy(), "low": halves[:, 1].copy()})
