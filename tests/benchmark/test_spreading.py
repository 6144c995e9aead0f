"""A benchmark on workers is the benchmark on one machine: same bytes, same sentences."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rankscope
from benchmark.world import (
    CONFIG,
    QUERIES,
    STAGES,
    World,
    cli,
    command,
    contents,
    made,
    only_experiment,
    write_world,
)
from rankscope.benchmark import spread_work, spreading
from rankscope.benchmark.run import run_benchmark
from rankscope.benchmark.spread_orders import Order, Reply
from rankscope.benchmark.verify import verify
from rankscope.errors import InputError
from rankscope.records import ExperimentManifest

MANIFEST = "ExperimentManifest.json"

MORE_ENGINES = """

from rankscope.errors import InputError
from rankscope.retrieval.protocol import Capabilities, Identity, Ranking, System


class Far(System):
    capabilities = Capabilities(remote=True)

    def index(self, corpus):
        pass

    def search(self, queries, depth):
        with (HOME / "pids").open("a") as sink:
            sink.write(str(os.getpid()) + "\\n")
        return [Ranking.of(answer(query, depth).items()) for query in queries]

    def identity(self):
        return Identity(kind="far", version="1", parameters={}, snapshot="today")


class Broken(Far):
    capabilities = Capabilities()

    def prepare(self):
        raise InputError("the engine has no ink; refill it")


class Faulty(Far):
    capabilities = Capabilities()

    def prepare(self):
        raise TypeError("half an engine")


class Deadly(Far):
    capabilities = Capabilities()

    def prepare(self):
        if (HOME / "trouble").exists():
            os.kill(os.getpid(), signal.SIGKILL)


far, broken, faulty, deadly = Far(), Broken(), Faulty(), Deadly()
"""


def world_with(folder: Path, *changes: tuple[str, str]) -> World:
    """Write a small benchmark whose config is changed, with more engines and fewer analyses."""
    config = CONFIG.replace("{analyses}", "failures, segments, languages")
    for old, new in changes:
        assert old in config
        config = config.replace(old, new)
    world = write_world(folder, config=config)
    (engine,) = folder.glob("engine_*.py")
    engine.write_text(engine.read_text() + MORE_ENGINES)
    return world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def alone(world: World) -> Path:
    """Return the experiment as one process makes it."""
    return made(world, world.folder / "alone")


@pytest.fixture(autouse=True)
def no_trouble(world: World) -> Iterator[None]:
    yield
    world.trouble()


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with distributed.LocalCluster(
        **options, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as running:
        yield running


def places(folder: Path) -> set[str]:
    """Return the stages that workers did."""
    return set(ExperimentManifest.read(folder / MANIFEST).places or {})


def same(folder: Path) -> dict[str, Any]:
    """Return all files of an experiment without times, and without where stages were done."""
    files = contents(folder)
    files[MANIFEST].pop("places", None)
    return files


# ------------------------------------------------------------------------------- the same bytes


def test_threads_make_the_same_bytes(world: World, alone: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as executor:
        folder = made(world, tmp_path, executor=executor)
    assert same(folder) == same(alone)
    assert places(folder) == set(STAGES)
    assert places(alone) == set()
    assert verify(folder).ok
    assert [path.name for path in (tmp_path / ".cache").glob(".*")] == [], "no board is left"


def test_so_does_a_cluster(world: World, alone: Path, tmp_path: Path, cluster: Any) -> None:
    address = ("--cluster", cluster.scheduler_address)
    code, out, err = cli("benchmark", "run", world.config, "--output", tmp_path, *address)
    assert (code, err) == (0, "")
    assert "digest " in out
    folder = only_experiment(tmp_path)
    assert same(folder) == same(alone)
    assert places(folder) == set(STAGES)


RECIPES = [
    "diagnosis=[segments, failures, stages]",
    "statistics.resamples=200",
    "depth=20",
]


def test_the_recipes_in_all_ways(tmp_path: Path, processes: Executor, cluster: Any) -> None:
    """Vectors, a fusion and a trained reranker, with one client that Dask's own way gives."""
    distributed = pytest.importorskip("distributed")
    demo = Path(rankscope.__file__).parent / "data" / "demo.yaml"

    def files(name: str, executor: Executor | None = None) -> dict[str, Any]:
        options: dict[str, Any] = {"output": tmp_path / name, "settings": RECIPES}
        return same(run_benchmark(demo, executor=executor, **options).folder)

    alone = files("alone")
    assert files("processes", processes) == alone
    with ThreadPoolExecutor(2) as threads:
        assert files("threads", threads) == alone
    with distributed.Client(cluster, set_as_default=False) as client:
        assert files("cluster", client.get_executor()) == alone


class Apart(ThreadPoolExecutor):
    """Workers that do not share the cache: they see no board; what they are sent is kept."""

    def __init__(self) -> None:
        super().__init__(2)
        self.orders: list[Order] = []
        self.replies: list[Future[Reply]] = []

    def submit(  # type: ignore[override]
        self, call: Callable[[Order], Reply], order: Order
    ) -> Future[Reply]:
        self.orders.append(order)
        nowhere = Path("/nowhere") / order.setup.board.name
        setup = replace(order.setup, board=nowhere, cache=nowhere / "cache")
        future = super().submit(call, replace(order, setup=setup))
        self.replies.append(future)
        return future


def test_nothing_old_is_taken_if_all_is_to_be_fresh(tmp_path: Path, cluster: Any) -> None:
    world = world_with(tmp_path / "world")
    run = ("benchmark", "run", world.config, "--output", tmp_path / "out")
    alone = same(made(world, tmp_path / "out"))
    world.calls  # noqa: B018 (forget them)
    assert cli(*run, "--fresh", "--cluster", cluster.scheduler_address)[0] == 0
    assert len(world.calls) == 2 * len(QUERIES), "by itself, and below the fusion"
    assert same(only_experiment(tmp_path / "out")) == alone


def test_workers_need_not_share_the_cache(world: World, alone: Path, tmp_path: Path) -> None:
    with Apart() as executor:
        folder = made(world, tmp_path, executor=executor)
    assert same(folder) == same(alone)
    assert len(list((tmp_path / ".cache" / "stages").iterdir())) == len(STAGES)
    assert any(order.given for order in executor.orders)
    assert not any((tmp_path / ".cache" / "indexes").glob("*")), "they keep theirs for themselves"


@pytest.mark.parametrize("kind", [Apart, ThreadPoolExecutor])
def test_queries_that_fail_are_recorded_the_same(
    tmp_path: Path, kind: Callable[[], Executor]
) -> None:
    """What is not complete is not kept, so it has to be sent."""
    world = world_with(tmp_path / "world")
    world.trouble("raise", "q03")
    expected = made(world, tmp_path / "alone")
    with kind() as executor:
        folder = made(world, tmp_path / "workers", executor=executor)
    assert same(folder) == same(expected)
    world.calls  # noqa: B018 (forget them)
    world.trouble()
    made(world, tmp_path / "workers")
    kept = kind is ThreadPoolExecutor  # others keep the answers where nobody else finds them
    assert set(world.calls) == {"q03"} if kept else set(QUERIES), "the next call asks again"


# ------------------------------------------------------------------------- what stays on the driver


def test_what_asks_something_outside_is_asked_by_the_driver(
    tmp_path: Path, processes: Executor
) -> None:
    far = '  far: {{python: {{function: "{module}:far", version: "in plain text"}}}}\n  both:'
    world = world_with(tmp_path / "world", ("  both:", far), ("[words, code]", "[words, far]"))
    folder = made(world, tmp_path / "out", executor=processes)
    assert set((world.folder / "pids").read_text().split()) == {str(os.getpid())}
    at_workers = places(folder)
    assert {"fetch words", "fetch code", "check far", "score"} <= at_workers
    assert not {"fetch far", "fetch both"} & at_workers
    with Apart() as executor:
        made(world, tmp_path / "apart", executor=executor)
    sent = b"".join(pickle.dumps(order.setup.config) for order in executor.orders)
    assert b"in plain text" not in sent, "what the driver asks is nobody else's business"


@pytest.mark.parametrize(
    ("change", "here"),
    [
        ("repeat: {{times: 2, systems: [code]}}", {"fetch code", "fetch code again (2)"}),
        ("", {"fetch words", "fetch code", "fetch both"}),
    ],
    ids=["asked again", "limited rate"],
)
def test_what_is_counted_or_compared_is_done_by_the_driver(
    tmp_path: Path, change: str, here: set[str]
) -> None:
    fetch = "fetch: {{retries: 1}}" if change else "fetch: {{retries: 1, rate: 1000}}"
    world = world_with(tmp_path / "world", ("fetch: {{retries: 1}}", f"{fetch}\n{change}"))
    with ThreadPoolExecutor(2) as executor:
        folder = made(world, tmp_path / "out", executor=executor)
    manifest = ExperimentManifest.read(folder / MANIFEST)
    assert set(manifest.seconds) - places(folder) == here
    assert same(folder) == same(made(world, tmp_path / "alone"))


# ------------------------------------------------------------------------------------ secrets


def test_a_secret_is_read_where_the_system_is_asked_and_never_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Any
) -> None:
    secret = "hunter22-swordfish"
    code = ("batch: 3", 'batch: 3, version: "${{TOKEN}}"')
    world = world_with(tmp_path / "world", code)
    monkeypatch.setenv("TOKEN", secret)  # the workers were started without it
    with Apart() as executor:
        folder = made(world, tmp_path / "out", executor=executor)
    assert {order.secrets for order in executor.orders} == {(), ("TOKEN",)}
    sent = [pickle.dumps(order) for order in executor.orders]
    sent += [pickle.dumps(reply.result()) for reply in executor.replies]
    written = [path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()]
    assert not [data for data in sent + written if secret.encode() in data]
    code_, out, err = cli(
        *("benchmark", "run", world.config, "--output", tmp_path / "far"),
        *("--cluster", cluster.scheduler_address),
    )
    assert (code_, out) == (2, "")
    assert err.count("\n") == 1
    assert "system code: the environment variable TOKEN is not set on the worker" in err


# ------------------------------------------------------------------------------------- errors


def test_an_error_of_a_stage_is_the_same_sentence(
    tmp_path: Path, processes: Executor, cluster: Any
) -> None:
    ink = "  ink: {{python: {{function: '{module}:broken'}}}}\n  both:"
    world = world_with(tmp_path / "world", ("  both:", ink))
    with pytest.raises(InputError) as here:
        made(world, tmp_path / "alone")
    with pytest.raises(InputError) as there:
        made(world, tmp_path / "workers", executor=processes)
    assert str(there.value) == str(here.value) == "system ink: the engine has no ink; refill it"
    run = ("benchmark", "run", world.config, "--output", tmp_path / "cluster")
    code, out, err = cli(*run, "--cluster", cluster.scheduler_address)
    assert (code, out, err) == (2, "", f"rankscope: {here.value}\n")


def test_a_fault_names_the_stage_and_what_was_raised(tmp_path: Path) -> None:
    faulty = "  half: {{python: {{function: '{module}:faulty'}}}}\n  both:"
    world = world_with(tmp_path / "world", ("  both:", faulty))
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(spreading.WorkerFaultError, match="stage fetch half, TypeError: half an eng"),
    ):
        made(world, tmp_path / "workers", executor=executor)


def test_another_installation_is_refused(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Any
) -> None:
    monkeypatch.setattr(spread_work, "installation", lambda *_: {"polars": "0.1"})
    with ThreadPoolExecutor(1) as executor, pytest.raises(InputError, match=r"worker .* has "):
        made(world, tmp_path, executor=executor)
    driver = os.getpid()

    def versions() -> dict[str, str]:
        return {"polars": "9.9" if os.getpid() == driver else "0.1"}

    monkeypatch.setattr("rankscope.scale.dask_cluster.installation", versions)
    run = ("benchmark", "run", world.config, "--output", tmp_path)
    code, out, err = cli(*run, "--cluster", cluster.scheduler_address)
    assert (code, out) == (2, "")
    assert "has polars 0.1, and this machine has polars 9.9; results would not be the same" in err


def test_other_files_and_other_code_are_refused(world: World, tmp_path: Path) -> None:
    class Changed(ThreadPoolExecutor):
        def submit(self, call: Any, order: Order) -> Any:  # type: ignore[override]
            info = order.setup.info.model_copy(update={"qrels_sha256": "other"})
            keys = {**order.setup.keys, "words": "other"}
            changes: dict[str, Any] = {"info": info} if self.what == "info" else {"keys": keys}
            return super().submit(call, replace(order, setup=replace(order.setup, **changes)))

        what = "info"

    with Changed(1) as executor, pytest.raises(InputError, match=r"\(qrels_sha256 differs\); put"):
        made(world, tmp_path, executor=executor)
    Changed.what = "keys"
    with Changed(1) as executor, pytest.raises(InputError, match="system words is another one on"):
        made(world, tmp_path, executor=executor)


def test_what_is_no_executor_is_refused(world: World, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"executor: expected a concurrent.futures.Executor"):
        made(world, tmp_path, executor="tcp://localhost:8786")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("tcp://127.0.0.1:1", "no Dask scheduler can be reached there"),
        ("localhost:8786", "expected the address of a Dask scheduler as tcp://host:port"),
        ("tcp://localhost:99999", "expected the address of a Dask scheduler as tcp://host:port"),
    ],
)
def test_an_address_where_nobody_answers_is_one_sentence(
    world: World, tmp_path: Path, address: str, words: str
) -> None:
    pytest.importorskip("distributed")
    run = ("benchmark", "run", world.config, "--output", tmp_path, "--cluster", address)
    code, out, err = cli(*run)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


# ---------------------------------------------------------------------------- killed and stopped


def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path, cluster: Any) -> None:
    """A process ends at the fifth question to its engine; three answers are kept each time."""
    world = world_with(tmp_path / "world", ("fuse: {{of: [words, code]}}", "bm25: {{k1: 0.5}}"))
    before = {nanny.pid for nanny in cluster.workers.values()}
    world.trouble("kill", 5)
    run = ("benchmark", "run", world.config, "--output", tmp_path / "out")
    code, _, err = cli(*run, "--cluster", cluster.scheduler_address)
    assert (code, err) == (0, "")
    assert world.calls == [*QUERIES[:5], *QUERIES[3:8], *QUERIES[6:11], *QUERIES[9:]]
    assert {nanny.pid for nanny in cluster.workers.values()} != before
    world.trouble()
    assert same(only_experiment(tmp_path / "out")) == same(made(world, tmp_path / "alone"))


def with_a_deadly_engine(folder: Path) -> World:
    deadly = "  worst: {{python: {{function: '{module}:deadly'}}}}\n  both:"
    world = world_with(folder, ("  both:", deadly))
    world.trouble("everywhere")
    return world


def test_a_stage_that_kills_its_workers_ends_with_a_sentence(tmp_path: Path, cluster: Any) -> None:
    world = with_a_deadly_engine(tmp_path / "world")
    run = ("benchmark", "run", world.config, "--output", tmp_path / "out")
    code, out, err = cli(*run, "--cluster", cluster.scheduler_address)
    assert (code, out) == (2, "")
    assert err.startswith("rankscope: stage fetch worst could not be done by the executor (")
    assert "4 workers were killed while they worked on it" in err
    assert err.count("\n") == 1
    world.trouble()
    folder = made(world, tmp_path / "out")
    assert same(folder) == same(made(world, tmp_path / "alone")), "the next call goes on"


def test_a_pool_that_breaks_is_a_sentence(tmp_path: Path) -> None:
    world = with_a_deadly_engine(tmp_path / "world")
    spawn = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(1, mp_context=spawn) as pool,
        pytest.raises(InputError, match=r"stage .* could not be done by the executor \(BrokenProc"),
    ):
        made(world, tmp_path / "out", executor=pool)


def test_a_cluster_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    from rankscope.scale import dask_cluster

    monkeypatch.setattr(dask_cluster, "WITHOUT_WORKERS", 0.5)
    with distributed.LocalCluster(
        n_workers=1,
        processes=False,
        protocol="tcp",
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        client = dask_cluster.connect(cluster.scheduler_address)
        with dask_cluster.executor_of(client) as executor:
            assert executor.submit(len, "abc").result(timeout=10) == 3
            cluster.scale(0)
            waiting = executor.submit(time.sleep, 60)
            with pytest.raises(BrokenExecutor, match=r"no worker for 0\.5 s"):
                waiting.result(timeout=20)
        client.close()
        with pytest.raises(InputError, match="the cluster has no workers; start some"):
            dask_cluster.connect(cluster.scheduler_address, patience=1)


def test_ctrl_c_ends_the_driver_and_what_workers_do(
    world: World, tmp_path: Path, cluster: Any
) -> None:
    world.trouble("wait", 0.5)
    waiting = world.folder / "waiting"
    waiting.unlink(missing_ok=True)
    run = ("benchmark", "run", world.config, "--output", tmp_path)
    process = subprocess.Popen(
        command(*run, "--cluster", cluster.scheduler_address),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while not waiting.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.lstrip()) == (130, "", "rankscope: interrupted\n")
    time.sleep(2.5)  # the batch that was begun is three questions long
    world.calls  # noqa: B018 (forget them)
    time.sleep(1.5)
    assert world.calls == [], "nobody is asked any more"
    assert [path.name for path in tmp_path.iterdir()] == [".cache"]


# ---------------------------------------------------------------------------------- progress


class Watched:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, ...]] = []

    def begun(self, stage: str) -> None:
        self.events.append(("begun", stage))

    def step(self, stage: str, done: int, total: int, part: str = "") -> None:
        self.events.append(("step", stage, f"{done}/{total}", part))

    def ended(self, stage: str, seconds: float, *, was_there: bool) -> None:
        assert seconds >= 0
        self.events.append(("ended", stage, str(was_there)))


def test_a_watcher_sees_how_far_workers_are(tmp_path: Path) -> None:
    world, output = world_with(tmp_path / "world"), tmp_path / "out"
    world.trouble("wait", 0.05)
    watched = Watched()
    with ThreadPoolExecutor(2) as executor:
        made(world, output, executor=executor, watcher=watched)
    asked = [event for event in watched.events if event[1] == "fetch code"]
    assert asked[0] == ("begun", "fetch code")
    assert ("step", "fetch code") in {event[:2] for event in asked}
    assert asked[-1] == ("ended", "fetch code", "False")
    shutil.rmtree(only_experiment(output))
    again = Watched()
    with ThreadPoolExecutor(2) as executor:
        made(world, output, executor=executor, watcher=again)
    assert {event[0] for event in again.events} == {"ended"}, "all of it was in the store"


def test_a_worker_forgets_a_benchmark_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_with(tmp_path / "world")
    monkeypatch.setattr(spread_work, "IDLE", 0.1)
    with Apart() as executor:  # whose boards are others than those that the driver forgets
        made(world, tmp_path / "out", executor=executor)
    end = time.monotonic() + 10
    while spread_work._KEPT._bench is not None and time.monotonic() < end:
        time.sleep(0.05)
    assert spread_work._KEPT._bench is None
