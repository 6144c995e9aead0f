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

MODULES = [module.name for module in pkgutil.iter_modules(rankscope.retrieval.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(f"rankscope.retrieval.{name}")
    assert doctest.testmod(module).failed == 0


def test_systems_are_found() -> None:
    assert SYSTEMS.names() == ["bm25", "fuse", "python", "rerank", "rewrite", "run", "vector"]


@pytest.mark.parametrize("registry", [SYSTEMS, EMBEDDERS, REWRITERS, RERANKERS])
def test_every_option_is_explained(registry: Any) -> None:
    for entry in registry:
        assert entry.summary
        for option in entry.described():
            assert option.doc, (entry.name, option.name)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"bm52": {}}, "unknown system 'bm52'; nearest: bm25"),
        ({"bm25": {"k": 1}}, "unknown option of bm25 'k'; nearest: k1"),
        ({"bm25": {"language": "englich"}}, "unknown language 'englich'; nearest: english"),
        ({"vector": {"embedder": "wordlama"}}, "unknown embedder 'wordlama'; nearest: wordllama"),
        ({"vector": {"chunk": {"token": 3}}}, "unknown option of chunk 'token'; nearest: tokens"),
        ({"fuse": {"of": ["bm25", "vectr"]}}, "unknown system 'vectr'; nearest: vector"),
        ({"fuse": {"of": ["bm25"], "method": "minmix"}}, "nearest: minmax"),
        ({"rewrite": {"of": "bm25", "rm3": {"docs": 3}}}, "unknown option of rm3 'docs'"),
    ],
)
def test_unknown_names_name_the_nearest(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        build_system(spec)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"bm25": {"k1": -1}}, "option k1 of bm25 must be a number from 0 up, not '-1'"),
        ({"bm25": {"k1": "high"}}, "option k1 of bm25 must be a number from 0 up, not 'high'"),
        ({"bm25": {"k1": float("nan")}}, "option k1 of bm25 must be a number from 0 up"),
        ({"bm25": {"b": 2}}, "option b of bm25 must be a number from 0 to 1, not '2'"),
        ({"bm25": {"b": True}}, "option b of bm25 must be a number from 0 to 1, not 'True'"),
        ({"bm25": {"fields": {"title": 1.5}}}, "whole weights 1 to 100"),
        ({"bm25": {"fields": {"title": 0}}}, "whole weights 1 to 100"),
        ({"bm25": {"fields": []}}, "option fields of bm25 must be a list of different fields"),
        ({"bm25": {"fields": ["title", "title"]}}, "a list of different fields"),
        ({"bm25": {"stopwords": "the"}}, "option stopwords of bm25 must be a list of texts"),
        ({"vector": {"chunk": {"tokens": 0}}}, "option tokens of chunk must be a whole number"),
        ({"vector": {"chunk": {}}}, "chunk needs the option tokens"),
        ({"vector": {"chunk": {"tokens": 5, "overlap": 5}}}, "the overlap must be smaller"),
        ({"vector": {"embedder": 7}}, "an embedder is a name, or a name with its options, not '7'"),
        ({"vector": {"embedder": {"wordllama": {"dimensions": 100}}}}, "64, 128 or 256"),
        ({"python": {}}, "python needs the option function"),
        ({"python": 7}, "neither a function nor a retriever"),
        ({"python": "nothing"}, "is named as module:function, not 'nothing'"),
        ({"python": "no_such_module:f"}, "there is no module no_such_module"),
        ({"run": {"path": "missing.run"}}, "missing.run: file not found"),
        ({"run": None}, "run needs the option path"),
        (
            {"rerank": {"of": "bm25"}},
            "rerank needs exactly one of cross_encoder, ltr, python, found none",
        ),
        ({"rewrite": {"of": "bm25"}}, "exactly one of keywords, rm3, python, found none"),
        ({"rewrite": {"of": "bm25", "rm3": {}, "keywords": {}}}, "found keywords, rm3"),
        ({"rewrite": {"of": "vector", "rm3": {}}}, "rm3 adds terms to a query of bm25"),
        ({"fuse": {"of": []}}, "must be a list of systems"),
        ({"fuse": {"of": ["bm25", "vector"], "weights": [1]}}, "fuse: there are 2 runs and 1 weig"),
        ({"fuse": {"of": ["bm25"], "weights": ["a"]}}, "a list of numbers from 0 up"),
        ({"fuse": {"of": ["bm25"], "method": "minmax", "k": 3}}, "takes no k"),
        ({"bm25": {}, "vector": {}}, "a system is one name with its options, but found bm25, vec"),
        ({}, "a system is one name with its options, but found nothing"),
        (7, "a system is a name, or a name with its options, not '7'"),
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
    for name in [one for one in sys.modules if one.partition(".")[0] == module]:
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
