"""The sections of a config that say what is searched, judged and learnt from.

Nothing here looks at the disk: `rankscope.benchmark.collection_files` finds the files.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from rankscope.benchmark.config.sections import Names, Section, refuse
from rankscope.retrieval.options import Text, TextList
from rankscope.retrieval.stages.training import FOLDS
from rankscope.tables.columns import Columns


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
    """A folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, relative to the config.
    Here and for files, bundled: begins a path to data that comes with rankscope: bundled:recipes,
    bundled:hpo."""
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
    cases: Names | None = None
    """Questions with the terms they expect: files, a folder of files by language (german/…), or
    patterns such as benchmarks/{language}/standard_v1.json, where {language} and * stand for any
    name; with an ontology its terms are searched, unless corpus names something else."""
    ontology: Text | None = None
    """The ontology that the documents are terms of (OBO, or child and parent in a table),
    relative to the config: nearness to the expected terms counts, beside exact matches."""
    relations: TextList | None = None
    """What puts a term of the ontology below another, besides is_a, such as part_of."""
    annotations: Text | None = None
    """A thing and a term on each line (or phenotype.hpoa), for information content."""
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
    """Systems return chunks, and judgments name documents: a separator such as '#', or a regular
    expression."""

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
            ("language", "cases"),
            ("languages", "cases"),
        ):
            if getattr(self, key) is not None and getattr(self, needed) is None:
                refuse(f"needs {needed}; leave it out", key)
        if self.language is not None and self.languages is not None:
            refuse("has no effect, as only one language is asked; leave it out", "languages")
