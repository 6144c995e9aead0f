"""How well a router, a gate and a threshold decide: shares with Wilson's intervals, loads, AUC."""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import ask, ends
from frozen.subjects import subject

CONFUSED = {("a", "a"): 12, ("a", "b"): 5, ("b", "b"): 9, ("b", "a"): 1, ("c", "b"): 3}
"""By where questions belong and where they are sent: how many."""
QUESTIONS = 30
QRELS = {f"q{n}": {"d": 1} for n in range(QUESTIONS)}
RUN = {f"q{n}": [*(f"x{at}" for at in range(n % 5)), "d"] for n in range(QUESTIONS)}


def confused() -> list[dict[str, Any]]:
    pairs = [pair for pair, count in CONFUSED.items() for _ in range(count)]
    return [
        {"query_id": f"q{n}", "route": sent, "best": home} for n, (home, sent) in enumerate(pairs)
    ]


def ranked() -> list[dict[str, Any]]:
    """Return decisions with several right routes, candidates in order, and confidences."""
    rows = []
    for n in range(QUESTIONS):
        routes = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]][n % 3]
        best = [["a"], ["c"], ["a", "c"], ["b"]][n % 4]
        row: dict[str, Any] = {
            "query_id": f"q{n}",
            "route": routes[0],
            "routes": routes,
            "best": best,
            "allowed": [*best, "b"],
        }
        rows.append(row)
    rows[3]["best"] = None
    rows.append({**rows[0], "query_id": "of another set"})
    return rows


def gated() -> list[dict[str, Any]]:
    """Return decisions of a gate: retrieved or not, needed or not."""
    return [
        {
            "query_id": f"q{n}",
            "retrieved": n % 4 != 0,
            "needed": None if n == 7 else n % 3 != 0,
        }
        for n in range(QUESTIONS)
    ]


@subject
def routing() -> Any:
    """A known confusion of routes; ranked candidates; a gate that retrieves or not.

    Oracle: by hand (`test_oracles_diagnosis`).
    """
    return {
        "confused": routed(ask("routing", QRELS, {"s": RUN}, "RR", decisions=confused())),
        "ranked": routed(ask("routing", QRELS, {"s": RUN}, "RR", decisions=ranked())),
        "gate": _gate(ask("gating", QRELS, {"s": RUN}, "RR", decisions=gated())),
    }


def share(part: Any) -> Any:
    """Return count, total, share and both ends of its interval."""
    return None if part is None else [part.count, part.total, part.share, ends(part.interval)]


def routed(answer: Any) -> Any:
    return {
        "accuracy": share(answer.accuracy),
        "allowed": share(answer.allowed),
        "routes": {
            row.route: {
                "sent": share(row.sent),
                "precision": share(row.precision),
                "recall": share(row.recall),
            }
            for row in answer.routes
        },
        "confusion": {f"{row.right} to {row.sent}": row.count for row in answer.confusion},
        "load": {
            "routes": len(answer.routes),
            "used": sum(row.sent.count > 0 for row in answer.routes),
            "busiest": answer.busiest,
        },
        "unknown, of other queries": [answer.unknown, answer.other_queries],
    }


def _gate(answer: Any) -> Any:
    hits, skipped = answer.precision.count, answer.wrongly_skipped.count
    return {
        "decisions": answer.decisions,
        "unknown": answer.unknown,
        "retrieved and needed": hits,
        "retrieved and not needed": answer.precision.total - hits,
        "skipped and needed": skipped,
        "skipped and not needed": answer.efficiency.count,
        "precision": share(answer.precision),
        "recall": share(answer.recall),
        "F1": [answer.f1, ends(answer.f1_interval)],
        "false positives": share(answer.false_positive_rate),
        "rightly skipped": share(answer.efficiency),
        "wrongly skipped": share(answer.wrongly_skipped),
        "not needed": share(answer.skippable),
    }


ANSWERED, EMPTY = 30, 20


def high(n: int) -> float | None:
    """Return the best score of a question with an answer; None: it gets nothing."""
    return None if n % 11 == 10 else round(1 + (n * 7 % 13) / 5, 3)


def low(n: int) -> float | None:
    """Likewise of a question without an answer."""
    return None if n % 9 == 4 else round(0.4 + (n * 5 % 11) / 6, 3)


def golden() -> list[dict[str, Any]]:
    return [
        *({"query_id": f"a{n}", "relevant_ids": ["d"]} for n in range(ANSWERED)),
        *({"query_id": f"u{n}", "relevant_ids": [], "no_answer": True} for n in range(EMPTY)),
    ]


def run() -> dict[str, dict[str, float]]:
    scores = {f"a{n}": high(n) for n in range(ANSWERED)} | {f"u{n}": low(n) for n in range(EMPTY)}
    found = {
        query_id: {}
        if best is None
        else ({"d": best, "x": best - 1} if len(query_id) == 2 else {"x": best, "d": best - 0.5})
        for query_id, best in scores.items()
    }
    del found["u4"]  # nobody asked it
    return found


@subject
def unanswerable() -> Any:
    """Best scores of questions with and without an answer, and the best threshold.

    Oracle: all pairs and all thresholds (`test_oracles_diagnosis`). Held-out accuracy is drawn, and
    not frozen.
    """
    runs = {"scores": run(), "lists": {query_id: list(found) for query_id, found in run().items()}}
    answer = ask("no_answer", golden(), runs, "RR")
    return {
        "questions": {"without an answer": answer.unanswerable, "with": answer.answerable},
        "systems": {row.system: _system(row) for row in answer.systems},
    }


def _system(row: Any) -> Any:
    return {
        "rightly nothing": share(row.rightly_nothing),
        "wrongly nothing": share(row.wrongly_nothing),
        "missing": row.missing,
        "AUC": row.auc and [row.auc.value, *ends(row.auc)],
        "balanced accuracy": row.balanced_accuracy,
    }
