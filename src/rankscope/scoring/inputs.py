"""Gold and runs as users give them: tables, plain dicts, frames, paths; one or several.

Whatever the form, gold and run must belong together: by the ids of their queries, or both by
position; and what is scored is never the gold itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from glob import has_magic
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, RankscopeError, counted, shown
from rankscope.files import is_path
from rankscope.runs.run_files import LazyRun, answered_questions, run_names
from rankscope.scoring.dicts import holds_numbers, is_plain
from rankscope.scoring.judged_pairs import FilePairs
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.scans import ScannedRun
from rankscope.scoring.scoring_options import DEFAULT
from rankscope.scoring.soundness import refuse_swapped
from rankscope.tables.columns import ALIASES, NO_COLUMNS, RUN, Reading, find_name, folded, role_of
from rankscope.tables.native_files import in_threads

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.scoring.scoring_options import Scoring

BY_QUERY = Reading("documents by query")
TREC_LINES = Reading("TREC lines")

LARGE = 3 << 27
"""A file of so many bytes is read in parts: whole, it would take about a gigabyte of memory."""


def read_inputs(
    gold: Any, runs: Any, scoring: Scoring, measures: Sequence[str] = ()
) -> tuple[Judgments, dict[str, Any], bool]:
    """Take judgments and runs, by name; also tell whether there was a single one.

    With ``measures`` an executor scores the runs that it can.
    """
    try:
        judgments = as_judgments(gold, scoring)
        if scoring.executor is not None and measures:
            scale = import_module("rankscope.scale.evaluating")  # which comes later in the flow
            runs = scale.spread(runs, scale.Question(judgments, tuple(measures), scoring))
        named, single = as_runs(runs, judgments, scoring)
    except RankscopeError as error:
        refuse_swapped(gold, runs, error)
        raise
    if not judgments.query_ids:
        what = "every question has no answer" if judgments.no_answer else "the qrels are empty"
        raise InputError(f"{what}; give judgments to score against")
    return judgments, named, single


def reading_of(run: Any) -> Reading:
    """Return how a run was read."""
    return TREC_LINES if isinstance(run, LazyRun) else getattr(run, "reading", BY_QUERY)


# --- gold


def as_judgments(gold: Any, scoring: Scoring = DEFAULT) -> Judgments:
    """Take judgments in any form."""
    judgments = gold if isinstance(gold, Judgments) else _judgments(gold, scoring)
    if scoring.ontology is not None and judgments.gold is None:
        judgments = judgments.with_ontology(scoring.ontology)
    if judgments.languages or scoring.language is not None:
        judgments = judgments.in_language(scoring.language)
    return judgments


def _judgments(gold: Any, scoring: Scoring) -> Judgments:
    file = None
    if isinstance(gold, Mapping) and scoring.labels is None and holds_numbers(gold):
        judgments, reading = Judgments(gold, no_answer=scoring.no_answer), BY_QUERY
    else:
        as_it_is = scoring.columns == NO_COLUMNS and scoring.labels is None
        if is_path(gold) and as_it_is and scoring.no_answer is None:
            file = FilePairs.read(gold)
        judgments = _table_judgments(gold, scoring) if file is None else Judgments(file)
        reading = judgments.reading if file is None else TREC_LINES
    judgments.given, judgments.reading = gold, reading
    return judgments


def _table_judgments(gold: Any, scoring: Scoring) -> Judgments:
    from rankscope.collection.qrels import as_qrels  # noqa: PLC0415
    from rankscope.tables.pieces import PiecesError  # noqa: PLC0415

    try:
        qrels = as_qrels(gold, scoring.columns, scoring.labels)
    except PiecesError as error:
        from rankscope.scoring.coverage import gold_judgments  # noqa: PLC0415

        judgments = gold_judgments(
            error.pieces, no_answer=scoring.no_answer, overlap=scoring.overlap
        )
        judgments.reading = error.pieces.reading
        return judgments
    judgments = Judgments(qrels, no_answer=scoring.no_answer)
    judgments.reading, judgments.is_numbered = qrels.reading, qrels.is_numbered
    return judgments


# --- runs


def as_runs(
    runs: Any, judgments: Judgments, scoring: Scoring = DEFAULT
) -> tuple[dict[str, Any], bool]:
    """Take one run or several, in any form; also tell whether it was a single one.

    None is the table that the judgments were read from, which then must hold both in different
    columns. If the judgments are of spans or texts, runs hold such pieces, or ids of chunks in a
    corpus.
    """
    if runs is None:
        runs = judgments.given
        if runs is None:
            raise InputError("there is no run; give one, or a table with gold and run in it")
        if judgments.reading.shape == "TREC lines":
            raise InputError(
                f"{runs} holds judgments alone; give a run too, or a table with both in different "
                "columns (relevant=, retrieved=)"
            )

    def taken(run: Any, name: str) -> Any:
        return _belonging(_taken(run, name, judgments, scoring), run, judgments, scoring)

    by_name = isinstance(runs, Mapping) and _holds_runs(runs)
    if not by_name and not (isinstance(runs, list | tuple) and _lists_runs(runs, judgments)):
        run = taken(runs, "run")
        return {getattr(run, "name", "run"): run}, True
    given = list(runs.values() if by_name else runs)
    names = [str(name) for name in runs] if by_name else [f"run{n + 1}" for n in range(len(given))]
    in_order = in_threads if all(map(is_path, given)) and scoring.is_plain else map
    several = list(in_order(taken, given, names))
    if not by_name:
        names = run_names(several, given)
    return dict(zip(names, several, strict=True)), False


def as_one_run(run: Any, judgments: Judgments, scoring: Scoring = DEFAULT) -> tuple[str, Any]:
    """Take exactly one run, in any form; return its name and itself."""
    named, _ = as_runs(run, judgments, scoring)
    if len(named) != 1:
        raise InputError(f"expected one run, got {len(named)}; call this once for each")
    ((name, taken),) = named.items()
    return name, taken


def _taken(run: Any, name: str, judgments: Judgments, scoring: Scoring) -> Any:
    """Take one run in any form; plain dicts stay as they are, unless their order is to count."""
    if judgments.gold is not None:
        from rankscope.runs.piece_run import as_piece_run  # noqa: PLC0415

        if scoring.chunking is not None:
            raise InputError("doc_id_from is for ids, and the golden set holds spans or texts")
        return as_piece_run(
            run, name=name, order=scoring.order, corpus=scoring.corpus, columns=scoring.columns
        )
    as_it_is = scoring.order == "score" and scoring.chunking is None
    if as_it_is and isinstance(run, Mapping) and holds_numbers(run) and is_plain(run):
        return run
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
    from rankscope.runs.table import as_run  # noqa: PLC0415

    table = as_run(run, name=name, columns=scoring.columns, duplicates=scoring.duplicates)
    if scoring.order == "given" and table.chunks is None:  # that of the chunks as they are listed
        table = table.in_given_order()
    return as_run(table, name=name, chunking=scoring.chunking)


def _from_file(path: Any, judgments: Judgments, scoring: Scoring) -> Any:
    """Return a run that need not be read, or the path if it must be.

    A file that the native scan can read is scanned for the judgments; one that is large, or one of
    several, is read in parts.
    """
    if is_several(path):
        if scoring.duplicates is not None:
            raise InputError("duplicates= is for runs in one file; join these first")
        scale = import_module("rankscope.scale.run_parts")  # which comes later in the flow
        return scale.RunParts(path, executor=scoring.executor)
    if not scoring.is_plain:
        return path
    scanned = ScannedRun.of(path, judgments) if scoring.executor is None else None
    if scanned is not None:
        return scanned
    is_large = os.path.isfile(path) and os.path.getsize(path) >= LARGE
    if is_large and scoring.columns == NO_COLUMNS:
        scale = import_module("rankscope.scale.run_parts")
        return scale.divided(path, scoring.executor) or path
    return path


def is_several(path: PathLike) -> bool:
    """Tell whether a path names several files: a folder, or a pattern."""
    text = os.fspath(path)
    return os.path.isdir(text) or (has_magic(text) and not os.path.lexists(text))


def _holds_runs(runs: Mapping[Any, Any]) -> bool:
    """Tell ``{name: run}`` from a run ``{query: documents}``, and from a table by column."""
    if any(isinstance(value, Mapping) for value in runs.values()) and holds_numbers(runs):
        return False
    from rankscope.tables.documents import is_answer  # noqa: PLC0415

    if is_answer(runs) or _are_columns(runs):
        return False
    given = [run for run in runs.values() if not isinstance(run, Mapping | list | tuple) or run]
    return any(run is not None for run in given) and all(
        run is None or _is_run(run) for run in given
    )


def _lists_runs(runs: Sequence[Any], judgments: Judgments) -> bool:
    """Tell a list of runs from a list of rows, or of the documents of queries."""
    if not runs:
        raise InputError("there is no run in an empty list; give a run, or several by name")
    first = runs[0]
    if isinstance(first, Mapping):
        from rankscope.tables.documents import is_answer  # noqa: PLC0415

        if is_answer(first) or _are_columns(first):
            return False
        return all(isinstance(documents, Mapping | list) for documents in first.values())
    if isinstance(first, str) and judgments.is_numbered:
        return False  # documents, and no files
    return _is_whole(first)


def _are_columns(names: Iterable[object]) -> bool:
    """Tell names of columns from those of runs or queries."""
    texts = [str(name) for name in names]
    return len(texts) > 1 and (
        RUN.is_header(texts) or {"inputs", "outputs"} <= {folded(text) for text in texts}
    )


def _is_whole(value: Any) -> bool:
    """Tell files, runs and frames, lazy ones of Polars too; nothing is loaded for it."""
    if isinstance(value, LazyRun) or is_path(value):
        return True
    signs = ("query_ids", "__arrow_c_stream__", "collect_schema")
    return any(hasattr(value, sign) for sign in signs)


def _is_run(value: Any) -> bool:
    """Tell a whole run from the documents of one query."""
    if _is_whole(value) or not isinstance(value, Mapping | list | tuple):
        return _is_whole(value)
    from rankscope.tables.documents import answers_in, is_answer  # noqa: PLC0415
    from rankscope.tables.table_columns import query_names  # noqa: PLC0415

    if isinstance(value, Mapping):
        answers = answers_in(value, "run")
        if answers is not None:
            return len(answers) > 1
        name, documents = next(iter(value.items()))
        return isinstance(documents, Mapping | list | tuple) and role_of(str(name)) is None
    first = value[0]
    if isinstance(first, Mapping):  # {"id", "score"} is a document, and no row
        has_list = any(role_of(str(n)) and isinstance(v, list | tuple) for n, v in first.items())
        return is_answer(first) or has_list or bool(query_names([str(name) for name in first]))
    is_pair = isinstance(first, list | tuple) and len(first) == 2 and not isinstance(first[1], str)
    return isinstance(first, list | tuple) and not is_pair


# --- do they belong together?


def _belonging(run: Any, given: Any, judgments: Judgments, scoring: Scoring) -> Any:
    """Return a run as answers to the questions of the gold, or say why it is not."""
    gold, read = judgments.reading, reading_of(run)
    is_same = given is judgments.given and given is not None
    if not isinstance(given, Mapping) and is_path(given) and is_path(judgments.given):
        is_same = str(given) == str(judgments.given)
    if is_same and gold.documents == read.documents and not _has_both(gold, read, scoring):
        where = f" ({shown(gold.documents)})" if gold.documents else ""
        raise InputError(
            f"gold and run are the same{where}; give a run, or a table with both in different "
            "columns (relevant=, retrieved=)"
        )
    if scoring.columns is not NO_COLUMNS:
        _check_columns(gold, read, scoring, are_pieces=judgments.gold is not None)
    if judgments.gold is not None:
        return run
    is_numbered = bool(getattr(run, "is_numbered", False))
    if is_numbered != judgments.is_numbered:
        return _by_position(run, judgments, is_numbered=is_numbered)
    if is_numbered and len(run.query_ids) != len(judgments.query_ids) + len(judgments.no_answer):
        raise InputError(
            f"gold has {counted(len(judgments.query_ids), 'question')} by position, and the run "
            f"{counted(len(run.query_ids), 'list')}; give one to each, or both by id"
        )
    if not is_numbered and not isinstance(run, LazyRun):
        _refuse_shifted(judgments, run)
        run = _by_words(run, judgments)
    return run


def _has_both(gold: Reading, run: Reading, scoring: Scoring) -> bool:
    """Tell a flat table with a grade and a score for each pair, if it is clear which is which."""
    if not gold.value or not run.value or gold.value == run.value:
        return False
    if scoring.columns.grade is not None and scoring.columns.score is not None:
        return True
    either = tuple(set(ALIASES["grade"]).intersection(ALIASES["score"]) - {"score"})
    return find_name([gold.value, run.value], either) is None


def _check_columns(
    gold: Reading, run: Reading, scoring: Scoring, *, are_pieces: bool = False
) -> None:
    """Refuse a column that no table has, and one that may be meant for one of two tables."""
    names = dict.fromkeys([*gold.names, *run.names])
    for parameter in ("query", "doc"):
        column = getattr(scoring.columns, parameter)
        if column is None or column in names:
            continue
        if parameter == "doc" and (are_pieces or column in (gold.id_field, run.id_field)):
            continue  # a field of records in lists
        if names:
            from rankscope.tables.table_columns import refuse_unknown  # noqa: PLC0415

            raise refuse_unknown(parameter, column, list(names), "gold and run")
        if parameter == "doc":
            raise InputError(
                f"gold and run: no column {shown(column)} (doc=), as neither has columns; leave it "
                "out"
            )
    doc = scoring.columns.doc
    roles = ("relevant", gold.names), ("retrieved", run.names)
    rivals = [n for role, each in roles for n in each if role_of(n) == role and n != doc]
    if doc in gold.names and doc in run.names and rivals:
        raise InputError(
            f"gold and run both have the column {shown(doc)} (doc=), and one of them also "
            f"{shown(rivals[0])}; say which is meant where (relevant=, retrieved=)"
        )


def _by_position(run: Any, judgments: Judgments, *, is_numbered: bool) -> Any:
    """Return lists without ids as answers to a table's questions, in its order; refuse all else."""
    if is_numbered and judgments.listed and judgments.reading.documents:
        names = answered_questions(len(run.query_ids), judgments.listed, f"run {shown(run.name)}")
        if names is None:
            return run
        return run.renamed([names[int(number) - 1] for number in run.query_ids])
    by_place, by_id = ("run", "gold") if is_numbered else ("gold", "run")
    raise InputError(
        f"the {by_place} is a list by position, and the {by_id} has ids of queries; give the "
        f"{by_place} as {{query: [doc, …]}}, or both as lists"
    )


def _refuse_shifted(judgments: Judgments, run: Any) -> None:
    """Refuse gold that is numbered from 0 and a run from 1, or the other way round."""
    gold, ids = judgments.query_ids, run if isinstance(run, Mapping) else run.query_ids
    if ("0" in gold) == ("0" in ids) or not len(gold) or not len(ids):
        return
    first = (0, 1) if "0" in gold else (1, 0)
    if all(
        set(each) == set(map(str, range(base, base + len(each))))
        for each, base in zip((gold, ids), first, strict=True)
    ):
        raise InputError(
            f"gold numbers questions from {first[0]} and the run from {first[1]}; number both alike"
        )


def _by_words(run: Any, judgments: Judgments) -> Any:
    """Return a run by the ids of gold, where one side has ids and words and one only words."""
    if isinstance(run, Mapping):
        return run
    texts, known, asked = judgments.questions.texts, set(judgments.query_ids), run.questions.texts
    if not (texts or asked) or any(query_id in known for query_id in run.query_ids):
        return run
    names: Mapping[str, str] = {text: query_id for query_id, text in texts.items()}
    if asked and known.issuperset(asked.values()):
        names = asked
    elif len(names) < len(texts):
        return run
    renamed = [names.get(query_id) for query_id in run.query_ids]
    is_clear = None not in renamed and len(set(renamed)) == len(renamed)
    return run.renamed(renamed) if is_clear else run


# --- documents of one query


def documents_of(run: Any, query_id: str) -> Mapping[str, float]:
    """Return the documents of one query of a run, by id as text; none if the run lacks it."""
    documents: Mapping[str, float] = run[query_id] if query_id in run else {}  # noqa: SIM401
    if all(isinstance(doc_id, str) for doc_id in documents):
        return documents
    from rankscope.runs.table import as_run  # noqa: PLC0415

    return as_run({query_id: documents})[query_id]


def without_identical(run: Any) -> Any:
    """Return a run without documents that have the id of their own query."""
    if not isinstance(run, Mapping):
        rows = run.to_polars()
        if not (rows["query_id"] == rows["doc_id"]).any():
            return run
        run = run.to_dict()
    return {
        query_id: {
            doc_id: score
            for doc_id, score in documents_of(run, query_id).items()
            if doc_id != query_id
        }
        for query_id in run
    }
