"""Is the question sound? What can only score 0 is refused; what means less than it seems is said.

The one place for both: `align` refuses here, so that whatever scores a run does (evaluate, compare,
gate, power, why, bounds, benchmarks), and `evaluate` collects remarks here, which its scores carry
into every record and report. Nothing passes over a run again that alignment has not passed over,
unless it found nothing.

A remark is light: it becomes a `Finding` when it is looked at, because loading pydantic takes
longer than a small evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from rankscope.errors import InvalidDataError, Place, counted, shown
from rankscope.runs.mismatch import (
    empty_message,
    gold_outside_message,
    guess_mismatch,
    near_misses,
    nothing_in_common,
)
from rankscope.tables.columns import NO_QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rankscope.findings import Finding, Severity
    from rankscope.measures.language import Measure
    from rankscope.runs.collapsing import Chunks
    from rankscope.scoring.hits import Hits
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.rules import QueryPolicy
    from rankscope.tables.columns import Questions

SMALL = 5_000
"""Lines of a run and judgments up to which ids that are nearly the same are looked for."""

NEARLY = 0.1
"""From this share of the relevant documents on it is said."""

NAMED = 3
"""How many ids a remark names."""

CUT = 0.25
"""A run is cut at a depth if this share of its answers has it; others end where nothing was left
to be found."""

FINDS_ALL = frozenset({"R", "R_cap", "Success"})
"""Measures that are 1 whatever the order, once every document is looked at."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What should be known beside a run's numbers: a finding that is not made yet."""

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
        from rankscope.runs import run_codes  # noqa: F401, PLC0415

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


# --- what is refused -----------------------------------------------------------------------------


def refuse_broken(
    judgments: Judgments, run: Any, hits: Hits, *, name: str, corpus: KnownCorpus | None = None
) -> None:
    """Raise `InvalidDataError` if no number about this run could mean anything.

    It is empty, or every answer is; no judgment is above 0; run and qrels share no query, or no
    document: none that was retrieved for any query is judged for any. A run that found nothing for
    the right queries, but documents that are judged for others, is poor and not broken; so is one
    whose documents are in the same corpus as judged ones.
    """
    if judgments.max_grade <= 0:
        _refuse("RS214", "no document is relevant: no grade in the qrels is above 0")
    _refuse_other_questions(judgments.questions, run, name)
    if len(hits.query):
        return
    query_ids = _query_ids(run)
    if not _has_documents(run):
        _refuse("RS101", empty_message(len(query_ids)), name)
    judged_ids = judgments.query_ids
    judged = dict.fromkeys(chain.from_iterable(judgments.by_query.values()))
    if judgments.gold is not None:
        judged = dict.fromkeys(judgments.gold.documents)
    if query_ids.isdisjoint(judged_ids):
        message = nothing_in_common("query", query_ids, judged_ids, _doc_ids(run), judged)
        _refuse("RS171", message + _by_words(judgments, run, query_ids), name)
    if any(doc_id in judged for doc_id in _doc_ids(run)):
        return
    if judgments.gold is not None and not (judgments.gold.are_spans and any(_doc_ids(run))):
        return  # texts without documents: nothing tells a poor run from a broken one
    if corpus is not None and corpus.holds_judged and corpus.holds_any(_doc_ids(run)):
        return
    ontology = judgments.ontology
    if ontology is not None and any(doc_id in ontology for doc_id in _doc_ids(run)):
        return  # what was retrieved can be near to what is expected
    message = nothing_in_common("document", _doc_ids(run), judged, query_ids, judged_ids)
    _refuse("RS172", message, name)


def _refuse_other_questions(judged: Questions, run: Any, name: str) -> None:
    """Refuse a run whose ids belong to questions that have other ids in the qrels.

    Words that the qrels do not have at all are no contradiction: a system may have rewritten them.
    """
    asked = _questions(run).texts
    if not asked or not judged.texts:
        return
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
        f"where the run's question is {shown(ids[_words(asked[first])])}; --query-key "
        f"{judged.column} joins them by their words",
        name,
    )


def _questions(run: Any) -> Questions:
    """Return what the queries of a run ask; dicts and runs of pieces have only ids."""
    return getattr(run, "questions", NO_QUESTIONS)


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def _by_words(judgments: Judgments, run: Any, query_ids: Iterable[str]) -> str:
    """Say how to join a side that has ids and words with one that has the words as ids."""
    for questions, whose, ids in (
        (judgments.questions, "the run's ids are the questions of the qrels", query_ids),
        (_questions(run), "the ids of the qrels are the run's questions", judgments.query_ids),
    ):
        if not set(questions.texts.values()).isdisjoint(ids):
            return f"; {whose}: --query-key {questions.column} joins them"
    return ""


def _refuse(code: str, message: str, name: str | None = None) -> NoReturn:
    finding = Remark(code, message).finding(name or "qrels")
    where = "" if name is None else f"run {shown(name)}: "
    raise InvalidDataError(f"{where}{finding.sentence}", [finding])


def _query_ids(run: Any) -> Any:
    """Return the queries of a run, as a set in their order."""
    return dict.fromkeys(run if isinstance(run, Mapping) else run.query_ids).keys()


def _has_documents(run: Any) -> bool:
    return any(map(run.get, run)) if isinstance(run, Mapping) else bool(len(run))


def _doc_ids(run: Any) -> Iterator[str]:
    """Yield the documents of a run, some of them more than once."""
    if isinstance(run, Mapping):
        return (str(doc_id) for query_id in run for doc_id in run[query_id])
    if hasattr(run, "documents"):  # of a file that was scanned
        documents: Iterator[str] = run.documents()
        return documents
    return iter(run.doc_ids)


def refuse_repeat(judgments: Judgments, measures: Iterable[Measure] = ()) -> None:
    """Refuse pairs judged twice in a TREC file, unless a measure reads subtopics there."""
    repeat = judgments.table.repeat if judgments.has_subtopics else None
    if repeat is None or any(m.needs == "subtopics" for m in measures):
        return
    message = "the pair was judged before, with another second column"
    about = {"places": (repeat,), "system": None}
    finding = Remark("RS208", message).finding("qrels").model_copy(update=about)
    raise InvalidDataError(finding.sentence, [finding])


def check_levels(judgments: Judgments, measures: Iterable[Measure]) -> tuple[Remark, ...]:
    """Refuse measures to which nothing is relevant; remark on grades that none of them counts.

    Grades between 0 and 1 under a measure's own threshold of 1 are no error: they were given in
    another unit.
    """
    highest = judgments.max_grade
    deaf = []
    hears = False
    for measure in measures:
        level = threshold_of(measure)
        if level is None:
            hears = hears or _has_gains(measure)
        elif level < 1:
            hears = True
        elif 0 < highest < level and not (highest < 1 and level == 1):
            _refuse(
                "RS214",
                f"no document is relevant to {measure}: it counts grades from {level:g} on, and "
                f"the highest is {highest:g}",
            )
        else:
            deaf.append(measure)
    if not deaf or (hears and highest >= 1):
        return ()
    low = int(np.count_nonzero((judgments.judged_grade > 0) & (judgments.judged_grade < 1)))
    if not low:
        return ()
    names = _few(map(str, deaf))
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


@lru_cache(maxsize=1024)
def _has_gains(measure: Measure) -> bool:
    return measure.options.get("gain", "binary") != "binary"


@lru_cache(maxsize=1024)
def threshold_of(measure: Measure) -> float | None:
    """Return the grade from which on a measure counts a document; None if it counts otherwise."""
    if measure.definition.parameter("rel") is None:
        return None
    if measure.options.get("gain", "binary") != "binary":
        return None
    rel = measure.options.get("rel", 1.0)
    return rel if isinstance(rel, float) else None


# --- what is said --------------------------------------------------------------------------------


def nearly_found(judgments: Judgments, run: Any, hits: Hits) -> Iterator[Remark]:
    """Say which gold the run has under ids that are nearly the same, if that is much of it."""
    lines = sum(map(len, map(run.__getitem__, run))) if isinstance(run, Mapping) else len(run)
    if max(lines, len(judgments.judged_grade)) > SMALL or judgments.gold is not None:
        return
    gold = judgments.relevant_ids
    if _most_are_hits(judgments, run, hits):
        return
    retrieved = dict.fromkeys(_doc_ids(run))
    if 2 * sum(doc_id in retrieved for doc_id in gold) > len(gold):
        return  # looking takes longer than scoring, and little would be amiss
    for reason, pairs in near_misses(retrieved, gold).items():
        if len(pairs) >= max(2, NEARLY * len(gold)):
            wanted, got = pairs[0]
            yield Remark(
                "RS167",
                f"{len(pairs):,} of {counted(len(gold), 'relevant document')} are in the run under "
                f"another id: {reason}, as {shown(wanted, 30)} and {shown(got, 30)}",
                len(pairs),
            )


def _most_are_hits(judgments: Judgments, run: Any, hits: Hits) -> bool:
    """Tell from little whether the run has most of the gold; false if it cannot be told so.

    A hit is a pair and gold a set of ids, so pairs of the same document must not count twice.
    """
    gold = judgments.relevant_ids
    pairs = int(np.count_nonzero(judgments.judged_grade > 0))
    surplus = pairs - len(gold)
    if 2 * (int(np.count_nonzero(hits.grade > 0)) - surplus) > len(gold):
        return True
    if not isinstance(run, Mapping):
        return False
    rest = set(gold)
    for query_id in islice(run, NAMED):  # queries often share their candidates
        rest = rest.difference(run[query_id])
        if 2 * len(rest) < len(gold):
            return True
    return False


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

    def plus(self, other: Lists) -> Lists:
        """Add up two parts of a run."""
        return Lists(*(mine + more for mine, more in zip(self, other, strict=True)))


def remarks(
    run: Any,
    hits: Hits,
    missing: Sequence[str],
    measures: Sequence[Measure],
    *,
    judged: int,
    queries: QueryPolicy,
    ties: str,
    corpus: KnownCorpus | None = None,
    chunks: Chunks | None = None,
) -> Iterator[Remark]:
    """Yield what should be known beside the numbers of one run."""
    if missing:
        fate = "they count as 0" if queries == "all" else "they are left out of the means"
        yield Remark(
            "RS161",
            f"{len(missing):,} of {judged:,} judged queries are missing from the run "
            f"({_few(map(shown, missing))}){_meant(run, missing)}; {fate}",
            len(missing),
            tuple(missing[:NAMED]),
        )
    if not len(hits.query):
        yield Remark("RS172", "no retrieved document is judged for its query", severity="warning")
    yield from _about_order(run, hits.lists, ties)
    if chunks is not None:
        yield from _about_chunks(chunks, measures, corpus)
    if chunks is None or chunks.chunks == chunks.documents:
        yield from _about_depth(run, hits, measures, corpus)
    if corpus is not None and corpus.outside:
        yield gold_outside(corpus)


def _meant(run: Any, missing: Sequence[str]) -> str:
    """Say why judged queries may be missing: the run has others that look like them."""
    wanted = set(missing)
    others = [query_id for query_id in map(str, _query_ids(run)) if query_id not in wanted]
    guess = guess_mismatch(others, list(missing), (), ()) if others else ""
    usual = ("; they differ in leading zeros", "; they differ in upper and lower case")
    return guess if guess.startswith(usual) else ""


def gold_outside(corpus: KnownCorpus) -> Remark:
    """Say which relevant documents nobody can find."""
    outside = [doc_id for _, doc_id in corpus.outside]
    return Remark(
        "RS166",
        gold_outside_message(outside, corpus.gold),
        len(set(outside)),
        tuple(dict.fromkeys(query_id for query_id, _ in corpus.outside[:NAMED])),
    )


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


def _about_depth(
    run: Any, hits: Hits, measures: Sequence[Measure], corpus: KnownCorpus | None
) -> Iterator[Remark]:
    deepest = int(hits.retrieved.max(initial=0))
    cut = [(measure, measure.cutoff) for measure in measures if measure.cutoff is not None]
    size = corpus.documents if corpus is not None else None
    matters = (k > deepest or (k == deepest and m.name in FINDS_ALL) for m, k in cut)
    if size is None and any(matters):
        size = _all_documents(run, hits, deepest)
    if size:
        trivial = [measure for measure, k in cut if measure.name in FINDS_ALL and k >= size]
        if trivial:
            verb = "looks" if len(trivial) == 1 else "look"
            yield Remark(
                "RS134",
                f"{_few(map(str, trivial))} {verb} at all of the {counted(size, 'document')} there "
                "are: whatever returns them in any order has 1",
                len(trivial),
            )
        if deepest >= size:
            return
    asked = deepest if corpus is None or corpus.depth is None else max(corpus.depth, deepest)
    deeper = [measure for measure, cutoff in cut if cutoff > asked]
    answered = hits.retrieved[hits.retrieved > 0]
    if deeper and np.count_nonzero(answered == deepest) >= CUT * len(answered):
        verb = "looks" if len(deeper) == 1 else "look"
        yield Remark(
            "RS133",
            f"{_few(map(str, deeper))} {verb} deeper than the run, which has at most "
            f"{counted(deepest, 'document')} a query",
            len(deeper),
        )


def _about_chunks(
    chunks: Chunks, measures: Sequence[Measure], corpus: KnownCorpus | None
) -> Iterator[Remark]:
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
    cut = [(measure, measure.cutoff) for measure in measures if measure.cutoff is not None]
    if corpus is not None:
        cut = [(measure, cutoff) for measure, cutoff in cut if cutoff <= corpus.documents]
    deeper = [(str(measure), k) for measure, k in cut if chunks.fewer_than(k)]
    if not deeper:
        return
    queries = chunks.fewer_than(max(k for _, k in deeper))
    verb = "looks" if len(deeper) == 1 else "look"
    yield Remark(
        "RS135",
        f"{_few(name for name, _ in deeper)} {verb} at more documents than remain in "
        f"{counted(queries, 'query')}, whose {counted(chunks.depth, 'chunk')} are of as few as "
        f"{counted(min(chunks.remaining), 'document')}",
        queries,
    )


def _all_documents(run: Any, hits: Hits, deepest: int) -> int | None:
    """Return how many documents there are if every query was answered with all of them.

    The corpus is not known; but where all queries have the same documents, these are all there are
    to be found. Two queries are looked at first: in most runs they differ.
    """
    answered = np.flatnonzero(hits.retrieved)
    if len(answered) < 2 or (hits.retrieved[answered] != deepest).any():
        return None
    if hits.are_alike is not None and (not hits.are_alike or len(run) == len(answered)):
        return deepest if hits.are_alike else None
    if isinstance(run, Mapping):
        answers = filter(None, map(run.__getitem__, run))
        whole = set(map(str, next(answers, ())))
        return len(whole) if all(map(_same_documents, repeat(whole), answers)) else None
    if not hasattr(run, "same_documents"):  # pieces: nobody knows how many there are
        return None
    size: int | None = run.same_documents()
    return size


def _same_documents(whole: set[str], documents: Mapping[str, float]) -> bool:
    """Tell whether an answer holds these documents; ids may be whole numbers."""
    if len(whole) == len(documents) and not whole.difference(documents):
        return True
    return whole == set(map(str, documents))


def _few(names: Iterable[str]) -> str:
    listed = list(islice(names, NAMED + 1))
    return ", ".join(listed[:NAMED]) + (", …" if len(listed) > NAMED else "")
