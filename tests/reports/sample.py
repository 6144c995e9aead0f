"""A benchmark report made by hand from the bundled recipes; its numbers come from `compare`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import rankscope as rs
from rankscope.diagnosis.stages import StageSpec
from rankscope.measures.language import Measure
from rankscope.records.kpis import status_of
from rankscope.records.report import BenchmarkReport
from rankscope.statistics.comparison import Comparison, compare_scores
from rankscope.statistics.settings import Settings

RECIPES = rs.__path__[0] + "/data/recipes"
RUNS = Path(__file__).parents[1] / "data" / "recipes" / "runs"
MEASURES = ("nDCG@10", "AP@100", "MRR@10", "R@50", "R@100", "Success@5")
TARGETS = {"nDCG@10": 0.7, "RR@10": 0.75, "R@50": 0.95}
SPECS: dict[str, Any] = {
    "words": {"bm25": {"k1": 1.2, "b": 0.75}},
    "letters": {"bm25": {"tokenizer": "4-grams"}},
    "hybrid": {"fuse": {"of": ["words", "letters"], "method": "minmax"}},
    "reranked": {"rerank": {"of": "hybrid", "depth": 20, "with": "cross-encoder"}},
}
OF: dict[str, list[str]] = {"hybrid": ["words", "letters"], "reranked": ["hybrid"]}
CUTOFF = 10

Ranked = dict[str, dict[str, float]]
Grades = dict[str, dict[str, float]]


def chance(*words: str) -> float:
    """Return a number from 0 to 1 that depends on the words only."""
    return int(sha256("/".join(words).encode()).hexdigest()[:8], 16) / 2**32


def ordered(answer: dict[str, float]) -> list[str]:
    return sorted(answer, key=lambda doc_id: (-answer[doc_id], doc_id))


def reranked(run: Ranked, grades: Grades, *, depth: int, noise: float) -> Ranked:
    """Put the first documents of each answer in the order of their grades, more or less."""
    found: Ranked = {}
    for query_id, answer in run.items():
        first = ordered(answer)[:depth]
        given = grades.get(query_id, {})
        marks = {
            doc_id: 10 + given.get(doc_id, 0) + noise * chance(query_id, doc_id) for doc_id in first
        }
        rest = {
            doc_id: 1 / (place + 2)
            for place, doc_id in enumerate(ordered(answer))
            if place >= depth
        }
        found[query_id] = {**marks, **rest}
    return found


@cache
def world() -> tuple[Any, dict[str, Ranked], Grades, dict[str, dict[str, Any]]]:
    """Return judgments, runs, grades and the metadata of the queries."""
    qrels = rs.read_qrels(f"{RECIPES}/qrels/test.tsv")
    grades: Grades = qrels.to_dict()
    words = rs.read_run(RUNS / "words.run.gz")
    letters = rs.read_run(RUNS / "letters.run.gz")
    runs: dict[str, Ranked] = {"words": words.to_dict(), "letters": letters.to_dict()}
    runs["hybrid"] = rs.fuse([words, letters], method="minmax", name="hybrid").to_dict()
    runs["reranked"] = reranked(runs["hybrid"], grades, depth=20, noise=2.5)
    with open(f"{RECIPES}/queries.jsonl", encoding="utf-8") as lines:
        queries = {one["_id"]: one for one in map(json.loads, lines) if one["_id"] in grades}
    return (
        qrels,
        {name: {q: a for q, a in run.items() if q in grades} for name, run in runs.items()},
        grades,
        queries,
    )


def compared(
    qrels: Any, runs: Any, measures: Iterable[str], baseline: str | None, *, resamples: int
) -> Comparison:
    """Compare runs as a benchmark does: all pairs in one family."""
    scores = rs.evaluate(qrels, runs, list(measures))
    settings = Settings.of(resamples=resamples)
    return compare_scores(scores, baseline=baseline, settings=settings, all_pairs=True)


def file_ref(path: str) -> dict[str, Any]:
    return {"path": path, "sha256": sha256(path.encode()).hexdigest(), "bytes": 4096}


def _analyses(runs: dict[str, Ranked], baseline: str | None, measures: list[str]) -> Any:
    """Return segments and stages, as a diagnosis finds them."""
    qrels, _, _, queries = world()
    specs = [
        StageSpec(
            name,
            next(iter(SPECS[name])),
            tuple(below for below in OF.get(name, []) if below in runs),
            20 if name == "reranked" and "hybrid" in runs else None,
        )
        for name in runs
    ]
    return rs.diagnose(
        qrels,
        runs,
        measures,
        baseline=baseline,
        queries=list(queries.values()),
        stages=specs,
        only=["segments", "stages"] if len(runs) > 1 else ["stages"],
        configs={"segments": ["category", "difficulty"]},
        resamples=200,
    ).to_dict()["analyses"]


def _system(name: str, number: int, every: Comparison) -> dict[str, Any]:
    asked = every.measures
    run = {
        "system": name,
        "run_id": sha256(name.encode()).hexdigest(),
        "file": file_ref(f"runs/{name}.run"),
        "queries": every.queries,
        "rows": every.queries * 100,
        "depth": 100,
        "identity": {
            "kind": next(iter(SPECS.get(name, {"bm25": {}}))),
            "version": "1",
            "parameters": {},
        },
    }
    measures = []
    for measure in every.measures:
        one = every.mean(name, measure)
        target = TARGETS.get(measure)
        bands = {"recipes": "strong" if one.mean >= 0.7 else "fair"}
        measures.append(
            {
                "measure": measure,
                "asked": asked[measure],
                "value": one.mean,
                "interval": one.interval.to_dict(),
                "n": every.queries,
                "target": target,
                "status": status_of(one.mean, target),
                "bands": bands if measure == "nDCG@10" else {},
            }
        )
    return {
        "name": name,
        "kind": next(iter(SPECS[name])),
        "spec": SPECS[name],
        "of": OF.get(name, []),
        "report": f"systems/{name}/EvaluationReport.json",
        "run": run,
        "measures": measures,
        "accounting": every.accounting[name].to_dict(),
        "timing": {
            "index": 0.4 * (number + 1),
            "search": 1.5,
            "per_second": 400.0 / (number + 1),
            "p50": 0.0021 * (number + 1),
            "p95": 0.0054 * (number + 1),
            "p99": 0.0112 * (number + 1),
            "asked": every.queries,
            "stored": 0 if number else 12,
            "retried": 0,
        },
        "per_query": file_ref(f"systems/{name}/per_query.parquet"),
        "results": file_ref(f"systems/{name}/results.parquet"),
    }


@cache
def sample(
    names: Sequence[str] = tuple(SPECS),
    baseline: str | None = "words",
    measures: Iterable[str] = MEASURES,
) -> BenchmarkReport:
    """Return the report of some systems; the verdict is still empty."""
    qrels, runs, _, queries = world()
    shown = {name: runs[name] for name in names}
    extra = {"words": runs["words"], **shown} if len(shown) == 1 else shown
    every = compared(qrels, extra, measures, baseline, resamples=1000)
    systems = [_system(name, number, every) for number, name in enumerate(names)]
    infos = []
    for measure, asked in every.measures.items():
        found = Measure.parse(measure).definition
        infos.append(
            {
                "measure": measure,
                "asked": asked,
                "title": found.name,
                "higher_is_better": found.higher_is_better,
                "low": 0.0,
                "high": 1.0,
                "target": TARGETS.get(measure),
                "best": [one.run for one in every.means if one.measure == measure and one.best],
            }
        )
    several = len(shown) > 1
    analyses = _analyses(shown, baseline if several else None, [*every.measures])
    return BenchmarkReport.model_validate(
        {
            "experiment": "3f9ac2d71b04",
            "name": "recipes",
            "created": "2025-06-01T09:30:00+00:00",
            "collection": {
                "name": "recipes",
                "split": "test",
                "documents": 200,
                "queries": len(queries),
                "judgments": len(qrels.grades),
                "corpus_sha256": "a" * 64,
                "queries_sha256": "b" * 64,
                "qrels_sha256": "c" * 64,
            },
            "depth": 100,
            "baseline": baseline,
            "profile": "rankscope",
            "rules": {"ties": "rankscope", "queries": "all"},
            "measures": infos,
            "systems": systems,
            "comparison": every.to_dict() if several else None,
            "analyses": analyses,
            "findings": [
                {
                    "code": "RS107",
                    "name": "unjudged-top",
                    "severity": "warning",
                    "message": "31 % of the first 10 documents were never judged",
                    "advice": "judge them, or read the means as lower bounds",
                    "system": "letters",
                },
                {
                    "code": "RS112",
                    "name": "ties",
                    "severity": "note",
                    "message": "4 queries have equal scores across rank 10",
                    "advice": "nothing, if the order of equal scores is stable",
                    "system": None,
                },
            ],
            "verdict": [],
            "queries": file_ref("queries.parquet"),
            "top": 20,
            "seconds": {"index": 1.2, "search": 4.4, "score": 0.8},
        }
    )


def with_analyses(report: BenchmarkReport, **rows: Any) -> BenchmarkReport:
    """Return the report with other fields in what analyses found."""
    analyses: Any = report.analyses
    for name, found in rows.items():
        answer = getattr(analyses, name).model_copy(update=found)
        analyses = analyses.model_copy(update={name: answer})
    return report.model_copy(update={"analyses": analyses})
