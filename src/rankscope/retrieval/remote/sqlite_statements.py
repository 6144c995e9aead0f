"""The SQL of the system sqlite: its tables, and one statement for each way of searching."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rankscope.retrieval.remote.sql_engine import RankFusion, fused

Tokenizer = Literal["unicode61", "porter", "trigram"]
Match = Literal["any", "all"]
Storage = Literal["scan", "vec0"]
Quantisation = Literal["none", "int8", "bit"]

STATES = (
    "CREATE TABLE IF NOT EXISTS rankscope_indexes (number INTEGER PRIMARY KEY AUTOINCREMENT, "
    "name TEXT NOT NULL UNIQUE, content TEXT NOT NULL, documents INTEGER NOT NULL, "
    "complete INTEGER NOT NULL, made_by TEXT NOT NULL)"
)
"""Says of each index in a file what it is of, and how far it is."""

LARGEST_K = 4096
"""How many neighbours vec0 finds at most."""

NOTHING = "SELECT CAST(0 AS bigint) AS position, CAST(0 AS double precision) AS score WHERE 1 = 0"


@dataclass(frozen=True, slots=True)
class Layout:
    """The tables of one index, by its number.

    ``columns`` is how many columns of text there are, 0: no words are searched; ``size`` is the
    length of a vector, 0: there are none.
    """

    number: int
    columns: int
    size: int
    tokenizer: Tokenizer
    storage: Storage
    quantisation: Quantisation

    def table(self, kind: Literal["documents", "words", "vectors", "values"]) -> str:
        """Return what a table is called."""
        return f"index_{self.number}_{kind}"

    def create(self) -> list[str]:
        """Return what makes the tables."""
        documents = "position INTEGER PRIMARY KEY, id TEXT NOT NULL, embedding BLOB"
        values = "field TEXT, value TEXT, position INTEGER, PRIMARY KEY (field, value, position)"
        statements = [
            f"CREATE TABLE {self.table('documents')} ({documents})",
            f"CREATE TABLE {self.table('values')} ({values}) WITHOUT ROWID",
        ]
        if self.columns:
            names = ", ".join(f"field_{at}" for at in range(self.columns))
            tokenizer = "porter unicode61" if self.tokenizer == "porter" else self.tokenizer
            statements.append(
                f"CREATE VIRTUAL TABLE {self.table('words')} USING fts5({names}, content='', "
                f"tokenize='{tokenizer}')"
            )
        if self.size and self.storage == "vec0":
            kind = {"none": "float", "int8": "int8", "bit": "bit"}[self.quantisation]
            metric = "" if self.quantisation == "bit" else " distance_metric=cosine"
            statements.append(
                f"CREATE VIRTUAL TABLE {self.table('vectors')} USING vec0(position INTEGER PRIMARY "
                f"KEY, vector {kind}[{self.size}]{metric})"
            )
        elif self.size:
            statements.append(
                f"CREATE TABLE {self.table('vectors')} (position INTEGER PRIMARY KEY, vector BLOB)"
            )
        return statements

    def drop(self) -> list[str]:
        """Return what takes the tables away."""
        kinds = ("documents", "words", "vectors", "values")
        return [f"DROP TABLE IF EXISTS {self.table(kind)}" for kind in kinds]  # type: ignore[arg-type]

    def stored(self, vector: str) -> str:
        """Return SQL for a vector as it is stored; ``vector`` is SQL for one of floats."""
        return {
            "none": f"vec_f32({vector})",
            "int8": f"vec_quantize_int8({vector}, 'unit')",
            "bit": f"vec_quantize_binary({vector})",
        }[self.quantisation]

    def words(self, weights: Sequence[int], allowed: str) -> str:
        """Return SQL that searches words: positions and scores, the best ``:limit``."""
        table = self.table("words")
        factors = "".join(f", {float(weight)!r}" for weight in weights)
        # the + keeps FTS5 from searching once for each document that is allowed
        where = f"{table} MATCH :words{f' AND +rowid IN ({allowed})' if allowed else ''}"
        return (
            f"SELECT rowid AS position, -bm25({table}{factors}) AS score FROM {table} "
            f"WHERE {where} ORDER BY score DESC, position LIMIT :limit"
        )

    def near(self, allowed: str, *, rescored: bool) -> str:
        """Return SQL that searches vectors: positions and scores, the best ``:limit``.

        ``rescored``: of ``:candidates`` of them the full vectors are compared.
        """
        limit = ":candidates" if rescored else ":limit"
        query = self.stored(":vector")
        if self.storage == "vec0":
            where = f"vector MATCH {query} AND k = {limit}"
            where += f" AND position IN ({allowed})" if allowed else ""
            score = self._score("distance")
        else:
            where = f"position IN ({allowed})" if allowed else "1 = 1"
            kind = {"none": "vec_f32", "int8": "vec_int8", "bit": "vec_bit"}[self.quantisation]
            distance = "hamming" if self.quantisation == "bit" else "cosine"
            score = self._score(f"vec_distance_{distance}({kind}(vector), {query})")
        search = f"SELECT position, {score} AS score FROM {self.table('vectors')} WHERE {where}"
        if self.storage == "scan":
            search = f"{search} ORDER BY score DESC, position LIMIT {limit}"
        if not rescored:
            return search
        exact = "1.0 - vec_distance_cosine(vec_f32(documents.embedding), vec_f32(:vector))"
        return (
            f"SELECT documents.position AS position, {exact} AS score FROM ({search}) AS "
            f"candidates JOIN {self.table('documents')} AS documents ON documents.position = "
            "candidates.position ORDER BY 2 DESC, 1 LIMIT :limit"
        )

    def _score(self, distance: str) -> str:
        """Return SQL for a similarity; of bits, the share that agree, from -1 to 1."""
        if self.quantisation == "bit":
            return f"1.0 - 2.0 * {distance} / {self.size}"
        return f"1.0 - {distance}"

    def named(self, search: str) -> str:
        """Return SQL for ids and scores, the best ``:depth``, of SQL for positions and scores."""
        return (
            f"SELECT documents.id, answers.score FROM ({search}) AS answers JOIN "
            f"{self.table('documents')} AS documents ON documents.position = answers.position "
            "ORDER BY answers.score DESC, answers.position LIMIT :depth"
        )

    def hybrid(self, words: str, near: str, fusion: RankFusion) -> str:
        """Return SQL for positions and scores of both searches; an empty one finds nothing."""
        return fused(words or NOTHING, near or NOTHING, fusion)

    def allowed(self, filters: Mapping[str, Sequence[str]]) -> tuple[str, dict[str, Any]]:
        """Return SQL for the positions of documents that pass filters, and its parameters."""
        parts: list[str] = []
        parameters: dict[str, Any] = {}
        for at, (name, texts) in enumerate(filters.items()):
            parameters |= {f"field_{at}": name, f"allowed_{at}": json.dumps(list(texts))}
            parts.append(
                f"SELECT position FROM {self.table('values')} WHERE field = :field_{at} AND value "
                f"IN (SELECT json_each.value FROM json_each(:allowed_{at}))"
            )
        return " INTERSECT ".join(parts), parameters


def match_expression(text: str, match: Match, tokenizer: Tokenizer, *, prefix: bool) -> str:
    """Return a query in the language of FTS5: each word of a text once, quoted; empty: no words.

    >>> match_expression('leek "soup*', "any", "unicode61", prefix=False)
    '"leek" OR "soup"'
    """
    if tokenizer == "trigram":
        words = [word for word in text.replace("\0", " ").split() if len(word) > 2]
    else:
        kept = (letter if _is_in_word(letter) else " " for letter in text)
        words = [word for word in "".join(kept).split() if any(map(_is_letter, word))]
    words = list({word.casefold(): word for word in words}.values())  # each costs time
    quoted = ['"' + word.replace('"', '""') + '"' + ("*" if prefix else "") for word in words]
    return (" OR " if match == "any" else " AND ").join(quoted)


def _is_letter(sign: str) -> bool:
    """Tell whether FTS5 takes a sign for a part of a word."""
    kind = unicodedata.category(sign)
    return kind[0] in "LN" or kind == "Co"


def _is_in_word(sign: str) -> bool:
    """Tell whether a sign belongs to a word; the vowel signs of many scripts are marks."""
    return _is_letter(sign) or unicodedata.category(sign)[0] == "M"
