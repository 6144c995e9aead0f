"""Stages are done in order, once, and again only where something changed."""

from __future__ import annotations

import threading
from itertools import count
from pathlib import Path

import pytest

from rankscope.benchmark.artifacts import PartForm, Store
from rankscope.benchmark.plan import Output, Plan, Results, Stage, Step
from rankscope.part import Part

CALLS: list[str] = []


class Words(Part):
    """What the stages of these tests make."""

    text: str = ""
    """Their name, and the texts of what they need."""


FORM = PartForm(Words)


@pytest.fixture(autouse=True)
def no_calls() -> None:
    CALLS.clear()


def stage(
    name: str, *needs: Stage[Words], key: str | None = None, complete: bool = True
) -> Stage[Words]:
    def work(results: Results, step: Step) -> Output[Words]:
        CALLS.append(name)
        step(1, 1)
        text = " ".join([name, *(results[needed].text for needed in needs)])
        return Output(Words(text=text), complete=complete)

    return Stage(name, key or f"key-{name}", work, FORM, needs)


def texts(plan: Plan, jobs: int = 1) -> dict[str, str]:
    results = plan.execute(jobs=jobs)
    return {stage.name: results[stage].text for stage in plan.stages}


def states(plan: Plan) -> list[str]:
    return [state.state for state in plan.states()]


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_stage_is_done_once(tmp_path: Path, jobs: int) -> None:
    a = stage("a")
    b, c = stage("b", a), stage("c", a)
    plan = Plan([a, b, c, stage("d", b, c)], Store(tmp_path))
    assert states(plan) == ["to do"] * 4
    for _ in range(2):
        assert texts(plan, jobs)["d"] == "d b a c a"
        assert sorted(CALLS) == ["a", "b", "c", "d"]
        assert states(plan) == ["there"] * 4
    texts(Plan([stage("a", key="other")], Store(tmp_path)))
    assert CALLS[4:] == ["a"], "another key is other work"


def test_a_damaged_entry_is_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    texts(Plan([stage("a")], store))
    (entry,) = (tmp_path / "stages").glob("*.artifact")
    whole = entry.read_bytes()
    for damaged in (b"", b"x", b"\0" * 100, whole[:-1]):
        CALLS.clear()
        entry.write_bytes(damaged)
        assert texts(Plan([stage("a")], store)) == {"a": "a"}
        assert CALLS == ["a"]
        assert entry.read_bytes() == whole


@pytest.mark.parametrize("jobs", [1, 2])
def test_unfinished_work_and_what_is_made_from_it_is_not_kept(tmp_path: Path, jobs: int) -> None:
    a = stage("a", complete=False)
    b, c = stage("b", a), stage("c")
    plan = Plan([a, b, c], Store(tmp_path))
    results = plan.execute(jobs=jobs)
    assert [results.complete(each) for each in (a, b, c)] == [False, False, True]
    assert states(plan) == ["to do", "to do", "there"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_ends_the_plan_and_keeps_what_is_done(tmp_path: Path, jobs: int) -> None:
    def fail(_: Results, __: Step) -> Output[Words]:
        raise ValueError("no")

    a = stage("a")
    plan = Plan([a, Stage("b", "key-b", fail, FORM, (a,))], Store(tmp_path))
    with pytest.raises(ValueError, match="no"):
        plan.execute(jobs=jobs)
    assert states(plan) == ["there", "to do"]


def test_an_error_ends_what_goes_on_beside_it(tmp_path: Path) -> None:
    started = threading.Event()

    def fail(_: Results, __: Step) -> Output[Words]:
        assert started.wait(60)
        raise ValueError("no")

    def endless(_: Results, step: Step) -> Output[Words]:
        started.set()
        for number in count():
            step(number, number + 1)
        raise AssertionError

    plan = Plan([Stage("a", "ka", fail, FORM), Stage("b", "kb", endless, FORM)], Store(tmp_path))
    with pytest.raises(ValueError, match="no"):
        plan.execute(jobs=2)


def test_stages_that_need_nothing_of_each_other_are_done_at_a_time(tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=60)

    def wait(_: Results, __: Step) -> Output[Words]:
        both.wait()
        return Output(Words())

    plan = Plan([Stage("a", "ka", wait, FORM), Stage("b", "kb", wait, FORM)], Store(tmp_path))
    plan.execute(jobs=2)
