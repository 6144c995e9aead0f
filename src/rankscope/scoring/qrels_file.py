"""Qrels in a plain TREC file, read by the native scan: columns without Polars.

A table (`rankscope.Qrels`) is made of the same file when something asks for one.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import RankscopeError
from rankscope.files import read_bytes
from rankscope.scoring.scans import PackedPairs
from rankscope.tables.columns import LARGEST_GRADE, NO_QUESTIONS, QRELS, are_whole
from rankscope.tables.native import address_of, library, taken
from rankscope.tables.trec_file import TrecFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankscope.collection.qrels import Qrels
    from rankscope.files import PathLike
    from rankscope.measures.judged import FloatArray, IntArray


class QrelsFile:
    """Judgments as columns: what `Judgments` needs of qrels, and no more."""

    is_listed = False
    no_answer: tuple[str, ...] = ()
    questions = NO_QUESTIONS
    subtopics = None

    def __init__(self, pairs: PackedPairs, grades: FloatArray) -> None:
        self.packed = pairs
        self.grades = grades
        self.languages: Mapping[str, str] = {}

    @classmethod
    def read(cls, path: PathLike) -> QrelsFile | None:
        """Read a file; None if it is not plainly right, and then the reader of tables is asked."""
        file = TrecFile.recognised(path, QRELS)
        if file is None:
            return None
        try:
            return cls._of(read_bytes(path)[file.skipped :])
        except RankscopeError:
            return None

    @classmethod
    def _of(cls, data: Any) -> QrelsFile | None:
        """Make them of lines, those of each query together."""
        seed = int.from_bytes(os.urandom(8), "little")
        for result in taken(library().rs_pairs(address_of(data), len(data), seed)):
            if not result.rows or not result.alike:
                return None  # nothing is there, or there are subtopics
            sizes = result.array("sizes", np.int64, result.stretches)
            pairs = PackedPairs(
                result.bytes_at("query_text", result.query_size),
                result.array("query_ends", np.int64, result.stretches + 1),
                np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
                result.bytes_at("doc_text", result.doc_size),
                result.array("doc_ends", np.int64, result.rows + 1),
            )
            grades = result.array("numbers", np.float64, result.rows)
            if np.abs(grades).max() > LARGEST_GRADE:
                return None
            if are_whole(grades):
                grades = grades + 0.0  # as integers are: -0 is 0
            read = cls(pairs, grades)
            return read if len(set(read.query_ids)) == result.stretches else None
        return None

    @property
    def offsets(self) -> IntArray:
        """Where the pairs of each query begin."""
        return self.packed.pair_offsets

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """The queries, in the order of the file."""
        return self.packed.query_ids()

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{query_id: {doc_id: grade}}``, with whole numbers where all grades are such."""
        whole = are_whole(self.grades)
        grades = (self.grades.astype(np.int64) if whole else self.grades).tolist()
        documents = self.packed.doc_ids()
        edges = self.offsets.tolist()
        return {
            query_id: dict(zip(documents[low:high], grades[low:high], strict=True))
            for query_id, low, high in zip(self.query_ids, edges, edges[1:], strict=False)
        }

    def table(self) -> Qrels:
        """Return the qrels as a table."""
        from rankscope.collection.qrels import Qrels  # noqa: PLC0415

        documents = self.packed.doc_ids()
        return Qrels.from_columns(self.query_ids, self.offsets, documents, self.grades)
