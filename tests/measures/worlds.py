"""Random little worlds: judgments and a run, with everything that makes measures stumble.

Ties, unjudged documents, negative and fractional grades, queries without relevant documents, short
and empty runs, queries the run lacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hypothesis import strategies as st

from measures.naive import Query, make
from rankscope.measures.judged import JudgedRun

DOCS = [f"D{number}" for number in range(1, 13)]
TOPICS = ["t1", "t2", "t3"]


@dataclass
class World:
    qrels: dict[str, dict[str, float]]
    run: dict[str, dict[str, float]]
    subtopics: dict[str, dict[tuple[str, str], float]]

    @cached_property
    def made(self) -> tuple[JudgedRun, list[Query]]:
        return make(self.qrels, self.run, subtopics=self.subtopics)

    @property
    def judged_run(self) -> JudgedRun:
        return self.made[0]

    @property
    def queries(self) -> list[Query]:
        return self.made[1]


WHOLE = st.sampled_from([-1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 5.0])
NOT_NEGATIVE = st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 5.0])
ANY_GRADE = st.one_of(WHOLE, st.sampled_from([0.5, 1.5, 2.25, -2.0]))
SCORES = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 2.0, 3.5, 7.0, 8.0, 9.0, 20.0])


@st.composite
def worlds(
    draw: st.DrawFn, grades: st.SearchStrategy[float] = ANY_GRADE, *, missing: bool = True
) -> World:
    names = [f"q{number}" for number in range(draw(st.integers(1, 3)))]
    judged = st.dictionaries(st.sampled_from(DOCS), grades, min_size=1, max_size=9)
    scored = st.dictionaries(st.sampled_from(DOCS), SCORES, min_size=0 if missing else 1)
    served = st.dictionaries(
        st.tuples(st.sampled_from(DOCS), st.sampled_from(TOPICS)), st.sampled_from([0.0, 1.0, 1.0])
    )
    qrels = {name: draw(judged) for name in names}
    run = {name: draw(scored) for name in names if not missing or draw(st.integers(0, 9)) > 0}
    return World(qrels, run, {name: draw(served) for name in names})
