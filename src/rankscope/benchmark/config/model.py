"""The models of a config: its sections, their defaults and what they refuse.

What editors are told (`config_json_schema`), which keys are known, and the record of a config in a
manifest all follow from these models. A new analysis brings its section along: see `ANALYSES`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Self

from pydantic import (
    Field,
    create_model,
    field_validator,
    model_validator,
)

from rankscope.benchmark.case_schema import STRATA
from rankscope.benchmark.config.collection_config import CollectionConfig, TrainingConfig
from rankscope.benchmark.config.rag_spec import BLOCK, RetrievalMetrics
from rankscope.benchmark.config.sections import (
    Measures,
    Names,
    Section,
    entries_of,
    read_section,
    refuse,
)
from rankscope.benchmark.config.system_specs import SWEEP, SweepPoint, SystemSpecs, expanded
from rankscope.benchmark.targets import TargetsGiven
from rankscope.diagnosis.analysis import all_analyses
from rankscope.diagnosis.figures import FIGURES
from rankscope.errors import InputError, RankscopeError, UnknownNameError, shown
from rankscope.measures.definition import LARGEST_CUTOFF
from rankscope.measures.language import (
    DEFAULT_MEASURES,
    Measure,
    parse_measures,
    strict_and_soft,
)
from rankscope.part import DocumentedSchema
from rankscope.retrieval.options import SpecError, given_as
from rankscope.retrieval.registry import SYSTEMS, spec_schema
from rankscope.retrieval.vector.embedders import EMBEDDERS
from rankscope.scoring.plans import meant
from rankscope.scoring.rules import profile_named
from rankscope.statistics.choices import Correction, Family, Method, Test
from rankscope.statistics.settings import Settings

CASE_MEASURES = "hpo"
"""What is measured for cases if nobody says."""

LONGEST_NAME = 200
"""The most characters of a name that becomes a folder's."""

_DEFAULTS = Settings()


# --- sections ------------------------------------------------------------------------------------


class StatisticsConfig(Section):
    """How systems are compared; names, choices and defaults are those of `rankscope.compare`."""

    interval: Method = _DEFAULTS.interval
    """How intervals of means are computed: auto (Student t below 25 queries, BCa from there on,
    Wilson for values 0 and 1), bca or t."""
    test: Test = _DEFAULTS.test
    """How differences are tested: t (sign test for values 0 and 1), permutation or bootstrap."""
    correction: Correction = _DEFAULTS.correction
    """How p-values are corrected: holm, bonferroni, bh or none."""
    family: Family = _DEFAULTS.family
    """What they are corrected over: the pairs of one measure, or all pairs of all measures."""
    level: float = _DEFAULTS.level
    """The confidence of intervals."""
    alpha: float = _DEFAULTS.alpha
    """The accepted chance of a false alarm."""
    resamples: int = _DEFAULTS.resamples
    """How often to resample."""
    seed: int = Field(default=_DEFAULTS.seed, ge=0, lt=2**128)
    """The same seed gives the same numbers."""
    margin: float | None = _DEFAULTS.margin
    """With a margin, differences within it can be shown to be equivalent."""
    cluster: str | None = None
    """A field of the queries: those that share a value belong together, such as paraphrases."""

    @property
    def settings(self) -> Settings:
        """The settings of a comparison."""
        return Settings.of(**self.model_dump(exclude={"cluster"}))

    @model_validator(mode="after")
    def _possible(self) -> Self:
        try:
            _ = self.settings
        except InputError as error:
            refuse(str(error))
        return self


class FetchConfig(Section):
    """How systems are asked."""

    batch: int | None = Field(default=None, ge=1)
    """How many queries are sent at once; if not given, the system's own choice."""
    jobs: int = Field(default=1, ge=1)
    """How many batches are asked at the same time, where a system allows it."""
    retries: int = Field(default=2, ge=0)
    """How often a query that failed is asked again."""
    timeout: float | None = Field(default=None, gt=0)
    """How many seconds a query may take; if not given, 10 for a search engine, 60 for a language
    model, any for what is in this process."""
    rate: float | None = Field(default=None, gt=0)
    """How many queries are asked in a second at most; if not given, any number."""
    cache: bool = True
    """Whether indexes and answers are cached, so that a stopped benchmark goes on where it was."""


class RepeatConfig(Section):
    """How often systems whose answers may vary are asked, to see how much they do."""

    times: int = Field(default=1, ge=1, le=20)
    """How often, the first time included; 1: once."""
    rebuild: bool = False
    """Whether an engine makes its index anew each time."""
    systems: Names = Field(default_factory=list)
    """Which systems, by name; none: all that are remote, approximate, Python code of yours or do
    not promise the same answer."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        """Take a number for how often."""
        is_number = isinstance(data, int) and not isinstance(data, bool)
        if not is_number and not isinstance(data, dict | RepeatConfig):
            refuse(
                "expected how often to ask, such as 3, or a table with times, rebuild and systems, "
                f"got {given_as(data)}"
            )
        return {"times": data} if is_number else data


# --- analyses ------------------------------------------------------------------------------------


ANALYSES = {analysis.name: analysis.config for analysis in all_analyses()}
"""The sections of analyses: under which key, and what may be said there.

A section is a pydantic model that can be made without arguments. Known keys, the JSON schema and
the record of the config follow from it.
"""


ALL = "all"
"""As a name of an analysis: every one there is."""


class _Question(Section):
    """What is asked: the keys before those of analyses."""

    name: str
    """What the benchmark is called."""
    collection: CollectionConfig
    """What is searched and judged."""
    systems: SystemSpecs
    """The systems by name, each a kind with its options, such as bm25: {k1: 1.2}."""
    depth: int = Field(default=100, ge=1, le=LARGEST_CUTOFF)
    """How many documents each system returns at most."""
    baseline: str | None = None
    """The system that the others are compared with; if not given, all with each other."""
    measures: Measures = Field(default_factory=lambda: list(DEFAULT_MEASURES))
    """What is measured."""
    targets: TargetsGiven = Field(default_factory=dict)
    """What should be reached: numbers by measure, the name or file of a set, or a list of both."""
    bands: Names = Field(default_factory=list)
    """Sets of quality bands, by name or file."""
    diagnosis: Names = Field(default_factory=lambda: [ALL])
    """Which analyses look into the results: all of them, or some by name."""


if TYPE_CHECKING:
    _WithAnalyses = _Question
else:
    _WithAnalyses = create_model(
        "_WithAnalyses",
        __base__=_Question,
        **{
            key: (section, Field(default_factory=section, description=section.__doc__))
            for key, section in ANALYSES.items()
        },
    )


class Config(_WithAnalyses):
    """A benchmark."""

    statistics: StatisticsConfig = StatisticsConfig()
    """How systems are compared."""
    training: TrainingConfig = TrainingConfig()
    """What trained parts learn from."""
    fetch: FetchConfig = FetchConfig()
    """How systems are asked."""
    repeat: RepeatConfig = RepeatConfig()
    """How often systems whose answers may vary are asked."""
    swept: dict[str, SweepPoint] = Field(default_factory=dict)
    """The systems that sweeps stand for, by name: filled in from the key sweep of systems, and
    written by nobody."""
    profile: str = "rankscope"
    """Whose rules count: rankscope, or another tool's, such as trec_eval-9."""
    retrieval_metrics: RetrievalMetrics | None = Field(default=None, exclude=True)
    """The RAG specification's way to say what is measured, instead of measures."""

    @model_validator(mode="before")
    @classmethod
    def _translated(cls, data: Any) -> Any:
        """Turn the RAG specification's block into the keys that it stands for."""
        if not isinstance(data, dict):
            return data
        if SWEEP in data:
            refuse(
                "belongs beside the options of a system, as in {qdrant: {sweep: "
                "{params.hnsw_ef: [16, 64]}}}",
                SWEEP,
            )
        data = _with_measures_of_terms(data)
        if isinstance(data.get("systems"), dict):
            systems, swept = expanded(data["systems"])
            data = {**data, "systems": systems, **({"swept": swept} if swept else {})}
        if BLOCK not in data:
            return data
        try:
            block = read_section(RetrievalMetrics, data[BLOCK] or {})
        except SpecError as error:
            raise error.inside(BLOCK) from None
        return block.added_to({**data, BLOCK: block})

    def for_cases(self, fields: Collection[str]) -> Self:
        """Look at the strata of cases, unless other segments are named.

        ``fields`` are those that some question has.
        """
        strata = [name for name in STRATA if name in fields]
        section = ANALYSES["segments"]
        if self.collection.cases is None or not strata or self._names_segments:
            return self
        return self.model_copy(update={"segments": section.model_validate(strata)})

    @property
    def _names_segments(self) -> bool:
        return "segments" in self.model_fields_set or "segments" not in self.analyses

    @property
    def analyses(self) -> dict[str, Any]:
        """The sections of the analyses that are asked for, by their keys."""
        return {
            key: getattr(self, key)
            for key in ANALYSES
            if ALL in self.diagnosis or key in self.diagnosis
        }

    @property
    def measured(self) -> frozenset[str]:
        """The measures by their canonical names: as asked for, and as the profile means them."""
        parsed = meant(self.measures, profile_named(self.profile))
        asked = (Measure.parse(measure.asked) for measure in parsed)
        return frozenset(map(str, [*asked, *(measure.measure for measure in parsed)]))

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            refuse(f"expected one line of 1 to {LONGEST_NAME} characters, got {shown(name)}")
        return name

    @field_validator("profile")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            profile_named(name)
        except UnknownNameError as error:
            refuse(str(error))
        return name

    @model_validator(mode="after")
    def _asked_analyses(self) -> Self:
        """Refuse an analysis that is not known, and a section of one that is not asked for."""
        for place, name in enumerate(self.diagnosis):
            if name != ALL and name not in ANALYSES:
                refuse(
                    str(UnknownNameError("analysis", name, [ALL, *ANALYSES])), "diagnosis", place
                )
        for key, section in ANALYSES.items():
            if key not in self.analyses and getattr(self, key) != section():
                refuse(f"has no effect, as diagnosis does not name {key}; add it there", key)
        return self

    @model_validator(mode="after")
    def _baseline(self) -> Self:
        if self.baseline is not None and self.baseline not in self.systems:
            refuse(str(UnknownNameError("system", self.baseline, self.systems)), "baseline")
        return self

    @model_validator(mode="after")
    def _repeated(self) -> Self:
        for place, name in enumerate(self.repeat.systems):
            if name not in self.systems:
                problem = str(UnknownNameError("system", name, self.systems))
                refuse(problem, "repeat", "systems", place)
        return self

    @model_validator(mode="after")
    def _measured_targets(self) -> Self:
        """Refuse a target of what is not measured; a set may have more than is needed."""
        measured = self.measured
        for keys, entry in entries_of(self.targets):
            for name in entry if isinstance(entry, dict) else ():
                if name not in FIGURES and str(Measure.parse(name)) not in measured:
                    refuse(
                        f"{name} is not measured; add it to measures, or take the target away",
                        "targets",
                        *keys,
                        name,
                    )
        return self


def _with_measures_of_terms(data: dict[str, Any]) -> dict[str, Any]:
    """Return a config, as plain data, in which exact matches and nearness are measured together.

    Cases without measures get those of the benchmark of clinical phrases; without an ontology,
    those of them that need none. What is wrong is left for the checks that follow.
    """
    collection = data.get("collection")
    if not isinstance(collection, dict):
        return data
    has_ontology = collection.get("ontology") is not None
    given = data.get("measures")
    if given is None and collection.get("cases") is not None:
        given = CASE_MEASURES
    elif given is None and has_ontology:
        given = list(DEFAULT_MEASURES)
    if not isinstance(given, str | list) or "retrieval_metrics" in data:
        return data
    try:
        asked = parse_measures(given)
    except RankscopeError:
        return data
    if has_ontology:
        asked = strict_and_soft(asked, of_terms=True)
    elif data.get("measures") is None:
        asked = [parsed for parsed in asked if not parsed.measure.is_soft]
    return {**data, "measures": [parsed.asked for parsed in asked]}


# --- for editors ----------------------------------------------------------------------------------


def config_json_schema() -> dict[str, Any]:
    """Return the JSON schema of a config, with every system and its options."""
    schema = Config.model_json_schema(schema_generator=DocumentedSchema)
    schema["$defs"]["System"] = spec_schema(SYSTEMS)
    schema["$defs"]["NamedSystem"] = _with_sweeps(spec_schema(SYSTEMS))
    schema["$defs"]["Embedder"] = spec_schema(EMBEDDERS)
    schema["properties"]["systems"] |= {
        "minProperties": 1,
        "additionalProperties": {"$ref": "#/$defs/NamedSystem"},
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema


def _with_sweeps(schema: dict[str, Any]) -> dict[str, Any]:
    """Let the options of a system have a sweep beside them."""
    values = {"type": "array", "minItems": 1}
    sweep = {
        "type": "object",
        "description": "Options with lists of values: a system for each combination.",
        "additionalProperties": values,
        "minProperties": 1,
    }
    for entry in schema["anyOf"][1]["properties"].values():
        options = entry["anyOf"][0]
        options["properties"] = {**options.get("properties", {}), SWEEP: sweep}
        options.pop("required", None)  # it may be in the sweep
    return schema
