"""Frozen: what vectors of wordllama find in the bundled corpus, documents whole and in chunks.

Asked through `run_benchmark`: the means of nDCG@10, RR@10 and R@100, and for a dozen queries the
first ten documents with their cosines. Vectors are of single precision, and their last digits
depend on the machine: cosines are rounded to 4 decimals, and the queries are ones whose cosines are
not next to where rounding changes, nor to each other.

Oracle: wordllama itself, for whole documents, in `tests/frozen/test_retrieval_oracles.py`; the best
chunk by a plain search, in `tests/retrieval/test_vector.py`.
"""

from __future__ import annotations

from typing import Any

from frozen.benchmarks import FIELDS, answers, means, need
from frozen.fusions import first_ten

SYSTEMS: dict[str, Any] = {
    "whole": {"vector": {"fields": FIELDS}},
    "title and text": {"vector": {}},
    "chunks": {"vector": {"fields": FIELDS, "chunk": {"tokens": 50, "overlap": 10}}},
}
DECIMALS = 4
QUERIES = [f"q{n:03}" for n in (13, 18, 20, 21, 22, 35, 46, 60, 79, 82, 96, 106)]


def numbers() -> Any:
    """Ask each system."""
    need("wordllama")
    named = {f"system{place}": spec for place, spec in enumerate(SYSTEMS.values())}
    found = dict(zip(SYSTEMS, answers(named).values(), strict=True))
    return {
        name: {
            "means": means(run),
            "first ten": {
                query_id: [[doc_id, round(cosine, DECIMALS)] for doc_id, cosine in pairs]
                for query_id, pairs in first_ten(run, QUERIES).items()
            },
        }
        for name, run in found.items()
    }
