"""What PostgreSQL is sent and sends: names, texts and vectors as SQL writes them, and rows."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.engines.base import Pairs
from rankscope.retrieval.protocol import UnansweredError

ANY_WORD = (
    "(SELECT string_agg('''' || replace(replace(word, '\\', '\\\\'), '''', '''''') || '''', ' | ')"
    "::tsquery FROM unnest(tsvector_to_array(to_tsvector({language}, %(query)s))) AS word)"
)
"""Each word of the query, quoted as tsquery wants it; null if there is none."""

_NO_IDS = (bytes, bool, float, list, tuple, dict)
"""What a column may hold that has no one spelling as an id."""


class PostgresError(UnansweredError):
    """What the server could not do, in one sentence."""


def pairs_of(rows: Sequence[Sequence[Any]], columns: Sequence[str]) -> Pairs:
    """Return ids and scores of rows; of ids alone, in the order of the rows.

    Raises:
        InputError: there is no such pair in the columns.
        PostgresError: an id or a score is null.
    """
    if len(columns) not in (1, 2):
        there = shown(", ".join(columns))
        problem = f"but it returns {len(columns)} columns: {there}"
        raise InputError(f"the sql must return an id and a score, or an id alone, {problem}")
    pairs: Pairs = []
    for place, row in enumerate(rows):
        doc_id, score = row[0], row[1] if len(row) == 2 else float(len(rows) - place)
        if doc_id is None or score is None:
            raise PostgresError("the sql returned a row whose id or score is null")
        if isinstance(doc_id, _NO_IDS):
            problem = f"must be an id, but it holds {shown(doc_id)}; write it as text there"
            raise InputError(f"the first column of the sql, {shown(columns[0])}, {problem}")
        if isinstance(score, bool) or not isinstance(score, int | float | Decimal):
            problem = f"must be a score, but it holds {shown(score)}"
            raise InputError(f"the second column of the sql, {shown(columns[1])}, {problem}")
        pairs.append((str(doc_id), float(score)))
    return pairs


def setting_text(value: object) -> str:
    """Return the value of a setting as SET takes it."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def identifier(name: str) -> str:
    """Return a name as SQL.

    >>> identifier('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL."""
    doubled = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{doubled}'"


def vector_text(vector: Any) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def without_nul(text: str) -> str:
    """Return a text without the one character that PostgreSQL cannot hold."""
    return text.replace("\0", " ")
