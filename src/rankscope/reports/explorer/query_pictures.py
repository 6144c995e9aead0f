"""Pictures of two systems, query by query, for reports that nobody can look around in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankscope.document.blocks import Curve, Document, Plot, Section, Tone, sentences
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.measures.judged import BoolArray, FloatArray
    from rankscope.reports.explorer.contents import Contents

TITLE = "Query by query"


def with_query_pictures(document: Document, contents: Contents | None) -> Document:
    """Add the pictures of the system that is looked at first, against the baseline."""
    pair = None if contents is None else _pair(contents)
    if contents is None or pair is None:
        return document
    system, base = pair
    measure = contents.measures[0]
    rows = {each.name: each.values[0] for each in contents.systems}
    keep = ~np.isnan(rows[system]) & ~np.isnan(rows[base])
    first, second = rows[system][keep], rows[base][keep]
    if not len(first):
        return document
    gains = (first - second) * (1 if measure.higher_is_better else -1)
    better, worse = int((gains > 0).sum()), int((gains < 0).sum())
    sentence = (
        f"{system} against {base}: better on {counted(better, 'query')}, worse on {worse:,}, equal "
        f"on {len(first) - better - worse:,}."
    )
    section = Section(
        TITLE,
        details=(
            sentences([sentence]),
            _differences(measure.name, system, base, first - second),
            _scatter(measure.name, (system, base), (first, second), gains),
        ),
    )
    sections = list(document.sections)
    sections.insert(_place(sections), section)
    return replace(document, sections=tuple(sections))


def _place(sections: list[Section]) -> int:
    """Return where the pictures belong: behind the results."""
    titles = [section.title for section in sections]
    return titles.index("Results") + 1 if "Results" in titles else len(titles)


def _pair(contents: Contents) -> tuple[str, str] | None:
    """Return the system that is looked at, and the one it is compared with."""
    names = [system.name for system in contents.systems]
    if len(names) < 2 or not contents.measures:
        return None
    base = contents.baseline if contents.baseline in names else names[0]
    focus = contents.focus if contents.focus in names and contents.focus != base else None
    return focus or next(name for name in names if name != base), base


def _differences(measure: str, system: str, base: str, difference: FloatArray) -> Plot:
    """Draw the differences of all queries, best first."""
    ordered = np.sort(difference)[::-1]
    points = tuple(
        (float(place), float(value)) for place, value in enumerate(ordered.tolist(), start=1)
    )
    reach = float(len(points))
    zero = Curve("", ((1.0, 0.0), (reach, 0.0)), tone="quiet")
    return Plot(
        f"{measure}: {system} minus {base}",
        "queries, by difference",
        f"difference in {measure}",
        (Curve(f"{system} minus {base}", points), zero),
        x_range=(1.0, max(reach, 2.0)),
        counted=True,
    )


def _scatter(
    measure: str,
    names: tuple[str, str],
    values: tuple[FloatArray, FloatArray],
    gains: FloatArray,
) -> Plot:
    """Draw a mark for each query, and the diagonal."""
    first, second = values

    def marks(label: str, chosen: BoolArray, tone: Tone) -> Curve:
        pairs = zip(second[chosen].tolist(), first[chosen].tolist(), strict=True)
        return Curve(label, tuple(pairs), joined=False, tone=tone)

    low = float(min(first.min(), second.min(), 0.0))
    high = float(max(first.max(), second.max(), low + 1e-9))
    return Plot(
        f"{measure}: {names[0]} against {names[1]}",
        f"{measure} of {names[1]}",
        f"{measure} of {names[0]}",
        (
            Curve("", ((low, low), (high, high)), tone="quiet"),
            marks("better", gains > 0, "good"),
            marks("equal", gains == 0, "quiet"),
            marks("worse", gains < 0, "bad"),
        ),
        x_range=(low, high),
        y_range=(low, high),
    )
