"""What should be known beside the numbers of a run: where a mean means less than it seems.

`evaluate` collects remarks here, and its scores carry them into every record and report. Nothing
passes over a run again that alignment has not passed over, unless it found nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import counted, shown
from rankscope.runs.mismatch import gold_outside_message, guess_mismatch, near_misses
from rankscope.scoring.soundness import (
    NAMED,
    Remark,
    documents_in,
    few,
    no_document_in_common,
    queries_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankscope.runs.collapsing import Chunks
    from rankscope.scoring.align import Aligned
    from rankscope.scoring.hits import Hits
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.plans import Wanted
    from rankscope.scoring.rules import Profile
    from rankscope.scoring.soundness import KnownCorpus, Lists

SMALL = 5_000
"""Lines of a run and judgments up to which ids that are nearly the same are looked for."""

NEARLY = 0.1
"""From this share of the relevant documents on it is said."""

CUT = 0.25
"""A run is cut at a depth if this share of its answers has it; others end where nothing was left
to be found."""


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
            f"run ({few(map(shown, missing))}){_meant(run, missing)}; {fate}",
            len(missing),
            tuple(missing[:NAMED]),
        )
    if not len(hits.query):
        message = no_document_in_common(judgments, run, corpus)
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


def _meant(run: Any, missing: Sequence[str]) -> str:
    """Say why judged queries may be missing: the run has others that look like them."""
    wanted = set(missing)
    others = [query_id for query_id in map(str, queries_in(run)) if query_id not in wanted]
    guess = guess_mismatch(others, list(missing), (), ()) if others else ""
    usual = ("; they differ in leading zeros", "; they differ in upper and lower case")
    return guess if guess.startswith(usual) else ""


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
            f"{few(deeper)} {verb} deeper than the run, which has at most "
            f"{counted(deepest, 'document')} a query",
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
    deeper = {name: k for name, k in wanted.cut.items() if k <= most and chunks.fewer_than(k)}
    if deeper:
        queries = chunks.fewer_than(max(deeper.values()))
        verb = "looks" if len(deeper) == 1 else "look"
        yield Remark(
            "RS135",
            f"{few(deeper)} {verb} at more documents than remain in {counted(queries, 'query')}, "
            f"whose {counted(chunks.depth, 'chunk')} are of as few as "
            f"{counted(min(chunks.remaining), 'document')}",
            queries,
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
