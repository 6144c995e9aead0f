"""The example at the end of every command's help works as it is typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from conftest import Rankscope
from rankscope.cli.app import app
from rankscope.cli.help import Command


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, Command]]:
    """Yield each command with its name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            assert isinstance(command, Command)
            yield path + name, command


def words_of(line: str) -> list[str]:
    """Return the arguments of a line as a shell passes them on."""
    _, *words = shlex.split(line)
    return [
        path
        for word in words
        for path in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
    ]


def test_every_example_works(rankscope: Rankscope) -> None:
    assert rankscope("demo", "--copy", "demo").returncode == 0
    failed = {}
    for name, command in commands(app):
        lines = "\n".join(command.examples).replace("\\\n", "").splitlines()
        assert any(line.startswith(f"rankscope {name}") for line in lines), name
        if name == "mcp":  # a server, which has tests of its own
            continue
        for line in lines:
            assert line.startswith("rankscope "), line
            done = rankscope(*(words_of(line) if name != "demo" else ["demo", "--copy", "d2"]))
            is_early = "nothing was judged yet" in done.stderr  # nobody sat at the page
            if done.returncode and name != "demo" and not is_early:
                failed[line] = done.stderr
    assert failed == {}
