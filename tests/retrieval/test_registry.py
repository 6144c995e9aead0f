"""Specs of systems: what there is, and what cannot be built."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

import pytest

import rankscope.retrieval
from rankscope.errors import InputError, MissingExtraError, UnknownNameError
from rankscope.retrieval.registry import SYSTEMS, build_system
from rankscope.retrieval.stages.rerank import RERANKERS
from rankscope.retrieval.stages.rewrite import REWRITERS
from rankscope.retrieval.vector.embedders import EMBEDDERS


def test_examples_in_docstrings() -> None:
    modules = pkgutil.walk_packages(rankscope.retrieval.__path__, "rankscope.retrieval.")
    for name in (module.name for module in modules):
        assert doctest.testmod(importlib.import_module(name)).failed == 0, name


def test_systems_are_found() -> None:
    engines = ["chroma", "http", "lancedb", "postgres", "qdrant", "sqlite"]
    others = ["bm25", "fuse", "python", "rerank", "rewrite", "run", "vector"]
    assert SYSTEMS.names() == sorted([*engines, *others])


@pytest.mark.parametrize("registry", [SYSTEMS, EMBEDDERS, REWRITERS, RERANKERS])
def test_every_option_is_explained(registry: Any) -> None:
    for entry in registry:
        assert entry.summary
        for name, schema in entry.json_schema()["properties"].items():
            assert schema["description"], (entry.name, name)


@pytest.mark.parametrize(
    ("spec", "nearest"),
    [
        ({"bm52": {}}, "bm25"),
        ({"bm25": {"k": 1}}, "k1"),
        ({"bm25": {"language": "englich"}}, "english"),
        ({"vector": {"embedder": "wordlama"}}, "wordllama"),
        ({"vector": {"chunk": {"token": 3}}}, "tokens"),
        ({"fuse": {"of": ["bm25", "vectr"]}}, "vector"),
        ({"fuse": {"of": ["bm25"], "method": "minmix"}}, "minmax"),
        ({"rewrite": {"of": "bm25", "keywords": {"dropp": 3}}}, "drop"),
    ],
)
def test_unknown_names_name_the_nearest(spec: dict[str, Any], nearest: str) -> None:
    with pytest.raises(UnknownNameError, match=nearest):
        build_system(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"bm25": {"k1": -1}}, "bm25.k1: .*-1"),
        ({"bm25": {"k1": float("nan")}}, "bm25.k1: .*nan"),
        ({"bm25": {"b": True}}, "bm25.b: .*true"),
        ({"bm25": {"fields": {"title": 0}}}, "whole weights"),
        ({"bm25": {"fields": []}}, "bm25.fields: "),
        ({"bm25": {"stopwords": "the"}}, "bm25.stopwords: "),
        ({"vector": {"chunk": {"tokens": 0}}}, "vector.chunk.tokens: .*0"),
        ({"vector": {"chunk": {}}}, "vector.chunk: .*tokens"),
        ({"vector": {"chunk": {"tokens": 5, "overlap": 5}}}, "overlap"),
        ({"vector": {"embedder": 7}}, "vector.embedder: "),
        ({"vector": {"embedder": {"wordllama": {"dimensions": 100}}}}, "wordllama.dimensions: "),
        ({"python": {}}, "python: .*function"),
        ({"python": 7}, "neither"),
        ({"python": "no_such_module:f"}, "no_such_module"),
        ({"run": {"path": "missing.run"}}, "missing.run"),
        ({"rerank": {"of": "bm25"}}, "rerank: .*ltr"),
        ({"rewrite": {"of": "bm25", "python": len, "keywords": {}}}, "got keywords, python"),
        ({"fuse": {"of": []}}, "fuse.of: "),
        ({"fuse": {"of": ["bm25", "vector"], "weights": [1]}}, "fuse: .*2 runs"),
        ({"fuse": {"of": ["bm25"], "method": "minmax", "k": 3}}, "takes no k"),
        ({"bm25": {}, "vector": {}}, "expected one system"),
        (7, "7"),
    ],
)
def test_bad_specs_are_one_sentence(spec: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        build_system(spec)
    assert "\n" not in str(caught.value)


def test_a_value_alone_is_the_first_option(tmp_path: Path) -> None:
    file = tmp_path / "a.run"
    file.write_text("q1 Q0 d1 1 0.5 a\n")
    assert build_system({"run": "a.run"}, folder=tmp_path).identity().name == "a"


def test_systems_by_name() -> None:
    lexical = build_system("bm25", name="lexical")
    hybrid = build_system({"fuse": {"of": ["lexical", "bm25"]}}, systems={"lexical": lexical})
    assert hybrid.systems[0] is lexical  # type: ignore[attr-defined]
    with pytest.raises(UnknownNameError, match="nearest: lexical"):
        build_system({"fuse": {"of": ["lexicl"]}}, systems={"lexical": lexical})


@pytest.mark.parametrize(
    ("module", "package", "spec"),
    [
        ("bm25s", "bm25s", "bm25"),
        ("Stemmer", "PyStemmer", {"bm25": {"language": "german"}}),
        ("wordllama", "wordllama", "vector"),
        (
            "sentence_transformers",
            "sentence-transformers",
            {"vector": {"embedder": {"sentence-transformers": "all-MiniLM-L6-v2"}}},
        ),
        (
            "sentence_transformers",
            "sentence-transformers",
            {"rerank": {"of": "bm25", "cross_encoder": "gone"}},
        ),
    ],
)
def test_a_missing_package_says_how_to_get_it(
    spec: Any, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [loaded for loaded in sys.modules if loaded.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name.partition(".")[0] == module:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    with pytest.raises(MissingExtraError, match=rf"{package}; .*pip install"):
        build_system(spec)
