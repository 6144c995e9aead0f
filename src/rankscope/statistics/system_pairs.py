"""A pair of systems that were compared, and many of them: numbers in columns, parts on demand.

1,000 systems have 499,500 pairs. A `Pair` takes some 3 KB, and most are never looked at; so `Pairs`
keeps what is asked of all of them (who, and what the test shows) in arrays, and makes a `Pair` when
it is looked at. It behaves as the tuple that it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, get_args, overload

import numpy as np
import numpy.typing as npt
from pydantic import GetCoreSchemaHandler, SerializationInfo, model_validator
from pydantic_core import CoreSchema, core_schema

from rankscope.part import High, Part, left_out
from rankscope.statistics import sentences
from rankscope.statistics.arrays import BoolArray, IntArray
from rankscope.statistics.intervals import Interval

Verdict = Literal["better", "worse", "can't tell", "equivalent"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""The column of verdicts holds their places in this list."""

MADE = 1_024
"""How many parts are made at once, where all are looked at one after the other."""

KEPT = 2_048
"""Up to so many parts are kept once they are made."""


class Equivalence(Part):
    """Whether a difference as large as a margin is ruled out."""

    margin: float
    """The margin."""
    p: float
    """The larger of two one-sided p-values, corrected over the family."""


class Pair(Part):
    """One system against another on one measure; differences are system − base."""

    measure: str
    """The measure."""
    base: str
    """The system compared with."""
    system: str
    """The system compared."""
    queries: int
    """Queries compared."""
    base_mean: float
    """Mean of the base."""
    system_mean: float
    """Mean of the system."""
    difference: float
    """Mean of system minus base."""
    interval: Interval
    """Of the difference, at the level that the correction leaves this pair: it holds 0 if and only
    if no difference is shown."""
    wins: int
    """Queries on which the system is better."""
    losses: int
    """Queries on which the base is better."""
    d: High
    """The difference in standard deviations of the per-query differences; null if infinite, as they
    do not vary."""
    p: float
    """Of the test, before correction."""
    p_corrected: float
    """Corrected over the family of tests."""
    family: int
    """How many tests are in that family."""
    method: str
    """The test, and how its p-value was found."""
    verdict: Verdict
    """What the test shows."""
    drawn: int
    """How many units of chance there are: queries, or clusters of them."""
    differing: int
    """How many of those differ."""
    decidable: bool
    """Whether any outcome on the queries that differ could have been significant."""
    detectable: High
    """About the smallest true difference that queries like these show with power 0.8, at the
    hardest step of the correction; null if there is none within the measure's range."""
    equivalence: Equivalence | None = left_out()
    """Whether they are the same within the margin; null where none was given."""

    @model_validator(mode="before")
    @classmethod
    def _infinite_effects_have_a_sign(cls, data: Any) -> Any:
        """Read an infinite effect, which is null in JSON, with the sign of the difference."""
        if isinstance(data, dict) and data.get("d", 0.0) is None:
            return {**data, "d": float("-inf") if data["difference"] < 0 else float("inf")}
        return data

    @property
    def relative(self) -> float | None:
        """The difference as a part of the base's mean; None where that is 0."""
        return self.difference / self.base_mean if self.base_mean else None

    @property
    def ties(self) -> int:
        """Queries on which both are the same."""
        return self.queries - self.wins - self.losses

    @property
    def is_same(self) -> bool:
        """Whether both have the same value on every query."""
        return self.ties == self.queries

    @property
    def is_least_p(self) -> bool:
        """Whether p is the least that so few queries that differ can show, whatever they say."""
        return self.differing > 1 and self.p == 2.0 ** (1 - self.differing)

    @property
    def sentence(self) -> str:
        """The verdict in words, with the numbers behind it."""
        return f"{self.measure}: {sentences.pair_sentence(self)}"


class Pairs(Sequence[Pair]):
    """Pairs that were compared, measure by measure; each `Pair` is made when it is looked at.

    ``make`` returns the pairs of some rows. The columns have a number for each row: which of
    ``measures``, and which of ``systems`` is the base and which the system.
    """

    __slots__ = (
        *("_kept", "_make", "_places"),
        *("base", "measure", "measures", "system", "systems", "verdict"),
    )

    def __init__(
        self,
        make: Callable[[IntArray], Sequence[Pair]],
        *,
        measures: Sequence[str],
        systems: Sequence[str],
        measure: IntArray,
        base: IntArray,
        system: IntArray,
        verdict: npt.NDArray[np.int8],
    ) -> None:
        self._make = make
        self._kept: tuple[Pair, ...] | None = None
        self._places: tuple[IntArray, IntArray] | None = None
        self.measures = tuple(measures)
        self.systems = tuple(systems)
        self.measure, self.base, self.system, self.verdict = measure, base, system, verdict

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Pairs:
        """Return pairs that are made already, such as those of a file."""
        made = tuple(pairs)
        measures = _numbered(pair.measure for pair in made)
        systems = _numbered(name for pair in made for name in (pair.base, pair.system))
        pairs_of = cls(
            lambda rows: [made[row] for row in rows.tolist()],
            measures=list(measures),
            systems=list(systems),
            measure=np.array([measures[pair.measure] for pair in made], dtype=np.int64),
            base=np.array([systems[pair.base] for pair in made], dtype=np.int64),
            system=np.array([systems[pair.system] for pair in made], dtype=np.int64),
            verdict=np.array([VERDICTS.index(pair.verdict) for pair in made], dtype=np.int8),
        )
        pairs_of._kept = made
        return pairs_of

    def __len__(self) -> int:
        return len(self.verdict)

    @overload
    def __getitem__(self, place: int) -> Pair: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Pair, ...]: ...
    def __getitem__(self, place: int | slice) -> Pair | tuple[Pair, ...]:
        rows = range(len(self))[place]  # as a tuple has it: from the end, out of range, by steps
        return self.at([rows])[0] if isinstance(rows, int) else tuple(self.at(rows))

    def __iter__(self) -> Iterator[Pair]:
        return self.each()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(Pair.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self):,} pairs>" if len(self) > KEPT else repr(tuple(self))

    def at(self, rows: Sequence[int] | IntArray) -> list[Pair]:
        """Return the pairs of some rows, made together."""
        if self._kept is None and len(self) <= KEPT:
            self._kept = tuple(self._make(np.arange(len(self))))
        if self._kept is not None:
            return [self._kept[row] for row in rows]
        return list(self._make(np.asarray(rows, dtype=np.int64)))

    def rows(
        self,
        *,
        measure: str | None = None,
        base: str | None = None,
        system: str | None = None,
        among: Iterable[str] | None = None,
    ) -> IntArray:
        """Return the rows of a measure, a base, a system, or pairs ``among`` some systems."""
        chosen: BoolArray = np.ones(len(self), dtype=bool)
        for name, names, column in (
            (measure, self.measures, self.measure),
            (base, self.systems, self.base),
            (system, self.systems, self.system),
        ):
            if name is not None:
                chosen &= column == (names.index(name) if name in names else -1)
        if among is not None:
            wanted = set(among)
            shown = np.array([name in wanted for name in self.systems], dtype=bool)
            chosen &= shown[self.base] & shown[self.system]
        return np.flatnonzero(chosen)

    def each(self, **chosen: Any) -> Iterator[Pair]:
        """Yield the pairs of `rows`; those that are not looked at are not made."""
        rows = self.rows(**chosen)
        for start in range(0, len(rows), MADE):
            yield from self.at(rows[start : start + MADE])

    def select(self, **chosen: Any) -> list[Pair]:
        """Return the pairs of `rows`."""
        return list(self.each(**chosen))

    def find(self, *, measure: str, base: str | None, system: str) -> Pair | None:
        """Return the pair of a base and a system; None if they were not compared so."""
        count = len(self.systems)
        if self._places is None:
            keys = (self.measure * count + self.base) * count + self.system
            order = np.argsort(keys)
            self._places = keys[order], order
        try:
            place = self.measures.index(measure)
            first, second = (self.systems.index(name) for name in (base or "", system))
        except ValueError:
            return None
        keys, order = self._places
        key = (place * count + first) * count + second
        at = int(np.searchsorted(keys, key))
        return self.at(order[at : at + 1])[0] if at < len(keys) and keys[at] == key else None

    def names(self, *, measure: str) -> list[str]:
        """Return which pairs there are, as people call them."""
        rows = self.rows(measure=measure)
        named = zip(self.system[rows].tolist(), self.base[rows].tolist(), strict=True)
        return [f"{self.systems[system]} against {self.systems[base]}" for system, base in named]

    def separated(self, rows: IntArray) -> BoolArray:
        """Tell which rows are shown to differ."""
        return np.asarray(self.verdict[rows] < VERDICTS.index("can't tell"))

    def apart(self, measure: str, systems: Sequence[str]) -> BoolArray:
        """Return ``[s, s]``: which of some systems are shown to differ, for letters and groups."""
        place = {name: at for at, name in enumerate(systems)}
        rows = self.rows(measure=measure, among=systems)
        rows = rows[self.separated(rows)]
        places = np.array([place.get(name, -1) for name in self.systems], dtype=np.int64)
        apart = np.zeros((len(systems), len(systems)), dtype=bool)
        apart[places[self.base[rows]], places[self.system[rows]]] = True
        return apart | apart.T

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Be a list of pairs in a record: validated, written and described as one."""
        return core_schema.no_info_wrap_validator_function(
            lambda value, check: value if isinstance(value, Pairs) else Pairs.of(check(value)),
            handler.generate_schema(tuple[Pair, ...]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                _plain, info_arg=True, return_schema=core_schema.any_schema()
            ),
        )


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Number names in the order in which they first occur."""
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def _plain(pairs: Pairs, info: SerializationInfo) -> Sequence[dict[str, Any]]:
    """Return the data of each pair; the pairs themselves are dropped on the way."""
    mode: Any = info.mode
    plain = (pair.model_dump(mode=mode) for pair in pairs)
    return list(plain) if mode == "json" else tuple(plain)
