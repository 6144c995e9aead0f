"""What each stage of a pipeline adds and loses, and could reach at most.

Lexical and hybrid search over the bundled recipes, fused by reciprocal ranks, reranked by titles,
cut; and lexical search reranked into the hybrid's order. Means, differences to what a stage builds
on with the p-value of Student's paired t, relevant documents kept, lost, promoted and dropped,
grades on top, ceilings, and what the reranker would have given with fewer documents.

Checked by counting sets in plain Python, by scipy's t test and by a naive reranker
(`test_oracles_diagnosis`).
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import RERANKED, ask, recipe_qrels, some_runs

STAGES = (
    {"system": "lexical", "kind": "retrieval"},
    {"system": "hybrid", "kind": "retrieval"},
    {"system": "fused", "kind": "fuse", "of": ["lexical", "hybrid"]},
    {"system": "reranked", "kind": "rerank", "of": ["fused"], "depth": RERANKED},
    {"system": "cut", "kind": "filter", "of": ["reranked"]},
    {"system": "sorted", "kind": "rerank", "of": ["lexical"], "depth": 50},
)
MEASURES = ["nDCG@10", "RR@10", "R@50", "AP"]


def numbers() -> Any:
    runs = some_runs(*(str(stage["system"]) for stage in STAGES))
    answer = ask("stages", recipe_qrels(), runs, MEASURES, stages=list(STAGES))
    return {
        "stages": {row.system: _stage(row) for row in answer.stages},
        "reranking": {
            f"{table.reranker or 'nothing'} on {table.of}": {
                row.depth: [row.recall, row.ceiling, row.value, row.loss, row.gain_kept]
                for row in table.rows
            }
            for table in answer.placements
        },
    }


def _stage(row: Any) -> Any:
    first = {
        "means": row.measures,
        "grades in the first 10": row.labels,
    }
    if not row.of:
        return first
    return first | {
        "differences": {
            f"{change.measure} to {change.of}": [change.difference, change.p]
            for change in row.changes
        },
        "per cent": {
            f"{change.measure} to {change.of}": change.percent for change in row.improvements
        },
        "ceiling": row.ceiling,
        "recall of input and output": [row.input_recall, row.output_recall],
        "relevant in the first 10": {
            "kept": row.kept,
            "lost": row.lost,
            "promoted": row.promoted,
        },
        "dropped": {
            "documents": row.dropped,
            "queries": row.dropped_queries,
            "ceiling": row.dropped_ceiling,
        },
    }
