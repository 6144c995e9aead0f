"""The rules of all systems, kept by those that run models; the rules are in `conformance`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance import test_systems as rules
from conformance.world import CASES, Case, fixed

NAMES = ["vector-model", "vector-model-chunked", "rerank-model", "rerank-model-of-vector"]

system = rules.system
for _name, _rule in vars(rules).items():
    if _name.startswith("test_") and not _name.startswith("test_every_"):
        globals()[_name] = _rule


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", autouse=True)
def _cases(small: Callable[..., Path]) -> Iterator[None]:
    folder = str(small("SentenceTransformer"))
    scorer = str(small("CrossEncoder"))
    embedder: dict[str, Any] = {"embedder": {"sentence-transformers": folder}}
    vector = {"vector": embedder}
    cases = {
        "vector-model": Case(
            fixed(vector=embedder),
            fixed(
                vector={"embedder": {"sentence-transformers": {"model": folder, "max_length": 9}}}
            ),
            by_text=False,
        ),
        "vector-model-chunked": Case(
            fixed(vector={**embedder, "chunk": {"tokens": 20, "overlap": 5}}),
            fixed(vector={**embedder, "chunk": {"tokens": 20}}),
            by_text=False,
        ),
        "rerank-model": Case(
            fixed(rerank={"of": "bm25", "cross_encoder": scorer, "depth": 5}),
            fixed(
                rerank={
                    "of": "bm25",
                    "cross_encoder": str(small("CrossEncoder", seed=2)),
                    "depth": 5,
                }
            ),
        ),
        "rerank-model-of-vector": Case(
            fixed(rerank={"of": vector, "cross_encoder": scorer, "depth": 4}),
            fixed(
                rerank={
                    "of": vector,
                    "cross_encoder": {"model": scorer, "fields": "title"},
                    "depth": 4,
                }
            ),
            by_text=False,
        ),
    }
    with pytest.MonkeyPatch.context() as patch:
        for case_name, case in cases.items():
            patch.setitem(CASES, case_name, case)
        yield
