"""The frozen numbers of statistics are right: SciPy, or a formula written down here, says the same.

What is compared are the numbers that were written down, not the product, and what they are
compared with comes from the values of the cases. The bundled and the official runs went through
the same code, and are not derived again.
"""

from __future__ import annotations

import math
from itertools import chain, product
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

import rankscope as rs
from frozen.freezing import written
from frozen.paired_worlds import CASES, SEVERAL, differences
from frozen.subjects import comparisons, drawing, fusion, gates

SPREAD = [case for case in CASES if len(CASES[case]["base"]) > 1 and len({*differences(case)}) > 1]


def near(number: Any, digits: int = 11) -> Any:
    return pytest.approx(number, rel=10.0**-digits, abs=10.0**-digits)


def changes_of(case: str) -> Any:
    """Return differences rounded such that equal ones are equal."""
    return np.round(differences(case), 2)


def p_of(row: Any) -> float:
    """Return the p-value of the default test."""
    moving = row[row != 0]
    if len(row) < 5 or not len(moving):
        return 1.0
    if len({*np.abs(moving)}) == 1:
        return float(stats.binomtest(int((row > 0).sum()), len(moving)).pvalue)
    return max(student_p(row), 2.0 ** (1 - len(moving)))


def student_p(row: Any, together: int = 1) -> float:
    """Return the p-value of t, after Hall's transformation if the skewness is against the mean."""
    tested, n = stats.ttest_1samp(row, 0), len(row)
    t, against = abs(float(tested.statistic)), -float(stats.skew(row, bias=False))
    p_values = [float(tested.pvalue)]
    for raised in (0.0, math.sqrt(2 * math.log(together)) * math.sqrt(6 / n) / 6):
        a = max(against * np.sign(row.mean()) + raised, 0.0) / math.sqrt(n)
        hall = t - a * t**2 / 3 + a**2 * t**3 / 27 - a / 6
        p_values.append(float(2 * stats.t.sf(max(hall, 0.0), n - 1)))
    return max(p_values)


@pytest.mark.parametrize("case", CASES)
def test_paired_tests(case: str) -> None:
    figures, row = written("statistics_tests")["cases"][case], changes_of(case)
    moving, p = row[row != 0], figures["p"]
    assert p["t"] == near(p_of(row))
    if len(row) >= 5 and len(moving) <= comparisons.ALL_FLIPS:
        signs = 1 - 2 * (np.arange(2 ** len(moving))[:, None] >> np.arange(len(moving)) & 1)
        flips = np.abs(signs @ np.abs(moving))
        assert p["all sign flips"] == near((flips >= abs(moving.sum()) - 1e-9).mean())


@pytest.mark.parametrize("case", SPREAD)
def test_intervals_and_effects_of_differences(case: str) -> None:
    figures, row = written("statistics_tests")["cases"][case], changes_of(case)
    n, mean, sd = len(row), row.mean(), row.std(ddof=1)
    low, high = figures["95% interval"]
    assert (low <= 0 <= high) == (p_of(row) > 0.05)
    plain = stats.ttest_1samp(row, 0)
    if len({*np.abs(row[row != 0])}) > 1 and (plain.pvalue > 0.05) == (p_of(row) > 0.05):
        level = 0.95 if plain.pvalue <= 0.05 else 1 - 0.05
        ends = stats.t.interval(level, n - 1, mean, sd / math.sqrt(n))
        assert [low, high] == near([max(ends[0], -1), min(ends[1], 1)])
    assert figures["cohen d"] == near(mean / sd)
    for margin, p in figures["two one-sided t tests"].items():
        below = stats.ttest_1samp(row, -float(margin), alternative="greater").pvalue
        above = stats.ttest_1samp(row, float(margin), alternative="less").pvalue
        assert p == near(max(below, above))


def test_no_spread() -> None:
    cases = written("statistics_tests")["cases"]
    assert set(cases["equal differences"]["p"].values()) == {2.0**-7}
    assert set(cases["identical"]["p"].values()) == {1}
    assert set(cases["one query"]["p"].values()) == {1}
    square = stats.norm.isf(0.025) ** 2  # Tango's interval where nothing differs: z² / (n + z²)
    share = square / (10 + square)
    assert cases["identical"]["95% interval"] == near([-share, share])
    assert cases["identical"]["two one-sided t tests"]["0.1"] == near(0.9**10)
    assert cases["equal differences"]["two one-sided t tests"]["0.1"] == near(
        (1 - 0.05 / 1.05) ** 8
    )


def holm(p_values: list[float]) -> list[float]:
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    found, highest = [0.0] * len(p_values), 0.0
    for step, place in enumerate(order):
        highest = max(highest, (len(p_values) - step) * p_values[place])
        found[place] = min(1.0, highest)
    return found


def test_corrections() -> None:
    frozen = written("statistics_corrections")
    for world, family in product(("five systems", "bundled"), ("baseline", "all measures")):
        for kind in ("difference", "equivalence"):
            by_name = {
                name: [[*pairs.values()] for pairs in figures[kind].values()]
                for name, figures in frozen[world][family].items()
            }
            if kind == "difference":  # raised, as several are looked at
                raised = frozen[world][family]["holm"]["not corrected"].values()
                by_name["none"] = [[*pairs.values()] for pairs in raised]
            if family == "all measures":
                by_name = {name: [[*chain(*rows)]] for name, rows in by_name.items()}
            for place, raw in enumerate(by_name["none"]):
                assert by_name["bonferroni"][place] == near([min(1, len(raw) * p) for p in raw])
                assert by_name["holm"][place] == near(holm(raw))
                assert by_name["bh"][place] == near(stats.false_discovery_control(raw).tolist())


def test_several_systems() -> None:
    frozen = written("statistics_corrections")["five systems"]
    p_values = {name: each["not corrected"]["P@100"] for name, each in frozen["all pairs"].items()}
    by_holm = frozen["all pairs"]["holm"]["difference"]["P@100"]
    for pair in by_holm:
        first, second = (np.array(SEVERAL[name]) / 100 for name in pair.split(" - "))
        tested = stats.ttest_rel(first, second)
        differing = np.count_nonzero(first != second)
        for correction, corrected in (
            ("none", p_values["none"][pair]),
            ("bonferroni", min(1.0, p_values["bonferroni"][pair] * len(by_holm))),
            ("holm", by_holm[pair]),
        ):
            p, together = p_values[correction][pair], 1 if correction == "none" else len(by_holm)
            limited = student_p(np.round(first - second, 2), together)
            assert p == near(max(limited, 2.0 ** (1 - differing)))
            outside = 0.05 * p / corrected
            if corrected > 0.05 and tested.pvalue <= outside:  # the interval holds 0 like the test
                outside *= tested.pvalue / p
            interval = tested.confidence_interval(1 - outside)
            ends = frozen["intervals"][correction]["P@100"][pair]
            assert ends == near([interval.low, interval.high])


def test_intervals_of_means() -> None:
    frozen = written("statistics_intervals")
    rows: list[tuple[Any, Any]] = []
    for case, by_run in frozen["t"]["cases"].items():
        rows += [(by_run[run], np.array(CASES[case][run]) / 100) for run in by_run]
    rows += [
        (frozen["t"]["one system"][name], np.array(row) / 100)
        for name, row in comparisons.EQUAL.items()
    ]
    for figures, row in rows:
        assert figures["mean"] == near(row.mean())
        for level in comparisons.LEVELS:
            n = len(row)
            if np.ptp(row) > 0:
                low, high = stats.t.interval(level, n - 1, row.mean(), stats.sem(row))
            elif row[0] in (0, 1):
                tested = stats.binomtest(int(row.sum()), n)
                low, high = tested.proportion_ci(level, method="exact")
            else:
                share = 1 - ((1 - level) / 2) ** (1 / n)
                low, high = row[0] * (1 - share), row[0] + share * (1 - row[0])
            assert figures[str(level)] == near([max(low, 0.0), min(high, 1.0)])
    for name, figures in frozen["wilson"]["one system"].items():
        alone = comparisons.EQUAL[name]
        for level in comparisons.LEVELS:
            tested = stats.binomtest(alone.count(100), len(alone))
            ends = tested.proportion_ci(level, method="wilson")
            assert figures[str(level)] == near([ends.low, ends.high])


@pytest.mark.parametrize("case", drawing.DRAWN)
def test_resampled(case: str) -> None:
    frozen, source, row = (
        written("statistics_resampled"),
        np.random.default_rng(1),
        changes_of(case),
    )
    count = len(row)
    flips = np.abs((1 - 2 * source.integers(0, 2, (20_000, count))) @ row)
    drawn = np.abs((row - row.mean())[source.integers(0, count, (20_000, count))].mean(axis=1))
    for test, share in (
        ("permutation", (flips >= abs(row.sum()) - 1e-9).mean()),
        ("bootstrap", (drawn >= abs(row.mean()) - 1e-9).mean()),
    ):
        error = math.sqrt(share * (1 - share) / drawing.RESAMPLES)
        for p in frozen["p"]["cases"][case][test].values():
            assert p == pytest.approx(share, abs=5 * error + 0.001)
    by_run = frozen["95% interval"]["cases"][case]["bca"]["0"]
    for name in ("base", "system"):
        values = np.array(CASES[case][name]) / 100
        if count >= 10 and np.ptp(values) > 0:
            check_bootstrap(by_run[name], values)


def check_bootstrap(ends: Any, values: Any) -> None:
    expected = stats.bootstrap(
        (values,), np.mean, method="BCa", rng=np.random.default_rng(2), n_resamples=3_000
    ).confidence_interval
    step = stats.sem(values) / 4
    if len({*values}) == 2:  # means come in steps
        step += 1.01 * np.ptp(values) / len(values)
    assert ends == pytest.approx([expected.low, expected.high], abs=step)


def shown(ratio: float, count: int, alpha: float) -> float:
    """Return the power of the t test for a difference of so many standard deviations.

    SciPy has no number far out in a tail.
    """
    critical, shift = stats.t.isf(alpha / 2, count - 1), ratio * math.sqrt(count)
    above = stats.nct.sf(critical, count - 1, shift)
    below = stats.nct.cdf(-critical, count - 1, shift)
    return float(np.nan_to_num(above, nan=1.0) + np.nan_to_num(below))


def ratio_of(difference: float, row: Any) -> float:
    """Return difference over deviation, if only the queries that differ make the difference."""
    moving = row[row != 0]
    share = len(moving) / len(row)
    return difference / math.sqrt(share * moving.var(ddof=1) + difference**2 * (1 / share - 1))


def test_power_from_scores() -> None:
    frozen = written("statistics_power")["from scores"]
    for case in SPREAD:
        figures, row = frozen["cases"][case], changes_of(case)
        assert figures["mean, standard deviation"] == near([row.mean(), row.std(ddof=1)])
        differing = np.count_nonzero(row)
        assert figures["queries, differing"] == [len(row), differing]
        if differing < 6:
            continue
        for power in (0.8, 0.95):
            smallest = figures[f"smallest difference, power {power}"]
            if smallest != "inf":
                reached = shown(ratio_of(smallest, row), len(row), 0.05)
                assert reached == pytest.approx(power, abs=1e-5)
            else:  # not even one in which each query that differs has the largest difference
                largest = ratio_of(differing / len(row), row)
                assert shown(largest, len(row), 0.05) < power
            for target in drawing.TARGETS:
                needed = figures["queries needed"][f"{target}, power {power}"]
                ratio = ratio_of(target, row)
                least = math.ceil(6 * len(row) / differing)  # six must differ for p ≤ 0.05
                assert needed >= least
                assert shown(ratio, needed, 0.05) >= power
                assert needed == least or shown(ratio, needed - 1, 0.05) < power


def test_power_from_assumptions() -> None:
    for name, figures in written("statistics_power")["from assumptions"].items():
        sd, alpha, power = (float(part.split()[1]) for part in name.split(", "))
        for difference, needed in figures["queries needed"].items():
            ratio = float(difference) / sd
            assert shown(ratio, needed, alpha) >= power > shown(ratio, needed - 1, alpha)
            for count, frozen in figures[f"power for {difference}"].items():
                assert frozen == pytest.approx(shown(ratio, int(count), alpha), abs=1e-7)
        for count, smallest in figures["smallest difference"].items():
            assert shown(smallest / sd, int(count), alpha) == pytest.approx(power, abs=1e-5)


def test_gate() -> None:
    frozen, tested = written("statistics_gate"), written("statistics_tests")
    for name, both in frozen["margins"].items():
        of_pair = tested["cases"].get(name) or tested["bundled"][name.split(", ")[-1]]
        for direction, sign in (("up", 1), ("down", -1)):
            figures = both[direction]
            difference, p = figures["difference, p"]
            assert difference == near(sign * of_pair["mean difference"])
            assert p == of_pair["p"]["t"]
            if "95% interval" not in of_pair:
                continue
            low, high = figures["95% interval"]
            assert sorted([sign * low, sign * high]) == near(of_pair["95% interval"])
            for margin, (answer, needed) in figures["answer, queries to settle it"].items():
                most = float(margin)
                regressed = high < 0 and difference < -most
                passed = name == "identical" or low > 0 or low > -most
                assert answer == (1 if passed else -1 if regressed else 0)
                if needed is not None:
                    gap = difference + most if difference > -most else -difference
                    expected = of_pair["queries"] * ((difference - low) / gap) ** 2
                    assert answer == 0
                    assert needed == math.ceil(expected)


def test_gate_of_three_measures() -> None:
    tested = written("statistics_tests")["bundled"]
    frozen = written("statistics_gate")["three measures"]["hybrid - lexical"]["by measure"]
    raw = [tested[measure]["p"]["t"] for measure in gates.MEASURES]
    assert [frozen[measure][2] for measure in gates.MEASURES] == near(holm(raw))


def cluster_robust(values: Any, clusters: Any, weights: Any) -> tuple[float, float, float]:
    """Return a weighted mean, its standard error for new clusters, and degrees of freedom."""
    x, w = np.array(values) / 100, np.array(weights) / np.sum(weights)
    mean = float((w * x).sum())
    members = [np.array([c == label for c in clusters]) for label in dict.fromkeys(clusters)]
    members = [member for member in members if w[member].any()]
    shares = np.array([w[member].sum() for member in members])
    total = float((shares**2).sum())
    variance = sum(
        float((w[m] * (x[m] - mean)).sum()) ** 2 / (1 - 2 * share + total)
        for m, share in zip(members, shares, strict=True)
    )
    return mean, math.sqrt(variance), max(1 / total - 1, 1.0)


def test_clusters_and_weights() -> None:
    frozen = written("statistics_dependence")
    one, each = [1.0] * 20, list(range(20))
    clusters, weights = gates.CLUSTERS, gates.WEIGHTS
    asked = [(frozen["clusters"][name], labels, one) for name, labels in clusters.items()]
    asked += [(frozen["weights"][name], each, row) for name, row in weights.items()]
    asked.append((frozen["clusters and weights"], clusters["unequal"], weights["some 0"]))
    base, system = gates.PAIR.values()
    changes = [after - before for before, after in zip(base, system, strict=True)]
    for figures, labels, row in asked:
        for place, values in enumerate((base, system)):
            mean, error, free = cluster_robust(values, labels, row)
            assert figures["means"][place] == near(mean)
            ends = stats.t.interval(0.95, free, mean, error)
            assert figures["95% intervals of means"][place] == near([*ends])
        mean, error, free = cluster_robust(changes, labels, row)
        difference, p = figures["difference, p"]
        assert difference == near(mean)
        student, floor = 2 * stats.t.sf(abs(mean) / error, free), 2.0 ** (1 - len({*labels}))
        assert p >= max(student, floor) - 1e-12
        if (student <= 0.05) == (p <= 0.05):
            assert figures["95% interval"] == near([*stats.t.interval(0.95, free, mean, error)])
    plain = stats.ttest_1samp(changes, 0).pvalue
    assert frozen["clusters"]["single"]["difference, p"][1] == near(plain)
    assert frozen["weights"]["equal"]["difference, p"][1] == near(plain)


def test_noise() -> None:
    base, system = gates.PAIR.values()
    changes = (np.array(system) - np.array(base)) / 100
    runs = np.array([*gates.AGAIN.values()]) / 100
    for name, figures in written("statistics_dependence")["noise"].items():
        count = int(name[0])
        means = runs[:count].mean(axis=1)
        assert figures["means"] == near(means.tolist())
        spread = means.std(ddof=1)
        assert figures["standard deviation of means"] == near(spread)
        queries, noise = stats.sem(changes) ** 2, 2 * spread**2
        free = (queries + noise) ** 2 / (queries**2 / 19 + noise**2 / (count - 1))  # Satterthwaite
        error, mean = math.sqrt(queries + noise), changes.mean()
        assert figures["95% interval"] == near([*stats.t.interval(0.95, free, mean, error)])
        assert figures["difference, p"][1] == near(2 * stats.t.sf(mean / error, free))


def test_trained_weights() -> None:
    qrels, both = fusion.turned_pair()
    frozen = written("fusion_weights")["minmax"]
    tried = {}
    for tenths in range(11):
        weights = [tenths / 10, 1 - tenths / 10]
        tried[tenths] = fusion.mean(qrels, rs.fuse(both, method="minmax", weights=weights))
    assert frozen["trained on"] == near(max(tried.values()))
    assert tried[round(10 * frozen["weights"][0])] == near(max(tried.values()))
    assert frozen["held out"] == near(frozen["run of held-out queries"])
