"""The options of the system postgres, and which of them go together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Literal, Self
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import Field, ValidationInfo, model_validator

from rankscope.errors import shown
from rankscope.retrieval.options import Secret, Snapshot, SpecError, Text
from rankscope.retrieval.remote.idle_options import OnlyFor
from rankscope.retrieval.remote.sql_engine import SqlOptions

VectorIndex = Literal["exact", "hnsw", "ivfflat"]
Quantisation = Literal["none", "half", "bit"]

STATES_TABLE = "rankscope_indexes"
"""The table that says how far each index is."""

LARGEST_NAME = 63
"""Bytes of a name in PostgreSQL; it would cut off the rest."""

WITH_SQL = frozenset({"sql", "dsn", "snapshot", "embedder", "query_prefix"})
"""The options that are used where the user's SQL answers."""


class PostgresOptions(SqlOptions):
    """Where the server is, how words are matched, how vectors are indexed, or your SQL."""

    of_words: ClassVar[tuple[str, ...]] = ("language", "match", "rank", "normalization")
    of_vectors: ClassVar[tuple[str, ...]] = ("vectors", "quantisation")
    of_index: ClassVar[tuple[OnlyFor, ...]] = (
        OnlyFor(("m", "ef_construction", "ef_search", "max_scan_tuples"), "vectors", ("hnsw",)),
        OnlyFor(("lists", "probes", "max_probes"), "vectors", ("ivfflat",)),
        OnlyFor(("iterative_scan",), "vectors", ("hnsw", "ivfflat")),
        OnlyFor(
            ("max_scan_tuples", "max_probes"), "iterative_scan", ("relaxed_order", "strict_order")
        ),
        OnlyFor(("rescore",), "quantisation", ("bit",)),
    )

    dsn: Secret | None = None
    """postgresql://user:password@host:port/database, or host=… dbname=…; never recorded. If not
    given, the variables of libpq: PGHOST, PGUSER, PGPASSWORD and so on."""
    sql: Text | None = None
    """A SELECT of yours over tables that are there, instead of loading the corpus. It is given
    %(query)s, %(depth)s, %(vector)s and the metadata of the query by name, and returns ids and
    scores, best first, or ids alone."""
    snapshot: Snapshot | None = None
    """With sql, what your tables hold, in your words, such as a date; answers are kept under it. If
    not given, they are asked for again by each process."""
    schema_name: Text = "rankscope"
    """The schema that holds the tables that are loaded."""
    language: Text = "english"
    """The text search configuration: english, german, simple, or one that you made."""
    match: Literal["websearch", "all", "any"] = "websearch"
    """websearch: websearch_to_tsquery, where a document needs all words, and quotes, or and - have
    a meaning. all: all words, and signs mean nothing. any: one word is enough, as in bm25."""
    rank: Literal["ts_rank_cd", "ts_rank"] = "ts_rank_cd"
    """What scores a document: how near the words are to each other, or how often they occur."""
    normalization: int = Field(default=0, ge=0, le=63)
    """How the length of a document counts, as PostgreSQL numbers it: 0 not at all, 1 by 1 + its
    logarithm, 2 by itself; numbers are added up."""
    vectors: VectorIndex = "exact"
    """exact: every vector is compared. hnsw, ivfflat: the indexes of pgvector."""
    quantisation: Quantisation = "none"
    """How vectors are compared: none (float32), half (float16), or bit (a bit for each number)."""
    rescore: int = Field(default=4, ge=0, le=1000)
    """With bits, how many candidates for each document asked for are compared again by their full
    vectors; 0: none."""
    m: int = Field(default=16, ge=2, le=100)
    """hnsw: how many neighbours each vector is linked to."""
    ef_construction: int = Field(default=64, ge=4, le=1000)
    """hnsw: how many candidates are looked at when a vector is added; at least twice m."""
    ef_search: int = Field(default=40, ge=1, le=1000)
    """hnsw: how many candidates a search keeps, and so how many documents it finds at most, unless
    iterative_scan is on."""
    lists: int = Field(default=100, ge=1, le=32_768)
    """ivfflat: into how many lists vectors are sorted."""
    probes: int = Field(default=1, ge=1, le=32_768)
    """ivfflat: how many lists a search looks at."""
    iterative_scan: Literal["off", "relaxed_order", "strict_order"] = "off"
    """Whether a search goes on until it has enough documents that pass the filters (pgvector 0.8);
    ivfflat knows off and relaxed_order."""
    max_scan_tuples: int = Field(default=20_000, ge=1)
    """hnsw with iterative_scan: after so many vectors a search ends."""
    max_probes: int = Field(default=32_768, ge=1, le=32_768)
    """ivfflat with iterative_scan: after so many lists a search ends."""
    maintenance_work_mem: Text | None = None
    """Memory for making indexes, such as 1GB; if not given, what the server is set to."""

    def idle_rules(self) -> Sequence[OnlyFor]:
        """Return what options have an effect only with which others; beside sql, few may be."""
        return super().idle_rules() if self.sql is None else ()

    @model_validator(mode="after")
    def _together(self, info: ValidationInfo) -> Self:
        """Refuse options that do not go together; not before all values are known."""
        values = (getattr(self, name) for name in self.model_fields_set - {"dsn"})
        is_open = any(isinstance(value, str) and "${" in value for value in values)
        if not (is_open and info.context and info.context.unexpanded):
            self._check_sql()
            self._check_vectors()
            self._check_names()
        return self

    def _check_sql(self) -> None:
        if self.sql is None and self.snapshot is not None:
            problem = "snapshot is for sql; what is loaded is known by its content"
            raise SpecError(problem, ("snapshot",))
        if self.sql is None:
            return
        others = sorted(self.model_fields_set - WITH_SQL)
        if others:
            raise SpecError(
                f"expected no {others[0]} beside sql, which says itself what is searched; leave "
                "one of them out",
                (others[0],),
            )
        if "vector" in placeholders(self.sql):
            return
        for name in ("embedder", "query_prefix"):
            if name in self.model_fields_set:
                problem = f"{name} is for sql that uses %(vector)s, and this does not; leave it out"
                raise SpecError(problem, (name,))

    def _check_vectors(self) -> None:
        if self.vectors == "hnsw" and self.ef_construction < 2 * self.m:
            problem = f"expected at least twice m, {2 * self.m}, got {self.ef_construction}"
            raise SpecError(problem, ("ef_construction",))
        if self.vectors == "ivfflat" and self.iterative_scan == "strict_order":
            problem = "ivfflat knows off and relaxed_order, not strict_order"
            raise SpecError(problem, ("iterative_scan",))

    def _check_names(self) -> None:
        for key, name in (("schema_name", self.schema_name), ("index", self.index or "")):
            if len(name.encode()) > LARGEST_NAME or "\0" in name or name == STATES_TABLE:
                raise SpecError(
                    f"expected a name of up to {LARGEST_NAME} bytes other than {STATES_TABLE}, "
                    f"got {shown(name)}",
                    (key,),
                )
        weights = {*(self.fields or {}).values()}
        if len(weights) > len("ABCD") and self.search != "vector":
            raise SpecError(
                f"PostgreSQL knows four weights, A to D, but the fields have {len(weights)}: "
                f"{', '.join(map(str, sorted(weights)))}; give some fields the same",
                ("fields",),
            )

    @classmethod
    def gives_away(cls, option: str, value: str) -> bool:
        """Tell whether a dsn holds a password; one without may be written down."""
        return bool(passwords(Secret(value))) if option == "dsn" else True

    def secrets(self) -> list[str]:
        """Return the values that must not be shown: the dsn, and the password in it."""
        return [] if self.dsn is None else [self.dsn.get_secret_value(), *passwords(self.dsn)]


def passwords(dsn: Secret) -> list[str]:
    """Return the passwords that a dsn holds, as it writes them and as they are."""
    text = dsn.get_secret_value()
    held = [
        (quoted or plain).replace("\\'", "'").replace("\\\\", "\\")
        for quoted, plain in re.findall(r"password\s*=\s*(?:'((?:\\.|[^'\\])*)'|([^\s&]+))", text)
    ]
    try:
        parts = urlsplit(text)
        held += [parts.password or "", *parse_qs(parts.query).get("password", ())]
    except ValueError:  # no address at all, or a broken one: what is between : and @
        held += re.findall(r"://[^/@]*:([^@]*)@", text)
    return [*dict.fromkeys(spelling for word in held if word for spelling in (word, unquote(word)))]


_PLACEHOLDER = re.compile(r"%(?:\((?P<name>[^)]*)\)(?P<format>.)|(?P<other>.|$))", re.DOTALL)


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
            raise SpecError(
                f"expected %(name)s, or %% for the sign itself, got {shown(match[0])}", ("sql",)
            )
        names[match["name"]] = None
    missing = "" if "depth" in names else "%(depth)s"
    if "query" not in names and "vector" not in names:
        missing = "%(query)s or %(vector)s"
    if missing:
        raise SpecError(f"expected SQL that uses {missing}, got {shown(sql)}", ("sql",))
    return list(names)
