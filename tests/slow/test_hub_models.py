"""Models on the hub: only a copy that is missing is fetched, and a model is known by its revision.

The packages are stand-ins; `tests/slow/with_torch` has the real ones.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rankscope import Corpus
from rankscope.errors import InputError
from rankscope.retrieval import registry
from rankscope.retrieval.registry import Context, build_system
from rankscope.retrieval.vector import models
from rankscope.retrieval.vector.models import Model, ModelOptions


class Hub:
    """A hub, its copy on this machine, and the library that loads from both."""

    def __init__(self) -> None:
        self.copies: dict[str, str] = {}
        self.newest: dict[str, str] = {}
        self.error: Exception | None = None
        self.opened: list[tuple[str, bool, str | None]] = []
        self.asked = 0
        self.constants = SimpleNamespace(ENDPOINT="https://hub")
        session = SimpleNamespace(head=lambda *_, **__: None)
        self.utils = SimpleNamespace(get_session=lambda: session)

    def try_to_load_from_cache(self, repository: str, file: str) -> str | None:
        revision = self.copies.get(repository)
        return None if revision is None else f"/cache/snapshots/{revision}/{file}"

    def HfApi(self) -> Any:  # noqa: N802  (the name it has)
        return self

    def model_info(self, repository: str, *, timeout: float) -> Any:
        assert timeout
        self.asked += 1
        return SimpleNamespace(sha=self.newest[repository])

    def SentenceTransformer(  # noqa: N802  (the name it has)
        self, name: str, *, device: None, local_files_only: bool, revision: str | None
    ) -> Any:
        self.opened.append((name, local_files_only, revision))
        if local_files_only and self.error is not None:
            raise self.error
        return SimpleNamespace(device=device)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub()
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setitem(sys.modules, "sentence_transformers", hub)
    monkeypatch.setattr(registry, "find_spec", lambda _: hub)
    monkeypatch.setattr(models, "engine_version", lambda name: f"{name} 1")
    monkeypatch.setattr(models, "_quietly", nullcontext)
    return hub


def model(name: str = "me/model", **options: Any) -> Model:
    return Model(
        "SentenceTransformer", ModelOptions(model=name, **options), Context(), owner="the test"
    )


def test_a_copy_is_used_without_a_look_at_the_hub(hub: Hub) -> None:
    hub.copies = {"me/model": "abc"}
    copy = model()
    assert copy.described()["revision"] == "abc"
    copy.loaded()
    assert hub.opened == [("me/model", True, None)]
    assert hub.asked == 0
    assert copy.notes == ()


def missing() -> Exception:
    error = OSError("cannot be found in the cached files")
    error.__cause__ = FileNotFoundError("config.json")
    return error


@pytest.mark.parametrize("error", [missing(), FileNotFoundError("weights"), OSError("no file")])
def test_a_copy_that_is_missing_is_fetched(hub: Hub, error: Exception) -> None:
    hub.error = error
    model().loaded()
    assert hub.opened == [("me/model", True, None), ("me/model", False, None)]


@pytest.mark.parametrize(
    "error",
    [RuntimeError("no such device: abacus"), PermissionError("denied"), ValueError("bad weights")],
)
def test_any_other_error_is_said_and_the_hub_left_alone(hub: Hub, error: Exception) -> None:
    hub.error = error
    with pytest.raises(InputError, match="cannot be loaded") as caught:
        model().loaded()
    assert caught.value.__cause__ is error
    assert str(error) in str(caught.value)
    assert len(hub.opened) == 1


def test_a_model_is_known_by_its_revision(hub: Hub) -> None:
    hub.newest = {"me/model": "new"}
    first = model()
    assert first.described()["revision"] == "new"
    hub.copies = {"me/model": "new"}
    assert model().described() == first.described()
    hub.copies = {"me/model": "newer"}
    assert model().described() != first.described()
    stated = model(revision="v1")
    assert stated.described()["revision"] == "v1"
    stated.loaded()
    assert hub.opened[-1] == ("me/model", True, "v1")


def test_a_name_without_an_owner_is_the_librarys(hub: Hub) -> None:
    hub.copies = {"sentence-transformers/small": "abc"}
    assert model("small").described()["revision"] == "abc"


def test_a_revision_nobody_knows_holds_for_this_process_only(hub: Hub, tmp_path: Path) -> None:
    unknown = model()
    assert unknown.described()["revision"].startswith("process ")
    assert model().described() == unknown.described()
    assert "me/model" in unknown.notes[0]
    for copies, notes in (({"me/model": "abc"}, ()), ({}, unknown.notes)):
        hub.copies = copies
        system = build_system(
            {"vector": {"embedder": {"sentence-transformers": "me/model"}}}, folder=tmp_path
        )
        system.index(Corpus({"a": "soup"}))
        assert system.notes == notes


def test_making_a_system_asks_nobody(hub: Hub, tmp_path: Path) -> None:
    build_system(
        {"vector": {"embedder": {"sentence-transformers": "me/model"}}},
        folder=tmp_path,
        cache=tmp_path,
    )
    assert (hub.asked, hub.opened) == (0, [])
