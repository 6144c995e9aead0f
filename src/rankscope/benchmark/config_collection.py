"""The sections of a config that say what is searched, judged and learnt from.

`config` reads them with the others. Only `CollectionConfig.files` looks at the disk, when
`collection` asks it for the files to open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from rankscope.benchmark.config_sections import Section, Text, refuse
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import COMPRESSIONS
from rankscope.retrieval.stages.training import FOLDS

__all__ = ["CROSS_VALIDATION", "CollectionConfig", "CollectionFiles", "TrainingConfig"]

CROSS_VALIDATION = "cross-validation"
"""As a split to train on: the evaluated one, by models that have not seen what they answer."""


@dataclass(frozen=True, slots=True)
class CollectionFiles:
    """The files of a collection, all of which are there.

    ``corpus`` is None where there is none. ``train_qrels`` is what trained parts learn from; None
    means the evaluated judgments, by cross-validation. ``split`` is None where there are no splits.
    """

    corpus: Path | None
    queries: Path
    qrels: Path
    train_qrels: Path | None
    name: str
    split: str | None


class TrainingConfig(Section):
    """What trained parts learn from."""

    split: Text | None = None
    """A split of the collection, or cross-validation; if not given, train if there is one."""
    qrels: Text | None = None
    """A file of judgments instead of a split, relative to the config."""
    folds: int = Field(default=FOLDS, ge=2)
    """How many folds the questions are dealt to."""
    seed: int = Field(default=0, ge=0)
    """Another one deals them differently."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.split is not None and self.qrels is not None:
            refuse("training has a split and a qrels file; keep one of them", "qrels")
        return self


class CollectionConfig(Section):
    """What is searched and judged: a folder as BEIR has it, or single files."""

    path: Text | None = None
    """A folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, relative to the config."""
    split: Text | None = None
    """Which judgments of the folder are used; if not given, test, or the only ones."""
    corpus: Text | None = None
    """The documents, where there is no folder; runs that exist need none."""
    queries: Text | None = None
    """The queries, where there is no folder."""
    qrels: Text | None = None
    """The judgments, where there is no folder."""
    name: Text | None = None
    """What reports call the collection; if not given, the folder's name."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        return {"path": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _folder_or_files(self) -> Self:
        single = [key for key in ("corpus", "queries", "qrels") if getattr(self, key) is not None]
        if self.path is not None and single:
            refuse(
                f"collection has a folder (path) and a file ({single[0]}); give path, or queries "
                "and qrels",
                single[0],
            )
        if self.path is None and self.split is not None:
            refuse("collection.split goes with a folder; name the qrels file instead", "split")
        if self.path is None and not {"queries", "qrels"}.issubset(single):
            missing = "queries" if "queries" not in single else "qrels"
            known = "needs path, or queries and qrels" if not single else f"needs {missing}, too"
            refuse(f"collection {known}")
        return self

    def files(self, folder: Path, training: TrainingConfig | None = None) -> CollectionFiles:
        """Find the files; relative paths start in ``folder``.

        Raises:
            InputError: one that is missing, or a split there is not; names what there is.
        """
        training = training or TrainingConfig()
        try:
            return self._found(folder, training)
        except OSError as error:
            place = error.filename or folder
            raise InputError(f"{place}: cannot be looked into ({error.strerror})") from None

    def _found(self, folder: Path, training: TrainingConfig) -> CollectionFiles:
        if self.path is not None:
            return self._in_folder(folder / self.path, folder, training)
        queries = _existing(folder / str(self.queries), "queries")
        qrels = _existing(folder / str(self.qrels), "qrels")
        if training.split not in (None, CROSS_VALIDATION):
            raise InputError(
                f"training.split is {shown(training.split)}, but the collection is no folder with "
                "splits; give training.qrels"
            )
        return CollectionFiles(
            corpus=None if self.corpus is None else _existing(folder / self.corpus, "corpus"),
            queries=queries,
            qrels=qrels,
            train_qrels=_training_file(folder, training),
            name=self.name or qrels.resolve().parent.name,
            split=None,
        )

    def _in_folder(self, home: Path, folder: Path, training: TrainingConfig) -> CollectionFiles:
        if not home.is_dir():
            reason = "is a file, not a folder" if home.exists() else "no such folder"
            raise InputError(f"{home}: {reason}; collection.path names one{_near(home)}")
        queries = _find(home, "queries")
        if queries is None:
            raise InputError(f"{home}: has no queries.jsonl; a collection needs its queries there")
        splits = _splits(home)
        single = _find(home, "qrels", _QRELS) if not splits else None
        if not splits and single is None:
            raise InputError(f"{home}: has no judgments; they are expected in qrels/test.tsv")
        split = None if single is not None and self.split is None else _split(self, home, splits)
        qrels = single if single is not None and split is None else splits[str(split)]
        learnt = _training_file(folder, training)
        wanted = training.split
        if training.qrels is None and wanted != CROSS_VALIDATION:
            if wanted is not None and wanted not in splits:
                raise InputError(_no_split(f"{home}: training.split", wanted, splits))
            learnt = splits.get(wanted or "train")
        return CollectionFiles(
            corpus=_find(home, "corpus"),
            queries=queries,
            qrels=qrels,
            train_qrels=None if learnt == qrels else learnt,
            name=self.name or home.resolve().name,
            split=split,
        )


_TABLES = (".jsonl", ".json", ".tsv", ".csv", ".parquet")
_QRELS = (".tsv", ".qrels", ".txt", ".trec", ".csv", ".jsonl", ".json", ".parquet")


def _find(home: Path, stem: str, suffixes: Sequence[str] = _TABLES) -> Path | None:
    """Return a file of a folder, compressed or not."""
    for suffix in suffixes:
        for compression in ("", *COMPRESSIONS):
            path = home / f"{stem}{suffix}{compression}"
            if path.is_file():
                return path
    return None


def _splits(home: Path) -> dict[str, Path]:
    """Return the judgments of a folder by split."""
    found: dict[str, Path] = {}
    inside = home / "qrels"
    for path in sorted(inside.iterdir()) if inside.is_dir() else []:
        stem = path.name
        if path.suffix.lower() in COMPRESSIONS:
            stem = path.name[: -len(path.suffix)]
        split, dot, suffix = stem.rpartition(".")
        if dot and split and not split.startswith(".") and f".{suffix.lower()}" in _QRELS:
            found.setdefault(split, path)
    return {split: path for split, path in found.items() if path.is_file()}


def _split(collection: CollectionConfig, home: Path, splits: Mapping[str, Path]) -> str:
    """Return the split that is evaluated."""
    wanted = collection.split
    if wanted is None:
        if "test" in splits:
            return "test"
        if len(splits) == 1:
            return next(iter(splits))
        raise InputError(
            f"{home}: has the splits {', '.join(splits)} and no test; say which with "
            "collection.split"
        )
    if wanted not in splits:
        raise InputError(_no_split(f"{home}: collection.split", wanted, splits))
    return wanted


def _no_split(what: str, wanted: str, splits: Mapping[str, Path]) -> str:
    there = f"there are {', '.join(splits)}" if splits else "there are no splits"
    return f"{what}: {UnknownNameError('split', wanted, splits)}; {there}"


def _training_file(folder: Path, training: TrainingConfig) -> Path | None:
    if training.qrels is None:
        return None
    return _existing(folder / training.qrels, "training.qrels")


def _existing(path: Path, what: str) -> Path:
    if path.is_dir():
        raise InputError(f"{path}: is a folder; {what} names a file")
    if not path.exists():
        raise InputError(f"{path}: no such file, which {what} names{_near(path)}")
    return path


def _near(path: Path) -> str:
    from difflib import get_close_matches  # noqa: PLC0415

    there = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, there, n=1)
    return f"; did you mean {path.parent / close[0]}?" if close and close[0] != path.name else ""
