"""Is the question sound, and what should be known beside its answer?

What can only score 0 is refused, by whatever scores a run (evaluate, compare, gate, power, explain,
bounds, benchmarks). Where a mean means less than it seems, `evaluate` collects remarks, and its
scores carry them into every record and report. Nothing passes over a run again that alignment has
not passed over, unless it found nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from rankscope.errors import InputError, InvalidDataError, Place, RankscopeError, counted, shown
from rankscope.runs.mismatch import (
    empty_message,
    gold_outside_message,
    near_misses,
    nothing_in_common,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rankscope.findings import Finding, Severity
    from rankscope.measures.language import Measure
    from rankscope.runs.collapsing import Chunks
    from rankscope.scoring.align import Aligned, Hits, Lists
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.plans import Wanted
    from rankscope.scoring.rules import Profile

MANY = 10
"""From so many queries on, a run that shares no document with the judgments is refused; a few
queries without a hit are normal."""

NAMED = 3
"""How many ids a remark names."""

SMALL = 5_000
"""Lines of a run and judgments up to which ids that are nearly the same are looked for."""

NEARLY = 0.1
"""From this share of the relevant documents on it is said."""

CUT = 0.25
"""A run is cut at a depth if this share of its answers has it; others end where nothing was left
to be found."""


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
        from rankscope.runs import checks  # noqa: F401, PLC0415
        from rankscope.scoring import soundness_codes  # noqa: F401, PLC0415

        places = tuple(Place(run, query_id=query_id) for query_id in self.query_ids)
        return declared(self.code).finding(
            self.message, count=self.count, places=places, severity=self.severity, system=run
        )


@dataclass(slots=True)
class KnownCorpus:
    """How many documents there are, and which of the judged ones are not among them."""

    documents: int
    depth: int | None = None
    """How many documents a system was asked for; None if nobody knows."""
    gold: int = 0
    """Relevant pairs."""
    outside: list[tuple[str, str]] = field(default_factory=list)
    """Those whose document is not in the corpus."""
    holds_judged: bool = True
    holds_any: Callable[[Iterable[str]], bool] = lambda _: True
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
        return cls(
            documents,
            gold=len(gold),
            outside=[pair for pair in gold if pair[1] in absent],
            holds_judged=len(absent) < len(judged),
            holds_any=lambda doc_ids: not set(doc_ids).isdisjoint(ids()),
        )


def queries_in(run: Any) -> Any:
    """Return the queries of a run, as a set in their order."""
    return dict.fromkeys(run if isinstance(run, Mapping) else run.query_ids).keys()


def documents_in(run: Any) -> Iterator[str]:
    """Yield the documents of a run, some of them more than once."""
    if isinstance(run, Mapping):
        return (str(doc_id) for query_id in run for doc_id in run[query_id])
    if hasattr(run, "documents"):  # of a file that was scanned
        documents: Iterator[str] = run.documents()
        return documents
    return iter(run.doc_ids)


def few(names: Iterable[str]) -> str:
    """List the first names."""
    listed = list(islice(names, NAMED + 1))
    return ", ".join(listed[:NAMED]) + (", …" if len(listed) > NAMED else "")


# --- what is refused -----------------------------------------------------------------------------


def refuse_broken(
    judgments: Judgments, run: Any, hits: Hits, *, name: str, corpus: KnownCorpus | None = None
) -> None:
    """Raise `InvalidDataError` if no number about this run could mean anything.

    It is empty, or every answer is; no judgment is above 0; run and judgments share no query, or no
    document over `MANY` queries or more: see `_no_document_in_common`.
    """
    if judgments.max_grade <= 0:
        _refuse("RS214", "no document is relevant: no grade in the qrels is above 0")
    if judgments.questions.texts:
        _refuse_other_questions(judgments, run, name)
    if len(hits.query):
        return
    query_ids = queries_in(run)
    if not (any(map(run.get, run)) if isinstance(run, Mapping) else len(run)):
        _refuse("RS101", empty_message(len(query_ids)), name)
    if query_ids.isdisjoint(judgments.query_ids):
        message = nothing_in_common(
            "query",
            query_ids,
            judgments.query_ids,
            documents_in(run),
            _judged_documents(judgments),
        )
        _refuse("RS171", message, name)
    if sum(query_id in query_ids for query_id in judgments.query_ids) >= MANY:
        message = _no_document_in_common(judgments, run, corpus)
        if message:
            _refuse("RS172", message, name)


def _refuse(code: str, message: str, name: str | None = None) -> NoReturn:
    finding = Remark(code, message).finding(name or "qrels")
    where = "" if name is None else f"run {shown(name)}: "
    raise InvalidDataError(f"{where}{finding.sentence}", [finding])


def _judged_documents(judgments: Judgments) -> dict[str, None]:
    if judgments.gold is not None:
        return dict.fromkeys(judgments.gold.documents)
    return dict.fromkeys(chain.from_iterable(judgments.by_query.values()))


def _no_document_in_common(judgments: Judgments, run: Any, corpus: KnownCorpus | None) -> str:
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


def _refuse_other_questions(judgments: Judgments, run: Any, name: str) -> None:
    """Refuse a run whose ids belong to questions that have other ids in the judgments.

    Words that the judgments do not have at all are no contradiction: a system may have rewritten
    them.
    """

    def words(text: str) -> str:
        return " ".join(text.casefold().split())

    judged, questions = judgments.questions, getattr(run, "questions", None)
    asked = {} if questions is None else questions.texts
    ids = {words(text): query_id for query_id, text in judged.texts.items()}
    wrong = [
        query_id
        for query_id, text in asked.items()
        if query_id in judged.texts
        and words(text) != words(judged.texts[query_id])
        and words(text) in ids
    ]
    if len(wrong) < 2:
        return
    first = wrong[0]
    _refuse(
        "RS173",
        f"{len(wrong):,} ids are those of other questions: query {shown(first)} asks "
        f"{shown(asked[first], 60)} in the run and {shown(judged.texts[first], 60)} in the qrels, "
        f"where the run's question is {shown(ids[words(asked[first])])}; "
        f"query={judged.column!r} joins them by their words",
        name,
    )


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
    if repeat is None or any(measure.needs == "subtopics" for measure in measures):
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


# --- what is remarked ----------------------------------------------------------------------------


def remarks(
    judgments: Judgments,
    run: Any,
    aligned: Aligned,
    wanted: Wanted,
    rules: Profile,
    *,
    corpus: KnownCorpus | None = None,
) -> Iterator[Remark]:
    """Yield what should be known beside the numbers of one run."""
    hits, missing = aligned.hits, aligned.missing
    chunks: Chunks | None = getattr(run, "chunks", None)
    if missing:
        fate = "they count as 0" if rules.queries == "all" else "they are left out of the means"
        yield Remark(
            "RS161",
            f"{len(missing):,} of {len(judgments.query_ids):,} judged queries are missing from the "
            f"run ({few(map(shown, missing))}); {fate}",
            len(missing),
            tuple(missing[:NAMED]),
        )
    if not len(hits.query):
        message = _no_document_in_common(judgments, run, corpus)
        message = message or "no retrieved document is judged for its query"
        yield Remark("RS172", message, severity="warning")
    yield from _about_order(run, hits.lists, rules.ties)
    if chunks is not None:
        yield from _about_chunks(chunks, wanted, corpus)
    if chunks is None or chunks.chunks == chunks.documents:
        yield from _about_depth(hits, wanted, corpus)
    if aligned.templated:
        yield Remark(
            "RS137",
            f"{counted(aligned.templated, 'retrieved passage')} found three gold passages or more "
            "at once, as passages of one template do",
            aligned.templated,
        )
    if corpus is not None and corpus.outside:
        outside = [doc_id for _, doc_id in corpus.outside]
        yield Remark(
            "RS166",
            gold_outside_message(outside, corpus.gold),
            len(set(outside)),
            tuple(dict.fromkeys(query_id for query_id, _ in corpus.outside[:NAMED])),
        )
    if chunks is None and len(hits.query) and judgments.gold is None:
        yield from _nearly_found(judgments, run, hits)


def _about_order(run: Any, lists: Lists, ties: str) -> Iterator[Remark]:
    def of_all(count: int) -> str:
        return f"{count:,} of {counted(lists.several, 'query')}"

    is_plain = isinstance(run, Mapping)  # {document: score}: in what order it was filled is chance
    rising = 2 * lists.rising > lists.several  # else nobody asks, and large runs need not tell
    is_list = rising and not is_plain and getattr(run, "is_list", True)
    if 2 * lists.climbing > lists.several and (is_list or is_plain):
        message = f"scores rise down the list, as distances do, in {of_all(lists.climbing)}"
        yield Remark("RS114", message, lists.climbing)
    elif is_list:
        message = (
            f"scores and the order of the lists disagree in {of_all(lists.rising)}, as after"
            " a rerank that kept old scores; scores decide"
        )
        yield Remark("RS114", message, lists.rising)
    if lists.several and lists.level == lists.several and ties != "given":
        yield Remark(
            "RS123",
            f"all documents of a query have the same score ({counted(lists.several, 'query')}), so "
            "their ids decide the order",
            lists.several,
        )


def _about_depth(hits: Hits, wanted: Wanted, corpus: KnownCorpus | None) -> Iterator[Remark]:
    """Say which measures look deeper than the run, or at every document there is."""
    deepest = int(hits.retrieved.max(initial=0))
    if corpus is not None:
        size = corpus.documents
        trivial = [name for name, k in wanted.cut.items() if k >= size and name in wanted.finds_all]
        if trivial:
            verb = "looks" if len(trivial) == 1 else "look"
            yield Remark(
                "RS134",
                f"{few(trivial)} {verb} at all of the {counted(size, 'document')} there are: "
                "whatever returns them in any order has 1",
                len(trivial),
            )
        if deepest >= size:
            return
    asked = deepest if corpus is None or corpus.depth is None else max(corpus.depth, deepest)
    deeper = [name for name, cutoff in wanted.cut.items() if cutoff > asked]
    if not deeper:
        return
    answered = hits.retrieved[hits.retrieved > 0]
    if np.count_nonzero(answered == deepest) >= CUT * len(answered):
        verb = "looks" if len(deeper) == 1 else "look"
        yield Remark(
            "RS133",
            f"{few(deeper)} {verb} deeper than the run, which ends at rank {deepest:,}",
            len(deeper),
        )


def _about_chunks(chunks: Chunks, wanted: Wanted, corpus: KnownCorpus | None) -> Iterator[Remark]:
    """Say where a measure looks at more documents than the chunks of a query belong to."""
    if chunks.is_doubtful:
        more = ", …" if chunks.unmatched > len(chunks.unmatched_ids) else ""
        names = f"{', '.join(map(shown, chunks.unmatched_ids))}{more}"
        fate = "counts as a document" if chunks.unmatched == 1 else "count as documents"
        yield Remark(
            "RS136",
            f"{shown(chunks.rule)} says nothing about {counted(chunks.unmatched, 'id')} ({names}), "
            f"which {fate}",
            chunks.unmatched,
        )
    if chunks.chunks == chunks.documents:
        return
    most = np.inf if corpus is None else corpus.documents
    deeper = [name for name, cutoff in wanted.cut.items() if chunks.fewest < cutoff <= most]
    if deeper:
        verb = "looks" if len(deeper) == 1 else "look"
        yield Remark(
            "RS135",
            f"{few(deeper)} {verb} at more documents than remain: the "
            f"{counted(chunks.depth, 'chunk')} of a query are of as few as "
            f"{counted(chunks.fewest, 'document')}",
            len(deeper),
        )


def _nearly_found(judgments: Judgments, run: Any, hits: Hits) -> Iterator[Remark]:
    """Say which gold the run has under ids that are nearly the same, if that is much of it."""
    pairs = int(np.count_nonzero(judgments.judged_grade > 0))
    if 2 * int(np.count_nonzero(hits.grade > 0)) > pairs or len(judgments.judged_grade) > SMALL:
        return  # most was found, or looking takes longer than scoring
    lines = sum(map(len, map(run.__getitem__, run))) if isinstance(run, Mapping) else len(run)
    if lines > SMALL:
        return
    retrieved = dict.fromkeys(documents_in(run))
    relevant = judgments.relevant_ids
    if 2 * sum(doc_id in retrieved for doc_id in relevant) > len(relevant):
        return  # little would be amiss
    for reason, misses in near_misses(retrieved, relevant).items():
        if len(misses) >= max(2, NEARLY * len(relevant)):
            yield Remark(
                "RS167",
                f"{len(misses):,} of {counted(len(relevant), 'relevant document')} are in the run "
                f"under another id: {reason}",
                len(misses),
            )
