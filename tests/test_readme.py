"""Every example of README.md runs as it is written."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from rankscope.cli import main

README = Path(__file__).parents[1] / "README.md"
INSTALLING = ("make ", "pip install ")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text("utf-8"), re.M | re.S)


def test_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line.partition(" #")[0] for line in "".join(blocks("sh")).splitlines()]
    typed = [line.split() for line in lines if not line.startswith(INSTALLING)]
    assert len(typed) > 5
    for program, *words in typed:
        assert program == "rankscope"
        found = [sorted(map(str, Path().glob(w))) if "*" in w else [w] for w in words]
        with pytest.raises(SystemExit) as stop:
            main([word for group in found for word in group])
        assert stop.value.code == 0, (words, capsys.readouterr().err)


def test_python_runs() -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for number, code in enumerate(blocks("python"), start=1):
        example = doctest.DocTestParser().get_doctest(code, {}, f"README {number}", None, 0)
        assert runner.run(example).failed == 0
