"""Cases: are questions and the documents or terms they expect fit to measure with?"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankscope.benchmark.case_schema import ENUMERATIONS, HPO_ID, STRATA, size_of
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
    declare,
    worst_first,
)
from rankscope.part import Part, left_out
from rankscope.runs.checks import gold_outside_corpus
from rankscope.runs.validation import Reference, passes_over_ids
from rankscope.statistics.power import detectable_difference
from rankscope.tables.columns import NO_COLUMNS, Columns, role_of
from rankscope.tables.jsontext import read_json, read_json_lines
from rankscope.tables.records import read_records

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.ontology.terms import Ontology

TYPICAL_DEVIATION = 0.3
"""How much differences between two systems vary from question to question, about: nDCG@10 and RR
of real runs have 0.2 to 0.4."""

MOST_GROUPS = 40
"""No more values of a field are listed."""

UNREADABLE = declare(
    "RS220",
    "unreadable-case",
    "error",
    unit="case",
    advice="correct these cases; the others are checked without them",
    meaning="""A case of a golden set cannot be read: it has no question, no field with the
    documents it expects, or is no object.""",
)

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

MALFORMED_ID = declare(
    "RS224",
    "malformed-term-id",
    "error",
    unit="expected id",
    advice="write ids as the ontology does, with its prefix and all leading zeros",
    meaning="""An expected id is not written as ids of the ontology are: HP:1250 for HP:0001250.""",
)

UNKNOWN_TERM = declare(
    "RS225",
    "unknown-term",
    "error",
    unit="expected id",
    advice="correct the ids, or give the release of the ontology that they are from",
    meaning="""An expected id is not in the ontology, so no system that searches it can find it.""",
)

OBSOLETE_TERM = declare(
    "RS226",
    "obsolete-term",
    "error",
    unit="expected id",
    advice="write the current ids",
    meaning="""An expected id is that of an obsolete term, which systems no longer return; the
    ontology may name what replaces it.""",
)

ALTERNATIVE_ID = declare(
    "RS227",
    "alternative-term-id",
    "warning",
    unit="expected id",
    advice="write the term's own id, as exact matches compare ids as they are written",
    meaning="""An expected id is another id of a current term, left from when terms were merged.""",
)

UNKNOWN_WORD = declare(
    "RS228",
    "unknown-word-in-case",
    "error",
    unit="case",
    advice="use one of the words of the schema (rankscope cases schema), so that strata are what "
    "they say",
    meaning="""A case has a difficulty or category that the schema does not have.""",
)

DOUBTFUL_LANGUAGE = declare(
    "RS229",
    "doubtful-language",
    "warning",
    unit="case",
    advice="name the language by its code, such as de, in the file's metadata or in the case",
    meaning="""Some cases of a set have a language and others have none, or a language is not a code
    or name that is known; languages are reported apart.""",
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
    queries, qrels = Queries({}), None
    try:
        reference = Reference.read(qrels=path, columns=columns)
        qrels, findings = reference.qrels, list(reference.findings)
        queries = read_queries(path, query=columns.query)
    except InvalidDataError as error:
        findings = list(error.findings)
    except InputError:  # list all that cannot be read, and look at the others
        findings, cases = _read_one_by_one(path)
        if not findings:
            raise
        qrels, queries = Qrels(cases), Queries(cases)
    expected = [
        (query_id, doc_id)
        for query_id in (() if qrels is None else qrels.query_ids)
        for doc_id, grade in (() if qrels is None else qrels[query_id].items())
        if grade > 0
    ]
    findings += _about_questions(queries, source)
    findings += _about_fields(queries, source)
    if ontology is None:
        ill_formed = [
            (query_id, term_id)
            for query_id, term_id in expected
            if term_id.upper().startswith("HP:") and not re.fullmatch(HPO_ID, term_id)
        ]
        problem = "not written as HP: and seven digits"
        findings += _finding(MALFORMED_ID, "expected id", problem, ill_formed, source)
    else:
        findings += _about_terms(expected, ontology, source)
    if corpus is not None:
        missing = {doc_id: query_id for query_id, doc_id in expected}
        for doc_id in passes_over_ids(corpus)():
            missing.pop(doc_id, None)
        rows = [(query_id, doc_id) for doc_id, query_id in missing.items()]
        problem = "not in the corpus"
        findings += _finding(gold_outside_corpus, "expected document", problem, rows, source)
    unable: tuple[NotApplicable, ...] = ()
    if corpus is None and ontology is None:
        check, reason = gold_outside_corpus, "no corpus was given"
        unable = (NotApplicable(name=check.name, reason=reason, code=check.code),)
    count = 0 if qrels is None else len(qrels.query_ids)
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


def _finding(
    code: Code, noun: str, problem: str, rows: Sequence[tuple[str, str]], source: str
) -> Iterator[Finding]:
    """Yield a finding about queries, each with what is wrong of it; none without rows."""
    if rows:
        sentence = f"{counted(len(rows), noun)} {problem}, such as {shown(rows[0][1])}"
        is_about_documents = noun.startswith("expected")
        places = tuple(
            Place(source, None, *(row if is_about_documents else row[:1]))
            for row in rows[:PLACES_SHOWN]
        )
        yield code.finding(sentence, count=len(rows), places=places)


def _about_questions(queries: Queries, source: str) -> Iterator[Finding]:
    """Yield questions without words, and those with the words of an earlier one."""
    empty, twice, asked = [], [], set()
    for query_id, text in queries.items():
        words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
        question = words, str(queries.metadata[query_id].get("language"))
        if not words:
            empty.append((query_id, query_id))
        elif question in asked:
            twice.append((query_id, " ".join(text.split())))
        asked.add(question)
    yield from _finding(NO_TEXT, "question", "without text", empty, source)
    yield from _finding(ASKED_TWICE, "question", "with the words of an earlier one", twice, source)


def _about_fields(queries: Queries, source: str) -> Iterator[Finding]:
    """Yield words that the schema does not have, and languages that are not known."""
    fields = queries.metadata
    for field, words in ENUMERATIONS.items():
        given = {query_id: fields[query_id].get(field) for query_id in queries}
        wrong = [(name, str(word)) for name, word in given.items() if word not in (None, *words)]
        problem = f"whose {field} is none of {', '.join(words)}"
        yield from _finding(UNKNOWN_WORD, "case", problem, wrong, source)
    spoken = {query_id: fields[query_id].get("language") for query_id in queries}
    doubtful = [
        (name, str(language))
        for name, language in spoken.items()
        if not re.fullmatch(r"[a-z]{2,3}", str(language or ""))
    ]
    if any(spoken.values()):
        problem = "without the code of a language"
        yield from _finding(DOUBTFUL_LANGUAGE, "case", problem, doubtful, source)


def _about_terms(
    expected: Sequence[tuple[str, str]], ontology: Ontology, source: str
) -> Iterator[Finding]:
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
        if rows[code]:
            places = tuple(Place(source, None, *row) for row in list(rows[code])[:PLACES_SHOWN])
            yield code.finding(sentence, count=len(rows[code]), places=places)


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
