"""rankscope: how good is a search or RAG system, is it really better, and why.

Everything public is a name of this module; each is loaded on first use, so ``import rankscope``
costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rankscope.benchmark.run import run_benchmark as run_benchmark
    from rankscope.benchmark.run import run_languages as run_languages
    from rankscope.collection.corpus import Corpus as Corpus
    from rankscope.collection.corpus import Document as Document
    from rankscope.collection.corpus import read_corpus as read_corpus
    from rankscope.collection.corpus import stream_corpus as stream_corpus
    from rankscope.collection.qrels import Qrels as Qrels
    from rankscope.collection.qrels import read_qrels as read_qrels
    from rankscope.collection.queries import Queries as Queries
    from rankscope.collection.queries import read_queries as read_queries
    from rankscope.errors import FormatError as FormatError
    from rankscope.errors import InputError as InputError
    from rankscope.errors import InvalidDataError as InvalidDataError
    from rankscope.errors import MissingExtraError as MissingExtraError
    from rankscope.errors import Place as Place
    from rankscope.errors import RankscopeError as RankscopeError
    from rankscope.errors import UnknownNameError as UnknownNameError
    from rankscope.findings import Finding as Finding
    from rankscope.integrations.asserting import QualityError as QualityError
    from rankscope.integrations.asserting import assert_at_least as assert_at_least
    from rankscope.integrations.convert import convert as convert
    from rankscope.measures.judged import JudgedRun as JudgedRun
    from rankscope.measures.language import Measure as Measure
    from rankscope.measures.registry import measure as measure
    from rankscope.ontology.terms import Ontology as Ontology
    from rankscope.ontology.terms import read_ontology as read_ontology
    from rankscope.records.diagnosis import Diagnosis as Diagnosis
    from rankscope.records.diagnosis import diagnose as diagnose
    from rankscope.retrieval.golden import RetrieverScores as RetrieverScores
    from rankscope.retrieval.golden import evaluate_retriever as evaluate_retriever
    from rankscope.retrieval.golden import evaluate_retriever_async as evaluate_retriever_async
    from rankscope.runs.fusion.fuse import fuse as fuse
    from rankscope.runs.fusion.fuse import normalize as normalize
    from rankscope.runs.table import Run as Run
    from rankscope.runs.table import read_run as read_run
    from rankscope.runs.validation import Validation as Validation
    from rankscope.runs.validation import validate_run as validate_run
    from rankscope.scale.run_parts import RunParts as RunParts
    from rankscope.scoring.accounting import Accounting as Accounting
    from rankscope.scoring.bounds import Bounds as Bounds
    from rankscope.scoring.bounds import bounds as bounds
    from rankscope.scoring.evaluate import evaluate as evaluate
    from rankscope.scoring.explain import Explanation as Explanation
    from rankscope.scoring.explain import explain as explain
    from rankscope.scoring.judgments import Judgments as Judgments
    from rankscope.scoring.scores import Scores as Scores
    from rankscope.scoring.weights import train_weights as train_weights
    from rankscope.scoring.why import Why as Why
    from rankscope.scoring.why import why as why
    from rankscope.statistics.compare import Comparison as Comparison
    from rankscope.statistics.compare import compare as compare
    from rankscope.statistics.gate import GateResult as GateResult
    from rankscope.statistics.gate import gate as gate
    from rankscope.statistics.power import PowerReport as PowerReport
    from rankscope.statistics.power import power as power

_HOME = {
    "Accounting": "scoring.accounting",
    "Bounds": "scoring.bounds",
    "Comparison": "statistics.compare",
    "Corpus": "collection.corpus",
    "Diagnosis": "records.diagnosis",
    "Document": "collection.corpus",
    "Explanation": "scoring.explain",
    "Finding": "findings",
    "FormatError": "errors",
    "GateResult": "statistics.gate",
    "InputError": "errors",
    "InvalidDataError": "errors",
    "JudgedRun": "measures.judged",
    "Judgments": "scoring.judgments",
    "Measure": "measures.language",
    "MissingExtraError": "errors",
    "Place": "errors",
    "Ontology": "ontology.terms",
    "PowerReport": "statistics.power",
    "Qrels": "collection.qrels",
    "QualityError": "integrations.asserting",
    "Queries": "collection.queries",
    "RankscopeError": "errors",
    "RetrieverScores": "retrieval.golden",
    "Run": "runs.table",
    "RunParts": "scale.run_parts",
    "Scores": "scoring.scores",
    "UnknownNameError": "errors",
    "Validation": "runs.validation",
    "Why": "scoring.why",
    "assert_at_least": "integrations.asserting",
    "bounds": "scoring.bounds",
    "compare": "statistics.compare",
    "convert": "integrations.convert",
    "diagnose": "records.diagnosis",
    "evaluate": "scoring.evaluate",
    "evaluate_retriever": "retrieval.golden",
    "evaluate_retriever_async": "retrieval.golden",
    "explain": "scoring.explain",
    "fuse": "runs.fusion.fuse",
    "gate": "statistics.gate",
    "measure": "measures.registry",
    "normalize": "runs.fusion.fuse",
    "power": "statistics.power",
    "read_corpus": "collection.corpus",
    "read_ontology": "ontology.terms",
    "read_qrels": "collection.qrels",
    "read_queries": "collection.queries",
    "read_run": "runs.table",
    "run_benchmark": "benchmark.run",
    "run_languages": "benchmark.run",
    "stream_corpus": "collection.corpus",
    "train_weights": "scoring.weights",
    "validate_run": "runs.validation",
    "why": "scoring.why",
}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"rankscope.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rankscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
