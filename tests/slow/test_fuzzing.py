"""The fuzzer: a short run that finds nothing, and proof that it would find something."""

from __future__ import annotations

from pathlib import Path

import pytest
from reliability.fuzz import __main__ as fuzzing
from reliability.fuzz import seeds
from reliability.fuzz.__main__ import fuzz, repeat
from reliability.fuzz.minimal import minimal
from reliability.fuzz.targets import all_targets
from reliability.fuzz.workers import MEMORY, Task, Worker, random_of


@pytest.fixture(autouse=True)
def _much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no failure."""
    monkeypatch.setattr(fuzzing, "_LIMITS", (MEMORY, 600.0))


def test_a_short_run() -> None:
    """`make fuzz` does this a thousand times as long."""
    answers, failures = fuzz(700, seed=11)
    assert [(failure.target, failure.outcome, failure.data[:200]) for failure in failures] == []
    assert all(answer.results + answer.refusals for answer in answers.values())


def test_the_same_seed_gives_the_same_input(tmp_path: Path) -> None:
    attempts = []
    for name in "ab":
        files, scratch = tmp_path / name / "files", tmp_path / name / "scratch"
        for folder in (files, scratch):
            folder.mkdir(parents=True)
        seeds.world(files)
        targets = all_targets(files, scratch)
        attempts.append(
            [
                target.attempt(random_of(1, target.name, number))
                for target in targets.values()
                for number in range(20)
            ]
        )
    assert attempts[0] == attempts[1]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = tmp_path_factory.mktemp("files")
    seeds.world(files)
    return files


@pytest.mark.parametrize(
    ("attack", "outcome", "seconds"),
    [
        (b"error", "KeyError in targets.py:execute", 600),
        (b"memory", "MemoryError in targets.py:<lambda>", 600),
        (b"print", "something was printed by an engine", 600),
        (b"abort", "the process was ended by signal 6", 600),
        (b"slow", "more than", 0.2),  # these two never end by themselves
        (b"hang", "more than", 0.2),
        (b"fine", "", 600),
    ],
)
def test_what_must_not_happen_is_noticed(
    files: Path, attack: bytes, outcome: str, seconds: float
) -> None:
    worker = Worker(files, (MEMORY, seconds))
    failure = worker.failure(Task("self-test", attempt=("", attack)))
    worker.end()
    assert ("" if failure is None else failure.outcome).startswith(outcome)
    assert (failure is None) is (attack == b"fine")


def test_failures_are_kept_and_can_be_repeated(tmp_path: Path) -> None:
    answers, [failure] = fuzz(20, seed=1, workers=1, only="self-test", keep=tmp_path)
    done = answers["self-test"]
    assert (done.results + len(done.failures), failure.data) == (20, b"error")
    assert len(done.failures) > 1  # of one kind, which is kept once
    [kept] = tmp_path.glob("*.json")
    assert repeat(kept) == 1


def test_what_failed_is_made_small() -> None:
    data = b"x" * 1000 + b"BAD" + b"y" * 500 + b"!" + b"z" * 10
    assert minimal(data, lambda part: b"BAD" in part and b"!" in part) == b"BAD!"
