"""What all commands share: help, formats, debugging, and faults of our own."""

from __future__ import annotations

import csv
import io
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import rankscope as rs
from rankscope.cli.app import app
from rankscope.cli.output import FORMATS
from rankscope.scoring.rules import PROFILES

Rankscope = Callable[..., Any]

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


@pytest.mark.parametrize("path", [*commands()], ids=" ".join)
def test_help_is_plain_text_that_fits(rankscope: Rankscope, path: tuple[str, ...]) -> None:
    done = rankscope(*path, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(sign.isprintable() or sign == "\n" for sign in done.stdout)
    assert "\\b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--qrel", " Did you mean --qrels?"),
        ("--max-drops", " Did you mean --max-drop or --max-query-drop?"),
        ("--zz", ""),
    ],
)
def test_an_unknown_option_gets_the_nearest_first(
    rankscope: Rankscope, option: str, hint: str
) -> None:
    done = rankscope("gate", RUN, OTHER, option, QRELS)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"Error: No such option '{option}'.{hint}"


def test_an_unknown_profile_gets_the_nearest(rankscope: Rankscope) -> None:
    done = rankscope("evaluate", QRELS, RUN, "--profile", "rank")
    assert done.returncode == 2
    assert "unknown profile 'rank'; nearest: ranx" in done.stderr
    assert all(name in rankscope("evaluate", "--help").stdout for name in PROFILES)


# --- formats -------------------------------------------------------------------------------------

ARGUMENTS = {
    "evaluate": [QRELS, RUN, OTHER, "-m", "RR"],
    "evaluate by query": [QRELS, RUN, "-m", "RR", "--per-query"],
    "compare": [QRELS, RUN, OTHER, "-m", "RR", "--resamples", "200"],
    "gate": [RUN, OTHER, "--qrels", QRELS, "--resamples", "200"],
    "explain": [QRELS, RUN, "--query", "q01", "-m", "RR", "-m", "AP"],
    "why": [QRELS, RUN, "-m", "RR", "--theirs", "0.25"],
    "power": [QRELS, RUN, OTHER, "--difference", "0.1"],
    "power by assumption": ["--sd", "0.2", "--difference", "0.1", "--queries", "50"],
    "measures": [],
    "measures of one": ["nDCG"],
    "runs validate": [RUN, OTHER],
}
STARTS = {"html": "<!doctype html>\n", "latex": "% needs \\usepackage{booktabs}\n"}


def command_of(title: str) -> list[str]:
    return title.split(" by ", maxsplit=1)[0].split(" of ", maxsplit=1)[0].split()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("title", ARGUMENTS)
def test_every_format_of_every_command(
    rankscope: Rankscope, tmp_path: Path, title: str, format: str
) -> None:
    arguments = [*command_of(title), *ARGUMENTS[title], "--format", format]
    done = rankscope(*arguments)
    warned = done.stderr.splitlines()
    assert done.returncode == 0
    assert format == "csv" or not warned
    assert done.stdout.startswith(STARTS.get(format, ""))
    assert done.stdout.count("\n") > 1
    if format == "json":
        json.loads(done.stdout)
    if format == "table":
        assert max(map(len, done.stdout.splitlines())) <= 100
    again = rankscope(*arguments, "-o", "out.txt")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", done.stderr)
    assert (tmp_path / "out.txt").read_text("utf-8") == done.stdout


@pytest.mark.parametrize("title", ["gate", "explain", "power", "compare"])
def test_csv_holds_all_measures(rankscope: Rankscope, title: str) -> None:
    arguments = [*ARGUMENTS[title], "-m", "R@50", "-m", "P@1", "--format", "csv"]
    done = rankscope(title, *arguments)
    assert done.returncode in (0, 1)
    head, *rows = csv.DictReader(io.StringIO(done.stdout))
    assert {"R@50", "P@1"} <= {row["measure"] for row in (head, *rows)}


# --- debugging -----------------------------------------------------------------------------------


def test_a_mistake_is_one_sentence_and_with_debug_a_traceback(
    rankscope: Rankscope, tmp_path: Path
) -> None:
    (tmp_path / "bad.run").write_text("q1 Q0 d1 1 high t\n")
    plain = rankscope("evaluate", QRELS, "bad.run")
    assert (plain.returncode, plain.stderr.count("\n")) == (2, 1)
    debug = rankscope("--debug", "evaluate", QRELS, "bad.run")
    assert debug.returncode == 2
    assert "Traceback (most recent call last)" in debug.stderr
    assert debug.stderr.endswith(plain.stderr), "the sentence comes last"
    assert rankscope("evaluate", QRELS, "bad.run").stderr == plain.stderr, "silent again"


def test_debug_by_the_environment(rankscope: Rankscope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_DEBUG", "1")
    assert "Traceback" in rankscope("evaluate", "nowhere", RUN).stderr
    monkeypatch.setenv("RANKSCOPE_DEBUG", "0")
    assert "Traceback" not in rankscope("evaluate", "nowhere", RUN).stderr


def test_logs_are_shown_with_debug_only(rankscope: Rankscope) -> None:
    done = rankscope("--debug", "measures", "nDCG")
    assert done.returncode == 0
    assert "DEBUG rankscope.cli.debugging: Python 3." in done.stderr
    logging.getLogger("rankscope.anything").warning("nobody listens")
    done = rankscope("measures", "nDCG")
    assert (done.returncode, done.stderr) == (0, "")


class FaultError(Exception):
    """What nobody expects."""


def faulty(*_: object, **__: object) -> None:
    try:
        raise KeyError("the cause")
    except KeyError:
        raise FaultError("oh\x1b[31m no") from None


def test_the_version_says_what_it_runs_on(
    rankscope: Rankscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rankscope("--version").stdout == f"rankscope, version {rs.__version__}\n"
    whole = rankscope("--version", "--verbose").stdout
    assert whole.startswith(f"rankscope, version {rs.__version__}\nPython 3.")
    assert "\nnative scan: " in whole
    monkeypatch.setenv("RANKSCOPE_NATIVE", "0")
    for typed in (("--version", "--verbose"), ("--verbose", "--version")):
        assert "\nnative scan: off (RANKSCOPE_NATIVE=0)\n" in rankscope(*typed).stdout


def test_a_fault_of_our_own_exits_70(
    rankscope: Rankscope, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("rankscope.measures.registry.all_definitions", faulty)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = rankscope("measures")
    assert (done.returncode, done.stdout) == (70, "")
    (report,) = tmp_path.glob("rankscope-fault-*.txt")
    assert done.stderr == (
        "rankscope: this is a fault of rankscope (FaultError: oh\\x1b[31m no); please report it "
        f"with {report}; 'rankscope --debug …' shows more\n"
    )
    text = report.read_text("utf-8")
    assert text.startswith(f"rankscope {rs.__version__}, Python 3.")
    assert "FaultError: oh" in text
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    done = rankscope("measures")
    assert done.returncode == 70
    assert done.stderr.endswith("run again with 'rankscope --debug …' and report what it prints\n")
    debug = rankscope("--debug", "measures")
    assert debug.returncode == 70
    assert "KeyError: 'the cause'" in debug.stderr, "also a cause that was hidden"
    assert debug.stderr.index("KeyError") < debug.stderr.index("FaultError")


def test_exit_codes_are_in_the_help(rankscope: Rankscope) -> None:
    assert "70 a fault of rankscope itself" in " ".join(rankscope("--help").stdout.split())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_output_that_cannot_be_written() -> None:
    """A full disk and a closed standard output are one sentence each, and no answer."""
    command = f"{sys.executable} -m rankscope evaluate {QRELS} {RUN}"
    for redirected, said in ((">/dev/full", "could not be written"), (">&-", "is closed")):
        done = subprocess.run(
            f"{command} {redirected}",
            shell=True,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert done.stderr.startswith("rankscope: standard output")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    silent = subprocess.run(f"{command} >/dev/full 2>&1", shell=True, check=False)
    assert silent.returncode == 2
