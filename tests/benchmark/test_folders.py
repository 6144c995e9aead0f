"""An experiment's folder is there as a whole, or not at all."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rankscope.benchmark.folder import (
    MANIFEST,
    experiment_folders,
    file_ref,
    slug,
    unfinished,
)
from rankscope.errors import InputError


def fill(output: Path, name: str, text: str) -> None:
    with unfinished(output, name) as folder:
        folder.path("runs", "a.txt").write_text(text)
        folder.path(MANIFEST).write_text(text)
        try:
            finished = (output / name / MANIFEST).read_text()
        except FileNotFoundError:  # there is none, or another thread is just replacing it
            finished = ""
        assert finished != text


def test_it_appears_when_it_is_whole(tmp_path: Path) -> None:
    for text in ("one", "two"):
        fill(tmp_path / "new", "e1", text)
        assert (tmp_path / "new" / "e1" / "runs" / "a.txt").read_text() == text
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["e1"]
    assert experiment_folders(tmp_path / "new") == [tmp_path / "new" / "e1"]


def test_a_failure_leaves_the_old_one(tmp_path: Path) -> None:
    fill(tmp_path, "e1", "one")
    with pytest.raises(ZeroDivisionError), unfinished(tmp_path, "e1") as folder:
        folder.path("x").write_text(str(1 / 0))
    assert (tmp_path / "e1" / MANIFEST).read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["e1"]


def test_what_somebody_is_filling_is_left_alone(tmp_path: Path) -> None:
    with unfinished(tmp_path, "e1"):
        (left,) = tmp_path.iterdir()
        fill(tmp_path, "e2", "two")
        assert left.is_dir()
        assert experiment_folders(tmp_path) == [tmp_path / "e2"]


def test_two_at_once_leave_one_whole_folder(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=fill, args=(tmp_path, "e1", text * 1000)) for text in "abcdefgh"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in tmp_path.iterdir()] == ["e1"]
    kept = (tmp_path / "e1" / MANIFEST).read_text()
    assert kept == (tmp_path / "e1" / "runs" / "a.txt").read_text()
    assert len(kept) == 1000


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"), unfinished(tmp_path / "file", "e"):
        pass


def test_names_become_harmless() -> None:
    names = {"Recipes 2": "recipes-2", "../../etc": "etc", "": "experiment", "ä/ö": "experiment"}
    assert {name: slug(name) for name in names} == names


def test_files_are_known_by_content(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_bytes(b"abc")
    ref = file_ref(tmp_path / "a" / "b.txt", tmp_path)
    assert (ref.path, ref.bytes) == ("a/b.txt", 3)
    assert ref.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
