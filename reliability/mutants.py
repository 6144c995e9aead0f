"""Changed code that tests must notice: mutation testing of measures, scoring and statistics.

    python -m reliability.mutants [--package measures] [--sample 300] [--seed 1] [--jobs 2]

A mutant is a module with one small change (`reliability.changes`). It is killed when a test fails
or takes three times its usual time, and survives when every test that reaches the changed lines
passes. Which tests reach which line is measured once, with coverage. Each mutant then runs in a
fork of a process that has everything imported and all tests collected: the changed functions' code
is put in place, the quickest tests come first, the first failure ends it. What takes effect at
import (constants, default values), and what survives, runs in a fork that imports afresh.

A test is believed only if it passes alone, in a fork without any change.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import importlib.abc
import importlib.machinery
import json
import math
import os
import pickle
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from reliability.changes import Change, changes_of

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PACKAGES = ("measures", "scoring", "statistics")
TESTS = ("measures", "scoring", "statistics", "laws", "gate", "peers", "runs", "cli",
         "diagnosis", "reports")  # fmt: skip
KILLED, PASSED, BROKEN = 1, 0, 3
SPARE_SECONDS = 2.0
ARGUMENTS = ["-q", "-s", f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml"), "--tb=no",
             "-p", "no:cacheprovider", "-p", "no:xdist",
             "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # fmt: skip
MEMORY = 4 << 30


@dataclass
class Reach:
    """Which tests reach which lines, and how long each takes in seconds of CPU time."""

    tests: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    seconds: dict[str, float] = field(default_factory=dict)
    not_passing: set[str] = field(default_factory=set)

    def tests_for(self, change: Change) -> list[str]:
        """Return the tests to run on a change, quickest first."""
        path = str(change.path)
        nodes = set().union(*(self.tests.get((path, line), set()) for line in change.lines))
        if not change.in_function:
            nodes = set().union(*(found for (file, _), found in self.tests.items() if file == path))
        return sorted(nodes - self.not_passing, key=lambda node: (self.seconds[node], node))

    def within(self, nodes: Sequence[str], budget: float) -> list[str]:
        """Return the quickest tests that take ``budget`` seconds together; at least one."""
        total, chosen = 0.0, list[str]()
        for node in nodes:
            total += self.seconds[node]
            if chosen and total > budget:
                break
            chosen.append(node)
        return chosen


# --- what happens within a fork ------------------------------------------------------------------


def limit(seconds: float) -> None:
    """End this process by a signal after so many seconds of CPU time, whatever it is doing."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


class Outcome:
    """Pytest plugin: remembers whether a test failed."""

    def __init__(self) -> None:
        self.failed = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Look at a report."""
        self.failed |= report.failed


def run_items(items: Sequence[pytest.Item], reach: Reach) -> str | None:
    """Run tests until one fails, and return it."""
    outcome = Outcome()
    manager = items[0].config.pluginmanager
    manager.register(outcome)
    for item, following in zip(items, [*items[1:], None], strict=True):
        limit(3 * reach.seconds.get(item.nodeid, 60.0) + SPARE_SECONDS)
        sys.stderr.write(f"{item.nodeid}\n")
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if outcome.failed:
            return item.nodeid
    return None


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and everything defined within."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def compiled(tree: ast.Module, change: Change) -> CodeType | None:
    """Return the changed module; None if Python does not take the change."""
    change.put(change.new)
    try:
        return compile(tree, str(change.path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    finally:
        change.put(change.old)


def functions_of_package() -> dict[str, list[FunctionType]]:
    """Return all functions of rankscope that there are, wherever they are bound, by their file."""
    found = defaultdict(list)
    for value in gc.get_objects():
        if isinstance(value, FunctionType) and value.__code__.co_filename.startswith(str(SOURCE)):
            found[value.__code__.co_filename].append(value)
    return found


def put_in_place(code: CodeType, functions: Iterable[FunctionType]) -> None:
    """Give the functions of a module their code from ``code``."""
    changed = {(part.co_qualname, part.co_firstlineno): part for part in codes(code)}
    for function in functions:
        old = function.__code__
        new = changed.get((old.co_qualname, old.co_firstlineno))
        if new is not None and len(new.co_freevars) == len(old.co_freevars):
            function.__code__ = new


class Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the changed module in the place of the one on disk."""

    def __init__(self, name: str, code: CodeType) -> None:
        self.name, self.code = name, code

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:  # noqa: ARG002
        """Find the one module."""
        if fullname != self.name:
            return None
        file = self.code.co_filename
        found = importlib.machinery.ModuleSpec(fullname, self, origin=file)
        found.has_location = True
        if file.endswith("__init__.py"):
            found.submodule_search_locations = [str(Path(file).parent)]
        return found

    def exec_module(self, module: Any) -> None:
        """Run the changed code."""
        exec(self.code, module.__dict__)


def module_name(path: Path) -> str:
    """Return the name under which a file of the package is imported."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


class Chosen:
    """Pytest plugin: runs the chosen tests in the order given, until one fails."""

    def __init__(self, nodes: Sequence[str], reach: Reach) -> None:
        self.nodes, self.reach = nodes, reach
        self.failed = True

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run them."""
        items = {item.nodeid: item for item in session.items}
        present = [items[node] for node in self.nodes if node in items]
        self.failed = session.testsfailed > 0 or not present
        self.failed = self.failed or run_items(present, self.reach) is not None
        return True


def run_afresh(code: CodeType | None, nodes: Sequence[str], reach: Reach) -> int:
    """Forget what is imported of rankscope and its tests, import the changed module, run tests."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if file.startswith((f"{SOURCE}/", f"{ROOT / 'tests'}/")):
            del sys.modules[name]
    if code is not None:
        name = module_name(Path(code.co_filename))
        sys.meta_path.insert(0, Instead(name, code))
        try:
            importlib.import_module(name)  # before pytest puts its own finder first
        except Exception:
            return KILLED
    limit(60 + 3 * sum(reach.seconds[node] for node in nodes))
    chosen = Chosen(nodes, reach)
    pytest.main([*ARGUMENTS, *sorted({node.split("::")[0] for node in nodes})], [chosen])
    return KILLED if chosen.failed else PASSED


# --- the process that has everything loaded ------------------------------------------------------


@dataclass
class Forked:
    """A fork at work on one mutant."""

    change: Change | None
    started: float
    wall: float
    log: Path
    then: Callable[[int, str], None]


class Forks:
    """Runs functions in forks, a few at a time, and hands on how they end."""

    def __init__(self, jobs: int) -> None:
        self.jobs, self.running, self.folder = jobs, dict[int, Forked](), Path(tempfile.mkdtemp())
        self.count = 0

    def start(self, work: Callable[[], int], wall: float, then: Callable[[int, str], None]) -> None:
        """Do ``work`` in a fork; ``then`` gets its exit code (minus a signal) and last words."""
        while len(self.running) >= self.jobs:
            self.wait()
        self.count += 1
        log = self.folder / f"{self.count}"
        log.mkdir()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self.child(work, log)
        self.running[pid] = Forked(None, time.monotonic(), wall, log, then)

    def child(self, work: Callable[[], int], log: Path) -> None:
        """Work with the output in a file and temporary files of its own; never returns."""
        code = BROKEN
        try:
            os.environ["PYTEST_DEBUG_TEMPROOT"] = str(log)
            output = os.open(log / "output", os.O_WRONLY | os.O_CREAT)
            os.dup2(output, 1)
            os.dup2(output, 2)
            _, most = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, most))
            code = work()
            sys.stderr.flush()
        except BaseException as error:
            os.write(2, f"\n{error!r}\n".encode())
            code = KILLED if isinstance(error, SystemExit) else BROKEN
        finally:
            os._exit(code)

    def wait(self) -> None:
        """Wait for a fork to end, or end one that takes too long."""
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid in self.running:
                break
            for late, forked in self.running.items():
                if time.monotonic() - forked.started > forked.wall:
                    os.kill(late, signal.SIGKILL)
            time.sleep(0.005)
        forked = self.running.pop(pid)
        output = (forked.log / "output").read_text(errors="replace")
        shutil.rmtree(forked.log, ignore_errors=True)
        forked.then(os.waitstatus_to_exitcode(status), output)

    def finish(self) -> None:
        """Wait for all."""
        while self.running:
            self.wait()


@dataclass
class Result:
    """What became of one mutant."""

    name: str
    package: str
    module: str
    kind: str
    fate: str
    """killed, timeout, survived, not reached, not valid."""
    by: str = ""


class Controller:
    """Pytest plugin: does all the work where pytest would run its tests, once all are collected."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.items: dict[str, pytest.Item] = {}
        self.results: list[Result] = []
        self.alone: dict[str, bool] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the reach of the tests, then run the mutants."""
        self.items = {item.nodeid: item for item in session.items}
        if any(
            path.read_text().startswith("polars-0")
            for path in Path("/proc").glob("self/task/*/comm")
        ):
            sys.exit("collecting the tests made Polars start its threads, which no fork survives")
        self.functions = functions_of_package()
        gc.freeze()
        self.reach = self.measured_reach(session)
        self.forks = Forks(self.options.jobs)
        chosen, self.totals = choose(self.options)
        print(f"{len(chosen)} of {sum(self.totals.values())} mutants", flush=True)
        started = time.monotonic()
        for number, (tree, change) in enumerate(chosen, 1):
            if time.monotonic() - started > self.options.seconds:
                print(f"time is up after {number - 1} mutants", flush=True)
                break
            self.try_change(tree, change)
            if number % 50 == 0:
                fates = Counter(result.fate for result in self.results)
                print(f"{time.strftime('%X')} {number}: {dict(fates)}", flush=True)
        self.forks.finish()
        return True

    def measured_reach(self, session: pytest.Session) -> Reach:
        """Run all tests once with coverage, in a fork."""
        kept = Path(self.options.reach) if self.options.reach else None
        if kept is not None and kept.exists():
            reach: Reach = pickle.loads(kept.read_bytes())
            return reach
        target = kept or Path(tempfile.mkdtemp()) / "reach"
        print(f"measuring what {len(self.items)} tests reach", flush=True)
        forks = Forks(1)
        forks.start(
            lambda: measure_reach(session, target), 7200,
            lambda code, output: None if code == 0 else sys.exit(output[-3000:]),
        )  # fmt: skip
        forks.finish()
        reach = pickle.loads(target.read_bytes())
        total = sum(reach.seconds.values())
        print(f"{total:.0f} s; without a pass: {sorted(reach.not_passing)}", flush=True)
        return reach

    def try_change(self, tree: ast.Module, change: Change) -> None:
        """Run the tests that reach a change, in a fork."""
        nodes = [node for node in self.reach.tests_for(change) if node in self.items]
        code = compiled(tree, change)
        if code is None:
            self.note(change, "not valid")
        elif not nodes and change.in_function:  # perhaps at import
            change.in_function = False
            nodes = self.reach.tests_for(change)
            self.try_afresh(change, code, nodes, "not reached")
        elif not change.in_function:
            self.try_afresh(change, code, nodes)
        else:
            nodes = self.reach.within(nodes, self.options.budget)
            items = [self.items[node] for node in nodes]

            def work() -> int:
                put_in_place(code, self.functions[code.co_filename])
                return PASSED if run_items(items, self.reach) is None else KILLED

            self.forks.start(
                work, self.wall(nodes),
                lambda ended, output: self.ended(
                    change, ended, output, lambda: self.try_afresh(change, code, nodes)
                ),
            )  # fmt: skip

    def try_afresh(
        self, change: Change, code: CodeType, nodes: list[str], otherwise: str = "survived"
    ) -> None:
        """Run tests in a fork that imports the package afresh; note ``otherwise`` if they pass."""
        if not nodes:
            self.note(change, "not reached")
            return
        nodes = self.reach.within(nodes, self.options.fresh_budget)
        self.forks.start(
            lambda: run_afresh(code, nodes, self.reach), self.wall(nodes),
            lambda ended, output: self.ended(
                change, ended, output, lambda: self.note(change, otherwise)
            ),
        )  # fmt: skip

    def wall(self, nodes: Sequence[str]) -> float:
        """Return a limit on real time, generous: the machine may be busy."""
        return 120 + 20 * sum(self.reach.seconds[node] for node in nodes)

    def ended(self, change: Change, code: int, output: str, passed: Callable[[], None]) -> None:
        """Note the fate of a mutant whose fork has ended."""
        last = next((x for x in reversed(output.splitlines()) if x in self.items), "import")
        if code == PASSED:
            passed()
        elif code == BROKEN:
            self.note(change, "broken", output[-2000:])
        elif code == KILLED:
            if last in self.items and not self.passes_alone(last):
                self.reach.not_passing.add(last)
                print(f"does not pass alone, and is left out: {last}", flush=True)
                tree, again = same_change(change)
                self.try_change(tree, again)
            else:
                self.note(change, "killed", last)
        else:
            self.note(change, "timeout" if -code == signal.SIGPROF else f"signal {-code}", last)

    def passes_alone(self, node: str) -> bool:
        """Tell whether a test passes in a fork without a change; asked once for each test."""
        if node not in self.alone:
            forks = Forks(1)
            items = [self.items[node]]
            forks.start(
                lambda: PASSED if run_items(items, self.reach) is None else KILLED, 600,
                lambda code, _: self.alone.__setitem__(node, code == PASSED),
            )  # fmt: skip
            forks.finish()
        return self.alone[node]

    def note(self, change: Change, fate: str, by: str = "") -> None:
        """Remember what became of a change."""
        path = change.path.relative_to(SOURCE / "rankscope")
        name = change.name.replace(f"{ROOT}/", "")
        self.results.append(Result(name, path.parts[0], path.stem, change.kind, fate, by))
        if fate not in ("killed", "timeout", "not valid"):
            print(f"{fate}: {name}", flush=True)
            if by:
                print(by, flush=True)


# --- reach ---------------------------------------------------------------------------------------


def measure_reach(session: pytest.Session, target: Path) -> int:
    """Run every test under coverage and write which lines each reaches."""
    coverage: Any = importlib.import_module("coverage")
    reach = Reach()
    cover = coverage.Coverage(
        data_file=None,
        config_file=False,
        include=[f"{SOURCE}/rankscope/{name}/*" for name in PACKAGES],
    )
    cover.start()
    outcome = Outcome()
    session.config.pluginmanager.register(outcome)
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        cover.switch_context(item.nodeid)
        scale = with_few_examples(item)
        started, outcome.failed = time.process_time(), False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        reach.seconds[item.nodeid] = (time.process_time() - started) * scale
        if outcome.failed:
            reach.not_passing.add(item.nodeid)
    cover.stop()
    data = cover.get_data()
    for file in data.measured_files():
        for line, contexts in data.contexts_by_lineno(file).items():
            reach.tests[file, line] = {context for context in contexts if context}
    target.write_bytes(pickle.dumps(reach))
    return PASSED


FEW = 10


def with_few_examples(item: pytest.Item) -> float:
    """Let a test draw few examples, enough to see what it reaches; return what that saves."""
    from hypothesis import settings

    inner = getattr(item, "obj", None)
    chosen = getattr(inner, "_hypothesis_internal_use_settings", None)
    if chosen is None or chosen.max_examples <= FEW:
        return 1.0
    target: Any = getattr(inner, "__func__", inner)
    target._hypothesis_internal_use_settings = settings(chosen, max_examples=FEW)
    return float(chosen.max_examples) / FEW


# --- choosing and reporting ----------------------------------------------------------------------


def same_change(change: Change) -> tuple[ast.Module, Change]:
    """Return a change once more, with its tree."""
    tree, found = changes_of(change.path)
    return tree, next(other for other in found if other.name == change.name)


def choose(options: argparse.Namespace) -> tuple[list[tuple[ast.Module, Change]], Counter[str]]:
    """Return the mutants to try, drawn from each module in proportion, and how many there are."""
    source = random.Random(options.seed)
    totals: Counter[str] = Counter()
    modules: list[list[tuple[ast.Module, Change]]] = []
    for package in PACKAGES:
        for path in sorted((SOURCE / "rankscope" / package).glob("*.py")):
            if options.package in (None, package):
                tree, found = changes_of(path)
                totals[package] += len(found)
                modules.append([(tree, change) for change in found])
    if options.again:
        names = {row["name"] for row in json.loads(Path(options.again).read_text())}
        every = [pair for pairs in modules for pair in pairs]
        return [pair for pair in every if pair[1].name.replace(f"{ROOT}/", "") in names], totals
    if not options.sample:
        return [pair for pairs in modules for pair in pairs], totals
    share = options.sample / sum(totals.values())
    chosen, due = [], 0.0
    for pairs in modules:
        due += share * len(pairs)  # what is not drawn for rounding is drawn from the next module
        count = min(round(due), len(pairs))
        due -= count
        chosen += source.sample(pairs, count)
    source.shuffle(chosen)  # so that what is tried when time is up is a sample as well
    return chosen, totals


def wilson(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """Return the 95 % score interval of a proportion."""
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    middle = share + z * z / (2 * trials)
    width = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return (middle - width) / (1 + z * z / trials), (middle + width) / (1 + z * z / trials)


def table(results: Iterable[Result], totals: Counter[str]) -> str:
    """Return the score by package."""
    heads = ("package", "mutants", "tried", "noticed", "not noticed", "not reached", "score",
             "95 % interval")  # fmt: skip
    rows = [f"| {' | '.join(heads)} |", "|---|" + "---:|" * (len(heads) - 1)]
    valid = [result for result in results if result.fate != "not valid"]
    for package in (*PACKAGES, "all"):
        part = [result for result in valid if package in (result.package, "all")]
        if not part:
            continue
        fates = Counter(result.fate for result in part)
        lost = fates["survived"] + fates["not reached"]
        noticed = len(part) - lost
        low, high = wilson(noticed, len(part))
        total = sum(totals.values()) if package == "all" else totals[package]
        rows.append(
            f"| {package} | {total:,} | {len(part):,} | {noticed:,} | {fates['survived']} "
            f"| {fates['not reached']} | {noticed / len(part):.1%} | {low:.1%} – {high:.1%} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Run as described at the top."""
    parser = argparse.ArgumentParser(prog="python -m reliability.mutants", description=__doc__)
    parser.add_argument("--package", choices=PACKAGES)
    parser.add_argument("--sample", type=int, default=1000, help="number of mutants; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so long")
    parser.add_argument("--tests", nargs="+", default=[f"tests/{name}" for name in TESTS])
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests for a mutant")
    parser.add_argument("--fresh-budget", type=float, default=20, help="the same, imported afresh")
    parser.add_argument("--reach", help="file that keeps which tests reach what; made if missing")
    parser.add_argument("--output", help="JSON file for the mutants that were not noticed")
    parser.add_argument("--again", help="try the mutants of such a file instead of a sample")
    options, arguments = parser.parse_known_args()  # others are for pytest
    for library in ("OPENBLAS", "OMP", "MKL", "POLARS", "NUMBA"):  # no threads before a fork
        os.environ[
            f"{library}_MAX_THREADS" if library == "POLARS" else f"{library}_NUM_THREADS"
        ] = "1"
    os.chdir(ROOT)
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None,
        phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    settings.load_profile("mutants")
    controller = Controller(options)
    started = time.monotonic()
    pytest.main([*ARGUMENTS, *arguments, *options.tests], [controller])
    lost = [result for result in controller.results if result.fate in ("survived", "not reached")]
    if options.output:
        Path(options.output).write_text(json.dumps([vars(result) for result in lost], indent=1))
    fates = Counter(result.fate for result in controller.results)
    print(f"seed {options.seed}, {time.monotonic() - started:.0f} s, {dict(fates)}")
    print(table(controller.results, controller.totals))


if __name__ == "__main__":
    main()
