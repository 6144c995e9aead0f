"""German clinical phrases in two sets, of 70 and of 200 cases: gaps, failures, groups of words.

Two plain systems look for terms by letters and by words that German and English share.

Means are checked by grouping in plain Python, as those of the bundled cases.
"""

from __future__ import annotations

import json
from typing import Any

from frozen.diagnosed import as_cases, ask, collection


def numbers() -> Any:
    folder = collection("hpo-german")
    return {
        name: _numbers(json.loads((folder / f"{name}_gemini_v1.json").read_text()))
        for name in ("70cases", "200cases")
    }


def _numbers(content: Any) -> Any:
    listed = content["test_cases"] if isinstance(content, dict) else content
    cases = as_cases([{"case_id": f"case {n}", **case} for n, case in enumerate(listed, 1)])
    asked = ["RR@10", "Success@5", "AP"]
    gaps = ask("gaps", cases.qrels, cases.runs, asked)
    failures = ask("failures", cases.qrels, cases.runs, asked)
    segments = ask(
        "segments",
        cases.qrels,
        cases.runs,
        asked,
        queries={query_id: query["text"] for query_id, query in cases.queries.items()},
        configs={"segments": {"fields": ["words"]}},
    )
    return {
        "cases": len(cases.qrels),
        "gaps": {
            row.system: {
                "now": row.now,
                "ideal": row.ideal,
                "ranking": row.ranking.gain,
                "retrieval": row.retrieval.gain,
                "success by rank": row.success,
            }
            for row in gaps.systems
        },
        "failures": {
            row.system: {each.cause: each.queries for each in row.causes}
            for row in failures.systems
        },
        "words": [
            {"cases": group.n} | {f"{row.system} {row.measure}": row.mean for row in group.means}
            for group in segments.segments[0].groups
        ],
    }
