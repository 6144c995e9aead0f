"""The config of a benchmark: what is searched, by which systems, and how they are judged.

`read_config` takes the data of `configfile`, applies `overrides`, translates what `rag_spec`
understands, and checks the whole: whatever is wrong is one sentence with file and line. Nothing is
built and no collection is opened here; `CollectionConfig.files` finds the files when asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from rankscope.benchmark.configfile import (
    Keys,
    Section,
    came,
    dotted,
    first_problem,
    read_config_file,
    refuse,
)
from rankscope.benchmark.overrides import Places, Secrets, apply_overrides, find_secrets
from rankscope.benchmark.rag_spec import BLOCK, RetrievalMetrics, translate
from rankscope.errors import (
    FormatError,
    InputError,
    MissingExtraError,
    RankscopeError,
    UnknownNameError,
    shown,
)
from rankscope.files import COMPRESSIONS, PathLike, source_name
from rankscope.measures.definition import LARGEST_CUTOFF
from rankscope.measures.language import Measure, parse_measures
from rankscope.profiles import profile_named
from rankscope.retrieval.embedders import EMBEDDERS
from rankscope.retrieval.learning import FOLDS
from rankscope.retrieval.registry import SYSTEMS, Entry, Registry
from rankscope.retrieval.rerank import RERANKERS
from rankscope.retrieval.rewrite import REWRITERS
from rankscope.statistics.correction import Correction
from rankscope.statistics.equivalence import check_margin
from rankscope.statistics.intervals import Method
from rankscope.statistics.pairwise import Family, Settings
from rankscope.statistics.rows import check_alpha, check_level, check_resamples

__all__ = [
    "CROSS_VALIDATION",
    "CollectionConfig",
    "CollectionFiles",
    "Config",
    "FetchConfig",
    "LoadedConfig",
    "StatisticsConfig",
    "TrainingConfig",
    "config_hash",
    "config_json_schema",
    "read_config",
]

CROSS_VALIDATION = "cross-validation"
"""As a split to train on: the evaluated one, by models that have not seen what they answer."""

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
_Text = Annotated[str, Field(min_length=1)]


# --- collection ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CollectionFiles:
    """The files of a collection, all of which are there.

    ``corpus`` is None where there is none. ``train_qrels`` is what trained parts learn from; None
    means the evaluated judgments, by cross-validation. ``split`` is None where there are no splits.
    """

    corpus: Path | None
    queries: Path
    qrels: Path
    train_qrels: Path | None
    name: str
    split: str | None


class TrainingConfig(Section):
    """What trained parts learn from."""

    split: _Text | None = None
    """A split of the collection, or cross-validation; if not given, train if there is one."""
    qrels: _Text | None = None
    """A file of judgments instead of a split, relative to the config."""
    folds: int = Field(default=FOLDS, ge=2)
    """How many folds the questions are dealt to."""
    seed: int = Field(default=0, ge=0)
    """Another one deals them differently."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.split is not None and self.qrels is not None:
            refuse("training has a split and a qrels file; keep one of them", "qrels")
        return self


class CollectionConfig(Section):
    """What is searched and judged: a folder as BEIR has it, or single files."""

    path: _Text | None = None
    """A folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, relative to the config."""
    split: _Text | None = None
    """Which judgments of the folder are used; if not given, test, or the only ones."""
    corpus: _Text | None = None
    """The documents, where there is no folder; runs that exist need none."""
    queries: _Text | None = None
    """The queries, where there is no folder."""
    qrels: _Text | None = None
    """The judgments, where there is no folder."""
    name: _Text | None = None
    """What reports call the collection; if not given, the folder's name."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        return {"path": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _folder_or_files(self) -> Self:
        single = [key for key in ("corpus", "queries", "qrels") if getattr(self, key) is not None]
        if self.path is not None and single:
            refuse(
                f"collection has a folder (path) and a file ({single[0]}); give path, or queries "
                "and qrels",
                single[0],
            )
        if self.path is None and self.split is not None:
            refuse("collection.split goes with a folder; name the qrels file instead", "split")
        if self.path is None and not {"queries", "qrels"}.issubset(single):
            missing = "queries" if "queries" not in single else "qrels"
            known = "needs path, or queries and qrels" if not single else f"needs {missing}, too"
            refuse(f"collection {known}")
        return self

    def files(self, folder: Path, training: TrainingConfig | None = None) -> CollectionFiles:
        """Find the files; relative paths start in ``folder``.

        Raises:
            InputError: one that is missing, or a split there is not; names what there is.
        """
        training = training or TrainingConfig()
        try:
            return self._found(folder, training)
        except OSError as error:
            place = error.filename or folder
            raise InputError(f"{place}: cannot be looked into ({error.strerror})") from None

    def _found(self, folder: Path, training: TrainingConfig) -> CollectionFiles:
        if self.path is not None:
            return self._in_folder(folder / self.path, folder, training)
        queries = _existing(folder / str(self.queries), "queries")
        qrels = _existing(folder / str(self.qrels), "qrels")
        if training.split not in (None, CROSS_VALIDATION):
            raise InputError(
                f"training.split is {shown(training.split)}, but the collection is no folder with "
                "splits; give training.qrels"
            )
        return CollectionFiles(
            corpus=None if self.corpus is None else _existing(folder / self.corpus, "corpus"),
            queries=queries,
            qrels=qrels,
            train_qrels=_training_file(folder, training),
            name=self.name or qrels.resolve().parent.name,
            split=None,
        )

    def _in_folder(self, home: Path, folder: Path, training: TrainingConfig) -> CollectionFiles:
        if not home.is_dir():
            reason = "is a file, not a folder" if home.exists() else "no such folder"
            raise InputError(f"{home}: {reason}; collection.path names one{_near(home)}")
        queries = _find(home, "queries")
        if queries is None:
            raise InputError(f"{home}: has no queries.jsonl; a collection needs its queries there")
        splits = _splits(home)
        single = _find(home, "qrels", _QRELS) if not splits else None
        if not splits and single is None:
            raise InputError(f"{home}: has no judgments; they are expected in qrels/test.tsv")
        split = None if single is not None and self.split is None else _split(self, home, splits)
        qrels = single if single is not None and split is None else splits[str(split)]
        learnt = _training_file(folder, training)
        wanted = training.split
        if training.qrels is None and wanted != CROSS_VALIDATION:
            if wanted is not None and wanted not in splits:
                raise InputError(_no_split(f"{home}: training.split", wanted, splits))
            learnt = splits.get(wanted or "train")
        return CollectionFiles(
            corpus=_find(home, "corpus"),
            queries=queries,
            qrels=qrels,
            train_qrels=None if learnt == qrels else learnt,
            name=self.name or home.resolve().name,
            split=split,
        )


_TABLES = (".jsonl", ".json", ".tsv", ".csv", ".parquet")
_QRELS = (".tsv", ".qrels", ".txt", ".trec", ".csv", ".jsonl", ".json", ".parquet")


def _find(home: Path, stem: str, suffixes: Sequence[str] = _TABLES) -> Path | None:
    """Return a file of a folder, compressed or not."""
    for suffix in suffixes:
        for compression in ("", *COMPRESSIONS):
            path = home / f"{stem}{suffix}{compression}"
            if path.is_file():
                return path
    return None


def _splits(home: Path) -> dict[str, Path]:
    """Return the judgments of a folder by split."""
    found: dict[str, Path] = {}
    inside = home / "qrels"
    for path in sorted(inside.iterdir()) if inside.is_dir() else []:
        stem = path.name
        if path.suffix.lower() in COMPRESSIONS:
            stem = path.name[: -len(path.suffix)]
        split, dot, suffix = stem.rpartition(".")
        if dot and split and not split.startswith(".") and f".{suffix.lower()}" in _QRELS:
            found.setdefault(split, path)
    return {split: path for split, path in found.items() if path.is_file()}


def _split(collection: CollectionConfig, home: Path, splits: Mapping[str, Path]) -> str:
    """Return the split that is evaluated."""
    wanted = collection.split
    if wanted is None:
        if "test" in splits:
            return "test"
        if len(splits) == 1:
            return next(iter(splits))
        raise InputError(
            f"{home}: has the splits {', '.join(splits)} and no test; say which with "
            "collection.split"
        )
    if wanted not in splits:
        raise InputError(_no_split(f"{home}: collection.split", wanted, splits))
    return wanted


def _no_split(what: str, wanted: str, splits: Mapping[str, Path]) -> str:
    there = f"there are {', '.join(splits)}" if splits else "there are no splits"
    return f"{what}: {UnknownNameError('split', wanted, splits)}; {there}"


def _training_file(folder: Path, training: TrainingConfig) -> Path | None:
    if training.qrels is None:
        return None
    return _existing(folder / training.qrels, "training.qrels")


def _existing(path: Path, what: str) -> Path:
    if path.is_dir():
        raise InputError(f"{path}: is a folder; {what} names a file")
    if not path.exists():
        raise InputError(f"{path}: no such file, which {what} names{_near(path)}")
    return path


def _near(path: Path) -> str:
    from difflib import get_close_matches  # noqa: PLC0415

    there = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, there, n=1)
    return f"; did you mean {path.parent / close[0]}?" if close and close[0] != path.name else ""


# --- the other sections --------------------------------------------------------------------------


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


# --- names and measures --------------------------------------------------------------------------

_INSIDE = "-_.+ ,="
_LONGEST_NAME = 80
_LONGEST_FILE_NAME = 200


def _name_problem(name: str) -> str | None:
    """Say why a name cannot be a file name everywhere; None if it can."""
    if not name or len(name) > _LONGEST_NAME or len(name.encode()) > _LONGEST_FILE_NAME:
        return f"must have 1 to {_LONGEST_NAME} characters"
    wrong = [one for one in name if one not in _INSIDE and not _is_letter(one)]
    if wrong:
        return f"holds {shown(wrong[0])}; use letters, digits and {_INSIDE.strip()}"
    if not _is_letter(name[0]) or name[-1] in ". ":
        return "must begin with a letter or digit, and not end with a dot or space"
    return None


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM"


def _same_file(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


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
_Texts = Annotated[list[_Text], BeforeValidator(_one_or_more)]
_TargetSet = dict[str, float] | str


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
        if not name.strip() or len(name) > _LONGEST_FILE_NAME or not name.isprintable():
            refuse(
                f"name must be one line of 1 to {_LONGEST_FILE_NAME} characters, not {shown(name)}"
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


# --- systems -------------------------------------------------------------------------------------


def check_systems(systems: Mapping[str, Any]) -> None:
    """Refuse names, kinds, options and references that cannot be."""
    if not systems:
        refuse("systems is empty; give at least one, such as lexical: bm25", "systems")
    seen: dict[str, str] = {}
    for name, spec in systems.items():
        problem = _name_problem(name)
        if problem is not None:
            text = f"the system name {shown(name)} {problem}, as it becomes a file name"
            refuse(text, "systems", name)
        other = seen.setdefault(_same_file(name), name)
        if other != name:
            text = f"the systems {other} and {name} differ by case only; rename one"
            refuse(text, "systems", name)
        _check_spec(spec, ("systems", name))
    for name, spec in systems.items():
        for reference, keys in _references(spec, ("systems", name)):
            if reference not in systems and reference not in SYSTEMS.names():
                unknown = UnknownNameError("system", reference, [*systems, *SYSTEMS.names()])
                refuse(f"{dotted(keys)}: {unknown}", *keys)


def _check_spec(spec: Any, keys: Keys) -> None:
    """Check one spec: a kind, or a kind with its options."""
    if isinstance(spec, str):
        kind, given, inside = spec, None, keys
    elif isinstance(spec, dict) and len(spec) == 1:
        ((kind, given),) = spec.items()
        inside = (*keys, kind)
    else:
        refuse(
            f"{dotted(keys)} must be a kind of system with its options, such as bm25: {{k1: 1.2}}, "
            f"not {_listed(spec) if isinstance(spec, dict) else came(spec)}",
            *keys,
        )
    if kind not in SYSTEMS.names():
        refuse(f"{dotted(keys)}: {UnknownNameError('system', kind, SYSTEMS.names())}", *inside)
    _check_options(SYSTEMS.entry(kind), given, inside)


def _listed(spec: Mapping[str, Any]) -> str:
    return f"{len(spec)} keys ({', '.join(map(str, spec))})" if spec else "an empty mapping"


def _check_options(entry: Entry[Any], given: Any, keys: Keys) -> None:
    """Check the names of options, that required ones are there, and values that hold no secret."""
    known = {one.name: one for one in fields(entry.options) if "check" in one.metadata}
    if given is None:
        given = {}
    is_table = isinstance(given, dict)
    if not is_table:
        if not known:
            refuse(f"{entry.name} has no options, but {came(given)} was given", *keys)
        given = {next(iter(known)): given}
    for option in entry.described():
        if option.required and option.name not in given:
            refuse(f"{entry.name} needs the option {option.name}: {option.doc}", *keys)
    for name, value in given.items():
        place = (*keys, name) if is_table else keys
        if name not in known:
            refuse(str(UnknownNameError(f"option of {entry.name}", name, known)), *place)
        _check_value(entry, name, value, known[name].metadata["check"], place)


def _check_value(entry: Entry[Any], name: str, value: Any, check: Any, keys: Keys) -> None:
    part = _part(entry.name, name)
    if name == "of" and entry.name in _STAGES:
        _check_inner(value, keys)
    if part is not None and value is not None:
        _check_part(part, value, name, keys)
    if "${" in json.dumps(value):
        return
    try:
        check(value)
    except MissingExtraError:
        return  # said when the system is made
    except (RankscopeError, ValueError) as error:
        if isinstance(error, RankscopeError):
            refuse(str(error), *keys)
        refuse(f"option {name} of {entry.name} must be {error}, not {came(value)}", *keys)


_STAGES = ("fuse", "rerank", "rewrite")
"""Systems whose option ``of`` names others."""


def _part(kind: str, option: str) -> Registry[Any] | None:
    """Return the register that an option's value, or its name, is looked up in."""
    if (kind, option) == ("vector", "embedder"):
        return EMBEDDERS
    registers: dict[str, Registry[Any]] = {"rerank": RERANKERS, "rewrite": REWRITERS}
    found = registers.get(kind)
    return found if found is not None and option in found.names() else None


def _check_part(registry: Registry[Any], value: Any, option: str, keys: Keys) -> None:
    if registry is not EMBEDDERS:
        _check_options(registry.entry(option), value, keys)
        return
    if isinstance(value, dict) and len(value) == 1:
        ((name, given),) = value.items()
        inside = (*keys, name)
    elif isinstance(value, str) and "${" not in value:
        name, given, inside = value, None, keys
    else:
        return
    if name not in registry.names():
        refuse(str(UnknownNameError(registry.noun, name, registry.names())), *inside)
    _check_options(registry.entry(name), given, inside)


def _check_inner(value: Any, keys: Keys) -> None:
    """Check the specs inside ``of``; names are looked up once all systems are known."""
    for at, one in enumerate(value) if isinstance(value, list) else ((None, value),):
        if isinstance(one, dict):
            _check_spec(one, keys if at is None else (*keys, at))


def _references(spec: Any, keys: Keys) -> Iterator[tuple[str, Keys]]:
    """Yield the names in ``of``, at any depth, with the way to them."""
    if not isinstance(spec, dict):
        return
    for kind, given in spec.items():
        if kind not in _STAGES:
            continue
        of = given.get("of") if isinstance(given, dict) else given
        place = (*keys, kind, "of") if isinstance(given, dict) else (*keys, kind)
        for at, one in enumerate(of) if isinstance(of, list) else ((None, of),):
            own = place if at is None else (*place, at)
            if isinstance(one, str):
                yield one, own
            else:
                yield from _references(one, own)


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


# --- schema for editors --------------------------------------------------------------------------


def config_json_schema() -> dict[str, Any]:
    """Return the JSON schema of a config, with every system and its options, for editors."""
    made = Config.model_json_schema()
    definitions = made.setdefault("$defs", {})
    block = RetrievalMetrics.model_json_schema()
    definitions.update(block.pop("$defs", {}))
    definitions["RetrievalMetrics"] = block
    definitions["System"] = _spec_schema(SYSTEMS)
    definitions["Embedder"] = _spec_schema(EMBEDDERS)
    properties = made["properties"]
    properties["systems"] = {
        "description": properties["systems"]["description"],
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"$ref": "#/$defs/System"},
    }
    properties["collection"] = {
        "anyOf": [{"type": "string"}, {"$ref": "#/$defs/CollectionConfig"}],
    }
    for name in ("measures", "bands", "segments"):
        listed = properties[name]
        kept = {
            key: listed.pop(key) for key in ("description", "default", "title") if key in listed
        }
        properties[name] = {**kept, "anyOf": [{"type": "string"}, listed]}
    for name, one in Config.model_fields.items():
        properties[name].setdefault("description", one.description)
    properties[BLOCK] = {
        "description": "The RAG specification's way to say what is measured, instead of measures.",
        "$ref": "#/$defs/RetrievalMetrics",
    }
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return made


def _spec_schema(registry: Registry[Any]) -> dict[str, Any]:
    """Return the schema of a spec: a kind by name, or one kind with its options."""
    return {
        "anyOf": [
            {
                "type": "string",
                "anyOf": [
                    {"const": entry.name, "description": entry.summary} for entry in registry
                ],
            },
            {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": False,
                "properties": {entry.name: _entry_schema(entry) for entry in registry},
            },
        ]
    }


def _entry_schema(entry: Entry[Any]) -> dict[str, Any]:
    options = {}
    for option in entry.described():
        options[option.name] = {
            **_option_schema(entry.name, option.name, option.default, required=option.required),
            "description": option.doc,
        }
    table = {
        "type": "object",
        "additionalProperties": False,
        "properties": options,
        "required": [option.name for option in entry.described() if option.required],
    }
    short = {"type": ["string", "number", "boolean", "array", "null"]}
    return {"description": entry.summary, "anyOf": [table, short]}


def _option_schema(kind: str, name: str, default: Any, *, required: bool) -> dict[str, Any]:
    """Return what is known of an option's value: its part, or the type of its default."""
    if name == "of" and kind in _STAGES:
        one = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/System"}]}
        return {"type": "array", "items": one, "minItems": 1} if kind == "fuse" else one
    part = _part(kind, name)
    if part is not None:
        return (
            {"$ref": "#/$defs/Embedder"} if part is EMBEDDERS else _entry_schema(part.entry(name))
        )
    if required or default is None:
        return {}
    types = {bool: "boolean", int: "integer", float: "number", str: "string"}
    known = types.get(type(default))
    return {} if known is None else {"default": default, "type": known}
