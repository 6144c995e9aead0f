"""An obviously right twin of every measure: plain lists, plain loops, straight from the formula.

Also makes a `JudgedRun` from plain dicts, by trec_eval's rule: score descending, then document id
descending by bytes.
"""

# ruff: noqa: ARG001, PLR0917  (all twins of a kind are called alike)

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankscope.measures.judged import JudgedRun, Subtopics

Grades = Mapping[str, Mapping[str, float]]


@dataclass
class Query:
    """One query, dense: the grade of every retrieved document, None where it is not judged."""

    ranking: list[float | None]
    judged: list[float]
    max_grade: float
    docs: list[str] = field(default_factory=list)
    served: dict[str, set[str]] = field(default_factory=dict)

    def condensed(self) -> Query:
        keep = [at for at, grade in enumerate(self.ranking) if grade is not None and grade >= 0]
        return Query(
            [self.ranking[at] for at in keep],
            self.judged,
            self.max_grade,
            [self.docs[at] for at in keep],
            self.served,
        )


def ranked(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)


def make(
    qrels: Grades,
    run: Grades,
    *,
    subtopics: Mapping[str, Mapping[tuple[str, str], float]] | None = None,
) -> tuple[JudgedRun, list[Query]]:
    """Rank and join; ``subtopics`` holds a grade for each (document, subtopic) of a query."""
    max_grade = max((g for grades in qrels.values() for g in grades.values()), default=0.0)
    queries, hits, judged, entries = [], [], [], []
    for number, (query_id, grades) in enumerate(qrels.items()):
        docs = ranked(run.get(query_id, {}))
        by_grade = sorted(grades.values(), reverse=True)
        queries.append(Query([grades.get(doc) for doc in docs], by_grade, float(max_grade), docs))
        hits += [(number, at + 1, grades[doc]) for at, doc in enumerate(docs) if doc in grades]
        judged += [(number, grade) for grade in by_grade]
        parts = (subtopics or {}).get(query_id, {})
        ids = sorted({doc for doc, _ in parts}, key=str.encode)
        topics = sorted({topic for _, topic in parts})
        for (doc, topic), grade in parts.items():
            rank = docs.index(doc) + 1 if doc in docs else 0
            entries.append((number, ids.index(doc), topics.index(topic), grade, rank))
            if grade >= 1:
                queries[-1].served.setdefault(doc, set()).add(topic)

    def column(rows: Sequence[Sequence[float]], at: int, kind: type) -> Any:
        return np.array([row[at] for row in rows], dtype=kind)

    judged_run = JudgedRun(
        query_ids=tuple(qrels),
        retrieved=np.array([len(query.ranking) for query in queries], dtype=np.int64),
        in_run=np.array([query_id in run for query_id in qrels], dtype=np.bool_),
        hit_query=column(hits, 0, np.int64),
        hit_rank=column(hits, 1, np.int64),
        hit_grade=column(hits, 2, np.float64),
        judged_query=column(judged, 0, np.int64),
        judged_grade=column(judged, 1, np.float64),
        max_grade=float(max_grade),
        subtopics=None
        if subtopics is None
        else Subtopics(
            column(entries, 0, np.int64),
            column(entries, 1, np.int64),
            column(entries, 2, np.int64),
            column(entries, 3, np.float64),
            column(entries, 4, np.int64),
        ),
    )
    return judged_run, queries


# --- the twins -----------------------------------------------------------------------------------

Twin = Callable[..., float]
TWINS: dict[str, Twin] = {}


def twin(name: str) -> Callable[[Twin], Twin]:
    def remember(function: Twin) -> Twin:
        TWINS[name] = function
        return function

    return remember


def relevant(q: Query, rel: float, k: int | None = None) -> list[bool]:
    return [grade is not None and grade >= rel for grade in q.ranking][:k]


def total(q: Query, rel: float) -> int:
    return sum(grade >= rel for grade in q.judged)


def over(above: float, below: float) -> float:
    return above / below if below > 0 else 0.0


def gain_of(grade: float | None, gain: Any, rel: float) -> float:
    if grade is None or grade < 0:
        return 0.0
    if gain == "binary":
        return float(grade >= rel)
    if gain == "exp":
        return float(2.0**grade - 1)
    return float(grade if gain == "linear" else dict(gain).get(grade, grade))


def gains(q: Query, gain: Any, rel: float) -> list[float]:
    return [gain_of(grade, gain, rel) for grade in q.ranking]


def best(q: Query, gain: Any, rel: float) -> list[float]:
    return sorted((g for g in (gain_of(x, gain, rel) for x in q.judged) if g > 0), reverse=True)


def dcg(values: Sequence[float], k: int | None = None) -> float:
    return sum(value / math.log2(at + 2) for at, value in enumerate(values[:k]))


def precisions(q: Query, rel: float, k: int | None = None) -> list[float]:
    flags = relevant(q, rel, k)
    return [sum(flags[: at + 1]) / (at + 1) for at in range(len(flags)) if flags[at]]


@twin("P")
def precision(q: Query, k: int, rel: float, norm: str = "k") -> float:
    return over(sum(relevant(q, rel, k)), k if norm == "k" else min(k, len(q.ranking)))


@twin("R")
def recall(q: Query, k: int, rel: float, mean: str = "") -> float:
    return over(sum(relevant(q, rel, k)), total(q, rel))


@twin("R_cap")
def capped(q: Query, k: int, rel: float) -> float:
    return over(sum(relevant(q, rel, k)), min(total(q, rel), k))


@twin("F")
def f_measure(q: Query, k: int, rel: float, beta: float) -> float:
    p, r = precision(q, k, rel), recall(q, k, rel)
    return over((1 + beta**2) * p * r, beta**2 * p + r)


@twin("Success")
def success(q: Query, k: int | None, rel: float) -> float:
    return float(any(relevant(q, rel, k)))


@twin("SuccessAll")
def success_all(q: Query, k: int | None, rel: float) -> float:
    return float(0 < total(q, rel) == sum(relevant(q, rel, k)))


@twin("RR")
def reciprocal(q: Query, k: int | None, rel: float) -> float:
    return next((1 / (at + 1) for at, hit in enumerate(relevant(q, rel, k)) if hit), 0.0)


@twin("AP")
def average(q: Query, k: int | None, rel: float, norm: str) -> float:
    found = precisions(q, rel, k)
    below = {"rel": total(q, rel), "retrieved": len(found)}
    below["min"] = below["rel"] if k is None else min(below["rel"], k)
    return over(sum(found), below[norm])


@twin("AP_R")
def average_at_r(q: Query, k: None, rel: float) -> float:
    return average(q, total(q, rel), rel, "rel")


@twin("GMAP")
def geometric(q: Query, k: int | None, rel: float) -> float:
    return average(q, k, rel, "rel")


@twin("Rprec")
def r_precision(q: Query, k: None, rel: float, mult: float) -> float:
    cut = int(mult * total(q, rel) + 0.9)
    return over(sum(relevant(q, rel, cut)), cut)


@twin("IPrec")
def interpolated(q: Query, k: None, recall: float, rel: float, rule: int) -> float:
    target = int(recall * total(q, rel) + (0.9 if rule == 9 else 0.5))
    return max(precisions(q, rel)[max(target - 1, 0) :], default=0.0)


@twin("11pt")
def eleven(q: Query, k: None, points: Sequence[float], rel: float, rule: int) -> float:
    return sum(interpolated(q, None, point, rel, rule) for point in points) / len(points)


@twin("Accuracy")
def accuracy(q: Query, k: None, rel: float, depth: int | None) -> float:
    flags = relevant(q, rel, depth)
    pairs = [(a, b) for a in range(len(flags)) for b in range(len(flags)) if flags[a] > flags[b]]
    if not any(flags):
        return 0.0
    return sum(a < b for a, b in pairs) / len(pairs) if pairs else 1.0


@twin("FallOut")
def fall_out(q: Query, k: int | None, rel: float, collection: int | None) -> float:
    if collection is not None:
        top = relevant(q, rel, k)
        return min(over(len(top) - sum(top), collection - total(q, rel)), 1.0)
    judged = sum(grade is not None and 0 <= grade < rel for grade in q.ranking[:k])
    return over(judged, sum(0 <= grade < rel for grade in q.judged))


def worth(grades: Sequence[float | None], gain: Any, rel: float, least: Any) -> list[float]:
    high = [None if grade is None or grade < (least or 0) else grade for grade in grades]
    return [gain_of(grade, gain, rel) for grade in high]


@twin("CG")
def cumulative(q: Query, k: int | None, gain: Any, rel: float, least: float | None) -> float:
    return sum(worth(q.ranking[:k], gain, rel, least))


@twin("DCG")
def discounted(q: Query, k: int | None, gain: Any, rel: float, least: float | None) -> float:
    return dcg(worth(q.ranking, gain, rel, least), k)


@twin("IDCG")
def ideal_discounted(q: Query, k: int | None, gain: Any, rel: float) -> float:
    return dcg(best(q, gain, rel), k)


@twin("nDCG")
def normalised(q: Query, k: int | None, gain: Any, rel: float, least: float | None) -> float:
    top = sorted(worth(q.judged, gain, rel, least), reverse=True)
    return over(discounted(q, k, gain, rel, least), dcg(top, k))


@twin("Q")
def q_measure(q: Query, k: int | None, gain: Any, rel: float, beta: float) -> float:
    mine, top = gains(q, gain, rel), best(q, gain, rel)
    value = 0.0
    for i in range(1, len(mine[:k]) + 1):
        if mine[i - 1] > 0:
            count = sum(g > 0 for g in mine[:i])
            value += (count + beta * sum(mine[:i])) / (i + beta * sum(top[:i]))
    return over(value, len(top) if k is None else min(len(top), k))


def err(grades: Sequence[float | None], k: int | None, highest: float) -> float:
    value, reached = 0.0, 1.0
    for at, grade in enumerate(grades[:k]):
        stop = (2 ** min(max(grade or 0.0, 0.0), highest) - 1) / 2**highest
        value += reached * stop / (at + 1)
        reached *= 1 - stop
    return value


@twin("ERR")
def expected_reciprocal(q: Query, k: int | None, max_rel: float | None) -> float:
    return err(q.ranking, k, max(q.max_grade, 0) if max_rel is None else max_rel)


@twin("nERR")
def normalised_reciprocal(q: Query, k: int | None, max_rel: float | None) -> float:
    highest = max(q.max_grade, 0) if max_rel is None else max_rel
    return over(err(q.ranking, k, highest), err(q.judged, k, highest))


def scaled(q: Query, min_rel: float, max_rel: float | None) -> list[float]:
    top = q.max_grade if max_rel is None else max_rel
    if top <= min_rel:
        return [0.0] * len(q.ranking)
    return [
        0.0 if grade is None else (min(max(grade, min_rel), top) - min_rel) / (top - min_rel)
        for grade in q.ranking
    ]


@twin("SDCG")
def scaled_discounted(q: Query, k: int, min_rel: float, max_rel: float | None) -> float:
    return dcg(scaled(q, min_rel, max_rel), k) / dcg([1.0] * k)


@twin("RBP")
def rank_biased(q: Query, k: int | None, p: float, gain: Any, scale: str, rel: float) -> float:
    top = 1.0
    if gain != "binary":
        levels = [q.max_grade, *(dict(gain) if not isinstance(gain, str) else [])]
        if scale == "query":
            levels = q.judged
        top = max((gain_of(level, gain, rel) for level in levels), default=0.0)
    mine = gains(q, gain, rel)[:k]
    return (1 - p) * sum(over(g, top) * p**at for at, g in enumerate(mine))


@twin("RBG")
def rank_biased_gain(q: Query, k: int | None, p: float, gain: Any, least: float | None) -> float:
    mine = worth(q.ranking[:k], gain, 1.0, least)
    return (1 - p) * sum(g * p**at for at, g in enumerate(mine))


@twin("RBP_residual")
def residual(q: Query, k: None, p: float, tail: str) -> float:
    unknown = [at for at, grade in enumerate(q.ranking) if grade is None or grade < 0]
    if tail == "unjudged" and not unknown:
        return 0.0
    return p ** len(q.ranking) + (1 - p) * sum(p**at for at in unknown)


def cwl(mine: Sequence[float], go_on: Callable[[int, float], float], depth: int = 1000) -> float:
    """Expected gain by document for a user who goes on from rank i with some chance."""
    reached, weights, values, got = 1.0, 0.0, 0.0, 0.0
    for i in range(1, depth + 1):
        gain = mine[i - 1] if i <= len(mine) else 0.0
        weights += reached
        values += reached * gain
        got += gain
        reached *= go_on(i, got)
    return values / weights


@twin("INST")
def inst(q: Query, k: None, T: float, min_rel: float, max_rel: float | None) -> float:  # noqa: N803
    def go_on(i: int, got: float) -> float:
        left = T - got
        return ((i + T + left - 1) / (i + T + left)) ** 2

    return cwl(scaled(q, min_rel, max_rel), go_on)


@twin("INSQ")
def insq(q: Query, k: None, T: float, min_rel: float, max_rel: float | None) -> float:  # noqa: N803
    return cwl(scaled(q, min_rel, max_rel), lambda i, _: ((i + 2 * T - 1) / (i + 2 * T)) ** 2)


@twin("BPM")
def bpm(q: Query, k: int, T: float, min_rel: float, max_rel: float | None) -> float:  # noqa: N803
    mine = scaled(q, min_rel, max_rel)
    return cwl(mine, lambda i, got: float(got < T - 1e-12 and i < k), depth=k)


@twin("Compat")
def compat(q: Query, k: None, p: float, normalize: bool) -> float:
    """Documents are numbered: those retrieved by rank, the other judged ones after them."""
    left = list(q.judged)
    for grade in q.ranking:
        if grade is not None:
            left.remove(grade)
    grades = [grade or 0.0 for grade in q.ranking] + left
    ideal = sorted((at for at, g in enumerate(grades) if g > 0), key=lambda at: -grades[at])
    depth = max(len(q.ranking), len(ideal))

    def overlap(a: Sequence[int], b: Sequence[int]) -> float:
        return sum(p ** (d - 1) * len({*a[:d]} & {*b[:d]}) / d for d in range(1, depth + 1))

    mine = overlap(range(len(q.ranking)), ideal)
    if normalize:
        return over(mine, overlap(ideal, ideal))
    return over(mine, sum(p ** (d - 1) for d in range(1, depth + 1)))


@twin("Bpref")
def bpref(q: Query, k: None, rel: float, pooled: bool = False) -> float:
    bad, value = 0, 0.0
    lowest = -math.inf if pooled else 0
    size, others = total(q, rel), sum(lowest <= grade < rel for grade in q.judged)
    for grade in q.ranking:
        if grade is not None and grade >= rel:
            value += 1 - min(bad, size) / min(others, size) if bad else 1
        elif grade is not None and grade >= lowest:
            bad += 1
    return over(value, size)


@twin("GMBpref")
def geometric_bpref(q: Query, k: None, rel: float) -> float:
    return bpref(q, k, rel)


@twin("infAP")
def inferred(q: Query, k: None, rel: float, eps: float = 1e-5) -> float:
    value = 0.0
    for i, grade in enumerate(q.ranking, start=1):
        if grade is not None and grade >= rel:
            above = [other for other in q.ranking[: i - 1] if other is not None]
            r, n = sum(x >= rel for x in above), sum(0 <= x < rel for x in above)
            share = (len(above) / (i - 1)) * (r + eps) / (r + n + 2 * eps) if i > 1 else 0.0
            value += 1 / i + (i - 1) / i * share
    return over(value, total(q, rel))


@twin("Judged")
def judged(q: Query, k: int | None, pooled: bool) -> float:
    top = q.ranking[:k]
    return over(sum(grade is not None and (pooled or grade >= 0) for grade in top), len(top))


@twin("Unjudged")
def unjudged(q: Query, k: int | None) -> float:
    holes = sum(grade is None or grade < 0 for grade in q.ranking[:k])
    return over(holes, len(q.ranking) if k is None else k)


@twin("SetP")
def set_precision(q: Query, k: None, rel: float, relative: bool) -> float:
    size = len(q.ranking)
    return over(sum(relevant(q, rel)), min(size, total(q, rel)) if relative else size)


@twin("SetR")
def set_recall(q: Query, k: None, rel: float) -> float:
    return over(sum(relevant(q, rel)), total(q, rel))


@twin("SetF")
def set_f(q: Query, k: None, rel: float, beta: float) -> float:
    p, r = set_precision(q, None, rel, False), set_recall(q, None, rel)
    return over((1 + beta**2) * p * r, beta**2 * p + r)


@twin("SetAP")
def set_average(q: Query, k: None, rel: float) -> float:
    return set_precision(q, None, rel, False) * set_recall(q, None, rel)


@twin("NumQ")
def queries(q: Query, k: None) -> float:
    return 1.0


@twin("NumRet")
def retrieved(q: Query, k: None) -> float:
    return float(len(q.ranking))


@twin("NumRel")
def known(q: Query, k: None, rel: float) -> float:
    return float(total(q, rel))


@twin("NumRelRet")
def found(q: Query, k: int | None, rel: float) -> float:
    return float(sum(relevant(q, rel, k)))


@twin("NumNonrelJudgedRet")
def judged_nonrelevant(q: Query, k: None, rel: float) -> float:
    return float(sum(grade is not None and 0 <= grade < rel for grade in q.ranking))


@twin("Utility")
def utility(q: Query, k: None, weights: Any, rel: float, collection: int | None) -> float:
    a = sum(relevant(q, rel))
    b, c = len(q.ranking) - a, total(q, rel) - a
    return float(np.dot(weights, [a, b, c, (collection or 0) - a - b - c]))


@twin("binG")
def binary_g(q: Query, k: None, rel: float) -> float:
    flags = relevant(q, rel)
    worth = [1 / math.log2(2 + flags[:at].count(False)) for at, hit in enumerate(flags) if hit]
    return over(sum(worth), total(q, rel))


@twin("G")
def normalised_g(q: Query, k: None, gain: Any, rel: float) -> float:
    mine, top = gains(q, gain, rel), best(q, gain, rel)
    value = 0.0
    for i in range(1, len(mine) + 1):
        cost = sum(max(g, 1) for g in top[:i]) + max(i - len(top), 0)
        value += mine[i - 1] / math.log2(2 + cost - sum(mine[:i])) if mine[i - 1] else 0
    return over(value, sum(top))


@twin("nDCG_rel")
def gain_at_relevant(q: Query, k: None, gain: Any, rel: float) -> float:
    mine, top = gains(q, gain, rel), best(q, gain, rel)
    ranks = [at + 1 for at, g in enumerate(mine) if g > 0]
    shares = [dcg(mine, rank) / dcg(top, rank) for rank in ranks]
    rest = (len(top) - len(ranks)) * over(dcg(mine), dcg(top))
    return over(sum(shares) + rest, len(top))


@twin("RnDCG")
def gain_at_levels(q: Query, k: None, gain: Any, rel: float) -> float:
    mine, top = gains(q, gain, rel), best(q, gain, rel)
    steps = [i for i in range(1, len(top) + 1) if i == len(top) or top[i] != top[i - 1]]
    shares = [dcg(mine, i) / dcg(top, i) for i in steps]
    if top and len(mine) > len(top) + 1:
        shares.append(dcg(mine) / dcg(top))
    return over(sum(shares), len(shares))


@twin("YAAP")
def log_odds(q: Query, k: None, rel: float) -> float:
    s = sum(precisions(q, rel))
    return math.log((1 + s) / (1 + total(q, rel) - s))


# --- diversity -----------------------------------------------------------------------------------


def novelty(docs: Sequence[str], q: Query, alpha: float) -> list[float]:
    """Gain of each document of a list, by the subtopics it serves."""
    seen: dict[str, int] = {}
    values = []
    for doc in docs:
        values.append(sum((1 - alpha) ** seen.get(t, 0) for t in sorted(q.served.get(doc, ()))))
        for topic in q.served.get(doc, ()):
            seen[topic] = seen.get(topic, 0) + 1
    return values


def greedy(q: Query, alpha: float) -> list[str]:
    left, chosen = sorted(q.served, key=str.encode), list[str]()
    while left:
        worth = {doc: novelty([*chosen, doc], q, alpha)[-1] for doc in left}
        chosen.append(max(left, key=lambda doc: (worth[doc], doc.encode())))
        left.remove(chosen[-1])
    return chosen


def count(q: Query) -> int:
    return len({topic for topics in q.served.values() for topic in topics})


def inverse(values: Sequence[float], k: int) -> float:
    return sum(value / (at + 1) for at, value in enumerate(values[:k]))


@twin("alpha_DCG")
def alpha_dcg(q: Query, k: int, alpha: float, rel: float) -> float:
    perfect = count(q) * dcg([(1 - alpha) ** at for at in range(k)])
    return over(dcg(novelty(q.docs, q, alpha), k), perfect)


@twin("alpha_nDCG")
def alpha_ndcg(q: Query, k: int, alpha: float, rel: float) -> float:
    return over(dcg(novelty(q.docs, q, alpha), k), dcg(novelty(greedy(q, alpha), q, alpha), k))


@twin("ERR_IA")
def err_ia(q: Query, k: int, alpha: float, rel: float) -> float:
    perfect = count(q) * inverse([(1 - alpha) ** at for at in range(k)], k)
    return over(inverse(novelty(q.docs, q, alpha), k), perfect)


@twin("nERR_IA")
def nerr_ia(q: Query, k: int, alpha: float, rel: float) -> float:
    ideal = novelty(greedy(q, alpha), q, alpha)
    return over(inverse(novelty(q.docs, q, alpha), k), inverse(ideal, k))


@twin("P_IA")
def p_ia(q: Query, k: int, rel: float) -> float:
    return over(sum(len(q.served.get(doc, ())) for doc in q.docs[:k]), k * count(q))


@twin("AP_IA")
def ap_ia(q: Query, k: None, rel: float) -> float:
    values = []
    for topic in {topic for topics in q.served.values() for topic in topics}:
        flags = [topic in q.served.get(doc, ()) for doc in q.docs]
        size = sum(topic in topics for topics in q.served.values())
        found = [sum(flags[: at + 1]) / (at + 1) for at, hit in enumerate(flags) if hit]
        values.append(sum(found) / size)
    return over(sum(values), len(values))


def nrbp_of(docs: Sequence[str], q: Query, alpha: float, beta: float) -> float:
    value = sum(gain * beta**at for at, gain in enumerate(novelty(docs, q, alpha)))
    return over((1 - (1 - alpha) * beta) * value, count(q))


@twin("NRBP")
def nrbp(q: Query, k: None, alpha: float, beta: float, rel: float) -> float:
    return nrbp_of(q.docs, q, alpha, beta)


@twin("nNRBP")
def nnrbp(q: Query, k: None, alpha: float, beta: float, rel: float) -> float:
    return over(nrbp_of(q.docs, q, alpha, beta), nrbp_of(greedy(q, alpha), q, alpha, beta))


@twin("StRecall")
def subtopic_recall(q: Query, k: int, rel: float) -> float:
    covered = {topic for doc in q.docs[:k] for topic in q.served.get(doc, ())}
    return over(len(covered), count(q))
