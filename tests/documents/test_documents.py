"""Each command prints its document, each analysis says what its document says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from documents.printing import COMMANDS, TEXTS, differences
from rankscope.cli.app import app
from rankscope.diagnosis.analysis import all_analyses


def test_documents_are_as_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = "\n".join(differences())
    assert found == "", "python -m tests.documents --write writes them anew"


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name))


def test_every_command_has_a_document() -> None:
    others = {"benchmark schema", "cases schema", "mcp"}  # long JSON; a server
    typed = list(COMMANDS.values())
    missing = [c for c in commands(app) if not any(t.startswith(c) for t in typed)]
    assert set(missing) == others


def test_every_document_is_made() -> None:
    names = [*COMMANDS, *(f"analysis-{analysis.name}" for analysis in all_analyses())]
    assert sorted(path.stem for path in TEXTS.glob("*.txt")) == sorted(names)
