"""A short form of `python -m reliability.native_fuzz`, and a proof that it would notice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reliability.native_files import world
from reliability.native_fuzz import FILES, compare, keep

from rankscope.scoring import scans
from rankscope.tables import native_files
from rankscope.tables.native import library

pytestmark = pytest.mark.skipif(library() is None, reason="there is no native scan")


def test_files_are_answered_alike() -> None:
    """`make fuzz` does this four hundred times as long."""
    worlds = range(500)
    tally = compare(11, worlds)
    assert [(case["question"], case["answers"][:1000]) for case in tally.different] == []
    assert tally.files == len(worlds) * FILES
    assert tally.by_outcome["run, scanned, scored"] > 400
    assert tally.by_outcome["qrels, scanned, taken"] > 300


def test_the_same_seed_gives_the_same_files() -> None:
    assert [world(1, number, 4) for number in range(30)] == [
        world(1, number, 4) for number in range(30)
    ]
    assert world(1, 1, 4) != world(2, 1, 4)


def broken_scan(change: Any) -> Any:
    scan_of = scans._scan_of
    return lambda result: change(scan_of(result))


CHANGES = {
    "ahead by id": lambda scan: replace(scan, ahead_by_id=scan.tied - 1 - scan.ahead_by_id),
    "ahead as listed": lambda scan: replace(scan, ahead_as_given=scan.ahead_by_id),
    "size of ties": lambda scan: replace(scan, tied=scan.tied * 0 + 1),
    "ties across cutoffs": lambda scan: replace(scan, tied_across=scan.tied_across * 0),
    "rising": lambda scan: replace(scan, rises=~scan.rises),
    "above": lambda scan: replace(scan, above=scan.above + (scan.above > 5)),
    "sizes": lambda scan: replace(scan, sizes=scan.sizes + 1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_wrong_count_is_noticed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "_scan_of", broken_scan(CHANGES[name]))
    monkeypatch.setattr("reliability.native_fuzz.STOP", 1)
    monkeypatch.setattr("reliability.native_fuzz.TRIES", 50)
    tally = compare(11, range(60))
    case = tally.different[0]
    asked = next(file for file in world(11, case["world"], 4).runs if file.name == case["run"].name)
    assert len(case["run"].data) < len(asked.data)  # made smaller
    tally.different[1:] = []
    keep(tally, tmp_path)
    [folder] = tmp_path.iterdir()
    names = {file.name for file in folder.iterdir()}
    assert names == {"answers.txt", case["qrels"].name, case["run"].name}
    assert "scanned: " in (folder / "answers.txt").read_text()


def test_wrong_rows_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = native_files._columns

    def turned(result: Any) -> Any:
        query_ids, sizes, documents, scores, flags = read(result)
        return query_ids, sizes, documents, -scores, flags

    monkeypatch.setattr(native_files, "_columns", turned)
    monkeypatch.setattr("reliability.native_fuzz.STOP", 1)
    monkeypatch.setattr("reliability.native_fuzz.TRIES", 0)
    assert compare(11, range(60)).different
