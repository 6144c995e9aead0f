"""The SQL of the system postgres: its tables, and one statement for each way of searching.

Every value is a parameter; names of tables are quoted, and numbers are numbers of checked options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rankscope.retrieval.remote.postgres_options import STATES_TABLE, PostgresOptions
from rankscope.retrieval.remote.sql_engine import fused

LARGEST = {"none": 2000, "half": 4000, "bit": 64_000}
"""The longest vectors that an index of pgvector takes, by quantisation."""

_NOTHING = "SELECT CAST(0 AS bigint) AS position, CAST(0 AS double precision) AS score WHERE false"

_ANY_WORD = (
    "(SELECT string_agg('''' || replace(replace(word, '\\', '\\\\'), '''', '''''') || '''', ' | ')"
    "::tsquery FROM unnest(tsvector_to_array(to_tsvector({language}, %(query)s))) AS word)"
)
"""Each word of the query, quoted as tsquery wants it; null if there is none."""


def identifier(*names: str) -> str:
    """Return a name as SQL, for a statement with parameters.

    >>> identifier("my schema", 'a"b%')
    '"my schema"."a""b%%"'
    """
    return ".".join('"' + name.replace('"', '""') + '"' for name in names).replace("%", "%%")


def literal(text: str) -> str:
    """Return a text as SQL, for a statement with parameters."""
    doubled = text.replace("\\", "\\\\").replace("'", "''").replace("%", "%%")
    return f"E'{doubled}'"


def vector_text(vector: Any) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


class Statements:
    """The statements of one index: its table, how many fields of text it has, its vectors' size."""

    def __init__(
        self, options: PostgresOptions, name: str, weights: Sequence[int], size: int
    ) -> None:
        self._options = options
        self._weights = weights
        self.size = size
        self.table = identifier(options.schema_name, name)
        self.states = identifier(options.schema_name, STATES_TABLE)
        self.language = f"{literal(options.language)}::regconfig"
        self.filters = sorted(options.filters)

    @property
    def has_words(self) -> bool:
        """Whether words are searched."""
        return self._options.search != "vector"

    @property
    def has_vectors(self) -> bool:
        """Whether vectors are searched."""
        return self._options.search != "text"

    @property
    def _type(self) -> Literal["vector", "halfvec"]:
        return "halfvec" if self._options.quantisation == "half" else "vector"

    # --- making ----------------------------------------------------------------------------------

    def make_states(self) -> str:
        """Return what makes the table that says how far each index is."""
        return (
            f"CREATE TABLE IF NOT EXISTS {self.states} (name text PRIMARY KEY, content text NOT "
            "NULL, documents bigint NOT NULL, complete boolean NOT NULL, made_by text NOT NULL, "
            "made_at timestamptz NOT NULL DEFAULT now())"
        )

    def create(self) -> str:
        """Return what makes the table of documents."""
        columns = ["position bigint PRIMARY KEY", "id text NOT NULL"]
        if self.has_words:
            columns += [f"field_{at} text NOT NULL" for at in range(len(self._weights))]
            columns.append(f"words tsvector GENERATED ALWAYS AS ({self._tsvector()}) STORED")
        if self.has_vectors:
            columns.append(f"embedding {self._type}({self.size})")
        columns += [f"allowed_{at} text[] NOT NULL" for at in range(len(self.filters))]
        return f"CREATE TABLE {self.table} ({', '.join(columns)})"

    def copy(self) -> str:
        """Return what takes documents, in the order of the columns of the table."""
        columns = ["position", "id"]
        if self.has_words:
            columns += [f"field_{at}" for at in range(len(self._weights))]
        columns += ["embedding"] if self.has_vectors else []
        columns += [f"allowed_{at}" for at in range(len(self.filters))]
        return f"COPY {self.table} ({', '.join(columns)}) FROM STDIN (FORMAT binary)"

    def indexes(self) -> list[str]:
        """Return what makes the indexes, after all documents are there."""
        options, statements = self._options, []
        if self.has_words:
            statements.append(f"CREATE INDEX ON {self.table} USING gin (words)")
        statements += [
            f"CREATE INDEX ON {self.table} USING gin (allowed_{at})"
            for at in range(len(self.filters))
        ]
        if self.has_vectors and options.vectors != "exact":
            if options.quantisation == "bit":
                column = f"(binary_quantize(embedding)::bit({self.size})) bit_hamming_ops"
            else:
                column = f"embedding {self._type}_cosine_ops"
            numbers = (
                f"m = {options.m}, ef_construction = {options.ef_construction}"
                if options.vectors == "hnsw"
                else f"lists = {options.lists}"
            )
            statements.append(
                f"CREATE INDEX ON {self.table} USING {options.vectors} ({column}) WITH ({numbers})"
            )
        return statements

    def _letters(self) -> dict[int, str]:
        """Return the letter of each weight, the highest first."""
        return dict(zip(sorted({*self._weights}, reverse=True), "ABCD", strict=False))

    def _tsvector(self) -> str:
        letters = self._letters()
        return " || ".join(
            f"setweight(to_tsvector({self.language}, field_{at}), '{letters[weight]}')"
            for at, weight in enumerate(self._weights)
        )

    # --- searching -------------------------------------------------------------------------------

    def words(self, filters: Mapping[str, Sequence[str]]) -> str:
        """Return SQL that searches words: positions and scores, the best ``limit``."""
        options = self._options
        parsed = {
            "websearch": "websearch_to_tsquery({language}, %(query)s)",
            "all": "plainto_tsquery({language}, %(query)s)",
            "any": _ANY_WORD,
        }[options.match].format(language=self.language)
        by_letter = {letter: weight for weight, letter in self._letters().items()}
        top = max(self._weights)
        factors = ",".join(repr(by_letter.get(letter, 0) / top) for letter in "DCBA")
        score = (
            f"{options.rank}('{{{factors}}}'::real[], words, asked.query, {options.normalization})"
        )
        return (
            f"WITH asked AS MATERIALIZED (SELECT {parsed} AS query) SELECT position, "
            f"{score}::double precision AS score FROM asked CROSS JOIN {self.table} "
            f"WHERE words @@ asked.query{self._allowed(filters)} "
            "ORDER BY score DESC, position LIMIT %(limit)s"
        )

    def near(self, filters: Mapping[str, Sequence[str]]) -> str:
        """Return SQL that searches vectors: positions and scores, the best ``limit``.

        An index is used only where the order is that of the distance and of nothing else.
        """
        where = f"embedding IS NOT NULL{self._allowed(filters)}"
        asked = f"%(vector)s::{self._type}({self.size})"
        similarity = f"1 - (embedding <=> {asked})"
        if self._options.quantisation == "bit":
            return self._near_bits(where, asked, similarity)
        if self._options.vectors == "exact":
            return (
                f"SELECT position, {similarity} AS score FROM {self.table} WHERE {where} "
                "ORDER BY score DESC, position LIMIT %(limit)s"
            )
        return (
            f"SELECT position, {similarity} AS score FROM {self.table} WHERE {where} "
            f"ORDER BY embedding <=> {asked} LIMIT %(limit)s"
        )

    def _near_bits(self, where: str, asked: str, similarity: str) -> str:
        bits = f"bit({self.size})"
        distance = f"(binary_quantize(embedding)::{bits} <~> binary_quantize({asked})::{bits})"
        order = f"{distance}, position" if self._options.vectors == "exact" else distance
        rescored = self._options.rescore > 0
        score = similarity if rescored else f"1 - 2 * {distance} / {self.size}"
        search = (
            f"SELECT position, {score} AS score FROM {self.table} WHERE {where} ORDER BY {order} "
            f"LIMIT {'%(candidates)s' if rescored else '%(limit)s'}"
        )
        if not rescored:
            return search
        return (
            f"SELECT position, score FROM ({search}) AS candidates "
            "ORDER BY score DESC, position LIMIT %(limit)s"
        )

    def _allowed(self, filters: Mapping[str, Sequence[str]]) -> str:
        numbers = (self.filters.index(name) for name in filters)
        return "".join(f" AND allowed_{at} && %(allowed_{at})s::text[]" for at in numbers)

    def allowed_parameters(self, filters: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Return what documents must hold, by the name of the parameter."""
        return {
            f"allowed_{self.filters.index(name)}": [without_nul(text) for text in texts]
            for name, texts in filters.items()
        }

    def answered(self, words: str, near: str) -> str:
        """Return SQL for ids and scores of a search, or of both fused; an empty one finds none."""
        search = words or near
        if self._options.search == "hybrid":
            search = fused(words or _NOTHING, near or _NOTHING, self._options.fusion)
        return (
            f"SELECT documents.id, answers.score FROM ({search}) AS answers JOIN {self.table} AS "
            "documents ON documents.position = answers.position "
            "ORDER BY answers.score DESC, answers.position LIMIT %(depth)s"
        )


def without_nul(text: str) -> str:
    """Return a text without the one character that PostgreSQL cannot hold."""
    return text.replace("\0", " ")
