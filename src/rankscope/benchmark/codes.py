"""The findings of a benchmark as a whole: what its config, its collection and its systems say."""

from __future__ import annotations

from rankscope.findings import declare

WITHOUT_TEXT = declare(
    "RS703",
    "judged-queries-without-text",
    "warning",
    unit="query",
    advice="no system has them, so they count as 0 or are left out, as the profile says; add them "
    "to the queries, or leave them out of the judgments",
    meaning="""A query is judged and its text is not known, so it cannot be asked and counts as 0
    for every system.""",
)

QUERIES_FAILED = declare(
    "RS704",
    "queries-failed",
    "error",
    unit="query",
    advice="run the benchmark again, and only they are asked; until then they are not in the run "
    "and count as 0, unless the profile leaves them out",
    meaning="A system could not answer a query; it is not in the run and counts as 0.",
)

SYSTEM_NOTE = declare(
    "RS706",
    "system-note",
    "warning",
    unit="case",
    advice="see whether this is meant before you act on the system's numbers",
    meaning="""A system has something to say about its answers: documents that it cannot find,
    scores that rise down the lists as distances do, documents that an answer holds twice.""",
)

FELL_BACK = declare(
    "RS707",
    "model-fell-back",
    "warning",
    unit="question",
    advice="look at the answers and the prompt, or take another model; --fresh asks again",
    meaning="""A language model gave no usable answer to some questions, and something else was
    taken: the incoming order, or the plain query. There, the system is the one below it.""",
)

CONFIG_NOTE = declare(
    "RS705",
    "config-note",
    "note",
    unit="case",
    advice="nothing has to be done",
    meaning="What the config says needs a word of explanation.",
)
