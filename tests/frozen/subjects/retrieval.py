"""What systems find in the bundled corpus, asked through `run_benchmark`.

Means of nDCG@10, RR@10 and R@100, and for a dozen queries the first ten documents. Oracle: bm25s
and wordllama themselves (`test_retrieval_oracles`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

import rankscope as rs
from frozen.paired_worlds import DATA, bundled
from frozen.subjects import subject
from frozen.subjects.fusion import first_ten

FIELDS = ["title", "text", "ingredients", "steps"]
MEASURES = ["nDCG@10", "RR@10", "R@100"]

Lists = dict[str, dict[str, float]]


def need(*packages: str) -> None:
    """Say what is not installed.

    Raises:
        FileNotFoundError: one of the packages cannot be imported.
    """
    for package in packages:
        if find_spec(package) is None:
            raise FileNotFoundError(f"{package} is not installed; the extra retrieval has it")


def answers(systems: Mapping[str, Any]) -> dict[str, Lists]:
    """Ask systems the bundled test questions; their lists are best first, 100 documents long."""
    collection = {"path": str(DATA / "recipes"), "split": "test"}
    config = {
        "name": "frozen",
        "collection": collection,
        "systems": systems,
        "depth": 100,
        "measures": MEASURES,
        "diagnosis": [],
        "statistics": {"test": "t", "interval": "t"},
    }
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "bench.json").write_text(json.dumps(config))
        made = rs.run_benchmark(
            folder / "bench.json", output=folder / "made", cache=folder / "cache"
        )
        runs = {name: rs.read_run(made.folder / "runs" / f"{name}.run.gz") for name in systems}
        return {
            name: {query_id: dict(run[query_id]) for query_id in run.query_ids}
            for name, run in runs.items()
        }


def means(run: Lists) -> dict[str, float]:
    """Return the means of a run of the bundled questions."""
    qrels, _ = bundled()
    scores = rs.evaluate(qrels, run, MEASURES)
    return {measure: float(scores[measure]) for measure in MEASURES}


@subject
def retrieval_demo() -> Any:
    """The demo's systems, but for the learnt reranker.

    Two have vectors of single precision: where two documents of a question differ in the last
    digits only, another machine may order them differently.
    """
    need("bm25s", "Stemmer", "wordllama")
    systems = yaml.safe_load((DATA / "demo.yaml").read_text())["systems"]
    systems.pop("reranked")
    return {name: means(run) for name, run in answers(systems).items()}


LEARNED: dict[str, Any] = {
    "title": {"bm25": {"fields": ["title"]}},
    "words": {"bm25": {"fields": FIELDS}},
    "reranked": {
        "rerank": {"of": "words", "depth": 20, "ltr": {"fields": FIELDS, "trees": 40}},
    },
}
QUERIES = 12
XGBOOST = "3.2.0"


@subject
def retrieval_reranked() -> Any:
    """Rerankers by LambdaMART (XGBoost, one thread), of the demo and of plain words.

    Another version of XGBoost grows other trees, so these numbers hold for one. No oracle; that no
    judgment reaches its own question: retrieval/test_ltr.py.
    """
    need("bm25s", "Stemmer", "wordllama", "xgboost")
    import xgboost

    if xgboost.__version__ != XGBOOST:
        raise FileNotFoundError(f"these numbers are of XGBoost {XGBOOST}")
    demo = yaml.safe_load((DATA / "demo.yaml").read_text())["systems"]
    words = answers(LEARNED)["reranked"]
    lists = first_ten(words, sorted(words)[:QUERIES])
    ids = {query_id: [pair[0] for pair in pairs] for query_id, pairs in lists.items()}
    return {
        "demo": means(answers(demo)["reranked"]),
        "words": {"means": means(words), "first ten": ids},
    }


LEXICAL: dict[str, Any] = {
    "title": {"bm25": {"fields": ["title"]}},
    "words": {"bm25": {"fields": FIELDS}},
    "words, k1 0.9, b 0.4": {"bm25": {"fields": FIELDS, "k1": 0.9, "b": 0.4}},
    "title three times": {"bm25": {"fields": {"title": 3, "text": 1}}},
    "not stemmed": {"bm25": {"fields": FIELDS, "language": "none", "stopwords": []}},
    "3-grams to 5-grams": {"bm25": {"fields": FIELDS, "ngrams": [3, 5]}},
    "4-grams": {"bm25": {"fields": FIELDS, "ngrams": 4}},
    "keywords": {"rewrite": {"of": {"bm25": {"fields": FIELDS}}, "keywords": {}}},
}
FIRST = 12


@subject
def retrieval_lexical() -> Any:
    """BM25 over words and n-grams, and with queries that are rewritten.

    Words as they are by the formula, n-grams by a naive twin: in retrieval/test_bm25.py and
    test_ngrams.py.
    """
    need("bm25s", "Stemmer")
    named = {f"system{place}": spec for place, spec in enumerate(LEXICAL.values())}
    found = dict(zip(LEXICAL, answers(named).values(), strict=True))
    return {
        name: {
            "means": means(run),
            "first ten": first_ten(run, sorted(run)[:FIRST]),
        }
        for name, run in found.items()
    }


VECTORS: dict[str, Any] = {
    "whole": {"vector": {"fields": FIELDS}},
    "title and text": {"vector": {}},
    "chunks": {"vector": {"fields": FIELDS, "chunk": {"tokens": 50, "overlap": 10}}},
}
DECIMALS = 4
APART = [f"q{n:03}" for n in (13, 18, 20, 21, 22, 35, 46, 60, 79, 82, 96, 106)]


@subject
def retrieval_vector() -> Any:
    """Vectors of wordllama, of whole documents and of chunks (retrieval/test_vector.py).

    Their last digits depend on the machine: cosines are rounded, and the queries are ones whose
    cosines are not next to where rounding changes, nor to each other.
    """
    need("wordllama")
    named = {f"system{place}": spec for place, spec in enumerate(VECTORS.values())}
    found = dict(zip(VECTORS, answers(named).values(), strict=True))
    return {
        name: {
            "means": means(run),
            "first ten": {
                query_id: [[doc_id, round(cosine, DECIMALS)] for doc_id, cosine in pairs]
                for query_id, pairs in first_ten(run, APART).items()
            },
        }
        for name, run in found.items()
    }
