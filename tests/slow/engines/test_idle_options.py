"""Options that would do nothing are refused in one sentence, which says what they are for."""

from __future__ import annotations

from typing import Any

import pytest

from rankscope.retrieval.options import Options, Reading, SpecError, read_options
from rankscope.retrieval.remote.chromadb import ChromaOptions
from rankscope.retrieval.remote.lancedb_options import LanceOptions
from rankscope.retrieval.remote.postgres_options import PostgresOptions
from rankscope.retrieval.remote.qdrant_options import QdrantOptions
from rankscope.retrieval.remote.sqlite import SqliteOptions

NEAR = {"search": "vector"}
EMBEDDER = "wordllama"
SQL = "SELECT id FROM docs WHERE body = %(query)s LIMIT %(depth)s"

IDLE: list[tuple[type[Options], dict[str, Any], str]] = [
    (
        PostgresOptions,
        {**NEAR, "ef_search": 10},
        "ef_search is for vectors: hnsw, and vectors is exact; add vectors: hnsw",
    ),
    (
        PostgresOptions,
        {**NEAR, "vectors": "ivfflat", "m": 16},
        "m is for vectors: hnsw, and vectors is ivfflat; leave m out",
    ),
    (PostgresOptions, {**NEAR, "vectors": "hnsw", "probes": 2}, "probes is for vectors: ivfflat"),
    (PostgresOptions, {**NEAR, "iterative_scan": "off"}, "is for vectors: hnsw or ivfflat, and"),
    (
        PostgresOptions,
        {**NEAR, "vectors": "hnsw", "max_scan_tuples": 9},
        "max_scan_tuples is for iterative_scan: relaxed_order or strict_order",
    ),
    (PostgresOptions, {**NEAR, "rescore": 3}, "rescore is for quantisation: bit, and"),
    (PostgresOptions, {**NEAR, "match": "any"}, "match is for search: text or hybrid, and"),
    (PostgresOptions, {**NEAR, "fusion": {"k": 1}}, "fusion is for search: hybrid, and"),
    (PostgresOptions, {"vectors": "hnsw"}, "add search: vector"),
    (PostgresOptions, {"embedder": "wordllama"}, "embedder is for search: vector or hybrid, and"),
    (
        PostgresOptions,
        {"sql": SQL, "embedder": "wordllama"},
        "embedder is for sql that uses %(vector)s, and this does not; leave it out",
    ),
    (SqliteOptions, {**NEAR, "tokenizer": "porter"}, "tokenizer is for search: text or hybrid"),
    (SqliteOptions, {**NEAR, "rescore": 2}, "rescore is for quantisation: int8 or bit, and"),
    (SqliteOptions, {"document_prefix": "x"}, "document_prefix is for search: vector or hybrid"),
    (LanceOptions, {"nprobes": 2}, "and vectors is exact; add vectors: ivf_flat"),
    (LanceOptions, {"vectors": "ivf_pq", "ef": 9}, "ef is for vectors: ivf_hnsw_flat, ivf_hnsw_sq"),
    (LanceOptions, {"vectors": "ivf_flat", "refine_factor": 2}, "refine_factor is for vectors: "),
    (
        LanceOptions,
        {"vectors": "ivf_sq", "num_bits": 4},
        "num_bits is for vectors: ivf_pq, ",
    ),
    (
        LanceOptions,
        {"vectors": "ivf_sq", "exact": True, "nprobes": 4},
        "nprobes is for exact: false, and exact is true; leave nprobes out",
    ),
    (LanceOptions, {"k": 9}, "k is for search: hybrid, and search is vector; add search: hybrid"),
    (
        LanceOptions,
        {"search": "text", "distance": "l2"},
        "distance is for search: vector or",
    ),
    (LanceOptions, {"table": "mine", "m": 9}, "m shapes an index that is made, and table is yours"),
    (
        QdrantOptions,
        {"quantisation": "binary", "quantile": 0.9},
        "is for quantisation: scalar, ",
    ),
    (QdrantOptions, {"oversampling": 2.0}, "is for quantisation: scalar, product or binary, and"),
    (
        QdrantOptions,
        {"exact": True, "hnsw_ef": 9},
        "is for exact: false, and exact is true",
    ),
    (QdrantOptions, {"collection": "mine", "m": 9}, "and collection is yours; leave m out"),
    (ChromaOptions, {"tenant": "me"}, "tenant is for a server; give its url"),
    (ChromaOptions, {"collection": "mine", "ef_search": 9}, "ef_search shapes an index that is"),
]


@pytest.mark.parametrize(("model", "options", "problem"), IDLE)
def test_an_option_without_effect_is_refused(
    model: type[Options], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(SpecError) as error:
        read_options(model, options)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (PostgresOptions, {**NEAR, "vectors": "hnsw", "ef_search": 10, "m": 8}),
        (PostgresOptions, {"search": "hybrid", "match": "any", "fusion": {"k": 1}}),
        (
            PostgresOptions,
            {"sql": SQL.replace("body =", "at <=> %(vector)s <"), "embedder": EMBEDDER},
        ),
        (SqliteOptions, {**NEAR, "quantisation": "int8", "rescore": 2}),
        (LanceOptions, {"ef": None, "nprobes": None}),
        (LanceOptions, {"table": "mine", "id_field": "id", "nprobes": 4, "ef": 9}),
        (QdrantOptions, {"collection": "mine", "rescore": True}),
        (QdrantOptions, {"quantisation": "product", "compression": "x8", "rescore": True}),
        (ChromaOptions, {"url": "http://127.0.0.1:1", "tenant": "me"}),
    ],
)
def test_one_with_an_effect_is_taken(model: type[Options], options: dict[str, Any]) -> None:
    read_options(model, options)


def test_a_choice_that_a_variable_will_make_is_waited_for() -> None:
    options = {**NEAR, "vectors": "${KIND}", "ef_search": 10}
    read_options(PostgresOptions, options, Reading(unexpanded=True))
