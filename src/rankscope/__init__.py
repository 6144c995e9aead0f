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
    from rankscope.retrieval.stages.weights import train_weights as train_weights
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
    from rankscope.scoring.why import Why as Why
    from rankscope.scoring.why import why as why
    from rankscope.statistics.comparison import Comparison as Comparison
    from rankscope.statistics.comparison import compare as compare
    from rankscope.statistics.gate import GateResult as GateResult
    from rankscope.statistics.gate import gate as gate
    from rankscope.statistics.power import PowerReport as PowerReport
    from rankscope.statistics.power import power as power

_NAMES = {
    "benchmark.run": ("run_benchmark", "run_languages"),
    "collection.corpus": ("Corpus", "Document", "read_corpus", "stream_corpus"),
    "collection.qrels": ("Qrels", "read_qrels"),
    "collection.queries": ("Queries", "read_queries"),
    "errors": (
        *("FormatError", "InputError", "InvalidDataError", "MissingExtraError"),
        *("Place", "RankscopeError", "UnknownNameError"),
    ),
    "findings": ("Finding",),
    "integrations.asserting": ("QualityError", "assert_at_least"),
    "integrations.convert": ("convert",),
    "measures.judged": ("JudgedRun",),
    "measures.language": ("Measure",),
    "measures.registry": ("measure",),
    "ontology.terms": ("Ontology", "read_ontology"),
    "records.diagnosis": ("Diagnosis", "diagnose"),
    "retrieval.golden": ("RetrieverScores", "evaluate_retriever", "evaluate_retriever_async"),
    "runs.fusion.fuse": ("fuse", "normalize"),
    "runs.table": ("Run", "read_run"),
    "runs.validation": ("Validation", "validate_run"),
    "scale.run_parts": ("RunParts",),
    "scoring.accounting": ("Accounting",),
    "scoring.bounds": ("Bounds", "bounds"),
    "scoring.evaluate": ("evaluate",),
    "scoring.explain": ("Explanation", "explain"),
    "scoring.judgments": ("Judgments",),
    "scoring.scores": ("Scores",),
    "retrieval.stages.weights": ("train_weights",),
    "scoring.why": ("Why", "why"),
    "statistics.comparison": ("Comparison", "compare"),
    "statistics.gate": ("GateResult", "gate"),
    "statistics.power": ("PowerReport", "power"),
}
"""The public names, by the module that each is defined in."""

_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"rankscope.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rankscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
