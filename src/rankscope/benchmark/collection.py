"""The collection of a benchmark: what is searched, asked and judged, known by its content.

The corpus may be large, so it is read only when somebody needs a document; what it is known by is
the hash of its files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from rankscope.benchmark.codes import WITHOUT_TEXT
from rankscope.benchmark.collection_files import (
    CROSS_VALIDATION,
    CollectionFiles,
    chunking_of,
    files_of,
)
from rankscope.benchmark.config.collection_config import CollectionConfig, TrainingConfig
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.term_corpus import Unit, documents_of
from rankscope.collection.corpus import Corpus, read_corpus
from rankscope.collection.decisions import Decisions, as_decisions
from rankscope.collection.qrels import Qrels, as_qrels
from rankscope.collection.queries import Queries, read_queries
from rankscope.collection.ratings import Ratings, as_ratings
from rankscope.errors import InputError, InvalidDataError, counted, shown
from rankscope.files import check_regular, read_bytes
from rankscope.findings import PLACES_SHOWN, Finding, Place
from rankscope.ontology.terms import Ontology, read_ontology
from rankscope.records.report import CollectionInfo, OntologyInfo
from rankscope.retrieval.protocol import Query, fingerprint, queries_of
from rankscope.retrieval.stages.training import Training
from rankscope.runs.collapsing import Chunking
from rankscope.runs.validation import Reference
from rankscope.scoring.judgments import Judgments
from rankscope.tables.cases import is_unanswered, language_code
from rankscope.tables.collection_folder import parts_of


class Documents:
    """What is searched: a file that is read, or an ontology's terms, when first needed."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        doc: str | None = None,
        ontology: Ontology | None = None,
        unit: Unit = "terms",
    ) -> None:
        self._path, self._doc = path, doc
        self._ontology, self._unit = ontology, unit
        self._corpus: Corpus | None = None
        self._reading = Lock()  # several threads may need it at the same time

    @property
    def corpus(self) -> Corpus:
        """The documents."""
        with self._reading:
            if self._corpus is None and self._path is not None:
                self._corpus = read_corpus(self._path, doc=self._doc)
            elif self._corpus is None:
                assert self._ontology is not None
                self._corpus = Corpus(documents_of(self._ontology, self._unit))
            return self._corpus

    @cached_property
    def sha256(self) -> str:
        """What decides the documents: the bytes of the file, or the ontology."""
        if self._path is None:
            assert self._ontology is not None
            return fingerprint("terms 1", self._unit, self._ontology.sha256)
        parts = []
        for part in map(Path, parts_of(self._path)):
            check_regular(part)
            with part.open("rb") as stream:
                parts.append(hashlib.file_digest(stream, "sha256").hexdigest())
        return parts[0] if len(parts) == 1 and self._doc is None else fingerprint(parts, self._doc)


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """What is searched, asked and judged; every system is asked the same ``queries``."""

    documents: Documents | None
    queries: tuple[Query, ...]
    judgments: Judgments
    training: Training | None
    info: CollectionInfo
    findings: tuple[Finding, ...]
    chunking: Chunking | None = None
    """How the chunks that systems return become the documents that are judged."""
    decisions: Decisions | None = None
    """What a router or gate decided."""
    ratings: Ratings | None = None
    """Who judged what, and how."""

    @property
    def corpus(self) -> Corpus | None:
        """The documents, read when they are first needed; None if there are none."""
        return None if self.documents is None else self.documents.corpus

    def counted(self) -> Collection:
        """Return the same collection with the number of its documents, which are read for that."""
        size = None if self.corpus is None else len(self.corpus)
        return replace(self, info=self.info.model_copy(update={"documents": size}))

    def title_of(self, doc_id: str) -> str | None:
        """Return a document's title, or the beginning of its text; None if it is not known."""
        ontology = self.judgments.ontology
        if ontology is not None and doc_id in ontology:
            return ontology[doc_id].label or None
        if self.corpus is None or doc_id not in self.corpus:
            return None
        document = self.corpus[doc_id]
        return document.title or document.text[:120]

    def text_of(self, doc_id: str) -> str | None:
        """Return what a document says; None if it is not known, or nothing beside the title."""
        if self.corpus is None or doc_id not in self.corpus:
            return None
        return self.corpus[doc_id].body or None


def load_collection(loaded: LoadedConfig, cache: Path, *, may_read: bool = True) -> Collection:
    """Read queries and judgments; with ``may_read`` false, no data set is downloaded for a corpus.

    Raises:
        InputError: something is missing or broken.
    """
    config = loaded.config.collection
    files = files_of(loaded, cache, may_read=may_read)
    ontology = _ontology(files, config, loaded.folder)
    unit: Unit = config.documents or "terms"
    documents = None
    if files.corpus is not None:
        documents = Documents(files.corpus, doc=config.columns.doc)
    elif ontology is not None and config.cases is not None:
        documents = Documents(ontology=ontology, unit=unit)
    columns = config.columns.columns
    everything = queries_of(questions_in(files, config))
    qrels = as_qrels(files.qrels, columns, config.labels)
    train_qrels = None
    if files.train_qrels is not None:
        train_qrels = as_qrels(files.train_qrels, columns, config.labels)
    if config.language is not None:
        everything, qrels = _in_language(everything, qrels, config.language, files.source)
    unanswered = _unanswered(everything, qrels, config, files.source)
    judged = {*qrels.query_ids, *unanswered}
    asked = tuple(query for query in everything if query.query_id in judged)
    if not asked:
        raise InputError(
            f"{files.source}: none of its queries is judged in {files.qrels}; check that both use "
            "the same query ids"
        )
    chunking = chunking_of(config, loaded.folder)
    training = _training(loaded.config.training, train_qrels, everything, qrels)
    judgments = Judgments(qrels, remember=True, no_answer=unanswered)
    judgments.ontology = ontology
    judgments.may_mix_languages = config.languages == "together"
    if not judgments.query_ids:
        raise InputError(f"{files.source}: every question has no answer; give judgments")
    info = CollectionInfo(
        name=files.name,
        split=files.split,
        documents=None,
        queries=len(asked),
        judgments=len(qrels),
        corpus_sha256=None if documents is None else documents.sha256,
        queries_sha256=hash_of_queries(asked),
        qrels_sha256=judgments.fingerprint,
        training=None if training is None else _name_of(files.train_qrels),
        no_answer=tuple(query.query_id for query in asked if query.query_id in judgments.no_answer),
        chunks_sha256=None if chunking is None else fingerprint(*chunking.identity),
        decisions_sha256=_hash_of_file(files.decisions),
        ratings_sha256=_hash_of_file(files.ratings),
        ontology=None if ontology is None else _about_ontology(ontology),
        language=config.language,
        documents_are=unit if documents is not None and files.corpus is None else None,
    )
    return Collection(
        documents,
        asked,
        judgments,
        training,
        info,
        _findings(asked, qrels, files.source),
        chunking,
        decisions=None if files.decisions is None else as_decisions(files.decisions),
        ratings=None if files.ratings is None else as_ratings(files.ratings),
    )


def questions_in(files: CollectionFiles, config: CollectionConfig) -> Queries:
    """Read the questions of a collection."""
    if isinstance(files.queries, Path):
        return read_queries(files.queries, query=config.columns.query)
    return Queries(files.queries)


def _unanswered(
    queries: Iterable[Query], qrels: Qrels, config: CollectionConfig, source: str
) -> list[str]:
    """Return the questions that are meant to have no answer."""
    sizes = np.diff(qrels.offsets)
    with_documents = {query_id for query_id, size in zip(qrels, sizes, strict=True) if size}
    marked = [
        query.query_id
        for query in queries
        if is_unanswered(query.metadata, source)
        or (config.no_answer == "empty" and query.query_id not in with_documents)
    ]
    return [*qrels.no_answer, *marked]


def _ontology(files: CollectionFiles, config: CollectionConfig, folder: Path) -> Ontology | None:
    """Read the ontology that documents are terms of, if there is one.

    Records name it as the config does, without the folders of this machine.
    """
    place = files.ontology
    if place is None:
        return None
    ontology = read_ontology(place, relations=config.relations or (), annotations=files.annotations)
    name = str(place.relative_to(folder)) if place.is_relative_to(folder) else place.name
    return replace(ontology, source=name)


def _about_ontology(ontology: Ontology) -> OntologyInfo:
    same = set(OntologyInfo.model_fields) - {"terms"}
    return OntologyInfo(terms=len(ontology), **{name: getattr(ontology, name) for name in same})


def _in_language(
    queries: list[Query], qrels: Qrels, language: str, source: str
) -> tuple[list[Query], Qrels]:
    """Return the questions of one language, and their judgments."""
    wanted = language_code(language)
    asked = [query for query in queries if query.metadata.get("language") == wanted]
    if not asked:
        known = dict.fromkeys(str(query.metadata.get("language")) for query in queries)
        raise InputError(
            f"{source}: no case has the language {shown(language)}; there are: {', '.join(known)}"
        )
    ids = {query.query_id for query in asked}
    return asked, qrels.without([query_id for query_id in qrels.query_ids if query_id not in ids])


def _findings(asked: Iterable[Query], qrels: Qrels, source: str) -> tuple[Finding, ...]:
    """Return what is to be said of queries and of their judgments.

    Judgments by which nothing is relevant are refused, as `read_qrels` refuses others.
    """
    findings = Reference.read(qrels=qrels).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise InvalidDataError(errors[0].sentence, errors)
    missing = sorted(set(qrels.query_ids) - {query.query_id for query in asked})
    if not missing:
        return findings
    message = f"{counted(len(missing), 'judged query')} cannot be asked: no text is known"
    places = tuple(Place(source, query_id=query_id) for query_id in missing[:PLACES_SHOWN])
    return (WITHOUT_TEXT.finding(message, count=len(missing), places=places), *findings)


def hash_of_queries(queries: Iterable[Query]) -> str:
    """Return a hash of ids, texts and metadata."""
    return _hash([query.query_id, query.text, dict(query.metadata)] for query in queries)


def _training(
    wanted: TrainingConfig, judgments: Qrels | None, queries: list[Query], qrels: Qrels
) -> Training | None:
    """Return what trained parts learn from: judgments of their own, or the evaluated ones.

    Where nobody asked for it and it is not enough, there is none: most benchmarks train nothing.
    """
    learnt = qrels if judgments is None else judgments
    try:
        return Training(tuple(queries), learnt, wanted.folds, wanted.seed)
    except InputError:
        if wanted.split is not None or wanted.qrels is not None:
            raise
        return None


def _name_of(training_file: Path | None) -> str:
    return CROSS_VALIDATION if training_file is None else training_file.name.split(".")[0]


def _hash_of_file(path: Path | None) -> str | None:
    return None if path is None else hashlib.sha256(read_bytes(path)).hexdigest()


def _hash(rows: Iterable[list[Any]]) -> str:
    """Hash plain data, a line for each row."""
    running = hashlib.sha256()
    for row in rows:
        text = json.dumps(row, sort_keys=True, ensure_ascii=False, default=str)
        running.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return running.hexdigest()
