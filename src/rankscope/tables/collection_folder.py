"""Collections and tables that are more than one file: folders, shards, patterns.

A folder is a collection if it holds ``queries`` or ``qrels``, as files or as folders: BEIR's layout
(``corpus.jsonl``, ``queries.jsonl``, ``qrels/test.tsv``), and that of data sets on the Hugging Face
Hub, where each is a folder with a file, or several shards, for each split
(``corpus/test-00000-of-00001.parquet``), and the judgments are called ``qrels``, ``default`` or
``data``. Any other folder is a table in as many files as there are in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import COMPRESSIONS, PathLike

_FORMATS = (".jsonl", ".json", ".tsv", ".csv", ".parquet", ".qrels", ".txt", ".trec")
"""The suffixes of tables; of several files of one name the first counts."""
_NAMES = {"corpus": ("corpus",), "queries": ("queries",), "qrels": ("qrels", "default", "data")}
_SHARD = re.compile(r"(.+)-\d{5}-of-\d{5}")
_MOST_FILES = 1_000_000


def parts_of(path: PathLike, kind: str = "corpus") -> Sequence[PathLike]:
    """Return the files of a table: one, those of a folder, or those of a pattern with ``*``.

    Any folder may be a corpus; other tables are one only in shards. Files and folders that begin
    with a full stop are left out.
    """
    place = Path(os.fspath(path))
    if os.path.isdir(place):
        entries = list(islice(place.rglob("*"), _MOST_FILES))
        if len(entries) == _MOST_FILES:
            raise InputError(f"{place}: has more than {_MOST_FILES:,} files")
        files = sorted(
            entry
            for entry in entries
            if entry.is_file() and "/." not in f"/{entry.relative_to(place).as_posix()}"
        )
        is_table = kind == "corpus" or all(_SHARD.match(file.name) for file in files)
        return files if files and is_table else [path]
    if "*" in place.name and not os.path.exists(place) and os.path.isdir(place.parent):
        matching = sorted(item for item in place.parent.glob(place.name) if item.is_file())
        return matching or [path]
    return [path]


def table_in(path: PathLike, kind: str) -> PathLike:
    """Return where a table of this kind is in a folder that is a collection; else the path."""
    if not os.path.isdir(path) or kind not in _NAMES:
        return path
    try:
        folder = CollectionFolder.open(Path(path))
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be read ({error.strerror})") from None
    if folder is None:
        return path
    if kind == "qrels":
        return folder.qrels[folder.split()]
    place = folder.place(kind, "test" if "test" in folder.qrels else None)
    if place is None:
        raise InputError(f"{folder.home}: has no {kind}")
    return place


@dataclass(frozen=True, slots=True)
class CollectionFolder:
    """A collection on disk: its tables by kind, and those by split (None: no splits)."""

    home: Path
    tables: Mapping[str, Mapping[str | None, Path]]

    @classmethod
    def open(cls, home: Path) -> CollectionFolder | None:
        """Look into a folder; None if it is no collection."""
        entries = _entries(home, folders=True)
        tables: dict[str, Mapping[str | None, Path]] = {}
        for kind, names in _NAMES.items():
            for name in names:
                if name in entries and (name != "data" or entries[name].is_dir()):
                    tables.setdefault(kind, _splits(entries[name]))
        return cls(home, tables) if "queries" in tables or "qrels" in tables else None

    @property
    def qrels(self) -> Mapping[str | None, Path]:
        """The judgments by split; None where there are no splits."""
        return self.tables.get("qrels", {})

    def split(self, wanted: str | None = None, key: str = "split") -> str | None:
        """Return the split asked for, or test, or the only one."""
        if wanted is not None:
            if wanted not in self.named_splits:
                raise InputError(self.no_split(key, wanted))
            return wanted
        if "test" in self.qrels:
            return "test"
        if not self.qrels:
            raise InputError(
                f"{self.home}: no judgments found; they are expected in qrels/test.tsv"
            )
        if len(self.qrels) > 1:
            raise self._many("", "test", self.qrels)
        return next(iter(self.qrels))

    @property
    def named_splits(self) -> dict[str, Path]:
        """The judgments by split, where there are splits."""
        return {split: path for split, path in self.qrels.items() if split is not None}

    def no_split(self, key: str, wanted: str) -> str:
        """Say that there is no such split, and which there are."""
        splits = self.named_splits
        none = "" if splits else f"; {self.home} has no splits"
        return f"{key}: {UnknownNameError('split', wanted, splits)}{none}"

    def place(self, kind: str, split: str | None) -> Path | None:
        """Return a table, which may have splits of its own: a file, a folder, or a pattern."""
        splits = self.tables.get(kind, {})
        for name in (None, split, kind):
            if name in splits:
                return splits[name]
        if len(splits) > 1:
            raise self._many(kind, split or kind, splits)
        return next(iter(splits.values()), None)

    def _many(self, kind: str, wanted: str, splits: Mapping[str | None, Path]) -> InputError:
        return InputError(
            f"{self.home / kind}: has the splits {', '.join(map(str, splits))}, and none is called "
            f"{shown(wanted)}; choose one with collection.split, or name its file"
        )


def _entries(home: Path, *, folders: bool = False) -> dict[str, Path]:
    """Return the tables in a folder by name without suffix: folders first, then by format."""

    def order(path: Path) -> tuple[int, str]:
        place = next((n for n, suffix in enumerate(_FORMATS) if suffix in path.name.lower()), 99)
        return (-1 if path.is_dir() else place), path.name.lower()

    entries: dict[str, Path] = {}
    for path in sorted(home.iterdir(), key=order):
        stem, suffix = path.name, ""
        if not path.is_dir():
            unpacked = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
            stem, suffix = unpacked.stem, unpacked.suffix.lower()
        is_table = folders if path.is_dir() else suffix in _FORMATS
        if is_table and not stem.startswith("."):
            entries.setdefault(stem, path)
    return entries


def _splits(place: Path) -> dict[str | None, Path]:
    """Return the files of a table by split; shards of one split are a pattern."""
    by_split: dict[str | None, Path] = {}
    for stem, path in sorted(_entries(place).items()) if place.is_dir() else ():
        shard = _SHARD.fullmatch(stem)
        if shard is None:
            by_split.setdefault(stem, path)
        elif shard[1] in by_split:
            by_split[shard[1]] = place / f"{shard[1]}-*-of-{stem[-5:]}{path.name[len(stem) :]}"
        else:
            by_split[shard[1]] = path
    return by_split or {None: place}
