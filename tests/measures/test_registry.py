"""Adding a measure: by decorator, and from another package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from measures.naive import make
from rankscope.errors import InputError
from rankscope.measures import registry
from rankscope.measures.definition import number
from rankscope.measures.judged import FloatArray, JudgedRun
from rankscope.measures.language import Measure, parse_measures
from rankscope.measures.registry import all_definitions, compute, define, definition_of


@pytest.fixture(autouse=True)
def _put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    all_definitions()
    monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))
    yield
    registry.computation.cache_clear()


def run() -> JudgedRun:
    return make({"q": {"a": 1.0}, "r": {"a": 1.0}}, {"q": {"a": 2.0, "b": 1.0}})[0]


def test_own_measure() -> None:
    @define("Depth", number("scale", 1.0, "factor"))
    def depth(run: JudgedRun, *, cutoff: int | None, scale: float) -> FloatArray:
        """How many documents are shown.

        Formula: min(k, retrieved)
        Reference: none
        """
        return run.shown(cutoff) * np.float64(scale)

    measure = Measure.parse("depth(scale=2)@1")
    assert str(measure) == "Depth(scale=2)@1"
    assert compute(measure, run()).tolist() == [2.0, 0.0]
    definition = definition_of("Depth")
    assert (definition.family, definition.formula) == ("own", "min(k, retrieved)")
    assert definition.summary == "How many documents are shown."


def test_own_measure_may_return_plain_numbers() -> None:
    define("Ones")(lambda run: [1] * len(run))
    assert compute(Measure.parse("Ones"), run()).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("wrong", [[1.0], "text", None, [1.0, float("nan")], np.ones((2, 2))])
def test_own_measure_that_returns_nonsense(wrong: object) -> None:
    define("Wrong")(lambda _run: wrong)
    with pytest.raises(InputError, match="one finite number for each of the 2 queries"):
        compute(Measure.parse("Wrong"), run())


@pytest.mark.parametrize("name", ["", "a b", "x@5", "12", "n" * 99])
def test_name_must_be_readable(name: str) -> None:
    with pytest.raises(InputError, match="name is made of letters"):
        define(name)


def test_name_is_taken() -> None:
    with pytest.raises(InputError, match="there is a measure nDCG already"):
        define("nDCG")(lambda run: run.zeros())


def test_what_a_measure_needs_is_said() -> None:
    for text, message in (("alpha_nDCG@5", "judgments by subtopic"), ("SpanIoU", "spans or texts")):
        with pytest.raises(InputError, match=message):
            compute(Measure.parse(text), run())


def test_measures_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def offered(group: str) -> list[EntryPoint]:
        assert group == "rankscope.measures"
        return [
            EntryPoint("good", "measures.plugin", group),
            EntryPoint("bad", "measures.no_such_module", group),
        ]

    monkeypatch.setattr("importlib.metadata.entry_points", offered)
    registry._load_plugins.cache_clear()
    with pytest.warns(UserWarning, match="no_such_module could not be loaded"):
        assert str(parse_measures("FromElsewhere")[0]) == "FromElsewhere"
    assert "FromElsewhere" in [definition.name for definition in all_definitions()]


def test_exponential_gains_up_to_a_grade_of_1000() -> None:
    """2^1000 is finite in double precision, and so are sums of it."""
    measure = Measure.parse("nDCG(gain=exp)@2")
    for grade, other in ((1000.0, 999.0), (1000.0, -5.0)):
        judged, _ = make({"q": {"a": grade, "b": other}}, {"q": {"b": 2.0, "a": 1.0}})
        gains = [2.0 ** max(value, 0.0) - 1 for value in (other, grade)]
        ideal = gains[1] + gains[0] / np.log2(3)
        expected = (gains[0] + gains[1] / np.log2(3)) / ideal
        assert compute(measure, judged)[0] == pytest.approx(expected)
    judged, _ = make({"q": {"a": 1000.5}}, {"q": {"a": 1.0}})
    with pytest.raises(InputError, match="cannot be used with grades above 1000"):
        compute(measure, judged)
