"""What is said of the repository of a config: read from its files, without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.benchmark.environment import git_state

COMMIT = "0123456789abcdef" * 2 + "01234567"


def write(folder: Path, **files: str) -> None:
    """Write files of a repository; ``__`` stands for a slash, ``_`` for a dash."""
    for name, text in files.items():
        path = folder.joinpath(*name.replace("__", "/").replace("_", "-").split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "latin-1")


@pytest.mark.parametrize(
    "files",
    [
        {"HEAD": "ref: refs/heads/main\n", "refs__heads__main": f"{COMMIT}\n"},
        {"HEAD": "ref: refs/heads/main\n", "packed_refs": f"# pack\n{COMMIT} refs/heads/main\n"},
        {"HEAD": f"{COMMIT}\n"},
    ],
    ids=["loose", "packed", "detached"],
)
def test_the_commit_is_found_from_a_folder_inside(tmp_path: Path, files: dict[str, str]) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    write(tmp_path / ".git", **files)
    state = git_state(inside)
    assert state is not None
    assert state.commit == COMMIT


def test_a_linked_worktree(tmp_path: Path) -> None:
    write(tmp_path / "main" / ".git", refs__heads__other=COMMIT)
    own = tmp_path / "main" / ".git" / "worktrees" / "linked"
    write(own, HEAD="ref: refs/heads/other\n", commondir="../..\n")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".git").write_text(f"gitdir: {own}\n")
    state = git_state(tmp_path / "linked")
    assert state is not None
    assert state.commit == COMMIT


@pytest.mark.parametrize(
    "head",
    ["", "ref: refs/heads/none", "ref: ../../secret", "ref: /etc/hostname", "ref: HEAD", "\0\xff"],
)
def test_a_broken_repository_has_no_commit(tmp_path: Path, head: str) -> None:
    write(tmp_path / ".git", HEAD=head)
    assert git_state(tmp_path) is None
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".git").write_text("gitdir: nowhere")
    assert git_state(tmp_path / "linked") is None
