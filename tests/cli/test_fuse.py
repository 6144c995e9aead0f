"""``rankscope runs fuse``: what is written, what is said, and the exit codes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from rankscope.cli.runs_fuse import fuse as command
from rankscope.errors import InputError, UnknownNameError
from rankscope.runs.fusion.fuse import fuse
from rankscope.runs.fusion.methods import METHODS
from rankscope.runs.table import Run, read_run

ONE = {"q1": {"a": 3.0, "b": 2.0}, "q2": {"c": 1.0}}
TWO = {"q1": {"b": 9.0, "d": 8.0}}
Rankscope = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Run(ONE, name="one").write(tmp_path / "one.run")
    Run(TWO, name="two").write(tmp_path / "two.run.gz")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), standalone_mode=False)


@pytest.mark.usefixtures("files")
def test_writes_a_run_and_says_so(rankscope: Rankscope) -> None:
    done = rankscope("runs", "fuse", "one.run", "two.run.gz", "-o", "fused.run")
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr == ("rrf: 4 lines for 2 queries, fused from 2 runs, written to fused.run\n")
    written = read_run("fused.run")
    assert written == fuse([ONE, TWO])
    assert written.name == "rrf"


@pytest.mark.usefixtures("files")
def test_options() -> None:
    call("one.run", "two.run.gz", "-o", "k.json", "--k", "1", "--weights", "0.3,0.7")
    assert read_run("k.json") == fuse([ONE, TWO], k=1, weights=[0.3, 0.7])
    mnz = ("--method", "combmnz", "--normalise", "minmax", "--depth", "1", "--name", "my run")
    call("one.run", "two.run.gz", "-o", "mnz.out", "--format", "trec", *mnz)
    written = read_run("mnz.out")
    assert written == fuse([ONE, TWO], method="combmnz", normalise="minmax", depth=1)
    assert written.name == "my_run"  # a tag has no blank
    call("one.run", "two.run.gz", "-o", "rbc.tsv", "--method", "rbc", "--p", "0.5")
    assert read_run("rbc.tsv") == fuse([ONE, TWO], method="rbc", p=0.5)
    call("one.run", "two.run.gz", "-o", "isr.csv", "--method", "logisr", "--sigma", "0.5")
    assert read_run("isr.csv") == fuse([ONE, TWO], method="logisr", sigma=0.5)


@pytest.mark.usefixtures("files")
def test_probfuse_learns_from_a_file() -> None:
    Path("qrels.txt").write_text("q1 0 b 1\nq2 0 c 1\n")
    learn = ("--method", "probfuse", "--qrels", "qrels.txt", "--segments", "2")
    done = call("one.run", "two.run.gz", "-o", "fused.run", *learn)
    assert done.exception is None
    qrels = {"q1": {"b": 1}, "q2": {"c": 1}}
    assert read_run("fused.run") == fuse([ONE, TWO], method="probfuse", qrels=qrels, segments=2)


@pytest.mark.usefixtures("files")
def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch) -> None:
    class Text(io.TextIOWrapper):
        """Standard streams that a test can look into."""

    given, taken = io.BytesIO(Path("one.run").read_bytes()), io.BytesIO()
    monkeypatch.setattr(sys, "stdin", Text(given))
    monkeypatch.setattr(sys, "stdout", Text(taken, write_through=True))
    command.main(["-", "two.run.gz", "-o", "-"], standalone_mode=False)
    Path("taken.run").write_bytes(taken.getvalue())
    assert taken.getvalue().startswith(b"q1 Q0 b 1 0.03252247488101534 rrf\n")
    assert read_run("taken.run") == fuse([ONE, TWO])


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        (["-o", "x.run", "--method", "rff"], UnknownNameError, "nearest: rrf"),
        (["-o", "x.run", "--weights", "1"], InputError, "2 runs and 1 weights"),
        (["-o", "x.run", "--weights", "1,a"], click.BadParameter, "such as 0.3,0.7, got '1,a'"),
        (["-o", "x.run", "--k", "0"], InputError, "k must be a number above 0, not 0"),
        (["-o", "x.run", "--depth", "0"], InputError, "depth must be a whole number from 1 up"),
        (["-o", "x.odd"], InputError, "the suffix does not tell the format"),
        (["-o", "x.run", "--format", "jsn"], UnknownNameError, "nearest: json"),
        (["-", "-", "-o", "x.run"], click.UsageError, "can be read once only"),
        ([], click.MissingParameter, ""),
    ],
)
def test_mistakes(arguments: list[str], kind: type[Exception], sentence: str) -> None:
    done = call("one.run", "two.run.gz", *arguments)
    assert isinstance(done.exception, kind)
    assert sentence in str(done.exception)
    assert not Path("x.run").exists()


def test_all_methods_are_listed() -> None:
    listed = call("--methods").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(METHODS)
    assert listed[0].endswith("[--k --weights]")


def test_every_option_of_a_method_can_be_given() -> None:
    known = {parameter.name for parameter in command.params}
    assert {option for method in METHODS.values() for option in method.options} <= known
