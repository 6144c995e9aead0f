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

from rankscope.errors import InputError, UnknownNameError
from rankscope.files import PathLike, suffix_of

_FORMATS = (".jsonl", ".json", ".tsv", ".csv", ".parquet", ".qrels", ".txt", ".trec")
"""The suffixes of tables; of several files of one name the first counts."""
_NAMES = {"corpus": ("corpus",), "queries": ("queries",), "qrels": ("qrels", "default", "data")}
_SHARD = re.compile(r"(.+)-\d{5}(-of-\d{5}.*)")
_MOST_FILES = 1_000_000


def parts_of(path: PathLike, kind: str = "corpus") -> Sequence[PathLike]:
    """Return the files of a table: one, those of a folder, or those of a pattern with ``*``.

    Any folder may be a corpus; other tables are one only in shards. Files and folders that begin
    with a full stop are left out.
    """
    place, files = Path(os.fspath(path)), list[Path]()
    if os.path.isdir(place):
        files = list(islice(place.rglob("*"), _MOST_FILES))
        if len(files) == _MOST_FILES:
            raise InputError(f"{place}: has more than {_MOST_FILES:,} files")
        files = [file for file in files if "/." not in f"/{file.relative_to(place).as_posix()}"]
    elif "*" in place.name and not os.path.exists(place) and os.path.isdir(place.parent):
        files = list(place.parent.glob(place.name))
    files = sorted(file for file in files if file.is_file())
    if os.path.isdir(place) and kind != "corpus" and not all(_SHARD.match(f.name) for f in files):
        return [path]
    return files or [path]


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
    split = folder.split() if kind == "qrels" else "test" if "test" in folder.qrels else None
    place = folder.place(kind, split)
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
        files, tables = _files(home), dict[str, Mapping[str | None, Path]]()
        for kind, names in _NAMES.items():
            for name in reversed(names):
                if (home / name).is_dir():
                    tables[kind] = _files(home / name) or {None: home / name}
                elif name in files and name != "data":
                    tables[kind] = {None: files[name]}
        return cls(home, tables) if "queries" in tables or "qrels" in tables else None

    @property
    def qrels(self) -> Mapping[str | None, Path]:
        """The judgments by split; None where there are no splits."""
        return self.tables.get("qrels", {})

    def split(self, wanted: str | None = None, key: str = "split") -> str | None:
        """Return the split that the setting ``key`` names, or test, or the only one."""
        if wanted is not None and wanted not in self.qrels:
            splits = [split for split in self.qrels if split is not None]
            none = "" if splits else f"; {self.home} has no splits"
            raise InputError(f"{key}: {UnknownNameError('split', wanted, splits)}{none}")
        if not self.qrels:
            raise InputError(
                f"{self.home}: no judgments found; they are expected in qrels/test.tsv"
            )
        return wanted or self._chosen("qrels", "test")

    def place(self, kind: str, split: str | None) -> Path | None:
        """Return a table, which may have splits of its own: a file, a folder, or a pattern."""
        return self.tables[kind][self._chosen(kind, split, kind)] if kind in self.tables else None

    def _chosen(self, kind: str, *names: str | None) -> str | None:
        """Return the first of some splits that a table has, or its only one."""
        splits = self.tables[kind]
        if len(splits) == 1:
            return next(iter(splits))
        split = next((name for name in names if name in splits), None)
        if split is None:
            home = self.home if kind == "qrels" else self.home / kind
            raise InputError(
                f"{home}: has the splits {', '.join(map(str, splits))}, and none is called "
                f"{next(filter(None, names))!r}; choose one with collection.split, or name its file"
            )
        return split


def _files(home: Path) -> dict[str | None, Path]:
    """Return the tables in a folder by name without suffixes; shards of one are a pattern."""
    tables: dict[str | None, Path] = {}
    files = [path for path in home.iterdir() if path.name[0] != "." and not path.is_dir()]
    files = [path for path in files if suffix_of(path) in _FORMATS]
    for path in sorted(files, key=lambda path: (_FORMATS.index(suffix_of(path)), path.name)):
        shard = _SHARD.fullmatch(path.name)
        name = f"{shard[1]}-*{shard[2]}" if shard else path.name
        stem = shard[1] if shard else path.name[: path.name.lower().rindex(suffix_of(path))]
        tables.setdefault(stem, home / name)
    return dict(sorted(tables.items(), key=lambda item: str(item[0])))
