"""Collections and tables that are more than one file: BEIR folders, folders of files, patterns.

A folder is a collection if it holds ``queries`` or ``qrels``, as BEIR has them (``corpus.jsonl``,
``queries.jsonl``, ``qrels/test.tsv``). Any other folder is a table in as many files as there are in
it, and so may be the ``corpus`` or the ``queries`` of a collection.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rankscope.errors import InputError, UnknownNameError
from rankscope.files import PathLike, suffix_of

_FORMATS = (".jsonl", ".json", ".tsv", ".csv", ".parquet", ".qrels", ".txt", ".trec")
"""The suffixes of tables; of several files of one name the first counts."""
_MOST_FILES = 1_000_000


def parts_of(path: PathLike) -> Sequence[PathLike]:
    """Return the files of a table: one, those of a folder, or those of a pattern with ``*``.

    Files and folders that begin with a full stop are left out.
    """
    place, files = Path(os.fspath(path)), list[Path]()
    if os.path.isdir(place):
        files = list(islice(place.rglob("*"), _MOST_FILES))
        if len(files) == _MOST_FILES:
            raise InputError(f"{place}: has more than {_MOST_FILES:,} files")
        files = [file for file in files if "/." not in f"/{file.relative_to(place).as_posix()}"]
    elif "*" in place.name and not os.path.exists(place) and os.path.isdir(place.parent):
        files = list(place.parent.glob(place.name))
    return sorted(file for file in files if file.is_file()) or [path]


def table_in(path: PathLike, kind: str) -> PathLike:
    """Return where a table of this kind is in a folder that is a collection; else the path."""
    if not os.path.isdir(path) or kind not in ("corpus", "queries", "qrels"):
        return path
    try:
        folder = CollectionFolder.open(Path(path))
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be read ({error.strerror})") from None
    if folder is None:
        return path
    place = folder.qrels[folder.split()] if kind == "qrels" else folder.tables.get(kind)
    if place is None:
        raise InputError(f"{folder.home}: has no {kind}")
    return place


@dataclass(frozen=True, slots=True)
class CollectionFolder:
    """A collection on disk: where its queries and its corpus are, and its judgments by split.

    A collection without splits has its judgments under None.
    """

    home: Path
    tables: Mapping[str, Path]
    qrels: Mapping[str | None, Path]

    @classmethod
    def open(cls, home: Path) -> CollectionFolder | None:
        """Look into a folder; None if it is no collection."""
        files = _files(home)
        folders = {kind: home / kind for kind in ("corpus", "queries") if (home / kind).is_dir()}
        tables = {kind: files[kind] for kind in ("corpus", "queries") if kind in files} | folders
        qrels: dict[str | None, Path] = {None: files["qrels"]} if "qrels" in files else {}
        if (home / "qrels").is_dir():
            qrels = dict[str | None, Path](_files(home / "qrels").items())
        return cls(home, tables, qrels) if "queries" in tables or qrels else None

    def split(self, wanted: str | None = None, key: str = "split") -> str | None:
        """Return the split that the setting ``key`` names, or test, or the only one."""
        splits = [split for split in self.qrels if split is not None]
        if wanted is not None and wanted not in splits:
            none = "" if splits else f"; {self.home} has no splits"
            raise InputError(f"{key}: {UnknownNameError('split', wanted, splits)}{none}")
        if not self.qrels:
            raise InputError(
                f"{self.home}: no judgments found; they are expected in qrels/test.tsv"
            )
        if wanted is not None or len(self.qrels) == 1:
            return wanted or next(iter(self.qrels))
        if "test" not in splits:
            raise InputError(
                f"{self.home}: has the splits {', '.join(splits)}, and none is called 'test'; "
                "choose one with collection.split, or name its file"
            )
        return "test"


def _files(home: Path) -> dict[str, Path]:
    """Return the tables in a folder by name without suffixes."""
    files = [path for path in home.iterdir() if path.name[0] != "." and not path.is_dir()]
    files = [path for path in files if suffix_of(path) in _FORMATS]
    tables: dict[str, Path] = {}
    for path in sorted(files, key=lambda path: (_FORMATS.index(suffix_of(path)), path.name)):
        stem = path.name[: path.name.lower().rindex(suffix_of(path))]
        tables.setdefault(stem, path)
    return dict(sorted(tables.items()))
