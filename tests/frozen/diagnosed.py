"""What frozen diagnoses look at: the bundled recipes, a small hostile world, real collections.

Differences are tested by Student's t with Holm's correction and means have Student's intervals,
said here so that no frozen number hangs on what the defaults are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import rankscope as rs
from frozen.paired_worlds import DATA
from rankscope.findings import NotApplicable

RECIPES = DATA / "recipes"
RERANKED = 20
"""How many documents the reranker looks at."""
KEPT = 30
"""How many documents are left behind the last stage."""


def collection(name: str) -> Path:
    """Return the folder of a real collection.

    Raises:
        FileNotFoundError: it is not here.
    """
    folder: Path = import_module("tests.real").COLLECTIONS / name
    if not folder.is_dir():
        raise FileNotFoundError(f"the collection {name} is not in {folder.parent}")
    return folder


def ask(
    analysis: str, qrels: Any, runs: Any, measures: str | Sequence[str] = "nDCG@10", **given: Any
) -> Any:
    """Return what one analysis says."""
    diagnosis = rs.diagnose(qrels, runs, measures, only=analysis, test="t", interval="t", **given)
    answer = getattr(diagnosis.analyses, analysis)
    assert not isinstance(answer, NotApplicable), answer.reason
    return answer


def ends(interval: Any) -> Any:
    """Return both ends of an interval; None of none."""
    return None if interval is None else [interval.low, interval.high]


# --- the bundled recipes -------------------------------------------------------------------------


@cache
def recipe_qrels(split: str = "test") -> Any:
    return rs.read_qrels(RECIPES / "qrels" / f"{split}.tsv")


@cache
def recipe_queries() -> Any:
    return rs.read_queries(RECIPES / "queries.jsonl")


@cache
def recipe_corpus() -> Any:
    return rs.read_corpus(RECIPES / "corpus.jsonl")


@cache
def bundled(name: str) -> dict[str, list[str]]:
    """Return a bundled run as lists, best first; of equal scores the higher id comes first."""
    scores = rs.read_run(DATA / "runs" / f"{name}.run.gz").to_dict()
    return {
        query_id: sorted(documents, key=lambda d: (documents[d], d), reverse=True)
        for query_id, documents in scores.items()
    }


@cache
def recipe_runs() -> dict[str, dict[str, list[str]]]:
    """Return a pipeline: two systems, fused by reciprocal ranks, reranked by titles, and cut.

    Beside it lexical search sorted as the hybrid has it, which is a reranker that gains.
    """
    lexical, hybrid = bundled("lexical"), bundled("hybrid")
    fused = {query_id: _fused(lexical[query_id], hybrid[query_id]) for query_id in lexical}
    reranked = {query_id: _reranked(query_id, ranking) for query_id, ranking in fused.items()}
    return {
        "lexical": lexical,
        "hybrid": hybrid,
        "fused": fused,
        "reranked": reranked,
        "cut": {query_id: ranking[:KEPT] for query_id, ranking in reranked.items()},
        "sorted": {q: _as_in(hybrid[q], ranking) for q, ranking in lexical.items()},
    }


def some_runs(*names: str) -> dict[str, dict[str, list[str]]]:
    return {name: recipe_runs()[name] for name in names or ("lexical", "hybrid", "reranked")}


def _fused(*rankings: Sequence[str]) -> list[str]:
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, doc_id in enumerate(ranking, 1):
            scores[doc_id] = scores.get(doc_id, 0.0) + 1 / (60 + place)
    return sorted(scores, key=lambda d: (-scores[d], d))[:100]


def _reranked(query_id: str, ranking: Sequence[str]) -> list[str]:
    asked = words(recipe_queries()[query_id])
    titles = {doc_id: words(recipe_corpus()[doc_id].title) for doc_id in ranking[:RERANKED]}
    first = sorted(titles, key=lambda doc_id: -len(asked & titles[doc_id]))
    return [*first, *ranking[RERANKED:]]


def _as_in(other: Sequence[str], ranking: Sequence[str]) -> list[str]:
    """Put the first 50 documents into the order another system has them in, the others behind."""
    place = {doc_id: at for at, doc_id in enumerate(other)}
    return [*sorted(ranking[:50], key=lambda d: place.get(d, len(other))), *ranking[50:]]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


# --- a small hostile world -----------------------------------------------------------------------

HOSTILE_QRELS: Mapping[str, Mapping[str, int]] = {
    "graded": {"a": 3, "b": 1, "c": 0, "d": 0, "e": 0},
    "none relevant": {"a": 0, "b": 0, "c": 0},
    "negative": {"ü": 2, "z": 1, "a": -1, "b": -2},
    "missing": {"x": 1, "a": 0},
    "empty": {"x": 2, "y": 2, "w": 1, "a": 0},
    "tied": {"b": 2, "d": 1, "a": 0, "c": 0},
    "below": {"r": 1, "a": 0, "b": 0},
    "far": {"k": 3, "r": 1, "a": 0, "b": 0, "c": 0},
    "many": {f"m{n}": 1 + n % 3 for n in range(15)},
    "unjudged on top": {"a": 1, "b": 0, "c": 0, "d": 0, "e": 0},
}
HOSTILE_RUNS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "first": {
        "graded": {"b": 9.0, "u1": 8.0, "a": 7.0, "c": 6.0, "d": 5.0},
        "none relevant": {"a": 2.0, "b": 1.0},
        "negative": {"a": 3.0, "ü": 2.0, "b": 1.0, "z": 0.5},
        "empty": {},
        "tied": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": 1.0},
        "below": {**{f"n{n}": 50.0 - n for n in range(11)}, "r": 1.0},
        "far": {"r": 9.0, **{f"n{n}": 8.0 - n / 8 for n in range(20)}},
        "many": {f"m{n}": -float(n) for n in range(0, 15, 2)},
        "unjudged on top": {"u1": 5.0, "u2": 4.0, "u3": 3.0, "b": 2.0, "c": 1.0},
    },
    "second": {
        "graded": {"a": 9.0, "b": 8.0, "e": 8.0},
        "none relevant": {"u1": 2.0, "u2": 1.0},
        "negative": {"z": 3.0, "ü": 3.0, "u1": 3.0},
        "missing": {"a": 1.0, "u1": 0.0, "x": 0.0},
        "empty": {"w": 1.0, "u1": 0.5, "x": 0.25},
        "tied": {"d": 2.0, "b": 1.0, "u1": 1.0, "u2": 1.0},
        "below": {"r": 1.0},
        "far": {"k": 2.0, "u1": 1.0, "r": 0.0},
        "many": {f"m{n}": float(n) for n in range(15)},
        "unjudged on top": {"u4": 5.0, "a": 4.0, "u5": 3.0},
    },
}


# --- clinical phrases in five languages ----------------------------------------------------------


@dataclass(frozen=True)
class Cases:
    """Phrases that expect terms, and two plain systems that look for them."""

    qrels: dict[str, dict[str, int]]
    queries: dict[str, dict[str, str]]
    runs: dict[str, dict[str, list[str]]]


@cache
def clinical_cases() -> Cases:
    """Return the bundled cases."""
    cases = []
    for language in ("english", "german", "french", "spanish", "dutch"):
        [path] = (DATA / "hpo" / language).glob("*.json")
        cases += [
            {**case, "language": language} for case in json.loads(path.read_text())["test_cases"]
        ]
    return as_cases(cases)


def as_cases(cases: Sequence[Mapping[str, Any]]) -> Cases:
    """Search terms by the letters and by the words of phrases; terms have English names."""
    names: dict[str, str] = {}
    for case in cases:
        for term in case["expected_hpo_ids"]:
            own = case["text"] if case.get("language") == "english" else ""
            names.setdefault(term, f"{own} {case['description']}")
    ways = {"letters": letters, "words": words}
    known = {
        way: {term: split(name) for term, name in names.items()} for way, split in ways.items()
    }
    return Cases(
        {case["case_id"]: dict.fromkeys(case["expected_hpo_ids"], 1) for case in cases},
        {
            case["case_id"]: {
                key: case[key] for key in ("text", "language", "difficulty") if key in case
            }
            for case in cases
        },
        {
            way: {case["case_id"]: nearest(split(case["text"]), known[way]) for case in cases}
            for way, split in ways.items()
        },
    )


def letters(text: str) -> set[str]:
    """Return each three letters in a row."""
    spelled = f" {text.lower()} "
    return {spelled[at : at + 3] for at in range(len(spelled) - 2)}


def nearest(asked: set[str], known: Mapping[str, set[str]]) -> list[str]:
    """Return the twenty that share most, by Jaccard; none that shares nothing."""
    shares = {term: len(asked & parts) / len(asked | parts) for term, parts in known.items()}
    found = sorted(shares, key=lambda term: (-shares[term], term))
    return [term for term in found[:20] if shares[term] > 0]
