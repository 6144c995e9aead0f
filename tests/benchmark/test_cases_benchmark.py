"""A benchmark of cases: the ontology is searched, languages are apart, records can be verified."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankscope as rs
from benchmark.world import cli
from rankscope.benchmark.by_language import LanguageReport, LanguageResults, run_languages
from rankscope.benchmark.collection import languages_to_run
from rankscope.benchmark.config.loading import read_config
from rankscope.benchmark.run import Result, run_benchmark
from rankscope.benchmark.verify import verify
from rankscope.errors import InputError

TERMS = [
    ("T:1", "", "root", ""),
    ("T:2", "T:1", "abnormal heart", "cardiac anomaly|heart defect"),
    ("T:3", "T:2", "ventricular septal defect", "VSD"),
    ("T:4", "T:2", "atrial septal defect", "ASD"),
    ("T:5", "T:1", "abnormal brain", "cerebral anomaly"),
    ("T:6", "T:5", "seizure", "fits|epilepsy"),
    ("T:7", "T:5", "ataxia", "unsteady walk"),
]
TABLE = "child\tparent\tlabel\tsynonyms\n" + "".join("\t".join(row) + "\n" for row in TERMS)

ENGLISH = [
    ("ventricular septal defect", "T:3", "easy", "exact_match"),
    ("atrial septal defect", "T:4", "easy", "exact_match"),
    ("has fits", "T:6", "medium", "synonym"),
    ("ataxia", "T:7", "easy", "exact_match"),
    ("VSD", "T:3", "hard", "abbreviation"),
    ("defect", "T:4", "hard", "complex"),
]
GERMAN = [
    ("Ventrikelseptumdefekt", "T:3", "easy", "exact_match"),
    ("Vorhofseptumdefekt", "T:4", "easy", "exact_match"),
    ("Epilepsie", "T:6", "medium", "synonym"),
    ("Ataxie", "T:7", "easy", "exact_match"),
    ("VSD", "T:3", "hard", "abbreviation"),
    ("Herzfehler", "T:2", "hard", "layperson"),
]


def write_cases(folder: Path, code: str, rows: list[tuple[str, str, str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    cases = [
        {
            "case_id": f"{code}_{number}",
            "text": text,
            "expected_term_ids": [term],
            "difficulty": difficulty,
            "category": category,
        }
        for number, (text, term, difficulty, category) in enumerate(rows, start=1)
    ]
    (folder / "standard_v1.json").write_text(json.dumps({"test_cases": cases}))


CONFIG = """name: toy
collection: {{cases: {cases}, ontology: tree.tsv{more}}}
systems:
  words: {{bm25: {{fields: [label, synonyms], language: none, stopwords: []}}}}
  ngrams: {{bm25: {{fields: [label, synonyms], ngrams: [3, 5]}}}}
baseline: words
depth: 5
diagnosis: [segments, languages]
{rest}
"""
GERMAN_FILE = "cases/german/standard_v1.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tree.tsv").write_text(TABLE)
    write_cases(tmp_path / "cases" / "english", "en", ENGLISH)
    write_cases(tmp_path / "cases" / "german", "de", GERMAN)
    return tmp_path


def config(folder: Path, cases: str = "cases", more: str = "", rest: str = "") -> Path:
    path = folder / "bench.yaml"
    path.write_text(CONFIG.format(cases=cases, more=more and f", {more}", rest=rest))
    return path


def run(folder: Path, **parts: str) -> Any:
    return run_benchmark(config(folder, **parts), output=folder / "out")


def means_of(result: Result) -> dict[str, dict[str, float]]:
    return {
        system.name: {value.measure: value.value for value in system.measures}
        for system in result.report.systems
    }


def test_one_language(folder: Path) -> None:
    result = run(folder, cases=GERMAN_FILE)
    report = result.report
    assert [info.measure for info in report.measures][:3] == ["RR", "Success@1", "Success@3"]
    assert len(report.measures) == 25
    assert (report.collection.documents, report.collection.ontology.terms) == (7, 7)
    assert report.collection.ontology.source == "tree.tsv"
    means = means_of(result)
    # of the German words only VSD is an English one: the first of six
    assert means["words"]["Success@1"] == pytest.approx(1 / 6)
    assert means["ngrams"]["RR"] > 0.5
    assert means["ngrams"]["MaxOntSim@5"] > means["ngrams"]["Success@5"] - 1e-9
    groups = report.analyses.segments.groups
    assert list(dict.fromkeys(group.field for group in groups)) == ["difficulty", "category"]
    found = rs.read_run(result.folder / "runs" / "ngrams.run.gz")
    assert set(found.doc_ids) <= {term for term, *_ in TERMS}
    assert verify(result.folder).ok
    plain = folder / "plain.yaml"
    given = f"systems: {{given: {{run: {result.folder / 'runs' / 'ngrams.run.gz'}}}}}"
    plain.write_text(f"name: plain\ncollection: {{cases: {GERMAN_FILE}}}\n{given}\n")
    without = run_benchmark(plain, output=folder / "out").report
    assert len(without.measures) == 21, "without an ontology nothing near is measured"


def test_languages_are_apart(folder: Path) -> None:
    with pytest.raises(InputError, match=r"\(en, de\)"):
        run(folder)
    results = run_languages(config(folder), output=folder / "out")
    assert list(results.by_language) == ["en", "de"]
    for code, result in results.by_language.items():
        assert result.report.collection.language == code
        assert result.report.collection.queries == 6
        assert verify(result.folder).ok
    report = LanguageReport.read(results.folder / "LanguageReport.json")
    assert report == results.report
    row = next(r for r in report.table.systems if (r.measure, r.system) == ("RR", "words"))
    own = [means_of(results.by_language[code])["words"]["RR"] for code in ("en", "de")]
    assert [row.means[code].value for code in ("en", "de")] == pytest.approx(own)
    assert row.mean == pytest.approx(sum(own) / 2)
    assert row.variance == pytest.approx((own[0] - own[1]) ** 2 / 4)  # as numpy.var
    assert not any(row.worst.paired for row in report.table.systems if row.worst)


def test_translations_are_compared_case_by_case(folder: Path) -> None:
    for name in ("english", "german"):
        path = folder / "cases" / name / "standard_v1.json"
        content = json.loads(path.read_text())
        for number, case in enumerate(content["test_cases"], start=1):
            case["parallel_id"] = f"p{number}"
        content["test_cases"].reverse()  # matched by their ids, not by their places
        path.write_text(json.dumps(content))
    results = run_languages(config(folder), output=folder / "out")
    row = next(row for row in results.report.table.systems if row.system == "words")
    assert row.worst is not None
    assert row.worst.paired
    english, german = (_values_by_case(results, code, row.measure) for code in ("en", "de"))
    differences = [english[case] - german[case] for case in sorted(english)]
    assert abs(row.worst.difference.value) == pytest.approx(abs(sum(differences)) / 6)
    flips = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=6)
    ]
    reached = sum(flip >= abs(sum(differences)) - 1e-12 for flip in flips)
    assert row.worst.p == pytest.approx(reached / len(flips))


def _values_by_case(results: LanguageResults, code: str, measure: str) -> dict[str, float]:
    table = pl.read_parquet(results.by_language[code].folder / "per_query" / "words.parquet")
    rows = table.filter(pl.col("measure") == measure)
    return dict(zip(rows["query_id"].str.strip_prefix(f"{code}_"), rows["value"], strict=True))


def test_together_or_one_if_asked(folder: Path) -> None:
    result = run(folder, more="languages: together")
    assert result.report.collection.queries == 12
    analyses: Any = result.report.analyses
    assert analyses.languages.languages == ("de", "en")
    assert "language" in {group.field for group in analyses.segments.groups}
    assert verify(result.folder).ok
    assert run(folder, more="language: German").report.collection.queries == 6


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bench.yaml"
    for collection, problem in (
        ("{cases: c.json, path: x}", "cannot be combined with path"),
        ("{path: x, language: de}", "needs cases"),
        ("{path: x, annotations: a}", "needs ontology"),
        ("{cases: c.json, language: de, languages: together}", "has no effect"),
        ("{cases: c.json, languages: mixed}", "languages"),
    ):
        path.write_text(f"name: x\ncollection: {collection}\nsystems: {{a: bm25}}\n")
        with pytest.raises(InputError, match=problem):
            read_config(path)


@pytest.mark.parametrize(
    ("cases", "codes"),
    [
        ("cases/{language}/standard_v1.json", ["en", "de"]),
        ("cases/*/standard_*.json", ["en", "de"]),
        ("[cases/german/standard_v1.json, cases/english/standard_v1.json]", ["de", "en"]),
        ("cases/g*/standard_v1.json", []),
    ],
)
def test_files_of_one_size_by_pattern_or_list(folder: Path, cases: str, codes: list[str]) -> None:
    """Beside them are smaller sets of the same cases, which are not asked."""
    for name, rows in (("english", ENGLISH), ("german", GERMAN)):
        write_cases(folder / "cases" / name / "few", name[:2], rows[:2])
        few = folder / "cases" / name / "few" / "standard_v1.json"
        few.rename(folder / "cases" / name / "tiny_v1.json")
    path = config(folder, cases=f'"{cases}"' if cases[0] != "[" else cases)
    assert languages_to_run(read_config(path)) == codes
    language = "" if not codes else ", language: de"
    result = run(folder, cases=f'"{cases}"{language}' if cases[0] != "[" else cases + language)
    assert result.report.collection.queries == 6
    assert verify(result.folder).ok


def test_what_is_missing(folder: Path) -> None:
    with pytest.raises(InputError, match="no file fits 'cases/x"):
        run(folder, cases="'cases/x*.json'")
    with pytest.raises(InputError, match="'fr'; there are: en, de"):
        run(folder, more="language: fr")
    with pytest.raises(InputError, match=r"collection.cases: file not found"):
        run(folder, cases="nothing.json")
    (folder / "tree.tsv").unlink()
    with pytest.raises(InputError, match=r"collection.ontology: file not found"):
        run(folder, cases=GERMAN_FILE)


def test_command(folder: Path) -> None:
    arguments = ("benchmark", "run", config(folder), "--output", folder / "out", "--format")
    code, out, err = cli(*arguments, "json", "--fail-under", "RR=1")
    data = json.loads(out)
    assert code == 1
    assert data["schema"] == "rankscope/languages/1"
    assert set(data["reports"]) == {"en", "de"}
    assert "words (de) has RR" in err
    assert cli(*arguments, "metrics")[0] == 2, "metrics are of one language"


def test_evaluate_compare_and_gate_keep_languages_apart(folder: Path) -> None:
    cases, tree = folder / "cases", folder / "tree.tsv"
    ids = rs.read_queries(cases).ids
    answers = {query_id: {"T:3": 1.0, "T:6": 0.5} for query_id in ids}
    mean = sum({"T:3": 1.0, "T:6": 0.5}.get(expected, 0.0) for _, expected, *_ in GERMAN) / 6
    german = rs.evaluate(cases, answers, ["RR"], language="de", ontology=tree)
    assert german["RR"] == pytest.approx(mean)
    both = rs.evaluate(cases, answers, ["RR"], language="all")
    assert (both.accounting.queries, both.accounting.languages) == (12, ("en", "de"))
    other = {query_id: {"T:6": 1.0} for query_id in ids}
    for refused in (
        lambda: rs.evaluate(cases, answers, ["RR"]),
        lambda: rs.compare(cases, {"a": answers, "b": other}, ["RR"]),
        lambda: rs.gate(answers, other, "RR", qrels=cases),
        lambda: rs.diagnose(cases, {"a": answers}, ["RR"]),
        lambda: rs.bounds(cases, answers, ["RR"]),
        lambda: rs.power(cases, answers, other, "RR"),
    ):
        with pytest.raises(InputError, match="not averaged unasked"):
            refused()
    result = rs.compare(cases, {"a": answers, "b": other}, ["RR"], language="de")
    assert result.queries == 6
