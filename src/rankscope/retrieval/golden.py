"""A retriever against a golden set: every question is asked, its answer scored, failures listed."""

from __future__ import annotations

import asyncio
import inspect
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from rankscope.collection.queries import QUERIES, Queries, read_queries
from rankscope.errors import InputError, RankscopeError, counted, shown
from rankscope.files import is_path, read_bytes, source_name, suffix_of
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query, queries_of
from rankscope.retrieval.python import asking_asynchronously
from rankscope.retrieval.registry import build_system
from rankscope.scoring.evaluate import score
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.scored_runs import Scores
from rankscope.scoring.scoring_options import Scoring, ScoringOptions
from rankscope.tables.cases import holds_cases
from rankscope.tables.columns import Columns, find_name, id_text
from rankscope.tables.jsontext import read_json, read_json_lines

if TYPE_CHECKING:
    from rankscope.measures.language import Measure
    from rankscope.runs.table import Run
    from rankscope.scoring.judgments import Judgments

__all__ = ["RetrieverScores", "evaluate_retriever", "evaluate_retriever_async"]

Measures: TypeAlias = "str | Measure | Iterable[str | Measure] | None"

_JSON = (".json", ".jsonl")


@dataclass(frozen=True, slots=True)
class FailingQuestion:
    """A question without a relevant document among the first k."""

    query_id: str
    text: str
    expected: tuple[str, ...]
    """The documents that would have been right."""
    retrieved: tuple[str, ...]
    """What was retrieved instead, best first."""
    error: str = ""
    """Why there is no answer, in one sentence; '' if there is one."""


class RetrieverScores(Scores):
    """Scores of a retriever that was asked, with its answers and the questions that fail."""

    view_in = "rankscope.reports.scores"

    answers: Run
    """What the retriever answered."""
    k: int
    """How many documents were asked for."""
    texts: dict[str, str]
    """The questions by id."""
    errors: dict[str, str]
    """By question, why the retriever gave no answer; such a question counts as 0."""
    notes: tuple[str, ...]
    """What is odd about the answers, such as scores that rise down the lists."""

    @cached_property
    def failing(self) -> tuple[FailingQuestion, ...]:
        """The questions for which nothing relevant is among the first k."""
        questions = []
        for query_id, grades in self.judgments.by_query.items():
            expected = tuple(doc_id for doc_id, grade in grades.items() if grade > 0)
            retrieved = tuple(self.answers[query_id]) if query_id in self.answers else ()
            if expected and not set(expected).intersection(retrieved):
                error = self.errors.get(query_id, "")
                text = self.texts[query_id]
                questions.append(FailingQuestion(query_id, text, expected, retrieved, error))
        return tuple(questions)


def evaluate_retriever(  # type: ignore[misc]  # its queries are texts, not a rule
    retriever: Any,
    golden: Any,
    k: int = 10,
    *,
    measures: Measures = None,
    queries: Any = None,
    id_field: str | None = None,
    **options: Unpack[ScoringOptions],
) -> RetrieverScores:
    """Ask a retriever the questions of a golden set, and score its first k documents.

    ``retriever`` is a function from a question to ids, (id, score) pairs or records, best first
    (told k if it takes ``k``, ``top_k``, ``depth`` or ``limit``), a retriever of LangChain,
    LlamaIndex or Haystack, or a `System`. ``golden`` is ``{question: ids}``, a list of records with
    the question and its ``expected_ids``, a file of one of these, a folder of case files, or qrels
    with ``queries``.
    ``measures`` are hit rate, RR, nDCG and recall at k, if none are given. ``id_field`` is where
    documents and records have their id, if it is not a known name. All other options are those of
    `rankscope.evaluate`: where chunks are retrieved and documents expected, ``doc_id_from`` says
    which document a chunk is of; where ids are terms of an ``ontology``, nearness counts too;
    ``language`` takes the cases of one language, or of ``"all"``.

    A question on which the retriever fails counts as 0, and its error is kept. One that fails on
    all of them is an `InputError`.

    >>> answers = {"leek soup?": ["d1", "d7"], "apple pie?": ["d3"]}
    >>> golden = {"leek soup?": ["d7"], "apple pie?": ["d2"]}
    >>> scores = evaluate_retriever(answers.get, golden, k=5)
    >>> scores["hit_rate@5"], [question.text for question in scores.failing]
    (0.5, ['apple pie?'])
    """
    if inspect.iscoroutinefunction(retriever):
        raise InputError("the retriever is asynchronous; await evaluate_retriever_async(…) instead")
    return _Golden(golden, queries, options).scores(retriever, k, measures, id_field)


async def evaluate_retriever_async(  # type: ignore[misc]  # as above
    retriever: Any,
    golden: Any,
    k: int = 10,
    *,
    concurrency: int = 8,
    measures: Measures = None,
    queries: Any = None,
    id_field: str | None = None,
    **options: Unpack[ScoringOptions],
) -> RetrieverScores:
    """Do as `evaluate_retriever` with an asynchronous retriever, several questions at a time.

    ``retriever`` is a function whose answer is awaited, or has ``ainvoke`` (LangChain),
    ``aretrieve`` (LlamaIndex) or ``run_async`` (Haystack).
    """
    if concurrency < 1:
        raise InputError(f"concurrency must be at least 1, not {concurrency}")
    gold = _Golden(golden, queries, options)
    ask = asking_asynchronously(retriever)
    free = asyncio.Semaphore(concurrency)
    outcomes: dict[str, Any] = {}

    async def answer(question: Query) -> None:
        async with free:
            try:
                outcomes[question.query_id] = await ask(question, k)
            except Exception as error:  # of one question
                outcomes[question.query_id] = error

    await asyncio.gather(*map(answer, gold.questions))

    def replay(question: Query) -> Any:
        outcome = outcomes[question.query_id]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return gold.scores(replay, k, measures, id_field)


class _Golden:
    """A golden set, read once: what is relevant, what to ask, and how to score."""

    def __init__(self, golden: Any, queries: Any, options: Any) -> None:
        scoring = Scoring.of("evaluate_retriever", options, without=("queries", "executor"))
        golden = _loaded(golden)
        self.judgments = as_judgments(golden, scoring)
        self.scoring = replace(scoring, columns=Columns())
        if not self.judgments.query_ids:
            raise InputError(
                "the golden set is empty; give questions with the documents they expect"
            )
        self.questions = _questions(golden, self.judgments, queries)

    def scores(
        self, retriever: Any, k: int, measures: Measures, id_field: str | None
    ) -> RetrieverScores:
        """Ask the questions, and score what is answered."""
        system = build_system({"python": {"function": retriever, "id_field": id_field}})
        try:
            fetched = fetch(system, self.questions, depth=k, retries=0, name="retriever")
        finally:
            system.close()
        if len(fetched.failures) == len(self.questions):
            query_id, error = next(iter(fetched.failures.items()))
            raise InputError(
                f"the retriever failed on {counted(len(self.questions), 'question')}, "
                f"{shown(query_id)} first: {error}"
            )
        for note in fetched.notes:
            warnings.warn(f"retriever: {note}", stacklevel=3)
        wanted = measures or [f"Success@{k}", f"RR@{k}", f"nDCG@{k}", f"R@{k}"]
        scored = score(self.judgments, fetched.run, wanted, self.scoring)
        scores = RetrieverScores.__new__(RetrieverScores)
        vars(scores).update(vars(scored.scores))
        [scores.answers] = scored.runs.values()
        scores.k, scores.notes, scores.errors = k, fetched.notes, dict(fetched.failures)
        scores.texts = {question.query_id: question.text for question in self.questions}
        return scores


def texts_in(golden: Any) -> dict[str, str]:
    """Return the questions of a golden set by id; none if it holds ids and grades only."""
    try:
        records = _loaded(golden)
        if holds_cases(records):
            return dict(Queries(records).items())
        judgments = as_judgments(records, Scoring(language="all"))
        if judgments.questions.texts:
            return dict(judgments.questions.texts)
        if is_path(records) and (os.path.isdir(records) or suffix_of(records) in _JSON):
            return dict(read_queries(records).items())
        if not isinstance(records, list) or not all(isinstance(item, dict) for item in records):
            return {}
        known = _in_records(records, judgments)
    except RankscopeError:
        return {}
    return {question.query_id: question.text for question in known}


def _questions(golden: Any, judgments: Judgments, queries: Any) -> list[Query]:
    """Return what to ask, for each judged query."""
    if queries is not None:
        known = queries_of(read_queries(queries) if is_path(queries) else queries)
    elif is_path(golden):
        known = queries_of(read_queries(golden))
    elif holds_cases(golden):
        known = queries_of(Queries(golden))
    elif isinstance(golden, Mapping):
        known = [Query(query_id, query_id) for query_id in judgments.query_ids]
    elif isinstance(golden, list | tuple) and all(isinstance(item, Mapping) for item in golden):
        known = _in_records(golden, judgments)
    else:
        raise InputError("the golden set has no texts to ask; give them as queries={id: text}")
    texts = judgments.questions.texts  # of a table in an object, whose rows have ids and words
    by_id = {
        query.query_id: replace(query, text=texts.get(query.query_id, query.text))
        if query.text == query.query_id
        else query
        for query in known
    }
    missing = next((name for name in judgments.query_ids if name not in by_id), None)
    if missing is not None:
        raise InputError(f"query {shown(missing)} is judged and has no text; give it in queries")
    return [by_id[query_id] for query_id in judgments.query_ids]


def _loaded(golden: Any) -> Any:
    """Return the records of a JSON file, or of JSON lines; a file of cases stays as it is."""
    suffix = Path(os.fspath(golden)).suffix if is_path(golden) else ""
    if suffix not in _JSON or os.path.isdir(golden):
        return golden
    content, source = read_bytes(golden), source_name(golden)
    if suffix == ".json":
        records: Any = read_json(content, source=source)
    else:
        numbered = read_json_lines(content.splitlines(), source=source)
        records = [record for _, record in numbered]
    return golden if holds_cases(records) else records  # the folder may tell a case's language


def _in_records(records: Iterable[Mapping[str, Any]], judgments: Judgments) -> list[Query]:
    """Return the questions of records; one without an id is known by its text."""
    judged = set(judgments.query_ids)
    questions: dict[str, Query] = {}
    for place, record in enumerate(records, start=1):
        id_name, text_name = (
            find_name(record, names) for names in (QUERIES.id_names, QUERIES.text_names)
        )
        text = record[text_name] if text_name is not None else None
        if not isinstance(text, str):
            raise InputError(
                f"item {place}: no question among the fields {shown(', '.join(map(str, record)))}; "
                "name one of them query or question"
            )
        query_id = text if id_name is None or text in judged else id_text(record[id_name])
        questions[query_id] = Query(query_id, text)
    return list(questions.values())
