"""Sharpness: which measure tells these systems apart best?

An analysis of `rankscope.statistics.discrimination`: the share of pairs of systems that each
measure separates, all pairs of a measure tested as one family.
"""

from __future__ import annotations

from rankscope.diagnosis.registry import Analysed, Analysis, AnalysisConfig, Inputs, register
from rankscope.document.blocks import Cell, Column, Section, Table
from rankscope.errors import counted
from rankscope.findings import NotApplicable
from rankscope.statistics.discrimination import Discrimination, discriminative_power
from rankscope.statistics.matrix import Matrix

FEWEST_SYSTEMS = 5
"""A share of fewer than ten pairs says little about a measure."""

FEWEST_QUERIES = 10
"""With fewer no measure separates anything."""


MOST_RESAMPLES = 2_000
"""A share of pairs needs no finer p-values."""


class Sharpness(Analysed):
    """How well each measure tells the systems apart."""

    measures: tuple[Discrimination, ...]
    """By measure; the one that separates most pairs comes first."""


class SharpnessConfig(AnalysisConfig):
    """Nothing can be configured: test and error rate are those of the comparison."""


def _look(_: SharpnessConfig, inputs: Inputs) -> Sharpness | NotApplicable:
    assert inputs.scores is not None
    matrix = Matrix.of_scores(inputs.scores, only_means=True)
    measures, systems, queries = matrix.shape
    if systems < FEWEST_SYSTEMS or measures < 2 or queries < FEWEST_QUERIES:
        return SHARPNESS.not_applicable(
            f"it needs {FEWEST_SYSTEMS} systems, 2 averaged measures and {FEWEST_QUERIES} queries; "
            f"given: {counted(systems, 'system')}, {counted(measures, 'measure')}, "
            f"{counted(queries, 'query')}"
        )
    settings = inputs.settings
    values = {scale.name: matrix.values[place] for place, scale in enumerate(matrix.scales)}
    powers = discriminative_power(
        values,
        alpha=settings.alpha,
        resamples=min(settings.resamples, MOST_RESAMPLES),
        seed=settings.seed,
    )
    return Sharpness(measures=tuple(powers))


def _section(result: Sharpness) -> Section:
    first = result.measures[0]
    rows = [
        (
            Cell(power.measure),
            Cell(round(power.separated * power.pairs)),
            Cell(power.separated),
            Cell("none" if power.needed is None else power.needed),
        )
        for power in result.measures
    ]
    table = Table(
        (
            Column("measure", "text"),
            Column("pairs separated"),
            Column("share", digits=3),
            Column("difference needed", digits=4),
        ),
        tuple(rows),
        notes=(
            (
                f"of {counted(first.pairs, 'pair')} of {counted(first.systems, 'system')}, by "
                f"max-T at {first.alpha:g} over all pairs of a measure"
            ),
            "difference needed: from there on every pair is separated",
            (
                "a measure that separates more carries less noise; whether it measures what "
                "matters to your users is another question"
            ),
        ),
    )
    return Section(SHARPNESS.title, details=(table,))


SHARPNESS = register(
    Analysis(
        name="discrimination",
        title="Which measure tells systems apart",
        summary="The share of pairs of systems that each measure separates.",
        config=SharpnessConfig,
        written="",
        result=Sharpness,
        needs=("scores",),
        look=_look,
        section=_section,
        place=50,
    )
)
