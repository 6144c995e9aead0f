r"""Ids that a TREC file cannot hold, where white space separates columns and # begins a comment.

They can be written in percent-encoding (RFC 3986): white space, ``%``, and at the beginning of a
query id ``#`` or a byte-order mark. The first line of such a file says so, and its last lines name
every id that is not as it was. Such a file is read with the ids that it stands for; other tools see
them encoded.
"""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import polars as pl

_ROLES = ("query_id", "doc_id", "subtopic", "tag")
_INVISIBLE = "\\x00-\\x1f\\x7f-\\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that terminals obey and nobody sees: control characters, and those that turn text."""
_UNFIT = dict.fromkeys(_ROLES, rf"[ {_INVISIBLE}]|^$")
_UNFIT["query_id"] += "|^[#\ufeff]"
_ENCODED = re.compile(rf"[ %{_INVISIBLE}]|^[#\ufeff]")


def unfit_id(columns: pl.DataFrame) -> tuple[str, str] | None:
    """Return a column and a value of it that a file of such columns cannot hold as it is."""
    for role in _ROLES:
        if role in columns.columns:
            values = columns[role]
            unfit = values.filter(values.str.contains(_UNFIT[role]))
            if len(unfit):
                return role, unfit.unique().sort()[0]
    return None


def visible_ids(columns: pl.DataFrame) -> pl.DataFrame:
    """Return columns with invisible characters of ids written as escapes (U+202E as u202e)."""
    pattern = re.compile(f"[{_INVISIBLE}]")
    for role in _ROLES:
        if role in columns.columns and columns[role].str.contains(pattern.pattern).any():
            spelt = {
                value: pattern.sub(lambda sign: f"\\u{ord(sign[0]):04x}", value)
                for value in columns[role].unique()
            }
            text = pl.col(role).replace_strict(spelt, return_dtype=pl.String)
            columns = columns.with_columns(text)
    return columns


def encoded(columns: pl.DataFrame) -> tuple[pl.DataFrame, bytes]:
    """Return columns with encoded ids, and the lines that name them."""
    lines = []
    for role in _ROLES[:2]:
        values = columns[role].unique().sort().to_list()
        spelt = {value: _ENCODED.sub(_percent, value) for value in values}
        for value, spelling in spelt.items():
            if value != spelling:
                lines.append(f"# {role} {json.dumps(value)} is written as {spelling}\n")
        columns = columns.with_columns(pl.col(role).replace_strict(spelt, return_dtype=pl.String))
    return columns, "".join(lines).encode()


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def decoded_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of a file with encoded ids, with the ids that these stand for."""
    for role in _ROLES[:2]:
        if role in frame.columns:
            values = frame[role].cast(pl.String)
            spelt = {value: unquote(value) for value in values.unique().drop_nulls()}
            decoded = values.replace_strict(spelt, default=None, return_dtype=pl.String)
            frame = frame.with_columns(decoded.cast(frame.schema[role]).alias(role))
    return frame
