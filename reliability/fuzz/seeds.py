"""Valid input to begin with: tables in every format, a config, scores, and two experiments.

Clocks stand still while the experiments are made, so that all bytes are the same each time.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl

from rankscope.benchmark import run as benchmark_run
from rankscope.benchmark import write as benchmark_write
from rankscope.cli import main
from rankscope.collection.corpus import Corpus
from rankscope.collection.qrels import Qrels
from rankscope.collection.queries import Queries
from rankscope.files import COMPRESSIONS
from rankscope.runs.table import Run
from rankscope.tables.frames import parquet_bytes

_RUN = Run(
    {"q1": {"d1": 2.5, "dö": 1.5, "d3": 1.5}, "007": {'"x,y"': 0.5, "d1": 0.5}, "q3": {"d2": 1}},
    name="bm25",
)
_OTHER = Run({"q1": {"d3": 3, "d1": 2}, "007": {"d1": 1}, "q3": {"d2": 2, "d1": 1}}, name="dense")
_QRELS = Qrels({"q1": {"d1": 2, "d3": 0}, "007": {"d1": 1, "x": 0}, "q3": {"d2": 1, "d1": 1}})
_SUBTOPICS = Qrels({"q1": {"d1": {"1": 2, "2": 0}}, "007": {"x": {"1": 1}}})
_QUERIES = Queries(
    {
        "q1": {"text": "apple pie", "group": "a", "weight": 2, "tags": ["x", "y"]},
        "007": {"text": 'the "best" bread, really', "group": "b", "weight": 1.5, "more": {"a": 1}},
        "q3": {"text": "café\nau lait", "group": "a"},
    }
)
_CORPUS = Corpus(
    {
        "d1": {"title": "Apples", "text": "apple pie and more"},
        "d2": {"title": "", "text": "bread\tand butter", "year": 1999},
        "dö": {"title": "Émile", "text": "naïve", "parts": [1, 2]},
        "d3": {"text": "nothing"},
    }
)
_TABLES: dict[str, tuple[Any, ...]] = {
    "run": (_RUN, _OTHER),
    "qrels": (_QRELS, _SUBTOPICS),
    "queries": (_QUERIES,),
    "corpus": (_CORPUS,),
}
_SUFFIXES = {
    "run": (".run", ".csv", ".tsv", ".json", ".jsonl", ".parquet"),
    "qrels": (".qrels", ".csv", ".tsv", ".json", ".jsonl", ".parquet"),
    "queries": (".tsv", ".csv", ".json", ".jsonl"),
    "corpus": (".tsv", ".csv", ".json", ".jsonl"),
}
_SGML_TOPICS = b"""<top>
<num> Number: 1
<title> apple pie
<desc> Description:
Which apples, and for a < b?
</top>
<top>
<num> Number: 2 </num>
<title> bread & butter </title>
</top>
"""
_XML_TOPICS = b"""<?xml version="1.0" encoding="UTF-8"?>
<topics>
<topic number="1"><query>apple pie</query><narrative><![CDATA[a <b> &amp;]]></narrative></topic>
<topic number="2" type="faceted"><query>bread &amp; butter</query>
<subtopic number="1">salted</subtopic></topic>
</topics>
"""

CONFIG = """\
name: small
collection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv}
systems:
  words: bm25
  more: {bm25: {k1: 0.4, b: 0.3}}
  both: {fuse: {of: [words, more], method: rrf, k: 60}}
depth: 10
baseline: words
measures: [nDCG@5, RR@10, R@10]
targets: {nDCG@5: 0.4}
segments: [group]
statistics: {resamples: 100, seed: 3, alpha: 0.05}
"""
TARGETS = """\
name: ours
source: a wish
measures:
  nDCG@10: {target: 0.4, bands: {poor: 0.1, fair: 0.3, good: 0.5}}
  RR@10: {target: 0.5}
"""


_DOCUMENTS = b"""<DOC>
<DOCNO> d1 </DOCNO><HEADLINE><P>Apples &amp; more</P></HEADLINE>
<TEXT>apple <b>pie</TEXT><DATE>1999</DATE>
</DOC>
<DOC><DOCNO>d2</DOCNO>bread<!-- and --> butter</DOC>
"""
_SPAN: dict[str, Any] = {
    "traceId": "5b8efff798038103d269b633813fc60c",
    "spanId": "eee19b7ec3c1b174",
    "attributes": [
        {"key": "openinference.span.kind", "value": {"stringValue": "RETRIEVER"}},
        {"key": "input.value", "value": {"stringValue": "apple pie"}},
        {"key": "retrieval.documents.0.document.id", "value": {"stringValue": "d1"}},
        {"key": "retrieval.documents.0.document.score", "value": {"doubleValue": 0.5}},
        {"key": "retrieval.documents.1.document.id", "value": {"stringValue": "d2"}},
        {"key": "retrieval.documents.1.document.score", "value": {"intValue": "0"}},
        {"key": "retrieval.documents.1.document.metadata", "value": {"stringValue": '{"a": 1}'}},
    ],
}
_FLAT = {
    "context.trace_id": "t1",
    "context.span_id": "s1",
    "span_kind": "RETRIEVER",
    "attributes.input.value": "bread",
    "attributes.retrieval.documents": [{"document.id": "d2", "document.score": 1.5}],
}
_GENAI = {
    "trace_id": "t2",
    "span_id": "s2",
    "attributes": {"gen_ai.retrieval.documents": '[{"id": "d1", "score": 0.9}]'},
}
_BATCH = {"resourceSpans": [{"scopeSpans": [{"spans": [_SPAN, _SPAN]}]}]}
_TRACES = "".join(f"{json.dumps(line)}\n" for line in (_BATCH, _FLAT, _GENAI)).encode()
_CASES = {
    "metadata": {"dataset_id": "a", "language": "de"},
    "test_cases": [
        {"case_id": "q1", "text": "Brot", "expected_hpo_ids": ["HP:0000001", "d1"]},
        {"text": "Salz", "expected_hpo_ids": [], "difficulty": "easy", "no_answer": True},
    ],
}
_ANSWERS = {
    "q1": {"metadatas": [[{"hpo_id": "HP:0000001"}, {"hpo_id": "d1"}]], "distances": [[0.1, 0.2]]},
    "q2": {"ids": [["a", "b"]], "metadatas": [[{"hpo_id": "x"}, {"hpo_id": "x"}]]},
}
_READ_ONLY = {  # formats that are not written
    "run": {
        ".jsonl": _TRACES,
        ".json": json.dumps(_BATCH, indent=1).encode(),
        ".chroma.json": json.dumps(_ANSWERS, indent=1).encode(),
    },
    "qrels": {".cases.json": json.dumps(_CASES, indent=1).encode()},
    "queries": {
        ".parquet": parquet_bytes(pl.DataFrame([{"_id": "q1", "text": "soup", "year": 2001}])),
        ".xml": _XML_TOPICS,
        ".topics": _SGML_TOPICS,
        ".cases.json": json.dumps(_CASES, indent=1).encode(),
    },
    "corpus": {
        ".parquet": parquet_bytes(pl.DataFrame([{"_id": "d1", "title": None, "tags": ["a"]}])),
        ".sgml": _DOCUMENTS,
    },
}


_OBO = b"""format-version: 1.2
data-version: toy/1

[Term]
id: T:0
name: root

[Term]
id: T:1
name: one \\! escaped
alt_id: T:9
def: "The \\"first\\" one" [x:y] {a="b"}
synonym: "uno" EXACT layperson [x:y]
is_a: T:0 ! root
relationship: part_of T:2

[Term]
id: T:2
is_a: T:0
is_a: T:77

[Term]
id: T:3
is_obsolete: true
replaced_by: T:1
"""


def ontologies() -> dict[str, list[bytes]]:
    """Return the content of valid ontologies, by suffix."""
    return {
        ".obo": [_OBO],
        ".tsv": [b"child\tparent\tlabel\tsynonyms\na\tr\tA\tx|y\nb\ta\n\n# c\nb\tr\n"],
        ".obo.gz": [gzip.compress(_OBO, mtime=0)],
    }


def tables(folder: Path) -> dict[str, dict[str, list[bytes]]]:
    """Return by kind and suffix the content of valid files; ``folder`` is for writing them."""
    contents: dict[str, dict[str, list[bytes]]] = {}
    for kind, examples in _TABLES.items():
        contents[kind] = {}
        for suffix in _SUFFIXES[kind]:
            for packed in ("", *COMPRESSIONS):
                for table in examples:
                    path = folder / f"a{suffix}{packed}"
                    table.write(path)
                    contents[kind].setdefault(suffix + packed, []).append(path.read_bytes())
                    path.unlink()
        for suffix, content in _READ_ONLY.get(kind, {}).items():
            contents[kind].setdefault(suffix, []).append(content)
    return contents


def world(folder: Path) -> None:
    """Write what commands are tried on: files of all kinds, and experiments in ``experiments``."""
    _QRELS.write(folder / "qrels.txt", format="trec")
    _QRELS.write(folder / "qrels.tsv")
    Run({"q1": {"d1": 2.5, "d3": 1.5}, "007": {"d1": 0.5}, "q3": {"d2": 1}}, name="bm25").write(
        folder / "a.run"
    )
    _OTHER.write(folder / "b.run")
    _QUERIES.write(folder / "queries.jsonl")
    _CORPUS.write(folder / "corpus.jsonl")
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "targets.yaml").write_text(TARGETS)
    for name in "ab":
        _command(
            *("evaluate", f"{folder}/qrels.txt", f"{folder}/{name}.run", "--per-query"),
            *("--format", "json", "-o", f"{folder}/{name}.scores.json"),
        )
    with _stopped_clocks():
        for k1 in ("0.4", "1.4"):
            benchmark_run.run_benchmark(
                folder / "config.yaml",
                output=folder / "experiments",
                cache=folder / "cache",
                settings=[f"systems.more.bm25.k1={k1}"],
            )
    shutil.rmtree(folder / "cache")
    for place, path in enumerate(sorted((folder / "experiments").iterdir())):
        path.rename(path.with_name("xy"[place]))


def _command(*arguments: str) -> None:
    try:
        with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")):
            main(arguments)
    except SystemExit as ended:
        if ended.code not in (0, 1):
            raise RuntimeError(f"the seed {json.dumps(arguments)} was not made") from None


@contextmanager
def _stopped_clocks() -> Iterator[None]:
    with (
        patch.object(time, "perf_counter", lambda: 0.0),
        patch.object(benchmark_run, "now", lambda: "2026-01-01T00:00:00Z"),
        patch.object(benchmark_write, "now", lambda: "2026-01-01T00:00:01Z"),
    ):
        yield
