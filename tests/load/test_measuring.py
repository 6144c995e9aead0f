"""What is measured, on a scripted clock: exact, and as an open loop sees it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from load.virtual import QUERIES, AtOnce, VirtualClock, settings, simulated
from rankscope.errors import InputError
from rankscope.retrieval.load.arrivals import make_schedule
from rankscope.retrieval.load.histograms import added, latencies_in, latencies_of
from rankscope.retrieval.load.load_checks import load_problem
from rankscope.retrieval.load.open_loop import Log, send
from rankscope.runs.load_record import Latencies, LoadRecord

pytest.importorskip("hdrh", reason="hdrhistogram is not installed")

PERCENTILES = {"p50": 50, "p90": 90, "p95": 95, "p99": 99}


def exact(values: list[float], percentile: float) -> float:
    """Return the value that so many per cent do not exceed, as HdrHistogram defines it."""
    place = max(int(percentile / 100 * len(values) + 0.5), 1)
    return sorted(values)[place - 1]


def agree(times: Latencies, values: list[float]) -> None:
    assert times.count == len(values)
    for name, percentile in PERCENTILES.items():
        if len(values) * (100 - percentile) < 100:
            assert getattr(times, name) is None
            continue
        assert getattr(times, name) == pytest.approx(exact(values, percentile), rel=1e-3, abs=2e-6)
    assert times.max == pytest.approx(max(values), rel=1e-3, abs=2e-6)


def queued(arrivals: list[float], service: list[float]) -> list[float]:
    """Return response times where one query is answered after the other (Lindley's recursion)."""
    free, responses = 0.0, []
    for arrival, seconds in zip(arrivals, service, strict=True):
        free = max(free, arrival) + seconds
        responses.append(free - arrival)
    return responses


@pytest.mark.parametrize("arrivals", ["constant", "poisson"])
def test_a_stall_is_seen_as_users_see_it(arrivals: str) -> None:
    """A stall of 1 s: fifty queries arrive meanwhile, and all of them wait."""
    service = [1.0 if number == 100 else 0.005 for number in range(200)]
    record, schedule, _ = simulated(settings(arrivals=arrivals), service.__getitem__)
    responses = queued(schedule.times.tolist(), service)
    agree(record.response, responses)
    agree(record.service, service)
    assert record.service.p99 is not None
    assert record.service.p99 < 0.006, "one after the other, the stall is one value in 200"
    assert record.response.p90 is not None
    assert record.response.p90 > 0.4, "and here it is a quarter of them"
    assert (record.sent, record.answered, record.failed, record.unfinished) == (200, 200, 0, 0)
    assert [finding.name for finding in record.findings] == ["one-at-a-time"]
    assert record.held_up == sum(
        response > seconds + 1e-9 for response, seconds in zip(responses, service, strict=True)
    )


def test_what_arrives_too_fast_is_said() -> None:
    record, schedule, _ = simulated(settings(), lambda _: 0.04)  # 25 a second, not 50
    agree(record.response, queued(schedule.times.tolist(), [0.04] * 200))
    assert record.throughput == pytest.approx(25, rel=0.02)
    assert [finding.name for finding in record.findings] == ["rate-not-reached", "one-at-a-time"]
    assert "25 queries a second were answered of the 50 that arrived" in record.findings[0].message


def test_a_rate_that_is_reached_is_no_finding() -> None:
    record, _, _ = simulated(settings(), lambda _: 0.018)
    assert record.throughput == pytest.approx(50, rel=0.02)
    assert record.findings == ()


def test_the_warm_up_does_not_count() -> None:
    wanted = settings(rate=10, seconds=3, warm_up=2)
    record, _, _ = simulated(wanted, lambda number: 0.09 if number < 20 else 0.01)
    assert (record.warmed_up, record.planned, record.sent) == (20, 30, 30)
    agree(record.response, [0.01] * 30)
    assert record.throughput == pytest.approx(10)


def test_what_the_warm_up_left_behind_delays_the_rest() -> None:
    wanted = settings(rate=10, seconds=3, warm_up=1)
    record, _, _ = simulated(wanted, lambda number: 2.0 if number == 9 else 0.01)
    assert record.response.max == pytest.approx(1.91, rel=1e-2)  # until 0.9 + 2 s


def test_answers_to_the_warm_up_are_not_answers_to_what_is_measured() -> None:
    """A slow start: what waited for it is answered while others are measured."""
    wanted = settings(rate=50, seconds=4, warm_up=1)
    record, _, log = simulated(wanted, lambda number: 1.5 if number == 0 else 0.001)
    assert sum(ended - log.began > 1 for ended in log.ended) == 250, "all but none of the warm-up"
    assert record.answered == 200
    assert record.throughput == pytest.approx(50, abs=1e-9)
    assert "rate-not-reached" not in [finding.name for finding in record.findings]


@pytest.mark.parametrize("arrivals", ["constant", "poisson"])
@pytest.mark.parametrize("rate", [7.0, 50.0, 333.0])
def test_there_are_no_more_answers_than_arrivals(arrivals: str, rate: float) -> None:
    wanted = settings(rate=rate, seconds=3, warm_up=1, arrivals=arrivals)
    record, _, _ = simulated(wanted, lambda _: 1e-4)
    assert record.throughput <= record.planned / 3
    assert record.throughput == pytest.approx(rate, rel=0.05)


def test_throughput_lasts_until_the_last_answer() -> None:
    record, _, _ = simulated(settings(rate=10, seconds=2), lambda n: 3.1 if n == 19 else 0.01)
    assert record.throughput == pytest.approx(20 / 5)  # sent after 1.9 s, answered after 5


def test_failures_are_counted_by_sentence_and_are_in_no_percentile() -> None:
    def errors(number: int) -> str | None:
        return {0: "full", 1: "slow", 3: "full"}.get(number % 6)

    record, _, _ = simulated(
        settings(rate=60, seconds=1), lambda n: 9e-3 if n % 6 in (0, 1, 3) else 1e-3, errors
    )
    assert (record.sent, record.answered, record.failed) == (60, 30, 30)
    assert [(each.sentence, each.count) for each in record.failures] == [("full", 20), ("slow", 10)]
    assert record.response.max == pytest.approx(0.001, rel=1e-2)
    assert record.findings[0].name == "load-failures"
    assert record.findings[0].severity == "error"
    assert "30 queries of 60 failed, such as: full" in record.findings[0].message


def test_of_many_ways_to_fail_the_most_frequent_are_listed() -> None:
    record, _, _ = simulated(
        settings(rate=100, seconds=1), lambda _: 1e-3, lambda number: f"way {number % 10}"
    )
    assert len(record.failures) == 5
    assert record.failed == 100
    assert record.answered == 0
    assert record.response.p50 is None
    assert load_problem(record, "fake") == ""


def test_all_failing_in_the_warm_up_ends_the_test() -> None:
    wanted = settings(warm_up=1)
    with pytest.raises(InputError, match=r"all of the 50 queries .* failed \(no route\)"):
        simulated(wanted, lambda _: 1e-3, lambda _: "no route")


def test_a_machine_that_is_too_slow_says_so() -> None:
    """Handing over takes 1 ms, so no more than 1,000 queries a second can be sent."""
    wanted = settings(rate=5000, seconds=1)
    record, _, _ = simulated(wanted, lambda _: 0.001, slow_sender=True)
    [finding] = [each for each in record.findings if each.name == "generator-behind"]
    assert "this machine could not send 5,000 queries a second" in finding.message
    assert "the numbers are about it, not about the system" in finding.message


def test_a_machine_that_is_often_late_says_so() -> None:
    """Every tenth query takes 30 ms of the thread that sends, and delays the next."""
    wanted = settings(rate=50, seconds=10)
    record, _, _ = simulated(
        wanted, lambda number: 0.001 if number % 10 else 0.03, slow_sender=True
    )
    [finding] = record.findings
    assert finding.name == "generator-behind"
    assert "sent queries up to 10" in finding.message
    assert "about it as well as about the system" in finding.message


def test_sending_ends_when_the_grace_is_over() -> None:
    wanted = settings(rate=1000, seconds=2, grace=1)
    record, _, log = simulated(wanted, lambda _: 0.01)  # ten times too slow
    assert log.stopped - log.began < 2 + 1 + 1 + 0.1
    assert record.planned == 2000
    assert 390 < record.sent < 410
    assert load_problem(record, "fake") == ""


class Interrupting(AtOnce):
    """Somebody presses Ctrl-C while a query is asked."""

    def submit(self, number: int) -> None:
        if number == 50:
            raise KeyboardInterrupt
        super().submit(number)


def test_ctrl_c_keeps_what_was_measured() -> None:
    from load.virtual import IDENTITY
    from rankscope.retrieval.load.measuring import Loaded, measured

    wanted = settings(rate=50, seconds=4)
    schedule = make_schedule(wanted, len(QUERIES))
    log, clock = Log(len(schedule)), VirtualClock()
    asking = Interrupting(log, clock, lambda _: 0.002)
    send(schedule, log, asking, grace=1, clock=clock)
    loaded = Loaded("fake", IDENTITY, wanted, one_at_a_time=True, created="2025-01-01T00:00:00Z")
    record = measured(loaded, schedule, log)
    assert record.interrupted
    assert (record.answered, record.sent, record.planned) == (50, 51, 200)
    assert record.unfinished == 1, "the one that was being handed over"
    assert record.throughput == pytest.approx(50, rel=0.03), "of the second that was measured"
    assert load_problem(record, "fake") == ""
    assert record.to_dict()["interrupted"] is True
    assert LoadRecord.from_data(record.to_dict(), source="x") == record


def test_progress_is_reported_now_and_then() -> None:
    wanted = settings(rate=2, seconds=10)
    schedule = make_schedule(wanted, len(QUERIES))
    log, clock = Log(len(schedule)), VirtualClock()
    steps: list[tuple[int, int]] = []
    asking = AtOnce(log, clock, lambda _: 0.001)
    send(schedule, log, asking, grace=1, clock=clock, progress=lambda *step: steps.append(step))
    assert steps[-1] == (20, 20)
    assert 20 < len(steps) < 60
    assert all(before <= after for before, after in pairwise(steps))


# --- histograms ----------------------------------------------------------------------------------


def test_percentiles_have_three_digits() -> None:
    values = np.random.default_rng(1).lognormal(-4, 1.5, 20_000)
    times = latencies_of(values)
    agree(times, values.tolist())
    assert times.p999 == pytest.approx(exact(values.tolist(), 99.9), rel=1e-3)
    assert latencies_in(times.histogram) == times


def test_few_values_have_no_high_percentiles() -> None:
    def known(count: int) -> list[str]:
        times = latencies_of(np.full(count, 0.1))
        return [name for name in (*PERCENTILES, "p999") if getattr(times, name) is not None]

    assert known(0) == []
    assert known(9) == ["p50"]
    assert known(10) == ["p50", "p90"]
    assert known(99) == ["p50", "p90", "p95"]
    assert known(100) == ["p50", "p90", "p95", "p99"]
    assert known(1000)[-1] == "p999"
    nothing = latencies_of(np.array([]))
    assert (nothing.count, nothing.max) == (0, None)
    assert latencies_in(nothing.histogram) == nothing


def test_very_short_and_very_long_times() -> None:
    times = latencies_of(np.array([0.0, 1e-9, 5000.0]))
    assert times.p50 == 1e-6
    assert times.max == pytest.approx(3600, rel=1e-3)


def test_histograms_can_be_added() -> None:
    first, second = np.full(300, 0.01), np.full(100, 0.5)
    both = added([latencies_of(first).histogram, latencies_of(second).histogram])
    assert both == latencies_of(np.concatenate([first, second]))


@pytest.mark.parametrize("text", ["", "x", "é", "HISTFAAAAB542pNpmSzMwMDAzAABzFCaEUoz", "A" * 999])
def test_what_is_no_histogram_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^a histogram cannot be read"):
        latencies_in(text)


def test_a_histogram_of_other_bounds_is_refused() -> None:
    hdrh = pytest.importorskip("hdrh.histogram")
    other = hdrh.HdrHistogram(1, 1000, 2).encode().decode()
    with pytest.raises(InputError, match="is of 1 to 1000 with 2 digits; expected"):
        latencies_in(other)


def test_a_record_that_was_changed_does_not_fit_together() -> None:
    record, _, _ = simulated(settings(), lambda _: 0.005)
    assert load_problem(record, "fake") == ""
    assert load_problem(record, "other") == "is of the system fake"
    faster = record.response.model_copy(update={"p95": 0.001})
    changed = record.model_copy(update={"response": faster})
    assert load_problem(changed, "fake") == "response.p95 is not what its histogram says"
    for field, value in (("sent", 199), ("planned", 300), ("failed", 1), ("answered", 201)):
        assert "does not fit its other numbers" in load_problem(
            record.model_copy(update={field: value}), "fake"
        )
    empty = record.service.model_copy(update={"histogram": "x"})
    broken = record.model_copy(update={"service": empty})
    assert load_problem(broken, "fake").startswith("service: a histogram cannot be read")
