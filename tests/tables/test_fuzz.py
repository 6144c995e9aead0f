"""Whatever bytes a file holds: a table, or an error on purpose. Never anything else.

A short form: `python -m reliability.fuzz` goes on for as long as it may.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.errors import RankscopeError
from rankscope.files import COMPRESSIONS
from rankscope.runs.table import Run, read_run
from rankscope.runs.validation import validate_run

LAW = settings(max_examples=40, deadline=None)
SUFFIXES = (".run", ".csv", ".tsv", ".json", ".jsonl", ".parquet", "")

RUN = Run({"q1": {"d1": 2.5, "dö": 1.5}, "007": {'"x,y"': 0.5}})
QRELS = Qrels({"q1": {"d1": {"1": 2, "2": 0}}, "007": {"x": {"1": 1}}})


def contents(table: Run | Qrels) -> dict[str, bytes]:
    """Return the table as the bytes of every format and compression."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".run", ".csv", ".tsv", ".json", ".jsonl", ".parquet"):
            for packed in ("", *COMPRESSIONS):
                path = Path(folder) / f"a{suffix}{packed}"
                table.write(path)
                found[suffix + packed] = path.read_bytes()
    return found


VALID = {read_run: contents(RUN), read_qrels: contents(QRELS), validate_run: contents(RUN)}
readers = pytest.mark.parametrize("read", VALID, ids=lambda read: read.__name__)


def survives(read: Callable[..., Any], data: bytes, suffix: str) -> None:
    """Read the bytes; only an error on purpose may come out, and it must be one line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(data)
        message = "fine"
        try:
            read(path)
        except RankscopeError as error:
            message = str(error)
    assert message.strip()
    assert "\n" not in message


tokens = st.sampled_from(
    [
        *("q", "d", "1", "0.5", "nan", "1e999", "-", "é", "\x00", "\ufeff", '"qid"', '"d"', "null"),
        *("query_id", "doc_id", "score", "grade", "rank", "rater_1", "results"),
        *(" ", ",", "\t", ";", '"', "'", "#", "{", "}", "[", "]", ":", "\n", "\r\n"),
    ]
)
texts = st.lists(tokens, max_size=30).map(lambda parts: "".join(parts).encode())


@readers
@LAW
@given(data=st.binary(max_size=200) | texts, suffix=st.sampled_from(SUFFIXES))
@example(data=b"\x1f\x8b", suffix=".run")
@example(data=b"a\rb\tc\td", suffix=".tsv")
@example(data=b'"\n"', suffix=".csv")
def test_any_bytes(read: Callable[..., Any], data: bytes, suffix: str) -> None:
    survives(read, data, suffix)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats()
    | st.sampled_from(["q", "d", "", "1", "\ud800", "x\x00"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["qid", "doc", "score", "grade", "rank", "results", "relevant", "id", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@readers
@LAW
@given(value=json_values, suffix=st.sampled_from([".json", ".jsonl", ""]))
@example(value=[None, None, dict.fromkeys(["qid", "doc", "score", "grade"])], suffix="")
def test_any_json(read: Callable[..., Any], value: Any, suffix: str) -> None:
    survives(read, json.dumps(value).encode(), suffix)


@readers
@LAW
@given(data=st.data())
def test_spoilt_files(read: Callable[..., Any], data: st.DataObject) -> None:
    """A valid file of any format with a few bytes changed, cut out or put in."""
    suffix = data.draw(st.sampled_from(sorted(VALID[read])))
    content = bytearray(VALID[read][suffix])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        end = at + data.draw(st.integers(0, 4))
        content[at:end] = data.draw(st.binary(max_size=4))
    survives(read, bytes(content), suffix)
