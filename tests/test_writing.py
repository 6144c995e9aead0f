"""Writing: all at once or not at all, whatever happens on the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rankscope.errors import InputError
from rankscope.files import COMPRESSIONS, replacing
from rankscope.runs.table import Run, read_run

OLD = b"the old content\n"
every_suffix = pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.write_bytes(OLD)
    return path


def alone(path: Path) -> bool:
    return [entry.name for entry in path.parent.iterdir()] == [path.name]


@every_suffix
def test_a_failure_in_between(suffix: str, target: Path) -> None:
    path = target.rename(f"{target}{suffix}")

    def fail() -> None:
        with replacing(path) as sink:
            sink.write(b"x" * 100_000)
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        fail()
    assert path.read_bytes() == OLD
    assert alone(path)


def test_a_failing_rename(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InputError, match=r"Input/output error.*the old file is unchanged"):
        Run({"q": ["d"]}).write(target, format="trec")
    assert target.read_bytes() == OLD
    assert alone(target)


def test_a_reader_sees_the_old_file_until_the_end(target: Path) -> None:
    with replacing(target) as sink:
        sink.write(b"new")
        sink.flush()
        assert target.read_bytes() == OLD
    assert target.read_bytes() == b"new"


def test_a_link_keeps_pointing(target: Path) -> None:
    link = target.parent / "link"
    link.symlink_to(target)
    with replacing(link) as sink:
        sink.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_permissions(target: Path, tmp_path: Path) -> None:
    target.chmod(0o640)
    with replacing(target) as sink:
        sink.write(b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    with replacing(tmp_path / "new") as sink:
        sink.write(b"new")
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert (tmp_path / "new").stat().st_mode == plain.stat().st_mode


def test_the_umask_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to the process: changed for a moment, it is wrong for a file of another thread."""
    before = os.umask(0o027)

    def refuse(_: int) -> int:
        raise AssertionError("the umask was touched")

    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", refuse)
            with replacing(tmp_path / "new") as sink:
                sink.write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_private_file_stays_private_while_it_is_written(target: Path) -> None:
    target.chmod(0o600)
    with replacing(target):
        (temporary,) = (path for path in target.parent.iterdir() if path != target)
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["", "no/such/folder/a.run", "a\0b.run", "\ud800.run", "x" * 300])
def test_names_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Run({"q": ["d"]}).write(f"{tmp_path}/{name}", format="trec")
    assert list(tmp_path.iterdir()) == []


def test_a_long_name(tmp_path: Path) -> None:
    """As long as a name may be, in letters of several bytes: no room for a longer one beside it."""
    path = tmp_path / ("ä" * 120 + ".run")
    Run({"q": {"d": 1.0}}).write(path)
    assert read_run(path).to_dict() == {"q": {"d": 1.0}}


def test_a_full_device() -> None:
    with pytest.raises(InputError, match=r"/dev/full: cannot be written \(No space left on device"):
        Run({"q": ["d"]}).write("/dev/full", format="trec")


def test_writers_do_not_disturb_each_other(target: Path) -> None:
    with replacing(target) as one, replacing(target) as two:
        one.write(b"one")
        two.write(b"two")
    assert target.read_bytes() == b"one"  # the last to finish
    assert alone(target)
