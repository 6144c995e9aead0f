"""The example at the end of every command's help works as it is typed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rankscope.cli.app import app
from rankscope.cli.examples import EXAMPLES


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield each command's name and its help."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            for path, text in commands(command, inner):
                yield f"{name} {path}", text
        else:
            yield name, command.get_help(inner)


NAMES = ["-h", "--help"]  # click remembers those that were asked for first
HELP = dict(commands(app, click.Context(app, info_name="rankscope", help_option_names=NAMES)))


def test_every_command_has_an_example() -> None:
    assert HELP.keys() == EXAMPLES.keys()
    for text in HELP.values():
        assert "\b" not in text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


@pytest.mark.parametrize("command", HELP)
def test_the_example_works(command: str, folder: Path) -> None:
    example = HELP[command].partition("\n  Example")[2].partition(":\n")[2]
    assert example.lstrip().startswith("rankscope ")
    script = f'rankscope() {{ "{sys.executable}" -m rankscope "$@"; }}\n'
    if " demo/" in example:
        script += "[ -d demo ] || rankscope demo --copy demo\n"
        assert "'rankscope demo --copy demo'" in HELP[command]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        ["sh", "-ec", script + example],
        cwd=folder if " demo/" in example else folder.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
