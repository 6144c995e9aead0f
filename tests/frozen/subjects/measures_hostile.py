"""Every measure, and every parameter of it, under every profile, on a run that makes them stumble.

Ties (also in single precision only), negative and fractional grades, unjudged documents, a document
with its query's own id, no relevant document, nothing judged found, a query the run lacks, one that
nobody judged, a short and a long ranking. Oracles: the naive twins (measures/test_twins.py) and
trec_eval, ir_measures and ndeval (measures/test_oracles.py).
"""

from __future__ import annotations

from typing import Any

from frozen.scored import under_profiles
from measures.variants import VARIANTS

GRADES: dict[str, dict[str, float]] = {
    "ties": {"a": 3, "b": 0, "c": 1, "d": 2, "e": 1},
    "nearly": {"a": 1, "b": 2, "c": 0, "z": 3},
    "negative": {"a": -2, "b": -1, "c": 1, "d": 0, "e": 3},
    "fractions": {"a": 0.5, "b": 1.5, "c": 2.25, "d": 0},
    "itself": {"itself": 1, "b": 1, "c": 0},
    "nothing": {"a": 0, "b": 0},
    "missed": {"x": 1, "y": 2, "z": 3},
    "missing": {"a": 1, "b": 2},
    "short": {"a": 2, "b": 1, "c": 1, "d": 0},
    "long": {f"{number:03}": number % 4 for number in range(0, 60, 3)},
}
RUN = {
    "ties": {"e": 1.0, "d": 1.0, "c": 1.0, "b": 1.0, "a": 1.0, "f": 0.5, "g": 0.5},
    "nearly": {"a": 20000001.0, "b": 20000000.0, "c": 20000002.0, "u": 1.0, "z": 0.5},
    "negative": {"a": 5.0, "e": 4.0, "b": 3.0, "c": -3.0, "d": -7.0, "u": 0.0},
    "fractions": {"d": 4.0, "a": 3.0, "u": 2.5, "c": 2.0, "b": 1.0},
    "itself": {"itself": 9.0, "c": 8.0, "b": 7.0, "u": 6.0},
    "nothing": {"b": 2.0, "a": 1.0, "u": 0.0},
    "missed": {"a": 3.0, "b": 2.0, "c": 1.0},
    "short": {"a": 1.0},
    "long": {f"{number:03}": 1.0 / (1 + number * 7 % 83) for number in range(80)},
    "unjudged": {"a": 1.0, "b": 0.5},
}
LENGTHS = {
    doc: 20.0 + 37 * at % 900 for at, doc in enumerate(sorted({*"abcdefguxyz", *RUN["long"]}))
}
ASPECTS = {
    "one": {"a": {"1": 1, "2": 1}, "b": {"1": 1}, "c": {"3": 1}, "d": {"2": 0}},
    "two": {"a": {"1": 0}, "b": {"2": 1}, "e": {"1": 1, "2": 1, "3": 1}},
    "none": {"a": {"1": 0}, "b": {"2": 0}},
}
RANKED = {
    "one": {"b": 4.0, "u": 3.0, "a": 2.0, "c": 2.0, "d": 1.0},
    "two": {"a": 3.0, "b": 2.0, "v": 1.5, "e": 1.0},
    "none": {"a": 1.0, "b": 0.5},
}


def numbers() -> dict[str, Any]:
    lengths = {**LENGTHS, "itself": 50.0}
    plain = [str(measure) for measure in VARIANTS if measure.needs != "subtopics"]
    whole = {q: {d: int(g) for d, g in grades.items()} for q, grades in GRADES.items()}
    answered = {query: RUN[query] for query in GRADES if query in RUN}
    judged = {query: GRADES[query] for query in answered}
    by_aspect = [str(measure) for measure in VARIANTS if measure.needs == "subtopics"]
    return {
        "any grades": under_profiles(GRADES, RUN, plain, lengths=lengths),
        "each query judged and answered": under_profiles(judged, answered, plain, lengths=lengths),
        "whole grades, by id": {
            "id-asc": under_profiles(whole, RUN, ["nDCG@5", "AP", "RR"], ties="id-asc")[
                "rankscope"
            ],
            "given": under_profiles(whole, RUN, ["nDCG@5", "AP", "RR"], ties="given")["rankscope"],
        },
        "aspects": under_profiles(ASPECTS, RANKED, by_aspect)["rankscope"],
    }
