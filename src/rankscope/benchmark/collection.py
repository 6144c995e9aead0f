"""The collection of a benchmark: what is searched, asked and judged, known by its content.

The corpus may be large, so it is read only when somebody needs a document. What stages are known by
is its hash and its size, and these are remembered in the cache for a file that has not changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

import rankscope
from rankscope.benchmark.catalogue import dataset_files
from rankscope.benchmark.codes import WITHOUT_TEXT
from rankscope.benchmark.config.collection_files import (
    CROSS_VALIDATION,
    CollectionConfig,
    CollectionFiles,
    TrainingConfig,
    training_file,
)
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.benchmark.term_corpus import TermCorpus
from rankscope.collection.corpus import Corpus, read_corpus
from rankscope.collection.decisions import Decisions, as_decisions
from rankscope.collection.qrels import Qrels, as_qrels
from rankscope.collection.queries import read_queries
from rankscope.collection.ratings import Ratings, as_ratings
from rankscope.errors import InputError, InvalidDataError, counted, shown
from rankscope.files import read_bytes
from rankscope.findings import PLACES_SHOWN, Finding, Place
from rankscope.ontology.terms import Ontology, read_ontology
from rankscope.records.report import CollectionInfo, OntologyInfo
from rankscope.retrieval.cache_entries import make_folder, read_entry, write_entry
from rankscope.retrieval.protocol import Query, fingerprint, queries_of
from rankscope.retrieval.stages.training import Training
from rankscope.runs.collapsing import Chunking
from rankscope.runs.validation import Reference
from rankscope.scoring.judgments import Judgments
from rankscope.tables.cases import language_code
from rankscope.tables.collection_folder import parts_of
from rankscope.tables.unanswered import is_unanswered

_SETTLED = 2 * 10**9
"""Nanoseconds after which a second change of a file has another time on every file system."""


@dataclass(frozen=True, slots=True)
class Contents:
    """How many documents a corpus has, and the hash of all of them."""

    documents: int
    sha256: str


class CorpusFile:
    """A corpus on disk that is read when it is first needed.

    ``cache`` is the folder in which contents are remembered: by path, size, inode and time of the
    last change (None: they are not).
    """

    def __init__(self, path: Path, cache: Path | None = None, *, doc: str | None = None) -> None:
        self._path = path
        self._doc = doc
        self._cache = cache
        self._corpus: Corpus | None = None
        self._reading = Lock()  # stages in several threads may need it at the same time

    @property
    def corpus(self) -> Corpus:
        """The documents."""
        with self._reading:
            if self._corpus is None:
                self._corpus = read_corpus(self._path, doc=self._doc)
            return self._corpus

    def remembered(self) -> Contents | None:
        """Return what is known of the file without reading it; None if it is new or changed."""
        entry = self._entry()
        content = None if entry is None else read_entry(entry)
        return None if content is None else Contents(**json.loads(content))

    def contents(self) -> Contents:
        """Return the size and hash of the corpus, which is read if they are not remembered."""
        contents = self.remembered()
        if contents is not None:
            return contents
        before, now = self._entry(), time.time_ns()
        documents = sorted(self.corpus.documents(), key=lambda document: document.doc_id)
        rows = ([document.doc_id, dict(document.fields)] for document in documents)
        contents = Contents(len(documents), _hash(rows))
        if before is None:
            return contents
        settled = all(now - status.st_mtime_ns > _SETTLED for status in self._statuses())
        if settled and before == self._entry():
            make_folder(before.parent)
            write_entry(before, json.dumps(asdict(contents)).encode())
        return contents

    def _statuses(self) -> list[os.stat_result]:
        return [os.stat(part) for part in parts_of(self._path)]

    def _entry(self) -> Path | None:
        """Return where the contents are remembered; None for a pipe, which is read only once."""
        if self._cache is None:
            return None
        try:
            statuses = self._statuses()
        except (OSError, InputError):
            return None
        if not all(stat.S_ISREG(status.st_mode) for status in statuses):
            return None
        states = [
            (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            for status in statuses
        ]
        state = states[0] if len(states) == 1 else states
        place = str(self._path.absolute())
        key = fingerprint("corpus", rankscope.__version__, place, state, self._doc)
        return self._cache / "corpora" / f"{key}.json"


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """What is searched, asked and judged; every system is asked the same ``queries``."""

    corpus_file: CorpusFile | TermCorpus | None
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
        return None if self.corpus_file is None else self.corpus_file.corpus

    @property
    def is_known(self) -> bool:
        """Whether ``info`` knows what the corpus contains."""
        return self.corpus_file is None or self.info.corpus_sha256 is not None

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
    """Read queries and judgments, and find out what the corpus contains.

    With ``may_read`` false the corpus is not read for that: then ``info`` may not know it.

    Raises:
        InputError: something is missing or broken.
    """
    config = loaded.config
    files = _files(loaded, cache, may_read=may_read)
    ontology = _ontology(files, config.collection, loaded.folder)
    unit = config.collection.documents or "terms"
    corpus_file: CorpusFile | TermCorpus | None = None
    if files.corpus is not None:
        corpus_file = CorpusFile(files.corpus, cache, doc=config.collection.columns.doc)
    elif ontology is not None and config.collection.cases is not None:
        corpus_file = TermCorpus(ontology, unit)
    columns = config.collection.columns.columns
    everything = queries_of(read_queries(files.queries, query=columns.query))
    labels = config.collection.labels
    qrels = as_qrels(files.qrels, columns, labels)
    train_qrels = None
    if files.train_qrels is not None:
        train_qrels = as_qrels(files.train_qrels, columns, labels)
    language = config.collection.language
    if language is not None:
        everything, qrels = _in_language(everything, qrels, language, files.queries)
    rule = config.collection.no_answer
    unanswered = [*qrels.no_answer]
    with_documents = {
        query_id for query_id, size in zip(qrels, np.diff(qrels.offsets), strict=True) if size
    }
    for query in everything:
        is_empty = rule == "empty" and query.query_id not in with_documents
        if is_empty or is_unanswered(query.metadata, str(files.queries)):
            unanswered.append(query.query_id)
    judged = {*qrels.query_ids, *unanswered}
    asked = tuple(query for query in everything if query.query_id in judged)
    if not asked:
        raise InputError(
            f"{files.queries}: none of its queries is judged in {files.qrels}; check that both use "
            "the same query ids"
        )
    chunking = config.collection.chunking(loaded.folder)
    findings = collection_findings(asked, qrels, source=str(files.queries))
    training = _training(config.training, train_qrels, everything, qrels)
    judgments = Judgments(qrels, remember=True, no_answer=unanswered)
    judgments.ontology = ontology
    judgments.may_mix_languages = config.collection.languages == "together"
    if not judgments.query_ids:
        raise InputError(f"{files.qrels}: every question has no answer; give judgments")
    contents = None
    if isinstance(corpus_file, TermCorpus):
        contents = Contents(corpus_file.size, corpus_file.sha256)
    elif corpus_file is not None:
        contents = corpus_file.contents() if may_read else corpus_file.remembered()
    info = CollectionInfo(
        name=files.name,
        split=files.split,
        documents=None if contents is None else contents.documents,
        queries=len(asked),
        judgments=len(qrels),
        corpus_sha256=None if contents is None else contents.sha256,
        queries_sha256=hash_of_queries(asked),
        qrels_sha256=judgments.fingerprint,
        training=None if training is None else _name_of(files.train_qrels),
        no_answer=tuple(query.query_id for query in asked if query.query_id in judgments.no_answer),
        chunks_sha256=None if chunking is None else fingerprint(*chunking.identity),
        decisions_sha256=_hash_of_file(files.decisions),
        ratings_sha256=_hash_of_file(files.ratings),
        ontology=None if ontology is None else _about_ontology(ontology),
        language=language,
        documents_are=unit if isinstance(corpus_file, TermCorpus) else None,
    )
    return Collection(
        corpus_file,
        asked,
        judgments,
        training,
        info,
        findings,
        chunking,
        decisions=None if files.decisions is None else as_decisions(files.decisions),
        ratings=None if files.ratings is None else as_ratings(files.ratings),
    )


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
    return OntologyInfo(
        source=ontology.source,
        version=ontology.version,
        sha256=ontology.sha256,
        terms=len(ontology),
        relations=ontology.relations,
        annotations_sha256=ontology.annotations_sha256,
        undefined=ontology.undefined,
    )


def _in_language(
    queries: list[Query], qrels: Qrels, language: str, source: Path
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


def _files(loaded: LoadedConfig, cache: Path, *, may_read: bool) -> CollectionFiles:
    config = loaded.config
    if config.collection.ir_datasets is None:
        return config.collection.files(loaded.folder, config.training)
    files = dataset_files(
        config.collection.ir_datasets,
        cache,
        train_qrels=training_file(loaded.folder, config.training),
        name=config.collection.name,
        may_read=may_read,
    )
    return replace(files, **config.collection.beside(loaded.folder))


def collection_findings(
    asked: Iterable[Query], qrels: Qrels, *, source: str
) -> tuple[Finding, ...]:
    """Return what is to be said of queries, read from ``source``, and of their judgments."""
    missing = set(qrels.query_ids) - {query.query_id for query in asked}
    return _unknown(missing, source) + _about(qrels)


def hash_of_queries(queries: Iterable[Query]) -> str:
    """Return a hash of ids, texts and metadata."""
    return _hash([query.query_id, query.text, dict(query.metadata)] for query in queries)


def _about(qrels: Qrels) -> tuple[Finding, ...]:
    """Return what the checks say of the judgments; those by which nothing is relevant are refused.

    What `read_qrels` refuses is not among them.
    """
    findings = Reference.read(qrels=qrels).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise InvalidDataError(errors[0].sentence, errors)
    return findings


def _unknown(missing: set[str], source: str) -> tuple[Finding, ...]:
    if not missing:
        return ()
    message = f"{counted(len(missing), 'judged query')} cannot be asked: no text is known"
    places = tuple(Place(source, query_id=query_id) for query_id in sorted(missing)[:PLACES_SHOWN])
    return (WITHOUT_TEXT.finding(message, count=len(missing), places=places),)


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
