"""Each check: one file that has the problem, and one that comes near and has it not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankscope.collection.corpus import Corpus
from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.collection.qrels_checks import QRELS_CHECKS
from rankscope.collection.queries import Queries
from rankscope.errors import InputError, InvalidDataError
from rankscope.findings import Code, Finding, Place
from rankscope.runs.checks import RUN_CHECKS
from rankscope.runs.mismatch import nothing_in_common
from rankscope.runs.table import Run, read_run
from rankscope.runs.validation import validate_run

CHECKS: list[Code] = [*RUN_CHECKS, *QRELS_CHECKS]

RUN = """\
q1 Q0 d1 1 2.5 tag
q1 Q0 d2 2 1.5 tag
q2 Q0 d3 1 0.5 tag
q2 Q0 d4 2 0.25 tag
"""
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n"


Where = str | tuple[int | None, str | None, str | None]


@dataclass(frozen=True)
class Case:
    """Files with a problem, where the finding must place it, and files without the problem.

    A text alone is the run, or the qrels where the check is one of theirs; ``.jsonl`` and the like
    in front of it is its suffix. A place is a query, or (line, query, document); without one, the
    file. ``source`` is what it is called where not by its path.
    """

    code: str
    has: str | dict[str, str]
    lacks: str | dict[str, str]
    places: Sequence[Where] = ((None, None, None),)
    count: int | None = None
    source: str = ""

    @property
    def at(self) -> str:
        return "qrels" if self.code.startswith("RS2") else "run"

    def files(self, content: str | dict[str, str]) -> dict[str, str]:
        return {"run": RUN, self.at: content} if isinstance(content, str) else content

    def found_at(self, path: str) -> list[Place]:
        source = self.source or path
        return [
            Place(source, None, place) if isinstance(place, str) else Place(source, *place)
            for place in self.places
        ]


def documents(numbers: str) -> str:
    return "".join(f'{{"_id": "d{number}", "text": ""}}\n' for number in numbers)


CASES = [
    Case("RS101", "# nothing but a comment\n\n", "q1 Q0 d1 1 2.5 tag\n"),
    Case(
        "RS102",
        "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5\n# c\nq1 Q0 d 3 3 1 tag\nq1 Q0 d4 4 0 t\n",
        "q1\tQ0  d1 1 2.5 tag\r\n\n  # c\nq1 Q0 d2 2 1.5 tag",
        [(2, None, None), (4, None, None)],
    ),
    Case(
        "RS103",
        ".csv query_id,doc_id,score\nq1,d1,2\n,d2,1\nq2,,1\n",
        ".csv query_id,doc_id,score\nq1,d1,2\n\nq1,d2,1\n",
        [(3, "", "d2"), (4, "q2", "")],
    ),
    Case(
        "RS104",
        "q1 Q0 d1 1 high tag\nq1 Q0 d2 2 1,5 tag\nq1 Q0 d3 3 1.5 tag\nq2 Q0 d3 3 inf t\n",
        "q1 Q0 d1 1 +1e5 tag\nq1 Q0 d2 2 .5 tag\nq1 Q0 d3 3 -7. tag\nq1 Q0 d4 4 5e-324 t\n",
        [(1, "q1", "d1"), (2, "q1", "d2"), (4, "q2", "d3")],
    ),
    Case(
        "RS106",
        "q1 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t\nq1 Q0 d1 2 2 t\nq1 Q0 d2 3 1 t\n",
        "q1 Q0 d1 1 3 t\nq2 Q0 d1 1 3 t\nq1 Q0 D1 2 2 t\nq1 Q0 01 3 1 t\n",
        [(3, "q1", "d1")],
    ),
    Case(
        "RS111",
        "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d3 1 1 t\nq2 Q0 d1 1 1 t\n",
        "q1 Q0 d1 1 3 t\nq2 Q0 d2 1 2 t\nq1 Q0 d3 2 1 t\n",
        [(3, "q1", "d3")],
    ),
    Case(
        "RS113",
        "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 4 t\nq2 Q0 d1 1 1 t\n",
        "q1 Q0 d2 2 3 t\nq1 Q0 d1 1 4 t\nq1 Q0 d3 3 3 t\nq2 Q0 d1 1 9 t\n",
        ["q1"],
    ),
    Case(
        "RS114",
        '.json {"q1": [["d1", 1], ["d2", 2]], "q2": [["d1", 3], ["d2", 1], ["d3", 2]]}',
        ".csv query_id,doc_id,score\nq1,d1,1\nq1,d2,2\nq2,d1,3\nq2,d2,1\nq2,d3,2\n",
        ["q1", "q2"],
    ),
    Case(
        "RS121",
        "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 1 t\nq1 Q0 d3 3 1 t\nq2 Q0 d1 1 1 t\n",
        "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 1 t\nq2 Q0 d1 1 1 t\nq2 Q0 d2 2 -1 t\n",
        ["q1"],
    ),
    Case(
        "RS123",
        "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 3 t\nq2 Q0 d1 1 1 t\n",
        "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 3 t\nq2 Q0 d1 1 2 t\nq2 Q0 d2 2 1 t\n",
        ["q1"],
    ),
    Case("RS131", RUN + "q2 Q0 d5 3 0.125 tag\n", RUN, ["q2"]),
    Case(
        "RS161",
        {"run": RUN, "qrels": QRELS + "q3 0 d1 1\nq4 0 d1 1\n"},
        {"run": RUN, "qrels": QRELS},
        ["q3", "q4"],
    ),
    Case(
        "RS162",
        {"run": RUN, "queries": '{"_id": "q1", "text": "a"}\n{"_id": "q9", "text": "b"}\n'},
        {"run": RUN, "queries": '{"_id": "q1", "text": "a"}\n'},
        ["q9"],
    ),
    Case(
        "RS163",
        {"run": RUN, "queries": '{"_id": "q1", "text": "a"}\n'},
        {"run": RUN, "queries": "".join(f'{{"_id": "q{n}", "text": ""}}\n' for n in "123")},
        ["q2"],
    ),
    Case(
        "RS165",
        {"run": RUN + "q2 Q0 d1 3 0.1 tag\nq3 Q0 d4 1 1 tag\n", "corpus": documents("123")},
        {"run": RUN, "corpus": documents("12345")},
        [(4, "q2", "d4"), (6, "q3", "d4")],
        count=1,
    ),
    Case(
        "RS166",
        {
            "run": RUN,
            "qrels": "q1 0 d1 1\nq1 0 gone 1\nq2 0 gone 2\nq2 0 away 0\n",
            "corpus": documents("1234"),
        },
        {"run": RUN, "qrels": "q1 0 d1 1\nq2 0 away 0\n", "corpus": documents("1234")},
        [(None, "q1", "gone"), (None, "q2", "gone")],
        count=1,
        source="qrels",
    ),
    Case("RS171", {"run": RUN, "qrels": "1 0 d1 1\n"}, {"run": RUN, "qrels": "q2 0 x 1\n"}),
    Case(
        "RS172",
        {"run": RUN, "qrels": "q1 0 D1 1\n"},
        {"run": RUN, "qrels": "q1 0 D1 1\nq2 0 d4 1\n"},
    ),
    Case("RS201", "\n", QRELS),
    Case(
        "RS202",
        QRELS + "q2 0 d4\nq2 0 d 5 1\n",
        "# c\n\nq1\t0  d1 1\r\n",
        [(4, None, None), (5, None, None)],
    ),
    Case(
        "RS203",
        '.jsonl {"qid": "q1", "doc": "d1", "rel": 1}\n{"qid": "q1"}\n',
        '.jsonl {"qid": "q1", "doc": "d1", "rel": 1}\n\n',
        [(2, "q1", None)],
    ),
    Case(
        "RS204",
        "q1 0 d1 E\nq1 0 d2 1\nq1 0 d3 S\n",
        "q1 0 d1 +1\nq1 0 d2 1e0\n",
        [(1, "q1", "d1"), (3, "q1", "d3")],
    ),
    Case(
        "RS205",
        "q1 0 d1 1\nq1 0 d2 NaN\nq1 0 d3 -inf\nq1 0 d4 1e300\n",
        "q1 0 d1 1e12\nq1 0 d2 9007199254740992\n",
        [(2, "q1", "d2"), (3, "q1", "d3"), (4, "q1", "d4")],
    ),
    Case(
        "RS206",
        "q1 0 d1 1\nq2 0 d1 1\nq1 0 d1 1\nq2 0 d1 2\n",
        "q1 1 d1 1\nq1 2 d1 1\nq2 1 d1 1\n",
        [(3, "q1", "d1"), (4, "q2", "d1")],
    ),
    Case("RS214", "q1 0 d1 0\nq1 0 d2 -1\n", "q1 0 d1 0\nq1 0 d2 0.1\n"),
    Case("RS211", "q1 0 d1 1\nq1 0 d2 -1\n", "q1 0 d1 1\nq1 0 d2 -0\n", [(2, "q1", "d2")]),
    Case(
        "RS212", "q1 0 d1 1\nq2 0 d2 0\nq2 0 d1 0.5\n", "q1 0 d1 1\nq2 0 d2 0\nq2 0 d1 1\n", ["q2"]
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


def find(code: str, folder: Path, files: dict[str, str]) -> Finding | None:
    findings = validate_run(**put(folder, files), max_depth=2).findings
    return next((finding for finding in findings if finding.code == code), None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_found_and_not_found(case: Case, tmp_path: Path) -> None:
    found = find(case.code, tmp_path, case.files(case.has))
    assert found is not None
    assert found.count == (len(case.places) if case.count is None else case.count)
    assert list(found.places) == case.found_at(put(tmp_path, case.files(case.has))[case.at])
    check = BY_CODE[case.code]
    assert (found.name, found.severity, found.advice) == (check.name, check.severity, check.advice)
    assert find(case.code, tmp_path, case.files(case.lacks)) is None


def test_reading_refuses_errors_and_only_errors(tmp_path: Path) -> None:
    """What `runs validate` calls an error of the table itself, the reader refuses."""
    for case in CASES:
        check = BY_CODE[case.code]
        if case.code.startswith(("RS16", "RS17")) or case.code == "RS214":  # refused by scoring
            continue
        path = put(tmp_path, case.files(case.has))[case.at]
        read = read_run if case.at == "run" else read_qrels
        if check.severity != "error":
            assert len(read(path)), case.code
            continue
        with pytest.raises(InvalidDataError) as refused:
            read(path)
        assert refused.value.findings[0].severity == "error"
        assert case.code in {finding.code for finding in refused.value.findings}


def test_every_check_has_a_case() -> None:
    assert [case.code for case in CASES] == [c.code for c in CHECKS if c.code != "RS107"]


# --- the whole


def test_a_good_run_has_no_findings(tmp_path: Path) -> None:
    result = validate_run(**put(tmp_path, {"run": RUN, "qrels": QRELS}), max_depth=2)
    assert result.ok
    assert result.findings == ()
    assert (result.rows, result.queries) == (4, 2)
    assert (result.fewest, result.most) == (2, 2)


def test_checks_that_cannot_look_say_so(tmp_path: Path) -> None:
    files = put(tmp_path, {"run": RUN, "qrels": QRELS})
    alone = validate_run(files["run"], max_depth=2)
    assert alone.ok
    assert [one.code for one in alone.not_applicable] == [
        *("RS161", "RS162", "RS163", "RS165", "RS166", "RS171", "RS172")
    ]
    assert all(one.reason for one in alone.not_applicable)
    whole = validate_run(**files, queries=["q1", "q2"], corpus=["d1", "d2", "d3"], max_depth=2)
    assert whole.not_applicable == ()
    broken = validate_run(files["run"], qrels={"q1": {"d1": float("nan")}}, max_depth=2)
    assert {"RS161", "RS172"} <= {one.code for one in broken.not_applicable}


def test_all_errors_come_in_one_pass(tmp_path: Path) -> None:
    run = (
        "q1 Q0 d1 1 2 t\nq1 Q0 d1 2 x t\nq1 Q0 d2 3 nan t\nq1 Q0\n\xe4 Q0 d 1 1 u\n"
        "q2 Q0 d1 2 1 t\nq2 Q0 d2 3 1 t\n"
    )
    result = validate_run(**put(tmp_path, {"run": run}))
    assert not result.ok
    codes = [finding.code for finding in result.findings]
    assert codes == ["RS102", "RS104", "RS106", "RS121"]


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.run"
    path.write_bytes(b"q1 Q0 d1 1 2 t\nq1 Q0 M\xfcnchen 2 1 t\n")
    (found,) = (f for f in validate_run(path).findings if f.severity == "error")
    assert (found.code, found.places) == ("RS102", (Place(str(path), 2),))
    assert "UTF-8" in found.message


def test_the_first_three_places_are_named_by_their_lines(tmp_path: Path) -> None:
    """Also where queries take turns."""
    run = "".join(f"q{n % 2} Q0 d{n // 4} {n} {20 - n} t\n" for n in range(20))
    found = find("RS106", tmp_path, {"run": run})
    assert found is not None
    assert found.count == 10
    assert [(at.line, at.query_id, at.doc_id) for at in found.places] == [
        *((3, "q0", "d0"), (4, "q1", "d0"), (7, "q0", "d1"))
    ]


def test_documents_without_a_score_do_not_tie(tmp_path: Path) -> None:
    run = "q1 Q0 d1 1 x t\nq1 Q0 d2 2 x t\nq2 Q0 d1 1 3 t\nq2 Q0 d2 2 1 t\nq2 Q0 d3 3 1 t\n"
    found = find("RS121", tmp_path, {"run": run})
    assert found is not None
    assert (found.count, found.message[:2]) == (1, "2 ")


def test_data_instead_of_files() -> None:
    run = Run({"q1": {"d1": 2.0, "d2": 1.0}}, name="mine")
    assert validate_run(run, qrels=Qrels({"q1": {"d1": 1}}), max_depth=2).findings == ()
    for queries in (["q1"], {"q1": "text"}, Queries({"q1": "text"}), iter(["q1"])):
        assert validate_run(run, queries=queries, max_depth=2).findings == ()
    frame = pl.DataFrame({"doc_id": ["d1", "d2"], "text": ["", ""]})
    for corpus in ({"d1", "d2"}, {"d1": "", "d2": ""}, Corpus({"d1": "", "d2": ""}), frame):
        assert validate_run(run, corpus=corpus, max_depth=2).findings == ()
    (found,) = validate_run(run, corpus=["d1"], max_depth=2).findings
    assert found.places == (Place("mine, row 2", None, "q1", "d2"),)
    with pytest.raises(InputError):
        validate_run(run, queries=[1, 2])


# --- strict

STRICT_CASES = {
    "RS101": "# nothing\n",
    "RS102": RUN + "q2 Q0 d5 3 0.1\n",
    "RS107": ".csv query_id,doc_id,rank,score\nq1,d1,1,2\nq2,d3,1,1\n",
    "RS111": RUN + "q2 Q0 d5 2 0.1 tag\n",
    "RS113": RUN.replace("0.25", "0.75"),
    "RS131": RUN + "q2 Q0 d5 3 0.1 tag\n",
    "RS161": "q1 Q0 d1 1 2.5 tag\n",
    "RS162": "q1 Q0 d1 1 2.5 tag\nq2 Q0 d1 1 2.5 tag\n",
}
"""What must not be handed in: a run for each rule of the list."""


@pytest.mark.parametrize("code", STRICT_CASES)
def test_strict_fails_what_must_not_be_handed_in(code: str, tmp_path: Path) -> None:
    files = put(tmp_path, {"run": STRICT_CASES[code], "qrels": QRELS})
    queries = ["q1", "q2", "q3"] if code == "RS162" else ["q1", "q2"]
    strict = validate_run(**files, queries=queries, max_depth=2, strict=True)
    assert not strict.ok
    assert code in {finding.code for finding in strict.findings if finding.severity == "error"}
    lenient = validate_run(**files, queries=queries, max_depth=2)
    assert lenient.ok == (code not in ("RS101", "RS102"))


def test_strict_passes_a_run_that_is_fit(tmp_path: Path) -> None:
    """Lists may be shorter than the depth, tied, and separated by tabs in a file called .tsv."""
    tied = ".tsv " + (RUN + "q2 Q0 d5 3 0.25 tag\n").replace(" ", "\t")
    files = put(tmp_path, {"run": tied, "qrels": QRELS})
    result = validate_run(**files, queries=["q1", "q2"], strict=True)
    assert result.ok
    assert {finding.code for finding in result.findings} == {"RS121"}
    assert validate_run({"q1": {"d1": 1.0}}, strict=True).ok  # no file, no columns


def test_a_rank_that_is_no_number(tmp_path: Path) -> None:
    found = find("RS111", tmp_path, {"run": RUN + "q2 Q0 d5 third 0.1 tag\n"})
    assert found is not None
    assert [place.line for place in found.places] == [5]


def test_a_query_without_documents_has_no_answer() -> None:
    qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    result = validate_run({"q1": ["d1"], "q2": []}, qrels=qrels, queries=["q1", "q2"], strict=True)
    assert [finding.code for finding in result.findings][:2] == ["RS161", "RS162"]


# --- guesses


def test_guesses() -> None:
    for mine, theirs, guess in (
        (["007", "012"], ["7", "12"], "leading zeros"),
        (["q7", "q12"], ["q007", "q012"], "leading zeros"),
        (["doc7", "doc12"], ["id7", "id12"], "a prefix"),
        (["d12#3", "d12#4", "x7#1"], ["d12", "x7"], "as that of a chunk"),
        (["a_0", "b_1"], ["a", "b"], "as that of a chunk"),
        (["abc", "def"], ["ABC", "DEF"], "upper and lower case"),
        (["a ", "b"], ["a", "b "], "blanks"),
        (["1.0", "2.0"], ["1", "2"], "fraction"),
        (["x/a", "y/b"], ["a", "b"], "folder"),
        (["a.txt", "b.txt"], ["a", "b"], "file ending"),
    ):
        for one, other in ((mine, theirs), (theirs, mine)):
            assert guess in nothing_in_common("query", one, other, ["x"], ["y"]), mine
    for prefix in ("doc:", "msmarco_passage_", "doc", "corpus/"):
        bare = ["10", "12", "7"]
        long = [prefix + id_ for id_ in bare]
        for one, other in ((long, bare), (bare, long)):
            guess = nothing_in_common("query", one, other, ["x"], ["y"])
            assert f"{prefix}10" in guess.partition(";")[2]
    assert ";" not in nothing_in_common("query", ["abc"], ["xyz"], ["x"], ["y"])


def test_numbers_that_meet_by_chance_are_not_swapped_columns(tmp_path: Path) -> None:
    """Query 0301 found a document that happens to be called 301."""
    run = "0301 Q0 301 1 2 t\n0302 Q0 5 1 1 t\n"
    found = find("RS171", tmp_path, {"run": run, "qrels": "301 0 5 1\n302 0 0301 1\n"})
    assert found is not None
    assert "leading zeros" in found.message


def test_blanks_around_ids_survive_reading(tmp_path: Path) -> None:
    files = {"run": ".csv query_id,doc_id,score\nq1 ,d1,2\n", "qrels": "q1 0 d1 1\n"}
    found = find("RS171", tmp_path, files)
    assert found is not None
    assert "'q1 '" in found.message
    assert "blanks" in found.message
