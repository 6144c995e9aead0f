"""The findings about qrels that both `runs validate` and every score by them can make.

Declared apart from the checks, which load Polars: scoring plain dicts makes these findings too.
"""

from __future__ import annotations

from rankscope.findings import declare

JUDGED_TWICE = declare(
    "RS208",
    "judged-twice",
    "error",
    unit="line",
    advice="keep one line per pair; if the second column is a subtopic, ask for a measure by "
    "subtopic too, such as alpha_nDCG@10",
    meaning="""A pair was judged before in a TREC file, with something else in the second column.
    Measures by subtopic read subtopics there; for all others it is a duplicate, as in
    trec_eval.""",
)

NOTHING_RELEVANT = declare(
    "RS214",
    "nothing-relevant",
    "error",
    unit="file",
    advice="judge relevant documents with grade 1 or above, or name the grade from which on a "
    "document counts, as in P(rel=2)@10",
    meaning="""No document of any query is relevant: no grade is above 0, or none reaches the
    threshold that a measure was given, so every system would score 0.""",
)

GRADES_TOO_LOW = declare(
    "RS215",
    "grades-below-threshold",
    "warning",
    unit="judgment",
    advice="name the grade from which on a document counts, as in P(rel=0.5)@10, or use a graded "
    "measure such as nDCG",
    meaning="""Grades between 0 and 1 are below the threshold of 1 from which on binary measures
    count a document as relevant, and no measure that was asked for counts them.""",
)
