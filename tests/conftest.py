"""The command line as a user meets it, in this process; what a test registers ends with it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis.internal.conjecture import providers

from rankscope.cli import main
from rankscope.measures import language, registry

# Hypothesis draws constants of modules that are loaded; what a test draws must not depend on which.
providers._get_local_constants = lambda: providers._local_constants


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


class Terminal(io.TextIOWrapper):
    """Standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


Rankscope = Callable[..., Done]


@pytest.fixture
def rankscope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rankscope:
    """Return a function that runs the command in ``tmp_path``."""
    monkeypatch.chdir(tmp_path)

    def run(
        *arguments: str, given: str = "", encoding: str = "utf-8", terminal: bool = False
    ) -> Done:
        stdin = io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8")
        output, errors = io.BytesIO(), io.BytesIO()
        stdout = (Terminal if terminal else io.TextIOWrapper)(output, encoding, newline="")
        stderr = io.TextIOWrapper(errors, encoding, errors="backslashreplace")
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stdin)
            patch.setattr(sys, "stdout", stdout)
            patch.setattr(sys, "stderr", stderr)
            with pytest.raises(SystemExit) as stop:
                main(arguments)
        stdout.flush()
        stderr.flush()
        assert isinstance(stop.value.code, int)
        return Done(
            stop.value.code, output.getvalue().decode(encoding), errors.getvalue().decode(encoding)
        )

    return run


@pytest.fixture(autouse=True)
def _own_measures_end_with_their_test() -> Iterator[None]:
    """Forget measures that a test defined, so that no other test meets them."""
    before = {*registry._definitions}
    yield
    after = [name for name in registry._definitions if name not in before]
    for name in [name for name in after if registry._definitions[name].family == "own"]:
        del registry._definitions[name]
        language._parsed.cache_clear()
        registry.computation.cache_clear()
