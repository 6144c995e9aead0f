"""Where models are found, and what is said when they are not."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankscope.errors import InputError
from rankscope.retrieval.registry import Context, build_system
from rankscope.retrieval.vector.models import Model, ModelOptions

KINDS = ["SentenceTransformer", "CrossEncoder"]


def spec(kind: str, model: Any) -> dict[str, Any]:
    if kind == "CrossEncoder":
        return {"rerank": {"of": "bm25", "cross_encoder": model}}
    return {"vector": {"embedder": {"sentence-transformers": model}}}


def model(kind: Any, name: str, **options: Any) -> Model:
    return Model(kind, ModelOptions(model=name, **options), Context(), owner="the test")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Refuse the network, and remember what was asked of it."""
    seen: list[object] = []

    def refuse(*address: object, **_: object) -> None:
        seen.append(address)
        raise OSError("no route")

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./gone", "folder not found"),
        ("/nowhere/at/all", "folder not found: /nowhere/at/all, where a model should be"),
        ("~/model", "folder not found"),
        ("here/gone", "folder not found"),
        ("one/two/three", "folder not found"),
        ("a model", "folder not found"),
        ("here", "holds no model: there is no modules.json or config.json in it"),
        ("file.bin", "is a file; a model is named by its folder, or its name on the hub"),
    ],
)
def test_what_is_no_model(
    kind: str, name: str, message: str, asked: list[object], tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "file.bin").write_bytes(b"weights")
    with pytest.raises(InputError) as caught:
        build_system(spec(kind, name), folder=tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert asked == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_loaded_without_the_network(
    kind: str, small: Callable[..., Path], asked: list[object], tmp_path: Path
) -> None:
    shutil.copytree(small(kind), tmp_path / "my" / "model")
    build_system(spec(kind, "my/model"), folder=tmp_path)  # found where the config is
    assert model(kind, str(tmp_path / "my" / "model")).loaded() is not None
    assert asked == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_damaged_folder(
    kind: str, damage: str, small: Callable[..., Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(small(kind), tmp_path / "model")
    (folder / damage).write_bytes((folder / damage).read_bytes()[:50])
    with pytest.raises(InputError, match="holds no model that can be loaded: ") as caught:
        model(kind, str(folder)).loaded()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hub_that_cannot_be_reached_is_said_at_once(
    kind: str, asked: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    named = model(kind, "nobody/has-this-model")
    assert asked == []
    with pytest.raises(
        InputError, match=r"no folder nobody/has-this-model, and https://\S+ cannot be reached"
    ):
        named.loaded()
    assert len(asked) in (1, 2)  # the library's own start, once, and ours


def copied(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a model where the hub's library keeps what it has fetched, as me/model."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    place = cache / "models--me--model"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("0123abcd")
    return shutil.copytree(folder, place / "snapshots" / "0123abcd")


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_the_hub_is_used_and_known_by_its_revision(
    kind: str,
    small: Callable[..., Path],
    asked: list[object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    copied(small(kind), tmp_path, monkeypatch)
    named = model(kind, "me/model")
    assert named.described()["revision"] == "0123abcd"
    assert named.loaded() is not None
    assert asked == []


@pytest.mark.parametrize("kind", KINDS)
def test_only_files_that_are_missing_are_fetched(
    kind: str,
    small: Callable[..., Path],
    asked: list[object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    weights = copied(small(kind), tmp_path, monkeypatch) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:50])
    with pytest.raises(InputError, match="me/model, fetched before, cannot be loaded: "):
        model(kind, "me/model").loaded()
    asked.clear()  # the library's own start may ask once
    weights.unlink()
    with pytest.raises(InputError, match="cannot be reached"):
        model(kind, "me/model").loaded()
    assert asked


def test_an_unknown_device(small: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="can be loaded: RuntimeError"):
        model("CrossEncoder", str(small("CrossEncoder")), device="abacus").loaded()
