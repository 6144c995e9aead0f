"""``rankscope mcp``."""

from __future__ import annotations

import click

from rankscope.cli.help import command, option


@command("rankscope mcp demo/ < /dev/null")
@click.argument("folder")
@option("--max-bytes N", "Largest file to read", default=1_000_000_000)
def mcp(*, folder: str, max_bytes: int) -> None:
    """Let an assistant evaluate the files in FOLDER: a server of the Model Context Protocol.

    Start it from a client; it speaks on standard input and output. Its tools list files, evaluate,
    compare, explain and diagnose. They read only files in FOLDER, and write nothing.
    """
    import os
    from pathlib import Path

    from rankscope.cli import say
    from rankscope.errors import InputError
    from rankscope.integrations.mcp_server import Workspace, serve

    root = Path(folder)
    if not root.is_dir():
        problem = "is not a folder" if root.exists() else "folder not found"
        raise InputError(f"{folder}: {problem}; name the folder that may be read")
    workspace = Workspace(root.resolve(), max_bytes)
    os.chdir(workspace.root)
    if os.isatty(0):
        say("waiting for requests of a client, which is to start this command; Ctrl-D ends it")
    serve(workspace)
