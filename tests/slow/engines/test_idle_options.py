"""Options that would do nothing are refused by their name, with what they are for."""

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
SQL = "SELECT id FROM docs WHERE body = %(query)s LIMIT %(depth)s"
BY_VECTOR = SQL.replace("body =", "at <=> %(vector)s <")

IDLE: list[tuple[type[Options], dict[str, Any], str]] = [
    (PostgresOptions, {**NEAR, "ef_search": 10}, "ef_search is for vectors: hnsw"),
    (PostgresOptions, {**NEAR, "vectors": "hnsw", "probes": 2}, "probes is for vectors: ivfflat"),
    (PostgresOptions, {**NEAR, "vectors": "hnsw", "max_scan_tuples": 9}, "iterative_scan"),
    (PostgresOptions, {"vectors": "hnsw"}, "add search: vector"),
    (PostgresOptions, {"sql": SQL, "embedder": "wordllama"}, "%(vector)s"),
    (SqliteOptions, {**NEAR, "tokenizer": "porter"}, "tokenizer is for search: text"),
    (LanceOptions, {"vectors": "ivf_pq", "ef": 9}, "ef is for vectors: ivf_hnsw_flat"),
    (LanceOptions, {"vectors": "ivf_sq", "exact": True, "nprobes": 4}, "nprobes is for exact"),
    (LanceOptions, {"table": "mine", "m": 9}, "table is yours"),
    (QdrantOptions, {"quantisation": "binary", "quantile": 0.9}, "quantisation: scalar"),
    (QdrantOptions, {"collection": "mine", "m": 9}, "collection is yours"),
    (ChromaOptions, {"tenant": "me"}, "tenant is for a server"),
]
USEFUL: list[tuple[type[Options], dict[str, Any]]] = [
    (PostgresOptions, {**NEAR, "vectors": "hnsw", "ef_search": 10, "m": 8}),
    (PostgresOptions, {"search": "hybrid", "match": "any", "fusion": {"k": 1}}),
    (PostgresOptions, {"sql": BY_VECTOR, "embedder": "wordllama"}),
    (SqliteOptions, {**NEAR, "quantisation": "int8", "rescore": 2}),
    (LanceOptions, {"ef": None, "nprobes": None}),
    (LanceOptions, {"table": "mine", "id_field": "id", "nprobes": 4, "ef": 9}),
    (QdrantOptions, {"collection": "mine", "rescore": True}),
    (ChromaOptions, {"url": "http://127.0.0.1:1", "tenant": "me"}),
]


@pytest.mark.parametrize(("model", "options", "problem"), IDLE)
def test_an_option_without_effect_is_refused(
    model: type[Options], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(SpecError) as error:
        read_options(model, options)
    assert problem in str(error.value)


def test_one_with_an_effect_is_taken() -> None:
    for model, options in USEFUL:
        read_options(model, options)


def test_a_choice_that_a_variable_will_make_is_waited_for() -> None:
    options = {**NEAR, "vectors": "${KIND}", "ef_search": 10}
    read_options(PostgresOptions, options, Reading(unexpanded=True))
