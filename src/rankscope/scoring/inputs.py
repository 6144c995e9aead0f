"""Qrels and runs as users give them: tables, plain dicts, frames, paths; one or several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, counted, shown
from rankscope.files import is_path
from rankscope.runs.lazy_run import LazyRun
from rankscope.runs.order import by_id_descending
from rankscope.runs.spooled_run import spooled
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.options import DEFAULT
from rankscope.scoring.parted import in_parts, is_several
from rankscope.scoring.plain import holds, is_plain, numbers_of, text_ids
from rankscope.scoring.qrels_file import QrelsFile
from rankscope.scoring.scanned_run import ScannedRun
from rankscope.tables.chroma import answer_in, are_by_query, hold_answers, is_answer
from rankscope.tables.pieces import PiecesError
from rankscope.tables.table_options import check_keys, reading

if TYPE_CHECKING:
    from rankscope.runs.collapsing import Chunking, Chunks
    from rankscope.scoring.options import Scoring


def _is_frame(data: object) -> bool:
    """Tell frames, lazy ones of Polars too; nothing is loaded for it."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "collect_schema")


def read_inputs(gold: Any, runs: Any, scoring: Scoring) -> tuple[Judgments, dict[str, Any], bool]:
    """Take judgments and runs as a call was given them; see `as_judgments` and `as_runs`."""
    with named_columns(scoring):
        judgments = as_judgments(gold, scoring)
        named, single = as_runs(runs, judgments, scoring)
    return judgments, named, single


def how_read(judgments: Judgments, runs: Mapping[str, Any]) -> str:
    """Say in one line how gold and runs were read."""
    ways = {
        "documents by query" if isinstance(run, Mapping) else "TREC lines"
        for run in runs.values()
        if isinstance(run, Mapping | LazyRun)
    }
    gold = f"gold: {counted(len(judgments.query_ids), 'question')}"
    return f"{gold}; run: {', '.join(sorted(ways))}" if ways else gold


@contextmanager
def named_columns(scoring: Scoring) -> Iterator[None]:
    """Let tables that are read meanwhile have the columns that a call names."""
    columns = scoring.columns
    names = {
        "query_key": columns.query,
        "doc_key": columns.doc or columns.relevant or columns.retrieved,
        "score_key": columns.score,
        "grade_key": columns.grade,
    }
    if scoring.duplicates is None and not any(names.values()):
        yield
        return
    with reading(**names, duplicates=scoring.duplicates):
        yield
        check_keys()


def as_judgments(gold: Any, scoring: Scoring = DEFAULT) -> Judgments:
    """Take judgments in any form."""
    judgments = gold if isinstance(gold, Judgments) else _judgments(gold, scoring)
    if scoring.ontology is not None and judgments.gold is None:
        from rankscope.scoring.judged_terms import with_ontology  # noqa: PLC0415

        judgments = with_ontology(judgments, scoring.ontology)
    if scoring.language is not None or scoring.languages is not None:
        from rankscope.scoring.by_language import in_language  # noqa: PLC0415

        judgments = in_language(judgments, scoring.language, scoring.languages)
    return judgments


def _judgments(gold: Any, scoring: Scoring) -> Judgments:
    try:
        if isinstance(gold, Mapping):
            return Judgments(gold, no_answer=scoring.no_answer)
        if is_path(gold) and scoring.no_answer is None and scoring.labels is None:
            file = QrelsFile.read(gold)
            if file is not None:
                return Judgments(file)
        from rankscope.collection.qrels import as_qrels, read_qrels  # noqa: PLC0415

        if is_path(gold) and scoring.labels is not None:
            gold = read_qrels(gold, labels=scoring.labels)
        judgments = Judgments(as_qrels(gold), no_answer=scoring.no_answer)
    except PiecesError as error:
        from rankscope.scoring.coverage import gold_judgments  # noqa: PLC0415

        return gold_judgments(error.pieces, no_answer=scoring.no_answer, overlap=scoring.overlap)
    judgments.of_one_query = isinstance(gold, list | tuple | Set) and all(
        isinstance(item, str) for item in gold
    )
    return judgments


def _as_run(run: Any, name: str, judgments: Judgments | None, scoring: Scoring) -> Any:
    """Take one run in any form; plain dicts stay as they are, unless their order is to count."""
    if is_path(run):
        run = _from_file(run, judgments, scoring)
    if isinstance(run, LazyRun):
        if scoring.is_plain:
            return run if scoring.executor is None else run.worked_on(scoring.executor)
        run = run.loaded
    if hasattr(run, "pieces") and not hasattr(run, "offsets"):
        raise InputError(
            "the run holds spans or texts and not ids; evaluate, compare and gate take these"
        )
    if isinstance(run, CollapsedDicts):
        return run
    if is_plain(run) and not any(is_answer(run[query_id]) for query_id in islice(run, 1)):
        if scoring.order == "given":
            run = {query_id: _listed(run[query_id]) for query_id in run}
        return run if scoring.chunking is None else collapsed_dicts(run, scoring.chunking)
    from rankscope.runs.table import as_run  # noqa: PLC0415

    if scoring.order == "given":  # that of the chunks as they are listed
        table = as_run(run, name=name)
        run = table if table.chunks is not None else table.in_given_order()
    return as_run(run, name=name, chunking=scoring.chunking)


def _from_file(path: Any, judgments: Judgments | None, scoring: Scoring) -> Any:
    """Return a run that need not be read, or the path if it must be.

    A file that the native scan can read is scanned for the judgments; one that is large, or one of
    several, is read in parts.
    """
    if is_several(path):
        return in_parts(path, scoring.executor)
    if not scoring.is_plain:
        return path
    path = spooled(path)
    scanned = None
    if judgments is not None and scoring.executor is None:
        scanned = ScannedRun.of(path, judgments)
    return in_parts(path, scoring.executor) if scanned is None else scanned


def _listed(documents: Mapping[str, float]) -> dict[str, float]:
    """Give documents scores that fall down the list."""
    return {doc_id: -float(place) for place, doc_id in enumerate(documents, start=1)}


def corpus_ids(scoring: Scoring) -> Callable[[], Iterable[str]]:
    """Take the corpus in any form; return a function that passes over its ids."""
    from rankscope.runs.validation import passes_over_ids  # noqa: PLC0415

    return passes_over_ids(scoring.corpus, scoring.chunking)


class CollapsedDicts(dict[str, dict[str, float]]):
    """A run in plain dicts that was collapsed, and what from."""

    chunks: Chunks


def collapsed_dicts(run: Mapping[str, Mapping[str, float]], chunking: Chunking) -> CollapsedDicts:
    """Collapse the chunks in plain dicts to documents."""
    answers = [text_ids(run[query_id], query_id) for query_id in run]
    sizes = np.fromiter(map(len, answers), np.int64, len(answers))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    score = numbers_of(answers, int(offsets[-1]), run, "score")
    chunk_ids = list(dict.fromkeys(chain.from_iterable(answers)))
    names, unmatched = chunking.documents(chunk_ids)
    of_chunk = dict(zip(chunk_ids, names, strict=True))
    document = [of_chunk[chunk_id] for answer in answers for chunk_id in answer]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    by_row = np.fromiter(map(numbers.__getitem__, document), np.int64, len(document))
    best = None if chunking.collapse == "best" else _best_first(answers, score, offsets)
    rest = chunking.collapsed(offsets, score, by_row, best)
    collapsed = CollapsedDicts()
    rows, scores, end = rest.rows.tolist(), rest.scores.tolist(), 0
    for query_id, size in zip(run, rest.sizes.tolist(), strict=True):
        part = slice(end, end := end + size)
        collapsed[query_id] = {
            document[row]: number for row, number in zip(rows[part], scores[part], strict=True)
        }
    collapsed.chunks = chunking.chunks(sizes, rest.sizes, unmatched)
    return collapsed


def _best_first(answers: Sequence[Mapping[str, float]], score: Any, offsets: Any) -> Any:
    """Return the rows of each query best first, ties by id descending."""
    chunk_ids = [chunk_id for answer in answers for chunk_id in answer]
    by_id = np.array(by_id_descending(chunk_ids), np.int64)
    query = np.repeat(np.arange(len(answers)), np.diff(offsets))
    return by_id[np.lexsort((-score[by_id], query[by_id]))]


def _holds_runs(runs: Mapping[Any, Any], *, of_one_query: bool) -> bool:
    """Tell ``{name: run}`` from a run ``{query_id: {doc_id: score}}``."""
    if is_answer(runs):
        return False
    for name in runs:
        value = runs[name]
        if is_answer(value):  # to one query, or to all that there are
            return answer_in(runs) is None and not are_by_query(runs)
        if isinstance(value, Mapping):
            for key in value:
                return isinstance(value[key], Mapping | list | tuple)
            continue  # an empty query says nothing
        if isinstance(value, list | tuple):
            from rankscope.tables.objects import lists_queries  # noqa: PLC0415

            return all(
                isinstance(run, list | tuple) and (of_one_query or lists_queries(run))
                for run in runs.values()
            )
        if isinstance(value, LazyRun):
            return True
        if is_path(value):
            return answer_in(runs) is None  # else it is a query with its answer
        return hasattr(value, "query_ids") or _is_frame(value)
    return False


def as_runs(
    runs: Any, judgments: Judgments | None = None, scoring: Scoring = DEFAULT
) -> tuple[dict[str, Any], bool]:
    """Take one run or several, in any form; also tell whether it was a single one.

    What the judgments are of decides how runs are read: if of one query, a list of texts is its
    answer and holds no paths; if of spans or texts, runs hold such pieces, or ids of chunks in a
    corpus.
    """
    of_one_query = judgments is not None and judgments.of_one_query

    def taken(run: Any, name: str) -> Any:
        if judgments is None or judgments.gold is None:
            return in_places(_as_run(run, name, judgments, scoring), judgments)
        from rankscope.runs.piece_run import as_piece_run  # noqa: PLC0415

        if scoring.chunking is not None:
            raise InputError(
                "doc_id_from is for judgments that name documents, and the golden set holds spans "
                "or texts; leave it out"
            )
        return as_piece_run(run, name=name, order=scoring.order, corpus=scoring.corpus)

    if isinstance(runs, Mapping) and _holds_runs(runs, of_one_query=of_one_query):
        return {str(name): taken(run, str(name)) for name, run in runs.items()}, False
    if isinstance(runs, list | tuple) and not of_one_query and _lists_runs(runs):
        from rankscope.runs.naming import run_names  # noqa: PLC0415

        several = [taken(run, f"run{number}") for number, run in enumerate(runs, start=1)]
        return dict(zip(run_names(several, runs), several, strict=True)), False
    run = taken(runs, "run")
    return {getattr(run, "name", "run"): run}, True


def as_one_run(
    run: Any, judgments: Judgments | None = None, scoring: Scoring = DEFAULT
) -> tuple[str, Any]:
    """Take exactly one run, in any form; return its name and itself.

    Of the judgments only the order of their queries counts, for a run without query ids.
    """
    named, _ = as_runs(run, None, scoring)
    if len(named) != 1:
        raise InputError(f"expected one run, got {len(named)}; call this once for each")
    ((name, taken),) = named.items()
    return name, in_places(taken, judgments)


def in_places(run: Any, judgments: Judgments | None) -> Any:
    """Return a run without query ids as answers to the questions of a golden list, in their order.

    Only answers of a vector store are such a run, and only where each question has its list the
    order is known; others are joined by id.
    """
    if judgments is None or not judgments.listed or not getattr(run, "is_numbered", False):
        return run
    from rankscope.runs.positions import answered_questions  # noqa: PLC0415

    names = answered_questions(len(run.query_ids), judgments.listed, f"run {shown(run.name)}")
    return run if names is None else run.answering(names)


def _lists_runs(runs: Sequence[Any]) -> bool:
    """Tell a list of runs from a list of rows."""
    if not runs:
        raise InputError("there is no run in an empty list; give a run, or several by name")
    first = runs[0]
    if isinstance(first, Mapping):
        if hold_answers(runs):
            return False
        return all(isinstance(documents, Mapping | list) for documents in first.values())
    return (
        is_path(first)
        or isinstance(first, LazyRun)
        or hasattr(first, "query_ids")
        or _is_frame(first)
    )


def documents_of(run: Any, query_id: str) -> Mapping[str, float]:
    """Return the documents of one query of a run, by id as text; none if the run lacks it."""
    documents: Mapping[str, float] = run[query_id] if query_id in run else {}  # noqa: SIM401
    is_text = all(isinstance(doc_id, str) for doc_id in documents)
    return documents if is_text else text_ids(documents, query_id)


def has_identical(run: Any) -> bool:
    """Tell whether a document has the id of its own query."""
    if isinstance(run, Mapping):
        return any(holds(run[query_id], query_id) for query_id in run)
    rows = run.to_polars()
    return bool((rows["query_id"] == rows["doc_id"]).any())


def without_identical(run: Any) -> Any:
    """Return a run without documents that have the id of their own query."""
    if not has_identical(run):
        return run
    plain = run if isinstance(run, Mapping) else run.to_dict()
    return {
        query_id: {
            doc_id: score
            for doc_id, score in documents_of(plain, query_id).items()
            if doc_id != query_id
        }
        for query_id in plain
    }
