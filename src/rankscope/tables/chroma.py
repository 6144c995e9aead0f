"""What a Chroma collection answers to queries, as a run.

An answer is ``{"ids": [[…]], "distances": [[…]], "metadatas": [[{…}, …]], …}``, with a list for
each query, of which some parts may be missing. There may be one answer for all queries, a list of
answers, answers by query, or records with a query and its answer under ``results``. Entries of an
index are often several for one term, such as its synonyms: where the metadata name the term, the
term is what was retrieved, and counts once, at its best rank.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, counted, shown
from rankscope.tables.columns import ALIASES, RUN, find_name, folded
from rankscope.tables.ids import id_text
from rankscope.tables.table_options import saw_columns

if TYPE_CHECKING:
    from rankscope.tables.columns import PairLayout

_PARTS = ("ids", "metadatas", "distances")
_BESIDE = ("distances", "documents", "metadatas", "included")
_RESULTS = (*RUN.lists, "result", "answer", "response")
_TEXTS = ("text", "query", "question", "query_text", "user_input", "user_query")
_QUERIES = tuple(dict.fromkeys(["case_id", "query_id", "id", "_id", *ALIASES["query_id"], "text"]))
_TERMS = ("hpo_id", "term_id", "mondo_id", "concept_id")
_TERM = re.compile(r"[A-Za-z][\w.-]*:\d+|[A-Z]{2,}_\d{4,}")
_LOOKED_AT = 10
_MOST_FIELDS = 100
"""So many fields a record has at most; what has more is a table by query."""


def is_answer(data: object) -> bool:
    """Tell whether this is what a Chroma collection answers."""
    if not isinstance(data, Mapping):
        return False
    metadatas = data.get("metadatas")
    if isinstance(metadatas, list):
        return all(item is None or isinstance(item, list | Mapping) for item in metadatas)
    return isinstance(data.get("ids"), list) and any(name in data for name in _BESIDE)


def answer_in(record: object) -> str | None:
    """Return the field of a record that holds an answer; None if there is none."""
    if not isinstance(record, Mapping) or len(record) > _MOST_FIELDS:
        return None
    held = [name for name in record if isinstance(name, str) and is_answer(record[name])]
    return find_name(held, _RESULTS) if held else None


def hold_answers(records: Iterable[object]) -> bool:
    """Tell whether records are answers, or have one each, by the first of them."""
    first = islice(records, _LOOKED_AT)
    return any(is_answer(record) or answer_in(record) is not None for record in first)


def are_by_query(data: Mapping[Any, Any]) -> bool:
    """Tell whether a mapping holds answers to one query each."""
    return bool(data) and all(
        is_answer(answer) and _queries(answer) == 1 for answer in data.values()
    )


def _queries(answer: Mapping[str, Any]) -> int:
    """Return how many queries an answer is to."""
    for part in _PARTS:
        lists = answer.get(part)
        if isinstance(lists, list):
            return len(lists) if any(isinstance(item, list) for item in lists) else 1
    return 1


# --- reading -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Entries:
    """The entries that were retrieved for one query, and where this was read."""

    where: str
    query_id: object = None  # None: it has no id, and is known by its place
    text: str | None = None
    column: str = ""  # of the text
    ids: Sequence[Any] | None = None
    metadatas: Sequence[Any] | None = None
    distances: Sequence[Any] | None = None


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The documents of queries: ids, or ids with scores; queries by id, or numbered from 1 on."""

    lists: list[tuple[object, list[Any]]]
    are_numbered: bool
    texts: dict[str, str]  # what was asked, where there are ids beside it
    column: str


def read_answers(
    records: Sequence[Any],
    layout: PairLayout,
    *,
    source: str,
    lines: Sequence[int] | None = None,
) -> Retrieved:
    """Read a list of answers, or of records that have one each."""
    return _read(_listed(records, layout, source, lines), layout, source)


def answers_in(data: Mapping[Any, Any], layout: PairLayout, *, source: str) -> Retrieved | None:
    """Read the answers in a mapping, which may be one itself; None if it holds others."""
    if is_answer(data):
        return _read(_entries(data, source), layout, source)
    if answer_in(data) is not None:
        return read_answers([data], layout, source=source)
    if any(map(is_answer, islice(data.values(), _LOOKED_AT))):
        return _read(_by_query(data, source), layout, source)
    if len(data) > _MOST_FIELDS:
        return None
    lists = [value for value in data.values() if isinstance(value, list)]
    if len(lists) == 1 and hold_answers(lists[0]):
        return read_answers(lists[0], layout, source=source)
    return None


def one_answer(answer: Mapping[str, Any], layout: PairLayout, *, source: str) -> list[Any]:
    """Return the documents of an answer to a single query: ids, or ids with scores."""
    read = _read([_one(answer, source, "")], layout, source)
    return read.lists[0][1]


def _by_query(data: Mapping[Any, Any], source: str) -> Iterator[_Entries]:
    for query_id, answer in data.items():
        where = f"{source}: query {shown(query_id)}"
        if answer is None:  # a call that failed
            yield _Entries(where, query_id, ids=[])
        elif is_answer(answer):
            yield _one(answer, where, query_id)
        else:
            raise InputError(
                f"{where} has {shown(answer)}; expected an answer with metadatas or ids"
            )


def _listed(
    records: Sequence[Any], layout: PairLayout, source: str, lines: Sequence[int] | None
) -> Iterator[_Entries]:
    """Yield the entries of a list of answers, or of records that have one each."""
    key = layout.keys.get("query_id")
    for number, record in enumerate(records, start=1):
        where = f"{source}, item {number}" if lines is None else f"{source}:{lines[number - 1]}"
        if is_answer(record):
            yield from _entries(record, where)
            continue
        if not isinstance(record, Mapping):
            raise InputError(
                f"{where}: expected an answer with metadatas or ids, or a record with one, got "
                f"{shown(record)}"
            )
        held = answer_in(record)
        names = [name for name in record if isinstance(name, str) and name != held]
        asked = key if key in names else find_name(names, _QUERIES)
        saw_columns(names, {"query_id": key} if key in names else {})
        query_id = None if asked is None else record[asked]
        if asked is not None and query_id is None:
            raise InputError(f"{where}: the {asked} is null; give every query its own")
        if held is None:  # a call that failed
            yield _Entries(where, query_id, ids=[])
        elif asked is None:
            yield from _entries(record[held], where)
        else:
            entries = _one(record[held], where, query_id)
            text_name = find_name(names, _TEXTS)
            if text_name not in (None, asked) and isinstance(record[str(text_name)], str):
                entries.text, entries.column = record[str(text_name)], str(text_name)
            yield entries


def _one(answer: Mapping[str, Any], where: str, query_id: object) -> _Entries:
    """Return the entries of an answer to a single query."""
    count = _queries(answer)
    if count != 1:
        raise InputError(
            f"{where}: has {counted(count, 'list')} for one query; give every query its own answer"
        )
    (entries,) = _entries(answer, where)
    entries.query_id = query_id
    return entries


def _entries(answer: Mapping[str, Any], where: str) -> Iterator[_Entries]:
    """Yield the entries of each query of an answer."""
    given = {part: answer[part] for part in _PARTS if answer.get(part) is not None}
    for part, lists in given.items():
        if not isinstance(lists, list):
            raise InputError(f"{where}: {part} is {shown(lists)}; expected a list for each query")
    is_nested = any(isinstance(item, list) for lists in given.values() for item in lists)
    if not is_nested:
        given = {part: [lists] for part, lists in given.items()}
    sizes = {part: len(lists) for part, lists in given.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(
            f"{where}: has lists for {_sizes(sizes)}; give one for each query in all of them"
        )
    for number in range(max(sizes.values(), default=0)):
        at = f"{where}: query {number + 1}" if max(sizes.values()) > 1 else where
        lists = {part: given[part][number] for part in given if given[part][number] is not None}
        for part, entries in lists.items():
            if not isinstance(entries, list):
                raise InputError(f"{at}: {part} is {shown(entries)}; expected a list of entries")
        entry_counts = {part: len(entries) for part, entries in lists.items()}
        if len(set(entry_counts.values())) > 1:
            raise InputError(f"{at}: has {_sizes(entry_counts)}; give one of each for every entry")
        yield _Entries(at, **lists)


def _sizes(sizes: Mapping[str, int]) -> str:
    return " and ".join(f"{count:,} {part}" for part, count in sizes.items())


def _read(entries: Iterable[_Entries], layout: PairLayout, source: str) -> Retrieved:
    """Name what was retrieved: by a field of the metadata that all entries have, or by id."""
    queries = list(entries)
    field = _field(queries, layout, source)
    numbered = [query.query_id is None for query in queries]
    if any(numbered) and not all(numbered):
        query = queries[numbered.index(True)]
        raise InputError(
            f"{query.where}: has no query, and others have one; give it to all or none"
        )
    lists = [
        (number if query.query_id is None else query.query_id, _documents(query, field))
        for number, query in enumerate(queries, start=1)
    ]
    texts = {str(query.query_id): query.text for query in queries if query.text is not None}
    column = next((query.column for query in queries if query.column), "")
    return Retrieved(lists, all(numbered), texts, column)


def _documents(query: _Entries, field: str | None) -> list[Any]:
    """Return the documents of a query; a term that several entries name counts once, at its best.

    The smaller a distance, the higher the score.
    """
    if field is None:
        documents: Sequence[Any] = query.ids or ()
    else:
        documents = [metadata[field] for metadata in query.metadatas or ()]
    scores = None
    if query.distances is not None:
        scores = [_score(distance, query.where) for distance in query.distances]
    if field is None:
        return list(documents) if scores is None else list(zip(documents, scores, strict=True))
    best: dict[str, float | None] = {}
    for place, term in enumerate(documents):
        try:
            name = id_text(term)
        except ValueError as error:
            raise InputError(f"{query.where}: the {field} of an entry is {error}") from None
        score = None if scores is None else scores[place]
        earlier = best.setdefault(name, score)
        if score is not None and earlier is not None and score > earlier:
            best[name] = score
    return list(best) if scores is None else list(best.items())


def _score(distance: Any, where: str) -> float:
    number = math.nan
    if isinstance(distance, int | float) and not isinstance(distance, bool):
        number = float(distance) if abs(distance) < math.inf else math.nan
    if math.isnan(number):
        given = "null" if distance is None else shown(distance)
        raise InputError(f"{where}: a distance is {given}; expected a finite number")
    return -number


# --- which field of the metadata is the id -------------------------------------------------------


def _field(queries: Sequence[_Entries], layout: PairLayout, source: str) -> str | None:
    """Return the field of the metadata that names what was retrieved; None if the ids do.

    Beside ids, only a field that names terms counts: ``hpo_id`` and so on, or one whose values all
    look like those of an ontology (``HP:0001250``).
    """
    metadata = [item for query in queries for item in query.metadatas or ()]
    has_ids = all(query.ids is not None for query in queries)
    key = layout.keys.get("doc_id")
    shared = _fields_of_all(queries, metadata)
    if key is not None:
        names = dict.fromkeys(str(name) for item in metadata if item for name in item)
        saw_columns(list(names), {"doc_id": key} if key in names else {})
        if key in shared:
            return key
        if key in names or "doc_id" in layout.required:
            _refuse_without(queries, key, source)
    terms = [name for name in shared if _is_term(name, metadata)]
    known = find_name(shared, _TERMS)
    if has_ids and known is None and not terms:
        some = find_name(
            dict.fromkeys(str(name) for item in metadata if item for name in item), _TERMS
        )
        if some is not None:  # ids of index entries would be taken for terms
            _refuse_without(queries, some, source)
    if has_ids:
        return known or next(iter(terms), None)
    names_of_ids = [name for name in shared if _names_id(name)]
    chosen = known or find_name(names_of_ids, ALIASES["doc_id"])
    if chosen is None and (len(names_of_ids) == 1 or len(terms) == 1):
        chosen = terms[0] if len(terms) == 1 else names_of_ids[0]
    if chosen is None and metadata:
        if len(names_of_ids) > 1:
            raise InputError(
                f"{source}: the metadata have {shown(names_of_ids[0])} and "
                f"{shown(names_of_ids[1])}; say which is the id of a document (--doc-key)"
            )
        _refuse_without(queries, None, source)
    return chosen


def _fields_of_all(queries: Sequence[_Entries], metadata: Sequence[Any]) -> list[str]:
    """Return the fields that all entries have, in the order of the first."""
    if any(query.metadatas is None and (query.ids or query.distances) for query in queries):
        return []
    if not all(isinstance(item, Mapping) for item in metadata):
        return []
    first = metadata[0] if metadata else {}
    return [
        name
        for name in first
        if isinstance(name, str) and all(item.get(name) is not None for item in metadata)
    ]


def _names_id(name: str) -> bool:
    return folded(name).endswith("id") or folded(name) in ("docno", "asin")


def _is_term(name: str, metadata: Sequence[Any]) -> bool:
    return _names_id(name) and all(
        isinstance(item[name], str) and _TERM.fullmatch(item[name]) for item in metadata
    )


def _refuse_without(queries: Sequence[_Entries], key: str | None, source: str) -> None:
    """Refuse an entry that does not say what was retrieved."""
    wanted = "no id in its metadata" if key is None else f"no {shown(key)} in its metadata"
    for query in queries:
        for place, item in enumerate(query.metadatas or (), start=1):
            fields = item if isinstance(item, Mapping) else {}
            names = [name for name in fields if isinstance(name, str) and fields[name] is not None]
            if key not in names if key is not None else not any(map(_names_id, names)):
                holds = ", ".join(map(shown, names[:8])) or "nothing"
                raise InputError(
                    f"{query.where}: entry {place} has {wanted}, which hold {holds}; name the "
                    "field that is the id of a document (--doc-key), or give ids"
                )
    raise InputError(
        f"{source}: the metadata have no id that all entries have; name the field that is the id "
        "of a document (--doc-key), or give ids"
    )
