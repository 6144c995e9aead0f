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

NO_QUERY_IN_COMMON = declare(
    "RS171",
    "no-query-in-common",
    "error",
    unit="file",
    advice="make the query ids of run and qrels the same",
    meaning="Run and qrels share no query id; the message guesses why.",
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
