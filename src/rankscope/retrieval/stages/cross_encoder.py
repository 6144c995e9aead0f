"""Cross-encoders: a reranker that reads query and document together and scores the pair.

``{rerank: {of: SYSTEM, cross_encoder: FOLDER, depth: 50}}``. The scores are the model's own output,
before the sigmoid with which some models end: that would make near-certain documents equal.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.retrieval.protocol import sentence
from rankscope.retrieval.registry import Context
from rankscope.retrieval.stages.rerank import RERANKERS, Candidates, ReadingReranker
from rankscope.retrieval.texts import Fields
from rankscope.retrieval.vector.models import MODEL_PACKAGES, Model, ModelOptions

log = logging.getLogger(__name__)


class CrossEncoderOptions(ModelOptions):
    """A model that scores pairs, and what it reads of a document."""

    fields: Fields | None = None
    """What is read of a document, as in bm25. If not given, title and text, under whatever name the
    corpus has them."""


@RERANKERS.add(
    "cross_encoder", CrossEncoderOptions, summary="a model that reads query and document together"
)
class CrossEncoder(ReadingReranker):
    """A cross-encoder of sentence-transformers, loaded when it is first needed.

    The candidates of a query are scored by themselves, each distinct text once: the scores do not
    depend on other queries, and equal texts have equal scores. A document without text comes after
    all others. A query fails if one of its candidates is not in the corpus, or gets no finite
    score.
    """

    times_each = False
    packages = MODEL_PACKAGES

    def __init__(self, options: CrossEncoderOptions, context: Context) -> None:
        self.options: CrossEncoderOptions = options
        self._model = Model("CrossEncoder", options, context, owner="the reranker cross_encoder")

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What a user should know about the model."""
        return self._model.notes

    def index(self, corpus: Corpus) -> None:
        """Take the texts that are to be read."""
        self.take_texts(corpus, self.options.fields)

    def described(self) -> dict[str, Any]:
        """Say what model scores, and what it reads."""
        return {
            "reranker": "cross_encoder",
            **self._model.described(),
            "fields": self.options.fields,
            "snapshot": self.snapshot,
        }

    def prepare(self) -> None:
        """Load the model."""
        labels = self._model.loaded().num_labels
        if labels != 1:
            raise InputError(
                f"the model {self._model.name} gives {labels} numbers for a pair of texts; a "
                "reranker needs a model that gives one"
            )

    def scores(self, batch: Sequence[Candidates]) -> list[Sequence[float] | str]:
        """Score the candidates of each query."""
        self.prepare()
        return [self._scored(candidates) for candidates in batch]

    def _scored(self, candidates: Candidates) -> Sequence[float] | str:
        texts = self.read(candidates)
        if isinstance(texts, str):
            return texts
        distinct = sorted({text for text in texts if text.strip()})
        try:
            predicted = self._predicted(candidates.query.text, distinct)
        except Exception as error:
            log.debug("query %s cannot be reranked", candidates.query.query_id, exc_info=True)
            return f"the cross-encoder {self._model.name} failed: {sentence(error)}"
        by_text = dict(zip(distinct, predicted, strict=True))
        lowest = min(predicted, default=0.0) - 1
        scores = [by_text.get(text, lowest) for text in texts]
        for document, score in zip(candidates.documents, scores, strict=True):
            if not math.isfinite(score):
                return (
                    f"the cross-encoder {self._model.name} gave the document "
                    f"{shown(document.doc_id)} the score {score}, which is not a finite number"
                )
        return scores

    def _predicted(self, query: str, texts: list[str]) -> list[float]:
        if not texts:
            return []
        scores = self._model.loaded().predict(
            [(query, text) for text in texts],
            batch_size=self.options.batch,
            show_progress_bar=False,
            activation_fn=import_module("torch").nn.Identity(),
            convert_to_numpy=True,
        )
        return [float(score) for score in scores]
