"""The collection of a benchmark: what is searched, asked and judged, known by its content.

The corpus may be large, so it is read only when somebody needs a document; what it is known by is
the hash of its files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from rankscope.benchmark.collection_files import (
    CROSS_VALIDATION,
    CollectionFiles,
    beside,
    find_files,
)
from rankscope.benchmark.config.collection_config import CollectionConfig, TrainingConfig
from rankscope.benchmark.config.loading import LoadedConfig
from rankscope.collection.corpus import Corpus, Document, read_corpus
from rankscope.collection.decisions import Decisions, as_decisions
from rankscope.collection.qrels import Qrels, as_qrels
from rankscope.collection.queries import Queries, read_queries
from rankscope.collection.ratings import Ratings, as_ratings
from rankscope.errors import InputError, InvalidDataError, counted, shown
from rankscope.files import check_regular, read_bytes
from rankscope.findings import PLACES_SHOWN, Finding, Place, declare
from rankscope.ontology.terms import Ontology, read_ontology
from rankscope.records.report import CollectionInfo, OntologyInfo
from rankscope.retrieval.protocol import Query, fingerprint, queries_of
from rankscope.retrieval.stages.training import Training
from rankscope.runs.collapsing import Chunking
from rankscope.runs.validation import Reference
from rankscope.scoring.judgments import Judgments
from rankscope.tables.cases import is_unanswered, language_code
from rankscope.tables.collection_folder import parts_of

WITHOUT_TEXT = declare(
    "RS703",
    "judged-queries-without-text",
    "warning",
    unit="query",
    advice="no system has them, so they count as 0 or are left out, as the profile says; add them "
    "to the queries, or leave them out of the judgments",
    meaning="""A query is judged and its text is not known, so it cannot be asked and counts as 0
    for every system.""",
)


@dataclass(frozen=True, eq=False)
class Documents:
    """What is searched: a file that is read, or an ontology's terms, when first needed."""

    source: Path | Ontology
    doc: str | None = None
    """The column of the document's id, where it goes by no known name."""

    @cached_property
    def corpus(self) -> Corpus:
        """The documents."""
        if isinstance(self.source, Path):
            return read_corpus(self.source, doc=self.doc)
        return Corpus(_terms(self.source))

    @cached_property
    def sha256(self) -> str:
        """What decides the documents: the bytes of the file, or the ontology."""
        if not isinstance(self.source, Path):
            return fingerprint("terms 1", self.source.sha256)
        parts = []
        for part in map(Path, parts_of(self.source)):
            check_regular(part)
            with part.open("rb") as stream:
                parts.append(hashlib.file_digest(stream, "sha256").hexdigest())
        return parts[0] if len(parts) == 1 and self.doc is None else fingerprint(parts, self.doc)


def _terms(ontology: Ontology) -> Iterator[Document]:
    """Yield a document for each term: its label is the title, the rest the text."""
    for term in ontology.terms:
        synonyms = [synonym.text for synonym in term.synonyms]
        text = "\n".join(filter(None, ["; ".join(synonyms), term.definition]))
        names = {"label": term.label, "synonyms": synonyms, "definition": term.definition}
        yield Document(term.term_id, {"title": term.label, "text": text, **names})


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


def load_collection(loaded: LoadedConfig, cache: Path) -> Collection:
    """Read queries and judgments, and find the documents.

    Raises:
        InputError: something is missing or broken.
    """
    config, folder = loaded.config.collection, loaded.folder
    files = find_files(config, folder, loaded.config.training, cache=cache)
    named = ("ontology", "annotations", "decisions", "ratings")
    extra = {key: beside(folder, getattr(config, key), key) for key in named}
    ontology = _ontology(extra["ontology"], extra["annotations"], config, folder)
    documents = None
    if files.corpus is not None:
        documents = Documents(files.corpus, config.columns.doc)
    elif ontology is not None and config.cases is not None:
        documents = Documents(ontology)
    everything = queries_of(_questions(files, config))
    qrels, learnt = (
        None if place is None else as_qrels(place, config.columns.columns, config.labels)
        for place in (files.qrels, files.train_qrels)
    )
    assert qrels is not None
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
    chunking = None if config.doc_id_from is None else Chunking.of(config.doc_id_from)
    training = _training(loaded.config.training, learnt, everything, qrels)
    judgments = Judgments(qrels, remember=True, no_answer=unanswered)
    judgments.ontology = ontology
    judgments.may_mix_languages = config.languages == "together"
    if not judgments.query_ids:
        raise InputError(f"{files.source}: every question has no answer; give judgments")
    train_qrels = files.train_qrels
    trained = CROSS_VALIDATION if train_qrels is None else train_qrels.name.split(".")[0]
    decisions, ratings = extra["decisions"], extra["ratings"]
    info = CollectionInfo(
        name=files.name,
        split=files.split,
        documents=None,
        queries=len(asked),
        judgments=len(qrels),
        corpus_sha256=None if documents is None else documents.sha256,
        queries_sha256=hash_of_queries(asked),
        qrels_sha256=judgments.fingerprint,
        training=None if training is None else trained,
        no_answer=tuple(query.query_id for query in asked if query.query_id in judgments.no_answer),
        chunks_sha256=None if chunking is None else fingerprint(chunking.rule),
        decisions_sha256=_hash_of_file(decisions),
        ratings_sha256=_hash_of_file(ratings),
        ontology=None if ontology is None else _about_ontology(ontology),
        language=config.language,
    )
    return Collection(
        documents,
        asked,
        judgments,
        training,
        info,
        _findings(asked, qrels, files.source),
        chunking,
        decisions=None if decisions is None else as_decisions(decisions),
        ratings=None if ratings is None else as_ratings(ratings),
    )


def _questions(files: CollectionFiles, config: CollectionConfig) -> Queries:
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


def _ontology(
    place: Path | None, annotations: Path | None, config: CollectionConfig, folder: Path
) -> Ontology | None:
    """Read the ontology that documents are terms of, if there is one.

    Records name it as the config does, without the folders of this machine.
    """
    if place is None:
        return None
    ontology = read_ontology(place, relations=config.relations or (), annotations=annotations)
    name = str(place.relative_to(folder)) if place.is_relative_to(folder) else place.name
    return replace(ontology, source=name)


def _about_ontology(ontology: Ontology) -> OntologyInfo:
    same = set(OntologyInfo.model_fields) - {"terms"}
    return OntologyInfo(terms=len(ontology), **{name: getattr(ontology, name) for name in same})


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


def _hash_of_file(path: Path | None) -> str | None:
    return None if path is None else hashlib.sha256(read_bytes(path)).hexdigest()


def hash_of_queries(queries: Iterable[Query]) -> str:
    """Return a hash of ids, texts and metadata."""
    running = hashlib.sha256()
    for query in queries:
        row = [query.query_id, query.text, dict(query.metadata)]
        text = json.dumps(row, sort_keys=True, ensure_ascii=False, default=str)
        running.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return running.hexdigest()


# --- languages -----------------------------------------------------------------------------------


def questions_of_cases(loaded: LoadedConfig) -> tuple[Queries, str]:
    """Return the questions of cases, and what messages call them."""
    config = loaded.config.collection
    files = find_files(config, loaded.folder, loaded.config.training)
    return _questions(files, config), files.source


def languages_to_run(loaded: LoadedConfig) -> list[str]:
    """Return the languages of the cases, if there are several to be kept apart."""
    config = loaded.config.collection
    if config.cases is None or config.language is not None or config.languages == "together":
        return []
    queries, source = questions_of_cases(loaded)
    languages = [fields.get("language") for fields in queries.metadata.values()]
    codes = list(dict.fromkeys(str(code) for code in languages if code is not None))
    if len(codes) > 1 and None in languages:
        raise InputError(
            f"{source}: {counted(languages.count(None), 'case')} without a language beside "
            f"cases in {', '.join(codes)}; name the language of all of them"
        )
    return codes if len(codes) > 1 else []


def refuse_languages(loaded: LoadedConfig, remedy: str) -> None:
    """Refuse cases in several languages, of which one run or mean would be made."""
    codes = languages_to_run(loaded)
    if codes:
        raise InputError(
            f"the cases are in {len(codes)} languages ({', '.join(codes)}); name one of them "
            f"(collection.language={codes[0]}), or {remedy}"
        )


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
