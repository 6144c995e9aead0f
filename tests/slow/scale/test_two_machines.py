"""A Dask cluster across two network namespaces: two machines, as far as the network goes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import rankscope as rs
from scale.runs_on_disk import ordered, qrels, rows, text

pytest.importorskip("distributed", reason="Dask is not installed")

MARK = f"rs{os.getpid() % 100_000}"
HERE, THERE = "10.213.7.1", "10.213.7.2"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=10)


@pytest.fixture
def network() -> Iterator[tuple[str, str]]:
    """Make two namespaces with a cable between them."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need Linux, root and iproute2")
    spaces = (f"{MARK}a", f"{MARK}b")
    with ExitStack() as stack:
        try:
            for space in spaces:
                ip("netns", "add", space)
                stack.callback(ip, "netns", "delete", space)
            ip("link", "add", f"{MARK}x", "netns", spaces[0], "type", "veth",
               "peer", "name", f"{MARK}y", "netns", spaces[1])  # fmt: skip
            for space, end, address in zip(spaces, "xy", (HERE, THERE), strict=True):
                ip("-n", space, "address", "add", f"{address}/24", "dev", f"{MARK}{end}")
                ip("-n", space, "link", "set", f"{MARK}{end}", "up")
                ip("-n", space, "link", "set", "lo", "up")
        except (subprocess.CalledProcessError, OSError) as error:
            pytest.skip(f"no network namespaces can be made here: {error}")
        yield spaces


def test_workers_on_another_machine(network: tuple[str, str], tmp_path: Path) -> None:
    here, there = network
    path = tmp_path / "a.run"
    path.write_bytes(text(ordered(rows(2), "interleaved", 2)))
    judged = tmp_path / "qrels"
    judged.write_text(
        "".join(
            f"{query_id} 0 {doc_id} {grade}\n"
            for query_id, documents in qrels(2).items()
            for doc_id, grade in documents.items()
        )
    )

    def start(space: str, *words: str) -> subprocess.Popen[bytes]:
        command = ["ip", "netns", "exec", space, sys.executable, "-m", *words]
        with open(tmp_path / f"{words[0]}.log", "ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path)

    scheduler_address = f"tcp://{HERE}:8786"
    with ExitStack() as stack:
        for space, *words in (
            (here, "distributed.cli.dask_scheduler", "--host", HERE, "--no-dashboard"),
            (there, "distributed.cli.dask_worker", scheduler_address, "--no-dashboard",
             "--nthreads", "1", "--no-nanny", "--host", THERE),
        ):  # fmt: skip
            process = stack.enter_context(start(space, *words))
            stack.callback(process.kill)
        for _ in range(100):
            logged = tmp_path / "distributed.cli.dask_worker.log"
            if logged.exists() and b"Registered to" in logged.read_bytes():
                break
            time.sleep(0.2)
        done = subprocess.run(
            ["ip", "netns", "exec", here, sys.executable, "-m", "rankscope", "evaluate",
             str(judged), str(path), "--cluster", scheduler_address, "--format", "json",
             "--per-query"],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    alone = subprocess.run(
        [sys.executable, "-m", "rankscope", "evaluate", str(judged), str(path), "--format", "json",
         "--per-query"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == alone.stdout
    assert rs.evaluate(qrels(2), path).means
