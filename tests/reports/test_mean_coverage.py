"""What each mean covers: a row for each system, and why queries are not in the mean."""

from __future__ import annotations

import rankscope as rs
from rankscope.document.blocks import Section, Table
from rankscope.document.pages import page
from rankscope.document.terminal import as_text
from rankscope.document.text import plain_cell
from rankscope.document.views import document_of
from rankscope.reports.mean_coverage import Covered, coverage_of, coverage_section
from reports.sample import sample

QRELS = {"q1": {"d1": 1}, "q2": {"d2": 0}, "q3": {"d3": 1}}
RUN = {"q1": {"d1": 1.0, "d2": 1.0}, "q2": {"d2": 0.5}, "q9": {"d1": 1.0}}


def shown(section: Section) -> tuple[dict[str, list[str]], Table]:
    [table] = section.details
    assert isinstance(table, Table)
    rows = [
        [plain_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    titles = [column.title for column in table.columns]
    return {title: [row[place] for row in rows] for place, title in enumerate(titles)}, table


def test_every_count_has_its_column_and_its_note() -> None:
    scores = rs.evaluate(QRELS, RUN, ["R@1"])
    covered = {"a": Covered(scores.accounting, failures=1)}
    columns, table = shown(coverage_section(covered, profile="rankscope"))
    assert columns == {
        "system": ["a"],
        "in the mean": ["3"],
        "judged": ["3"],
        "missing": ["1"],
        "failed": ["1"],
        "nothing relevant": ["1"],
        "not judged": ["1"],
        "tied hits": ["1"],
        "ties at 1": ["1"],
    }
    for title in list(columns)[1:-1]:
        assert any(note.startswith(f"{title}: ") for note in table.notes), title
    assert any(note.startswith("ties at a rank: ") for note in table.notes)


def test_what_is_left_out_is_said() -> None:
    scores = rs.evaluate(QRELS, RUN, ["R@1"], profile="trec_eval-9")
    columns, table = shown(
        coverage_section({"a": Covered(scores.accounting)}, profile="trec_eval-9")
    )
    assert columns["in the mean"] == ["2"]
    assert "missing: judged queries that the run lacks, left out of the mean" in table.notes
    assert table.notes[-1].startswith("rules of trec_eval-9: ")


def test_measures_have_rows_only_where_they_differ() -> None:
    accounting = rs.evaluate(QRELS, RUN, ["R@1"]).accounting
    same = {"a": Covered(accounting, {"R@1": 3}), "b": Covered(accounting, {"R@1": 3})}
    columns, _ = shown(coverage_section(same, profile="rankscope"))
    assert "measure" not in columns
    apart = {"a": Covered(accounting, {"R@1": 3, "RR": 2}), "b": Covered(accounting, {"R@1": 3})}
    columns, table = shown(coverage_section(apart, profile="rankscope"))
    assert columns["system"] == ["a", "a", "b"]
    assert columns["measure"] == ["all others", "RR", "all"]
    assert columns["in the mean"] == ["3", "2", "3"]
    assert table.name_columns == 2


def test_a_system_that_was_not_scored() -> None:
    accounting = rs.evaluate(QRELS, RUN, ["R@1"]).accounting
    covered = {"a": Covered(accounting), "b": Covered(None, why_not="its run is empty")}
    columns, table = shown(coverage_section(covered, profile="rankscope"))
    assert columns["in the mean"] == ["3", "not scored"]
    assert "b was not scored: its run is empty" in table.notes
    assert coverage_section({"b": Covered(None)}, profile="rankscope").all_blocks == ()


def test_a_benchmark() -> None:
    report = sample()
    columns, _ = shown(coverage_of(report))
    assert columns["system"] == [system.name for system in report.systems]


def test_pages_of_scores_and_comparisons_have_it_and_terminals_do_not() -> None:
    scores = rs.evaluate(QRELS, RUN, ["R@1"])
    comparison = rs.compare(QRELS, {"a": RUN, "b": RUN}, ["R@1"])
    for result in (scores, comparison):
        document = document_of(result)
        for title in ("What each mean covers", "Definitions"):
            assert f">{title}</h3>" in page(document)
            assert title not in as_text(document)
