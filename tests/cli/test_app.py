"""What all commands share: help, formats, debugging, and faults of our own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from conftest import Rankscope
from rankscope.cli.app import app
from rankscope.cli.help import HEADINGS, Command
from rankscope.cli.output import FORMATS
from rankscope.measures.registry import all_definitions

SMALL = Path(__file__).parents[1] / "data" / "small"
QRELS, RUN, OTHER = (str(SMALL / name) for name in ("qrels.tsv", "letters.run", "words.run"))


def commands(group: click.Group = app, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every command that is no group."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


def test_help_is_short_and_names_what_it_leaves_out(
    rankscope: Rankscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert rankscope("--help").stdout.count("\n") <= 30
    for path in commands():
        short, whole = (rankscope(*path, option) for option in ("--help", "--help-all"))
        for done in (short, whole):
            assert (done.returncode, done.stderr) == (0, ""), path
            assert all(sign.isprintable() or sign == "\n" for sign in done.stdout), path
        assert short.stdout.count("\n") <= 40, path
        assert len(whole.stdout) >= len(short.stdout) - len("  --help-all  Also: …\n"), path
        command: click.Command | None = app
        for name in path:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), name)
        assert isinstance(command, Command)
        assert all(each.opts[-1] in whole.stdout for each in command.declared), path
        assert {each.heading for each in command.declared} <= set(HEADINGS), path


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["rnus"], "runs"),
        (["gate", RUN, OTHER, "--qrel", QRELS], "--qrels"),
        (["gate", RUN, OTHER, "--max-drops", "1"], "--max-drop"),
        (["evaluate", QRELS, RUN, "--profile", "rank"], "ranx"),
        (["measures", "nDGC"], "nDCG"),
        (["evaluate", QRELS, RUN, "-m", "nDGC@10"], "nDCG"),
        (["evaluate", QRELS, RUN, "--format", "jsn"], "json"),
        (["evaluate", QRELS, RUN.replace("letters", "leters")], "letters.run"),
        (["compare", QRELS, RUN, OTHER, "--baseline", "word"], "words"),
        (["benchmark", "rnu"], "run"),
    ],
)
def test_a_misspelt_name_gets_the_nearest(
    rankscope: Rankscope, arguments: list[str], nearest: str
) -> None:
    done = rankscope(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert nearest in done.stderr.splitlines()[-1]


# --- formats -------------------------------------------------------------------------------------

ARGUMENTS = {
    "evaluate": [QRELS, RUN, OTHER, "-m", "RR"],
    "evaluate by query": [QRELS, RUN, "-m", "RR", "--per-query"],
    "compare": [QRELS, RUN, OTHER, "-m", "RR", "--resamples", "200"],
    "gate": [RUN, OTHER, "--qrels", QRELS, "--resamples", "200"],
    "explain": [QRELS, RUN, "--query", "q01", "-m", "RR", "-m", "AP"],
    "explain of theirs": [QRELS, RUN, "-m", "RR", "--theirs", "0.25"],
    "power": [QRELS, RUN, OTHER, "--difference", "0.1"],
    "power by assumption": ["--sd", "0.2", "--difference", "0.1", "--queries", "50"],
    "measures": [],
    "measures of one": ["nDCG"],
    "runs validate": [RUN, OTHER],
}


@pytest.mark.parametrize("title", ARGUMENTS)
def test_every_format_is_printed_and_written(
    rankscope: Rankscope, tmp_path: Path, title: str
) -> None:
    command = title.split(" by ", maxsplit=1)[0].split(" of ", maxsplit=1)[0].split()
    for format in FORMATS:
        arguments = [*command, *ARGUMENTS[title], "--format", format]
        done = rankscope(*arguments)
        assert done.returncode == 0, format
        assert format == "csv" or not done.stderr, format
        assert done.stdout.count("\n") > 1, format
        if format == "json":
            json.loads(done.stdout)
        if format == "table":
            assert max(map(len, done.stdout.splitlines())) <= 100
        again = rankscope(*arguments, "-o", "out.txt")
        assert (again.returncode, again.stdout, again.stderr) == (0, "", done.stderr), format
        assert (tmp_path / "out.txt").read_text("utf-8") == done.stdout, format


@pytest.mark.parametrize(("variable", "coloured"), [("NO_COLOR", False), ("FORCE_COLOR", True)])
def test_colour_is_for_those_who_want_it(
    rankscope: Rankscope, monkeypatch: pytest.MonkeyPatch, variable: str, coloured: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b" not in rankscope("evaluate", QRELS, RUN, OTHER).stdout, "not in a pipe"
    monkeypatch.setenv(variable, "1")
    shown = rankscope("evaluate", QRELS, RUN, OTHER, "-m", "R@100").stdout
    assert ("\x1b[3" in shown or "\x1b[1;3" in shown) == coloured


# --- measures ------------------------------------------------------------------------------------


def test_every_measure_is_listed_and_found_by_its_name(rankscope: Rankscope) -> None:
    listed = json.loads(rankscope("measures", "--format", "json").stdout)
    names = [definition.name for definition in all_definitions()]
    assert [entry["name"] for entry in listed] == names
    assert all(entry["formula"] and entry["reference"] for entry in listed)
    for name in names:
        assert json.loads(rankscope("measures", name, "--format", "json").stdout)["name"] == name


# --- debugging -----------------------------------------------------------------------------------


def test_a_mistake_is_one_sentence_and_with_debug_a_traceback(
    rankscope: Rankscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.run").write_text("q1 Q0 d1 1 high t\n")
    plain = rankscope("evaluate", QRELS, "bad.run")
    assert (plain.returncode, plain.stderr.count("\n")) == (2, 1)
    debug = rankscope("--debug", "evaluate", QRELS, "bad.run")
    assert debug.returncode == 2
    assert "Traceback (most recent call last)" in debug.stderr
    assert debug.stderr.endswith(plain.stderr), "the sentence comes last"
    assert rankscope("evaluate", QRELS, "bad.run").stderr == plain.stderr, "silent again"
    for value, shown in (("1", True), ("0", False)):
        monkeypatch.setenv("RANKSCOPE_DEBUG", value)
        assert ("Traceback" in rankscope("evaluate", QRELS, "bad.run").stderr) == shown


# --- faults --------------------------------------------------------------------------------------


class FaultError(Exception):
    """What nobody expects."""


def faulty(*_: object, **__: object) -> None:
    try:
        raise KeyError("the cause")
    except KeyError:
        raise FaultError("oh\x1b[31m no") from None


def test_a_fault_of_our_own_exits_70(rankscope: Rankscope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankscope.measures.registry.all_definitions", faulty)
    done = rankscope("measures")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (70, "", 1)
    assert "oh\\x1b[31m no" in done.stderr
    assert "--debug" in done.stderr
    debug = rankscope("--debug", "measures")
    assert debug.returncode == 70
    assert debug.stderr.index("KeyError") < debug.stderr.index("FaultError"), "a hidden cause too"


def test_a_lack_of_memory_and_a_panic(
    rankscope: Rankscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicError(BaseException):
        """As Rust's, which is no Exception."""

    for kind, code in ((MemoryError, 2), (PanicError, 70)):

        def fail(*_: object, kind: type[BaseException] = kind, **__: object) -> None:
            raise kind

        monkeypatch.setattr("rankscope.cli.app.app.main", fail)
        done = rankscope("measures")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
