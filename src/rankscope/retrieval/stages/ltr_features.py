"""What `ltr` looks at: numbers about a candidate, from words and from scores.

`WordFeatures` says how the words of a query occur in the fields of a document, `score_rows` how a
system scored and ranked it. `LTR` puts them side by side, one row for each candidate.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from rankscope.collection.corpus import Corpus, Document, document_text
from rankscope.retrieval.lexical.words import Analyzer
from rankscope.retrieval.protocol import Query, fingerprint

Pairs = Sequence[tuple[str, float]]
"""Ids of documents, with their scores."""

_REMEMBERED = 4_096
"""Texts whose terms are remembered: a document is a candidate of many queries."""


class WordFeatures:
    """The features of words: how a query's terms occur in each field, and in all."""

    PER_FIELD = ("coverage", "idf coverage", "bm25", "pairs", "length")
    OVERALL = ("coverage", "idf coverage", "phrase")

    def __init__(self, fields: tuple[str, ...] | None, language: str) -> None:
        self._fields = fields
        self.fields = ("title", "text") if fields is None else fields
        self._terms = Analyzer(language).terms
        self._read = lru_cache(maxsize=_REMEMBERED)(self._reading)
        self._documents = 0
        self._holding: Mapping[str, int] = {}  # in how many documents a term occurs
        self._lengths = [0.0] * len(self.fields)  # the average number of terms, by field

    @property
    def names(self) -> list[str]:
        """The names of the features, in order."""
        by_field = [f"{name}: {feature}" for name in self.fields for feature in self.PER_FIELD]
        return by_field + [f"all: {feature}" for feature in self.OVERALL]

    def texts(self, document: Document) -> list[str]:
        """Return the text of each field."""
        if self._fields is None:
            return [document.title, document.text]
        return [_field_text(document, name) for name in self._fields]

    def snapshot(self, corpus: Corpus) -> str:
        """Return a hash of what is looked at, whatever the order of documents."""
        running = hashlib.sha256()
        documents = corpus.documents()
        hashes = (fingerprint(document.doc_id, self.texts(document)) for document in documents)
        for content in sorted(hashes):
            running.update(content.encode())
        return running.hexdigest()

    def count(self, corpus: Corpus) -> None:
        """Count the terms of the corpus."""
        holding: Counter[str] = Counter()
        totals = [0] * len(self.fields)
        for document in corpus.documents():
            terms = [self._terms(text) for text in self.texts(document)]
            holding.update({term for several in terms for term in several})
            totals = [total + len(some) for total, some in zip(totals, terms, strict=True)]
        self._documents, self._holding = len(corpus), holding
        self._lengths = [total / max(len(corpus), 1) for total in totals]

    def _idf(self, term: str) -> float:
        """Return ln(1 + (N − n + 0.5) / (n + 0.5))."""
        holding = self._holding.get(term, 0)
        return math.log(1 + (self._documents - holding + 0.5) / (holding + 0.5))

    def rows(self, query: Query, documents: Sequence[Document]) -> list[list[float]]:
        """Return one row of features for each document."""
        wanted = self._terms(query.text)
        weights = {term: self._idf(term) for term in wanted}
        return [self._row(wanted, weights, document) for document in documents]

    def _row(
        self, wanted: Sequence[str], weights: Mapping[str, float], document: Document
    ) -> list[float]:
        fields = [self._read(text) for text in self.texts(document)]
        row: list[float] = []
        pairs = {*pairwise(wanted)}
        for (terms, counts, neighbours), average in zip(fields, self._lengths, strict=True):
            norm = 1.5 * (0.25 + 0.75 * len(terms) / average) if average else 1.5
            side_by_side = pairs & neighbours
            row += [
                *_coverage(weights, counts),
                _share(
                    {
                        term: weight * counts[term] / (counts[term] + norm)
                        for term, weight in weights.items()
                    },
                    weights,
                ),
                len(side_by_side) / len(pairs) if pairs else 0.0,
                math.log1p(len(terms)),
            ]
        everything = {term for term in weights if any(term in counts for _, counts, _ in fields)}
        phrase = len(wanted) > 1 and any(
            pairs <= neighbours and _holds(terms, wanted) for terms, _, neighbours in fields
        )
        return [*row, *_coverage(weights, everything), float(phrase)]

    def _reading(self, text: str) -> tuple[list[str], Counter[str], set[tuple[str, str]]]:
        """Return a text's terms, how often each occurs, and which are side by side."""
        terms = self._terms(text)
        return terms, Counter(terms), {*pairwise(terms)}


def _field_text(document: Document, name: str) -> str:
    nested = document.fields.get("metadata")
    if name not in document.fields and isinstance(nested, Mapping):
        document = Document(document.doc_id, nested)
    return document_text(document, [name])


def _share(part: Mapping[str, float], full: Mapping[str, float]) -> float:
    total = sum(full.values())
    return sum(part.values()) / total if total else 0.0


def _coverage(weights: Mapping[str, float], held: Any) -> tuple[float, float]:
    """Return the share of the query's terms that are held, plain and by idf."""
    covered = {term: weight for term, weight in weights.items() if term in held}
    return len(covered) / max(len(weights), 1), _share(covered, weights)


def _holds(terms: Sequence[str], phrase: Sequence[str]) -> bool:
    """Tell whether terms occur somewhere in this order, without others between them."""
    size = len(phrase)
    return any(list(terms[at : at + size]) == list(phrase) for at in range(len(terms) - size + 1))


SCORE_FEATURES = ("score", "share", "1/rank")
SHARE = SCORE_FEATURES.index("share")
_LARGEST = 1e30  # what XGBoost holds


def score_rows(doc_ids: Sequence[str], pairs: Pairs) -> list[list[float]]:
    """Return for each document its score, its place between lowest and highest, and 1 / rank.

    A document that was not found has no score (NaN), and 0 for the others. Documents with the same
    score share the first of their ranks.
    """
    scores = {doc_id: min(max(score, -_LARGEST), _LARGEST) for doc_id, score in pairs}
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    span = high - low
    ranks: dict[float, int] = {}
    for rank, score in enumerate(sorted(scores.values(), reverse=True), start=1):
        ranks.setdefault(score, rank)
    rows = []
    for doc_id in doc_ids:
        if doc_id in scores:
            score = scores[doc_id]
            rows.append([score, (score - low) / span if span else 1.0, 1 / ranks[score]])
        else:
            rows.append([math.nan, 0.0, 0.0])
    return rows
