"""The findings that only a score of a run can make: they are about measures, chunks and words.

Declared apart from `soundness`, which does not load pydantic until a finding is looked at.
"""

from __future__ import annotations

from rankscope.findings import declare

declare(
    "RS133",
    "measure-deeper-than-run",
    "warning",
    unit="measure",
    advice="make the run deeper, or ask for a cutoff that it reaches",
    meaning="""A measure looks deeper than the depth at which the run was cut, so it says what the
    same measure with a smaller cutoff would. A run is cut if a quarter of its answers or more are
    as long as the longest; in a benchmark, if the system was asked for no more.""",
)

declare(
    "RS136",
    "ids-without-document",
    "warning",
    unit="document",
    advice="check the rule; such an id counts as a document's own",
    meaning="""The table or pattern that leads from chunks to documents says nothing about some ids.
    A separator covers all: a document that was not cut has none.""",
)

declare(
    "RS137",
    "templated-passages",
    "warning",
    unit="passage",
    advice="ask for more of a passage (overlap=0.9), match passages as wholes (without overlap), "
    "or judge by ids",
    meaning="""Where texts overlap in part, one retrieved passage found three gold passages or more
    of its question. Passages that differ in a few words (prices, dates, names) overlap with each
    other, so one of them seems to answer for all.""",
)

declare(
    "RS167",
    "ids-nearly-the-same",
    "warning",
    unit="document",
    advice="make the ids of run and qrels the same",
    meaning="""At least a tenth of the relevant documents are in the run only under an id that
    differs in blanks, case, leading zeros or the suffix of a chunk, and so count as not found.
    Looked for in runs of up to 5,000 lines that hold at most half of the relevant documents.""",
)

declare(
    "RS173",
    "ids-of-other-questions",
    "error",
    unit="query",
    advice="or give each question the same id in both",
    meaning="""Run and qrels have ids and questions, and several ids of the run belong to a
    question that has another id in the qrels: joined by id, answers would be scored against the
    documents of other questions.""",
)
