"""What is temporary goes away with whoever made it, and what was moved lasts."""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path

import pytest

from rankscope.benchmark.folder import MANIFEST, unfinished
from rankscope.errors import InputError
from rankscope.files import PARTS, replacing
from rankscope.temporary import lock, mark, new_folder, sweep, unlock


def write(path: Path) -> None:
    with replacing(path) as sink:
        sink.write(b"new")


def test_a_temporary_file_that_was_swept_before_it_was_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = lock, 0

    def swept_first(path: Path | str) -> int | None:
        nonlocal calls
        calls += 1
        if calls == 1:
            os.unlink(path)
        return real(path)

    monkeypatch.setattr("rankscope.files.lock", swept_first)
    write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert calls == 2


def test_without_locks_a_day_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no locks, and for what another machine made, whose locks are not seen."""
    elsewhere = tmp_path / ".rankscope-00000000-0123456789abcdef.part"
    here = tmp_path / PARTS.replace("*", mark())
    for path in (elsewhere, here):
        path.write_bytes(b"half")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)
        sweep(tmp_path.iterdir())
        assert here.exists()
    sweep(tmp_path.iterdir())
    assert [elsewhere] == list(tmp_path.iterdir())
    two_days_ago = time.time() - 2 * 86_400
    os.utime(elsewhere, (two_days_ago, two_days_ago))
    sweep(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_stays(tmp_path: Path) -> None:
    folder, handle = new_folder(tmp_path, ".fresh-")
    sweep(tmp_path.iterdir())
    assert folder.is_dir()
    unlock(handle)
    sweep(tmp_path.iterdir())
    assert not folder.exists()


# ----------------------------------------------------------------------------------- replacing


def fill(output: Path, text: str) -> None:
    with unfinished(output, "e") as folder:
        folder.path(MANIFEST).write_text(text)


def test_an_experiment_comes_back_if_its_successor_cannot_be_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, "old")
    rename = os.rename

    def broken(source: Path, target: Path) -> None:
        if os.path.basename(target) == "e" and "old" not in os.path.basename(source):
            if not os.path.exists(target):
                raise OSError(errno.EIO, "Input/output error")
            raise OSError(errno.ENOTEMPTY, "Directory not empty")
        rename(source, target)

    monkeypatch.setattr(os, "rename", broken)
    with pytest.raises(InputError, match="finished experiments are unchanged"):
        fill(tmp_path, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["e"]
    assert (tmp_path / "e" / MANIFEST).read_text() == "old"


def test_an_experiment_comes_back_if_its_successor_was_killed(tmp_path: Path) -> None:
    fill(tmp_path, "old")
    (tmp_path / "e").rename(tmp_path / f".unfinished-old-e~{mark()}")
    with unfinished(tmp_path, "other") as folder:
        folder.path(MANIFEST).write_text("other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e", "other"]
    assert (tmp_path / "e" / MANIFEST).read_text() == "old"


# ----------------------------------------------------------------------------------- lasting


def test_folders_are_flushed_after_a_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = []
    fsync = os.fsync

    def seen(handle: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", seen)
    write(tmp_path / "file")
    assert flushed[0].endswith(".part")
    assert flushed[1:] == [str(tmp_path)]
    fill(tmp_path / "out", "text")
    assert flushed[-1] == str(tmp_path / "out")


@pytest.mark.parametrize("code", [errno.EIO, errno.EINVAL])
def test_a_folder_that_cannot_be_flushed(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def refuse(handle: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(code, os.strerror(code))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", refuse)
    if code == errno.EINVAL:  # a file system that knows no such call
        write(tmp_path / "file")
    else:
        with pytest.raises(InputError, match=r"does not confirm .* \(Input/output error\)"):
            write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"new"


# ------------------------------------------------------------------------------------ memory


def test_a_lack_of_memory_while_compressing_is_one(tmp_path: Path) -> None:
    import zstandard

    with pytest.raises(MemoryError), replacing(tmp_path / "a.zst"):
        raise zstandard.ZstdError("zstd compress error: Allocation error : not enough memory")
    assert list(tmp_path.iterdir()) == []
