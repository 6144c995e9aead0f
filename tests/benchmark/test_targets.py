"""Targets and bands: the built-in numbers, which band a value is in, and files that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.benchmark.config.model import Config
from rankscope.benchmark.config.sections import read_section
from rankscope.benchmark.targets import Targets, load_targets
from rankscope.errors import FormatError, InputError

HERE = Path()
HEAD = "name: ours\nsource: the team's goals\n"


def names(targets: Targets) -> list[str]:
    """Return the names of the sets that bands come from."""
    return list(targets.band_sets)


def write(folder: Path, text: str, name: str = "ours.yaml") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return name


# --- the built-in sets


@pytest.mark.parametrize(
    ("measure", "target", "values"),
    [
        ("nDCG@10", 0.35, {0.29: "below baseline", 0.30: "baseline", 0.40: "strong"}),
        ("AP@100", 0.30, {0.24: "below baseline", 0.25: "baseline", 0.30: "competitive"}),
        ("RR@10", 0.55, {0.44: "below baseline", 0.54: "baseline", 0.55: "competitive"}),
        ("R@50", 0.62, {0.54: "below baseline", 0.61: "baseline", 0.62: "competitive"}),
        ("R@100", 0.70, {0.59: "below baseline", 0.69: "baseline", 0.70: "competitive"}),
        ("Success@10", 0.80, {0.69: "below baseline", 0.79: "baseline", 0.80: "competitive"}),
    ],
)
def test_trec_kpi(measure: str, target: float, values: dict[float, str]) -> None:
    found = load_targets("trec-kpi", ["trec-kpi"], HERE)
    assert names(found) == ["trec-kpi"]
    assert found.target_of(measure) == target
    for value, band in values.items():
        assert found.bands_of(measure, value) == {"trec-kpi": band}
    assert found.bands_of(measure, float("nan")) == {}


@pytest.mark.parametrize(
    ("cutoff", "acceptable", "good", "excellent"),
    [(1, 0.40, 0.50, 0.65), (3, 0.60, 0.70, 0.85), (5, 0.70, 0.80, 0.90), (10, 0.80, 0.85, 0.95)],
)
def test_recipe_tutorial(cutoff: int, acceptable: float, good: float, excellent: float) -> None:
    found = load_targets({}, ["recipe-tutorial"], HERE)
    assert found.target_of(f"Success@{cutoff}") is None
    values = [0.0, acceptable - 0.01, acceptable, good, excellent - 0.01, excellent]
    bands = [found.bands_of(f"Success@{cutoff}", value)["recipe-tutorial"] for value in values]
    assert bands == ["poor", "poor", "acceptable", "good", "good", "excellent"]


def test_several_sets_and_none() -> None:
    found = load_targets({}, ["trec-kpi", "recipe-tutorial", "trec-kpi"], HERE)
    assert names(found) == ["trec-kpi", "recipe-tutorial"]
    assert found.bands_of("Success@10", 0.82) == {
        "trec-kpi": "competitive",
        "recipe-tutorial": "acceptable",
    }
    none = load_targets({}, [], HERE)
    assert none == Targets()
    assert (names(none), none.target_of("RR"), none.bands_of("RR", 0.5)) == ([], None, {})


def test_a_later_entry_wins() -> None:
    found = load_targets(["trec-kpi", {"ndcg_cut_10": 0.5, "RBP(p=0.80)": 0.2}], [], HERE)
    assert found.target_of("nDCG@10") == found.target_of("NDCG@10") == 0.5
    assert found.target_of("RBP") == 0.2  # 0.8 is its default
    assert found.target_of("R@50") == 0.62
    assert load_targets([{"R@50": 0.1}, "trec-kpi"], [], HERE).target_of("R@50") == 0.62


def test_a_set_that_measures_none_of_it() -> None:
    with pytest.raises(InputError, match="none of the measures of the set 'trec-kpi'"):
        load_targets("trec-kpi", [], HERE, measured=frozenset({"P@5"}))


def test_sets_that_cannot_be_used() -> None:
    for targets, bands, word in (
        ("trec-kpl", [], "targets: unknown set 'trec-kpl'; nearest: trec-kpi"),
        ({}, ["zzz"], "bands: unknown set 'zzz'"),
        ("recipe-tutorial", [], "targets: the set 'recipe-tutorial' has bands only"),
        ("there.yaml", [], "there.yaml: "),
    ):
        with pytest.raises(InputError, match=word):
            load_targets(targets, bands, HERE)


@pytest.mark.parametrize(
    ("targets", "word"),
    [
        (3, "targets: expected numbers"),
        (["trec-kpi", ["trec-kpi"]], "targets.1: expected numbers"),
        ({"nDCG@10": "0.3"}, "targets.nDCG@10: expected a number, got '0.3'"),
        ({"nDCG@10": 35}, "targets.nDCG@10: expected 0 to 1, got 35; write 0.35"),
        ({"nDCG@10": float("nan")}, "targets.nDCG@10: expected 0 to 1, got nan"),
        ({"DCG@10": -1}, "targets.DCG@10: expected 0 or more, got -1"),
        ({"P@10": 0.3, "P_10": 0.2}, "targets.P_10: 'P_10' and 'P@10' are the same"),
    ],
)
def test_targets_in_a_config_that_are_wrong(targets: Any, word: str) -> None:
    data = {"name": "a", "collection": "b", "systems": {"c": "bm25"}, "targets": targets}
    with pytest.raises(InputError) as refused:
        read_section(Config, data)
    assert str(refused.value).startswith(word)


# --- files


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    text = f"{HEAD}measures:\n  ndcg_cut_10: {{target: 0.5, bands: {{high: 0.5, low: 0.2}}}}\n"
    name = write(tmp_path, text)
    for path in (name, str(tmp_path / name)):
        found = load_targets(path, [path], tmp_path)
        assert (names(found), found.target_of("nDCG@10")) == (["ours"], 0.5)
        bands = [found.bands_of("nDCG@10", value)["ours"] for value in (0.1, 0.2, 0.49, 0.5)]
        assert bands == ["below low", "low", "low", "high"]


def test_less_is_better(tmp_path: Path) -> None:
    text = f"{HEAD}measures: {{Unjudged@10: {{bands: {{fair: 0.5, good: 0.1}}}}}}\n"
    found = load_targets({}, [write(tmp_path, text)], tmp_path)
    bands = [found.bands_of("Unjudged@10", value)["ours"] for value in (0.6, 0.5, 0.11, 0.1, 0)]
    assert bands == ["below fair", "fair", "fair", "good", "good"]


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    text = "name: trec-kpi\nsource: us\nmeasures: {P@1: {bands: {ok: 0.5}}}\n"
    with pytest.raises(InputError, match="two sets are called 'trec-kpi'"):
        load_targets({}, ["trec-kpi", write(tmp_path, text)], tmp_path)
    name = write(tmp_path, f"{HEAD}measures: {{P@1: {{target: 0.5}}}}\n")
    with pytest.raises(InputError, match="the set 'ours' has targets only"):
        load_targets({}, [name], tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("source: us\nmeasures: {P@1: {target: 1}}\n", 1, "key name is required"),
        (HEAD, 1, "key measures is required"),
        (f"{HEAD}measures:\n  P@1:\n    taget: 1\n", 5, "nearest: target"),
        (f"{HEAD}measures:\n  P@1:\n    target: high\n", 5, "measures.P@1.target"),
        (f"{HEAD}measures:\n  P@1:\n    bands:\n      ok: 60\n", 6, "write 0.6 for 60 %"),
        ("[" * 5000, 1, ""),
        ("", None, "is empty"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, line: int | None, problem: str) -> None:
    name = write(tmp_path, text)
    with pytest.raises(FormatError) as refused:
        load_targets(name, [], tmp_path)
    assert problem in refused.value.problem
    assert refused.value.source.endswith("ours.yaml")
    assert refused.value.line == line
    assert "\n" not in str(refused.value)


@settings(deadline=None, max_examples=30)
@given(bounds=st.lists(st.floats(0, 1), min_size=1, max_size=5, unique=True), value=st.floats(0, 1))
def test_the_band_is_the_highest_that_is_entered(
    tmp_path_factory: pytest.TempPathFactory, bounds: list[float], value: float
) -> None:
    folder = tmp_path_factory.mktemp("sets")
    bands = ", ".join(f"b{bound!r}: {bound!r}" for bound in bounds)
    name = write(folder, f"{HEAD}measures: {{P@1: {{bands: {{{bands}}}}}}}\n")
    [band] = load_targets({}, [name], folder).bands_of("P@1", value).values()
    entered = [bound for bound in bounds if bound <= value]
    assert band == (f"b{max(entered)!r}" if entered else f"below b{min(bounds)!r}")
