"""Files in the folder of an experiment: what they are called, and records that are read there."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from rankscope.files import check_regular, decoded, read_bytes
from rankscope.part import Record
from rankscope.tables.jsontext import parse_json

QUERIES, QRELS = "queries.parquet", "qrels.parquet"
"""The questions and judgments of an experiment."""

DOCUMENTS = "documents.parquet"
"""How the documents begin that are shown: those in the top of an answer, and the best judged."""

ONTOLOGY, ANNOTATIONS = "ontology.tsv.gz", "annotations.tsv.gz"
"""What nearness rests on, where documents are terms of an ontology."""

TIMINGS = "Timings.json"
"""What the clock says; with the pages, all that differs from one run to the next."""


class FileRecord(Record):
    """A record in a file of its own."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a record from its file, which may be anything."""
        source = str(path)
        check_regular(path)
        text = decoded(read_bytes(path), source=source)
        data = parse_json(text, source=source, only_finite=True)
        return cls.from_data(data, source=source)
