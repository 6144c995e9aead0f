"""Is the question sound, and what should be known beside its answer?

What can only score 0 is refused, by whatever scores a run (evaluate, compare, gate, power, explain,
bounds, benchmarks). Where a mean means less than it seems, `remarks` says so, and scores carry it
into every record and report. Nothing passes over a run again that alignment has not passed over,
unless it found nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from rankscope.errors import InputError, InvalidDataError, Place, RankscopeError, counted, shown
from rankscope.files import is_path
from rankscope.runs.mismatch import (
    empty_message,
    gold_outside_message,
    near_misses,
    nothing_in_common,
    refuse_misread,
)
from rankscope.tables.columns import ALIASES, UNREAD, find_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rankscope.findings import Finding, Severity
    from rankscope.measures.language import Measure
    from rankscope.scoring.align import Aligned
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.plans import Group
    from rankscope.scoring.rules import Profile
    from rankscope.scoring.scans import Hits
    from rankscope.scoring.scoring_options import Scoring
    from rankscope.tables.columns import Reading

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
        from rankscope.collection import qrels_checks  # noqa: F401, PLC0415
        from rankscope.findings import CODES  # noqa: PLC0415
        from rankscope.ontology import term_codes  # noqa: F401, PLC0415
        from rankscope.runs import checks  # noqa: F401, PLC0415
        from rankscope.scoring import soundness_codes  # noqa: F401, PLC0415

        places = tuple(Place(run, query_id=query_id) for query_id in self.query_ids)
        return CODES[self.code].finding(
            self.message, count=self.count, places=places, severity=self.severity, system=run
        )


@dataclass(slots=True)
class KnownCorpus:
    """What is known of the documents that there are, and which judged ones are not among them."""

    depth: int = 0
    """How many documents a system was asked for; 0 if nobody knows."""
    gold: int = 0
    """Relevant pairs."""
    outside: list[tuple[str, str]] = field(default_factory=list)
    """Those whose document is not in the corpus."""
    holds_judged: bool = True
    holds_any: Callable[[Iterable[str]], bool] = lambda _: True
    """Tells whether one of some documents is in the corpus."""

    @classmethod
    def of(cls, scoring: Scoring, judgments: Judgments) -> KnownCorpus:
        """Pass over the ids of a corpus in any form, once."""
        if isinstance(scoring.corpus, cls):
            return scoring.corpus
        from rankscope.runs.validation import passes_over_ids  # noqa: PLC0415

        ids = passes_over_ids(scoring.corpus, scoring.chunking)
        gold = [
            (query_id, doc_id)
            for query_id, documents in judgments.by_query.items()
            for doc_id, grade in documents.items()
            if grade > 0
        ]
        judged = set(chain.from_iterable(judgments.by_query.values()))
        absent = judged.copy()
        for doc_id in ids():
            absent.discard(doc_id)
        return cls(
            gold=len(gold),
            outside=[pair for pair in gold if pair[1] in absent],
            holds_judged=len(absent) < len(judged),
            holds_any=lambda doc_ids: not set(doc_ids).isdisjoint(ids()),
        )


def few(names: Iterable[str]) -> str:
    """List the first names."""
    listed = list(islice(names, NAMED + 1))
    return ", ".join(listed[:NAMED]) + (", …" if len(listed) > NAMED else "")


def _documents_in(run: Any) -> Iterator[str]:
    """Yield the documents of a run, some of them more than once."""
    if isinstance(run, Mapping):
        return (str(doc_id) for query_id in run for doc_id in run[query_id])
    if hasattr(run, "documents"):  # of a file that was scanned
        documents: Iterator[str] = run.documents()
        return documents
    return iter(run.doc_ids)


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
    is_scanned = hasattr(run, "documents")  # TREC lines, which have no columns to take for others
    gold, read = judgments.reading, UNREAD if is_scanned else getattr(run, "reading", UNREAD)
    if gold.doubtful or read.doubtful or (not len(hits.query) and (gold.others or read.others)):
        refuse_misread(gold, read, _judged_documents(judgments), set(_documents_in(run)))
    if len(hits.query):
        return
    query_ids = dict.fromkeys(run if isinstance(run, Mapping) else run.query_ids).keys()
    if not (any(map(run.get, run)) if isinstance(run, Mapping) else len(run)):
        _refuse("RS101", empty_message(len(query_ids)), name)
    if query_ids.isdisjoint(judgments.query_ids):
        judged = _judged_documents(judgments)
        ids = query_ids, judgments.query_ids, _documents_in(run), judged
        _refuse("RS171", nothing_in_common("query", *ids), name)
    if sum(query_id in query_ids for query_id in judgments.query_ids) >= MANY:
        message = _no_document_in_common(judgments, run, corpus)
        if message:
            _refuse("RS172", message, name)


def _refuse(code: str, message: str, name: str | None = None) -> NoReturn:
    finding = Remark(code, message).finding(name or "qrels")
    where = "" if name is None else f"run {shown(name)}: "
    raise InvalidDataError(f"{where}{finding.sentence}", [finding])


def _judged_documents(judgments: Judgments) -> dict[str, None]:
    gold, by_query = judgments.gold, judgments.by_query
    return dict.fromkeys(chain.from_iterable(by_query.values()) if gold is None else gold.documents)


def _no_document_in_common(judgments: Judgments, run: Any, corpus: KnownCorpus | None) -> str:
    """Say that no retrieved document is judged for any query, and guess why; '' if not so.

    A run that found documents that are judged for other queries is poor and not broken; so is one
    whose documents are in the same corpus, or ontology, as judged ones.
    """
    judged = _judged_documents(judgments)
    if any(doc_id in judged for doc_id in _documents_in(run)):
        return ""
    if judgments.gold is not None and not (judgments.gold.are_spans and any(_documents_in(run))):
        return ""  # texts without documents: nothing tells a poor run from a broken one
    if corpus is not None and corpus.holds_judged and corpus.holds_any(_documents_in(run)):
        return ""
    ontology = judgments.ontology
    if ontology is not None and any(doc_id in ontology for doc_id in _documents_in(run)):
        return ""  # what was retrieved can be near to what is expected
    query_ids = run if isinstance(run, Mapping) else run.query_ids
    return nothing_in_common("document", _documents_in(run), judged, query_ids, judgments.query_ids)


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
    shared = asked.keys() & judged.texts.keys()
    wrong = [each for each in asked if each in shared and ids.get(words(asked[each]), each) != each]
    wrong = [each for each in wrong if words(asked[each]) != words(judged.texts[each])]
    if len(wrong) > 1:
        first = wrong[0]
        _refuse(
            "RS173",
            f"{len(wrong):,} ids are those of other questions: query {shown(first)} asks "
            f"{shown(asked[first], 60)} in the run and {shown(judged.texts[first], 60)} in the "
            f"qrels, where the run's question is {shown(ids[words(asked[first])])}; "
            f"query={judged.column!r} joins them by their words",
            name,
        )


def refuse_swapped(gold: Any, runs: Any, error: RankscopeError) -> None:
    """Say that judgments and run are swapped, where that is why they could not be read."""
    from rankscope.collection.qrels import as_qrels  # noqa: PLC0415
    from rankscope.runs.table import as_run  # noqa: PLC0415

    [run] = runs if isinstance(runs, list | tuple) and len(runs) == 1 else [runs]
    if not (is_path(gold) and is_path(run)):
        return
    try:
        is_run = not _has_grades(as_run(gold).reading)
        has_ranks = find_name(as_qrels(run).reading.names, ALIASES["rank"]) is not None
    except (RankscopeError, OSError):
        return
    if is_run and not has_ranks:  # which judgments do not have
        raise InputError(
            f"judgments and run are swapped: {shown(str(gold))} holds a run"
        ) from error


def _has_grades(table: Reading) -> bool:
    """Tell whether a table that was read has no score, and a column that only judgments have."""
    names = tuple(name for name in ALIASES["grade"] if name not in ALIASES["score"])
    return not table.value and find_name(table.names, names) is not None


def refuse_swapped_numbers(judgments: Judgments, run: Any) -> None:
    """Refuse scores in place of grades, beside grades in place of scores."""
    grades = judgments.grade
    if judgments.gold is not None or np.count_nonzero(grades % 1) * 2 <= len(grades):
        return
    scores = (
        [score for query_id in run for score in run[query_id].values()]
        if isinstance(run, Mapping)
        else run.scores.to_list()
    )
    are_grades = 2 * len(scores) <= len(grades) and all(
        score in (0, 1, 2, 3, 4) for score in scores
    )
    if are_grades or _has_grades(getattr(run, "reading", UNREAD)):
        raise InputError(
            "judgments and run seem to be swapped: most grades are fractions, and the run has "
            "grades"
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


def check_levels(judgments: Judgments, group: Group) -> tuple[Remark, ...]:
    """Refuse measures to which nothing is relevant; remark on grades that none of them counts.

    Grades between 0 and 1 under a measure's own threshold of 1 are no error beside a measure that
    counts them: they were given in another unit.
    """
    highest = judgments.max_grade
    deaf = {name: level for name, level in group.thresholds.items() if level >= 1}
    hears = group.has_gains or len(deaf) < len(group.thresholds)
    unmet = [name for name in deaf if deaf[name] > highest > 0 and (deaf[name] > 1 or not hears)]
    if unmet:
        _refuse(
            "RS214",
            f"no document is relevant to {few(unmet)}: grades count from {deaf[unmet[0]]:g} on, "
            f"and the highest is {highest:g}",
        )
    if not deaf or (hears and highest >= 1):
        return ()
    low = int(np.count_nonzero((judgments.judged_grade > 0) & (judgments.judged_grade < 1)))
    are = "judgment has a grade" if low == 1 else "judgments have grades"
    do = "does" if len(deaf) == 1 else "do"
    message = f"{low:,} {are} between 0 and 1, which {few(deaf)} {do} not count as relevant"
    return (Remark("RS215", message, low),) if low else ()


# --- what is remarked ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scene:
    """What remarks are about: one run, aligned by one set of rules, and the measures for these."""

    judgments: Judgments
    run: Any
    aligned: Aligned
    group: Group
    rules: Profile
    corpus: KnownCorpus | None


def remarks(scene: Scene) -> Iterator[Remark]:
    """Yield what should be known beside the numbers of one run."""
    if missing := scene.aligned.missing:
        fate = "count as 0" if scene.rules.queries == "all" else "are left out of the means"
        message = (
            f"{len(missing):,} of {len(scene.judgments.query_ids):,} judged queries are missing "
            f"from the run ({few(map(shown, missing))}); they {fate}"
        )
        yield Remark("RS161", message, len(missing), missing[:NAMED])
    if not len(scene.aligned.hits.query):
        message = _no_document_in_common(scene.judgments, scene.run, scene.corpus)
        message = message or "no retrieved document is judged for its query"
        yield Remark("RS172", message, severity="warning")
    if scene.judgments.gold is None:
        yield from _order(scene)
    yield from _chunks(scene)
    yield from _depth(scene)
    yield from _gold(scene)


def _order(scene: Scene) -> Iterator[Remark]:
    """Scores that rise down the lists, that contradict the lists, or that are all the same."""
    hits, run = scene.aligned.hits, scene.run
    several, rising = (int(np.count_nonzero(each)) for each in (hits.retrieved > 1, hits.rises))
    climbing = int(np.count_nonzero(hits.rises & ~hits.falls))
    if 2 * rising > several:  # else nobody asks whether it is a list, and large runs need not tell
        is_plain = isinstance(run, Mapping)  # in what order a dict of scores was filled is chance
        is_list = not is_plain and getattr(run, "is_list", True)
        queries = counted(several, "query")
        if 2 * climbing > several and (is_list or is_plain):
            share = f"{climbing:,} of {queries}"
            message = f"scores rise down the list, as distances do, in {share}"
            yield Remark("RS114", message, climbing)
        elif is_list:
            message = (
                f"scores and the order of the lists disagree in {rising:,} of {queries}, as after "
                "a rerank that kept old scores; scores decide"
            )
            yield Remark("RS114", message, rising)
    if several and not rising and not hits.falls.any() and scene.rules.ties != "given":
        of = counted(several, "query")
        message = f"all documents of a query have the same score ({of}), so their ids decide"
        yield Remark("RS123", message, several)


def _chunks(scene: Scene) -> Iterator[Remark]:
    """Ids that the rule which leads from chunks to documents does not cover."""
    chunks = getattr(scene.run, "chunks", None)
    if chunks is not None and chunks.is_doubtful:
        ids = f"{counted(chunks.unmatched, 'id')} ({few(map(shown, chunks.unmatched_ids))})"
        yield Remark("RS136", f"{shown(chunks.rule)} does not cover {ids}", chunks.unmatched)


def _depth(scene: Scene) -> Iterator[Remark]:
    """Measures that look deeper than the run."""
    retrieved = scene.aligned.hits.retrieved
    deepest = int(retrieved.max(initial=0))
    depth = deepest if scene.corpus is None else max(scene.corpus.depth, deepest)
    deeper = [name for name, cutoff in scene.group.cutoffs.items() if cutoff > depth]
    if deeper and np.count_nonzero(retrieved == deepest) >= CUT * np.count_nonzero(retrieved):
        look = "looks" if len(deeper) == 1 else "look"
        message = f"{few(deeper)} {look} deeper than the run, which ends at rank {deepest:,}"
        yield Remark("RS133", message, len(deeper))


def _gold(scene: Scene) -> Iterator[Remark]:
    """Gold that one text finds together, that is not in the corpus, or that has another id."""
    count, corpus = scene.aligned.templated, scene.corpus
    if count:
        message = (
            f"{counted(count, 'retrieved passage')} found three gold passages or more at once, as "
            "passages of one template do"
        )
        yield Remark("RS137", message, count)
    if corpus is not None and corpus.outside:
        outside = [doc_id for _, doc_id in corpus.outside]
        queries = dict.fromkeys(query_id for query_id, _ in corpus.outside[:NAMED])
        message = gold_outside_message(outside, corpus.gold)
        yield Remark("RS166", message, len(set(outside)), tuple(queries))
    judgments, run, hits = scene.judgments, scene.run, scene.aligned.hits
    is_relevant = judgments.grade > 0
    hit, wanted = np.count_nonzero(hits.grade > 0), np.count_nonzero(is_relevant)
    is_small = len(is_relevant) <= SMALL and int(hits.retrieved.sum()) <= SMALL
    by_ids = judgments.gold is None and getattr(run, "chunks", None) is None
    if not by_ids or not is_small or not len(hits.query) or 2 * hit > wanted:
        return  # most was found, or looking takes longer than scoring
    retrieved = dict.fromkeys(_documents_in(run))
    relevant = dict.fromkeys(judgments.doc_ids_of(np.flatnonzero(is_relevant)))
    if 2 * sum(doc_id in retrieved for doc_id in relevant) > len(relevant):
        return  # little would be amiss
    for reason, misses in near_misses(retrieved, relevant).items():
        if len(misses) >= max(2, NEARLY * len(relevant)):
            message = (
                f"{len(misses):,} of {counted(len(relevant), 'relevant document')} are in the run "
                f"under another id: {reason}"
            )
            yield Remark("RS167", message, len(misses))
