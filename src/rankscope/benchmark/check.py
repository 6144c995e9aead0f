"""Check: is each run fit to be scored? Every run is validated once, before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rankscope.benchmark.prepare import Benchmark
from rankscope.benchmark.steps import Steps
from rankscope.retrieval.fetch import Fetched
from rankscope.runs.checks import empty, no_document_in_common, no_query_in_common
from rankscope.runs.table import Run
from rankscope.runs.validation import Reference, Validation

BROKEN = frozenset(code.code for code in (empty, no_query_in_common, no_document_in_common))
"""Errors of a run after which no number about it could mean anything."""


def check_all(reference: Reference, runs: Mapping[str, Run], steps: Steps) -> dict[str, Validation]:
    """Check runs against the queries, the judgments and the corpus."""
    checks = {}
    for name, run in runs.items():
        with steps.step(f"check {name}"):
            checks[name] = reference.validate(run)
    return checks


def reference_of(benchmark: Benchmark) -> Reference:
    """Return what runs are checked against."""
    collection = benchmark.collection
    ids = [query.query_id for query in collection.queries]
    corpus: Any = collection.corpus
    if corpus is not None and collection.chunking is not None:
        corpus = list(dict.fromkeys(collection.chunking.documents(corpus.ids)[0]))
    known = Reference.read(queries=ids, corpus=corpus)
    return replace(known, qrels=collection.judgments.table)


def broken_by(
    checks: Mapping[str, Validation], fetched: Mapping[str, Sequence[Fetched]]
) -> dict[str, str]:
    """Return by system why its run cannot be scored, for those of which that is so."""
    broken: dict[str, str] = {}
    for name, validation in checks.items():
        for finding in validation.findings:
            if finding.severity == "error" and finding.code in BROKEN:
                broken.setdefault(name, finding.message)
        first = fetched[name][0]
        if name in broken and not first.run.query_ids and first.failures:
            broken[name] = f"no query was answered ({next(iter(first.failures.values()))})"
    return broken
