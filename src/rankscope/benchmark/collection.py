"""The collection of a benchmark: read once, known by its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankscope.benchmark.codes import WITHOUT_TEXT
from rankscope.benchmark.config import LoadedConfig
from rankscope.benchmark.config_collection import CROSS_VALIDATION, TrainingConfig
from rankscope.collection.corpus import Corpus, read_corpus
from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.collection.queries import read_queries
from rankscope.errors import InputError, counted, shown
from rankscope.findings import PLACES_SHOWN, Finding, Place
from rankscope.records import CollectionInfo
from rankscope.retrieval.protocol import Query, queries_of
from rankscope.retrieval.stages.learning import Training
from rankscope.scoring.inputs import as_judgments

__all__ = ["Collection", "load_collection"]

_BLANKS = " \t\n\v\f\r"


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """What is searched, asked and judged; every system is asked the same ``queries``."""

    corpus: Corpus | None
    queries: tuple[Query, ...]
    qrels: Qrels
    training: Training | None
    info: CollectionInfo
    findings: tuple[Finding, ...]

    def title_of(self, doc_id: str) -> str | None:
        """Return a document's title, or the beginning of its text; None if it is not known."""
        if self.corpus is None or doc_id not in self.corpus:
            return None
        document = self.corpus[doc_id]
        return document.title or document.text[:120]


def load_collection(loaded: LoadedConfig) -> Collection:
    """Read corpus, queries and judgments.

    Raises:
        InputError: something is missing or broken, or has ids that a TREC run cannot hold.
    """
    config = loaded.config
    files = config.collection.files(loaded.folder, config.training)
    corpus = None if files.corpus is None else read_corpus(files.corpus)
    everything = queries_of(read_queries(files.queries))
    qrels = read_qrels(files.qrels)
    judged = set(qrels.query_ids)
    asked = tuple(query for query in everything if query.query_id in judged)
    if not asked:
        raise InputError(
            f"{files.queries}: none of its queries is judged in {files.qrels}; check that both use "
            "the same query ids"
        )
    _refuse_blanks("query", (query.query_id for query in asked))
    if corpus is not None:
        _refuse_blanks("document", corpus.ids)
    findings = _unknown(judged - {query.query_id for query in asked}, str(files.queries))
    training, learnt_from = _training(config.training, files.train_qrels, everything, qrels)
    info = CollectionInfo(
        name=files.name,
        split=files.split,
        documents=None if corpus is None else len(corpus),
        queries=len(asked),
        judgments=len(qrels),
        corpus_sha256=None if corpus is None else _corpus_hash(corpus),
        queries_sha256=_hash([one.query_id, one.text, dict(one.metadata)] for one in asked),
        qrels_sha256=as_judgments(qrels).fingerprint,
        training=learnt_from,
    )
    return Collection(corpus, asked, qrels, training, info, findings)


def _refuse_blanks(noun: str, ids: Iterable[str]) -> None:
    for one in ids:
        if not one or any(blank in one for blank in _BLANKS):
            raise InputError(
                f"the {noun} id {shown(one)} holds white space, which a TREC run cannot; give "
                f"every {noun} an id without"
            )


def _unknown(missing: set[str], source: str) -> tuple[Finding, ...]:
    if not missing:
        return ()
    message = f"{counted(len(missing), 'judged query')} cannot be asked: no text is known"
    places = tuple(Place(source, query_id=query_id) for query_id in sorted(missing)[:PLACES_SHOWN])
    return (WITHOUT_TEXT.finding(message, count=len(missing), places=places),)


def _training(
    wanted: TrainingConfig, path: Path | None, queries: list[Query], qrels: Qrels
) -> tuple[Training | None, str | None]:
    """Return what trained parts learn from, and what it is called.

    Where nobody asked for it and it is not enough, there is none: most benchmarks train nothing.
    """
    name = CROSS_VALIDATION if path is None else path.name.split(".")[0]
    judgments = qrels if path is None else read_qrels(path)
    try:
        return Training(tuple(queries), judgments, wanted.folds, wanted.seed), name
    except InputError:
        if wanted.split is not None or wanted.qrels is not None:
            raise
        return None, None


def _corpus_hash(corpus: Corpus) -> str:
    documents = sorted(corpus.documents(), key=lambda document: document.doc_id)
    return _hash([document.doc_id, dict(document.fields)] for document in documents)


def _hash(rows: Iterable[list[Any]]) -> str:
    """Hash plain data, a line for each row."""
    running = hashlib.sha256()
    for row in rows:
        text = json.dumps(row, sort_keys=True, ensure_ascii=False, default=str)
        running.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return running.hexdigest()
