"""The cases: a few judgments and answers, a measure, the right value, and what tools give instead.

Every value is worked out by a formula, never taken from a tool. Where several definitions share a
name, the right one is trec_eval's, and the text of another answer says what it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

Value = float | Literal["refused"]


@dataclass(frozen=True, slots=True)
class Case:
    """One question to every tool."""

    title: str
    ask: str
    """The measure, as rankscope writes it; of two, their difference."""
    judged: str
    """The judged documents of each query: ``q1: a=3 b; q2: c``; a grade of 1 is not written."""
    returned: str
    """What was returned for each query, best first; scores are written where they matter."""
    right: Value
    why: str
    others: dict[str, tuple[Value, str]] = field(default_factory=dict)
    """What other tools, with commas between their names, answer, and what that implies."""

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        return {
            query_id: {doc_id: int(grade or 1) for doc_id, grade in documents}
            for query_id, documents in _parsed(self.judged).items()
        }

    @property
    def run(self) -> dict[str, list[tuple[str, float]]]:
        return {
            query_id: [(doc, float(score or 1 - at / 16)) for at, (doc, score) in enumerate(rows)]
            for query_id, rows in _parsed(self.returned).items()
        }

    @property
    def scores(self) -> dict[str, dict[str, float]]:
        return {query_id: dict(rows) for query_id, rows in self.run.items()}

    def answer_of(self, tool: str) -> tuple[Value, str]:
        """Return what a tool answers if it can be asked, and what that implies."""
        given = (answer for tools, answer in self.others.items() if tool in tools.split(", "))
        return next(given, (self.right, self.why))


def _parsed(text: str) -> dict[str, list[tuple[str, str]]]:
    queries = [part.split(":") for part in text.split("; ")]
    rows = {query_id: [doc.partition("=") for doc in docs.split()] for query_id, docs in queries}
    return {query_id: [(doc, value) for doc, _, value in row] for query_id, row in rows.items()}


def dcg(*gains: float) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


CASES = (
    Case(
        "More relevant documents than the cutoff, the best judged last",
        "nDCG@3",
        "q1: a b c d=3",
        "q1: d a b",
        1.0,
        "The ideal ranking is sorted by grade before it is cut: this ranking is ideal.",
        {"LlamaIndex": (dcg(1, 1, 1) / dcg(1, 1, 1, 1), "Without grades, the ideal not cut.")},
    ),
    Case(
        "The only relevant document, returned twice",
        "nDCG@10",
        "q1: a",
        "q1: a a",
        "refused",
        "Broken input, such as chunks with the id of their document; it must not gain.",
        {
            "ir_measures": (1.0, "It counts once."),
            "LlamaIndex": (dcg(1, 1), "It counts twice: nDCG above 1."),
        },
    ),
    Case(
        "Six documents with one score",
        "nDCG@10",
        "q1: d3",
        "q1: d6=0.5 d3=0.5 d1=0.5 d5=0.5 d2=0.5 d4=0.5",
        dcg(0, 0, 0, 1),
        "By document id, descending, as trec_eval: rank 4.",
        {
            "ranx": (dcg(0, 1), "In the order given: rank 2."),
            "scikit-learn": (dcg(*[1 / 6] * 6), "The mean over all orders of the documents."),
        },
    ),
    Case(
        "Three documents with one score, two measures",
        "RR@1 - nDCG@1",
        "q1: d1",
        "q1: d1=0.5 d2=0.5 d3=0.5",
        0.0,
        "Both measures see one order: here RR@1 and nDCG@1 are the same number.",
        {"ir_measures, BEIR": (1.0, "RR sees the relevant document first, nDCG does not.")},
    ),
    Case(
        "A perfect run in which one of two queries has the id of its document",
        "nDCG@10",
        "q1: a; q2: q2",
        "q1: a x; q2: q2 x",
        1.0,
        "Ids of queries and of documents are separate.",
        {"BEIR": (1 / 2, "A document with the id of the query is removed.")},
    ),
    Case(
        "Two judged queries, one of them not in the run",
        "R@10",
        "q1: a c; q2: b",
        "q1: x a",
        1 / 4,
        "The missing query counts as 0 (trec_eval -c).",
        {
            "pytrec_eval, BEIR": (1 / 2, "It is left out of the mean (trec_eval 9 without -c)."),
            "ranx": ("refused", "As trec_eval 10 without -c."),
        },
    ),
    Case(
        "Two judged queries, one of them with an empty answer",
        "R@10",
        "q1: a c; q2: b",
        "q1: x a; q2:",
        1 / 4,
        "An empty answer is a failure of the system, and counts as 0.",
        {"LlamaIndex": ("refused", "There must be a document.")},
    ),
    Case(
        "Two queries, one of them without a relevant document",
        "nDCG@10",
        "q1: a; q2: b=0 c=0",
        "q1: x y a; q2: b c",
        dcg(0, 0, 1) / 2,
        "It counts as 0 and stays in the mean, as in trec_eval.",
        {"LlamaIndex": ("refused", "There must be a document.")},
    ),
    Case(
        "A document judged -1, ranked first",
        "nDCG@10",
        "q1: a=-1 b",
        "q1: a b",
        dcg(0, 1),
        "A negative grade gains nothing, as 0.",
        {"scikit-learn": ("refused", "Grades must not be negative.")},
    ),
    Case(
        "Scores that differ in the eighth digit",
        "nDCG@10",
        "q1: d1",
        "q1: d1=20000001 d2=20000000",
        1.0,
        "Scores are compared in double precision.",
        {"pytrec_eval, ir_measures, BEIR": (dcg(0, 1), "They tie in single precision.")},
    ),
    Case(
        "Three grades, ranked the wrong way round",
        "nDCG@3",
        "q1: a=3 b=1 c=2",
        "q1: b c a",
        dcg(1, 2, 3) / dcg(3, 2, 1),
        "The gain is the grade.",
        {"LlamaIndex": (1.0, "Every relevant document gains 1.")},
    ),
    Case(
        "Two documents returned, both relevant, a cutoff of five",
        "P@5",
        "q1: a b",
        "q1: a b",
        2 / 5,
        "Divided by the cutoff, 5: places left empty are misses.",
        {"LlamaIndex": (1.0, "Divided by the documents returned, 2.")},
    ),
)
