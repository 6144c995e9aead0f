"""Files in which queries take turns: scanned as if the rows of each query were together."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from random import Random

import pytest
from reliability.native_answers import BLOCKS, Answer, Question, answer, pure

from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.scanned_run import ScannedRun
from rankscope.tables import gathering
from rankscope.tables.gathering import gathered
from rankscope.tables.native import library

pytestmark = pytest.mark.skipif(library() is None, reason="the native library is not there")

MEASURES = ["nDCG@10", "AP", "RR", "P@5"]


def rows(seed: int, queries: int = 40, depth: int = 30) -> list[str]:
    source = Random(seed)
    listed = []
    for query in range(queries):
        documents = source.sample(range(60), source.randint(1, depth))
        scores = sorted((source.randint(0, 12) for _ in documents), reverse=True)
        listed += [
            f"q{query} Q0 d{document} {rank} {score} t\n"
            for rank, (document, score) in enumerate(zip(documents, scores, strict=True), start=1)
        ]
    return listed


def shuffled(seed: int) -> list[str]:
    lines = rows(seed)
    Random(seed).shuffle(lines)
    return lines


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    source = Random(5)
    path = tmp_path / "qrels"
    lines = [f"q{q} 0 d{d} {source.randint(0, 3)}\n" for q in range(40) for d in range(0, 60, 4)]
    source.shuffle(lines)
    path.write_text("".join(lines))
    return path


def told(qrels: Path, run: Path, ties: str = "trec", precision: str = "double") -> Answer:
    """Return what is known of a run, in full, or how it is refused."""
    question = Question(MEASURES, {"ties": ties, "precision": precision}, BLOCKS[0], "")
    judgments = as_judgments(qrels)
    return (
        answer(lambda: question.scores(judgments, run)),
        answer(lambda: question.ranks(judgments, run)),
    )


def assert_same(qrels: Path, run: Path, *rules: str) -> Answer:
    quick = told(qrels, run, *rules)
    with pure():
        assert quick == told(qrels, run, *rules)
    return quick


def small(monkeypatch: pytest.MonkeyPatch, block: int, bucket: int) -> None:
    monkeypatch.setattr(gathering, "BLOCK", block)
    monkeypatch.setattr(gathering, "BUCKET", bucket)


@pytest.mark.parametrize("sizes", [(1 << 24, 1 << 23), (700, 900), (64, 5000), (7, 99)])
def test_shuffled_rows_are_scored_as_the_table_is(
    sizes: tuple[int, int], qrels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = sizes[0]
    lines = shuffled(seed)
    lines.insert(3, "# a comment\n")
    lines.insert(9, " \t\r\n")
    data = "".join(lines).encode().rstrip(b"\n" if seed % 2 else b"")
    small(monkeypatch, *sizes)
    for path in (tmp_path / "run", tmp_path / "run.gz"):
        path.write_bytes(gzip.compress(data) if path.suffix else data)
        assert ScannedRun.of(path, as_judgments(qrels)) is not None
        for rules in (("trec", "double"), ("given", "double"), ("id-asc", "single")):
            assert_same(qrels, path, *rules)
    twice = data + b"\n" + lines[5].encode()  # a document twice is named as ever
    (tmp_path / "run").write_bytes(twice)
    assert ScannedRun.of(tmp_path / "run", as_judgments(qrels)) is None
    assert assert_same(qrels, tmp_path / "run")[0][0] == "refused"


def test_a_line_that_never_ends_is_refused(
    qrels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    path.write_text("".join(rows(3)[:20]) + "q0 Q0 late 1 1 t\nq5" + "x" * 5000)
    small(monkeypatch, 100, 200)
    monkeypatch.setattr(gathering, "LARGEST_QUERY", 1000)
    assert ScannedRun.of(path, as_judgments(qrels)) is None


def test_a_full_disk_is_no_error(
    qrels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shuffled(4)
    path = tmp_path / "run"
    path.write_text("".join(lines))
    with pure():
        expected = told(qrels, path)
    small(monkeypatch, 100, 200)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gathering, "_write", full)
    assert ScannedRun.of(path, as_judgments(qrels)) is None
    assert told(qrels, path) == expected


def test_nothing_is_left_on_disk(
    qrels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    seen: list[list[Path]] = []
    write = gathering._write

    def watched(target: int, data: memoryview) -> None:
        write(target, data)
        seen.append(list(room.iterdir()))

    monkeypatch.setattr(gathering, "_write", watched)
    lines = shuffled(5)
    path = tmp_path / "run"
    path.write_text("".join(lines))
    small(monkeypatch, 100, 200)
    assert ScannedRun.of(path, as_judgments(qrels)) is not None
    assert len(seen) > 10
    assert not any(seen), "it has no name even while it is used"


def test_lines_stay_as_they_are() -> None:
    data = b"b 1\r\n# c\na 2\n\n b\t3\nba 4\nb 5"
    assert gathered(data, len(data)).tobytes() == b"b 1\r\n b\t3\nb 5\na 2\nba 4\n"
    assert gathered(b"", 0).tobytes() == b""
    assert gathered(b"#\n", 2).tobytes() == b""
