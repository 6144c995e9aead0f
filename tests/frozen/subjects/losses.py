"""What systems lose, and where: by order, by retrieval, by cause, by stage, against baselines."""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import (
    HOSTILE_QRELS,
    HOSTILE_RUNS,
    RERANKED,
    ask,
    ends,
    recipe_corpus,
    recipe_qrels,
    recipe_queries,
    some_runs,
)
from frozen.subjects import subject
from rankscope.diagnosis.stages import StageSpec


@subject
def gaps() -> Any:
    """Means now, with the first k in the best order, and ideal; Success by rank.

    Oracle: a naive reranker (`test_oracles_diagnosis`), laws in diagnosis/test_gaps.py.
    """
    return {
        "recipes": {
            measure: _gaps(recipe_qrels(), some_runs(), measure)
            for measure in ("nDCG@10", "RR@10", "AP", "nDCG@5")
        },
        "hostile": {
            measure: _gaps(HOSTILE_QRELS, HOSTILE_RUNS, measure)
            for measure in ("nDCG@10", "RR", "AP(rel=2)")
        },
        "first 20 only": _gaps(recipe_qrels(), some_runs(), configs={"gaps": {"depth": 20}}),
    }


def _gaps(*given: Any, **options: Any) -> Any:
    answer = ask("gaps", *given, **options)
    return {
        "queries": answer.queries,
        "without a relevant document": answer.without_relevant,
        "systems": {
            row.system: {
                "now": row.now,
                "reranked": row.reranked,
                "ideal": row.ideal,
                "ranking": [row.ranking.value, *ends(row.ranking)],
                "retrieval": [row.retrieval.value, *ends(row.retrieval)],
                "success by rank": list(row.success.values()),
                "RR": row.rr,
                "relevant documents": row.relevant,
                "not retrieved": row.missing,
                "queries left out": row.left_out,
            }
            for row in answer.systems
        },
    }


COPIES = {
    "gold": {"title": "Soup", "text": "Boil the leeks for ten minutes in salted water."},
    "copy": {"title": "Soup", "text": "Boil the leeks for ten minutes in salted water."},
    "other": {"title": "Bread", "text": "Knead the dough and let it rest."},
}
COPIED_QRELS = {"copy on top": {"gold": 1}, "right": {"gold": 1}, "absent": {"nowhere": 1}}
COPIED_RUN = {
    "copy on top": ["copy", "other"],
    "right": ["gold", "copy"],
    "absent": ["other", "copy"],
}


@subject
def failures() -> Any:
    """How many questions fail, by cause; with renamed documents the corpus lacks them.

    Oracle: counts (`test_oracles_diagnosis`); diagnosis/test_failures.py plants each cause.
    """
    recipes = {
        "corpus": recipe_corpus(),
        "queries": recipe_queries(),
        "configs": {"failures": {"show": 200}},
    }
    renamed = recipe_qrels().to_dict()
    for query_id in list(renamed)[::6]:
        renamed[query_id] = {f"was {doc_id}": grade for doc_id, grade in renamed[query_id].items()}
    return {
        "recipes": _failures(recipe_qrels(), some_runs(), **recipes),
        "recipes, first 3": _failures(recipe_qrels(), some_runs(), "RR(rel=3)@3", **recipes),
        "recipes, renamed documents": _failures(renamed, some_runs("lexical"), **recipes),
        "hostile": _failures(HOSTILE_QRELS, HOSTILE_RUNS),
        "hostile, first 2": _failures(HOSTILE_QRELS, HOSTILE_RUNS, "nDCG@2"),
        "copies": _failures(COPIED_QRELS, {"s": COPIED_RUN}, "RR@2", corpus=COPIES),
    }


def _failures(*given: Any, **options: Any) -> Any:
    answer = ask("failures", *given, **{"configs": {"failures": {"show": 10}}, **options})
    return {
        row.system: {
            "failing": row.failing,
            "causes": {cause: len(query_ids) for cause, query_ids in row.causes.items()},
            "value, relevant documents, best rank": {
                query.query_id: [query.value, query.relevant, query.ranks[row.system]]
                for query in sorted(row.worst, key=lambda query: query.query_id)
            },
        }
        for row in answer.systems
    }


STAGES = (
    StageSpec("lexical", "retrieval"),
    StageSpec("hybrid", "retrieval"),
    StageSpec("fused", "fuse", ("lexical", "hybrid")),
    StageSpec("reranked", "rerank", ("fused",), RERANKED),
    StageSpec("cut", "filter", ("reranked",)),
    StageSpec("sorted", "rerank", ("lexical",), 50),
)
OF_STAGES = ["nDCG@10", "RR@10", "R@50", "AP"]


@subject
def stages() -> Any:
    """What each stage of a pipeline adds and loses, and could reach at most.

    Oracle: sets in plain Python and SciPy's t test (`test_oracles_diagnosis`).
    """
    runs = some_runs(*(stage.system for stage in STAGES))
    by_main = {}
    for main in OF_STAGES:
        measures = sorted(OF_STAGES, key=lambda name: name != main)
        answer = ask("stages", recipe_qrels(), runs, measures, stages=list(STAGES))
        by_main[main] = {row.system: row for row in answer.stages}
    return {
        "stages": {
            system: _stage(row, {main: rows[system].ceiling for main, rows in by_main.items()})
            for system, row in by_main[OF_STAGES[0]].items()
        }
    }


def _stage(row: Any, ceilings: Any) -> Any:
    first = {"means": row.measures}
    if not row.of:
        return first
    return first | {
        "differences": {
            f"{change.measure} to {change.base}": [change.difference, change.p]
            for change in row.changes
        },
        "per cent": {
            f"{change.measure} to {change.base}": change.relative and 100 * change.relative
            for change in row.changes
            if change.measure == OF_STAGES[0]
        },
        "ceiling": ceilings,
        "recall of input and output": [row.input_recall, row.output_recall],
        "relevant in the first 10": {
            "kept": row.kept,
            "lost": row.lost,
            "promoted": row.promoted,
        },
        "dropped": {
            "documents": row.dropped,
            "queries": row.dropped_queries,
        },
    }


MEASURES = ["nDCG@10", "RR@10", "R@50", "Success@5", "P@5", "AP@100"]
TARGETS = {f"q{n}": {f"d{n}": 1} for n in range(20)}
_NAMES = {"random": "random", "title-only": "titles", "full text": "all text"}
FOUND = {query: [*(f"x{at}" for at in range(n % 7)), f"d{n}"] for n, query in enumerate(TARGETS)}


@subject
def baselines() -> Any:
    """Means beside those of chance, of plain search, and of the best ranking there is.

    Oracle: the hypergeometric distribution, and sorting (`test_oracles_diagnosis`). Lexical search
    has tests of its own.
    """
    texts: Any = {"queries": recipe_queries(), "corpus": recipe_corpus()}
    runs = some_runs("hybrid", "reranked")
    recipes = ask("baselines", recipe_qrels(), runs, MEASURES, **texts)
    measures = ["Success@1", "Success@5", "RR", "RR@5", "R@10", "nDCG@10", "AP"]
    return {
        "recipes": _baselines(MEASURES, recipe_qrels(), runs, **texts),
        "recipes, against": {
            f"{recipes.measure} {_NAMES.get(row.system, row.system)} to {_NAMES[row.over]}": [
                row.mean,
                row.mean - row.gained.value,
                row.gained.value,
                row.gained.value / (row.mean - row.gained.value),
            ]
            for row in recipes.ladder
            if row.over is not None
        },
        "one target of 200": _baselines(measures, TARGETS, {"s": FOUND}, configs=_of(200)),
        "hostile": _baselines(MEASURES, HOSTILE_QRELS, HOSTILE_RUNS, configs=_of(60)),
    }


def _of(documents: int) -> dict[str, Any]:
    return {"baselines": {"documents": documents}}


def _baselines(measures: list[str], qrels: Any, runs: Any, **given: Any) -> Any:
    figures = {}
    for measure in measures:
        answer = ask("baselines", qrels, runs, [measure], **given)
        means = {row.system: row.mean for row in answer.ladder}
        figures[answer.measure] = {
            "random": means.pop("random", None),
            "deviation of random": answer.deviation,
            "titles": means.pop("title-only", None),
            "all text": means.pop("full text", None),
            "ideal": answer.ideal,
            "systems": means,
        }
    return figures
