"""How good the systems are on real collections: the table in docs/retrieval.md.

``python benches/quality.py --collections FOLDER [--write]`` fetches every run, scores it, and
prints a Markdown table with 95 % intervals; with ``--write`` it replaces the one in the docs.
Every system has the same options on every collection, but for the fields.

Trained systems learn from the split for training where a collection has one that is larger than the
test split. Elsewhere they learn from the test questions in five folds, and each question is
answered by a model that has not seen its fold.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import rankscope as rs
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query, System, queries_of
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.stages.training import Training
from rankscope.statistics.intervals import mean_intervals

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "retrieval.md"
BEGIN, END = "<!-- quality: begin -->", "<!-- quality: end -->"

FIELDS = {"recipes": ["title", "text", "ingredients", "steps"]}
COLLECTIONS = ("recipes", "electronics", "scifact", "cranfield")
MEASURES = ("nDCG@10", "Success@5", "RR@10", "R@100")


def systems(fields: list[str] | None) -> dict[str, dict[str, Any]]:
    """Return the specs, in order; a later one may name an earlier one."""
    ltr = {} if fields is None else {"fields": fields}
    return {
        "bm25, title only": {"bm25": {"fields": ["title"]}},
        "bm25": {"bm25": {"fields": fields}},
        "bm25, k1=0.9 b=0.4": {"bm25": {"fields": fields, "k1": 0.9, "b": 0.4}},
        "bm25 + keywords": {"rewrite": {"of": "bm25", "keywords": {}}},
        "bm25 + rm3": {"rewrite": {"of": "bm25", "rm3": {}}},
        "vector, wordllama": {"vector": {"fields": fields}},
        "hybrid, rrf": {"fuse": {"of": ["bm25", "vector, wordllama"]}},
        "hybrid, min-max": {
            "fuse": {
                "of": ["bm25", "vector, wordllama"],
                "method": "minmax",
                "weights": [0.5, 0.5],
            }
        },
        "keywords + hybrid": {"rewrite": {"of": "hybrid, min-max", "keywords": {}}},
        "hybrid, trained weights": {
            "fuse": {"of": ["bm25", "vector, wordllama"], "method": "minmax", "weights": "train"}
        },
        "reranked, ltr": {"rerank": {"of": "hybrid, min-max", "depth": 50, "ltr": ltr}},
    }


def split(folder: Path, name: str) -> tuple[list[Query], rs.Qrels] | None:
    """Return the judged questions of a split, with their judgments; None if there is no such."""
    path = folder / "qrels" / f"{name}.tsv"
    if not path.is_file():
        return None
    qrels = rs.read_qrels(path)
    judged = set(qrels.query_ids)
    queries = queries_of(rs.read_queries(folder / "queries.jsonl"))
    return [query for query in queries if query.query_id in judged], qrels


def rows(folder: Path, cache: Path) -> list[str]:
    """Return the table's rows of one collection."""
    test, train = split(folder, "test"), split(folder, "train")
    assert test is not None, f"{folder} has no test split"
    queries, qrels = test
    taught = train if train is not None and len(train[0]) > len(queries) else test
    training = Training(tuple(taught[0]), taught[1])
    corpus = rs.read_corpus(folder / "corpus.jsonl.gz")
    made: dict[str, System] = {}
    found = []
    for name, spec in systems(FIELDS.get(folder.name)).items():
        system = made[name] = build_system(spec, systems=made, cache=cache, training=training)
        system.index(corpus)
        fetched = fetch(system, queries)
        assert not fetched.failures, fetched.failures
        scores = rs.evaluate(qrels, fetched.run, MEASURES)
        cells = []
        for measure in MEASURES:
            values = [list(scores.values(measure).values())]
            (interval,) = mean_intervals(values, seed=7, bounds=(0, 1))
            cells.append(f"{scores[measure]:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
        found.append(f"| {folder.name} | {name} | {' | '.join(cells)} |")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    known = os.environ.get("RANKSCOPE_COLLECTIONS")
    parser.add_argument("--collections", type=Path, default=known, required=known is None)
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    options = parser.parse_args()
    lines = [
        f"| collection | system | {' | '.join(MEASURES)} |",
        "|---|---|" + "---|" * len(MEASURES),
    ]
    with tempfile.TemporaryDirectory() as cache:
        for name in COLLECTIONS:
            lines += rows(options.collections / name, Path(cache))
    table = "\n".join(lines)
    print(table)
    if options.write:
        page = PAGE.read_text("utf-8")
        before, _, rest = page.partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
