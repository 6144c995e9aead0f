"""Stages are done in order, once, and again only where something changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from rankscope.benchmark.artifacts import Parcel, Store
from rankscope.benchmark.plan import Plan, Stage, Step

CALLS: list[str] = []


@pytest.fixture(autouse=True)
def no_calls() -> None:
    CALLS.clear()


def stage(
    name: str, needs: tuple[str, ...] = (), key: str | None = None, *, complete: bool = True
) -> Stage:
    def work(needed: Mapping[str, Parcel], step: Step) -> Parcel:
        CALLS.append(name)
        step(1, 1)
        said = " ".join([name, *(parcel.data["said"] for parcel in needed.values())])
        return Parcel({"said": said}, {"t": pl.DataFrame({"x": [1, 2]})}, complete=complete)

    return Stage(name, key or f"key-{name}", work, needs)


def said(plan: Plan, jobs: int = 1) -> dict[str, str]:
    return {name: parcel.data["said"] for name, parcel in plan.execute(jobs=jobs).parcels.items()}


def test_parcels_come_back_as_they_were(tmp_path: Path) -> None:
    store = Store(tmp_path)
    table = pl.DataFrame({"q": ["a", "ü"], "s": [0.1, 1 / 3]})
    store.write("k", Parcel({"n": [1, {"ä": None}]}, {"a": table, "b": table.clear()}))
    back = store.read("k")
    assert back is not None
    assert back.data == {"n": [1, {"ä": None}]}
    assert back.tables["a"].equals(table)
    assert back.tables["b"].schema == table.schema


@pytest.mark.parametrize("jobs", [1, 3])
def test_each_stage_is_done_once(tmp_path: Path, jobs: int) -> None:
    stages = [stage("a"), stage("b", ("a",)), stage("c", ("a",)), stage("d", ("b", "c"))]
    plan = Plan(stages, Store(tmp_path))
    assert [state for _, state, _ in plan.states()] == ["to do"] * 4
    assert said(plan, jobs)["d"] == "d b a c a"
    assert sorted(CALLS) == ["a", "b", "c", "d"]
    assert [state for _, state, _ in plan.states()] == ["there"] * 4
    assert said(plan, jobs)["d"] == "d b a c a"
    assert len(CALLS) == 4


def test_another_key_is_other_work(tmp_path: Path) -> None:
    said(Plan([stage("a")], Store(tmp_path)))
    said(Plan([stage("a", key="other")], Store(tmp_path)))
    assert CALLS == ["a", "a"]


@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 100])
def test_a_damaged_entry_is_made_again(tmp_path: Path, damage: bytes) -> None:
    store = Store(tmp_path)
    said(Plan([stage("a")], store))
    (entry,) = (tmp_path / "stages").glob("*.parcel")
    whole = entry.read_bytes()
    entry.write_bytes(damage)
    assert said(Plan([stage("a")], store)) == {"a": "a"}
    assert CALLS == ["a", "a"]
    assert entry.read_bytes() == whole


def test_an_entry_cut_short_is_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    said(Plan([stage("a")], store))
    (entry,) = (tmp_path / "stages").glob("*.parcel")
    entry.write_bytes(entry.read_bytes()[:-1])
    said(Plan([stage("a")], store))
    assert CALLS == ["a", "a"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_unfinished_work_and_what_is_made_from_it_is_not_kept(tmp_path: Path, jobs: int) -> None:
    stages = [stage("a", complete=False), stage("b", ("a",)), stage("c")]
    plan = Plan(stages, Store(tmp_path))
    done = plan.execute(jobs=jobs)
    assert not done.parcels["a"].complete
    assert not done.parcels["b"].complete
    assert {name: state for name, state, _ in plan.states()} == {
        "a": "to do",
        "b": "to do",
        "c": "there",
    }


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_ends_the_plan_and_keeps_what_is_done(tmp_path: Path, jobs: int) -> None:
    def fail(_: Mapping[str, Parcel], __: Step) -> Parcel:
        raise ValueError("no")

    plan = Plan([stage("a"), Stage("b", "key-b", fail, ("a",))], Store(tmp_path))
    with pytest.raises(ValueError, match="no"):
        plan.execute(jobs=jobs)
    assert [state for _, state, _ in plan.states()] == ["there", "to do"]


def test_an_error_ends_what_goes_on_beside_it(tmp_path: Path) -> None:
    started = threading.Event()
    ended: list[str] = []

    def fail(_: Mapping[str, Parcel], __: Step) -> Parcel:
        started.wait(10)
        raise ValueError("no")

    def long(_: Mapping[str, Parcel], step: Step) -> Parcel:
        started.set()
        for number in range(20_000):
            step(number, 20_000)
            time.sleep(0.001)
        ended.append("all of it")
        return Parcel()

    plan = Plan([Stage("a", "ka", fail), Stage("b", "kb", long)], Store(tmp_path))
    with pytest.raises(ValueError, match="no"):
        plan.execute(jobs=2)
    assert not ended


def test_stages_that_need_nothing_of_each_other_are_done_at_a_time(tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=10)

    def wait(_: Mapping[str, Parcel], __: Step) -> Parcel:
        both.wait()
        return Parcel()

    plan = Plan([Stage("a", "ka", wait), Stage("b", "kb", wait)], Store(tmp_path))
    plan.execute(jobs=2)
