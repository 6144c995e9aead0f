"""What should be known of attainable maxima: the findings of the analysis in `attainable`."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.runs.run_codes import TRIVIAL_CUTOFF
from rankscope.statistics.detectable import POWER
from rankscope.statistics.reach import about
from rankscope.statistics.sentences import listed

if TYPE_CHECKING:
    from rankscope.diagnosis.attainable import Attainable, AttainableConfig, Room

WORTH_SAYING = 0.001
"""What copies cost is said from this drop on."""

AT_MAXIMUM = declare(
    "RS655",
    "at-the-maximum",
    "note",
    unit="measure",
    advice="read the value as a share of the maximum, not of 1; R_cap and nDCG at the same cutoff "
    "can be 1 for every query with a relevant document",
    meaning="""A system has at least 0.95 of what any system could have by a measure (unless set
    otherwise), and that maximum is clearly below the measure's highest value: the value looks low
    and is not.""",
)
SATURATED = declare(
    "RS656",
    "nothing-left-to-show",
    "warning",
    unit="measure",
    advice="ask harder questions, or for a stricter measure (a smaller cutoff, grades), before you "
    "compare with it: hardly any improvement could be shown",
    meaning="""The baseline, or the best system where there is none, is so near the maximum that
    improvements cannot be shown with these queries: fewer of them have room than must differ for
    any outcome to be significant; or all the room there is is smaller than the difference that is
    detectable with a power of 0.8. A note, unless no outcome by the main measure could be
    significant.""",
)
SAME_DOCUMENTS = declare(
    "RS657",
    "same-documents-by-design",
    "warning",
    unit="measure",
    advice="compare these systems by a measure that looks at the order, such as nDCG or RR, or "
    "with a smaller cutoff",
    meaning="""All systems return the same documents for each query, as rerankers of one list do,
    and the measure looks at all of them and not at their order: it is the same for all systems
    whatever they do.""",
)
AMBIGUOUS_GOLD = declare(
    "RS658",
    "gold-has-copies",
    "warning",
    unit="query",
    advice="judge copies of a relevant document alike, or leave copies out of the corpus",
    meaning="""The corpus holds the text of a relevant document under further ids that are not
    judged alike. A system that knows texts only can do no better than guess which id is meant.""",
)


def attainable_findings(
    result: Attainable, config: AttainableConfig, known: Collection[str]
) -> list[Finding]:
    """Return what a reader should know; ``known`` are the codes that the scores have already."""
    return [
        *_at_maximum(result, config),
        *_saturated(result),
        *_trivial(result, known),
        *_copies(result),
    ]


def _at_maximum(result: Attainable, config: AttainableConfig) -> list[Finding]:
    """Name the measures of which a system has nearly all there is, and that is little."""
    lines, evidence = [], {}
    for row in result.measures:
        best = max(row.systems, key=lambda system: system.share or 0.0, default=None)
        if best is None or best.share is None or row.highest is None:
            continue
        if best.share >= config.near and best.maximum <= config.clearly * row.highest:
            lines.append(
                f"{best.system} has {row.measure} of {best.value:.4f}, and no system could have "
                f"more than {best.maximum:.4f}"
            )
            evidence[row.measure] = {"system": best.system, "maximum": best.maximum}
    if not lines:
        return []
    return [AT_MAXIMUM.finding("; ".join(lines), count=len(lines), evidence=evidence)]


def _saturated(result: Attainable) -> list[Finding]:
    """Name the measures by which nothing better could be shown, those where that is sure first."""
    full: dict[str, list[str]] = {}
    few: dict[tuple[str, int], list[tuple[str, Room]]] = {}
    likely: dict[str, list[tuple[str, Room]]] = {}
    evidence = {}
    for row in result.measures:
        room = row.room
        if room is None or not room.saturated:
            continue
        evidence[row.measure] = room.to_dict()
        if not _is_sure(room):
            likely.setdefault(room.system, []).append((row.measure, room))
        elif room.with_room:
            few.setdefault((room.system, room.must_differ or 0), []).append((row.measure, room))
        else:
            full.setdefault(room.system, []).append(row.measure)
    if not evidence:
        return []
    main = result.measures[0].room
    return [
        SATURATED.finding(
            "; ".join(
                [
                    *(_at_their_maximum(names, system) for system, names in full.items()),
                    *(_few_have_room(rooms, *key) for key, rooms in few.items()),
                    *(_little_room(rooms, system) for system, rooms in likely.items()),
                ]
            ),
            count=len(evidence),
            evidence=evidence,
            severity=None if main is not None and _is_sure(main) else "note",
        )
    ]


def _is_sure(room: Room) -> bool:
    """Tell whether no outcome at all could be significant."""
    return room.saturated and room.must_differ is not None and room.with_room < room.must_differ


def _at_their_maximum(names: list[str], system: str) -> str:
    if len(names) == 1:
        return f"{names[0]} of {system} is at its maximum: it cannot show an improvement"
    return f"{listed(names)} of {system} are at their maximum: they cannot show an improvement"


def _few_have_room(rooms: list[tuple[str, Room]], system: str, must_differ: int) -> str:
    names = [name for name, _ in rooms]
    most = max(room.with_room for _, room in rooms)
    rise = f" by {rooms[0][1].room:.4f} at most," if len(rooms) == 1 else ""
    on = "on" if rise else "on at most"
    return (
        f"{listed(names)} of {system} could rise{rise} {on} {counted(most, 'query')}, and "
        f"{must_differ} must differ for any outcome to be significant"
    )


def _little_room(rooms: list[tuple[str, Room]], system: str) -> str:
    if len(rooms) == 1:
        [(name, room)] = rooms
        return (
            f"{name} of {system} could rise by {room.room:.4f} at most, less than the difference "
            f"of about {about(room.detectable or 0):g} that these queries show with a power of "
            f"{POWER:g}"
        )
    names = [f"{name} (by {room.room:.4f})" for name, room in rooms]
    return (
        f"{listed(names)} of {system} could rise by less than these queries show with a power of "
        f"{POWER:g}"
    )


def _trivial(result: Attainable, known: Collection[str]) -> list[Finding]:
    """Name measures that say nothing about systems; what the scores say already is left out."""
    findings = []
    if result.whole_corpus and TRIVIAL_CUTOFF.code not in known:
        look = "looks" if len(result.whole_corpus) == 1 else "look"
        seen = (
            f"all of the {result.documents or 0:,} documents there are: whatever returns them in "
            "any order has 1"
        )
        if result.documents == 1:
            seen = "the only document there is: whatever returns it has 1"
        findings.append(
            TRIVIAL_CUTOFF.finding(
                f"{', '.join(result.whole_corpus)} {look} at {seen}",
                count=len(result.whole_corpus),
            )
        )
    if result.same_documents:
        are = "is" if len(result.same_documents) == 1 else "are"
        findings.append(
            SAME_DOCUMENTS.finding(
                f"all systems return the same documents for each query, so "
                f"{', '.join(result.same_documents)} {are} the same for all of them",
                count=len(result.same_documents),
            )
        )
    return findings


def _copies(result: Attainable) -> list[Finding]:
    if not result.ambiguous:
        return []
    drops = {
        row.measure: row.maximum - row.by_text
        for row in result.measures
        if row.maximum is not None and row.by_text is not None
    }
    expected = ""
    most = max(drops, key=drops.__getitem__, default="")
    if most and drops[most] >= WORTH_SAYING:
        row = next(row for row in result.measures if row.measure == most)
        expected = (
            f": by the text alone {most} of about {row.by_text:.4f} can be expected at most, and "
            f"not {row.maximum:.4f}"
        )
    have = "has" if result.ambiguous == 1 else "have"
    return [
        AMBIGUOUS_GOLD.finding(
            f"{counted(result.ambiguous, 'query')} {have} relevant documents whose text the corpus "
            f"holds under further ids that are not judged alike{expected}",
            count=result.ambiguous,
            evidence={"drops": drops},
            severity=None if expected else "note",
        )
    ]
