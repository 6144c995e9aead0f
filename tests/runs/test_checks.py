"""Each check: one file that has the problem, and one that comes near and has it not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankscope import findings
from rankscope.collection.corpus import Corpus
from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.collection.qrels_checks import QRELS_CHECKS
from rankscope.collection.queries import Queries
from rankscope.errors import InputError, InvalidDataError
from rankscope.findings import Check, Checks, Finding, Place
from rankscope.runs.checks import RUN_CHECKS
from rankscope.runs.checks_against import AGAINST_CHECKS
from rankscope.runs.mismatch import guess_mismatch
from rankscope.runs.table import Run, read_run
from rankscope.runs.validation import Lengths, validate_run

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "checks.md"

CHECKS: list[Check[Any]] = [*RUN_CHECKS, *AGAINST_CHECKS, *QRELS_CHECKS]

RUN = """\
q1 Q0 d1 1 2.5 tag
q1 Q0 d2 2 1.5 tag
q2 Q0 d3 1 0.5 tag
q2 Q0 d4 2 0.25 tag
"""
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n"


@dataclass(frozen=True)
class Case:
    """Files with a problem, what the finding must say, and files without the problem.

    A place is (line, query, document). ``at`` names the file the places are in. ``.jsonl`` and the
    like in front of a content is the suffix of its file.
    """

    code: str
    has: dict[str, str]
    lacks: dict[str, str]
    count: int
    places: list[tuple[int | None, str | None, str | None]]
    message: str
    at: str = "run"
    depth: int = 2
    source: str = ""
    """What the places are called, where not by their file."""


CASES = [
    Case(
        "RS101",
        has={"run": "# nothing but a comment\n\n"},
        lacks={"run": "q1 Q0 d1 1 2.5 tag\n"},
        count=1,
        places=[(None, None, None)],
        message="the run is empty",
    ),
    Case(
        "RS102",
        has={"run": "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5\n# c\nq1 Q0 d 3 3 1 tag\nq1 Q0 d4 4 0 t\n"},
        lacks={"run": "q1\tQ0  d1 1 2.5 tag\r\n\n  # c\nq1 Q0 d2 2 1.5 tag"},
        count=2,
        places=[(2, None, None), (4, None, None)],
        message="expected 6 columns, found 5 in 'q1 Q0 d2 2 1.5'",
    ),
    Case(
        "RS103",
        has={"run": ".csv query_id,doc_id,score\nq1,d1,2\n,d2,1\nq2,,1\n"},
        lacks={"run": ".csv query_id,doc_id,score\nq1,d1,2\n\nq1,d2,1\n"},
        count=2,
        places=[(3, "", "d2"), (4, "q2", "")],
        message="an id is missing",
    ),
    Case(
        "RS104",
        has={"run": "q1 Q0 d1 1 high tag\nq1 Q0 d2 2 1,5 tag\nq1 Q0 d3 3 1.5 tag\n"},
        lacks={"run": "q1 Q0 d1 1 +1e5 tag\nq1 Q0 d2 2 .5 tag\nq1 Q0 d3 3 -7. tag\n"},
        count=2,
        places=[(1, "q1", "d1"), (2, "q1", "d2")],
        message="the score is 'high', which is not a number",
    ),
    Case(
        "RS105",
        has={"run": "q1 Q0 d1 1 inf tag\nq1 Q0 d2 2 nan tag\nq1 Q0 d3 3 1 t\nq1 Q0 d4 4 1e999 t\n"},
        lacks={"run": "q1 Q0 d1 1 1e308 tag\nq1 Q0 d2 2 5e-324 tag\n"},
        count=3,
        places=[(1, "q1", "d1"), (2, "q1", "d2"), (4, "q1", "d4")],
        message="the score is inf",
    ),
    Case(
        "RS106",
        has={"run": "q1 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t\nq1 Q0 d1 2 2 t\nq1 Q0 d2 3 1 t\n"},
        lacks={"run": "q1 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t\nq1 Q0 D1 2 2 t\nq1 Q0 01 3 1 t\n"},
        count=1,
        places=[(3, "q1", "d1")],
        message="the document appears more than once for this query",
    ),
    Case(
        "RS111",
        has={"run": "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d3 1 1 t\nq2 Q0 d1 1 1 t\n"},
        lacks={"run": "q1 Q0 d1 1 3 t\nq2 Q0 d2 1 2 t\nq1 Q0 d3 2 1 t\n"},
        count=1,
        places=[(3, "q1", "d3")],
        message="a rank appears more than once for this query",
    ),
    Case(
        "RS112",
        has={"run": "q1 Q0 d1 1 3 t\nq1 Q0 d2 3 2 t\nq2 Q0 d1 2 1 t\nq3 Q0 d1 1 1 t\n"},
        lacks={"run": "q1 Q0 d1 2 3 t\nq1 Q0 d2 1 4 t\nq2 Q0 d1 0 1 t\nq2 Q0 d2 1 0 t\n"},
        count=2,
        places=[(None, "q1", None), (None, "q2", None)],
        message="the ranks of a query do not run from 1",
    ),
    Case(
        "RS113",
        has={"run": "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 4 t\nq2 Q0 d1 1 1 t\n"},
        lacks={"run": "q1 Q0 d2 2 3 t\nq1 Q0 d1 1 4 t\nq1 Q0 d3 3 3 t\nq2 Q0 d1 1 9 t\n"},
        count=1,
        places=[(None, "q1", None)],
        message="a document with a worse rank has a better score",
    ),
    Case(
        "RS114",
        has={"run": ".csv query_id,doc_id,score\nq1,d1,1\nq1,d2,2\nq2,d1,3\nq2,d2,1\nq2,d3,2\n"},
        lacks={"run": ".csv query_id,doc_id,score\nq1,d1,1\nq1,d2,2\nq2,d1,3\nq2,d2,1\n"},
        count=2,
        places=[(None, "q1", None), (None, "q2", None)],
        message="scores and the order of the lists disagree in 2 of 2 queries",
    ),
    Case(
        "RS121",
        has={"run": "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 1 t\nq1 Q0 d3 3 1 t\nq2 Q0 d1 1 1 t\n"},
        lacks={"run": "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 1 t\nq2 Q0 d1 1 1 t\nq2 Q0 d2 2 -1 t\n"},
        count=1,
        places=[(None, "q1", None)],
        message="2 documents share a score with another of the same query; ties straddle "
        "rank 2 in 1 query",
    ),
    Case(
        "RS123",
        has={"run": "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 3 t\nq2 Q0 d1 1 1 t\n"},
        lacks={"run": "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 3 t\nq2 Q0 d1 1 2 t\nq2 Q0 d2 2 1 t\n"},
        count=1,
        places=[(None, "q1", None)],
        message="all documents of a query have the same score (1 query), so their ids decide",
    ),
    Case(
        "RS122",
        has={"run": "q1 Q0 d1 1 1.00000001 t\nq1 Q0 d2 2 1.0 t\nq1 Q0 d3 3 0.5 t\n"},
        lacks={"run": "q1 Q0 d1 1 1.0 t\nq1 Q0 d2 2 1.0 t\nq2 Q0 d3 1 1.00000001 t\n"},
        count=1,
        places=[(None, "q1", None)],
        message="1 pair of neighbouring scores differ only in double precision",
    ),
    Case(
        "RS131",
        has={"run": RUN + "q2 Q0 d5 3 0.125 tag\n"},
        lacks={"run": RUN},
        count=1,
        places=[(None, "q2", None)],
        message="more than 2 documents for a query, up to 3",
    ),
    Case(
        "RS132",
        has={"run": RUN + RUN.replace("q", "p") + "q3 Q0 d5 1 0.125 tag\n"},
        lacks={"run": RUN},
        count=1,
        places=[(None, "q3", None)],
        message="fewer than 2 documents for a query (1 to 2, quartiles 2, 2, 2)",
    ),
    Case(
        "RS141",
        has={"run": "a Q0 b 1 2 t\na Q0 a 2 1 t\nb Q0 a 1 2 t\n"},
        lacks={"run": "a Q0 b 1 2 t\nb Q0 a 1 2 t\na Q0 A 2 1 t\n"},
        count=1,
        places=[(2, "a", "a")],
        message="a document has the id of the query it was found for",
    ),
    Case(
        "RS151",
        has={"run": "q1 Q0 d1 1 2 007\nq1 Q0 d2 2 1 7\nq2 Q0 d1 1 2 007\n"},
        lacks={"run": "q1 Q0 d1 1 2 007\nq1 Q0 d2 2 1 007\n"},
        count=2,
        places=[(2, "q1", "d2")],
        message="2 run tags in one file ('007', '7')",
    ),
    Case(
        "RS161",
        has={"run": RUN, "qrels": QRELS + "q3 0 d1 1\nq4 0 d1 1\n"},
        lacks={"run": RUN, "qrels": QRELS},
        count=2,
        places=[(None, "q3", None), (None, "q4", None)],
        message="2 of 4 judged queries are missing from the run",
    ),
    Case(
        "RS162",
        has={"run": RUN, "queries": '{"_id": "q1", "text": "a"}\n{"_id": "q9", "text": "b"}\n'},
        lacks={"run": RUN, "queries": '{"_id": "q1", "text": "a"}\n'},
        count=1,
        places=[(None, "q9", None)],
        message="1 of 2 queries are missing from the run",
    ),
    Case(
        "RS163",
        has={"run": RUN, "queries": '{"_id": "q1", "text": "a"}\n'},
        lacks={"run": RUN, "queries": "".join(f'{{"_id": "q{n}", "text": ""}}\n' for n in "123")},
        count=1,
        places=[(None, "q2", None)],
        message="the run has queries that are not in the list",
    ),
    Case(
        "RS164",
        has={"run": RUN, "qrels": "q1 0 d1 1\n"},
        lacks={"run": RUN, "qrels": QRELS},
        count=1,
        places=[(None, "q2", None)],
        message="the run has queries without judgments",
    ),
    Case(
        "RS165",
        has={
            "run": RUN + "q2 Q0 d1 3 0.1 tag\nq3 Q0 d4 1 1 tag\n",
            "corpus": "".join(f'{{"_id": "d{n}", "text": ""}}\n' for n in "123"),
        },
        lacks={
            "run": RUN,
            "corpus": "".join(f'{{"_id": "d{n}", "text": ""}}\n' for n in "12345"),
        },
        count=1,
        places=[(4, "q2", "d4"), (6, "q3", "d4")],
        message="2 lines name documents that are not in the corpus",
    ),
    Case(
        "RS166",
        has={
            "run": RUN,
            "qrels": "q1 0 d1 1\nq1 0 gone 1\nq2 0 gone 2\nq2 0 away 0\n",
            "corpus": "".join(f'{{"_id": "d{n}", "text": ""}}\n' for n in "1234"),
        },
        lacks={
            "run": RUN,
            "qrels": "q1 0 d1 1\nq2 0 away 0\n",
            "corpus": "".join(f'{{"_id": "d{n}", "text": ""}}\n' for n in "1234"),
        },
        count=1,
        places=[(None, "q1", "gone"), (None, "q2", "gone")],
        message="1 relevant document of the qrels is not in the corpus ('gone'): 2 of 3 relevant",
        source="qrels",
    ),
    Case(
        "RS171",
        has={"run": RUN, "qrels": "1 0 d1 1\n"},
        lacks={"run": RUN, "qrels": "q2 0 x 1\n"},
        count=1,
        places=[(None, None, None)],
        message="no query id in common with the qrels: the run has 'q1', 'q2', the qrels have '1'; "
        "the run's begin with 'q'",
    ),
    Case(
        "RS172",
        has={"run": RUN, "qrels": "q1 0 D1 1\n"},
        lacks={"run": RUN, "qrels": "q1 0 D1 1\nq2 0 d4 1\n"},
        count=1,
        places=[(None, None, None)],
        message="no document id in common with the qrels: the run has 'd1', 'd2', the qrels have "
        "'D1'; they differ in upper and lower case, as 'd1' and 'D1'",
    ),
    Case(
        "RS201",
        has={"run": RUN, "qrels": "\n"},
        lacks={"run": RUN, "qrels": QRELS},
        count=1,
        places=[(None, None, None)],
        message="the qrels are empty",
        at="qrels",
    ),
    Case(
        "RS202",
        has={"run": RUN, "qrels": QRELS + "q2 0 d4\nq2 0 d 5 1\n"},
        lacks={"run": RUN, "qrels": "# c\n\nq1\t0  d1 1\r\n"},
        count=2,
        places=[(4, None, None), (5, None, None)],
        message="expected 4 columns, found 3 in 'q2 0 d4'",
        at="qrels",
    ),
    Case(
        "RS203",
        has={"run": RUN, "qrels": '.jsonl {"qid": "q1", "doc": "d1", "rel": 1}\n{"qid": "q1"}\n'},
        lacks={"run": RUN, "qrels": '.jsonl {"qid": "q1", "doc": "d1", "rel": 1}\n\n'},
        count=1,
        places=[(2, "q1", None)],
        message="an id is missing",
        at="qrels",
    ),
    Case(
        "RS204",
        has={"run": RUN, "qrels": "q1 0 d1 E\nq1 0 d2 1\nq1 0 d3 S\n"},
        lacks={"run": RUN, "qrels": "q1 0 d1 +1\nq1 0 d2 1e0\n"},
        count=2,
        places=[(1, "q1", "d1"), (3, "q1", "d3")],
        message="the grade is 'E', which is not a number",
        at="qrels",
    ),
    Case(
        "RS205",
        has={"run": RUN, "qrels": "q1 0 d1 1\nq1 0 d2 NaN\nq1 0 d3 -inf\n"},
        lacks={"run": RUN, "qrels": "q1 0 d1 1\nq1 0 d2 1e12\n"},
        count=2,
        places=[(2, "q1", "d2"), (3, "q1", "d3")],
        message="the grade is nan",
        at="qrels",
    ),
    Case(
        "RS209",
        has={"run": RUN, "qrels": "q1 0 d1 1\nq1 0 d2 1e300\n"},
        lacks={"run": RUN, "qrels": "q1 0 d1 1\nq1 0 d2 9007199254740992\n"},
        count=1,
        places=[(2, "q1", "d2")],
        message="the grade is 1e+300",
        at="qrels",
    ),
    Case(
        "RS206",
        has={"run": RUN, "qrels": "q1 0 d1 1\nq2 0 d1 1\nq1 0 d1 1\nq2 0 d1 2\n"},
        lacks={"run": RUN, "qrels": "q1 1 d1 1\nq1 2 d1 1\nq2 1 d1 1\n"},
        count=1,
        places=[(3, "q1", "d1")],
        message="the pair was judged before, with the same grade",
        at="qrels",
    ),
    Case(
        "RS207",
        has={"run": RUN, "qrels": "q1 0 d1 1\nq2 0 d1 1\nq1 0 d1 1\nq2 0 d1 2\n"},
        lacks={"run": RUN, "qrels": "q1 1 d1 1\nq1 2 d1 2\nq2 0 d1 0\n"},
        count=1,
        places=[(4, "q2", "d1")],
        message="the pair was judged before, with another grade",
        at="qrels",
    ),
    Case(
        "RS214",
        has={"run": RUN, "qrels": "q1 0 d1 0\nq1 0 d2 -1\n"},
        lacks={"run": RUN, "qrels": "q1 0 d1 0\nq1 0 d2 0.1\n"},
        count=1,
        places=[(None, None, None)],
        message="no document is relevant: no grade in the qrels is above 0",
        at="qrels",
    ),
    Case(
        "RS211",
        has={"run": RUN, "qrels": "q1 0 d1 1\nq1 0 d2 -1\n"},
        lacks={"run": RUN, "qrels": "q1 0 d1 1\nq1 0 d2 -0\n"},
        count=1,
        places=[(2, "q1", "d2")],
        message="grades below zero",
        at="qrels",
    ),
    Case(
        "RS212",
        has={"run": RUN, "qrels": "q1 0 d1 1\nq2 0 d2 0\nq2 0 d1 0.5\n"},
        lacks={"run": RUN, "qrels": "q1 0 d1 1\nq2 0 d2 0\nq2 0 d1 1\n"},
        count=1,
        places=[(None, "q2", None)],
        message="no document of grade 1 or above for a query",
        at="qrels",
    ),
    Case(
        "RS213",
        has={"run": RUN, "qrels": "q1 0 d1 1\nq1 0 d2 0.5\n"},
        lacks={"run": RUN, "qrels": "q1 0 d1 1\nq1 0 d2 2.0\n"},
        count=1,
        places=[(2, "q1", "d2")],
        message="grades that are not whole numbers",
        at="qrels",
    ),
]

BY_CODE = {check.code: check for check in CHECKS}


def put(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    """Write the files and return their paths."""
    paths: dict[str, Any] = {}
    for name, content in files.items():
        suffix, text = re.match(r"(\.\w+ )?(.*)", content, re.DOTALL).groups()  # type: ignore[union-attr]
        default = ".jsonl" if name in ("queries", "corpus") else ".txt"
        path = folder / f"{name}{(suffix or default).strip()}"
        path.write_text(text, "utf-8", newline="")
        paths[name] = str(path)
    return paths


def find(code: str, folder: Path, files: dict[str, str], depth: int = 2) -> Finding | None:
    findings = validate_run(**put(folder, files), depth=depth).findings
    return next((finding for finding in findings if finding.code == code), None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_found(case: Case, tmp_path: Path) -> None:
    found = find(case.code, tmp_path, case.has, case.depth)
    assert found is not None
    source = put(tmp_path, case.has)[case.at]
    assert found.message.startswith(case.message)
    assert found.count == case.count
    assert list(found.places) == [Place(case.source or source, *place) for place in case.places]
    check = BY_CODE[case.code]
    assert (found.name, found.severity, found.advice) == (check.name, check.severity, check.advice)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_not_found(case: Case, tmp_path: Path) -> None:
    assert find(case.code, tmp_path, case.lacks, case.depth) is None


OF_A_TABLE = [
    case
    for case in CASES
    if BY_CODE[case.code] not in set(AGAINST_CHECKS) and case.code != "RS214"  # refused by scoring
]


@pytest.mark.parametrize("case", OF_A_TABLE, ids=lambda case: case.code)
def test_reading_refuses_errors_and_only_errors(case: Case, tmp_path: Path) -> None:
    """What `runs validate` calls an error of the table itself, the reader refuses in its words."""
    check = BY_CODE[case.code]
    path = put(tmp_path, case.has)[case.at]
    read = read_run if case.at == "run" else read_qrels
    if check.severity != "error":
        assert len(read(path))
        return
    with pytest.raises(InvalidDataError) as refused:
        read(path)
    assert refused.value.findings[0].severity == "error"
    assert case.code in {finding.code for finding in refused.value.findings}
    assert str(refused.value).startswith(refused.value.findings[0].sentence)


def test_every_check_has_a_case() -> None:
    assert [case.code for case in CASES] == [check.code for check in CHECKS]


def test_every_check_is_documented() -> None:
    row = re.compile(r"^\| (RS[12]\d+) \| `([\w-]+)` \| (\w+) \| (.+) \| (.+) \|$", re.MULTILINE)
    rows = row.findall(DOCS.read_text("utf-8"))
    about_tables = [code for code in findings.codes() if code.code[:3] in ("RS1", "RS2")]
    assert {check.code for check in CHECKS} <= {code.code for code in about_tables}
    assert [row[:3] for row in rows] == [
        (code.code, code.name, code.severity) for code in about_tables
    ]
    assert all(len(meaning) > 10 and len(what_to_do) > 10 for *_, meaning, what_to_do in rows)


def test_a_code_is_declared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "_CODES", {})
    checks: Checks[object] = Checks()
    checks.add("RS1", "note", advice="")(lambda _: None)
    with pytest.raises(ValueError, match="RS1 is declared twice"):
        checks.add("RS1", "note", advice="")(lambda _: None)


# --- the whole


def test_a_good_run_has_no_findings(tmp_path: Path) -> None:
    result = validate_run(**put(tmp_path, {"run": RUN, "qrels": QRELS}), depth=2)
    assert result.ok
    assert result.findings == ()
    assert (result.rows, result.queries) == (4, 2)
    assert result.documents_per_query == Lengths(min=2, median=2, max=2)


def test_checks_that_cannot_look_say_so(tmp_path: Path) -> None:
    files = put(tmp_path, {"run": RUN, "qrels": QRELS})
    alone = validate_run(files["run"], depth=2)
    assert alone.ok
    assert {one.code: one.reason for one in alone.not_applicable} == {
        **dict.fromkeys(("RS161", "RS164", "RS171", "RS172"), "no qrels were given"),
        **dict.fromkeys(("RS162", "RS163"), "no queries were given"),
        **dict.fromkeys(("RS165", "RS166"), "no corpus was given"),
    }
    whole = validate_run(**files, queries=["q1", "q2"], corpus=["d1", "d2", "d3"], depth=2)
    assert whole.not_applicable == ()
    broken = validate_run(files["run"], qrels={"q1": {"d1": float("nan")}}, depth=2)
    reasons = {one.code: one.reason for one in broken.not_applicable}
    assert reasons["RS161"] == reasons["RS172"] == "the qrels have errors"
    assert alone.to_dict()["not_applicable"][0] == {
        "name": "judged-queries-missing",
        "reason": "no qrels were given",
        "code": "RS161",
    }


def test_all_errors_come_in_one_pass(tmp_path: Path) -> None:
    run = (
        "q1 Q0 d1 1 2 t\nq1 Q0 d1 2 x t\nq1 Q0 d2 3 nan t\nq1 Q0\n\xe4 Q0 d 1 1 u\n"
        "q2 Q0 d1 2 1 t\nq2 Q0 d2 3 1 t\n"
    )
    result = validate_run(**put(tmp_path, {"run": run}))
    assert not result.ok
    codes = [finding.code for finding in result.findings]
    assert codes == ["RS102", "RS104", "RS105", "RS106", "RS112", "RS121", "RS132", "RS151"]


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.run"
    path.write_bytes(b"q1 Q0 d1 1 2 t\nq1 Q0 M\xfcnchen 2 1 t\n")
    (found,) = (f for f in validate_run(path).findings if f.severity == "error")
    assert (found.code, found.places) == ("RS102", (Place(str(path), 2),))
    assert found.message == "bytes that are not UTF-8"


def test_only_three_places_are_named(tmp_path: Path) -> None:
    run = "".join(f"q1 Q0 d{n // 2} {n} {20 - n} t\n" for n in range(20))
    found = find("RS106", tmp_path, {"run": run})
    assert found is not None
    assert found.count == 10
    assert [place.line for place in found.places] == [2, 4, 6]


def test_interleaved_queries_keep_their_lines(tmp_path: Path) -> None:
    run = "b Q0 d1 1 3 t\na Q0 d1 1 3 t\nb Q0 d2 2 2 t\na Q0 d1 2 2 t\nb Q0 d1 3 1 t\n"
    found = find("RS106", tmp_path, {"run": run})
    assert found is not None
    assert [(p.line, p.query_id, p.doc_id) for p in found.places] == [
        (4, "a", "d1"),
        (5, "b", "d1"),
    ]


def test_ties_straddle_where_ranks_meet() -> None:
    """Ranks 10 and 11 are tied in one query; in the other, 9 and 10 are."""
    tied_below = {f"d{n}": float(20 - min(n, 9)) for n in range(11)}
    tied_above = {f"d{n}": float(20 - n + (n == 9)) for n in range(11)}
    (found,) = (
        f for f in validate_run({"a": tied_below, "b": tied_above}).findings if f.code == "RS121"
    )
    assert found.evidence == {"documents": 4, "straddling": {"10": 1, "100": 0}}


def test_unsorted_ties_are_found() -> None:
    (found,) = (
        f for f in validate_run({"a": {"x": 1, "y": 2, "z": 1}}).findings if f.code == "RS121"
    )
    assert found.evidence["documents"] == 2


def test_depth_counts_queries_without_documents() -> None:
    found = {f.code: f for f in validate_run({"a": ["x", "y"], "b": []}, depth=2).findings}
    assert [place.query_id for place in found["RS132"].places] == ["b"]
    assert found["RS132"].evidence == {"min": 0, "quartiles": [0, 0, 2], "max": 2}


def test_an_empty_run_is_just_empty(tmp_path: Path) -> None:
    paths = put(tmp_path, {"run": "", "qrels": QRELS})
    assert [f.code for f in validate_run(**paths).findings] == ["RS101"]


def test_data_instead_of_files() -> None:
    run = Run({"q1": {"d1": 2.0, "d2": 1.0}}, name="mine")
    qrels = Qrels({"q1": {"d1": 1}})
    assert validate_run(run, qrels=qrels, depth=2).findings == ()
    for queries in (["q1"], {"q1": "text"}, Queries({"q1": "text"}), iter(["q1"])):
        assert validate_run(run, queries=queries, depth=2).findings == ()
    frame = pl.DataFrame({"doc_id": ["d1", "d2"], "text": ["", ""]})
    for corpus in ({"d1", "d2"}, {"d1": "", "d2": ""}, Corpus({"d1": "", "d2": ""}), frame):
        assert validate_run(run, corpus=corpus, depth=2).findings == ()
    (found,) = validate_run(run, corpus=["d1"], depth=2).findings
    assert found.places == (Place("mine, row 2", None, "q1", "d2"),)


def test_queries_that_are_no_text_are_refused() -> None:
    with pytest.raises(InputError):
        validate_run({"1": ["d"]}, queries=[1, 2])


def test_to_dict_is_plain_data(tmp_path: Path) -> None:
    import json

    result = validate_run(**put(tmp_path, {"run": RUN + "q1 Q0 d1 3 x tag\n"}))
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert data["ok"] is False
    assert data["findings"][0]["places"][0]["line"] == 5


# --- guesses


@pytest.mark.parametrize(
    ("mine", "theirs", "guess"),
    [
        (["007", "012"], ["7", "12"], "leading zeros"),
        (["q7", "q12"], ["q007", "q012"], "leading zeros"),
        (["doc7", "doc12"], ["id7", "id12"], "a prefix"),
        (["d12#3", "d12#4", "x7#1"], ["d12", "x7"], "a suffix, as that of a chunk (--doc-id-from)"),
        (["a_0", "b_1"], ["a", "b"], "a suffix, as that of a chunk (--doc-id-from)"),
        (["abc", "def"], ["ABC", "DEF"], "upper and lower case"),
        (["a ", "b"], ["a", "b "], "blanks around an id"),
        (["1.0", "2.0"], ["1", "2"], "a number written with a fraction"),
        (["x/a", "y/b"], ["a", "b"], "a folder or namespace before the id"),
        (["a.txt", "b.txt"], ["a", "b"], "a file ending"),
    ],
)
def test_guess(mine: list[str], theirs: list[str], guess: str) -> None:
    for one, other in ((mine, theirs), (theirs, mine)):
        assert guess_mismatch(one, other, ["x"], ["y"]).startswith(f"; they differ in {guess}, as ")


@pytest.mark.parametrize("prefix", ["doc:", "msmarco_passage_", "doc", "corpus/"])
def test_guess_the_prefix_itself(prefix: str) -> None:
    bare = ["10", "12", "7"]
    long = [prefix + id_ for id_ in bare]
    guess = f"begin with {prefix!r}"
    assert guess_mismatch(long, bare, ["x"], ["y"]) == f"; the run's {guess}"
    assert guess_mismatch(bare, long, ["x"], ["y"]) == f"; those of the qrels {guess}"


def test_guess_nothing() -> None:
    assert guess_mismatch(["abc"], ["xyz"], ["x"], ["y"]) == ""


def test_guess_swapped_columns(tmp_path: Path) -> None:
    swapped = "d1 Q0 q1 1 2 t\nd2 Q0 q1 2 1 t\nd3 Q0 q2 1 2 t\n"
    found = find("RS171", tmp_path, {"run": swapped, "qrels": QRELS})
    assert found is not None
    assert found.message.endswith("; query and document columns seem to be swapped")


def test_numbers_that_meet_by_chance_are_not_swapped_columns(tmp_path: Path) -> None:
    """Query 0301 found a document that happens to be called 301."""
    run = "0301 Q0 301 1 2 t\n0302 Q0 5 1 1 t\n"
    found = find("RS171", tmp_path, {"run": run, "qrels": "301 0 5 1\n302 0 0301 1\n"})
    assert found is not None
    assert found.message.partition("; ")[2].startswith("they differ in leading zeros, as ")


def test_blanks_around_ids_survive_reading(tmp_path: Path) -> None:
    files = {"run": ".csv query_id,doc_id,score\nq1 ,d1,2\n", "qrels": "q1 0 d1 1\n"}
    found = find("RS171", tmp_path, files)
    assert found is not None
    assert "'q1 '" in found.message
    assert found.message.partition("; ")[2].startswith("they differ in blanks around an id, as ")
