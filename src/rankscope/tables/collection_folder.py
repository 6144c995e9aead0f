"""Collections and tables that are more than one file: folders, shards, patterns.

A folder is a collection if it holds ``queries``, ``corpus`` or ``qrels``, as files or as folders:
BEIR's layout (``corpus.jsonl``, ``queries.jsonl``, ``qrels/test.tsv``), and that of data sets on
the Hugging Face Hub, where each is a folder with a file, or several shards, for each split
(``corpus/test-00000-of-00001.parquet``), the judgments are called ``qrels``, ``default`` or
``data``, and a language or another subset is part of the names (``en-corpus``). Any other folder is
a table in as many files as there are in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
        files = [*_inside(place)]
        is_table = kind == "corpus" or all(_SHARD.match(file.name) for file in files)
        return files if files and is_table else [path]
    if "*" in place.name and not os.path.exists(place) and os.path.isdir(place.parent):
        matching = sorted(item for item in place.parent.glob(place.name) if item.is_file())
        if matching:
            return matching
    return [path]


def _inside(folder: Path) -> Iterator[Path]:
    count = 0
    for home, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                count += 1
                if count > _MOST_FILES:
                    raise InputError(f"{folder}: has more than {_MOST_FILES:,} files")
                yield Path(home, name)


def table_in(path: PathLike, kind: str) -> PathLike:
    """Return where a table of this kind is in a folder that is a collection; else the path."""
    if not os.path.isdir(path) or kind == "decisions":  # these are no part of a collection
        return path
    try:
        folder = CollectionFolder.open(Path(path))
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be read ({error.strerror})") from None
    if folder is None:
        return path
    if kind == "qrels":
        return folder.qrels[folder.split()]
    try:
        split = folder.split()
    except InputError:
        split = None
    place = folder.queries(split) if kind == "queries" else folder.corpus(split)
    if place is None:
        raise InputError(f"{folder.home}: has no {kind}")
    return place


@dataclass(frozen=True, slots=True)
class CollectionFolder:
    """A collection on disk: its tables, of one subset; ``qrels`` by split (None: no splits)."""

    home: Path
    tables: Mapping[str, Path]
    qrels: Mapping[str | None, Path]

    @classmethod
    def open(cls, home: Path, subset: str | None = None) -> CollectionFolder | None:
        """Look into a folder; None if it is no collection."""
        tables = _tables(home)
        if "queries" not in tables and "qrels" not in tables:
            return None
        subsets = list(tables.get("queries") or tables["qrels"])
        named = [name for name in subsets if name]
        if subset is not None and subset not in named:
            raise InputError(f"{home}: {UnknownNameError('subset', subset, named)}")
        if subset is None and "" not in subsets and len(subsets) > 1:
            raise InputError(
                f"{home}: has the subsets {', '.join(map(shown, named[:20]))}; choose one with "
                "collection.subset, or name its files"
            )
        chosen = subset or ("" if "" in subsets else subsets[0])
        places = {kind: by.get(chosen, by.get("")) for kind, by in tables.items()}
        present = {kind: path for kind, path in places.items() if path is not None}
        return cls(home, present, _splits(present["qrels"]) if "qrels" in present else {})

    def split(self, wanted: str | None = None, key: str = "split") -> str | None:
        """Return the split asked for, or test, or the only one."""
        splits = self.named_splits
        if wanted is not None:
            if wanted not in splits:
                raise InputError(self.no_split(key, wanted))
            return wanted
        if "test" in splits:
            return "test"
        if len(self.qrels) == 1:
            return next(iter(self.qrels))
        if not self.qrels:
            raise InputError(
                f"{self.home}: no judgments found; they are expected in qrels/test.tsv"
            )
        raise InputError(
            f"{self.home}: has the splits {', '.join(splits)}, and none is called test; choose one "
            "with collection.split, or name its file"
        )

    @property
    def named_splits(self) -> dict[str, Path]:
        """The judgments by split, where there are splits."""
        return {split: path for split, path in self.qrels.items() if split is not None}

    def no_split(self, key: str, wanted: str) -> str:
        """Say that there is no such split, and which there are."""
        splits = self.named_splits
        none = "" if splits else f"; {self.home} has no splits"
        return f"{key}: {UnknownNameError('split', wanted, splits)}{none}"

    def queries(self, split: str | None) -> Path | None:
        """Return the queries."""
        return self._of_split("queries", split)

    def corpus(self, split: str | None) -> Path | None:
        """Return the documents: a file, a folder, or a pattern."""
        return self._of_split("corpus", split)

    def _of_split(self, kind: str, split: str | None) -> Path | None:
        """Return a table that may have splits of its own, as on the Hugging Face Hub."""
        place = self.tables.get(kind)
        splits = {} if place is None or place.is_file() else _splits(place)
        if not splits:
            return place
        for name in (split, kind):
            if name in splits:
                return splits[name]
        if len(splits) == 1:
            return next(iter(splits.values()))
        raise InputError(
            f"{place}: has the splits {', '.join(map(str, splits))}, and none is called "
            f"{shown(split or kind)}; choose one with collection.split, or name its file"
        )


def _tables(home: Path) -> dict[str, dict[str, Path]]:
    """Return the tables of a folder by kind and subset ('' for one without)."""
    entries = _entries(home, folders=True)
    tables: dict[str, dict[str, Path]] = {}
    for kind, names in _NAMES.items():
        for name in names:
            for stem, path in entries.items():
                matching = re.fullmatch(rf"(?:(.+)[-_])?{name}|{name}[-_](.+)", stem)
                is_other = name == "data" and (stem != name or not path.is_dir())
                if matching is not None and not is_other:
                    subset = matching[1] or matching[2] or ""
                    tables.setdefault(kind, {}).setdefault(subset, path)
    for subset in tables.get("queries", {}):  # a subset's judgments may go by its name alone
        if subset in entries:
            tables.setdefault("qrels", {}).setdefault(subset, entries[subset])
    return tables


def _entries(home: Path, *, folders: bool = False) -> dict[str, Path]:
    """Return the tables in a folder by name without suffix: folders first, then by format."""

    def order(path: Path) -> tuple[int, str]:
        place = next((n for n, suffix in enumerate(_FORMATS) if suffix in path.name.lower()), 99)
        return (-1 if path.is_dir() else place), path.name.lower()

    entries: dict[str, Path] = {}
    for path in sorted(home.iterdir(), key=order):
        name = path.name
        if not path.is_dir():
            packed = path.suffix.lower() in COMPRESSIONS
            name, dot, suffix = (name[: -len(path.suffix)] if packed else name).rpartition(".")
            if not dot or f".{suffix.lower()}" not in _FORMATS:
                continue
        if name and not name.startswith(".") and (folders or not path.is_dir()):
            entries.setdefault(name, path)
    return entries


def _splits(place: Path) -> dict[str | None, Path]:
    """Return the files of a folder by split; shards of one split are a pattern."""
    if place.is_file():
        return {None: place}
    by_split: dict[str | None, Path] = {}
    for stem, path in sorted(_entries(place).items()):
        shard = _SHARD.fullmatch(stem)
        if shard is None:
            by_split.setdefault(stem, path)
        elif shard[1] in by_split:
            by_split[shard[1]] = place / f"{shard[1]}-*-of-{stem[-5:]}{path.name[len(stem) :]}"
        else:
            by_split[shard[1]] = path
    return by_split
