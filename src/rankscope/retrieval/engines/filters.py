"""Filters: which documents a query may find, by a field of documents and metadata of queries.

Values are compared as text. A document whose field is a list holds each of its items; a query whose
metadata is a list allows each of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.retrieval.options import Text
from rankscope.retrieval.protocol import Query

_WHOLE = re.compile(r"-?[0-9]{1,18}")

Filters = Annotated[dict[Text, Text], Field(max_length=20)]
"""From a field of documents to the metadata of queries that it must equal."""


def wanted(query: Query, filters: Mapping[str, str]) -> dict[str, list[str]]:
    """Return, for each field of documents, the texts that a query allows.

    >>> wanted(Query("q1", "soup", {"lang": "en"}), {"language": "lang", "year": "year"})
    {'language': ['en']}
    """
    given = {name: query.metadata.get(source) for name, source in filters.items()}
    return {name: texts_of(value) for name, value in given.items() if value is not None}


def allowed(
    corpus: Corpus, doc_ids: Sequence[str], fields: Sequence[str]
) -> list[dict[str, list[str]]]:
    """Return the texts that each document holds in some fields.

    Raises:
        InputError: a field that no document has.
    """
    for name in fields:
        if name not in corpus.fields:
            known = ", ".join(corpus.fields)
            raise InputError(f"filters: no document has the field {shown(name)}; there are {known}")
    columns = {name: dict(zip(corpus.ids, corpus.field(name), strict=True)) for name in fields}
    return [
        {name: texts_of(column[doc_id]) for name, column in columns.items()} for doc_id in doc_ids
    ]


def passes(values: Mapping[str, list[str]], filters: Mapping[str, list[str]]) -> bool:
    """Tell whether a document with these values may be found.

    >>> passes({"language": ["en"]}, {"language": ["de", "en"]}), passes({}, {"language": ["de"]})
    (True, False)
    """
    return all(
        not set(values.get(name, ())).isdisjoint(allowed_here)
        for name, allowed_here in filters.items()
    )


def texts_of(value: object) -> list[str]:
    """Return a value as the texts it is compared by; a list as those of its items."""
    if value is None:
        return []
    if isinstance(value, list | tuple | set | frozenset):
        return [text for item in value for text in texts_of(item)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    return [str(value)]


def spellings(texts: Sequence[str]) -> list[int | bool]:
    """Return the whole numbers and truth values that some texts stand for.

    >>> spellings(["2001", "true", "de"])
    [2001, True]
    """
    whole: list[int | bool] = [int(text) for text in texts if _WHOLE.fullmatch(text)]
    truths = {"true": True, "false": False}
    return [*whole, *(truths[text] for text in texts if text in truths)]
