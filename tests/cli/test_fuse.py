"""``rankscope runs fuse``: what is written, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Rankscope
from rankscope.cli.runs import fuse as command
from rankscope.runs.fusion.fuse import fuse
from rankscope.runs.fusion.methods import METHODS
from rankscope.runs.table import Run, read_run

ONE = {"q1": {"a": 3.0, "b": 2.0}, "q2": {"c": 1.0}}
TWO = {"q1": {"b": 9.0, "d": 8.0}}
QRELS = {"q1": {"b": 1}, "q2": {"c": 1}}


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    Run(ONE, name="one").write(tmp_path / "one.run")
    Run(TWO, name="two").write(tmp_path / "two.run.gz")
    (tmp_path / "qrels.json").write_text(json.dumps(QRELS))


@pytest.mark.parametrize(
    ("name", "typed", "options"),
    [
        ("a.run", "", {}),
        ("a.json", "--k 1 --weights 0.3,0.7", {"k": 1, "weights": [0.3, 0.7]}),
        (
            "a.out",
            "--method combmnz --normalise minmax --depth 1 --format trec",
            {"method": "combmnz", "normalise": "minmax", "depth": 1},
        ),
        ("a.tsv", "--method rbc --p 0.5", {"method": "rbc", "p": 0.5}),
        ("a.csv", "--method lognisr --sigma 0.5", {"method": "lognisr", "sigma": 0.5}),
        ("a.csv", "--method gmnz --gamma 0.5", {"method": "gmnz", "gamma": 0.5}),
        (
            "a.run",
            "--method slidefuse --qrels qrels.json --window 2",
            {"method": "slidefuse", "qrels": QRELS, "window": 2},
        ),
        (
            "a.run",
            "--method probfuse --qrels qrels.json --segments 2",
            {"method": "probfuse", "qrels": QRELS, "segments": 2},
        ),
    ],
)
def test_options_reach_the_method(
    rankscope: Rankscope, name: str, typed: str, options: dict[str, object]
) -> None:
    done = rankscope("runs", "fuse", "one.run", "two.run.gz", "-o", name, *typed.split())
    assert (done.returncode, done.stdout) == (0, "")
    assert read_run(name) == fuse([ONE, TWO], **options)  # type: ignore[arg-type]


def test_standard_input_and_output_and_a_name(rankscope: Rankscope, tmp_path: Path) -> None:
    given = (tmp_path / "one.run").read_text()
    done = rankscope("runs", "fuse", "-", "two.run.gz", "-o", "-", "--name", "my run", given=given)
    assert done.stdout.startswith("q1 Q0 b 1 0.03252247488101534 my_run\n"), "a tag has no blank"


def test_the_options_of_every_method_can_be_given() -> None:
    known = {parameter.name for parameter in command.params}
    assert {option for method in METHODS.values() for option in method.options} <= known
