"""Links from a report to the queries behind a number, in a page that has an explorer.

A link is the part of an address behind ``#``: which view, and behind ``?`` what it shows. The
explorer reads the same words (``explorer.js``).
"""

from __future__ import annotations

from urllib.parse import quote

QUERIES, QUERY = "queries", "query"


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")  # half of a character cannot be in an address


def queries_link(**shown: str | None) -> str:
    """Return a link to a list of queries.

    ``measure``, ``a`` (the system looked at), ``b`` (that it is compared with), ``show``,
    ``cause``, ``field`` and ``value`` of metadata, ``sort``; what is None is left as it is.

    >>> queries_link(measure="nDCG@10", a="bm 25", b=None)
    'queries?measure=nDCG%4010&a=bm%2025'
    """
    pairs = [f"{name}={_quoted(value)}" for name, value in shown.items() if value is not None]
    return f"{QUERIES}?{'&'.join(pairs)}" if pairs else QUERIES


def query_link(query_id: str) -> str:
    """Return a link to a query.

    >>> query_link("a/b")
    'query/a%2Fb'
    """
    return f"{QUERY}/{_quoted(query_id)}"
