"""Files that the native scan and the reader of tables could take differently: they do not."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reliability.native_answers import BLOCKS, Answer, Question, answer, blocks, judged, pure

import rankscope as rs
from rankscope.scoring import scans
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.judged_pairs import FilePairs
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.scans import ScannedRun
from rankscope.tables import native_files
from rankscope.tables.native import library

pytestmark = pytest.mark.skipif(library() is None, reason="there is no native scan")

QRELS = b"q1 0 a 1\nq1 0 b 0\nq2 0 a 2\nq3 0 c 1\n"
RUN_TEXT = (
    b"q1 Q0 b 1 3 t\nq1 Q0 a 2 2 t\nq1 Q0 x 3 2 t\nq2 Q0 a 1 9 t\nq2 Q0 y 2 9 t\nq9 Q0 z 1 1 t\n"
)
BOM = b"\xef\xbb\xbf"
QUESTIONS = [
    Question(["nDCG@10", "AP", "R@1"], {"ties": ties, "precision": precision}, (1, 0, 2), "ranks")
    for ties, precision in (("trec", "double"), ("given", "single"))
]


def same(qrels: Any, run: Any, questions: int = 2) -> Answer:
    """Ask about files with the scan and without; return the last answer, which is the same."""
    read: Answer = ()
    for question in QUESTIONS[:questions]:
        asked: list[Callable[[], Answer]] = [
            lambda: question.ranks(as_judgments(qrels), run),  # noqa: B023
            lambda: question.rows(as_judgments(qrels), run),  # noqa: B023
            lambda: question.checks(as_judgments(qrels), run),  # noqa: B023
            lambda: question.scores(qrels, run),  # noqa: B023
        ]
        for ask in asked:
            with pure():
                read = answer(ask)
            for sizes in (BLOCKS[0], BLOCKS[1], BLOCKS[-1]):
                with blocks(sizes):
                    assert answer(ask) == read
    assert read[0] != "crashed"
    return read


def is_scanned(path: Path) -> bool:
    return ScannedRun.of(path, Judgments({"q1": {"a": 1}})) is not None


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    path = tmp_path / "qrels"
    path.write_bytes(QRELS)
    return path


RUNS = {
    "plain": (RUN_TEXT, True),
    "no newline at the end": (RUN_TEXT.rstrip(), True),
    "CRLF": (RUN_TEXT.replace(b"\n", b"\r\n"), True),
    "CR as line ends": (RUN_TEXT.replace(b"\n", b"\r"), False),
    "NUL in a score": (RUN_TEXT.replace(b" 9 ", b" 9\0 "), False),
    "control bytes": (RUN_TEXT.replace(b" x ", b" \x01\x1c\x1f\x7f "), True),
    "# begins the first query": (RUN_TEXT.replace(b"q1", b"#1"), True),
    "# behind blanks": (b" \t# c\n" + RUN_TEXT + b"\v#", True),
    "# behind a mark": (BOM + b"# c\n" + RUN_TEXT, True),
    "# behind two marks": (BOM * 2 + b"# c\n" + RUN_TEXT, False),
    "two marks": (BOM * 2 + RUN_TEXT, True),
    "two marks and a blank": (BOM * 2 + b" Q0 n 1 3 t\n" + RUN_TEXT, True),
    "mark before a later block": (RUN_TEXT.replace(b"q9", BOM + b" Q0 n 1 3 t\nq9"), True),
    "empty": (b"", False),
    "interleaved": (RUN_TEXT + b"q1 Q0 c 1 1 t\n", False),
    "twice over blocks": (RUN_TEXT + b"q1 Q0 a 1 1 t\n", False),
    "twice, unjudged": (RUN_TEXT + b"q9 Q0 z 1 1 t\n", False),
    "not UTF-8": (RUN_TEXT.replace(b" x ", b" \xff "), False),
    "not UTF-8 at the end": (RUN_TEXT + b"\xc3", False),
    "six in another line": (RUN_TEXT.replace(b"x 3 2 t\n", b"x 3 2\nt "), False),
    "header": (b"query_id iter doc_id rank score tag\n" + RUN_TEXT, False),
    "metadata": (b"# ir_metadata.start\n# tag: x\n# ir_metadata.end\n" + RUN_TEXT, True),
    "ranks by score": (b"q1 Q0 x 2 1 t\nq1 Q0 a 1 5 t\nq2 Q0 b 2 1 t\nq2 Q0 a 1 4 t\n", True),
    "ranks twice": (b"q1 Q0 x 1 1 t\nq1 Q0 a 1 5 t\nq2 Q0 b 2 1 t\nq2 Q0 a 1 4 t\n", True),
    "ranks no numbers": (b"q1 Q0 x b 1 t\nq1 Q0 a a 5 t\nq2 Q0 b b 1 t\nq2 Q0 a a 4 t\n", False),
    "no query in common": (RUN_TEXT.replace(b"q", b"p"), True),
}
LONG_RUNS = {
    "long id": (RUN_TEXT.replace(b" x ", b" " + b"x" * 70_000 + b" "), True),
    "long line": (RUN_TEXT.replace(b" x ", b" " + b"x" * (1 << 20) + b" "), False),
    "long line of blanks": (RUN_TEXT.replace(b" x ", b" x" + b" " * 200_000), True),
    "long comment": (b"#" + b"x" * 300_000 + b"\n" + RUN_TEXT, True),
    "many comments": ((b"# " + b"c" * 97 + b"\n") * 1_500 + RUN_TEXT, True),
}


@pytest.mark.parametrize("packed", [False, True])
def test_runs(packed: bool, qrels: Path, tmp_path: Path) -> None:
    path = tmp_path / ("run.gz" if packed else "run")
    for name, (data, scanned) in RUNS.items():
        path.write_bytes(gzip.compress(data) if packed else data)
        if data:
            assert is_scanned(path) == scanned, name
        same(qrels, path, 1 if packed else 2)


def test_long_runs(qrels: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    for name, (data, scanned) in LONG_RUNS.items():
        path.write_bytes(data)
        assert is_scanned(path) == scanned, name
        same(qrels, path)


GRADES = {
    "plain": (QRELS, True),
    "no newline at the end": (QRELS.rstrip(), True),
    "CRLF": (QRELS.replace(b"\n", b"\r\n"), True),
    "two marks": (BOM * 2 + QRELS, True),
    "NUL": (QRELS + b"q3 0 \0 1\n", True),
    "negative zero": (QRELS.replace(b" 0\n", b" -0\n"), True),
    "fractions": (QRELS.replace(b" 2\n", b" 0.5\n"), True),
    "exponents": (QRELS.replace(b" 2\n", b" 2e0\n"), True),
    "too large": (QRELS.replace(b" 2\n", b" 9007199254740994\n"), False),
    "rounded to the largest": (QRELS.replace(b" 2\n", b" 9007199254740993\n"), True),
    "nothing relevant": (b"q1 0 a 0\nq2 0 a 0\n", True),
    "all negative": (b"q1 0 a -1\nq2 0 a -2\n", True),
    "another second column": (QRELS.replace(b" 0 ", b" x "), True),
    "subtopics": (QRELS + b"q4 1 a 1\n", False),
    "a pair again": (QRELS + b"q3 0 c 1\n", False),
    "interleaved": (QRELS + b"q1 0 c 1\n", False),
    "three columns": (b"q1 a 1\nq2 a 2\n", False),
    "words": (QRELS.replace(b" 2\n", b" high\n"), False),
    "infinite": (QRELS.replace(b" 2\n", b" inf\n"), False),
    "empty": (b"", False),
    "not UTF-8": (QRELS + b"q1 0 \xff 1\n", False),
    "long id": (QRELS + b"q3 0 " + b"x" * 70_000 + b" 1\n", True),
}


@pytest.mark.parametrize("packed", [False, True])
def test_qrels(packed: bool, tmp_path: Path) -> None:
    run, path = tmp_path / "run", tmp_path / ("qrels.gz" if packed else "qrels")
    run.write_bytes(RUN_TEXT)
    for name, (data, scanned) in GRADES.items():
        path.write_bytes(gzip.compress(data) if packed else data)
        assert (FilePairs.read(path) is not None) == scanned, name
        first = answer(lambda: judged(as_judgments(path)))
        with pure():
            assert first == answer(lambda: judged(as_judgments(path))), name
        same(path, run, 1)


# --- blocks --------------------------------------------------------------------------------------


def test_blocks_of_every_size_give_the_same(
    qrels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, packed = tmp_path / "run", tmp_path / "run.gz"
    plain.write_bytes(RUN_TEXT.rstrip())
    packed.write_bytes(gzip.compress(RUN_TEXT.rstrip()))
    question = QUESTIONS[0]
    with pure():
        expected = answer(lambda: question.scores(qrels, plain))
    monkeypatch.setattr(native_files, "SMALLEST", 1)
    for size in range(1, len(RUN_TEXT) + 2):
        for window in (1, 5):
            monkeypatch.setattr(native_files, "LARGEST", size)
            monkeypatch.setattr(native_files, "_WINDOW", window)
            for path in (plain, packed):
                assert answer(lambda path=path: question.scores(qrels, path)) == expected  # type: ignore[misc]


# --- what is no plain file -----------------------------------------------------------------------


def test_odd_paths(qrels: Path, tmp_path: Path) -> None:
    packed = gzip.compress(RUN_TEXT * 50)
    for name, data in {
        "half": packed[: len(packed) // 2],
        "members": gzip.compress(RUN_TEXT[:50]) + gzip.compress(RUN_TEXT[50:]),
    }.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(qrels)
    for name in ("half", "members", "folder", "link", "missing"):
        same(qrels, tmp_path / name, 1)
        same(tmp_path / name, qrels, 1)


# --- what changes meanwhile ----------------------------------------------------------------------


def test_a_file_that_changes_between_blocks_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    path.write_bytes(RUN_TEXT)

    scan_block = scans.scan_block

    def meddling(*given: Any, **options: Any) -> Any:
        path.write_bytes(RUN_TEXT.replace(b"q9 Q0 z", b"q9 Q0 longer"))
        return scan_block(*given, **options)

    monkeypatch.setattr(scans, "scan_block", meddling)
    assert not is_scanned(path)


def test_rows_of_a_file_that_changed_after_its_scan_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(RUN_TEXT)
    run = ScannedRun.of(path, Judgments({"q1": {"a": 1}}))
    assert run is not None
    path.write_bytes(RUN_TEXT + b"q10 Q0 a 1 1 t\n")
    with pytest.raises(rs.InputError, match="changed"):
        _ = run.doc_ids


# --- found by looking ----------------------------------------------------------------------------


def test_tags_are_compared_over_blocks(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for last in (b"t", b"u", b"1.5"):
        run.write_bytes(b"q1 Q0 a 1 3 t\nq2 Q0 a 1 3 t\nq2 Q0 b 2 2 t\nq3 Q0 a 1 3 " + last)
        with pure():
            read = rs.validate_run(run)
        for sizes in BLOCKS:
            with blocks(sizes):
                assert rs.validate_run(run) == read
