"""The sections of a config that say what is searched, judged and learnt from, and their files.

Only `CollectionConfig.files` looks at the disk, when the collection is about to be read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from rankscope.benchmark.config.sections import Section, refuse
from rankscope.errors import InputError, shown
from rankscope.files import nearest_file
from rankscope.retrieval.options import Text, TextList
from rankscope.retrieval.stages.training import FOLDS
from rankscope.runs.collapsing import Chunking, Collapse, names_table
from rankscope.tables.cases import has_case_files
from rankscope.tables.collection_folder import CollectionFolder, parts_of
from rankscope.tables.columns import Columns

NAME_MARK = "#"
"""Between the id of a term and the number of one of its names, where names are searched."""

BUNDLED = "bundled:"
"""What a path begins with that leads to data of rankscope's own, as in bundled:recipes."""

BUNDLED_NAMES = ("recipes", "hpo")
"""The collections that come with rankscope."""

_DATA = Path(__file__).parents[2] / "data"

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
    decisions: Path | None = None
    ratings: Path | None = None
    ontology: Path | None = None
    annotations: Path | None = None


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


class ColumnsConfig(Section):
    """The columns of a collection's files that go by no known name."""

    query: Text | None = None
    """The column of the query, in each file that has it."""
    relevant: Text | None = None
    """The column of the relevant documents: a list, or one in each row."""
    doc: Text | None = None
    """The column of the document, in a table with a row for each, and in the corpus."""
    grade: Text | None = None
    """The column of the grade."""

    @property
    def columns(self) -> Columns:
        """The same for what reads tables."""
        return Columns(**self.model_dump())


class CollectionConfig(Section):
    """What is searched and judged: a folder in BEIR's layout, single files, or cases."""

    path: Text | None = None
    """A folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, or as on the Hugging Face Hub
    (corpus/SPLIT-00000-of-00001.parquet, …), relative to the config. Here and for files, bundled:
    begins a path to data that comes with rankscope: bundled:recipes, bundled:hpo."""
    split: Text | None = None
    """Which judgments of the folder are used; if not given, test, or the only ones."""
    ir_datasets: Text | None = None
    """Instead of a folder, an id of ir_datasets such as beir/scifact/test, which downloads it."""
    corpus: Text | None = None
    """The documents, where there is no folder; existing runs need none."""
    queries: Text | None = None
    """The queries, where there is no folder."""
    qrels: Text | None = None
    """The judgments, where there is no folder."""
    golden: Text | None = None
    """One file of questions with the documents they expect, instead of queries and qrels."""
    cases: Text | None = None
    """Questions with the terms they expect: a file, or a folder of files by language (german/…);
    with an ontology its terms are searched, unless corpus names something else."""
    ontology: Text | None = None
    """The ontology that the documents are terms of (OBO, or child and parent in a table),
    relative to the config: nearness to the expected terms counts, beside exact matches."""
    relations: TextList | None = None
    """What puts a term of the ontology below another, besides is_a, such as part_of."""
    annotations: Text | None = None
    """A thing and a term on each line (or phenotype.hpoa), for information content."""
    documents: Literal["terms", "names"] | None = None
    """What is made of the ontology to be searched: a document for each term (terms, if not given),
    or for each of its names, of which the best one counts (names)."""
    language: Text | None = None
    """Only cases of this language are asked."""
    languages: Literal["apart", "together"] | None = None
    """Cases of several languages are benchmarks of their own (apart, if not given), or one that
    averages over all of them (together)."""
    name: Text | None = None
    """What reports call the collection; if not given, the folder's name."""
    columns: ColumnsConfig = ColumnsConfig()
    """Columns of these files that go by no known name: query, relevant, doc, grade."""
    labels: dict[str, float] | None = Field(default=None, min_length=1)
    """What grades mean that are written as words or letters, such as {E: 3, S: 2, C: 1, I: 0}."""
    doc_id_from: Text | None = None
    """Systems return chunks, and judgments name documents: a separator such as '#', a regular
    expression, or a table from chunk to document, relative to the config."""
    collapse: Collapse = "best"
    """What a document scores: the best of its chunks, by the rank of the first, or their sum."""

    decisions: Text | None = None
    """What a router or a gate decided for each query, relative to the config."""
    ratings: Text | None = None
    """The grades of several judges for the same documents, relative to the config."""
    no_answer: Literal["empty"] | None = None
    """Which questions are meant to have no answer, beside those with the field no_answer: empty
    means all for which no document is judged."""

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("golden"), str):
            for key in ("queries", "qrels"):
                if data.get(key) not in (None, data["golden"]):
                    refuse("cannot be combined with golden; keep one of them", key)
            return {**data, "queries": data["golden"], "qrels": data["golden"]}
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
        self._check_terms()
        files = [key for key in ("corpus", "queries", "qrels") if getattr(self, key) is not None]
        places = [key for key in ("path", "ir_datasets", "cases") if getattr(self, key) is not None]
        if len(places) > 1:
            refuse(f"cannot be combined with {places[0]}; keep one of them", places[1])
        if self.cases is not None and files == ["corpus"]:
            files = []  # searched instead of the ontology
        if places and files:
            refuse(
                f"cannot be combined with {places[0]}; give {places[0]}, or queries and qrels",
                files[0],
            )
        if self.path is None and self.split is not None:
            refuse("only a folder (path) has splits; name the file in qrels instead", "split")
        if not places and not {"queries", "qrels"}.issubset(files):
            missing = "queries" if "queries" not in files else "qrels"
            expected = "expected path, cases, or queries and qrels"
            refuse(f"missing key '{missing}'" if files else expected)
        return self

    def _check_terms(self) -> None:
        """Refuse what has no effect without cases, or without an ontology."""
        for key, needed in (
            ("relations", "ontology"),
            ("annotations", "ontology"),
            ("documents", "ontology"),
            ("documents", "cases"),
            ("language", "cases"),
            ("languages", "cases"),
        ):
            if getattr(self, key) is not None and getattr(self, needed) is None:
                refuse(f"needs {needed}; leave it out", key)
        if self.documents is not None and self.corpus is not None:
            refuse("has no effect, as corpus says what is searched; leave it out", "documents")
        if self.documents == "names" and self.doc_id_from is not None:
            refuse("names are collapsed to terms already; leave it out", "doc_id_from")
        if self.language is not None and self.languages is not None:
            refuse("has no effect, as only one language is asked; leave it out", "languages")

    def files(self, folder: Path, training: TrainingConfig | None = None) -> CollectionFiles:
        """Find the files; relative paths start in ``folder``.

        Raises:
            InputError: a file or split is missing; names what exists.
        """
        training = training or TrainingConfig()
        try:
            if self.path is not None:
                files = self._in_folder(_place(folder, self.path, "path"), folder, training)
            elif self.cases is not None:
                files = self._of_cases(folder, training)
            else:
                files = self._single_files(folder, training)
            return replace(files, **self.beside(folder))
        except OSError as error:
            place = error.filename or folder
            raise InputError(f"{place}: cannot be read ({error.strerror})") from None

    def beside(self, folder: Path) -> dict[str, Any]:
        """Find what is known beside questions and judgments: decisions, ratings, an ontology."""
        named = {
            "decisions": self.decisions,
            "ratings": self.ratings,
            "ontology": self.ontology,
            "annotations": self.annotations,
        }
        return {
            key: _existing(_place(folder, name, key), f"collection.{key}")
            for key, name in named.items()
            if name is not None
        }

    def chunking(self, folder: Path) -> Chunking | None:
        """Read how chunks become documents; the path of a table starts in ``folder``.

        Raises:
            InputError: the rule cannot be used.
        """
        if self.documents == "names":
            return Chunking.of(NAME_MARK, "best")
        if self.doc_id_from is None:
            return None
        table = folder / self.doc_id_from
        rule: Any = table if names_table(str(table)) else self.doc_id_from
        return replace(Chunking.of(rule, self.collapse), rule=self.doc_id_from)

    def _corpus(self, folder: Path) -> Path | None:
        """Return the documents that are named by themselves."""
        if self.corpus is None:
            return None
        place = _place(folder, self.corpus, "corpus")
        return _existing(place, "collection.corpus", may_be_folder=True)

    def _single_files(self, folder: Path, training: TrainingConfig) -> CollectionFiles:
        queries = _golden(_place(folder, str(self.queries), "queries"), "collection.queries")
        qrels = _golden(_place(folder, str(self.qrels), "qrels"), "collection.qrels")
        corpus = self._corpus(folder)
        if training.split not in (None, CROSS_VALIDATION):
            raise InputError(
                f"training.split: there is no split {shown(training.split)}, as the collection is "
                "not a folder; give training.qrels"
            )
        return CollectionFiles(
            corpus=corpus,
            queries=queries,
            qrels=qrels,
            train_qrels=training_file(folder, training),
            name=self.name or (qrels if qrels.is_dir() else qrels.resolve().parent).name,
            split=None,
        )

    def _of_cases(self, folder: Path, training: TrainingConfig) -> CollectionFiles:
        cases = _existing(
            _place(folder, str(self.cases), "cases"), "collection.cases", may_be_folder=True
        )
        corpus = self._corpus(folder)
        if training.split not in (None, CROSS_VALIDATION):
            raise InputError("training.split: cases have no splits; give training.qrels")
        return CollectionFiles(
            corpus=corpus,
            queries=cases,
            qrels=cases,
            train_qrels=training_file(folder, training),
            name=self.name or cases.resolve().stem,
            split=None,
        )

    def _in_folder(self, home: Path, folder: Path, training: TrainingConfig) -> CollectionFiles:
        if home.is_file():
            raise InputError(f"collection.path: expected a folder, got a file: {home}")
        if not home.is_dir():
            raise InputError(f"collection.path: folder not found: {home}{_hint(home)}")
        inside = CollectionFolder.open(home)
        if inside is None and has_case_files(home):
            return self._cases(home, folder, training)
        if inside is None or "queries" not in inside.tables:
            raise InputError(f"{home}: queries.jsonl not found; a collection has its queries there")
        split = inside.split(self.split, "collection.split")
        queries = inside.place("queries", split)
        qrels, train_qrels = inside.qrels[split], training_file(folder, training)
        if training.qrels is None and training.split != CROSS_VALIDATION:
            trained = "train" if training.split is None else training.split
            if training.split is not None:
                inside.split(trained, "training.split")
            train_qrels = inside.qrels.get(trained)
        return CollectionFiles(
            corpus=inside.place("corpus", split),
            queries=queries or home,
            qrels=qrels,
            train_qrels=None if train_qrels == qrels else train_qrels,
            name=self.name or home.resolve().name,
            split=split,
        )

    def _cases(self, home: Path, folder: Path, training: TrainingConfig) -> CollectionFiles:
        """Return a folder of case files, which are queries and judgments alike."""
        for key, value in (
            ("collection.split", self.split),
            ("training.split", None if training.split == CROSS_VALIDATION else training.split),
        ):
            if value is not None:
                raise InputError(f"{key}: {home} holds case files, without splits; leave it out")
        return CollectionFiles(
            corpus=None,
            queries=home,
            qrels=home,
            train_qrels=training_file(folder, training),
            name=self.name or home.resolve().name,
            split=None,
        )


def training_file(folder: Path, training: TrainingConfig) -> Path | None:
    """Return the judgments of their own that trained parts learn from."""
    if training.qrels is None:
        return None
    return _existing(_place(folder, training.qrels, "qrels", "training"), "training.qrels")


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


def _golden(path: Path, key: str) -> Path:
    return _existing(path, key, may_be_folder=path.is_dir() and has_case_files(path))


def _existing(path: Path, key: str, *, may_be_folder: bool = False) -> Path:
    if path.is_dir():
        if may_be_folder:
            return path
        raise InputError(f"{key}: expected a file, got a folder: {path}")
    if not path.exists() and parts_of(path) == [path]:
        raise InputError(f"{key}: file not found: {path}{_hint(path)}")
    return path


def _hint(path: Path) -> str:
    near = nearest_file(path)
    return f"; did you mean {near}?" if near else ""
