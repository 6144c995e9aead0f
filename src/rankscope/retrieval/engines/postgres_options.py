"""The options of the system postgres: where the server is, and which of them go together."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal, Self
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import Field, ValidationInfo, model_validator

from rankscope.errors import shown
from rankscope.retrieval.engines.loaded import LoadedOptions
from rankscope.retrieval.options import Secret, SpecError, Text

_WITH_SQL = frozenset({"sql", "dsn", "snapshot", "embedder", "query_prefix", "params"})
"""The options that are used where the user's SQL answers."""
_SETTING = re.compile(r"\w+(\.\w+)?")
_PLACEHOLDER = re.compile(r"%(?:\((?P<name>[^)]*)\)(?P<format>.)|(?P<other>.|$))", re.DOTALL)


class PostgresOptions(LoadedOptions):
    """Where the server is, how words are matched, how vectors are indexed, or your SQL."""

    dsn: Secret | None = None
    """postgresql://user:password@host:port/database, or host=… dbname=…; never recorded. If not
    given, the variables of libpq: PGHOST, PGUSER, PGPASSWORD and so on."""
    sql: Text | None = None
    """A SELECT of yours over tables that are there, instead of loading the corpus. It is given
    %(query)s, %(depth)s, %(vector)s and the metadata of the query by name, and returns ids and
    scores, best first, or ids alone."""
    language: Text = "english"
    """The text search configuration: english, german, simple, or one that you made."""
    match: Literal["any", "websearch"] = "any"
    """any: one word is enough, as in bm25. websearch: websearch_to_tsquery, where a document needs
    all words, and quotes, or and - have a meaning."""
    rank: Literal["ts_rank_cd", "ts_rank"] = "ts_rank_cd"
    """What scores a document: how near the words are to each other, or how often they occur."""
    normalization: int = Field(default=0, ge=0, le=63)
    """How the length of a document counts, as PostgreSQL numbers it: 0 not at all, 1 by 1 + its
    logarithm, 2 by itself; numbers are added up."""
    vectors: Literal["exact", "hnsw", "ivfflat"] = "exact"
    """exact: every vector is compared. hnsw, ivfflat: the indexes of pgvector."""
    type: Literal["vector", "halfvec"] = "vector"
    """How vectors are stored: with 32 bits for each number, or with 16."""
    create: dict[str, Any] = Field(default_factory=dict)
    """What the index of vectors is made WITH: {m: 16, ef_construction: 64} or {lists: 100}."""
    params: dict[str, Any] = Field(default_factory=dict)
    """What is SET in each session: {hnsw.ef_search: 100}, {hnsw: {iterative_scan:
    relaxed_order}}, {ivfflat.probes: 10}."""

    @property
    def is_attached(self) -> bool:
        """Whether something is searched that is there already."""
        return self.sql is not None

    @model_validator(mode="after")
    def _together(self, info: ValidationInfo) -> Self:
        """Refuse options that do not go together; not before all values are known."""
        values = (getattr(self, name) for name in self.model_fields_set - {"dsn"})
        is_open = any(isinstance(value, str) and "${" in value for value in values)
        if is_open and info.context and info.context.unexpanded:
            return self
        if self.sql is not None:
            placeholders(self.sql)
            others = sorted(self.model_fields_set - _WITH_SQL)
            if others:
                problem = f"{others[0]} is for what is loaded, and sql searches what is there"
                raise SpecError(f"{problem}; leave one of them out", (others[0],))
        if self.create and self.vectors == "exact":
            raise SpecError("create is for vectors: hnsw or ivfflat; leave it out", ("create",))
        if len({*(self.fields or {}).values()}) > len("ABCD"):
            raise SpecError("PostgreSQL knows four weights; give some fields the same", ("fields",))
        for name in (*flat(self.create), *flat(self.params)):
            if not _SETTING.fullmatch(name):
                raise SpecError(f"expected the name of a setting, got {shown(name)}")
        return self

    @model_validator(mode="after")
    def _all_used(self) -> Self:
        return self if self.sql is not None else super()._all_used()  # type: ignore[operator]

    @classmethod
    def gives_away(cls, option: str, value: str) -> bool:
        """Tell whether a dsn holds a password; one without may be written down."""
        return bool(passwords(value)) if option == "dsn" else True

    def secrets(self) -> list[str]:
        """Return the values that must not be shown: the dsn, and the password in it."""
        dsn = "" if self.dsn is None else self.dsn.get_secret_value()
        held = [dsn, *passwords(dsn), os.environ.get("PGPASSWORD", "")]
        return [secret for secret in held if secret]


def placeholders(sql: str) -> list[str]:
    """Return the names that SQL wants values for, each once.

    Raises:
        SpecError: a % that is neither doubled nor the beginning of a name.

    >>> placeholders("SELECT id FROM t WHERE a LIKE 'x%%' AND b = %(query)s LIMIT %(depth)s")
    ['query', 'depth']
    """
    names: dict[str, None] = {}
    for match in _PLACEHOLDER.finditer(sql):
        if match["other"] == "%":
            continue
        if match["name"] is None or match["format"] != "s":
            problem = f"expected %(name)s, or %% for the sign itself, got {shown(match[0])}"
            raise SpecError(problem, ("sql",))
        names[match["name"]] = None
    missing = "" if "depth" in names else "%(depth)s"
    if "query" not in names and "vector" not in names:
        missing = "%(query)s or %(vector)s"
    if missing:
        raise SpecError(f"expected SQL that uses {missing}, got {shown(sql)}", ("sql",))
    return list(names)


def passwords(dsn: str) -> list[str]:
    """Return the passwords that a dsn holds, as it writes them and as they are."""
    held = [
        (quoted or plain).replace("\\'", "'").replace("\\\\", "\\")
        for quoted, plain in re.findall(r"password\s*=\s*(?:'((?:\\.|[^'\\])*)'|([^\s&]+))", dsn)
    ]
    try:
        parts = urlsplit(dsn)
        held += [parts.password or "", *parse_qs(parts.query).get("password", ())]
    except ValueError:  # no address at all, or a broken one: what is between : and @
        held += re.findall(r"://[^/@]*:([^@]*)@", dsn)
    return [*dict.fromkeys(spelling for word in held if word for spelling in (word, unquote(word)))]


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under their whole names.

    >>> flat({"hnsw": {"ef_search": 100}})
    {'hnsw.ef_search': 100}
    """
    names: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            names |= {f"{name}.{inner}": given for inner, given in value.items()}
        else:
            names[name] = value
    return names
