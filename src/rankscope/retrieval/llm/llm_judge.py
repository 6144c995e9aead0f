"""Judging by a language model: graded relevance by a rubric, in batches, several times over.

A judge of any kind is worth as much as it agrees with people, and with itself. So judging comes
with both: each repeat asks everything anew, and where there are labels of people the model is set
beside them, and beside the best constant answer.

The model is not shown who retrieved a document or where, and gets the documents of a query in an
order that has nothing to do with any ranking. A batch that it does not grade as asked is asked
about document by document; what is then still without a grade is left out, and listed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import polars as pl
from pydantic import Field, model_validator

from rankscope.collection.ratings import Ratings, as_ratings
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.judges import Judges, JudgesConfig, judges
from rankscope.document.views import Shown
from rankscope.errors import InputError, shown
from rankscope.findings import NotApplicable
from rankscope.part import Part, PrivateText
from rankscope.records.origin import ModelUsage
from rankscope.reports.judging.judging_pool import DocumentText, JudgingPool, QueryText
from rankscope.reports.judging.judgment_exports import middle_grade
from rankscope.reports.judging.judgment_log import Pair
from rankscope.retrieval.llm.answer_forms import read_grades
from rankscope.retrieval.llm.chat import Chat
from rankscope.retrieval.llm.llm_options import ChatOptions
from rankscope.retrieval.llm.prompts import (
    Message,
    Prompt,
    document_blocks,
    query_block,
    read_prompt,
)
from rankscope.retrieval.llm.spending import Tokens, estimated
from rankscope.retrieval.options import SpecError, read_options
from rankscope.retrieval.registry import Context
from rankscope.retrieval.waiting import Progress
from rankscope.statistics.settings import Settings

RUBRIC = 3
"""The highest grade of the prompt that comes with rankscope."""

HUMAN = "human"
"""What the labels of people are called beside the model."""

LISTED = 1000
"""So many pairs without a grade are listed."""


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


class LlmJudging(Part, Shown):
    """What a language model judged, how far that can be trusted, and what it took."""

    model: str
    """The model: the rater of the ratings."""
    prompt: str
    """The SHA-256 of the prompt's file."""
    parameters: dict[str, Any]
    """What was sent beside the prompt, and where; no secret."""
    pairs: int
    """Pairs of query and document to judge."""
    repeats: int
    """How often each was judged."""
    ratings: int
    """Grades that were given, over all repeats."""
    grades: dict[str, int]
    """By grade: how often it was given."""
    unjudged: tuple[UnjudgedPair, ...]
    """Pairs without a grade, at most 1,000 of them."""
    unjudged_count: int
    """How many there are, each repeat counted."""
    usage: ModelUsage
    """What asking took."""
    agreement: Judges | None
    """The model beside people, beside the best constant answer, and beside itself; null where
    there is nothing to compare with."""
    agreement_reason: str
    """Why there is no agreement; '' if there is."""


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


class JudgedByLlm(NamedTuple):
    """Ratings by a model, and what is to be known about them."""

    ratings: Ratings
    result: LlmJudging


# --- what is asked -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Batch:
    """Documents of one query that are graded in one request."""

    query_id: str
    query: str
    documents: tuple[tuple[str, str], ...]
    repeat: int

    def single(self) -> list[_Batch]:
        """Return a batch for each document."""
        rows = self.documents
        return [_Batch(self.query_id, self.query, (row,), self.repeat) for row in rows]

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


@dataclass(frozen=True, slots=True)
class _Job:
    """A pool to judge: its pairs that can be judged, those that cannot, and the prompt."""

    options: JudgeOptions
    prompt: Prompt
    pairs: list[Pair]
    textless: list[UnjudgedPair]
    batches: list[_Batch]


def _job(pool: JudgingPool, options: JudgeOptions, repeats: int, folder: Path | None) -> _Job:
    path = None if options.prompt is None else Context(folder=folder).path(options.prompt)
    prompt = read_prompt("judge", path, ("query", "documents", "count", "highest"))
    pairs: list[Pair] = []
    textless = []
    for pair in pool.pairs:
        query, document = pool.queries.get(pair.query_id), pool.documents.get(pair.doc_id)
        if query is None or not query.text.strip():
            reason = "the query has no text"
        elif document is None or not _document_text(document).strip():
            reason = "the document has no text"
        else:
            pairs.append(pair)
            continue
        textless.append(UnjudgedPair(**pair._asdict(), repeat=0, reason=reason))
    if not pairs:
        why = f"of {shown(textless[0].doc_id)} {textless[0].reason}" if textless else "it is empty"
        raise InputError(
            f"{pool.source}: no pair has the texts of its query and document ({why}); give queries "
            "and a corpus that hold them"
        )
    return _Job(options, prompt, pairs, textless, _batches(pairs, pool, options.batch, repeats))


def _batches(pairs: Sequence[Pair], pool: JudgingPool, size: int, repeats: int) -> list[_Batch]:
    """Cut the documents of each query into batches, in an order that no ranking had."""
    by_query: dict[str, list[str]] = {}
    for pair in pairs:
        by_query.setdefault(pair.query_id, []).append(pair.doc_id)
    batches = []
    for repeat in range(1, repeats + 1):
        for query_id, doc_ids in by_query.items():
            shuffled = sorted(doc_ids, key=partial(_digest, query_id))
            texts = [(doc_id, _document_text(pool.documents[doc_id])) for doc_id in shuffled]
            query = _query_text(pool.queries[query_id])
            batches += [
                _Batch(query_id, query, tuple(texts[low : low + size]), repeat)
                for low in range(0, len(texts), size)
            ]
    return batches


def _query_text(query: QueryText) -> str:
    needs = [f"{name.replace('_', ' ')}: {text}" for name, text in query.needs]
    return "\n\n".join([query.text, *needs]) if needs else query.text


def _document_text(document: DocumentText) -> str:
    known = [text for text in (document.title, document.text) if text.strip()]
    return "\n".join(known or [f"{name}: {text}" for name, text in document.fields])


def _digest(*ids: str) -> bytes:
    return hashlib.blake2b("\x00".join(ids).encode("utf-8", "surrogatepass")).digest()


def plan_judging(
    pool: JudgingPool, options: JudgeOptions, *, repeats: int = 1, folder: Path | None = None
) -> JudgingPlan:
    """Say what judging would take, and send nothing."""
    job = _job(pool, options, repeats, folder)
    sent = [batch.messages(job.prompt, options) for batch in job.batches]
    most = sum((estimated(each, options.longest_answer()) for each in sent), Tokens())
    return JudgingPlan(
        model=options.model,
        url=options.url,
        pairs=len(job.pairs),
        without_texts=len(job.textless),
        repeats=repeats,
        requests=len(sent),
        prompt_tokens=most.prompt,
        cost=most.cost(options.price),
        prompt=job.prompt.sha256,
        example="\n\n".join(f"[{message['role']}]\n{message['content']}" for message in sent[0]),
    )


# --- judging -------------------------------------------------------------------------------------


def judge_with_llm(
    pool: JudgingPool,
    llm: JudgeOptions | Mapping[str, Any],
    *,
    repeats: int = 1,
    human: Mapping[Pair, float] | None = None,
    cache: Path | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> JudgedByLlm:
    """Let a language model judge the pairs of a pool, and say how far it can be trusted.

    ``llm`` are the options of the model: url, model, key, batch, … ``repeats`` is how often each
    pair is judged, ``human`` what people say of some of the pairs, ``cache`` the folder in which
    replies are kept, ``folder`` where a relative path to a prompt begins.

    Raises:
        InputError: an option is wrong, no pair has texts, the model cannot be asked, or the budget
            is used up; replies so far are kept.
    """
    options = llm if isinstance(llm, JudgeOptions) else read_options(JudgeOptions, llm)
    job = _job(pool, options, repeats, folder)
    chat = Chat(options, Context(cache=cache), part="the judge llm")
    given: dict[tuple[Pair, int], int] = {}
    left_out: list[UnjudgedPair] = []

    def judge(batch: _Batch) -> None:
        """Grade a batch, if need be document by document; several threads do at the same time."""
        count = len(batch.documents)
        form = partial(read_grades, count=count, highest=options.highest)
        answer = chat.ask(batch.messages(job.prompt, options), form, attempt=batch.repeat)
        if answer.is_unreadable and count > 1:
            chat.fell_back()
            for document in batch.single():
                judge(document)
            return
        for at, (doc_id, _) in enumerate(batch.documents):
            pair = Pair(batch.query_id, doc_id)
            if answer.value is not None:
                given[pair, batch.repeat] = answer.value[at]
            else:
                left_out.append(
                    UnjudgedPair(**pair._asdict(), repeat=batch.repeat, reason=answer.problem)
                )
        if progress is not None:
            progress(len(given) + len(left_out), repeats * len(job.pairs))

    try:
        chat.client.each(judge, job.batches)
    finally:
        chat.client.close()
    if not given:
        raise InputError(
            f"{chat.client.part}: no pair was judged ({left_out[0].reason}); see what is sent with "
            "--dry-run, or ask another model"
        )
    ratings = as_ratings(
        [
            {**pair._asdict(), "rater": options.model, "repeat": repeat, "grade": grade}
            for pair in job.pairs
            for repeat in range(1, repeats + 1)
            if (grade := given.get((pair, repeat))) is not None
        ]
    )
    agreement = _agreement(ratings, options.model, human or {})
    unjudged = [*job.textless, *sorted(left_out, key=lambda row: (row.query_id, row.doc_id))]
    counts = Counter(given.values())
    result = LlmJudging(
        model=options.model,
        prompt=job.prompt.sha256,
        parameters=options.named(),
        pairs=len(pool.pairs),
        repeats=repeats,
        ratings=len(given),
        grades={str(grade): counts[grade] for grade in range(options.highest + 1)},
        unjudged=tuple(unjudged[:LISTED]),
        unjudged_count=len(left_out) + repeats * len(job.textless),
        usage=chat.meter.usage(with_cached=True),
        agreement=None if isinstance(agreement, NotApplicable) else agreement,
        agreement_reason=agreement.reason if isinstance(agreement, NotApplicable) else "",
    )
    return JudgedByLlm(ratings, result)


def _agreement(ratings: Ratings, model: str, human: Mapping[Pair, float]) -> Judges | NotApplicable:
    """Set the model beside the labels of people, and beside itself."""
    frame = ratings.to_polars()
    judged = {Pair(*ids) for ids in frame.select("query_id", "doc_id").iter_rows()}
    name = HUMAN if model != HUMAN else f"{HUMAN} labels"
    rows = [
        {**pair._asdict(), "rater": name, "repeat": 1, "grade": float(grade)}
        for pair, grade in human.items()
        if pair in judged
    ]
    if not rows:
        return judges.answer(JudgesConfig(), Inputs(ratings=ratings, settings=Settings()))
    both = as_ratings(pl.concat([frame, pl.DataFrame(rows, schema=frame.schema)]))
    config = JudgesConfig(judge=model, reference=name)
    return judges.answer(config, Inputs(ratings=both, settings=Settings()))


def median_grades(ratings: Ratings) -> dict[str, dict[str, int]]:
    """Return one grade for each pair: the middle one of its repeats, of two the lower."""
    given: dict[Pair, list[int]] = {}
    for query_id, doc_id, _, _, grade in ratings.to_polars().iter_rows():
        given.setdefault(Pair(query_id, doc_id), []).append(int(grade))
    nested: dict[str, dict[str, int]] = {}
    for pair, grades in given.items():
        nested.setdefault(pair.query_id, {})[pair.doc_id] = middle_grade(grades)
    return nested
