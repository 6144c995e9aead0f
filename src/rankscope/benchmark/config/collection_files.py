"""The sections of a config that say what is searched, judged and learnt from, and their files.

Only `CollectionConfig.files` looks at the disk, when the collection is about to be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from rankscope.benchmark.config.sections import Section, refuse
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.files import COMPRESSIONS, nearest_file
from rankscope.retrieval.options import Text
from rankscope.retrieval.stages.training import FOLDS
from rankscope.runs.collapsing import Chunking, Collapse, names_table

CROSS_VALIDATION = "cross-validation"
"""As a split to train on: the evaluated one, by models that have not seen what they answer."""


@dataclass(frozen=True, slots=True)
class CollectionFiles:
    """The files of a collection, all of which exist.

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
    """Into how many folds the questions are divided."""
    seed: int = Field(default=0, ge=0)
    """Another seed divides them differently."""

    @model_validator(mode="after")
    def _split_or_file(self) -> Self:
        if self.split is not None and self.qrels is not None:
            refuse("cannot be combined with split; keep one of them", "qrels")
        return self


class CollectionConfig(Section):
    """What is searched and judged: a folder in BEIR's layout, or single files."""

    path: Text | None = None
    """A folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, relative to the config."""
    split: Text | None = None
    """Which judgments of the folder are used; if not given, test, or the only ones."""
    corpus: Text | None = None
    """The documents, where there is no folder; existing runs need none."""
    queries: Text | None = None
    """The queries, where there is no folder."""
    qrels: Text | None = None
    """The judgments, where there is no folder."""
    name: Text | None = None
    """What reports call the collection; if not given, the folder's name."""
    doc_id_from: Text | None = None
    """Systems return chunks, and judgments name documents: a separator such as '#', a regular
    expression, or a table from chunk to document, relative to the config."""
    collapse: Collapse = "best"
    """What a document scores: the best of its chunks, by the rank of the first, or their sum."""

    no_answer: Literal["empty"] | None = None
    """Which questions are meant to have no answer, beside those with the field no_answer: empty
    means all for which no document is judged."""

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, data: Any) -> Any:
        return {"path": data} if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "minLength": 1}, handler(schema)]}

    @model_validator(mode="after")
    def _folder_or_files(self) -> Self:
        if self.doc_id_from is None and self.collapse != "best":
            refuse("needs doc_id_from, which says what document a chunk is of", "collapse")
        files = [key for key in ("corpus", "queries", "qrels") if getattr(self, key) is not None]
        if self.path is not None and files:
            refuse("cannot be combined with path; give path, or queries and qrels", files[0])
        if self.path is None and self.split is not None:
            refuse("only a folder (path) has splits; name the file in qrels instead", "split")
        if self.path is None and not {"queries", "qrels"}.issubset(files):
            missing = "queries" if "queries" not in files else "qrels"
            refuse(f"missing key '{missing}'" if files else "expected path, or queries and qrels")
        return self

    def files(self, folder: Path, training: TrainingConfig | None = None) -> CollectionFiles:
        """Find the files; relative paths start in ``folder``.

        Raises:
            InputError: a file or split is missing; names what exists.
        """
        training = training or TrainingConfig()
        try:
            if self.path is not None:
                return self._in_folder(folder / self.path, folder, training)
            return self._single_files(folder, training)
        except OSError as error:
            place = error.filename or folder
            raise InputError(f"{place}: cannot be read ({error.strerror})") from None

    def chunking(self, folder: Path) -> Chunking | None:
        """Read how chunks become documents; the path of a table starts in ``folder``.

        Raises:
            InputError: the rule cannot be used.
        """
        if self.doc_id_from is None:
            return None
        table = folder / self.doc_id_from
        rule: Any = table if names_table(str(table)) else self.doc_id_from
        return replace(Chunking.of(rule, self.collapse), rule=self.doc_id_from)

    def _single_files(self, folder: Path, training: TrainingConfig) -> CollectionFiles:
        queries = _existing(folder / str(self.queries), "collection.queries")
        qrels = _existing(folder / str(self.qrels), "collection.qrels")
        corpus = None
        if self.corpus is not None:
            corpus = _existing(folder / self.corpus, "collection.corpus")
        if training.split not in (None, CROSS_VALIDATION):
            raise InputError(
                f"training.split: there is no split {shown(training.split)}, as the collection is "
                "not a folder; give training.qrels"
            )
        return CollectionFiles(
            corpus=corpus,
            queries=queries,
            qrels=qrels,
            train_qrels=_training_file(folder, training),
            name=self.name or qrels.resolve().parent.name,
            split=None,
        )

    def _in_folder(self, home: Path, folder: Path, training: TrainingConfig) -> CollectionFiles:
        if home.is_file():
            raise InputError(f"collection.path: expected a folder, got a file: {home}")
        if not home.is_dir():
            raise InputError(f"collection.path: folder not found: {home}{_hint(home)}")
        queries = _find(home, "queries")
        if queries is None:
            raise InputError(f"{home}: queries.jsonl not found; a collection has its queries there")
        splits = _splits(home)
        single = _find(home, "qrels", _QRELS) if not splits else None
        if not splits and single is None:
            raise InputError(f"{home}: no judgments found; they are expected in qrels/test.tsv")
        split = None if single is not None and self.split is None else _split(self, home, splits)
        qrels = single if single is not None and split is None else splits[str(split)]
        train_qrels = _training_file(folder, training)
        if training.qrels is None and training.split != CROSS_VALIDATION:
            if training.split is not None and training.split not in splits:
                raise InputError(_no_split("training.split", training.split, home, splits))
            train_qrels = splits.get(training.split or "train")
        return CollectionFiles(
            corpus=_find(home, "corpus"),
            queries=queries,
            qrels=qrels,
            train_qrels=None if train_qrels == qrels else train_qrels,
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
    by_split: dict[str, Path] = {}
    inside = home / "qrels"
    for path in sorted(inside.iterdir()) if inside.is_dir() else []:
        name = path.name
        if path.suffix.lower() in COMPRESSIONS:
            name = name[: -len(path.suffix)]
        split, dot, suffix = name.rpartition(".")
        if dot and split and not split.startswith(".") and f".{suffix.lower()}" in _QRELS:
            by_split.setdefault(split, path)
    return {split: path for split, path in by_split.items() if path.is_file()}


def _split(collection: CollectionConfig, home: Path, splits: Mapping[str, Path]) -> str:
    """Return the split that is evaluated."""
    if collection.split is not None:
        if collection.split not in splits:
            raise InputError(_no_split("collection.split", collection.split, home, splits))
        return collection.split
    if "test" in splits:
        return "test"
    if len(splits) == 1:
        return next(iter(splits))
    raise InputError(
        f"{home}: has the splits {', '.join(splits)}, and none is called test; choose one with "
        "collection.split"
    )


def _no_split(key: str, split: str, home: Path, splits: Mapping[str, Path]) -> str:
    existing = "" if splits else f"; {home} has no splits"
    return f"{key}: {UnknownNameError('split', split, splits)}{existing}"


def _training_file(folder: Path, training: TrainingConfig) -> Path | None:
    if training.qrels is None:
        return None
    return _existing(folder / training.qrels, "training.qrels")


def _existing(path: Path, key: str) -> Path:
    if path.is_dir():
        raise InputError(f"{key}: expected a file, got a folder: {path}")
    if not path.exists():
        raise InputError(f"{key}: file not found: {path}{_hint(path)}")
    return path


def _hint(path: Path) -> str:
    near = nearest_file(path)
    return f"; did you mean {near}?" if near else ""
