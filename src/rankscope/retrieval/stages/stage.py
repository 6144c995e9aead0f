"""Stages: systems over another system, which they ask and whose answers they may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query, System
from rankscope.retrieval.registry import Context, Registry
from rankscope.retrieval.stages.learning import is_trained

__all__ = ["Stage", "given_part", "training_answers"]

T = TypeVar("T")


class Stage(System):
    """A system over one other, ``inner``: takes its batches and threads as they are.

    ``trained``: it, or what stands below it, has learnt from judged questions.
    """

    def __init__(self, inner: System) -> None:
        self.inner = inner
        self.batch_size = inner.batch_size
        self.concurrent = inner.concurrent
        self.trained = is_trained(inner)

    def index(self, corpus: Corpus) -> None:
        """Hand the corpus down."""
        self.inner.index(corpus)
        self.notes = self.inner.notes

    def prepare(self) -> None:
        """Prepare the system below."""
        self.inner.prepare()
        self.notes = self.inner.notes
        self.seconds_indexing = self.inner.seconds_indexing


def given_part(registry: Registry[T], options: Any, context: Context, owner: str) -> T:
    """Make the one part that a stage's options name, such as ``keywords: {}`` of a rewrite.

    A part is named by an option that has its name; exactly one must be given.
    """
    names = [one.name for one in fields(options) if one.name in registry.names()]
    given = {name: getattr(options, name) for name in names}
    chosen = {name: value for name, value in given.items() if value is not None}
    if len(chosen) != 1:
        found = ", ".join(chosen) or "none"
        raise InputError(f"{owner} needs exactly one of {', '.join(names)}, found {found}")
    return registry.build(chosen, context)


def training_answers(
    owner: str, system: System, queries: Sequence[Query], depth: int
) -> dict[str, list[tuple[str, float]]]:
    """Ask a system questions to learn from: (doc_id, score) pairs by query id, best first.

    One that cannot be answered is an error, as what is learnt would depend on it.
    """
    fetched = fetch(system, queries, depth=depth)
    for query_id, problem in fetched.failures.items():
        raise InputError(
            f"{owner}: the training question {shown(query_id)} could not be answered ({problem})"
        )
    return {query.query_id: list(fetched.run[query.query_id].items()) for query in queries}
