"""Cases: are questions and the documents or terms they expect fit to measure with?"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankscope.benchmark.case_schema import ENUMERATIONS, HPO_ID, STRATA, size_of
from rankscope.benchmark.codes import (
    ALTERNATIVE_ID,
    ASKED_TWICE,
    DOUBTFUL_LANGUAGE,
    MALFORMED_ID,
    NO_TEXT,
    OBSOLETE_TERM,
    SAME_DOCUMENT,
    UNKNOWN_TERM,
    UNKNOWN_WORD,
    UNREADABLE,
)
from rankscope.collection.qrels import Qrels
from rankscope.collection.queries import QUERIES, Queries, read_queries
from rankscope.document.views import Shown
from rankscope.errors import FormatError, InputError, InvalidDataError, counted, shown
from rankscope.files import read_bytes, suffix_of
from rankscope.findings import (
    PLACES_SHOWN,
    Code,
    Finding,
    NotApplicable,
    Place,
    worst_first,
)
from rankscope.part import Part, left_out
from rankscope.runs.checks import gold_outside_corpus
from rankscope.runs.validation import Reference, passes_over_ids
from rankscope.statistics.power import detectable_difference
from rankscope.tables.columns import NO_COLUMNS, Columns, role_of
from rankscope.tables.jsontext import read_json, read_json_lines
from rankscope.tables.record_rows import read_records

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.ontology.terms import Ontology

TYPICAL_DEVIATION = 0.3
"""How much differences between two systems vary from question to question, about: nDCG@10 and RR
of real runs have 0.2 to 0.4."""

MOST_GROUPS = 40
"""No more values of a field are listed."""


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
    findings: list[Finding] = []
    try:
        reference = Reference.read(qrels=path, columns=columns)
        queries = read_queries(path, query=columns.query)
    except InvalidDataError as error:
        return _refused(source, error.findings)
    except InputError:
        findings, cases = _read_one_by_one(path)
        if not findings:
            raise
        if not cases:
            return _refused(source, findings)
        reference, queries = Reference.read(qrels=cases), Queries(cases)
    qrels = reference.qrels
    findings += reference.findings
    if qrels is None:
        return _refused(source, findings)
    expected = [
        (query_id, doc_id)
        for query_id in qrels.query_ids
        for doc_id, grade in qrels[query_id].items()
        if grade > 0
    ]
    for part in (
        _about_questions(queries, source),
        _about_fields(queries, source),
        _expected_everywhere(expected, len(qrels.query_ids), source),
        _malformed(expected, source) if ontology is None else _terms(expected, ontology, source),
        () if corpus is None else _outside(expected, passes_over_ids(corpus)(), source),
    ):
        findings += part
    unable: tuple[NotApplicable, ...] = ()
    if corpus is None and ontology is None:
        missing = gold_outside_corpus
        reason = "no corpus was given"
        unable = (NotApplicable(name=missing.name, reason=reason, code=missing.code),)
    count = len(qrels.query_ids)
    languages = {str(fields.get("language")) for fields in queries.metadata.values()}
    return CasesValidation(
        file=source,
        ok=all(finding.severity != "error" for finding in findings),
        questions=len(queries),
        expected=len(expected),
        ontology=None if ontology is None else f"{ontology.source} {ontology.version}".strip(),
        size=size_of(count),
        groups=tuple(_groups(queries)),
        visible=None if len(languages) > 1 else _visible(count),  # which are not averaged
        findings=tuple(worst_first(findings)),
        not_applicable=unable,
    )


def _refused(source: str, findings: Iterable[Finding]) -> CasesValidation:
    return CasesValidation(
        file=source,
        ok=False,
        questions=0,
        expected=0,
        visible=None,
        findings=tuple(worst_first(findings)),
    )


def _read_one_by_one(path: PathLike) -> tuple[list[Finding], list[Any]]:
    """Read each case by itself: return what is wrong with some, by kind, and the others."""
    source, unit = os.fspath(path), "item" if suffix_of(path) == ".json" else None
    problems: dict[str, list[Place]] = {}
    cases, known = [], set[str]()
    for number, case in _placed_cases(path, source):
        try:
            if isinstance(case, InputError):
                raise case
            read = Qrels([case]).query_ids
            Queries([case])
            for query_id in known.intersection(read):
                raise InputError(f"query {shown(query_id)} was given before; give it another id")
        except InputError as error:
            problem = re.sub(r"^(qrels(, record \d+)?: )?((item|row) \d+: )?", "", str(error))
            place = Place(f"{source}, {unit} {number}") if unit else Place(source, number)
            problems.setdefault(problem, []).append(place)
        else:
            cases.append(case)
            known.update(read)
    findings = [
        UNREADABLE.finding(problem, count=len(places), places=tuple(places[:PLACES_SHOWN]))
        for problem, places in problems.items()
    ]
    return findings, cases


def _placed_cases(path: PathLike, source: str) -> Iterator[tuple[int, Any]]:
    """Yield the cases of a file with their lines or numbers; what is no case as its error."""
    if suffix_of(path) == ".json":
        data = read_json(read_bytes(path), source=source)
        held = [data] if isinstance(data, list) else list(data.values())
        lists = [value for value in held if isinstance(value, list)]
        yield from enumerate(lists[0], start=1) if len(lists) == 1 else ()
    elif suffix_of(path) in (".jsonl", ".ndjson"):
        for number, line in enumerate(read_bytes(path).splitlines(), start=1):
            try:
                yield from ((number, case) for _, case in read_json_lines([line], source=source))
            except FormatError as error:
                yield number, InputError(error.problem)
    elif suffix_of(path) in (".csv", ".tsv"):
        records = list(read_records(path, QUERIES))
        blank: dict[str, object] = dict.fromkeys((n for each in records for n in each.fields), "")
        if any(role_of(name) == "relevant" for name in blank):
            yield from ((record.position, {**blank, **record.fields}) for record in records)


def _visible(count: int) -> float | None:
    return detectable_difference(n=count, sd=TYPICAL_DEVIATION) if count > 1 else None


def _groups(queries: Queries) -> Iterator[CaseGroup]:
    """Yield the strata of cases, each field's largest first."""
    metadata = queries.metadata.values()
    for field in STRATA:
        counts = Counter(str(each[field]) for each in metadata if each.get(field) is not None)
        for value, count in counts.most_common(MOST_GROUPS):
            yield CaseGroup(field=field, value=value, cases=count, visible=_visible(count))


def _found(
    code: Code, sentence: str, source: str, rows: Sequence[tuple[str, ...]]
) -> Iterator[Finding]:
    """Yield a finding about cases and, where rows go on, what they expect; none without rows."""
    if rows:
        places = tuple(Place(source, None, *row[:2]) for row in rows[:PLACES_SHOWN])
        yield code.finding(sentence, count=len(rows), places=places)


# --- questions -----------------------------------------------------------------------------------


def _about_questions(queries: Queries, source: str) -> Iterator[Finding]:
    """Yield questions without words, and those with the words of an earlier one."""
    empty, twice, asked = [], [], set()
    for query_id in queries:
        words = " ".join(unicodedata.normalize("NFKC", queries[query_id]).casefold().split())
        question = words, str(queries.metadata[query_id].get("language"))
        if not words:
            empty.append((query_id,))
        elif question in asked:
            twice.append((query_id,))
        asked.add(question)
    yield from _found(NO_TEXT, f"{counted(len(empty), 'question')} without text", source, empty)
    first = shown(" ".join(queries[twice[0][0]].split())) if twice else ""
    sentence = (
        f"{counted(len(twice), 'question')} with the words of an earlier one, such as {first}"
    )
    yield from _found(ASKED_TWICE, sentence, source, twice)


def _about_fields(queries: Queries, source: str) -> Iterator[Finding]:
    """Yield words that the schema does not have, and languages that are not known."""
    for field, words in ENUMERATIONS.items():
        given = {query_id: fields.get(field) for query_id, fields in queries.metadata.items()}
        wrong = [(name,) for name, word in given.items() if word not in (None, *words)]
        example = shown(given[wrong[0][0]]) if wrong else ""
        sentence = f"{counted(len(wrong), 'case')} with the {field} {example}; the schema has "
        yield from _found(UNKNOWN_WORD, sentence + ", ".join(words), source, wrong)
    spoken = {query_id: fields.get("language") for query_id, fields in queries.metadata.items()}
    silent = [(name,) for name, language in spoken.items() if language is None]
    if len(silent) < len(spoken):
        known = len(spoken) - len(silent)
        sentence = f"{counted(len(silent), 'case')} without a language, beside {known:,} with one"
        yield from _found(DOUBTFUL_LANGUAGE, sentence, source, silent)
    odd = [
        (name,)
        for name, language in spoken.items()
        if language is not None and not re.fullmatch(r"[a-z]{2,3}", str(language))
    ]
    example = shown(spoken[odd[0][0]]) if odd else ""
    sentence = (
        f"{counted(len(odd), 'case')} in the language {example}, which is neither a code nor "
    )
    yield from _found(DOUBTFUL_LANGUAGE, f"{sentence}a name that is known", source, odd)


# --- what is expected ----------------------------------------------------------------------------

_Expected = Sequence[tuple[str, str]]
"""Query ids, each with the id of a document or term it expects."""


def _expected_everywhere(expected: _Expected, questions: int, source: str) -> Iterator[Finding]:
    for doc_id, count in Counter(doc_id for _, doc_id in expected).most_common(1):
        if count >= 10 and 2 * count >= questions:
            yield SAME_DOCUMENT.finding(
                f"{shown(doc_id)} is expected by {count:,} of {counted(questions, 'question')}",
                places=(Place(source, doc_id=doc_id),),
            )


def _outside(expected: _Expected, corpus_ids: Iterable[str], source: str) -> Iterator[Finding]:
    missing = {doc_id: query_id for query_id, doc_id in expected}
    for doc_id in corpus_ids:
        missing.pop(doc_id, None)
    rows = [(query_id, doc_id) for doc_id, query_id in missing.items()]
    example = shown(rows[0][1]) if rows else ""
    sentence = f"{counted(len(rows), 'expected document')} not in the corpus, such as {example}"
    yield from _found(gold_outside_corpus, sentence, source, rows)


def _malformed(expected: _Expected, source: str) -> Iterator[Finding]:
    """Yield ids of HPO that are not written as such, where no ontology is there to look them up."""
    rows = [
        (query_id, term_id)
        for query_id, term_id in expected
        if term_id.upper().startswith("HP:") and not re.fullmatch(HPO_ID, term_id)
    ]
    example = shown(rows[0][1]) if rows else ""
    sentence = f"{counted(len(rows), 'expected id')} not written as HP: and seven digits, such as "
    yield from _found(MALFORMED_ID, sentence + example, source, rows)


def _terms(expected: _Expected, ontology: Ontology, source: str) -> Iterator[Finding]:
    """Yield what is wrong with expected ids, looked up in an ontology."""
    problems = {
        MALFORMED_ID: f"not written as ids of {ontology.source} are",
        UNKNOWN_TERM: f"not in {ontology.source}",
        OBSOLETE_TERM: "obsolete",
        ALTERNATIVE_ID: "not the term's own",
    }
    rows: dict[Code, dict[tuple[str, str], str]] = {code: {} for code in problems}
    for query_id, term_id in expected:
        wrong = _wrong_with(term_id, ontology)
        if wrong is not None:
            rows[wrong[0]][query_id, term_id] = f"{shown(term_id)}{wrong[1]}"
    for code, problem in problems.items():
        texts = list(dict.fromkeys(rows[code].values()))
        more = f"; {len(texts) - PLACES_SHOWN} more" if len(texts) > PLACES_SHOWN else ""
        verb = "is" if len(rows[code]) == 1 else "are"
        sentence = f"{counted(len(rows[code]), 'expected id')} {verb} {problem}: "
        sentence += f"{'; '.join(texts[:PLACES_SHOWN])}{more}"
        yield from _found(code, sentence, source, list(rows[code]))


def _wrong_with(term_id: str, ontology: Ontology) -> tuple[Code, str] | None:
    """Say what is wrong with an id, and what to write instead; None if nothing."""
    status = ontology.status(term_id)
    if status == "current":
        return None
    if status == "alternative":
        current = ontology.alternatives[term_id]
        return ALTERNATIVE_ID, f", which is {current} ({ontology[current].label})"
    if status in ("obsolete", "replaced"):
        known = [other for other in ontology.obsolete[term_id] if other in ontology]
        names = [f"{other} ({ontology[other].label})" for other in known[:3]]
        replaced = f"replaced by {' or '.join(names)}" if names else "with no replacement named"
        return OBSOLETE_TERM, f", {replaced}"
    prefix, _, digits = term_id.strip().replace("_", ":").partition(":")
    width = len(ontology.ids[0].rpartition(":")[2])
    meant = f"{prefix.upper()}:{digits.strip().zfill(width)}"
    if ontology.status(meant) == "current":
        return MALFORMED_ID, f" for {meant}"
    return UNKNOWN_TERM, ""
