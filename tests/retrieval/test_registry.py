from __future__ import annotations

import builtins
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

MODULES = [
    module.name
    for module in pkgutil.walk_packages(rankscope.retrieval.__path__, "rankscope.retrieval.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_systems_are_found() -> None:
    engines = ["chroma", "http", "lancedb", "postgres", "qdrant", "sqlite"]
    others = ["bm25", "collapse", "fuse", "python", "rerank", "rewrite", "run", "vector"]
    assert SYSTEMS.names() == sorted([*engines, *others])


@pytest.mark.parametrize("registry", [SYSTEMS, EMBEDDERS, REWRITERS, RERANKERS])
def test_every_option_is_explained(registry: Any) -> None:
    for entry in registry:
        assert entry.summary
        for name, schema in entry.json_schema()["properties"].items():
            assert schema["description"], (entry.name, name)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"bm52": {}}, "unknown system 'bm52'; nearest: bm25"),
        ({"bm25": {"k": 1}}, "bm25.k: unknown option 'k'; nearest: k1"),
        ({"bm25": {"language": "englich"}}, "unknown language 'englich'; nearest: english"),
        ({"vector": {"embedder": "wordlama"}}, "unknown embedder 'wordlama'; nearest: wordllama"),
        (
            {"vector": {"chunk": {"token": 3}}},
            "vector.chunk.token: unknown option 'token'; nearest: tokens",
        ),
        ({"fuse": {"of": ["bm25", "vectr"]}}, "unknown system 'vectr'; nearest: vector"),
        ({"fuse": {"of": ["bm25"], "method": "minmix"}}, "nearest: minmax"),
        (
            {"rewrite": {"of": "bm25", "rm3": {"docs": 3}}},
            "rewrite.rm3.docs: unknown option 'docs'",
        ),
    ],
)
def test_unknown_names_name_the_nearest(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        build_system(spec)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"bm25": {"k1": -1}}, "bm25.k1: expected a number from 0 to 1000, got -1"),
        ({"bm25": {"k1": "high"}}, "bm25.k1: expected a number from 0 to 1000, got 'high'"),
        ({"bm25": {"k1": float("nan")}}, "bm25.k1: expected a number from 0 to 1000, got nan"),
        ({"bm25": {"b": 2}}, "bm25.b: expected a number from 0 to 1, got 2"),
        ({"bm25": {"b": True}}, "bm25.b: expected a number from 0 to 1, got true"),
        ({"bm25": {"fields": {"title": 1.5}}}, "whole weights 1 to 100"),
        ({"bm25": {"fields": {"title": 0}}}, "whole weights 1 to 100"),
        ({"bm25": {"fields": []}}, "bm25.fields: expected a list of different fields"),
        ({"bm25": {"fields": ["title", "title"]}}, "a list of different fields"),
        ({"bm25": {"stopwords": "the"}}, "bm25.stopwords: expected a list of texts, got 'the'"),
        (
            {"vector": {"chunk": {"tokens": 0}}},
            "vector.chunk.tokens: expected a whole number from 1 up, got 0",
        ),
        ({"vector": {"chunk": {}}}, "vector.chunk: option tokens is required: how many tokens"),
        ({"vector": {"chunk": {"tokens": 5, "overlap": 5}}}, "the overlap must be smaller"),
        ({"vector": {"embedder": 7}}, "vector.embedder: expected one embedder, by its name or as"),
        (
            {"vector": {"embedder": {"wordllama": {"dimensions": 100}}}},
            "wordllama.dimensions: expected one of 64, 128, 256, got 100",
        ),
        ({"python": {}}, "python: option function is required: module:function"),
        ({"python": 7}, "neither a function nor a retriever"),
        ({"python": "nothing"}, "expected a python system as module:function, got 'nothing'"),
        ({"python": "no_such_module:f"}, "module no_such_module not found"),
        ({"run": {"path": "missing.run"}}, "missing.run: file not found"),
        ({"run": None}, "run: option path is required: the run's file"),
        (
            {"rerank": {"of": "bm25"}},
            "rerank: expected exactly one of cross_encoder, llm, ltr, python, got none",
        ),
        ({"rewrite": {"of": "bm25"}}, "exactly one of keywords, llm, python, rm3, got none"),
        ({"rewrite": {"of": "bm25", "rm3": {}, "keywords": {}}}, "got keywords, rm3"),
        ({"rewrite": {"of": "vector", "rm3": {}}}, "rm3 adds terms to a query of bm25"),
        ({"fuse": {"of": []}}, "fuse.of: expected a list of systems"),
        ({"fuse": {"of": ["bm25", "vector"], "weights": [1]}}, "fuse: there are 2 runs and 1 weig"),
        ({"fuse": {"of": ["bm25"], "weights": ["a"]}}, "a list of numbers from 0 up"),
        ({"fuse": {"of": ["bm25"], "method": "minmax", "k": 3}}, "takes no k"),
        (
            {"bm25": {}, "vector": {}},
            "expected one system, by its name or as a name with its options, got bm25, vec",
        ),
        ({}, "a name with its options, got nothing"),
        (7, "a name with its options, got 7"),
    ],
)
def test_bad_specs_are_one_sentence(spec: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        build_system(spec)
    assert message in str(caught.value)
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
    ("spec", "module", "package", "extra"),
    [
        ("bm25", "bm25s", "bm25s", "retrieval"),
        ("bm25", "Stemmer", "PyStemmer", "retrieval"),
        ("vector", "wordllama", "wordllama", "retrieval"),
        (
            {"vector": {"embedder": {"sentence-transformers": "all-MiniLM-L6-v2"}}},
            "sentence_transformers",
            "sentence-transformers",
            "sentence-transformers",
        ),
    ],
)
def test_a_missing_package_says_how_to_get_it(
    spec: Any, module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [loaded for loaded in sys.modules if loaded.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name.partition(".")[0] == module:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    assert builtins.__import__ is real
    with pytest.raises(MissingExtraError) as caught:
        build_system({"bm25": {"language": "german"}} if module == "Stemmer" else spec)
    assert f"needs the package {package}; install it with: pip install 'rankscope[{extra}]'" in str(
        caught.value
    )
