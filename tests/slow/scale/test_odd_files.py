"""Files that are not plain: other white space, comments, marks, errors; cut at every byte."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankscope as rs
from rankscope.scale import run_cuts
from rankscope.scale.partials import merged, partial
from rankscope.scale.run_parts import RunParts
from rankscope.scoring.inputs import as_judgments
from scale.runs_on_disk import ordered, qrels, rows, text

MEASURES = ["nDCG@3", "RR@10", "AP"]
BOM = b"\xef\xbb\xbf"

PLAIN = text(ordered(rows(3, depth=3), "interleaved", 3))
SHAPES = {
    "tabs": text(rows(3), separator="\t"),
    "windows": text(rows(3), end="\r\n"),
    "blank lines": text(rows(3), end="\n\n"),
    "wide": text(rows(3), separator="   ", end=" \n"),
    "comments": b"# a: 1\n" + text(rows(3)).replace(b"\nq3", b"\n# remark\nq3"),
    "mark": BOM + text(rows(3)),
    "mark inside": text(rows(3)).replace(b"\nq7", b"\n" + BOM + b"q7"),
    "no last newline": text(rows(3)).rstrip(),
    "interleaved windows": text(ordered(rows(3), "interleaved", 3), end="\r\n"),
}


@pytest.mark.parametrize("native", [True, False], ids=["native", "python"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(tmp_path: Path, shape: str, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(SHAPES[shape])
    monkeypatch.setenv("RANKSCOPE_NATIVE", "0")
    expected = rs.evaluate(qrels(3), rs.read_run(path), MEASURES)
    monkeypatch.setenv("RANKSCOPE_NATIVE", "1" if native else "0")
    monkeypatch.setattr(run_cuts, "PART_BYTES", 250)
    run = RunParts(path)
    scores = rs.evaluate(qrels(3), run, MEASURES)
    assert run._loaded is None
    assert scores.run().values.tobytes() == expected.run().values.tobytes()
    assert scores.run().counts == expected.run().counts
    assert scores.run().remarks == expected.run().remarks


def test_cut_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(PLAIN)
    expected = rs.evaluate(qrels(3), rs.read_run(path), MEASURES).run()
    judgments = as_judgments(qrels(3))
    for look in (0, 1 << 20):
        monkeypatch.setattr(run_cuts, "_LOOK", look)
        for size in range(1, len(PLAIN) + 1, 7 if look else 3):
            monkeypatch.setattr(run_cuts, "PART_BYTES", size)
            edges = [part.high for part in RunParts(path).parts()]
            assert edges[-1] == len(PLAIN)
            assert all(PLAIN[edge - 1] == ord("\n") for edge in edges)
            if size % 5 == 0:
                scores = rs.evaluate(judgments, RunParts(path), MEASURES).run()
                assert scores.values.tobytes() == expected.values.tobytes()
                assert scores.counts == expected.counts


def test_merging_is_associative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(text(ordered(rows(5), "shuffled", 5)))
    monkeypatch.setattr(run_cuts, "PART_BYTES", 200)
    pairs = as_judgments(qrels(5)).packed
    found_parts = [partial(part, pairs) for part in RunParts(path).parts()]
    assert len(found_parts) > 6
    whole = merged(found_parts)
    for cut in range(1, len(found_parts)):
        halves = merged([merged(found_parts[:cut]), merged(found_parts[cut:])])
        assert halves.queries.equals(whole.queries)
        assert halves.hits.equals(whole.hits)
        assert halves.tied_across.tolist() == whole.tied_across.tolist()


ERRORS = {
    "twice in one part": (b"q0 Q0 x 1 0.5 sys\nq0 Q0 x 2 0.4 sys\n", 0),
    "twice, far apart": (b"q0 Q0 d99 1 0.5 sys\n", 1),
    "too few columns": (b"q0 Q0 d98 1 sys\n", 0),
    "no number": (b"q0 Q0 d98 1 high sys\n", 0),
    "not finite": (b"q0 Q0 d98 1 nan sys\n", 0),
    "not UTF-8": (b"q0 Q0 d\xff 1 0.5 sys\n", 0),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_are_those_of_the_reader(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, at_both_ends = ERRORS[kind]
    path = tmp_path / "a.run"
    path.write_bytes((line if at_both_ends else b"") + text(rows(4)) + line)
    with pytest.raises(rs.RankscopeError) as ordinary:
        rs.read_run(path)
    monkeypatch.setattr(run_cuts, "PART_BYTES", 250)
    with pytest.raises(rs.RankscopeError) as in_parts:
        rs.evaluate(qrels(4), RunParts(path), MEASURES)
    assert str(in_parts.value) == str(ordinary.value)
    assert type(in_parts.value) is type(ordinary.value)


def test_several_files_of_a_run_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "1.run").write_bytes(b"q0 Q0 a 1 0.5 sys\nq0 Q0 b 2 0.4 sys\n")
    (tmp_path / "2.run").write_bytes(b"q0 Q0 c 1 0.3 sys\nq0 Q0 a 2 0.2 sys\n")
    with pytest.raises(rs.InvalidDataError, match="document 'a'"):
        rs.evaluate({"q0": {"a": 1}}, RunParts(tmp_path), MEASURES)
    (tmp_path / "2.run").write_bytes(b"q1 Q0 c 1 0.3 dense\n")
    with pytest.raises(rs.FormatError, match="one by one"):
        rs.evaluate({"q0": {"a": 1}}, str(tmp_path), MEASURES)
    with pytest.raises(rs.InputError, match="no file is there"):
        rs.evaluate({"q0": {"a": 1}}, str(tmp_path / "*.trec"), MEASURES)
