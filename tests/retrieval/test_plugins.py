"""Adding a component: one registered class, and its checks, schema and stages follow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from rankscope import Corpus
from rankscope.errors import InputError, UnknownNameError
from rankscope.retrieval.options import Options, Reading, SpecError, TextList
from rankscope.retrieval.protocol import (
    Capabilities,
    Query,
    Secret,
    models_of,
    packages_of,
)
from rankscope.retrieval.registry import SYSTEMS, Context, Entry, build_system
from rankscope.retrieval.stages.rerank import RERANKERS, Candidates, Reranker
from rankscope.retrieval.vector.embedders import EMBEDDERS

CORPUS = Corpus({f"d{n}": f"soup {'leek ' * n}" for n in range(5)})


class ReversedOptions(Options):
    """How it is turned round."""

    factor: float = Field(default=1.0, gt=0)
    """What ranks are multiplied with."""
    words: TextList = ()
    """Some words."""
    key: Secret | None = None
    """What it needs to work."""


class Reversed(Reranker):
    """Turns the order round."""

    capabilities = Capabilities(concurrent=True)
    packages = ("numpy",)

    def __init__(self, options: ReversedOptions, _: Context) -> None:
        self.options: ReversedOptions = options
        self.closed = 0

    def described(self) -> dict[str, Any]:
        return {"reranker": "reversed", **self.options.plain()}

    def scores(self, batch: Sequence[Candidates]) -> list[Sequence[float] | str]:
        return [
            [self.options.factor * rank for rank in range(len(candidates.documents))]
            for candidates in batch
        ]

    def close(self) -> None:
        super().close()
        self.closed += 1


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    entry: Entry[Reranker] = Entry("reversed", "the order turned round", ReversedOptions, Reversed)
    monkeypatch.setitem(RERANKERS._entries, "reversed", entry)


def spec(**options: Any) -> dict[str, Any]:
    return {"rerank": {"of": "bm25", "reversed": options}}


def test_a_stage_takes_it_by_name() -> None:
    with build_system(spec(factor=2)) as system:
        system.index(CORPUS)
        plain = build_system("bm25")
        plain.index(CORPUS)
        queries = [Query("q", "soup leek")]
        before, after = (either.search(queries, 5)[0] for either in (plain, system))
    assert after.doc_ids == before.doc_ids[::-1]
    assert system.capabilities.concurrent
    assert system.part.closed == 1  # type: ignore[attr-defined]
    parameters = {"factor": 2.0, "reranker": "reversed", "words": ()}
    assert system.identity().parameters["reranker"] == parameters
    assert models_of(system) == [parameters]
    assert packages_of(system) == ["PyStemmer", "bm25s", "numpy"]


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"factor": 0}, ("factor",)),
        ({"fcator": 1}, ("fcator",)),
        ({"words": ["a", ""]}, ("words", 1)),
        ({"key": 7}, ("key",)),
    ],
)
def test_its_options_are_checked(options: dict[str, Any], keys: tuple[str | int, ...]) -> None:
    with pytest.raises(SpecError) as caught:
        SYSTEMS.read(spec(**options))
    assert caught.value.keys == ("rerank", "reversed", *keys)
    with pytest.raises(InputError, match=rf"^rerank\.reversed\.{keys[0]}"):
        build_system(spec(**options))


def test_a_part_there_is_not() -> None:
    with pytest.raises(UnknownNameError, match="nearest: reversed"):
        build_system({"rerank": {"of": "bm25", "revresed": {}}})
    with pytest.raises(InputError, match="reversed"):
        build_system({"rerank": {"of": "bm25"}})


def test_variables_are_checked_when_they_have_a_value() -> None:
    options = spec(factor="${FACTOR}")
    SYSTEMS.read(options, Reading(unexpanded=True))
    with pytest.raises(SpecError, match="FACTOR"):
        SYSTEMS.read(options)


# --- what a plug-in raises -----------------------------------------------------------------------


def fails(*_: object) -> Any:
    raise RuntimeError("out of memory")


def test_an_exception_keeps_its_cause(tmp_path: Path) -> None:
    system = build_system({"vector": {"embedder": fails}})
    system.index(CORPUS)
    with pytest.raises(InputError, match="RuntimeError: out of memory") as caught:
        system.prepare()
    assert isinstance(caught.value.__cause__, RuntimeError)
    (tmp_path / "broken_plugin.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match="cannot be imported") as caught:
        build_system({"python": "broken_plugin:find"}, folder=tmp_path)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        EMBEDDERS.add("wordllama", Options, summary="")(lambda *_: None)  # type: ignore[arg-type]
