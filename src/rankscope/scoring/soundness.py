"""Is the question sound? What can only score 0 is refused.

`align` refuses here, so that whatever scores a run does (evaluate, compare, gate, power, explain,
bounds, benchmarks). What means less than it seems is said in `rankscope.scoring.remarks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from rankscope.errors import InputError, InvalidDataError, Place, RankscopeError, shown
from rankscope.runs.mismatch import empty_message, nothing_in_common

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rankscope.findings import Finding, Severity
    from rankscope.measures.language import Measure
    from rankscope.scoring.hits import Hits
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.plans import Wanted

MANY = 10
"""From so many queries on, a run that shares no document with the judgments is refused; a few
queries without a hit are normal."""

NAMED = 3
"""How many ids a remark names."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What should be known beside a run's numbers.

    It becomes a `Finding` when it is looked at: loading pydantic takes longer than a small
    evaluation.
    """

    code: str
    message: str
    count: int = 1
    query_ids: tuple[str, ...] = ()
    """The first queries it is about."""
    severity: Severity | None = None
    """Where it is not the code's own."""

    def finding(self, run: str) -> Finding:
        """Make the finding about a run."""
        from rankscope.collection import qrels_codes  # noqa: F401, PLC0415
        from rankscope.findings import declared  # noqa: PLC0415
        from rankscope.ontology import term_codes  # noqa: F401, PLC0415
        from rankscope.runs import run_codes  # noqa: F401, PLC0415
        from rankscope.scoring import soundness_codes  # noqa: F401, PLC0415

        places = tuple(Place(run, query_id=query_id) for query_id in self.query_ids)
        return declared(self.code).finding(
            self.message, count=self.count, places=places, severity=self.severity, system=run
        )


class KnownCorpus:
    """How many documents there are, and which of the judged ones are not among them."""

    def __init__(self, documents: int, *, depth: int | None = None, gold: int = 0) -> None:
        self.documents = documents
        self.depth = depth
        """How many documents a system was asked for; None if nobody knows."""
        self.gold = gold
        """Relevant pairs."""
        self.outside: list[tuple[str, str]] = []
        """Those whose document is not in the corpus."""
        self.holds_judged = True
        self.holds_any: Callable[[Iterable[str]], bool] = lambda _: True
        """Tells whether one of some documents is in the corpus."""

    @classmethod
    def read(cls, ids: Callable[[], Iterable[str]], judgments: Judgments) -> KnownCorpus:
        """Pass over the ids of a corpus, once."""
        gold = [
            (query_id, doc_id)
            for query_id, documents in judgments.by_query.items()
            for doc_id, grade in documents.items()
            if grade > 0
        ]
        judged = set(chain.from_iterable(judgments.by_query.values()))
        absent = judged.copy()
        documents = 0
        for doc_id in ids():
            documents += 1
            absent.discard(doc_id)
        known = cls(documents, gold=len(gold))
        known.holds_judged = len(absent) < len(judged)
        known.holds_any = lambda doc_ids: not set(doc_ids).isdisjoint(ids())
        known.outside = [pair for pair in gold if pair[1] in absent]
        return known


class Lists(NamedTuple):
    """How the scores of the judged queries go down their lists, as given: numbers of queries."""

    several: int = 0
    """That have two documents or more."""
    rising: int = 0
    """Of these, whose scores rise somewhere."""
    climbing: int = 0
    """Of these, whose scores rise and never fall."""
    level: int = 0
    """Whose scores are all the same."""


# --- what is refused -----------------------------------------------------------------------------


def refuse_broken(
    judgments: Judgments, run: Any, hits: Hits, *, name: str, corpus: KnownCorpus | None = None
) -> None:
    """Raise `InvalidDataError` if no number about this run could mean anything.

    It is empty, or every answer is; no judgment is above 0; run and judgments share no query, or no
    document over `MANY` queries or more: see `no_document_in_common`.
    """
    if judgments.max_grade <= 0:
        _refuse("RS214", "no document is relevant: no grade in the qrels is above 0")
    if judgments.questions.texts:
        _refuse_other_questions(judgments, run, name)
    if len(hits.query):
        return
    query_ids = queries_in(run)
    if not _has_documents(run):
        _refuse("RS101", empty_message(len(query_ids)), name)
    if query_ids.isdisjoint(judgments.query_ids):
        judged = _judged_documents(judgments)
        message = nothing_in_common(
            "query", query_ids, judgments.query_ids, documents_in(run), judged
        )
        _refuse("RS171", message + _by_words(judgments, run, query_ids), name)
    if sum(query_id in query_ids for query_id in judgments.query_ids) >= MANY:
        message = no_document_in_common(judgments, run, corpus)
        if message:
            _refuse("RS172", message, name)


def no_document_in_common(judgments: Judgments, run: Any, corpus: KnownCorpus | None) -> str:
    """Say that no retrieved document is judged for any query, and guess why; '' if not so.

    A run that found documents that are judged for other queries is poor and not broken; so is one
    whose documents are in the same corpus, or ontology, as judged ones.
    """
    judged = _judged_documents(judgments)
    if any(doc_id in judged for doc_id in documents_in(run)):
        return ""
    if judgments.gold is not None and not (judgments.gold.are_spans and any(documents_in(run))):
        return ""  # texts without documents: nothing tells a poor run from a broken one
    if corpus is not None and corpus.holds_judged and corpus.holds_any(documents_in(run)):
        return ""
    ontology = judgments.ontology
    if ontology is not None and any(doc_id in ontology for doc_id in documents_in(run)):
        return ""  # what was retrieved can be near to what is expected
    return nothing_in_common(
        "document", documents_in(run), judged, queries_in(run), judgments.query_ids
    )


def _judged_documents(judgments: Judgments) -> dict[str, None]:
    if judgments.gold is not None:
        return dict.fromkeys(judgments.gold.documents)
    return dict.fromkeys(chain.from_iterable(judgments.by_query.values()))


def _refuse_other_questions(judgments: Judgments, run: Any, name: str) -> None:
    """Refuse a run whose ids belong to questions that have other ids in the judgments.

    Words that the judgments do not have at all are no contradiction: a system may have rewritten
    them.
    """
    judged, asked = judgments.questions, _questions(run)
    ids = {_words(text): query_id for query_id, text in judged.texts.items()}
    wrong = [
        query_id
        for query_id, text in asked.items()
        if query_id in judged.texts
        and _words(text) != _words(judged.texts[query_id])
        and _words(text) in ids
    ]
    if len(wrong) < 2:
        return
    first = wrong[0]
    _refuse(
        "RS173",
        f"{len(wrong):,} ids are those of other questions: query {shown(first)} asks "
        f"{shown(asked[first], 60)} in the run and {shown(judged.texts[first], 60)} in the qrels, "
        f"where the run's question is {shown(ids[_words(asked[first])])}; "
        f"query={judged.column!r} joins them by their words",
        name,
    )


def _questions(run: Any) -> Mapping[str, str]:
    """Return what the queries of a run ask; dicts and runs of pieces have only ids."""
    questions = getattr(run, "questions", None)
    return {} if questions is None else questions.texts


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def _by_words(judgments: Judgments, run: Any, query_ids: Iterable[str]) -> str:
    """Say how to join a side that has ids and words with one that has the words as ids."""
    judged, asked = judgments.questions, getattr(run, "questions", None)
    if not set(judged.texts.values()).isdisjoint(query_ids):
        return f"; the run's ids are the questions of the qrels: query={judged.column!r} joins them"
    if asked is not None and not set(asked.texts.values()).isdisjoint(judgments.query_ids):
        return f"; the ids of the qrels are the run's questions: query={asked.column!r} joins them"
    return ""


def _refuse(code: str, message: str, name: str | None = None) -> NoReturn:
    finding = Remark(code, message).finding(name or "qrels")
    where = "" if name is None else f"run {shown(name)}: "
    raise InvalidDataError(f"{where}{finding.sentence}", [finding])


def queries_in(run: Any) -> Any:
    """Return the queries of a run, as a set in their order."""
    return dict.fromkeys(run if isinstance(run, Mapping) else run.query_ids).keys()


def _has_documents(run: Any) -> bool:
    return any(map(run.get, run)) if isinstance(run, Mapping) else bool(len(run))


def documents_in(run: Any) -> Iterator[str]:
    """Yield the documents of a run, some of them more than once."""
    if isinstance(run, Mapping):
        return (str(doc_id) for query_id in run for doc_id in run[query_id])
    if hasattr(run, "documents"):  # of a file that was scanned
        documents: Iterator[str] = run.documents()
        return documents
    return iter(run.doc_ids)


def refuse_swapped(gold: Any, runs: Any, error: RankscopeError) -> None:
    """Say that judgments and run are swapped, where that is why they could not be read."""
    from rankscope.collection.qrels import as_qrels  # noqa: PLC0415
    from rankscope.files import is_path  # noqa: PLC0415
    from rankscope.runs.table import as_run  # noqa: PLC0415

    [run] = runs if isinstance(runs, list | tuple) and len(runs) == 1 else [runs]
    if not (is_path(gold) and is_path(run)):
        return
    try:
        as_run(gold)
        as_qrels(run)
    except (RankscopeError, OSError):
        return
    raise InputError(
        f"{shown(str(gold))} holds a run and {shown(str(run))} judgments: they are swapped; give "
        "the judgments first"
    ) from error


def refuse_swapped_numbers(judgments: Judgments, run: Any) -> None:
    """Refuse scores in place of grades, beside grades in place of scores."""
    grades = judgments.grade
    if np.count_nonzero(grades % 1) * 2 <= len(grades):
        return
    scores = (
        [score for query_id in run for score in run[query_id].values()]
        if isinstance(run, Mapping)
        else run.scores.to_list()
    )
    if 2 * len(scores) <= len(grades) and all(score in (0, 1, 2, 3, 4) for score in scores):
        raise InputError(
            "most grades are fractions and all scores are whole numbers from 0 to 4: judgments and "
            "run seem to be swapped; give the judgments first"
        )


def refuse_repeat(judgments: Judgments, measures: Iterable[Measure] = ()) -> None:
    """Refuse pairs judged twice in a TREC file, unless a measure reads subtopics there."""
    repeat = judgments.table.repeat if judgments.has_subtopics else None
    if repeat is None or any(m.needs == "subtopics" for m in measures):
        return
    message = "the pair was judged before, with another second column"
    about = {"places": (repeat,), "system": None}
    finding = Remark("RS208", message).finding("qrels").model_copy(update=about)
    raise InvalidDataError(finding.sentence, [finding])


def check_levels(judgments: Judgments, wanted: Wanted) -> tuple[Remark, ...]:
    """Refuse measures to which nothing is relevant; remark on grades that none of them counts.

    Grades between 0 and 1 under a measure's own threshold of 1 are no error: they were given in
    another unit.
    """
    highest = judgments.max_grade
    for name, level in wanted.thresholds.items():
        if 0 < highest < level and level >= 1 and not (highest < 1 and level == 1):
            _refuse(
                "RS214",
                f"no document is relevant to {name}: it counts grades from {level:g} on, and the "
                f"highest is {highest:g}",
            )
    deaf = [name for name, level in wanted.thresholds.items() if level >= 1]
    hears = wanted.has_gains or len(deaf) < len(wanted.thresholds)
    if not deaf or (hears and highest >= 1):
        return ()
    low = int(np.count_nonzero((judgments.judged_grade > 0) & (judgments.judged_grade < 1)))
    if not low:
        return ()
    names = few(deaf)
    if highest < 1 and not hears:
        _refuse(
            "RS214",
            f"no document is relevant to {names}: grades count from 1 on, and the highest is "
            f"{highest:g}",
        )
    if highest < 1:
        fate = f"no grade reaches 1 (the highest is {highest:g}), so nothing is relevant to {names}"
    else:
        are = "judgment has a grade" if low == 1 else "judgments have grades"
        do = "does" if len(deaf) == 1 else "do"
        fate = f"{low:,} {are} between 0 and 1, which {names} {do} not count as relevant"
    return (Remark("RS215", fate, low),)


def few(names: Iterable[str]) -> str:
    """List the first names."""
    listed = list(islice(names, NAMED + 1))
    return ", ".join(listed[:NAMED]) + (", …" if len(listed) > NAMED else "")
