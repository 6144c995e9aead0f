"""Contradictions: groups of queries in which systems differ the other way than over all queries.

Simpson's paradox. Where a user names a field, every contradiction is worth a remark; where all
fields are looked at unasked, only one that is no chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankscope.findings import Finding
from rankscope.statistics.arrays import row_means
from rankscope.statistics.sentences import p_text
from rankscope.statistics.strata import disagreement
from rankscope.statistics.tests import corrected, paired_tests

if TYPE_CHECKING:
    from rankscope.diagnosis.segment_fields import Grouping
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.matrix import Matrix
    from rankscope.statistics.settings import Settings


def pairs_with(matrix: Matrix, baseline: str | None) -> list[tuple[int, int]]:
    """Pair every other system with the baseline, if there is one."""
    if baseline is None:
        return []
    base = matrix.systems.index(baseline)
    return [(base, system) for system in range(len(matrix.systems)) if system != base]


def best_pair(matrix: Matrix) -> list[tuple[int, int]]:
    """Pair the second best system with the best, by the first measure; none if there is but one."""
    means = matrix.values[0].mean(axis=1)
    order = (means if matrix.scales[0].higher_is_better else -means).argsort(kind="stable")
    return [(int(order[-2]), int(order[-1]))] if len(order) > 1 else []


def proven_contradictions(
    matrix: Matrix,
    groupings: Sequence[Grouping],
    pairs: Sequence[tuple[int, int]],
    settings: Settings,
) -> list[Finding]:
    """Say where most groups of a field contradict the whole by the first measure, beyond chance.

    At least one of the groups must differ significantly against the whole: by the permutation test
    of pairs, with its p-value multiplied by the number of all groups of all fields and pairs.
    """
    family = len(pairs) * sum(len(grouping.members) for grouping in groupings)
    if not family:
        return []
    main = matrix.only_measures(1)
    changes = main.query_differences(pairs)  # [pairs, n]
    findings = []
    for row, (base, system) in enumerate(pairs):
        overall = float(row_means(changes[row : row + 1])[0])
        for grouping in groupings:
            rows = {label: changes[row, list(at)] for label, at in grouping.members.items()}
            means = {label: float(values.mean()) for label, values in rows.items()}
            finding = disagreement(overall, means)
            if finding is None:
                continue
            against = [rows[label] for label, mean in means.items() if mean * overall < 0]
            tests = [
                paired_tests(
                    values,
                    test=settings.test,
                    resamples=settings.resamples_for(family),
                    seed=settings.seed,
                )[0].p
                for values in against
            ]
            p = min(min(tests) * family, 1.0)
            if p <= settings.alpha:
                findings.append(
                    _named(
                        {main.scales[0].name: finding},
                        grouping.field,
                        main.systems[system],
                        main.systems[base],
                        note=f" ({p_text(p)} corrected)",
                    )
                )
    return findings


def contradictions(
    matrix: Matrix, members: Mapping[str, Sequence[int]], baseline: str, field: str, alpha: float
) -> list[Finding]:
    """Ask whether the groups contradict the whole; one finding for a system.

    A query that is in several groups counts once in each. The finding is about the signs of the
    differences, which turn by chance where nothing differs: it is a note only, unless the whole or
    a group against it differs by a t test.
    """
    columns = [column for places in members.values() for column in places]
    pairs = pairs_with(matrix, baseline)
    if not columns or not pairs or not matrix.scales:
        return []
    changes = matrix.only_queries(columns).differences(pairs)  # [m * pairs, columns]
    by_label = {
        label: matrix.only_queries(places).differences(pairs) for label, places in members.items()
    }
    means = {label: row_means(rows) for label, rows in by_label.items()}
    whole = row_means(changes)
    findings = []
    for place, (_, system) in enumerate(pairs):
        seen: dict[str, Finding] = {}
        for measure, scale in enumerate(matrix.scales):
            row = measure * len(pairs) + place
            differences = {label: float(values[row]) for label, values in means.items()}
            finding = disagreement(float(whole[row]), differences)
            if finding is not None:
                rows = {label: values[row] for label, values in by_label.items()}
                if _may_be_chance(changes[row], rows, alpha):
                    words = f"{finding.message}, which may be chance"
                    finding = finding.model_copy(update={"severity": "note", "message": words})
                seen[scale.name] = finding
        if seen:
            findings.append(_named(seen, field, matrix.systems[system], baseline))
    return findings


def _may_be_chance(whole: FloatArray, groups: Mapping[str, FloatArray], alpha: float) -> bool:
    """Tell whether neither the whole nor a group against it differs by a t test."""
    [overall] = paired_tests(whole, test="t")
    tests = [paired_tests(changes, test="t")[0].p for changes in groups.values()]
    direction = row_means(whole[None])[0]
    against = [
        p
        for p, changes in zip(corrected(tests, "holm"), groups.values(), strict=True)
        if row_means(changes[None])[0] * direction < 0
    ]
    return bool(min(overall.p, *against) > alpha)


def _named(
    seen: dict[str, Finding], field: str, system: str, baseline: str, note: str = ""
) -> Finding:
    """Put the findings of several measures into one, in the words of the first warning."""
    measure, first = min(seen.items(), key=lambda item: item[1].severity == "note")
    others = [name for name in seen if name != measure]
    also = f"; likewise {', '.join(others)}" if others else ""
    message = f"{system} against {baseline} by {field}, {measure}: {first.message}{note}{also}"
    evidence = {
        "field": field,
        "system": system,
        "baseline": baseline,
        "differences": {name: finding.evidence for name, finding in seen.items()},
    }
    return first.model_copy(update={"message": message, "evidence": evidence})
