"""The findings of a benchmark as a whole, and of cases."""

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

# --- cases ---------------------------------------------------------------------------------------

ASKED_TWICE = declare(
    "RS221",
    "asked-twice",
    "warning",
    unit="question",
    advice="keep one of them with all its documents, as the set counts the same question twice",
    meaning="""Two questions of a golden set have the same words, whatever their case and
    spacing, and are not known to be in different languages.""",
)

NO_TEXT = declare(
    "RS222",
    "question-without-text",
    "error",
    unit="question",
    advice="write what is asked, or take the question out of the set",
    meaning="""A question of a golden set has no text, so it cannot be asked.""",
)

SAME_DOCUMENT = declare(
    "RS223",
    "one-document-expected-everywhere",
    "warning",
    unit="document",
    advice="ask about other documents too: a system that always returns this one looks good",
    meaning="""One document is expected by at least half of the questions of a golden set, and by
    ten or more.""",
)

UNREADABLE = declare(
    "RS220",
    "unreadable-case",
    "error",
    unit="case",
    advice="correct these cases; the others are checked without them",
    meaning="""A case of a golden set cannot be read: it has no question, no field with the
    documents it expects, or is no object.""",
)


MALFORMED_ID = declare(
    "RS224",
    "malformed-term-id",
    "error",
    unit="expected id",
    advice="write ids as the ontology does, with its prefix and all leading zeros",
    meaning="""An expected id is not written as ids of the ontology are: HP:1250 for HP:0001250.""",
)

UNKNOWN_TERM = declare(
    "RS225",
    "unknown-term",
    "error",
    unit="expected id",
    advice="correct the ids, or give the release of the ontology that they are from",
    meaning="""An expected id is not in the ontology, so no system that searches it can find it.""",
)

OBSOLETE_TERM = declare(
    "RS226",
    "obsolete-term",
    "error",
    unit="expected id",
    advice="write the current ids",
    meaning="""An expected id is that of an obsolete term, which systems no longer return; the
    ontology may name what replaces it.""",
)

ALTERNATIVE_ID = declare(
    "RS227",
    "alternative-term-id",
    "warning",
    unit="expected id",
    advice="write the term's own id, as exact matches compare ids as they are written",
    meaning="""An expected id is another id of a current term, left from when terms were merged.""",
)

UNKNOWN_WORD = declare(
    "RS228",
    "unknown-word-in-case",
    "error",
    unit="case",
    advice="use one of the words of the schema (rankscope cases schema), so that strata are what "
    "they say",
    meaning="""A case has a difficulty or category that the schema does not have.""",
)

DOUBTFUL_LANGUAGE = declare(
    "RS229",
    "doubtful-language",
    "warning",
    unit="case",
    advice="name the language by its code, such as de, in the file's metadata or in the case",
    meaning="""Some cases of a set have a language and others have none, or a language is not a code
    or name that is known; languages are reported apart.""",
)
