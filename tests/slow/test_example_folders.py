"""The folders of ``examples``, run as their READMEs say, and what they have to show.

The commands are typed as they are written there, in an empty folder that holds a copy of
``examples``.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import shlex
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import pytest

import rankscope as rs
from rankscope.benchmark.by_language import LanguageReport
from rankscope.benchmark.verify import verify
from rankscope.cli import main
from rankscope.diagnosis.baselines import Baselines
from rankscope.diagnosis.gaps import Gaps
from rankscope.diagnosis.retrieval_gate import Gating
from rankscope.diagnosis.routing import Routing
from rankscope.diagnosis.segments import Segments
from rankscope.diagnosis.stages import StageRow, Stages
from rankscope.diagnosis.unanswerable import NoAnswer
from rankscope.records.report import BenchmarkReport
from rankscope.retrieval.stages.rerank import RERANKERS

for package in ("bm25s", "wordllama", "xgboost"):
    pytest.importorskip(package, reason="examples need the extra retrieval")

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
RECIPES = Path(rs.__file__).parent / "data" / "recipes"

MAIN = "nDCG(gain=exp)@10"
"""The main measure of the ranking stack."""

GRADES = {"E": 3, "S": 2, "C": 1, "I": 0}

Answer = TypeVar("Answer")


@dataclass
class Outcome:
    """What the commands of a README printed and wrote."""

    folder: Path
    printed: str = ""
    texts: list[str] = field(default_factory=list)

    def report(self, name: str = "") -> BenchmarkReport:
        return BenchmarkReport.read(self.experiment(name) / "BenchmarkReport.json")

    def experiment(self, name: str = "") -> Path:
        [folder] = (self.folder / "benchmarks").glob(f"{name or '[!.]'}*")
        return folder

    def analysis(self, kind: type[Answer], name: str, experiment: str = "") -> Answer:
        answer = getattr(self.report(experiment).analyses, name)
        assert isinstance(answer, kind)
        return answer


def commands(example: str) -> list[list[str]]:
    """Return the commands of a README, as a shell would take them apart."""
    text = (EXAMPLES / example / "README.md").read_text("utf-8")
    [block] = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [shlex.split(line) for line in block.splitlines()]


def typed(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run one command; what it prints on standard error is a failure."""
    assert words[0] == "rankscope"
    arguments = [name for word in words[1:] for name in (sorted(glob.glob(word)) or [word])]
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    assert (stop.value.code, printed.err) == (0, "")
    return printed.out


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], Outcome]:
    """Return a function that runs the commands of an example's README."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)

    def run_example(example: str) -> Outcome:
        outcome = Outcome(tmp_path)
        for words in commands(example):
            outcome.texts.append(" ".join(typed(words, capsys).split()))
        outcome.printed = " ".join(outcome.texts)
        return outcome

    return run_example


def value(report: BenchmarkReport, system: str, measure: str) -> float:
    [row] = [row for row in report.systems if row.name == system]
    [cell] = [cell for cell in row.measures if cell.measure == measure]
    assert cell.value is not None
    return cell.value


# --- what every folder has -----------------------------------------------------------------------


def test_there_is_an_example_for_each_of_five_questions() -> None:
    assert NAMES == ["hpo", "rag-spec", "ranking-stack", "recipes-tutorial", "trec-kpi"]


@pytest.mark.parametrize("name", NAMES)
def test_a_readme_is_short_and_begins_with_one_run(name: str) -> None:
    text = (EXAMPLES / name / "README.md").read_text("utf-8")
    assert text.startswith("# ")
    assert len(text.splitlines()) <= 15
    first, *others = commands(name)
    config = f"examples/{name}/"
    assert first[:3] == ["rankscope", "benchmark", "run"]
    assert first[3].startswith(config)
    assert len(first) == 4
    for other in others:
        assert other[:2] == ["rankscope", "diagnose"]
    assert (EXAMPLES / name / "bench.yaml").is_file()


def test_examples_are_shipped_and_linked() -> None:
    assert '"examples",' in (ROOT / "pyproject.toml").read_text("utf-8")
    link = "how-to/run-a-benchmark.md#start-from-an-example"
    for page in ("README.md", "docs/index.md"):
        assert link in (ROOT / page).read_text("utf-8")
    page = (ROOT / "docs" / link.partition("#")[0]).read_text("utf-8")
    for name in NAMES:
        assert f"examples/{name}" in page


# --- the five ------------------------------------------------------------------------------------


def test_trec_kpi(run: Callable[[str], Outcome]) -> None:
    outcome = run("trec-kpi")
    report = outcome.report()
    kpis = {(kpi.system, kpi.measure): kpi.status for kpi in report.kpis}
    assert kpis["hybrid", "R@100"] == "pass"
    assert kpis["hybrid", "nDCG@10"] == "warn"
    assert kpis["vector", "nDCG@10"] == "fail"
    assert len(kpis) == 18
    for kpi in report.kpis:  # the rule of the track
        mean = value(report, kpi.system, kpi.measure)
        assert kpi.target is not None
        expected = "pass" if mean >= kpi.target else "warn" if mean >= 0.9 * kpi.target else "fail"
        assert kpi.status == expected
    assert "Stay with lexical: 120 questions show no system to be better" in outcome.printed
    assert "nDCG@10 ≥ 0.714" in outcome.printed
    page = (outcome.experiment() / "BenchmarkComparison.md").read_text("utf-8")
    assert "(strong)" in page
    assert verify(outcome.experiment()).ok
    check_targets_are_bm25_and_the_uplift(report)
    check_numbers_are_those_of_trec_eval(outcome)


def check_targets_are_bm25_and_the_uplift(report: BenchmarkReport) -> None:
    uplifts = {
        "nDCG@10": 0.35 - 0.32,
        "AP@100": 0.03,
        "RR@10": 0.55 - 0.45,
        "R@50": 0.62 - 0.60,
        "R@100": 0.70 - 0.65,
        "Success@10": 0.80 - 0.75,
    }
    for kpi in report.kpis:
        measured = value(report, "lexical", kpi.measure)
        assert kpi.target == pytest.approx(measured + uplifts[kpi.measure], abs=6e-4)


def check_numbers_are_those_of_trec_eval(outcome: Outcome) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = rs.read_qrels(RECIPES / "qrels" / "test.tsv").to_dict()
    grades = {
        query_id: {doc_id: int(grade) for doc_id, grade in documents.items()}
        for query_id, documents in qrels.items()
    }
    names = {
        "ndcg_cut_10": "nDCG@10",
        "map_cut_100": "AP@100",
        "recall_50": "R@50",
        "recall_100": "R@100",
        "success_10": "Success@10",
    }
    asked = {"ndcg_cut.10", "map_cut.100", "recall.50,100", "success.10"}
    for system in ("lexical", "vector", "hybrid"):
        ranked = rs.read_run(outcome.experiment() / "runs" / f"{system}.run.gz")
        theirs = pytrec_eval.RelevanceEvaluator(grades, asked).evaluate(ranked.to_dict())
        for name, measure in names.items():
            mean = sum(row[name] for row in theirs.values()) / len(theirs)
            assert value(outcome.report(), system, measure) == pytest.approx(mean, abs=1e-9)


def check_stack(stages: Stages, reranker: str) -> dict[str, StageRow]:
    """Check what must be true of any stack: retrieval sets the ceiling, reranking stays below."""
    rows = {row.system: row for row in stages.stages}
    for row in rows.values():
        assert set(row.measures) == {MAIN, "nDCG@10", "RR@10", "RR", "R@100"}
    assert rows["hybrid"].measures["R@100"] > rows["bm25"].measures["R@100"]
    reranked = rows[reranker]
    assert reranked.measures["R@100"] == pytest.approx(rows["hybrid"].measures["R@100"])
    for row in (rows["hybrid"], reranked):
        assert row.ceiling is not None
        assert row.measures[MAIN] <= row.ceiling <= 1
    assert (reranked.ceiling or 0.0) < (rows["hybrid"].ceiling or 0.0)  # of 50, not of 100
    return rows


def test_ranking_stack(run: Callable[[str], Outcome]) -> None:
    outcome = run("ranking-stack")
    stages = outcome.analysis(Stages, "stages")
    rows = check_stack(stages, "learned")
    assert list(rows) == ["bm25", "dense", "hybrid", "learned"]
    for row in rows.values():
        line = " ".join(f"{row.measures[name]:.3f}" for name in row.measures)
        assert line in outcome.texts[1]


def test_labels_of_the_ranking_stack_are_the_judgments_of_the_recipes() -> None:
    labelled = rs.read_qrels(EXAMPLES / "ranking-stack" / "labels.tsv", labels=GRADES)
    assert labelled.to_dict() == rs.read_qrels(RECIPES / "qrels" / "test.tsv").to_dict()


def test_both_configs_of_the_ranking_stack_differ_in_the_reranker_only() -> None:
    import yaml

    whole, offline = (
        yaml.safe_load((EXAMPLES / "ranking-stack" / f"{name}.yaml").read_text("utf-8"))
        for name in ("bench", "offline")
    )
    assert list(whole["systems"]) == ["bm25", "dense", "hybrid", "cross-encoder", "llm"]
    for key in ("bm25", "dense", "hybrid"):
        assert whole["systems"][key] == offline["systems"][key]
    for key in ("collection", "depth", "baseline", "measures"):
        assert whole[key] == offline[key]
    assert whole["collection"]["labels"] == GRADES


def test_recipes_tutorial(run: Callable[[str], Outcome]) -> None:
    outcome = run("recipes-tutorial")
    report = outcome.report()
    found_first = {name: value(report, name, "Success(rel=3)@1") for name in ("title", "full-text")}
    assert found_first["title"] < found_first["full-text"]
    ladder = outcome.analysis(Baselines, "baselines").ladder
    means = {row.system: round(row.mean, 3) for row in ladder[:3]}
    assert means == {"random": 0.04, "title-only": 0.575, "full text": 0.842}
    page = (outcome.experiment() / "BenchmarkComparison.md").read_text("utf-8")
    assert "0.842 (good)" in page
    gaps = {row.system: row for row in outcome.analysis(Gaps, "gaps").systems}
    assert [gaps[name].problem for name in ("title", "full-text")] == [
        "retrieval",
        "ranking",
    ]
    segments = outcome.analysis(Segments, "segments")
    assert list(segments.unlabelled) == ["category", "constraints", "length"]
    assert "84 % of 120 questions" in (EXAMPLES / "recipes-tutorial" / "README.md").read_text()


def test_rag_spec(run: Callable[[str], Outcome]) -> None:
    outcome = run("rag-spec")
    report = outcome.report()
    assert [info.measure for info in report.measures] == [
        *("Success@1", "Success@3", "Success@5", "Success@10"),
        *("nDCG(gain=binary)@5", "nDCG(gain=binary)@10", "RR", "AP@10"),
    ]
    rows = rs.read_queries(EXAMPLES / "rag-spec" / "questions.json").metadata
    unanswered = [name for name, fields in rows.items() if fields.get("no_answer")]
    assert sorted(report.collection.no_answer) == sorted(unanswered)
    assert (len(rows), len(unanswered)) == (60, 24)
    decided = (EXAMPLES / "rag-spec" / "decisions.csv").read_text("utf-8").splitlines()
    cells = [line.split(",") for line in decided[1:]]
    sent = [(route, best) for _, route, best, *_ in cells if best]
    routing = outcome.analysis(Routing, "routing")
    assert routing.accuracy.share == sum(route == best for route, best in sent) / len(sent)
    gate = [(row[4] == "yes", row[5] == "yes") for row in cells]
    gating = outcome.analysis(Gating, "gating")
    assert gating.precision.share == gate.count((True, True)) / sum(did for did, _ in gate)
    assert gating.efficiency.share == gate.count((False, False)) / 60
    statuses = {kpi.figure: kpi.status for kpi in report.figure_kpis}
    assert statuses == {
        "routing_accuracy": "pass",
        "gate_precision": "pass",
        "gate_efficiency": "pass",
        "reranking_improvement": "fail",
    }
    before, after = (value(report, name, "nDCG(gain=binary)@5") for name in ("hybrid", "reranked"))
    improvement = f"{100 * (after / before - 1):.1f} %"
    printed = " ".join(outcome.printed.split())
    assert f"reranking improvement (nDCG) of reranked {improvement}" in printed
    assert outcome.analysis(NoAnswer, "no_answer").unanswerable == 24


def test_hpo(run: Callable[[str], Outcome]) -> None:
    outcome = run("hpo")
    report = LanguageReport.read(outcome.experiment("hpo-languages-") / "LanguageReport.json")
    assert {each.language: each.queries for each in report.experiments} == dict.fromkeys(
        ["en", "de", "fr"], 57
    )
    rows = {row.system: row for row in report.table.systems if row.measure == "RR"}
    for row in rows.values():
        for mean in row.means.values():
            assert mean.low < mean.value < mean.high
        assert row.worst is not None
        assert row.worst.paired  # the phrases are translations of each other
        assert row.variance > 0
    assert rows["ngrams"].variance < rows["words"].variance
    german = outcome.report("hpo-de-")
    assert german.comparison is not None
    settings = german.comparison.settings
    assert (settings.interval, settings.test, settings.seed) == ("auto", "bootstrap", 0)
    for info in ("Success@5", "MaxOntSim@5", "AP(norm=min)@10"):
        assert value(german, "ngrams", info) > 0
    assert value(german, "ngrams", "MaxOntSim@5") > value(german, "ngrams", "Success@5")
    segments = outcome.analysis(Segments, "segments", "hpo-de-")
    assert list(segments.unlabelled) == ["difficulty", "category", "domain"]
    assert "By difficulty" in outcome.texts[1]


# --- the whole stack, with a model to ask ---------------------------------------------------------


class Model(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint, which knows the labels and orders documents by them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        queries = rs.read_queries(RECIPES / "queries.jsonl")
        qrels = rs.read_qrels(RECIPES / "qrels" / "test.tsv")
        corpus = rs.read_corpus(RECIPES / "corpus.jsonl")
        titles = {document.title: document.doc_id for document in corpus.documents()}
        self.doc_ids = titles
        self.grades = {queries[name]: dict(qrels[name]) for name in qrels.query_ids}
        self.asked = 0

    def answer(self, prompt: str) -> str:
        """Order the numbered documents of a prompt by what the labels say of them."""
        self.asked += 1
        [text] = re.findall(r"<query>\n(.*?)\n</query>", prompt, re.DOTALL)
        documents = re.findall(r'<document id="(\d+)">\n(.*?)\n', prompt)
        grades = self.grades[text]
        best_first = sorted(documents, key=lambda pair: -grades.get(self.doc_ids[pair[1]], 0))
        return json.dumps({"ranking": [int(number) for number, _ in best_first]})


class _Handler(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = "\n".join(message["content"] for message in body["messages"])
        message = {"role": "assistant", "content": self.server.answer(prompt)}
        reply: dict[str, Any] = {
            "id": "1",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def endpoint() -> Iterator[Model]:
    """Start the model, and stop it at the end."""
    model = Model()
    thread = threading.Thread(target=model.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.shutdown()
        model.server_close()
        thread.join()


def test_the_whole_ranking_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reranker of offline.yaml stands in for the cross-encoder, which needs PyTorch."""
    if "llm" not in RERANKERS.names():
        pytest.skip("there is no reranker llm")
    pytest.importorskip("httpx", reason="the extra llm is not installed")
    stand_in = "{rerank: {of: hybrid, ltr: {fields: [title, text, ingredients, steps]}, depth: 50}}"
    config = EXAMPLES / "ranking-stack" / "bench.yaml"
    monkeypatch.chdir(tmp_path)
    with endpoint() as model:
        monkeypatch.setenv("LLM_URL", f"http://127.0.0.1:{model.server_port}/v1")
        monkeypatch.setenv("LLM_MODEL", "one-that-knows-the-labels")
        setting = f"systems.cross-encoder={stand_in}"
        words = ["rankscope", "benchmark", "run", str(config), "--set", setting]
        printed = typed(words, capsys)
        assert model.asked == 120
    outcome = Outcome(tmp_path, printed)
    rows = check_stack(outcome.analysis(Stages, "stages"), "cross-encoder")
    last = rows["llm"]
    assert last.measures["R@100"] == pytest.approx(rows["hybrid"].measures["R@100"])
    assert last.measures[MAIN] > rows["cross-encoder"].measures[MAIN]
    assert last.measures[MAIN] == pytest.approx(last.ceiling)  # this model makes no mistake
    assert os.environ["LLM_URL"] not in (outcome.experiment() / "BenchmarkReport.json").read_text()
