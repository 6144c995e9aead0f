"""The findings about a run that both `runs validate` and every score of it can make.

Declared apart from the checks, which load Polars: scoring plain dicts makes these findings too.
"""

from __future__ import annotations

from rankscope.findings import declare

EMPTY = declare(
    "RS101",
    "empty",
    "error",
    unit="file",
    advice="make the run again and check the format of the queries it was made from",
    meaning="The run holds no line of data, or no document for any of its queries.",
)

ORDER_AGAINST_SCORE = declare(
    "RS114",
    "order-against-score",
    "warning",
    unit="query",
    advice="higher scores are better and decide; negate distances, or keep the order of the lists "
    'with order="given"',
    meaning="""In most queries scores rise down the list as it is given: distances, or scores from
    before a rerank. In dicts of scores only those that never fall are taken for distances; a TREC
    file in any order is fine if its ranks agree with its scores.""",
)

EQUAL_SCORES = declare(
    "RS123",
    "all-scores-equal",
    "warning",
    unit="query",
    advice='write the system\'s scores, or keep the order of the lists with order="given"',
    meaning="""All documents of each query have the same score, so their ids decide the order and
    not the system.""",
)

DEEPER_THAN_RUN = declare(
    "RS133",
    "measure-deeper-than-run",
    "warning",
    unit="measure",
    advice="make the run deeper, or ask for a cutoff that it reaches",
    meaning="""A measure looks deeper than the depth at which the run was cut, so it says what the
    same measure with a smaller cutoff would. A run is cut if a quarter of its answers or more are
    as long as the longest; in a benchmark, if the system was asked for no more.""",
)

TRIVIAL_CUTOFF = declare(
    "RS134",
    "cutoff-covers-corpus",
    "warning",
    unit="measure",
    advice="ask for a smaller cutoff, or search a larger corpus",
    meaning="""A measure looks at as many documents as there are, so a system that returns all of
    them in any order finds everything: it is 1 and says nothing.""",
)

FEW_DOCUMENTS_REMAIN = declare(
    "RS135",
    "few-documents-after-collapsing",
    "warning",
    unit="query",
    advice="retrieve more chunks a query (several for each document wanted), or ask for a smaller "
    "cutoff",
    meaning="""The chunks of a query were collapsed to fewer documents than a measure looks at. Only
    queries with as many chunks as the longest count: others end where nothing was left to be
    found.""",
)

NOT_CHUNKS = declare(
    "RS136",
    "ids-without-document",
    "warning",
    unit="document",
    advice="check the rule and these ids; one that it says nothing about counts "
    "as a document's own",
    meaning="""The table or pattern that leads from chunks to documents says nothing about some ids.
    With a separator this is no doubt: a document that was not cut has none.""",
)

TEMPLATED_PASSAGES = declare(
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

QUERIES_MISSING = declare(
    "RS161",
    "judged-queries-missing",
    "warning",
    unit="query",
    advice="run the system on these queries too",
    meaning="""Queries of the qrels are not in the run; they count as 0 in every mean, unless the
    rules leave them out.""",
)

UNKNOWN_DOCUMENTS = declare(
    "RS165",
    "unknown-documents",
    "error",
    unit="document",
    advice="check that the run was made from this corpus, and that ids were not changed on the way",
    meaning="The run names documents that are not in the corpus.",
)

GOLD_OUTSIDE = declare(
    "RS166",
    "gold-outside-corpus",
    "warning",
    unit="document",
    advice="nobody can find them, so recall stays below 1; add them to the corpus, or take them "
    "out of the qrels",
    meaning="""Relevant documents of the qrels are not in the corpus.""",
)

NEARLY_THE_SAME = declare(
    "RS167",
    "ids-nearly-the-same",
    "warning",
    unit="document",
    advice="make the ids of run and qrels the same",
    meaning="""At least a tenth of the relevant documents are in the run only under an id that
    differs in blanks, case, leading zeros or the suffix of a chunk, and so count as not found.
    Looked for in runs of up to 5,000 lines that hold at most half of the relevant documents.""",
)

NO_QUERY_IN_COMMON = declare(
    "RS171",
    "no-query-in-common",
    "error",
    unit="file",
    advice="make the query ids of run and qrels the same",
    meaning="Run and qrels share no query id; the message guesses why.",
)

OTHER_QUESTIONS = declare(
    "RS173",
    "ids-of-other-questions",
    "error",
    unit="query",
    advice="or give each question the same id in both",
    meaning="""Run and qrels have ids and questions, and several ids of the run belong to a
    question that has another id in the qrels: joined by id, answers would be scored against the
    documents of other questions.""",
)

NO_DOCUMENT_IN_COMMON = declare(
    "RS172",
    "no-document-in-common",
    "error",
    unit="file",
    advice="make the document ids of run and qrels the same; if they do match, pass the corpus "
    "(--corpus) to confirm",
    meaning="""Run and qrels share queries, and no document that was retrieved for any query is
    judged for any; the message guesses why. It is a warning for fewer than ten queries, and where a
    corpus is known that holds documents of both.""",
)
