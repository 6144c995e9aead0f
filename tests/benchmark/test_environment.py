"""What is said of the repository of a config, without running anything it names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rankscope.benchmark.environment import git_state

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*GIT, "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "bench.yaml").write_text("name: a")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def commit_of(folder: Path) -> str | None:
    state = git_state(folder)
    return None if state is None else state.commit


def test_the_commit_is_found_from_a_folder_inside(repository: Path) -> None:
    inside = repository / "a" / "b"
    inside.mkdir(parents=True)
    assert commit_of(inside) == git(repository, "rev-parse", "HEAD")


def test_detached_packed_and_linked(repository: Path, tmp_path: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    git(repository, "pack-refs", "--all")
    assert commit_of(repository) == head
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    assert commit_of(tmp_path / "linked") == head
    git(repository, "checkout", "-q", "--detach")
    assert commit_of(repository) == head


def test_nothing_a_repository_names_is_run(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(trap))
    git(repository, "config", "filter.x.clean", str(trap))
    assert commit_of(repository) is not None
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "head",
    ["", "ref: refs/heads/none", "ref: ../../secret", "ref: /etc/hostname", "ref: HEAD", "\0\xff"],
)
def test_a_broken_repository_has_no_commit(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head, "latin-1")
    assert git_state(tmp_path) is None


def test_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere")
    assert git_state(tmp_path) is None
