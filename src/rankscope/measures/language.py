"""The language of measures: text in, `Measure` out, and back.

A measure is written ``name``, ``name@cutoff`` or ``name(parameter=value,…)@cutoff``::

    nDCG@10    nDCG(gain=exp)@10    AP(rel=2)@100    RBP(p=0.95)    nDCG(gain={1:1,2:4})

The names other tools use are understood too (see `rankscope.measures.names`). ``str(measure)`` is
canonical: parameters that have their default are left out and the others are in the order of the
definition. It parses back to an equal measure and is the only name outputs use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures import names
from rankscope.measures.definition import (
    LARGEST_CUTOFF,
    NEARNESS,
    Definition,
    Need,
    Value,
    written,
)
from rankscope.measures.names import Request
from rankscope.measures.parsing import ONE_LIST, Reader, words
from rankscope.measures.registry import all_definitions, definition_of, known_names

__all__ = ["Measure"]

DEFAULT_MEASURES = ("nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "Success@10")
"""What is measured when nothing is asked for."""

LONGEST = 500
"""No measure is written with more characters."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its parameters and cutoff: a value that can be compared and hashed.

    Made by `Measure.parse` or `Measure.of`; it is always checked, and only parameters that differ
    from their default are kept.

    >>> Measure.of("nDCG", cutoff=10, gain="exp")
    Measure('nDCG(gain=exp)@10')
    >>> Measure.parse("ndcg_cut_10") == Measure("nDCG", cutoff=10)
    True
    """

    name: str
    params: tuple[tuple[str, Value], ...] = ()
    cutoff: int | None = None

    def __post_init__(self) -> None:
        definition = definition_of(self.name)
        object.__setattr__(self, "params", _checked_params(definition, dict(self.params)))
        object.__setattr__(self, "cutoff", _checked_cutoff(definition, self.cutoff))

    @classmethod
    def of(cls, name: str, *, cutoff: int | None = None, **params: object) -> Measure:
        """Make a measure from its own name, cutoff and parameters."""
        return cls(name, cast("tuple[tuple[str, Value], ...]", tuple(params.items())), cutoff)

    @classmethod
    def parse(cls, text: str | Measure) -> Measure:
        """Read one measure in our notation or in another tool's."""
        if isinstance(text, Measure):
            return text
        parsed = parse_measures([text])
        if len(parsed) != 1:
            raise InputError(
                f"{shown(str(text))} stands for {len(parsed)} measures where one was expected; "
                f"the first is {parsed[0].measure}"
            )
        return parsed[0].measure

    @property
    def definition(self) -> Definition:
        """What the measure means."""
        definition = definition_of(self.name)
        is_pooled = ("mean", "micro") in self.params
        return replace(definition, aggregate="pooled") if is_pooled else definition

    @property
    def options(self) -> dict[str, Value]:
        """All parameters, those that have their default included."""
        chosen = {item.name: item.default for item in self.definition.parameters}
        chosen.update(self.params)
        return chosen

    @property
    def needs(self) -> Need:
        """What a run must have beside hits and judgments; ``terms`` if nearness is the grade."""
        return self.definition.needs or ("terms" if self.is_soft else "")

    @property
    def is_soft(self) -> bool:
        """Whether it counts how near terms of an ontology are, and not exact matches only."""
        return self.definition.needs == "terms" or "sim" in dict(self.params)

    @property
    def strict(self) -> Measure | None:
        """For a measure that counts nearness, the one that counts exact matches; else None."""
        if not self.is_soft:
            return None
        if self.definition.strict:
            return Measure(self.definition.strict, cutoff=self.cutoff)
        near = {item.name for item in NEARNESS if item in self.definition.parameters}
        return Measure(
            self.name, tuple(pair for pair in self.params if pair[0] not in near), self.cutoff
        )

    def replaced(self, *, cutoff: int | None = None, **params: object) -> Measure:
        """Return this measure with another cutoff or other parameters."""
        merged = {**dict(self.params), **params}
        return Measure.of(self.name, cutoff=self.cutoff if cutoff is None else cutoff, **merged)

    def with_level(self, level: float) -> Measure:
        """Return this measure with another lowest grade that counts as relevant.

        What has a level of its own keeps it, and so do measures that look at gains (nDCG), as with
        trec_eval's ``-l``.

        >>> Measure.parse("AP@10").with_level(2), Measure.parse("nDCG@10").with_level(2)
        (Measure('AP(rel=2)@10'), Measure('nDCG@10'))
        """
        gain = self.options.get("gain", "binary")
        has_level = self.definition.parameter("rel") is not None and gain == "binary"
        return self.replaced(rel=level) if has_level and "rel" not in dict(self.params) else self

    def __str__(self) -> str:
        inside = ",".join(f"{name}={written(value)}" for name, value in self.params)
        brackets = f"({inside})" if inside else ""
        return f"{self.name}{brackets}" + ("" if self.cutoff is None else f"@{self.cutoff}")

    def __repr__(self) -> str:
        return f"Measure({str(self)!r})"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A measure and the text it was asked for as."""

    measure: Measure
    asked: str
    has_level: bool = False
    """Whether the text says itself which grade counts as relevant."""

    def with_level(self, level: float) -> Parsed:
        """Return it with another relevance level, unless the text has one: ``AP(rel=1)``."""
        return self if self.has_level else replace(self, measure=self.measure.with_level(level))

    @property
    def is_foreign(self) -> bool:
        """Whether it was asked for by another name than its own."""
        return self.asked != str(self.measure)

    def __str__(self) -> str:
        return f"{self.measure}, asked for as {self.asked}" if self.is_foreign else self.asked


def _checked_cutoff(definition: Definition, cutoff: object) -> int | None:
    name = definition.name
    if cutoff is None:
        if definition.cutoff == "required":
            raise InputError(f"{name} needs a cutoff; write {definition.example}")
        return None
    if definition.cutoff == "none":
        raise InputError(f"{name} takes no cutoff; write {definition.example}")
    if isinstance(cutoff, bool) or not isinstance(cutoff, int) or not 1 <= cutoff <= LARGEST_CUTOFF:
        raise InputError(
            f"{name}: the cutoff must be a whole number between 1 and {LARGEST_CUTOFF}, "
            f"not {cutoff if isinstance(cutoff, int | float) else shown(cutoff)}"
        )
    return cutoff


def _checked_params(
    definition: Definition, given: dict[str, object]
) -> tuple[tuple[str, Value], ...]:
    name = definition.name
    chosen: dict[str, Value] = {}
    for parameter in definition.parameters:
        if parameter.name in given:
            value = parameter.checked(given.pop(parameter.name), name)
            if value != parameter.default or type(value) is not type(parameter.default):
                chosen[parameter.name] = value
    if given:
        known = ", ".join(parameter.name for parameter in definition.parameters)
        raise InputError(f"{name} has no parameter {shown(next(iter(given)))}; it takes {known}")
    if chosen.get("mean") == "micro" and "sim" in chosen:
        raise InputError(f"{name}: mean=micro counts documents and takes no sim")
    gain = definition.parameter("gain")
    by_gain = gain is not None and chosen.get("gain", gain.default) != "binary"
    if by_gain and "rel" in chosen:
        raise InputError(f"{name}: rel counts only with gain=binary")
    is_near = "sim" in chosen and definition.parameter("sim") in NEARNESS
    has_level = not by_gain and definition.parameter("rel") is not None
    level = chosen.get("rel", 1.0)
    if is_near and has_level and isinstance(level, float) and level >= 1:
        raise InputError(  # one value would go by two names
            f"{name}: sim has no effect where only grade {written(level)} counts as relevant, "
            "which only exact matches have; give a lower level, such as rel=0.7"
        )
    return tuple(chosen.items())


# --- text to requests ----------------------------------------------------------------------------

_LEVEL = re.compile(r"(.+)-l([0-9]{1,6})", re.IGNORECASE)
_AT = re.compile(r"(.+)_at_([0-9]{1,12})", re.IGNORECASE)


def _requests(text: str) -> list[Request]:
    """Read one word of a list of measures, which may stand for several."""
    if text.casefold() in names.SETS:
        return [
            replace(request, label=request.label or word)
            for word in names.SETS[text.casefold()]
            for request in _own(word)
        ]
    trec = names.from_trec_eval(text)
    if trec is not None:
        return trec
    level = _LEVEL.fullmatch(text)  # ranx: map@100-l2
    if level is not None:
        return [_from_level(request, int(level[2])) for request in _requests(level[1])]
    text = names.from_sentence_transformers(text)
    at = _AT.fullmatch(text)  # MTEB: ndcg_at_10
    return _own(f"{at[1]}@{at[2]}" if at is not None else text)


def _from_level(request: Request, level: int) -> Request:
    """Count documents from a level up: as relevant, or where gains count, as gaining something."""
    definition = definition_of(request.name)
    gain = definition.parameter("gain")
    by_gain = gain is not None and request.params.get("gain", gain.default) != "binary"
    has_least = by_gain and definition.parameter("least") is not None
    rule = {"least": level} if has_least else {"rel": level}
    return Request(request.name, {**request.params, **rule}, request.cutoff)


def _own(text: str) -> list[Request]:
    if names.fold(text) in ("map@r", "ap@r"):
        return [Request("AP_R")]
    reader = Reader(text)
    name = reader.name("a measure's name")
    params = reader.parameters() if reader.take("(") else {}
    cutoffs: list[object] = [None]
    if reader.take("@"):
        cutoffs = list(reader.cutoffs())
    if text[reader.at :].strip():
        reader.fail("nothing more")
    if "cutoff" in params and cutoffs == [None]:
        cutoffs = [params.pop("cutoff")]
    meant = _meaning(name, params, cut=cutoffs != [None])
    several = len(cutoffs) > 1
    requests = []
    for cutoff in cutoffs:
        label = f"{text[: text.rindex('@')]}@{cutoff}" if several else ""
        request = Request(meant.name, {**meant.params}, cutoff, label)
        if meant.name == "IPrec" and cutoff is not None:  # ir_measures: IPrec@0.1
            request = Request(meant.name, {**meant.params, "recall": cutoff}, None, label)
        requests.append(request)
    return requests


def _meaning(name: str, params: dict[str, object], *, cut: bool) -> Request:
    """Find the measure a name stands for: our own, else another tool's, else in another case."""
    alias = names.alias_of(name, cut=cut)
    ours = _ours(name, cut=cut)
    if ours is None and alias is None:
        all_definitions()  # brings in the measures of other packages
        ours = _ours(name, cut=cut)
    if ours == "Accuracy" and cut:  # a success rate everywhere but in ir_measures
        ours = None
    if ours is not None:
        alias = Request(ours)
    if alias is None and name.casefold() in names.SETS:
        raise InputError(f"{name} stands for several measures with their cutoffs; write {name}")
    if alias is None:
        known = [definition.name for definition in all_definitions()]
        raise UnknownNameError(
            "measure", name, [*names.SETS, *names.SPELLED, *names.NICKNAMES, *known]
        )
    parameters = definition_of(alias.name).parameters
    folded = {item.name.casefold(): item.name for item in parameters}  # RBP(P=0.8) is forgiven
    renamed = names.renamed_parameters(alias.name, params)
    given = {folded.get(name.casefold(), name): value for name, value in renamed.items()}
    target = alias.name
    if target == "NumRet" and "rel" in given:  # ir_measures: NumRet(rel=1)
        target = "NumRelRet"
    return Request(target, {**alias.params, **given})


def _ours(name: str, *, cut: bool) -> str | None:
    """Return our name for a name spelled in some case, among those that are loaded."""
    loaded = known_names()
    if name in loaded or names.is_exact(name, cut=cut):
        return name if name in loaded else None
    folded = names.fold(name)
    return next((ours for ours in loaded if names.fold(ours) == folded), None)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[Parsed, ...]:
    if len(text) > 20 * LONGEST:
        raise InputError(f"a list of measures cannot be {len(text)} characters long")
    listed = words(text)
    if not listed:
        raise InputError("expected a measure such as nDCG@10, not an empty text")
    return tuple(request for word in listed for request in _word(word))


def _word(word: str, *, strict: bool = False) -> list[Parsed]:
    if len(word) > LONGEST:
        raise InputError(f"cannot read the measure {shown(word)}: it is too long")
    requests = names.from_trec_eval(word, strict=True) if strict else _requests(word)
    if requests is None:
        raise UnknownNameError("trec_eval measure", word, [*names.NICKNAMES, *names.TREC_NAMES])
    parsed = []
    for request in requests:
        params = cast("tuple[tuple[str, Value], ...]", tuple(request.params.items()))
        measure = Measure(request.name, params, cast("int | None", request.cutoff))
        parsed.append(Parsed(measure, request.label or word, "rel" in request.params))
    return parsed


def parse_measures(
    source: str | Measure | Iterable[str | Measure], *, relevance_level: float | None = None
) -> list[Parsed]:
    """Read a list of measures: one text, or several texts and measures (ir_measures' too).

    Some names stand for several measures (``ndcg_cut.5,10``, ``nDCG@5,10``, ``all_trec``). Each
    measure keeps the name it was asked for; one that is asked for twice is kept once. Those that
    count relevant documents take the ``relevance_level``, unless they name one: ``AP(rel=1)``.

    >>> [str(parsed) for parsed in parse_measures("nDCG@10 map_cut.5,10")]
    ['nDCG@10', 'AP@5, asked for as map_cut_5', 'AP@10, asked for as map_cut_10']
    """
    if isinstance(source, Mapping):
        raise InputError(f"{shown(source)} is no list of measures{ONE_LIST}")
    several = isinstance(source, Iterable) and not isinstance(source, str)
    items = cast("Iterable[object]", source if several else [source])
    by_measure: dict[Measure, Parsed] = {}
    for item in items:
        if isinstance(item, Measure):
            measures: Iterable[Parsed] = [Parsed(item, str(item))]
        elif isinstance(item, str) or type(item).__module__.startswith("ir_measures."):
            measures = _parsed(str(item))
        else:
            kind = type(item).__name__
            raise InputError(
                f"a measure is given as text such as 'nDCG@10', not as {kind} {shown(item)}"
                f"{ONE_LIST}"
            )
        for parsed in measures:
            meant = parsed if relevance_level is None else parsed.with_level(relevance_level)
            by_measure.setdefault(meant.measure, meant)
    return list(by_measure.values())


def strict_and_soft(measures: Iterable[Parsed], *, of_terms: bool = False) -> list[Parsed]:
    """Return measures such that none counts nearness without one beside it that does not.

    After each that counts how near terms are comes the one that counts exact matches only. Where
    documents are known to be terms (``of_terms``) and nothing counts nearness, MaxOntSim is added.

    >>> [parsed.asked for parsed in strict_and_soft(parse_measures("MaxOntSim@5 RR"))]
    ['MaxOntSim@5', 'Success@5', 'RR']
    """
    wanted = list(measures)
    if of_terms and not any(parsed.measure.is_soft for parsed in wanted):
        cutoffs = [parsed.measure.cutoff for parsed in wanted if parsed.measure.cutoff is not None]
        near = Measure("MaxOntSim", cutoff=cutoffs[0] if cutoffs else 10)
        wanted.append(Parsed(near, str(near)))
    known = {parsed.measure for parsed in wanted}
    together: dict[Measure, Parsed] = {}
    for parsed in wanted:
        together[parsed.measure] = parsed
        strict = parsed.measure.strict
        if strict is not None and strict not in known:
            together.setdefault(strict, Parsed(strict, str(strict)))
    return list(together.values())


def parse_trec_measures(text: str) -> list[Parsed]:
    """Read one ``-m`` of trec_eval's command line, as trec_eval would.

    Here a bare ``P`` or ``recall`` is its nine cutoffs, and every label is the one it prints.

    >>> [parsed.asked for parsed in parse_trec_measures("success")]
    ['success_1', 'success_5', 'success_10']
    """
    return _word(text.strip(), strict=True)
