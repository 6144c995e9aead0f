"""The files of a collection: where a config's folder, files, cases or data set lead to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankscope.benchmark.config.collection_config import CollectionConfig, TrainingConfig
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.ir_datasets import dataset_files
from rankscope.errors import InputError, shown
from rankscope.files import nearest_file
from rankscope.runs.collapsing import Chunking, names_table
from rankscope.tables.cases import cases_in_files, has_case_files
from rankscope.tables.collection_folder import CollectionFolder, parts_of

NAME_MARK = "#"
"""Between the id of a term and the number of one of its names, where names are searched."""

BUNDLED = "bundled:"
"""What a path begins with that leads to data of rankscope's own, as in bundled:recipes."""

BUNDLED_NAMES = ("recipes", "hpo")
"""The collections that come with rankscope."""

_DATA = Path(__file__).parents[1] / "data"

CROSS_VALIDATION = "cross-validation"
"""As a split to train on: the evaluated one, by models that have not seen what they answer."""


@dataclass(frozen=True, slots=True)
class CollectionFiles:
    """The files of a collection, all of which exist.

    ``queries`` and ``qrels`` are the cases themselves where these are in several files.
    ``train_qrels`` is what trained parts learn from; None means the evaluated judgments, by
    cross-validation.
    """

    queries: Any
    qrels: Any
    name: str
    corpus: Path | None = None
    train_qrels: Path | None = None
    split: str | None = None
    decisions: Path | None = None
    ratings: Path | None = None
    ontology: Path | None = None
    annotations: Path | None = None

    @property
    def source(self) -> str:
        """What messages call the questions."""
        return str(self.queries) if isinstance(self.queries, Path) else "collection.cases"


def files_of(loaded: LoadedConfig, cache: Path, *, may_read: bool = True) -> CollectionFiles:
    """Find the files of a config's collection; a data set is downloaded into the cache."""
    collection, training = loaded.config.collection, loaded.config.training
    if collection.ir_datasets is None:
        return find_files(collection, loaded.folder, training)
    files = CollectionFiles(
        **dataset_files(collection.ir_datasets, cache, may_read=may_read),
        name=collection.name or collection.ir_datasets,
        train_qrels=_training_file(loaded.folder, training),
    )
    return replace(files, **_beside(collection, loaded.folder))


def find_files(
    config: CollectionConfig, folder: Path, training: TrainingConfig | None = None
) -> CollectionFiles:
    """Find the files that a config names; relative paths start in ``folder``.

    Raises:
        InputError: a file or split is missing; names what exists.
    """
    training = training or TrainingConfig()
    try:
        if config.path is not None:
            files = _in_folder(config, _place(folder, config.path, "path"), folder, training)
        else:
            files = _named(config, folder, training)
        return replace(files, **_beside(config, folder))
    except OSError as error:
        place = error.filename or folder
        raise InputError(f"{place}: cannot be read ({error.strerror})") from None


def chunking_of(config: CollectionConfig, folder: Path) -> Chunking | None:
    """Read how chunks become documents; the path of a table starts in ``folder``.

    Raises:
        InputError: the rule cannot be used.
    """
    if config.documents == "names":
        return Chunking.of(NAME_MARK, "best")
    if config.doc_id_from is None:
        return None
    table = folder / config.doc_id_from
    rule: Any = table if names_table(str(table)) else config.doc_id_from
    return replace(Chunking.of(rule, config.collapse), rule=config.doc_id_from)


def _beside(config: CollectionConfig, folder: Path) -> dict[str, Any]:
    """Find what is known beside questions and judgments: decisions, ratings, an ontology."""
    keys = ("decisions", "ratings", "ontology", "annotations")
    named = {key: getattr(config, key) for key in keys}
    return {key: _file(folder, name, key) for key, name in named.items() if name is not None}


def _named(config: CollectionConfig, folder: Path, training: TrainingConfig) -> CollectionFiles:
    """Return files that are named one by one."""
    if training.split not in (None, CROSS_VALIDATION):
        raise InputError(
            f"training.split: there is no split {shown(training.split)}, as the collection is not "
            "a folder; give training.qrels"
        )
    if config.cases is not None:
        queries = qrels = _cases(config.cases, folder)
        name = qrels.resolve().stem if isinstance(qrels, Path) else "cases"
    else:
        queries, qrels = (
            _file(folder, str(getattr(config, key)), key, may_be_cases=True)
            for key in ("queries", "qrels")
        )
        name = (qrels if qrels.is_dir() else qrels.resolve().parent).name
    corpus = None
    if config.corpus is not None:
        place = _place(folder, config.corpus, "corpus")
        corpus = place if place.is_dir() else _file(folder, config.corpus, "corpus")
    return CollectionFiles(
        queries, qrels, config.name or name, corpus, _training_file(folder, training)
    )


def _cases(patterns: list[str], folder: Path) -> Any:
    """Return the one file or folder of cases, or the cases of all files that fit."""
    paths: list[Path] = []
    for pattern in patterns:
        place = _place(folder, pattern, "cases")
        wild = str(place).replace("{language}", "*")
        if any(sign in wild for sign in "*?["):
            home = Path(place.anchor) if place.is_absolute() else Path()
            fitting = sorted(home.glob(str(Path(wild).relative_to(home))))
            if not fitting:
                raise InputError(f"collection.cases: no file fits {shown(pattern)}")
            paths += fitting
        elif place.is_dir():
            paths.append(place)
        else:
            paths.append(_file(folder, pattern, "cases"))
    paths = list(dict.fromkeys(paths))
    return paths[0] if len(paths) == 1 else cases_in_files(paths, "collection.cases")


def _in_folder(
    config: CollectionConfig, home: Path, folder: Path, training: TrainingConfig
) -> CollectionFiles:
    """Return the files of a folder in BEIR's layout, or of one with case files."""
    if home.is_file():
        raise InputError(f"collection.path: expected a folder, got a file: {home}")
    if not home.is_dir():
        raise InputError(f"collection.path: folder not found: {home}{_hint(home)}")
    inside, name = CollectionFolder.open(home), config.name or home.resolve().name
    train_qrels = _training_file(folder, training)
    if inside is None and has_case_files(home):
        if config.split is not None or training.split not in (None, CROSS_VALIDATION):
            raise InputError(f"{home} holds case files, without splits; leave split out")
        return CollectionFiles(home, home, name, train_qrels=train_qrels)
    if inside is None or "queries" not in inside.tables:
        raise InputError(f"{home}: queries.jsonl not found; a collection has its queries there")
    split = inside.split(config.split, "collection.split")
    if training.qrels is None and training.split != CROSS_VALIDATION:
        trained = training.split or "train"
        if training.split is not None:
            inside.split(trained, "training.split")
        train_qrels = inside.qrels.get(trained)
    return CollectionFiles(
        inside.tables.get("queries", home),
        inside.qrels[split],
        name,
        inside.tables.get("corpus"),
        None if train_qrels == inside.qrels[split] else train_qrels,
        split,
    )


def _training_file(folder: Path, training: TrainingConfig) -> Path | None:
    """Return the judgments of their own that trained parts learn from."""
    if training.qrels is None:
        return None
    return _file(folder, training.qrels, "qrels", section="training")


def _place(folder: Path, name: str, key: str, section: str = "collection") -> Path:
    """Return where a path of the config leads: into the bundled data, or on from ``folder``."""
    if not name.startswith(BUNDLED):
        return folder / name
    parts = name.removeprefix(BUNDLED).split("/")
    if parts[0] not in BUNDLED_NAMES or ".." in parts:
        known = ", ".join(f"{BUNDLED}{collection}" for collection in BUNDLED_NAMES)
        raise InputError(
            f"{section}.{key}: expected a path inside {known}, got {shown(name)}; leave out "
            f"{BUNDLED} for a path of yours"
        )
    return _DATA.joinpath(*parts)


def _file(
    folder: Path,
    name: str,
    key: str,
    *,
    section: str = "collection",
    may_be_cases: bool = False,
) -> Path:
    """Return an existing file, or a folder of case files where these are allowed."""
    path = _place(folder, name, key, section)
    if path.is_dir():
        if may_be_cases and has_case_files(path):
            return path
        raise InputError(f"{section}.{key}: expected a file, got a folder: {path}")
    if not path.exists() and parts_of(path) == [path]:
        raise InputError(f"{section}.{key}: file not found: {path}{_hint(path)}")
    return path


def _hint(path: Path) -> str:
    near = nearest_file(path)
    return f"; did you mean {near}?" if near else ""
