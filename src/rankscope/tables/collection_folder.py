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

_TABLES = (".jsonl", ".json", ".tsv", ".csv", ".parquet")
_JUDGMENTS = (*_TABLES, ".qrels", ".txt", ".trec")
_NAMES = {
    "corpus": ("corpus",),
    "queries": ("queries",),
    "qrels": ("qrels", "default", "data"),
}
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
    try:
        split = folder.split()
    except InputError:
        if kind == "qrels":
            raise
        split = None
    if kind == "qrels":
        return folder.qrels[split]
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
        chosen = _subset(home, tables, subset)
        named = {
            kind: by_subset.get(chosen, by_subset.get("")) for kind, by_subset in tables.items()
        }
        present = {kind: path for kind, path in named.items() if path is not None}
        qrels = _splits(present["qrels"], _JUDGMENTS) if "qrels" in present else {}
        return cls(home, present, qrels)

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
        if place is None or place.is_file():
            return place
        splits = _splits(place, _TABLES)
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
    tables: dict[str, dict[str, Path]] = {}
    entries: dict[str, Path] = {}
    for path in sorted(home.iterdir(), key=_by_format):
        stem = path.name if path.is_dir() else _stem(path, _JUDGMENTS)
        if stem is not None and not stem.startswith("."):
            entries.setdefault(stem, path)
    for kind, names in _NAMES.items():
        for name in names:
            for stem, path in entries.items():
                subset = _subset_of(stem, name)
                if subset is not None and (name != "data" or path.is_dir()):
                    tables.setdefault(kind, {}).setdefault(subset, path)
    for subset in tables.get("queries", {}):  # a subset's judgments may go by its name alone
        if subset in entries and subset not in tables.get("qrels", {}):
            tables.setdefault("qrels", {})[subset] = entries[subset]
    return tables


def _by_format(path: Path) -> tuple[int, str]:
    """Sort folders first, then files in the order in which formats are looked for."""
    name = path.name.lower()
    places = [place for place, suffix in enumerate(_JUDGMENTS) if f"{suffix}." in f"{name}."]
    return (-1 if path.is_dir() else min(places, default=99)), name


def _subset_of(stem: str, name: str) -> str | None:
    if stem == name:
        return ""
    if name != "data" and stem.endswith((f"-{name}", f"_{name}")):
        return stem[: -len(name) - 1]
    if name in ("corpus", "queries", "qrels") and stem.startswith((f"{name}-", f"{name}_")):
        return stem[len(name) + 1 :]
    return None


def _stem(path: Path, suffixes: Sequence[str]) -> str | None:
    """Return a file's name without what tells its format; None if that is none of a table."""
    name = path.name
    if path.suffix.lower() in COMPRESSIONS:
        name = name[: -len(path.suffix)]
    stem, dot, suffix = name.rpartition(".")
    return stem if dot and stem and f".{suffix.lower()}" in suffixes else None


def _subset(home: Path, tables: Mapping[str, Mapping[str, Path]], wanted: str | None) -> str:
    subsets = tables.get("queries") or tables["qrels"]
    named = [subset for subset in subsets if subset]
    if wanted is not None:
        if wanted not in named:
            raise InputError(f"{home}: {UnknownNameError('subset', wanted, named)}")
        return wanted
    if "" in subsets:
        return ""
    if len(subsets) == 1:
        return named[0]
    raise InputError(
        f"{home}: has the subsets {', '.join(map(shown, named[:20]))}; choose one with "
        "collection.subset, or name its files"
    )


def _splits(place: Path, suffixes: Sequence[str]) -> dict[str | None, Path]:
    """Return the files of a folder by split; shards of one split are a pattern."""
    if place.is_file():
        return {None: place}
    by_split: dict[str | None, Path] = {}
    for path in sorted(place.iterdir()):
        stem = None if path.is_dir() else _stem(path, suffixes)
        if stem is None or stem.startswith("."):
            continue
        shard = _SHARD.fullmatch(stem)
        if shard is None:
            by_split.setdefault(stem, path)
        elif shard[1] in by_split:
            by_split[shard[1]] = place / f"{shard[1]}-*-of-{stem[-5:]}{path.name[len(stem) :]}"
        else:
            by_split[shard[1]] = path
    return by_split
