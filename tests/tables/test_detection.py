"""One detector: the same look at a file tells its format for every kind of table."""

from __future__ import annotations

import pytest

from rankscope.collection.corpus import CORPUS
from rankscope.collection.queries import QUERIES
from rankscope.tables.columns import QRELS, RUN, Layout
from rankscope.tables.detection import detect_format, sniff

LAYOUTS: tuple[Layout, ...] = (QRELS, RUN, QUERIES, CORPUS)


@pytest.mark.parametrize(
    ("content", "suffix", "formats"),
    [  # the formats as qrels, run, queries and corpus
        ("PAR1", "", "parquet parquet parquet parquet"),
        ("q 0 d 1\n", "", "trec trec - -"),
        ("# by x, y, z\nq Q0 d 1 2.5 t\n", "", "trec trec - -"),
        ("q\td\t1\n", ".tsv", "trec trec tsv tsv"),
        ("q,d,1\n", "", "csv csv - -"),
        ("q,d,1\n", ".csv", "csv csv csv csv"),
        ("query_id;doc_id;score\n", "", "csv csv csv csv"),
        ("query-id\tcorpus-id\tscore\n", "", "tsv tsv tsv tsv"),
        ("_id,text\n", "", "trec trec csv csv"),
        ("<top>\n<num> 1\n", "", "trec trec trec -"),
        ("<top>\t1\n", ".tsv", "trec trec tsv tsv"),
        ('{"q": {"d": 1}}', "", "json json json json"),
        ('{"_id": "1", "text": "x"}', "", "json json json json"),
        ('{"_id": "1", "text": "x"}', ".json", "json json json json"),
        ('{"_id": "1"}\n{"_id": "2"}\n', ".json", "jsonl jsonl jsonl jsonl"),
        ('{"_id": "1", "text": "' + "x" * 70_000, "", "json json json json"),
        ('{"q": {"' + "x" * 70_000, "", "json json json json"),
        ('[{"_id": "1"}]', ".jsonl", "json json json json"),
        ('[\n{"_id": "' + "x" * 70_000, "", "json json json json"),
        ("{a} Q0 d 1 2.5 t\n", "", "trec trec - -"),
        ("words", ".jsonl", "jsonl jsonl jsonl jsonl"),
        ("\ufeff_id\ttext\r\n", "", "trec trec tsv tsv"),
    ],
)
def test_formats(content: str, suffix: str, formats: str) -> None:
    sniffed = sniff(content.encode()[: 1 << 16], suffix)
    assert " ".join(detect_format(sniffed, layout) or "-" for layout in LAYOUTS) == formats
