"""TREC files: every way to write one, and every row as it is split by hand, with its line."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankscope.collection.qrels import read_qrels
from rankscope.errors import InvalidDataError
from rankscope.runs.table import read_run
from rankscope.tables import whitespace
from rankscope.tables.columns import RUN
from rankscope.tables.rows import as_numbers
from rankscope.tables.whitespace import read_columns

LAW = settings(max_examples=40, deadline=None)
COLUMNS = RUN.headerless[6]
ROLES = ("query_id", "doc_id", "score")
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf|nan"
EXPECTED = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": 0.25}}


def put(folder: Path, content: str | bytes, name: str = "a.run") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(data: bytes, size: int = 1 << 23) -> Any:
    """Read in blocks of a size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whitespace, "_BLOCK", size)
        return read_columns(io.BytesIO(data), COLUMNS, ROLES, source="x", layout=RUN)


@pytest.mark.parametrize(
    "content",
    [
        "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 .25 t\n",
        "q1\tQ0\td1\t1\t2.5\tt\nq1\tQ0\td2\t2\t1.5\tt\nq2\tQ0\td1\t1\t.25\tt\n",
        "q1 Q0\td1  1 \t 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 .25 t\n",
        "q1 Q0 d1 1 2.5 t\r\nq1 Q0 d2 2 1.5 t\r\nq2 Q0 d1 1 .25 t\r\n",
        "\ufeffq1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 .25 t\n",
        "\n\nq1 Q0 d1 1 2.5 t\n\n  \t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 .25 t\n\n",
        "# c\nq1 Q0 d1 1 2.5 t\n  # b\nq1 Q0 d2 2 1.5 t\n#q Q0 d 1 1 t\nq2 Q0 d1 1 .25 t\n#",
        "q1 Q0 d1 1 2.5 t\nq1\vQ0\fd2 2 1.5 t\nq2 Q0 d1 1\r.25 t\n",
        "q1 Q0 d1 1 2.5 007\nq2 Q0 d1 1 .25 7\nq1 Q0 d2 2 1.5 0\n",
    ],
)
def test_the_same_run(content: str, tmp_path: Path) -> None:
    assert read_run(put(tmp_path, content)).to_dict() == EXPECTED


def test_ids_are_text_as_it_stands(tmp_path: Path) -> None:
    ids = ["007", "7", "1e5", "NULL", "nan", "true", '"x"', "'", "a,b", "ä", "中", "\x7f", "a\xa0b"]
    content = "".join(f"{one} Q0 {one} 1 1 t\n" for one in ids)
    assert read_run(put(tmp_path, content)).to_dict() == {one: {one: 1.0} for one in ids}


def test_interleaved_rows_keep_the_order_within_each_query(tmp_path: Path) -> None:
    """Enough rows that an unstable sort would show."""
    docs = [f"d{n * 7919 % 1000}" for n in range(1000)]
    content = "".join(f"q{n % 3} Q0 {doc} 1 1 t\n" for n, doc in enumerate(docs))
    run = read_run(put(tmp_path, content))
    assert {q: list(documents) for q, documents in run.to_dict().items()} == {
        f"q{q}": docs[q::3] for q in range(3)
    }


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"q1 Q0 d1 1 2 t x\nq1 Q0 d2 2 1\n", 1),
        (b"q1 Q0 d0 1 3 t\nq1 Q0 d1 1 2 t x\nq1 Q0 d2 2 1\n", 2),
        (b"q1\tQ0\td0\t1\t3\tt\nq1\tQ0\td1\t1\t2\tt\tx\nq1\tQ0\td2\t2\t1\n", 2),
        (b"q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\nq1", 3),
        (b"q1 Q0 d1 1 2 t\n\xff Q0 d2 2 1 t\n", 2),
    ],
)
def test_lines_that_do_not_fit_are_not_made_to_fit(
    content: bytes, line: int, tmp_path: Path
) -> None:
    with pytest.raises(InvalidDataError) as refused:
        read_run(put(tmp_path, content))
    assert refused.value.findings[0].code == "RS102"
    assert refused.value.findings[0].places[0].line == line


field = st.text(st.sampled_from("ab07.#,\"'-+eäE\x00\x7f\x85"), min_size=1, max_size=4)
number = st.one_of(
    st.floats().map(repr),
    st.floats(allow_nan=False).map(lambda x: f"{x:.3g}"),
    st.integers().map(str),
    st.sampled_from(
        ["inf", "-Infinity", "NaN", "1e400", ".5", "5.", "+1", "1_0", "0x1", "1e", "x"]
    ),
)
gap = st.sampled_from([" "] * 12 + ["\t", "  ", "\v", "\r"])
ending = st.sampled_from(["\n"] * 12 + ["\r\n", "\n\n", " \n", "\n#x\n"])


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Draw a file that is often clean, and otherwise spoilt in one or two places."""
    lines = draw(st.lists(st.tuples(field, field, number, ending), max_size=6))
    if draw(st.booleans()):
        return "".join(f"{q} Q0 {d} 1 {s} t{end}" for q, d, s, end in lines).encode()
    text = ""
    for q, d, s, end in lines:
        cells = [q, "Q0", d, "1", s, "t"][draw(st.sampled_from([0, 0, 0, 1])) :]
        cells += ["more"] * draw(st.sampled_from([0, 0, 0, 1]))
        text += "".join(cell + draw(gap) for cell in cells[:-1]) + cells[-1] + end
    return text.encode() if draw(st.booleans()) else text.rstrip("\n").encode()


def by_hand(data: bytes) -> list[tuple[str, str, str]]:
    """Split a file the slow way, for comparison."""
    lines = (line.split() for line in data.split(b"\n"))
    rows = (line for line in lines if len(line) == 6 and not line[0].startswith(b"#"))
    return [(row[0].decode(), row[2].decode(), row[4].decode()) for row in rows]


@LAW
@given(files(), st.integers(1, 60))
@example(b"a Q0 b 1 1 t\n#a Q0 b 1 1 t\n", 60)
@example(b"q Q0 d 1 1 t\nq\tQ0\td\t1\t1\tt\n", 13)
def test_rows_are_as_split_by_hand_whatever_the_blocks(data: bytes, size: int) -> None:
    assert read(data, size).frame.rows() == by_hand(data)
    texts = read(data).frame["score"]
    for text, value in zip(texts, as_numbers(texts), strict=True):
        if value is not None:  # else it is no number, or one that only Python reads: 1_0
            assert value == float(text) or (math.isnan(value) and math.isnan(float(text)))
        else:
            assert not re.fullmatch(
                r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf|nan", text, re.I
            )


@LAW
@given(
    st.lists(st.sampled_from(["q Q0 d 1 1 t", "# c", "", "short"]), min_size=1), st.integers(1, 60)
)
def test_every_row_knows_its_line(lines: list[str], size: int) -> None:
    rows = read("\n".join(lines).encode(), size=size)
    assert [rows.line_of(row) for row in range(rows.frame.height)] == [
        number for number, line in enumerate(lines, 1) if line.startswith("q")
    ]
    short = [number for number, line in enumerate(lines, 1) if line == "short"]
    assert rows.malformed_count == len(short)
    assert [line.line for line in rows.malformed] == short[:3]


BOM = "\ufeff"


@pytest.mark.parametrize(
    ("name", "text", "query_ids"),
    [
        ("a.run", f"{BOM}q1 Q0 d1 1 2 t\n{BOM}q2 Q0 d1 1 2 t\n", ["q1", f"{BOM}q2"]),
        ("a.run", f"{BOM}{BOM}q1 Q0 d1 1 2 t\n", [f"{BOM}q1"]),
        ("a.run", f"# comment\n{BOM}q1 Q0 d1 1 2 t\n", [f"{BOM}q1"]),
        ("a.csv", f"{BOM}query_id,doc_id,score\n{BOM}q1,d1,2\n", [f"{BOM}q1"]),
        ("a.csv", f"{BOM}{BOM}q1,d1,2.5\nq2,d1,2.5\n", [f"{BOM}q1", "q2"]),
        ("a.jsonl", f'{BOM}{{"query_id": "{BOM}q1", "doc_id": "d", "score": 1}}\n', [f"{BOM}q1"]),
    ],
)
def test_a_mark_is_dropped_at_the_beginning_and_kept_within(
    name: str, text: str, query_ids: list[str], tmp_path: Path
) -> None:
    assert list(read_run(put(tmp_path, text, name)).to_dict()) == query_ids


def test_a_mark_at_the_beginning_of_a_block_is_kept() -> None:
    lines = "".join(f"{BOM}q{number} Q0  d1 1 2 t\n" for number in range(3))
    rows = read(lines.encode(), 1)
    assert rows.frame["query_id"].to_list() == [f"{BOM}q{number}" for number in range(3)]


@pytest.mark.parametrize("line", ["1 0 0 0.000000", "1 184 0 0", "1 184 0 0.000000"])
def test_a_document_called_0(line: str, tmp_path: Path) -> None:
    assert "1" in read_qrels(put(tmp_path, f"{line}\n1 0 d1 1\n", "a.qrels")).to_dict()
