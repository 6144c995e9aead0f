"""Frozen: what BM25 finds in the bundled corpus: words, n-grams, and queries that are rewritten.

Asked through `run_benchmark`: the means of nDCG@10, RR@10 and R@100, and for a dozen queries the
first ten documents with their scores, which are of single precision.

Oracle: bm25s itself, for stemmed words, in `tests/frozen/test_retrieval_oracles.py`, where the
bundled run "lexical" is the same, too; words as they are by the formula, in
`tests/retrieval/test_bm25.py`; n-grams by a naive twin, in `test_ngrams.py`; RM3 by its formula, in
`test_stages.py`.
"""

from __future__ import annotations

from typing import Any

from frozen.benchmarks import FIELDS, answers, means, need
from frozen.fusions import first_ten

SYSTEMS: dict[str, Any] = {
    "title": {"bm25": {"fields": ["title"]}},
    "words": {"bm25": {"fields": FIELDS}},
    "words, k1 0.9, b 0.4": {"bm25": {"fields": FIELDS, "k1": 0.9, "b": 0.4}},
    "title three times": {"bm25": {"fields": {"title": 3, "text": 1}}},
    "not stemmed": {"bm25": {"fields": FIELDS, "language": "none", "stopwords": []}},
    "3-grams to 5-grams": {"bm25": {"fields": FIELDS, "ngrams": [3, 5]}},
    "4-grams": {"bm25": {"fields": FIELDS, "ngrams": 4}},
    "rm3": {"rewrite": {"of": {"bm25": {"fields": FIELDS}}, "rm3": {}}},
    "rm3, 5 documents, 20 terms": {
        "rewrite": {
            "of": {"bm25": {"fields": FIELDS}},
            "rm3": {"documents": 5, "terms": 20, "original": 0.7},
        }
    },
    "keywords": {"rewrite": {"of": {"bm25": {"fields": FIELDS}}, "keywords": {}}},
}
QUERIES = 12


def numbers() -> Any:
    """Ask each system."""
    need("bm25s", "Stemmer")
    named = {f"system{place}": spec for place, spec in enumerate(SYSTEMS.values())}
    found = dict(zip(SYSTEMS, answers(named).values(), strict=True))
    return {
        name: {
            "means": means(run),
            "first ten": first_ten(run, sorted(run)[:QUERIES]),
        }
        for name, run in found.items()
    }
