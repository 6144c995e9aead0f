"""Does the record of a load test hold together? Its percentiles follow from its histograms."""

from __future__ import annotations

from rankscope.errors import InputError
from rankscope.retrieval.load.arrivals import counts
from rankscope.retrieval.load.histograms import latencies_in
from rankscope.runs.load_codes import FAILED, UNFINISHED
from rankscope.runs.load_record import LoadRecord


def load_problem(record: LoadRecord, system: str) -> str:
    """Say what does not fit together in the record of a load test of a system; '' if all does.

    Raises:
        MissingExtraError: what reads histograms is not installed.
    """
    if record.system != system:
        return f"is of the system {record.system}"
    for name in ("response", "service", "lag"):
        times = getattr(record, name)
        try:
            computed = latencies_in(times.histogram)
        except InputError as error:
            return f"{name}: {error}"
        apart = [
            field
            for field in type(times).model_fields
            if field != "histogram" and getattr(times, field) != getattr(computed, field)
        ]
        if apart:
            return f"{name}.{apart[0]} is not what its histogram says"
    codes = {finding.code for finding in record.findings}
    sums = {
        "sent": record.sent == record.answered + record.failed + record.unfinished,
        "answered": record.answered == record.service.count,
        "unfinished": record.response.count == record.answered + record.unfinished,
        "lag": record.lag.count <= record.sent,
        "planned": (record.warmed_up, record.planned) == counts(record.settings)
        and record.sent <= record.planned,
        "held_up": 0 <= record.held_up <= record.sent,
        "most_at_once": record.most_at_once >= bool(record.sent),
        "failures": sum(failure.count for failure in record.failures) <= record.failed,
        "findings": (FAILED.code in codes) == bool(record.failed)
        and (UNFINISHED.code in codes) == bool(record.unfinished and not record.interrupted),
    }
    wrong = [name for name, fits in sums.items() if not fits]
    return f"{wrong[0]} does not fit its other numbers" if wrong else ""
