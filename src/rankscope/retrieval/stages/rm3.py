"""RM3: pseudo relevance feedback over BM25.

The best documents of a first search are taken for relevant. Each of their terms gets the weight
Σ_d score(d) · tf(t, d) / |d| over these documents; the heaviest ``terms`` are kept, scaled to a sum
of 1, and mixed with the query's own terms (each its share of the query): a term's weight in the
second search is ``original`` times the latter plus 1 − ``original`` times the former.

Reference: Abdul-Jaleel et al., UMass at TREC 2004: Novelty and HARD; that only
terms in at most a tenth of the documents take part is Anserini's rule.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from rankscope.errors import InputError
from rankscope.retrieval.lexical.bm25 import BM25
from rankscope.retrieval.options import Options
from rankscope.retrieval.protocol import Capabilities, Query, Ranking, System
from rankscope.retrieval.registry import Context
from rankscope.retrieval.stages.rewrite import REWRITERS, Rewriter


class RM3Options(Options):
    """How much is taken from how many documents."""

    documents: int = Field(default=10, ge=1)
    """How many documents are taken for relevant."""
    terms: int = Field(default=10, ge=1)
    """How many terms are added."""
    original: float = Field(default=0.5, ge=0, le=1)
    """The share of the query's own terms, from 0 to 1."""
    common: float = Field(default=0.1, ge=0, le=1)
    """Terms in more than this share of the documents are not added."""


@REWRITERS.add("rm3", RM3Options, summary="add words of the best documents, over bm25")
class RM3(Rewriter):
    """Expands a query with terms of its first answer."""

    capabilities = Capabilities(concurrent=True)

    def __init__(self, options: RM3Options, _: Context) -> None:
        self.options: RM3Options = options

    def described(self) -> dict[str, Any]:
        """Say what is added."""
        return {"rewriter": "rm3", **self.options.plain()}

    def check(self, inner: System) -> None:
        """Refuse systems without terms."""
        if not isinstance(inner, BM25):
            raise InputError("rm3 adds terms to a query of bm25; name a bm25 system as of")

    def search(self, inner: System, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Search twice."""
        assert isinstance(inner, BM25)
        inner.prepare()
        return [self._answer(inner, query, depth) for query in queries]

    def _answer(self, inner: BM25, query: Query, depth: int) -> Ranking:
        began = time.perf_counter()
        terms = inner.analyzer.terms(query.text)
        if not terms:
            return Ranking()
        weights = self.expanded(inner, terms)
        answer = inner.search_terms(list(weights.items()), depth)
        return Ranking(answer.doc_ids, answer.scores, time.perf_counter() - began)

    def expanded(self, inner: BM25, terms: Sequence[str]) -> dict[str, float]:
        """Return the weighted terms of the second search."""
        options = self.options
        first = inner.search_terms([(term, 1.0) for term in terms], options.documents)
        model: defaultdict[str, float] = defaultdict(float)
        for doc_id, score in first.pairs():
            counts = inner.terms_of(doc_id)
            length = counts.total()
            for term, count in counts.items():
                if inner.share_of_documents(term) <= options.common:
                    model[term] += score * count / length
        best = sorted(model.items(), key=lambda pair: (-pair[1], pair[0]))[: options.terms]
        total = sum(weight for _, weight in best)
        shares = {term: count / len(terms) for term, count in Counter(terms).items()}
        if not total or options.original == 1:
            return shares
        weights = {term: options.original * share for term, share in shares.items()}
        for term, weight in best:
            weights[term] = weights.get(term, 0.0) + (1 - options.original) * weight / total
        return {term: weight for term, weight in weights.items() if weight}
