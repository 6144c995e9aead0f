"""Judging by a language model: graded relevance by a rubric, in batches, several times over.

A judge of any kind is worth as much as it agrees with people, and with itself. So judging comes
with both: each repeat asks everything anew, and where there are labels of people the model is set
beside them, and beside the best constant answer.

A batch that the model does not grade as asked is asked about document by document; what is then
still without a grade is left out, and listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from rankscope.collection.ratings import Ratings, as_ratings
from rankscope.diagnosis.analysis import Inputs
from rankscope.diagnosis.judges import Judges, JudgesConfig, judges
from rankscope.document.views import Shown
from rankscope.errors import InputError
from rankscope.findings import NotApplicable
from rankscope.part import Part
from rankscope.records.origin import ModelUsage
from rankscope.reports.judging.judging_pool import JudgingPool
from rankscope.reports.judging.judgment_log import Pair
from rankscope.retrieval.llm.answer_forms import Grades
from rankscope.retrieval.llm.chat import Chat
from rankscope.retrieval.llm.client import NoAnswerError, NoUsableAnswerError
from rankscope.retrieval.llm.judging_batches import (
    Batch,
    JudgeOptions,
    UnjudgedPair,
    batches_of,
    judge_prompt,
    pairs_with_texts,
)
from rankscope.retrieval.llm.prompts import Prompt
from rankscope.retrieval.options import read_options
from rankscope.retrieval.registry import Context
from rankscope.retrieval.waiting import Progress
from rankscope.statistics.settings import Settings

HUMAN = "human"
"""What the labels of people are called beside the model."""

LISTED = 1000
"""So many pairs without a grade are listed."""


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


@dataclass(frozen=True, slots=True)
class JudgedByLlm:
    """Ratings by a model, and what is to be known about them."""

    ratings: Ratings
    result: LlmJudging


@dataclass(slots=True)
class _Round:
    """One round of judging: what was graded so far, by pair and repeat."""

    chat: Chat
    prompt: Prompt
    options: JudgeOptions
    total: int
    progress: Progress | None
    grades: dict[tuple[Pair, int], int] = field(default_factory=dict)
    unjudged: list[UnjudgedPair] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def judge(self, batch: Batch) -> None:
        """Grade a batch, if need be document by document."""
        try:
            grades = self._graded(batch)
        except NoUsableAnswerError as error:
            if len(batch.documents) > 1:
                self.chat.fell_back()
                for document in batch.single():
                    self.judge(document)
                return
            self._leave_out(batch, str(error))
        except NoAnswerError as error:
            self._leave_out(batch, str(error))
        else:
            with self.lock:
                for (doc_id, _), grade in zip(batch.documents, grades, strict=True):
                    self.grades[Pair(batch.query_id, doc_id), batch.repeat] = grade
        self._report()

    def _graded(self, batch: Batch) -> list[int]:
        form = Grades(len(batch.documents), self.options.highest)
        messages = batch.messages(self.prompt, self.options)
        return self.chat.answer(messages, form, attempt=batch.repeat)

    def _leave_out(self, batch: Batch, reason: str) -> None:
        with self.lock:
            self.unjudged += [
                UnjudgedPair(
                    query_id=batch.query_id, doc_id=doc_id, repeat=batch.repeat, reason=reason
                )
                for doc_id, _ in batch.documents
            ]

    def _report(self) -> None:
        if self.progress is not None:
            with self.lock:
                self.progress(len(self.grades) + len(self.unjudged), self.total)


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
    prompt = judge_prompt(options, folder)
    known, textless = pairs_with_texts(pool)
    chat = Chat(options, Context(cache=cache), part="the judge llm")
    judging = _Round(chat, prompt, options, repeats * len(known), progress)
    try:
        chat.client.each(judging.judge, batches_of(known, pool, options.batch, repeats))
    finally:
        chat.client.close()
    if not judging.grades:
        reason = judging.unjudged[0].reason
        raise InputError(
            f"{chat.client.part}: no pair was judged ({reason}); see what is sent with --dry-run, "
            "or ask another model"
        )
    ratings = _ratings(judging.grades, known, options.model, repeats)
    agreement = _agreement(ratings, options.model, human or {})
    unjudged = [*textless, *sorted(judging.unjudged, key=lambda row: (row.query_id, row.doc_id))]
    counts = Counter(judging.grades.values())
    is_judged = isinstance(agreement, Judges)
    result = LlmJudging(
        model=options.model,
        prompt=prompt.sha256,
        parameters=options.named(),
        pairs=len(pool.pairs),
        repeats=repeats,
        ratings=len(judging.grades),
        grades={str(grade): counts[grade] for grade in range(options.highest + 1)},
        unjudged=tuple(unjudged[:LISTED]),
        unjudged_count=len(judging.unjudged) + repeats * len(textless),
        usage=chat.usage(),
        agreement=agreement if isinstance(agreement, Judges) else None,
        agreement_reason="" if is_judged else agreement.reason,  # type: ignore[union-attr]
    )
    return JudgedByLlm(ratings, result)


# --- what comes of it ----------------------------------------------------------------------------


def _ratings(
    grades: Mapping[tuple[Pair, int], int], pairs: Iterable[Pair], rater: str, repeats: int
) -> Ratings:
    """Return the grades as ratings, in the order of the pool; a repeat is one of the same rater."""
    rows = [
        {**pair._asdict(), "rater": rater, "repeat": repeat, "grade": grades[pair, repeat]}
        for pair in pairs
        for repeat in range(1, repeats + 1)
        if (pair, repeat) in grades
    ]
    return as_ratings(rows)


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
        inputs = Inputs(ratings=ratings, settings=Settings())
        return judges.answer(JudgesConfig(), inputs)
    both = as_ratings(pl.concat([frame, pl.DataFrame(rows, schema=frame.schema)]))
    config = JudgesConfig(judge=model, reference=name)
    return judges.answer(config, Inputs(ratings=both, settings=Settings()))


def median_grades(ratings: Ratings) -> dict[str, dict[str, int]]:
    """Return one grade for each pair: the middle one of its repeats, of two the lower."""
    from rankscope.reports.judging.judgment_exports import middle_grade  # noqa: PLC0415

    given: dict[Pair, list[int]] = {}
    for query_id, doc_id, _, _, grade in ratings.to_polars().iter_rows():
        given.setdefault(Pair(query_id, doc_id), []).append(int(grade))
    nested: dict[str, dict[str, int]] = {}
    for pair, grades in given.items():
        nested.setdefault(pair.query_id, {})[pair.doc_id] = middle_grade(grades)
    return nested
