"""The public names, each with the module it is defined in.

Type checkers read this file, and so does rankscope when a name is used for the first time.
"""

from rankscope.benchmark.by_language import run_languages as run_languages
from rankscope.benchmark.run import run_benchmark as run_benchmark
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
from rankscope.scoring.bounds import Bounds as Bounds
from rankscope.scoring.bounds import bounds as bounds
from rankscope.scoring.evaluate import evaluate as evaluate
from rankscope.scoring.explain import Explanation as Explanation
from rankscope.scoring.explain import explain as explain
from rankscope.scoring.judgments import Judgments as Judgments
from rankscope.scoring.score_files import Accounting as Accounting
from rankscope.scoring.scored_runs import Scores as Scores
from rankscope.scoring.why import Why as Why
from rankscope.scoring.why import why as why
from rankscope.statistics.comparison import Comparison as Comparison
from rankscope.statistics.comparison import compare as compare
from rankscope.statistics.gate import GateResult as GateResult
from rankscope.statistics.gate import gate as gate
from rankscope.statistics.power import PowerReport as PowerReport
from rankscope.statistics.power import power as power

__version__: str
__all__: list[str]
_HOME: dict[str, str]
