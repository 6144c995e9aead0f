"""TREC files: every way to write one, and two ways to read one that must agree."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankscope.errors import InvalidDataError
from rankscope.runs.table import read_run
from rankscope.tables import whitespace
from rankscope.tables.columns import QRELS, RUN
from rankscope.tables.whitespace import read_clean, read_exact, shape_of

LAW = settings(max_examples=40, deadline=None)
COLUMNS = RUN.headerless[6]
TYPES: dict[str, Any] = {"query_id": pl.Categorical, "doc_id": pl.String, "score": pl.Float64}
EXPECTED = {"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d1": 0.25}}


def put(folder: Path, content: str | bytes, name: str = "a.run") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def clean(
    data: bytes, width: int = 6, types: dict[str, Any] = TYPES, tag: str = ""
) -> list[Any] | None:
    """Read the fast way; None where the bytes do not prove that it is safe."""
    layout = RUN if width == 6 else QRELS
    frame = read_clean(data, layout.headerless[width], types, tag=tag)
    return None if frame is None else frame.rows()


def exact(data: bytes, width: int = 6, types: dict[str, Any] = TYPES) -> list[Any]:
    layout = RUN if width == 6 else QRELS
    stream = io.BytesIO(data)
    rows = read_exact(stream, layout.headerless[width], types, source="x", layout=layout)
    return rows.frame.rows()


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


@pytest.mark.parametrize(
    "data",
    [
        b"q1 Q0 d1 1 2.5 t\n\n",
        b"q1 Q0  d1 1 2.5 t\n",
        b"q1 Q0 d1 1 2.5 t\r\n",
        b"q1 Q0 d1 1 2.5\tt\n",
        b" Q0 d1 1 2.5 t\n",
        b"q1 Q0 d1 1 2.5 t\x00\n",
        b"q1 Q0 d1 1 high t\n",
        b"q1 Q0 d1 1 2.5 t x\nq1 Q0 d2 1 2.5\n",
        b"q1 Q0 d1 1 2.5 t ",
        b"",
    ],
)
def test_other_files_do_not(data: bytes) -> None:
    assert clean(data) is None


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
@given(files())
@example(b"a Q0 b 1 1 t\n#a Q0 b 1 1 t\n")
def test_both_ways_give_the_same_table(data: bytes) -> None:
    text = dict.fromkeys(TYPES, pl.String)
    assert exact(data, types=text) == by_hand(data)
    fast = clean(data)
    if fast is not None and not any(row[0].startswith("#") for row in fast):
        assert repr(fast) == repr(exact(data))
        assert clean(data, types=text) == by_hand(data)


TAGS = ("bm25", "t", "e", "5", "inf", "1e3", "x-1e5", "nan", "ü7")


def test_a_line_with_too_few_columns_and_one_with_too_many_are_no_two_good_ones() -> None:
    for tag in TAGS:
        good = "".join(f"q Q0 d{number} 1 2 {tag}\n" for number in range(3))
        assert clean(good.encode(), tag=tag) is not None or not tag.isascii()
        for short in (f"q d 1 2 {tag}\n", "q Q0 e 1 2\n", "q Q0 e 1 25\n", f"q Q0 {tag} 1 5\n"):
            for long in (f"q Q0 e x 1 2 {tag}\n", f"q Q0 e 1 2 {tag} {tag}\n"):
                assert clean((good + short + long).encode(), tag=tag) is None
                assert clean((good + short + long).encode()) is None


@LAW
@given(files(), st.integers(1, 60))
@example(b"a\tb\tc d\n", 1)  # tabs and a space, in one block and in several
@example(b"a b\tc\td\n", 3)
@example(b"q Q0 d 1 1 t\nq\tQ0\td\t1\t1\tt\n", 13)
def test_blocks_do_not_show(data: bytes, size: int) -> None:
    """However small the blocks in which a file is looked at, the table is the same."""
    shape, whole = shape_of(data, b"t"), exact(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whitespace, "_BLOCK", size)
        patch.setattr(whitespace, "_LINES", size)
        again = shape_of(data, b"t")
        assert again.is_clean(6) == shape.is_clean(6)
        assert shape.adjacent or again == shape
        assert repr(exact(data)) == repr(whole)


@LAW
@given(
    st.lists(st.sampled_from(["q Q0 d 1 1 t", "# c", "", "short"]), min_size=1), st.integers(1, 60)
)
def test_every_row_knows_its_line(lines: list[str], size: int) -> None:
    data = "\n".join(lines).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whitespace, "_LINES", size)
        rows = read_exact(io.BytesIO(data), COLUMNS, TYPES, source="x", layout=RUN)
    assert rows.line_of is not None
    assert [rows.line_of(row) for row in range(rows.frame.height)] == [
        number for number, line in enumerate(lines, 1) if line.startswith("q")
    ]
    short = [number for number, line in enumerate(lines, 1) if line == "short"]
    assert rows.malformed_count == len(short)
    assert [line.line for line in rows.malformed] == short[:3]


@pytest.mark.parametrize("positioned", [True, False], ids=["preadv", "without preadv"])
def test_a_file_has_the_shape_of_its_bytes(
    positioned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads read parts of one file, also where the system has no `os.preadv` (Windows)."""
    content = b"".join(b"q%d Q0 d%d 1 %d.5 t\n" % (n % 9, n, n) for n in range(5000))
    path = put(tmp_path, content)
    monkeypatch.setattr(whitespace, "_BLOCK", 1000)  # many blocks for each thread
    if not positioned:
        monkeypatch.delattr(os, "preadv")
    assert shape_of(str(path), b"t") == shape_of(content, b"t")
    assert shape_of(str(path), b"t").lines == 5000
    assert len(read_run(path)) == 5000
