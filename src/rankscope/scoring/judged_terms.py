"""Documents as terms of an ontology: which terms are expected, which were retrieved at which rank.

`align` puts them into a `JudgedRun`, and measures of nearness look at them there. Terms are known
by their numbers in the ontology. Ids that it lacks are counted and said, never silently 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InvalidDataError, counted, shown
from rankscope.measures.term_lists import Terms
from rankscope.runs.order import best_first_rows, compared
from rankscope.runs.table import as_run
from rankscope.scoring.soundness import NAMED, Remark, few

if TYPE_CHECKING:
    from rankscope.measures.judged import IntArray
    from rankscope.ontology.terms import Ontology
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.rules import Profile


class ExpectedTerms:
    """The expected terms of judgments, made once for all runs.

    An id that the ontology lacks gets a number past its own.
    """

    def __init__(self, judgments: Judgments, ontology: Ontology) -> None:
        self.ontology = ontology
        self._unknown: dict[str, int] = {}
        self.number_of = cache(self._number_of)
        rows = [
            (query, doc_id, float(grade))
            for query, query_id in enumerate(judgments.query_ids)
            for doc_id, grade in judgments.by_query[query_id].items()
            if grade > 0
        ]
        self.ids = [doc_id for _, doc_id, _ in rows]
        self.query = np.array([query for query, _, _ in rows], np.int64)
        self.number = np.array(list(map(self.number_of, self.ids)), np.int64)
        self.grade = np.array([grade for _, _, grade in rows], np.float64)

    def _number_of(self, term_id: str) -> int:
        known, past = self.ontology.number(term_id), len(self.ontology) + len(self._unknown)
        return known if known >= 0 else self._unknown.setdefault(term_id, past)

    def id_of(self, number: int) -> str:
        """Return an id that has this number."""
        size = len(self.ontology)
        return self.ontology.ids[number] if number < size else [*self._unknown][number - size]


def terms_of(judgments: Judgments, run: Any, rules: Profile) -> Terms | None:
    """Return the terms of all judged queries; what was retrieved is looked at when it is needed."""
    expected = judgments.expected_terms
    if expected is None:
        return None
    return Terms(
        ontology=expected.ontology,
        query=expected.query,
        number=expected.number,
        grade=expected.grade,
        load=lambda: _retrieved(judgments.query_ids, run, expected, rules),
    )


def _retrieved(
    query_ids: tuple[str, ...], run: Any, expected: ExpectedTerms, rules: Profile
) -> IntArray:
    """Return the numbers of all retrieved terms, one query after the other, by rank."""
    table = as_run(run)
    position = {query_id: place for place, query_id in enumerate(table.query_ids)}
    known = [position[query_id] for query_id in query_ids if query_id in position]
    groups = np.array(sorted(known), np.int64)
    score = compared(table.scores.to_numpy(), rules.precision)
    _, offsets, best = best_first_rows(table.offsets, groups, score, table.doc_ids, ties=rules.ties)
    by_group = np.array(list(map(expected.number_of, table.doc_ids.gather(best))), np.int64)
    parts = np.split(by_group, offsets[1:-1]) if known else [by_group]
    return np.concatenate([parts[place] for place in np.argsort(np.argsort(known))] or parts)


# --- what is said --------------------------------------------------------------------------------


def counts_of(judgments: Judgments, terms: Terms, name: str) -> dict[str, Any]:
    """Return how many terms the ontology knows, for the accounting.

    Refuse an ontology that the judgments or a run have nothing to do with.
    """
    ontology, expected = terms.ontology, judgments.expected_terms
    assert expected is not None
    id_of, size = expected.id_of, len(ontology)
    for numbers, problem in (
        (expected.number, f"none of {counted(len(expected.ids), 'expected id')} is a term"),
        (terms.retrieved, f"run {shown(name)}: none of its ids is a term"),
    ):
        if len(numbers) and (numbers >= size).all():
            raise InvalidDataError(
                f"{problem} of {ontology.source}: one is {shown(id_of(int(numbers[0])))}, and the "
                f"ontology has ids such as {shown(ontology.ids[0])}"
            )
    outside = terms.retrieved[terms.retrieved >= size]
    return {
        "source": ontology.source,
        "version": ontology.version,
        "sha256": ontology.sha256,
        "relations": ontology.relations,
        "terms": size,
        "depth": ontology.depth(),
        "expected": len(expected.ids),
        "expected_unknown": int((expected.number >= size).sum()),
        "retrieved": len(terms.retrieved),
        "retrieved_unknown": len(outside),
        "unknown_ids": tuple(map(id_of, np.unique(outside)[:NAMED].tolist())),
    }


def about_terms(judgments: Judgments, counts: Mapping[str, Any]) -> Iterator[Remark]:
    """Yield what should be known of expected and retrieved ids."""
    ontology, expected = judgments.ontology, judgments.expected_terms
    assert ontology is not None
    assert expected is not None
    words: dict[str, dict[str, str]] = {"RS181": {}, "RS182": {}}
    queries: dict[str, str] = {}
    for query, term_id in zip(expected.query.tolist(), expected.ids, strict=True):
        status = ontology.status(term_id)
        queries.setdefault(term_id, judgments.query_ids[query])
        if status in ("unknown", "obsolete"):
            words["RS181"][term_id] = f"{term_id} ({status})"
        elif status == "replaced":
            words["RS182"][term_id] = f"{term_id} is now {ontology.replacement(term_id)}"
        elif status == "alternative":
            words["RS182"][term_id] = f"{term_id} is {ontology.alternatives[term_id]}"
    for code, which, effect in (
        ("RS181", "not in the ontology", "nothing is near to them but themselves"),
        ("RS182", "obsolete or alternative", "only nearness knows both ids of a term"),
    ):
        if ids := words[code]:
            count = sum(term_id in ids for term_id in expected.ids)
            message = (
                f"{count:,} of {counted(len(expected.ids), 'expected id')} are {which} "
                f"({few(shown(text)[1:-1] for text in ids.values())}): {effect}"
            )
            named = tuple(queries[term_id] for term_id in list(ids)[:NAMED])
            yield Remark(code, message, count, named)
    if missing := ontology.undefined:
        message = (
            f"terms of {ontology.source} are said to be below {len(missing):,} that it does not "
            f"define ({few(map(shown, missing))}): these relations are left out"
        )
        yield Remark("RS184", message, len(missing))
    if unknown := counts["retrieved_unknown"]:
        message = (
            f"{unknown:,} of {counts['retrieved']:,} retrieved ids are not in the ontology "
            f"({few(map(shown, counts['unknown_ids']))}): they are near to nothing"
        )
        yield Remark("RS183", message, unknown)
