"""Writing: all at once or not at all, whatever happens on the way."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
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


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


DISK_FULL = """
import resource, sys
import rankscope as rs
run = rs.Run({f"q{n}": {f"document-{m * n + m}": m / 7 for m in range(100)} for n in range(300)})
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    run.write(sys.argv[1])
except rs.InputError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "suffix", ["run", "jsonl", "parquet", *(f"csv{packed}" for packed in COMPRESSIONS)]
)
def test_a_full_disk(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{suffix}"
    path.write_bytes(OLD)
    done = python(DISK_FULL, path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "cannot be written (File too large); the old file is unchanged" in done.stdout
    assert path.read_bytes() == OLD
    assert alone(path)


SLOW = """
import sys, time
from rankscope.files import replacing
with replacing(sys.argv[1]) as sink:
    sink.write(b"half")
    sink.flush()
    print("half", flush=True)
    time.sleep(60)
"""


def test_killed_half_way(target: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, str(target)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
        writer.send_signal(signal.SIGKILL)
    assert target.read_bytes() == OLD


def test_interrupted_half_way(target: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, str(target)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
        writer.send_signal(signal.SIGINT)
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


@pytest.mark.parametrize("name", ["", "no/such/folder/a.run", "a\0b.run", "x" * 300])
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


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as cat:
        Run({"q": {"d": 1.0}}, name="t").write(pipe, format="trec")
        assert cat.stdout is not None
        assert cat.stdout.read() == b"q Q0 d 1 1.0 t\n"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_standard_output_can_be_full() -> None:
    code = "import rankscope as rs\nrs.Run({'q': ['d']}).write('-', format='trec')"
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert "standard output: cannot be written (No space left on device)" in done.stderr


def test_writers_do_not_disturb_each_other(target: Path) -> None:
    with replacing(target) as one, replacing(target) as two:
        one.write(b"one")
        two.write(b"two")
    assert target.read_bytes() == b"one"  # the last to finish
    assert alone(target)
