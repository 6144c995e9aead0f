"""Golden sets: are the questions and the documents they expect fit to measure with?"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankscope.benchmark.case_checks import check_fields, check_form, check_terms
from rankscope.benchmark.case_schema import STRATA, size_of
from rankscope.collection.qrels import Qrels
from rankscope.collection.queries import Queries, read_queries
from rankscope.document.views import Shown
from rankscope.errors import InputError, InvalidDataError, counted, shown
from rankscope.files import read_bytes, suffix_of
from rankscope.findings import PLACES_SHOWN, Finding, NotApplicable, Place, declare, worst_first
from rankscope.part import Part, left_out
from rankscope.runs.checks import gold_outside_corpus
from rankscope.runs.validation import Reference, passes_over_ids
from rankscope.statistics.power import detectable_difference
from rankscope.tables.columns import NO_COLUMNS, Columns
from rankscope.tables.jsontext import read_json, read_json_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.files import PathLike
    from rankscope.ontology.terms import Ontology

TYPICAL_DEVIATION = 0.3
"""How much differences between two systems vary from question to question, about: nDCG@10 and RR
of real runs have 0.2 to 0.4."""

MOST_GROUPS = 40
"""No more values of a field are listed."""

ASKED_TWICE = declare(
    "RS221",
    "asked-twice",
    "warning",
    unit="question",
    advice="keep one of them with all its documents, as the set counts the same question twice",
    meaning="""Two questions of a golden set have the same words, whatever their case and
    spacing, and are not known to be in different languages.""",
)

NO_TEXT = declare(
    "RS222",
    "question-without-text",
    "error",
    unit="question",
    advice="write what is asked, or take the question out of the set",
    meaning="""A question of a golden set has no text, so it cannot be asked.""",
)

SAME_DOCUMENT = declare(
    "RS223",
    "one-document-expected-everywhere",
    "warning",
    unit="document",
    advice="ask about other documents too: a system that always returns this one looks good",
    meaning="""One document is expected by at least half of the questions of a golden set, and by
    ten or more.""",
)

UNREADABLE = declare(
    "RS220",
    "unreadable-case",
    "error",
    unit="case",
    advice="correct these cases; the others are checked without them",
    meaning="""A case of a golden set cannot be read: it has no question, no field with the
    documents it expects, or is no object.""",
)


class CaseGroup(Part):
    """The cases that share a value of a field."""

    field: str
    """The field: language, difficulty, category or hpo_domain."""
    value: str
    """Its value."""
    cases: int
    """How many cases have it."""
    visible: float | None
    """About the smallest difference between two systems that so many cases show with 80 %
    probability; null below 2 cases."""


class CasesValidation(Part, Shown):
    """What the checks say of one golden set."""

    file: str
    """The file."""
    ok: bool
    """Whether there is no error; warnings and notes may remain."""
    questions: int
    """How many questions it has."""
    expected: int
    """How many relevant documents they expect together."""
    ontology: str | None = left_out()
    """The ontology that expected ids were looked up in, with its version."""
    size: str = ""
    """What a set of so many questions is called: tiny, small, standard or comprehensive."""
    groups: tuple[CaseGroup, ...] = left_out(())
    """The strata of cases: by language, difficulty, category and domain."""
    visible: float | None
    """About the smallest difference between two systems that so many questions show with 80 %
    probability, if it varies as usual; null below 2 questions, and where they are in several
    languages, each of which is in ``groups``."""
    findings: tuple[Finding, ...]
    """What was found, worst first."""
    not_applicable: tuple[NotApplicable, ...] = ()
    """What could not be checked, and why."""


def validate_cases(
    path: PathLike,
    *,
    corpus: Any = None,
    ontology: Ontology | None = None,
    columns: Columns = NO_COLUMNS,
) -> CasesValidation:
    """Check a golden set: questions with the documents they expect, in any format.

    With a ``corpus``, expected documents that it lacks are named; with an ``ontology``, expected
    ids are looked up there. A file that cannot be read as such a set is an `InputError`.
    """
    source = os.fspath(path)
    if source == "-":
        raise InputError("a golden set is read twice; give the name of a file")
    broken: list[Finding] = []
    try:
        reference = Reference.read(qrels=path, columns=columns)
        queries = read_queries(path, query=columns.query)
    except InvalidDataError as error:
        return _refused(source, error.findings)
    except InputError:
        broken, cases = _sorted_out(path)
        if not broken:
            raise
        if not cases:
            return _refused(source, broken)
        try:
            reference, queries = Reference.read(qrels=cases), Queries(cases)
        except InputError as error:
            both = UNREADABLE.finding(_problem(error), places=(Place(source),))
            return _refused(source, [*broken, both])
    findings = [*broken, *reference.findings, *_of_questions(queries, source)]
    qrels = reference.qrels
    if qrels is None:
        return _refused(source, findings)
    findings += _of_gold(qrels, source)
    findings += check_fields(queries, source)
    unable: list[NotApplicable] = []
    if ontology is not None:
        findings += check_terms(qrels, ontology, source)
    else:
        findings += check_form(qrels, source)
    if corpus is not None:
        findings += _outside(qrels, passes_over_ids(corpus)(), source)
    elif ontology is None:
        reason = "no corpus was given"
        missing = gold_outside_corpus
        unable = [NotApplicable(name=missing.name, reason=reason, code=missing.code)]
    count = len(qrels.query_ids)
    return CasesValidation(
        file=source,
        ok=all(finding.severity != "error" for finding in findings),
        questions=len(queries),
        expected=sum(grade > 0 for grades in _grades(qrels) for grade in grades.values()),
        ontology=None if ontology is None else f"{ontology.source} {ontology.version}".strip(),
        size=size_of(count),
        groups=tuple(_groups(queries)),
        visible=None if _languages(queries) > 1 else _visible(count),
        findings=tuple(worst_first(findings)),
        not_applicable=tuple(unable),
    )


def _sorted_out(path: PathLike) -> tuple[list[Finding], list[Any]]:
    """Read each case by itself: return what is wrong with some, by kind, and the others."""
    source = os.fspath(path)
    placed: Iterable[tuple[int, Any]] = ()
    if suffix_of(path) == ".json":
        data = read_json(read_bytes(path), source=source)
        held = [data] if isinstance(data, list) else list(data.values())
        lists = [value for value in held if isinstance(value, list)]
        placed = enumerate(lists[0], start=1) if len(lists) == 1 else ()
    elif suffix_of(path) in (".jsonl", ".ndjson"):
        placed = read_json_lines(read_bytes(path).splitlines(), source=source)
    problems: dict[str, list[int]] = {}
    cases = []
    for number, case in placed:
        try:
            Qrels([case])
            Queries([case])
        except InputError as error:
            problems.setdefault(_problem(error), []).append(number)
        else:
            cases.append(case)
    is_by_line = suffix_of(path) != ".json"
    findings = [
        UNREADABLE.finding(
            problem,
            count=len(numbers),
            places=tuple(
                Place(source, number) if is_by_line else Place(f"{source}, item {number}")
                for number in numbers[:PLACES_SHOWN]
            ),
        )
        for problem, numbers in problems.items()
    ]
    return findings, cases


def _problem(error: InputError) -> str:
    """Return what is wrong, without where in the part of the file that was read by itself."""
    return re.sub(r"^(qrels(, record \d+)?: )?((item|row) \d+: )?", "", str(error))


def _visible(count: int) -> float | None:
    return detectable_difference(n=count, sd=TYPICAL_DEVIATION) if count > 1 else None


def _languages(queries: Queries) -> int:
    """Count the languages of cases, which are not averaged."""
    return len({str(fields.get("language")) for fields in queries.metadata.values()})


def _groups(queries: Queries) -> Iterator[CaseGroup]:
    """Yield the strata of cases, each field's largest first."""
    metadata = queries.metadata.values()
    for field in STRATA:
        values = [str(fields[field]) for fields in metadata if fields.get(field) is not None]
        counts = sorted(Counter(values).items(), key=lambda pair: -pair[1])
        for value, count in counts[:MOST_GROUPS]:
            yield CaseGroup(field=field, value=value, cases=count, visible=_visible(count))


def _refused(source: str, findings: Iterable[Finding]) -> CasesValidation:
    return CasesValidation(
        file=source,
        ok=False,
        questions=0,
        expected=0,
        visible=None,
        findings=tuple(worst_first(findings)),
    )


def _grades(qrels: Qrels) -> Iterator[dict[str, float]]:
    return (dict(qrels[query_id]) for query_id in qrels.query_ids)


def _of_questions(queries: Queries, source: str) -> Iterator[Finding]:
    empty: list[str] = []
    twice: list[str] = []
    asked: set[tuple[str, str]] = set()
    for query_id in queries:
        words = " ".join(unicodedata.normalize("NFKC", queries[query_id]).casefold().split())
        question = words, str(queries.metadata[query_id].get("language"))
        if not words:
            empty.append(query_id)
        elif question in asked:
            twice.append(query_id)
        else:
            asked.add(question)
    if empty:
        yield NO_TEXT.finding(
            f"{counted(len(empty), 'question')} without text",
            count=len(empty),
            places=_places(source, empty),
        )
    if twice:
        words = " ".join(queries[twice[0]].split())
        yield ASKED_TWICE.finding(
            f"{counted(len(twice), 'question')} with the words of an earlier one, such as "
            f"{shown(words)}",
            count=len(twice),
            places=_places(source, twice),
        )


def _of_gold(qrels: Qrels, source: str) -> Iterator[Finding]:
    counts: dict[str, int] = {}
    for grades in _grades(qrels):
        for doc_id, grade in grades.items():
            counts[doc_id] = counts.get(doc_id, 0) + (grade > 0)
    if not counts:
        return
    doc_id, most = max(counts.items(), key=lambda pair: pair[1])
    count = len(qrels.query_ids)
    if most >= 10 and 2 * most >= count:
        yield SAME_DOCUMENT.finding(
            f"{shown(doc_id)} is expected by {most:,} of {counted(count, 'question')}",
            places=(Place(source, doc_id=doc_id),),
        )


def _outside(qrels: Qrels, corpus_ids: Iterable[str], source: str) -> Iterator[Finding]:
    expected = {
        doc_id: query_id
        for query_id in qrels.query_ids
        for doc_id, grade in qrels[query_id].items()
        if grade > 0
    }
    for doc_id in corpus_ids:
        expected.pop(doc_id, None)
    if expected:
        first = next(iter(expected))
        yield gold_outside_corpus.finding(
            f"{counted(len(expected), 'expected document')} not in the corpus, such as "
            f"{shown(first)}",
            count=len(expected),
            places=tuple(
                Place(source, query_id=query_id, doc_id=doc_id)
                for doc_id, query_id in list(expected.items())[:PLACES_SHOWN]
            ),
        )


def _places(source: str, query_ids: list[str]) -> tuple[Place, ...]:
    return tuple(Place(source, query_id=query_id) for query_id in query_ids[:PLACES_SHOWN])
