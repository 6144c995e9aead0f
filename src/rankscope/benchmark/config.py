"""The config of a benchmark: what is searched, by which systems, and how they are judged.

`read_config` takes the data of `configfile`, applies `overrides`, translates what `rag_spec`
understands, and checks the whole: whatever is wrong is one sentence with file and line. Nothing is
built and no collection is opened here. `config_collection` has the sections of the collection and
of training, `config_systems` the checks of the systems.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from rankscope.benchmark.config_collection import CollectionConfig, TrainingConfig
from rankscope.benchmark.config_keys import Keys, dotted
from rankscope.benchmark.config_sections import Section, Text, came, first_problem, refuse
from rankscope.benchmark.config_systems import LONGEST_FILE_NAME, check_systems
from rankscope.benchmark.configfile import read_config_file
from rankscope.benchmark.overrides import Places, Secrets, apply_overrides, find_secrets
from rankscope.benchmark.rag_spec import BLOCK, RetrievalMetrics, translate
from rankscope.errors import FormatError, InputError, RankscopeError, UnknownNameError, shown
from rankscope.files import PathLike, source_name
from rankscope.measures.definition import LARGEST_CUTOFF
from rankscope.measures.language import Measure, parse_measures
from rankscope.scoring.rules import profile_named
from rankscope.statistics.arrays import check_alpha, check_level, check_resamples
from rankscope.statistics.correction import Correction
from rankscope.statistics.equivalence import check_margin
from rankscope.statistics.intervals import Method
from rankscope.statistics.pairwise import Family, Settings

__all__ = [
    "Config",
    "FetchConfig",
    "LoadedConfig",
    "StatisticsConfig",
    "config_hash",
    "read_config",
]

MEASURES = (
    "nDCG@10",
    "nDCG(gain=exp)@10",
    "AP@100",
    "RR@10",
    "R@50",
    "R@100",
    "Success@10",
)
"""What is measured when a config does not say."""

_DEFAULTS = Settings()
_TestName = Literal["permutation", "bootstrap", "t", "wilcoxon", "sign", "tukey"]


# --- sections ------------------------------------------------------------------------------------


class StatisticsConfig(Section):
    """How systems are compared; names, choices and defaults are those of `rankscope.compare`."""

    interval: Method = _DEFAULTS.interval
    """How intervals are found: bca, percentile, t or wilson."""
    test: _TestName = _DEFAULTS.test
    """What tests differences: permutation, bootstrap, t, wilcoxon, sign or tukey."""
    correction: Correction = _DEFAULTS.correction
    """How p-values are corrected: none, bonferroni, holm or bh."""
    family: Family = _DEFAULTS.family
    """What they are corrected over: the pairs of one measure, or all pairs of all measures."""
    level: float = _DEFAULTS.level
    """The confidence of intervals."""
    alpha: float = _DEFAULTS.alpha
    """The chance of a false alarm that is accepted."""
    resamples: int = _DEFAULTS.resamples
    """How often is resampled."""
    seed: int = Field(default=_DEFAULTS.seed, ge=0, lt=2**128)
    """The same seed gives the same numbers."""
    margin: float | None = _DEFAULTS.margin
    """With a margin, differences within it can be shown to be equivalent."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        checks: dict[str, Any] = {
            "alpha": check_alpha,
            "level": check_level,
            "resamples": check_resamples,
            "margin": check_margin,
        }
        for name, check in checks.items():
            value = getattr(self, name)
            try:
                if value is not None:
                    check(value)
            except InputError as error:
                refuse(f"statistics.{error}", name)
        return self


class FetchConfig(Section):
    """How systems are asked."""

    batch: int | None = Field(default=None, ge=1)
    """How many queries are asked at once; if not given, what the system likes."""
    jobs: int = Field(default=1, ge=1)
    """How many batches are asked at the same time, where a system allows it."""
    retries: int = Field(default=2, ge=0)
    """How often a query that failed is asked again."""
    timeout: float | None = Field(default=None, gt=0)
    """How many seconds a query may take; if not given, 60 for remote systems, any for others."""
    rate: float | None = Field(default=None, gt=0)
    """How many queries are asked in a second at most; if not given, any number."""


# --- measures and targets ------------------------------------------------------------------------


def _one_or_more(value: Any) -> Any:
    """Take one text as a list of one."""
    return [value] if isinstance(value, str) else value


def _measure_text(value: Any) -> Any:
    if not isinstance(value, str):
        refuse(
            f"a measure is text such as nDCG@10, not {came(value)}; quote one that holds a comma"
        )
    try:
        parse_measures(value)
    except RankscopeError as error:
        refuse(str(error))
    return value


def _targets(value: Any) -> Any:
    """Check the shape of targets: a mapping from measures to numbers, a set, or a list of these."""
    if isinstance(value, list):
        for at, one in enumerate(value):
            _target(one, at)
    else:
        _target(value)
    return value


def _target(value: Any, *keys: int) -> None:
    if isinstance(value, str) and value:
        return
    if not isinstance(value, dict):
        refuse(
            "targets are a mapping such as nDCG@10: 0.4, or the name or file of a set, not "
            f"{came(value)}",
            *keys,
        )
    known: dict[Measure, str] = {}
    for name, number in value.items():
        try:
            measure = Measure.parse(name)
        except RankscopeError as error:
            refuse(f"targets: {error}", *keys, name)
        if measure in known:
            refuse(
                f"targets: {shown(name)} and {shown(known[measure])} are the same measure",
                *keys,
                name,
            )
        known[measure] = name
        if isinstance(number, bool) or not isinstance(number, int | float):
            refuse(f"targets: {measure} needs a number, not {came(number)}", *keys, name)


_MeasureText = Annotated[str, BeforeValidator(_measure_text)]
_Texts = Annotated[list[Text], BeforeValidator(_one_or_more)]
_TargetSet = dict[str, float] | str


# --- the whole config ----------------------------------------------------------------------------


class Config(Section):
    """A benchmark."""

    name: str
    """What the benchmark is called."""
    collection: CollectionConfig
    """What is searched and judged."""
    systems: dict[str, Any]
    """The systems by name, each a kind with its options, such as bm25: {k1: 1.2}."""
    depth: int = Field(default=100, ge=1, le=LARGEST_CUTOFF)
    """How many documents each system returns at most."""
    baseline: str | None = None
    """The system that the others are compared with; if not given, all with each other."""
    measures: Annotated[list[_MeasureText], BeforeValidator(_one_or_more)] = Field(
        default_factory=lambda: list(MEASURES)
    )
    """What is measured."""
    targets: Annotated[_TargetSet | list[_TargetSet], BeforeValidator(_targets)] = Field(
        default_factory=dict
    )
    """What should be reached: numbers by measure, the name or file of a set, or a list of both."""
    bands: _Texts = Field(default_factory=list)
    """Sets of quality bands, by name or file."""
    segments: _Texts = Field(default_factory=list)
    """Fields of the queries by which means are broken down."""
    statistics: StatisticsConfig = StatisticsConfig()
    """How systems are compared."""
    training: TrainingConfig = TrainingConfig()
    """What trained parts learn from."""
    fetch: FetchConfig = FetchConfig()
    """How systems are asked."""
    profile: str = "rankscope"
    """Whose rules count: rankscope, or another tool's, such as trec_eval-9."""

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        if not name.strip() or len(name) > LONGEST_FILE_NAME or not name.isprintable():
            refuse(
                f"name must be one line of 1 to {LONGEST_FILE_NAME} characters, not {shown(name)}"
            )
        return name

    @field_validator("measures")
    @classmethod
    def _each_once(cls, asked: list[str]) -> list[str]:
        """Keep each measure once, under the first name it was asked for."""
        if not asked:
            refuse("measures is empty; name one, such as nDCG@10, or leave the key out")
        return [_label(parsed.asked, parsed.measure) for parsed in parse_measures(asked)]

    @field_validator("segments", "bands")
    @classmethod
    def _no_two(cls, values: list[str]) -> list[str]:
        for at, value in enumerate(values):
            if value in values[:at]:
                refuse(f"{shown(value)} stands twice; keep one", at)
        return values

    @field_validator("profile")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            profile_named(name)
        except UnknownNameError as error:
            refuse(str(error))
        return name

    @model_validator(mode="after")
    def _systems(self) -> Self:
        check_systems(self.systems)
        if self.baseline is not None and self.baseline not in self.systems:
            unknown = UnknownNameError("system", self.baseline, self.systems)
            refuse(f"baseline: {unknown}", "baseline")
        return self


def _label(asked: str, measure: Measure) -> str:
    """Return the name a measure was asked for, if that alone means it."""
    alone = [parsed.measure for parsed in parse_measures(asked)]
    return asked if alone == [measure] else str(measure)


# --- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A config that was read and checked.

    ``folder`` is where its relative paths start, ``source`` how messages call it, ``overrides``
    what was set from outside, by dotted key, and ``notes`` sentences that the user should read.
    """

    config: Config
    folder: Path
    source: str
    overrides: dict[str, Any]
    secrets: Secrets
    notes: tuple[str, ...]
    places: Places | None = field(default=None, repr=False, compare=False)

    def plain(self) -> dict[str, Any]:
        """Return the whole config, defaults included, ready for JSON; secrets are ``${NAME}``."""
        return self.config.model_dump(mode="json")

    @property
    def sha256(self) -> str:
        """The hash of what the config says, whatever the file looks like."""
        return config_hash(self.plain())

    def systems(self) -> dict[str, Any]:
        """Return the specs of the systems by name, with secrets in them: not to be recorded."""
        made: dict[str, Any] = self.secrets.expand(self.config.systems)
        return made

    def error(self, keys: Keys, problem: str) -> FormatError:
        """Return the error that a value is wrong, with the file and line where it was said."""
        hidden = self.secrets.hide(problem)
        if self.places is None:
            return FormatError(hidden, source=self.source)
        return self.places.error(keys, hidden)


def config_hash(plain: Mapping[str, Any]) -> str:
    """Return the hash of a config as plain data."""
    text = json.dumps(
        plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def read_config(
    path: PathLike,
    *,
    settings: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> LoadedConfig:
    """Read and check the config of a benchmark.

    ``settings`` are those of ``--set``, such as ``depth=50``; ``environment`` is asked for settings
    and secrets (None: that of the process).

    Raises:
        InputError: what is wrong, in one sentence, with file and line or the setting.
    """
    environment = os.environ if environment is None else environment
    places = Places(read_config_file(path))
    data = apply_overrides(places, settings, environment, _sections())
    secrets = find_secrets(data, environment, places)
    notes: list[str] = []
    if BLOCK in data:
        data, notes = translate(data, places)
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        keys, problem = first_problem(error, Config)
        raise places.error(keys, problem) from None
    standard_input = os.fspath(path) == "-"
    return LoadedConfig(
        config=config,
        folder=Path.cwd() if standard_input else Path(path).absolute().parent,
        source=source_name(path),
        overrides={dotted(one.keys): one.value for one in places.overrides},
        secrets=secrets,
        notes=(*notes, *_merged(data.get("measures"))),
        places=places,
    )


def _sections() -> dict[str, list[str]]:
    """Return the keys of a config, each with those inside it."""
    kinds: dict[str, Any] = {key: one.annotation for key, one in Config.model_fields.items()}
    kinds[BLOCK] = RetrievalMetrics
    return {key: list(getattr(kind, "model_fields", ())) for key, kind in kinds.items()}


def _merged(asked: Any) -> Iterator[str]:
    """Say which measures stand in a list under two names."""
    known: dict[Measure, str] = {}
    for name in asked if isinstance(asked, list) else ():
        for parsed in parse_measures(name):
            first = known.setdefault(parsed.measure, name)
            if first != name:
                yield f"measures: {shown(name)} is the same as {shown(first)}, and is reported once"
