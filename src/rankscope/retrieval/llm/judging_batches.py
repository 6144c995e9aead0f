"""What a model that judges is asked: batches of documents of one query, as messages.

The model is not shown who retrieved a document or where, and gets the documents of a query in an
order that has nothing to do with any ranking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from rankscope.document.views import Shown
from rankscope.errors import InputError, shown
from rankscope.part import Part, PrivateText
from rankscope.reports.judging.judging_pool import DocumentText, JudgingPool, QueryText
from rankscope.reports.judging.judgment_log import Pair
from rankscope.retrieval.llm.llm_options import ChatOptions
from rankscope.retrieval.llm.prompts import (
    Message,
    Prompt,
    document_blocks,
    query_block,
    read_prompt,
)
from rankscope.retrieval.llm.spending import Tokens, estimated
from rankscope.retrieval.options import SpecError
from rankscope.retrieval.registry import Context

RUBRIC = 3
"""The highest grade of the prompt that comes with rankscope."""


class JudgeOptions(ChatOptions):
    """A model that judges, and how."""

    batch: int = Field(default=10, ge=1, le=100)
    """How many documents of a query are graded in one request."""
    highest: int = Field(default=RUBRIC, ge=1, le=10)
    """The highest grade; with another one than 3, give a prompt that says what grades mean."""

    @model_validator(mode="after")
    def _grades_are_explained(self) -> Self:
        if self.highest != RUBRIC and self.prompt is None:
            raise SpecError(
                f"the prompt explains the grades 0 to {RUBRIC}, and highest is {self.highest}; "
                "give a prompt of yours that says what the grades mean"
            )
        return self


class UnjudgedPair(Part):
    """A pair without a grade."""

    query_id: str
    """The query."""
    doc_id: str
    """The document."""
    repeat: int
    """In which repeat; 0: in all."""
    reason: str
    """Why."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents of one query that are graded in one request."""

    query_id: str
    query: str
    documents: tuple[tuple[str, str], ...]
    repeat: int

    def single(self) -> list[Batch]:
        """Return a batch for each document."""
        return [
            Batch(self.query_id, self.query, (document,), self.repeat)
            for document in self.documents
        ]

    def messages(self, prompt: Prompt, options: JudgeOptions) -> list[Message]:
        """Return what is sent."""
        texts = [text for _, text in self.documents]
        return prompt.filled(
            {
                "query": query_block(self.query),
                "documents": document_blocks(texts, options.characters),
                "count": str(len(texts)),
                "highest": str(options.highest),
            }
        )


def judge_prompt(options: JudgeOptions, folder: Path | None) -> Prompt:
    """Read the prompt that documents are judged by; a relative path begins in the folder."""
    path = None if options.prompt is None else Context(folder=folder).path(options.prompt)
    return read_prompt("judge", path, ("query", "documents", "count", "highest"))


def _query_text(asked: QueryText) -> str:
    needs = [f"{name.replace('_', ' ')}: {text}" for name, text in asked.needs]
    return "\n\n".join([asked.text, *needs]) if needs else asked.text


def _document_text(document: DocumentText) -> str:
    known = [text for text in (document.title, document.text) if text.strip()]
    return "\n".join(known or [f"{name}: {text}" for name, text in document.fields])


def pairs_with_texts(pool: JudgingPool) -> tuple[list[Pair], list[UnjudgedPair]]:
    """Return the pairs that can be judged, and those of which a text is missing."""
    known, textless = [], []
    for pair in pool.pairs:
        asked, document = pool.queries.get(pair.query_id), pool.documents.get(pair.doc_id)
        if asked is None or not asked.text.strip():
            reason = "the query has no text"
        elif document is None or not _document_text(document).strip():
            reason = "the document has no text"
        else:
            known.append(pair)
            continue
        textless.append(
            UnjudgedPair(query_id=pair.query_id, doc_id=pair.doc_id, repeat=0, reason=reason)
        )
    if not known:
        example = textless[0] if textless else None
        why = "it is empty" if example is None else f"of {shown(example.doc_id)} {example.reason}"
        raise InputError(
            f"{pool.source}: no pair has the texts of its query and document ({why}); give queries "
            "and a corpus that hold them"
        )
    return known, textless


def batches_of(pairs: Sequence[Pair], pool: JudgingPool, size: int, repeats: int) -> list[Batch]:
    """Cut the documents of each query into batches, in an order that no ranking had."""
    by_query: dict[str, list[str]] = {}
    for pair in pairs:
        by_query.setdefault(pair.query_id, []).append(pair.doc_id)
    batches = []
    for repeat in range(1, repeats + 1):
        for query_id, doc_ids in by_query.items():
            shuffled = sorted(doc_ids, key=lambda doc_id: _digest(query_id, doc_id))
            texts = [(doc_id, _document_text(pool.documents[doc_id])) for doc_id in shuffled]
            query = _query_text(pool.queries[query_id])
            batches += [
                Batch(query_id, query, tuple(texts[low : low + size]), repeat)
                for low in range(0, len(texts), size)
            ]
    return batches


def _digest(*ids: str) -> bytes:
    return hashlib.blake2b("\x00".join(ids).encode("utf-8", "surrogatepass")).digest()


class JudgingPlan(Part, Shown):
    """What judging would take; nothing was sent."""

    model: str
    """The model that would be asked."""
    url: str
    """Where texts would be sent."""
    pairs: int
    """Pairs with texts, each judged in every repeat."""
    without_texts: int
    """Pairs that cannot be judged, as a text is missing."""
    repeats: int
    """How often each would be judged."""
    requests: int
    """Requests, if none is repeated and no reply is kept from before."""
    prompt_tokens: int
    """About how many tokens would be sent at most: one for every three characters, and for every
    two bytes of letters that are not ASCII."""
    cost: float | None
    """About what these would cost at most, with the longest answers allowed; null: no price was
    stated."""
    prompt: str
    """The SHA-256 of the prompt's file."""
    example: PrivateText
    """The first request, as text."""


def plan_judging(
    pool: JudgingPool, options: JudgeOptions, *, repeats: int = 1, folder: Path | None = None
) -> JudgingPlan:
    """Say what judging would take, and send nothing."""
    prompt = judge_prompt(options, folder)
    known, textless = pairs_with_texts(pool)
    sent = [
        batch.messages(prompt, options) for batch in batches_of(known, pool, options.batch, repeats)
    ]
    most = Tokens()
    for messages in sent:
        most += estimated(messages, options.longest_answer())
    return JudgingPlan(
        model=options.model,
        url=options.url,
        pairs=len(known),
        without_texts=len(textless),
        repeats=repeats,
        requests=len(sent),
        prompt_tokens=most.prompt,
        cost=most.cost(options.price),
        prompt=prompt.sha256,
        example="\n\n".join(f"[{message['role']}]\n{message['content']}" for message in sent[0]),
    )
