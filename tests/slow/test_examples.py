"""The example at the end of every command's help works as it is typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from conftest import Rankscope
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


def words_of(line: str) -> list[str]:
    """Return the arguments of a line as a shell passes them on."""
    _, *words = shlex.split(line)
    return [
        path
        for word in words
        for path in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
    ]


def test_every_example_works(rankscope: Rankscope) -> None:
    assert HELP.keys() == EXAMPLES.keys()
    assert rankscope("demo", "--copy", "demo").returncode == 0
    failed = {}
    for command, text in HELP.items():
        assert "\b" not in text
        example = text.partition("\n  Example")[2].partition(":\n")[2]
        assert (" demo/" in example) == ("'rankscope demo --copy demo'" in text)
        if command == "mcp":  # a server, which has tests of its own
            continue
        for line in example.replace("\\\n", "").strip().splitlines():
            assert line.strip().startswith("rankscope ")
            done = rankscope(*(words_of(line) if command != "demo" else ["demo", "--copy", "d2"]))
            if done.returncode:
                failed[line] = done.stderr
    assert failed == {}
