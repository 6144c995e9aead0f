"""Random judgments and runs with everything that makes a ranking stumble, and a naive ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from rankscope.runs.order import Precision, Ties
from rankscope.scoring.align import Aligned

Grades = dict[str, dict[str, float]]
Scores = dict[str, dict[str, float]]

DOCS = ["D1", "D10", "D9", "d", "a", "Z", "é", "日本", "0", "1", "10", "e\u0301"]
QUERIES = ["q1", "q10", "q2", "Q", "é"]
GRADES = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 0.25, 0.5, 1.0, 1.0, 2.0, 3.0])
SCORES = st.sampled_from(
    [0.0, -0.0, 0.5, 0.5, 1.0, -3.0, 20000000.0, 20000001.0, 1e300, 2e300, -1e300, 1e-320]
)


@dataclass(frozen=True)
class World:
    qrels: Grades
    run: Scores


@st.composite
def worlds(draw: st.DrawFn) -> World:
    names = st.lists(st.sampled_from(QUERIES), unique=True)
    judged = st.dictionaries(st.sampled_from(DOCS), GRADES)
    scored = st.dictionaries(st.sampled_from(DOCS), SCORES)
    qrels = {name: draw(judged) for name in draw(names)}
    run = {name: draw(scored) for name in draw(names)}
    # one query is answered, for a run that finds nothing at all is refused
    return World({**qrels, "sound": {"D1": 3.0}}, {**run, "sound": {"D1": 1.0}})


def naive_ranking(scores: Mapping[str, float], ties: Ties, precision: Precision) -> list[str]:
    """Sort by id as the rule says, then by score; the second sort leaves equal scores alone."""
    docs = list(scores)
    if ties != "given":
        docs.sort(key=str.encode, reverse=ties == "trec")

    def score(doc: str) -> float:
        with np.errstate(over="ignore"):
            return float(np.float32(scores[doc])) if precision == "single" else scores[doc]

    return sorted(docs, key=score, reverse=True)


def naive_hits(world: World, ties: Ties, precision: Precision) -> list[tuple[str, int, float]]:
    """Return query, rank and grade of every judged retrieved document."""
    hits = []
    for query, grades in world.qrels.items():
        ranking = naive_ranking(world.run.get(query, {}), ties, precision)
        hits += [(query, at, grades[doc]) for at, doc in enumerate(ranking, 1) if doc in grades]
    return hits


def naive_tied(world: World, cutoff: int, precision: Precision) -> int:
    """Count judged queries whose documents at ranks ``cutoff`` and one below share a score."""
    count = 0
    for query in world.qrels:
        given = np.array(list(world.run.get(query, {}).values()))
        with np.errstate(over="ignore"):
            scores = sorted(given.astype(np.float32 if precision == "single" else np.float64))
        count += len(scores) > cutoff and scores[-cutoff] == scores[-cutoff - 1]
    return count


def hits_of(aligned: Aligned) -> list[tuple[str, int, float]]:
    judged = aligned.judged
    columns = (judged.hit_query.tolist(), judged.hit_rank.tolist(), judged.hit_grade.tolist())
    return [(judged.query_ids[q], rank, grade) for q, rank, grade in zip(*columns, strict=True)]
