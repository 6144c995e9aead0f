"""Threads, processes and a Dask cluster give the result of one process, also when workers die."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from conftest import Rankscope
from rankscope.scale import dask_cluster, executors, run_cuts
from rankscope.scale.executors import Workers, process_pool
from rankscope.scale.run_parts import RunParts
from scale.deaths import die, die_once
from scale.runs_on_disk import ordered, qrels, rows, text

MEASURES = ["nDCG@3", "RR@10", "AP"]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_cuts, "PART_BYTES", 300)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with process_pool(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            worker_dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def told(scores: rs.Scores) -> Any:
    return {
        name: (
            scores.run(name).values.tobytes(),
            scores.run(name).means,
            scores.run(name).counts,
            scores.run(name).remarks,
        )
        for name in scores.runs
    }


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    made = []
    for seed, order in enumerate(["best first", "interleaved", "shuffled"]):
        path = tmp_path / f"run{seed}.run"
        path.write_bytes(text(ordered(rows(seed), order, seed)).replace(b"sys", b"s%d" % seed))
        made.append(str(path))
    return made


@pytest.mark.usefixtures("small_parts")
def test_threads(files: list[str]) -> None:
    with ThreadPoolExecutor(2) as pool:
        check(files, pool)


def check(files: list[str], executor: Executor) -> None:
    """Check one run in parts, and several."""
    for path in files:
        alone = rs.evaluate(qrels(0), path, MEASURES)
        shared = rs.evaluate(qrels(0), path, MEASURES, executor=executor)
        assert told(shared) == told(alone)
        assert shared.means == alone.means
    together = rs.evaluate(qrels(0), files, MEASURES)
    assert told(rs.evaluate(qrels(0), files, MEASURES, executor=executor)) == told(together)
    named = {f"n{number}": path for number, path in enumerate(files)}
    together = rs.evaluate(qrels(0), named, MEASURES)
    assert told(rs.evaluate(qrels(0), named, MEASURES, executor=executor)) == told(together)


@pytest.mark.usefixtures("small_parts")
def test_processes(files: list[str], processes: Executor) -> None:
    check(files, processes)


@pytest.mark.usefixtures("small_parts")
def test_dask(files: list[str], dask: Any) -> None:
    check(files, dask.get_executor(pure=False))


def test_a_broken_run_is_refused_as_without_workers(
    tmp_path: Path, files: list[str], processes: Executor
) -> None:
    path = tmp_path / "broken.run"
    path.write_text("q1 Q0 d1 1 0.5 x\nq1 Q0 d1 2 0.4 x\n")
    for runs in (str(path), [*files, str(path)]):
        with pytest.raises(rs.InvalidDataError) as alone:
            rs.evaluate(qrels(0), runs, MEASURES)
        with pytest.raises(rs.InvalidDataError) as shared:
            rs.evaluate(qrels(0), runs, MEASURES, executor=processes)
        assert str(shared.value) == str(alone.value)


def test_what_a_dead_process_worked_on_is_done_again(tmp_path: Path) -> None:
    for make in (process_pool, lambda count: ProcessPoolExecutor(count, get_context("spawn"))):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        with make(2) as pool, Workers(pool) as workers:
            results = list(workers.map(die_once, range(12), str(folder)))
        assert results == [number * number for number in range(12)]
        assert len(list(folder.iterdir())) == 2


def test_it_is_given_up_in_one_sentence() -> None:
    with (
        process_pool(2) as pool,
        Workers(pool) as workers,
        pytest.raises(rs.InputError, match="workers died again and again"),
    ):
        list(workers.map(die, range(4)))


@pytest.mark.usefixtures("small_parts")
def test_what_killed_dask_workers_worked_on_is_done_again(
    tmp_path: Path, files: list[str], dask: Any
) -> None:
    expected = [told(rs.evaluate(qrels(0), path, MEASURES)) for path in files]
    executor = dask.get_executor(pure=False)
    for path, scores in zip(files, expected, strict=True):
        os.kill(next(iter(dask.run(os.getpid, on_error="ignore").values())), signal.SIGKILL)
        assert told(rs.evaluate(qrels(0), path, MEASURES, executor=executor)) == scores
    with Workers(executor) as workers:
        results = list(workers.map(die_once, range(8), str(tmp_path)))
    assert results == [number * number for number in range(8)]


def test_the_command_asks_a_cluster(files: list[str], dask: Any, rankscope: Rankscope) -> None:
    judged = [
        f"{query_id} 0 {doc_id} {grade}\n"
        for query_id, documents in qrels(0).items()
        for doc_id, grade in documents.items()
    ]
    Path("qrels").write_text("".join(judged))
    command = ("evaluate", "qrels", *files, "--format", "json", "--per-query")
    assert rankscope(*command, "--cluster", dask.scheduler.address) == rankscope(*command)


def test_workers_must_see_the_file(files: list[str]) -> None:
    part, path = next(RunParts(files[0]).parts()), Path(files[0])
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(rs.InputError, match=r"sees .* bytes"):
        part.run()
    path.unlink()
    with pytest.raises(rs.InputError, match="does not see it"):
        part.run()


# --- refusals of a cluster ------------------------------------------------------------------------


def test_another_installation_is_refused(dask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = os.getpid()

    def versions() -> dict[str, str]:
        return {"polars": "9.9" if os.getpid() == driver else "0.1"}

    monkeypatch.setattr(dask_cluster, "installation", versions)
    with pytest.raises(rs.InputError, match=r"has polars 0\.1, and this machine has 9\.9"):
        dask_cluster.connect(dask.scheduler.address)


def test_a_cluster_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr(executors, "WITHOUT_WORKERS", 0.5)
    with distributed.LocalCluster(
        n_workers=1,
        processes=False,
        protocol="tcp",
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        client = dask_cluster.connect(cluster.scheduler_address)
        with Workers(client.get_executor(pure=False)) as workers:
            assert list(workers.map(len, ["abc"])) == [3]
            cluster.scale(0)
            with pytest.raises(rs.InputError, match="no worker"):
                list(workers.map(time.sleep, [600]))
        client.close()
        with pytest.raises(rs.InputError, match="no workers"):
            dask_cluster.connect(cluster.scheduler_address, patience=1)
