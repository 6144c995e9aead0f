"""The files of a collection: where a config's folder, files, cases or data set lead to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.benchmark.config.collection_config import CollectionConfig, TrainingConfig
from rankscope.errors import InputError, MissingExtraError, shown
from rankscope.files import nearest_file, replacing
from rankscope.retrieval.cache_entries import make_folder
from rankscope.retrieval.protocol import fingerprint
from rankscope.tables.cases import cases_in_files, has_case_files
from rankscope.tables.collection_folder import CollectionFolder, parts_of
from rankscope.tables.jsontext import dump_json

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

    @property
    def source(self) -> str:
        """What messages call the questions."""
        return str(self.queries) if isinstance(self.queries, Path) else "collection.cases"


def find_files(
    config: CollectionConfig,
    folder: Path,
    training: TrainingConfig | None = None,
    *,
    cache: Path | None = None,
) -> CollectionFiles:
    """Find the files that a config names; relative paths start in ``folder``.

    A data set of ir_datasets is downloaded into ``cache``.

    Raises:
        InputError: a file or split is missing; names what exists.
    """
    training = training or TrainingConfig()
    learnt = beside(folder, training.qrels, "qrels", section="training")
    try:
        if config.path is not None:
            return _in_folder(config, _place(folder, config.path, "path"), training, learnt)
        if training.split not in (None, CROSS_VALIDATION):
            raise InputError(
                f"training.split: there is no split {shown(training.split)}, as the collection is "
                "not a folder; give training.qrels"
            )
        corpus = None
        if config.ir_datasets is not None:
            assert cache is not None
            files = _data_set(config.ir_datasets, cache)
            queries, qrels, corpus = (files.get(key) for key in ("queries", "qrels", "corpus"))
            name = config.ir_datasets
        elif config.cases is not None:
            queries = qrels = _cases(config.cases, folder)
            name = qrels.resolve().stem if isinstance(qrels, Path) else "cases"
        else:
            queries = _file(folder, str(config.queries), "queries", may_be_cases=True)
            qrels = _file(folder, str(config.qrels), "qrels", may_be_cases=True)
            name = (qrels if qrels.is_dir() else qrels.resolve().parent).name
        if config.corpus is not None:
            place = _place(folder, config.corpus, "corpus")
            corpus = place if place.is_dir() else _file(folder, config.corpus, "corpus")
        return CollectionFiles(queries, qrels, config.name or name, corpus, learnt)
    except OSError as error:
        place = error.filename or folder
        raise InputError(f"{place}: cannot be read ({error.strerror})") from None


def beside(folder: Path, name: str | None, key: str, section: str = "collection") -> Path | None:
    """Return the file that a key names, if it does."""
    return None if name is None else _file(folder, name, key, section=section)


def _in_folder(
    config: CollectionConfig, home: Path, training: TrainingConfig, learnt: Path | None
) -> CollectionFiles:
    """Return the files of a folder in BEIR's layout, or of one with case files."""
    if home.is_file():
        raise InputError(f"collection.path: expected a folder, got a file: {home}")
    if not home.is_dir():
        raise InputError(f"collection.path: folder not found: {home}{_hint(home)}")
    inside, name = CollectionFolder.open(home), config.name or home.resolve().name
    if inside is None and has_case_files(home):
        if config.split is not None or training.split not in (None, CROSS_VALIDATION):
            raise InputError(f"{home} holds case files, without splits; leave split out")
        return CollectionFiles(home, home, name, train_qrels=learnt)
    if inside is None or "queries" not in inside.tables:
        raise InputError(f"{home}: queries.jsonl not found; a collection has its queries there")
    split = inside.split(config.split, "collection.split")
    if training.qrels is None and training.split != CROSS_VALIDATION:
        trained = training.split or "train"
        if training.split is not None:
            inside.split(trained, "training.split")
        learnt = inside.qrels.get(trained)
    return CollectionFiles(
        inside.tables.get("queries", home),
        inside.qrels[split],
        name,
        inside.tables.get("corpus"),
        None if learnt == inside.qrels[split] else learnt,
        split,
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
        else:
            paths.append(place if place.is_dir() else _file(folder, pattern, "cases"))
    paths = list(dict.fromkeys(paths))
    return paths[0] if len(paths) == 1 else cases_in_files(paths, "collection.cases")


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
    folder: Path, name: str, key: str, *, section: str = "collection", may_be_cases: bool = False
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


# --- ir_datasets ---------------------------------------------------------------------------------


def _data_set(dataset_id: str, cache: Path) -> dict[str, Path]:
    """Return the files of a data set by what they hold.

    ir_datasets downloads what it does not have. What it gives is written down as JSON lines, so
    that the next run reads files and asks nobody.
    """
    folder = make_folder(cache / "ir_datasets" / fingerprint(dataset_id)[:16])
    files = {kind: folder / f"{kind}.jsonl" for kind in ("queries", "qrels", "corpus")}
    try:
        for kind, path in files.items():
            if not path.exists():
                dataset = _opened_data_set(dataset_id)
                if kind != "corpus" or dataset.has_docs():
                    with replacing(path) as sink:
                        for row in _rows(dataset, kind):
                            sink.write(f"{dump_json(row)}\n".encode())
    except MissingExtraError:
        raise
    except Exception as error:  # whatever a download or an archive does
        name = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        problem = f"{shown(dataset_id)} could not be read ({name}{shown(str(error), 200)[1:-1]})"
        raise InputError(f"collection.ir_datasets: {problem}") from error
    return {kind: path for kind, path in files.items() if path.exists()}


def _opened_data_set(dataset_id: str) -> Any:
    try:
        import ir_datasets  # noqa: PLC0415
    except ImportError:
        needed_for = "collection.ir_datasets"
        raise MissingExtraError("ir_datasets", needed_for=needed_for, extra="ir-datasets") from None
    try:
        dataset = ir_datasets.load(dataset_id)
    except KeyError:
        problem = "no data set has this id; the catalogue is at https://ir-datasets.com"
        raise InputError(problem) from None
    for what, is_there in (("queries", dataset.has_queries()), ("judgments", dataset.has_qrels())):
        if not is_there:
            raise InputError(f"no {what}; name a part of it that has, such as beir/scifact/test")
    return dataset


def _rows(dataset: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table."""
    if kind == "qrels":
        for judgment in dataset.qrels_iter():
            if not hasattr(judgment, "relevance"):
                known = ", ".join(judgment._fields)
                raise InputError(f"no relevance in the judgments, but {known}")
            row = {"query_id": judgment.query_id, "doc_id": judgment.doc_id}
            if subtopic := getattr(judgment, "subtopic_id", None):
                row["subtopic"] = subtopic
            yield {**row, "grade": judgment.relevance}
        return
    id_field = "query_id" if kind == "queries" else "doc_id"
    for item in dataset.queries_iter() if kind == "queries" else dataset.docs_iter():
        fields: dict[str, Any] = {k: v for k, v in item._asdict().items() if _is_plain(v)}
        row = {"_id": fields.pop(id_field), **fields}
        names = ("text", "query", "title", "question")
        text = next((row[name] for name in names if isinstance(row.get(name), str)), None)
        if text is None and hasattr(item, "default_text"):
            text = item.default_text()
        if not isinstance(text, str):
            raise InputError(f"no text in the {kind}, but {', '.join(item._fields)}")
        yield {**row, "text": row.get("text", text)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float | bool)
