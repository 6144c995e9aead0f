"""``rankscope evaluate``: every format, every option, and nothing but one sentence on a mistake."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs

Answer = tuple[int, str, str]
Call = Callable[..., Answer]

QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq3 0 z 0\n"
BM25 = "q1 Q0 b 1 3.0 bm25\nq1 Q0 a 2 2.0 bm25\nq2 Q0 a 1 9.0 bm25\nq9 Q0 a 1 9.0 bm25\n"
DENSE = "q1 Q0 a 1 0.5 dense\nq1 Q0 x 2 0.5 dense\nq2 Q0 a 1 0.9 dense\nq3 Q0 z 1 0.1 dense\n"


@pytest.fixture
def call(rankscope: Callable[..., Any]) -> Call:
    def run(*arguments: str | Path) -> Answer:
        done = rankscope(*map(str, arguments))
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("qrels", QRELS), ("bm25.run", BM25), ("dense.run", DENSE)):
        (tmp_path / name).write_text(text)
    return tmp_path


pytestmark = pytest.mark.usefixtures("files")


def test_the_table_shows_means_and_what_they_are_made_of(call: Call) -> None:
    code, out, err = call(
        "evaluate", "qrels", "bm25.run", "-m", "RR", "-m", "ndcg_cut_10", "--no-intervals"
    )
    assert (code, err) == (0, "")
    discount = 1 / math.log2(3)
    ndcg = (2 * discount / (2 + discount) + 1 + 0) / 3
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[:4] == [
        "run        RR   nDCG@10",
        f"bm25   0.5000    {ndcg:.4f}",
        "",
        "nDCG@10, asked for as ndcg_cut_10",
    ]
    assert " ".join(lines[4:]) == (
        "mean over 3 queries; 1 judged query missing from the run, counted as 0; "
        "1 query without a relevant document, scored 0; 1 query of the run not judged, left out  "
        "warning: 1 of 3 judged queries are missing from the run ('q3'); they count as 0 [RS161]; "
        "run the system on these queries too "
        "warning: nDCG@10 looks deeper than the run, which has at most 2 documents a query "
        "[RS133]; make the run deeper, or ask for a cutoff that it reaches"
    )


def many(files: Path, queries: int) -> None:
    """Write a run of two documents a query whose relevant one is second in every third."""
    numbers = range(queries)
    (files / "many.qrels").write_text("".join(f"q{n} 0 a 1\n" for n in numbers))
    lines = (
        f"q{n} Q0 {doc_id} 0 {2 - place} many\n"
        for n in numbers
        for place, doc_id in enumerate("ba" if n % 3 == 0 else "ab")
    )
    (files / "many.run").write_text("".join(lines))


def test_means_have_intervals(call: Call, files: Path) -> None:
    many(files, 30)
    _, out, _ = call("evaluate", "many.qrels", "many.run", "-m", "RR", "-m", "num_ret")
    scores = rs.evaluate("many.qrels", "many.run", ["RR"])
    ends = scores.intervals["mrr"]
    lines = [line.split() for line in out.splitlines()]
    assert lines[1] == ["many", "0.8333", f"[{ends.low:.4f},", f"{ends.high:.4f}]", "60"]
    assert "in brackets: 95% interval of the mean (BCa bootstrap)" in out
    without = call("evaluate", "many.qrels", "many.run", "-m", "RR", "--no-intervals")[1]
    assert "[" not in without
    for format in ("csv", "json", "trec"):
        plain = call("evaluate", "many.qrels", "many.run", "-m", "RR", "--format", format)[1]
        assert f"{ends.low:.4f}"[:6] not in plain


def test_many_queries_have_intervals_when_asked_for(call: Call, files: Path) -> None:
    many(files, 2001)
    assert "[" not in call("evaluate", "many.qrels", "many.run", "-m", "RR")[1]
    out = call("evaluate", "many.qrels", "many.run", "-m", "RR", "--intervals")[1]
    assert out.splitlines()[1].startswith("many   0.8333 [0.8")


def test_worst_queries(call: Call, files: Path) -> None:
    many(files, 7)
    _, out, _ = call("evaluate", "many.qrels", "many.run", "-m", "RR", "-m", "P@1", "--worst", "3")
    lines = [line.split() for line in out.splitlines()]
    assert lines[-5:] == [
        ["3", "queries", "with", "the", "worst", "RR"],
        ["query", "RR", "P@1", "expected", "retrieved"],
        *([name, "0.5000", "0.0000", "a", "b,", "a"] for name in ("q0", "q3", "q6")),
    ]
    (files / "texts.json").write_text('{"q0": "what is a?"}')
    _, out, _ = call(
        "evaluate", "many.qrels", "many.run", "--worst", "1", "--queries", "texts.json"
    )
    assert "what is a?" in out
    _, out, _ = call("evaluate", "qrels", "bm25.run", "dense.run", "-m", "RR", "--worst", "1")
    assert "dense: 1 query with the worst RR" in out


@pytest.mark.parametrize("output", ["table", "json", "csv", "trec", "html"])
def test_fail_under(call: Call, output: str) -> None:
    """It is 0.5; what is missed is said on standard error, and the exit code is 1."""
    options = ("evaluate", "qrels", "bm25.run", "-m", "P@1", "--format", output, "--fail-under")
    code, out, err = call(*options, "mrr=0.6")
    assert code == 1
    assert err.endswith("bm25 has RR = 0.5000, below the limit of 0.6\n")
    assert "RR" in out or output == "trec", "the measure is shown too"
    assert call(*options, "bm25:RR=0.5")[0] == 0
    for text, message in (
        ("RR", "--fail-under 'RR': expected MEASURE=VALUE"),
        ("RR=nan", "expected MEASURE=VALUE"),
        ("dense:RR=0.1", "unknown run 'dense'"),
        ("gibberish=0.1", "unknown measure 'gibberish'"),
        ("hits@5=0.95", "hits has several definitions; write Success@k"),
        ("NumRelRet@5=0.95", "NumRelRet@5 is summed over queries"),
        ("RR=70", "the limit of RR must be from 0 to 1, as its values are, not 70; for 70% write"),
    ):
        code, out, err = call(*options, text)
        assert (code, out) == (2, "")
        assert message in err


def test_equal_scores_are_a_small_table_where_they_matter(call: Call) -> None:
    _, out, _ = call("evaluate", "qrels", "bm25.run", "dense.run", "-m", "RR", "-m", "R@10")
    lines = [line.rstrip() for line in out.splitlines()]
    at = lines.index("Equal scores could move these means")
    assert [line.split() for line in lines[at + 1 :]] == [
        ["run", "measure", "value", "lowest", "highest"],
        # x stands before a by its id; R@10 is the same whatever the order
        ["dense", "RR", f"{1.5 / 3:.4f}", f"{1.5 / 3:.4f}", f"{2 / 3:.4f}"],
    ]
    assert "Equal scores" not in call("evaluate", "qrels", "bm25.run")[1]


def test_bounds_show_what_unjudged_documents_could_do(call: Call) -> None:
    code, out, _ = call(
        "evaluate", "qrels", "dense.run", "-m", "P@2", "--bounds", "--hole-grade", "2"
    )
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["dense", "P@2", f"{1 / 3:.4f}", f"{1 / 3:.4f}", f"{1.5 / 3:.4f}"] in lines
    assert "relevant (2)" in out
    data = json.loads(call("evaluate", "qrels", "dense.run", "--bounds", "--format", "json")[1])
    assert {one["measure"] for one in data["runs"]["dense"]["bounds"]} == set(data["measures"])


def numbers(text: str) -> list[str]:
    return re.findall(r"\d\.\d{4}", text)


@pytest.mark.parametrize("width", ["60", "80", "300"])
def test_many_measures_and_runs_stay_readable(
    call: Call, monkeypatch: pytest.MonkeyPatch, width: str, files: Path
) -> None:
    monkeypatch.setattr("rankscope.cli.output.make_console", lambda: narrow(int(width)))
    names = [f"{n}-run-with-a-rather-long-name" for n in range(8)] + ["y" * 90]
    for name in names:
        (files / f"{name}.run").write_text(BM25.replace("bm25", name))
    code, out, _ = call("evaluate", "qrels", *(f"{name}.run" for name in names))
    assert code == 0
    assert max(map(len, out.splitlines())) <= int(width)
    assert len(numbers(out)) == 3 * 6 * len(names), "each mean, and the ends of its interval"
    _, out, _ = call("evaluate", "qrels", "bm25.run", "-m", "all_trec", "--per-query")
    assert max(map(len, out.splitlines())) <= int(width)


def narrow(width: int) -> object:
    from rich.console import Console

    return Console(width=width, color_system=None, highlight=False, markup=False, emoji=False)


def test_per_query_has_a_row_for_each_query(call: Call) -> None:
    _, out, _ = call("evaluate", "qrels", "bm25.run", "-m", "RR", "--per-query")
    lines = [line.split() for line in out.splitlines()]
    assert lines[:4] == [["query", "RR"], ["q1", "0.5000"], ["q2", "1.0000"], ["q3", "0.0000"]]


@pytest.mark.parametrize("per_query", [False, True])
def test_json_is_nothing_but_json(call: Call, per_query: bool) -> None:
    flags = ["--per-query"] if per_query else []
    code, out, err = call("evaluate", "qrels", "bm25.run", "dense.run", "--format", "json", *flags)
    data = json.loads(out)
    assert (code, err) == (0, "")
    scores = rs.evaluate("qrels", ["bm25.run", "dense.run"])
    for name in ("bm25", "dense"):
        assert data["runs"][name]["means"] == scores.means[name]
        assert ("per_query" in data["runs"][name]) == per_query
    assert data["runs"]["bm25"]["accounting"]["missing_queries"] == ["q3"]


def test_csv_holds_every_digit(call: Call) -> None:
    _, out, _ = call(
        "evaluate", "qrels", "bm25.run", "dense.run", "-m", "nDCG@10", "--format", "csv"
    )
    rows = list(csv.reader(io.StringIO(out)))
    scores = rs.evaluate("qrels", ["bm25.run", "dense.run"], "nDCG@10")["nDCG@10"]
    assert rows == [
        ["run", "measure", "value", "queries"],
        *(
            ["bm25", "nDCG@10", repr(scores["bm25"]), "3"],
            ["dense", "nDCG@10", repr(scores["dense"]), "3"],
        ),
    ]
    _, out, _ = call("evaluate", "qrels", "bm25.run", "-m", "RR", "--format", "csv", "--per-query")
    assert out.splitlines() == [
        "run,query_id,measure,value",
        *("bm25,q1,RR,0.5", "bm25,q2,RR,1.0", "bm25,q3,RR,0.0"),
    ]


def test_trec_lines_are_trec_evals(call: Call) -> None:
    _, out, _ = call(
        "evaluate", "qrels", "bm25.run", "-m", "recip_rank", "-m", "P.5", "-m", "num_ret",
        "--format", "trec", "--per-query", "--intersect",
    )  # fmt: skip
    _, expected, _ = call(
        "trec-eval",
        "-q",
        "--9",
        "-m",
        "recip_rank",
        "-m",
        "P.5",
        "-m",
        "num_ret",
        "qrels",
        "bm25.run",
    )
    assert sorted(out.splitlines()) == sorted(expected.splitlines())


def test_markdown_and_latex(call: Call) -> None:
    _, out, _ = call(
        "evaluate", "qrels", "bm25.run", "-m", "RR", "--format", "markdown", "--no-intervals"
    )
    made_of = (
        "mean over 3 queries; 1 judged query missing from the run, counted as 0; 1 query without "
        "a relevant document, scored 0; 1 query of the run not judged, left out"
    )
    assert out.splitlines()[:5] == [
        "| run  |     RR |",
        "| ---- | -----: |",
        "| bm25 | 0.5000 |",
        "",
        f"- {made_of}",
    ]
    _, out, _ = call(
        "evaluate", "qrels", "bm25.run", "-m", "RR", "--format", "latex", "--per-query",
        "--no-intervals",
    )  # fmt: skip
    queries, means = re.findall(r"\\begin\{tabular\}(.*?)\\end\{tabular\}", out, re.DOTALL)
    assert queries.splitlines() == [
        "{lr}",
        r"\toprule",
        r"query & RR \\",
        r"\midrule",
        r"q1 & 0.5000 \\",
        r"q2 & 1.0000 \\",
        r"q3 & 0.0000 \\",
        r"\bottomrule",
    ]
    assert r"bm25 & 0.5000 \\" in means
    assert r"{\footnotesize Mean over 3 queries; 1 judged query missing" in out


HOSTILE = r"[a]|b_c*<script>&$100%#{x}\end~^`" + "\x1b[31m"


@pytest.fixture
def hostile(files: Path) -> Path:
    rows = [{"query_id": "q1", "doc_id": "a", "score": 1.0}]
    path = files / "hostile.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    (files / "hostile.run").write_text(f"q1 Q0 a 1 1.0 {HOSTILE}\n", encoding="utf-8")
    return files / "hostile.run"


def test_a_hostile_name_stays_a_name(call: Call, hostile: Path) -> None:
    for output in ("table", "markdown", "html", "latex"):
        code, out, _ = call(
            "evaluate", "qrels", hostile, "bm25.run", "-m", "RR", "--format", output
        )
        assert code == 0
        assert "\x1b" not in out, output
        if output == "markdown":
            name = out.splitlines()[2].split(" | ")[0]
            assert re.fullmatch(r"\| (?:[^\\`*_\[\]<>|~&#]|\\.|&(?:lt|gt|amp);)+", name)
        if output == "latex":
            [row, *_] = [line for line in out.splitlines() if "script" in line and "&" in line]
            assert row.startswith(
                "{[}a]\\textbar{}b\\_c{*}\\textless{}script\\textgreater{}\\&\\$100\\%"
            )
    data = json.loads(call("evaluate", "qrels", hostile, "-m", "RR", "--format", "json")[1])
    assert list(data["runs"]) == [HOSTILE]


@pytest.mark.parametrize("output", ["table", "trec", "json", "csv", "markdown", "html", "latex"])
def test_output_to_a_file_is_what_is_printed(call: Call, files: Path, output: str) -> None:
    _, printed, warned = call("evaluate", "qrels", "dense.run", "--format", output)
    target = files / "out.txt"
    target.write_text("old")
    code, out, err = call("evaluate", "qrels", "dense.run", "--format", output, "-o", target)
    assert (code, out, err) == (0, "", warned)
    assert (output in ("trec", "csv")) == ("warning: nDCG@10" in warned)
    lines = [line.rstrip() for line in printed.splitlines()]
    assert [line.rstrip() for line in target.read_text().splitlines()] == lines
    assert sorted(path.name for path in files.iterdir()) == sorted(
        ["qrels", "bm25.run", "dense.run", "out.txt"]
    )


def test_a_failed_evaluation_leaves_the_old_file(call: Call, files: Path) -> None:
    (files / "out.txt").write_text("old")
    code, _, _ = call("evaluate", "qrels", "bm25.run", "no.run", "-o", "out.txt")
    assert code == 2
    assert (files / "out.txt").read_text() == "old"
    code, _, err = call("evaluate", "qrels", "bm25.run", "-o", "no/such/folder/out.txt")
    assert code == 2
    assert err.count("\n") == 1


def test_profile_and_intersect_change_the_mean(call: Call) -> None:
    def mean(*options: str) -> float:
        out = call("evaluate", "qrels", "bm25.run", "-m", "RR", "--format", "json", *options)[1]
        return float(json.loads(out)["runs"]["bm25"]["means"]["RR"])

    assert mean() == (0.5 + 1) / 3
    assert mean("--intersect") == (0.5 + 1) / 2
    assert mean("--profile", "trec_eval-9") == (0.5 + 1) / 2
    out = call("evaluate", "qrels", "bm25.run", "--profile", "trec_eval-9")[1]
    assert "rules of trec_eval-9: " in out
    tied = call(
        "evaluate", "qrels", "dense.run", "-m", "RR", "--ties", "id-asc", "--format", "csv"
    )[1]
    assert tied.splitlines()[1] == f"dense,RR,{2 / 3!r},3"


def test_labels_are_turned_into_grades(call: Call, files: Path) -> None:
    (files / "labels.tsv").write_text("query_id\tdoc_id\tgrade\nq1\ta\tE\nq1\tb\tI\n")
    code, out, _ = call(
        "evaluate",
        "labels.tsv",
        "bm25.run",
        "-m",
        "DCG@1,2",
        "--labels",
        "E=3,I=0",
        "--format",
        "csv",
    )
    assert code == 0
    assert [row.split(",")[2] for row in out.splitlines()[1:]] == [
        "0.0",
        repr(3 / math.log2(3)),
    ]
    code, _, err = call("evaluate", "labels.tsv", "bm25.run", "--labels", "E=3")
    assert code == 2
    assert "the label 'I' is not among 'E'" in err


MISTAKES = {
    "unknown measure 'nDGC'": ["qrels", "bm25.run", "-m", "nDGC@10"],
    "no.run": ["qrels", "no.run"],
    "no.qrels": ["no.qrels", "bm25.run"],
    "Missing argument": ["qrels"],
    "'wide' is not one of": ["qrels", "bm25.run", "--format", "wide"],
    "1 judged query is missing": ["qrels", "bm25.run", "--profile", "trec_eval-10"],
    "name them: NAME=FILE (": ["qrels", "bm25.run", "bm25.run"],
    "--worst is for tables": ["qrels", "bm25.run", "--worst", "3", "--format", "json"],
    "--intervals is for tables": ["qrels", "bm25.run", "--intervals", "--format", "csv"],
    "from 0 up": ["qrels", "bm25.run", "--bounds", "--hole-grade", "-1"],
    "needs judgments by subtopic": ["qrels", "bm25.run", "-m", "alpha_nDCG@10"],
    "no query id in common": ["qrels", "else.run", "--intersect"],
}


@pytest.mark.parametrize(("said", "arguments"), MISTAKES.items())
def test_a_mistake_is_one_sentence_and_exit_2(
    call: Call, files: Path, said: str, arguments: list[str]
) -> None:
    (files / "else.run").write_text("q77 Q0 a 1 1.0 else\n")
    code, out, err = call("evaluate", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("variable", "coloured"), [("NO_COLOR", False), ("FORCE_COLOR", True)])
def test_colour_is_for_those_who_want_it(
    call: Call, monkeypatch: pytest.MonkeyPatch, variable: str, coloured: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv(variable, "1")
    _, out, _ = call("evaluate", "qrels", "bm25.run", "dense.run")
    assert ("\x1b[3" in out or "\x1b[1;3" in out) == coloured


def test_a_run_is_named_on_the_command_line(rankscope: Any, tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text("q1\ta\t1\nq2\tb\t1\n")
    for folder, document in (("one", "a"), ("two", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "results.run").write_text(f"q1 Q0 {document} 1 1.0 tag\n")
    (tmp_path / "x=y.run").write_text("q1 Q0 a 1 1.0 tag\n")
    done = rankscope("evaluate", "qrels.tsv", "old=one/results.run", "new=two/results.run")
    assert done.stdout.splitlines()[0].split() == ["measure", "old", "new"]
    done = rankscope("evaluate", "qrels.tsv", "x=y.run", "--format", "json")
    assert list(json.loads(done.stdout)["runs"]) == ["tag"]  # the file of that name
    done = rankscope("evaluate", "qrels.tsv", "old=none.run")
    assert "none.run: file not found" in done.stderr
    for name, folder in (("old", "one"), ("new", "two")):
        rankscope(
            *("evaluate", "qrels.tsv", f"{folder}/results.run", "--per-query"),
            *("--format", "json", "-o", f"{name}.json"),
        )
    done = rankscope("gate", "main=old.json", "branch=new.json")
    assert "branch against main" in done.stdout
