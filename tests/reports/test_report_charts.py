"""The pictures of reports: made of the record alone, none endless, each in a file of its own."""

from __future__ import annotations

from typing import Any

from rankscope.benchmark.drawn_pages import chart_files, pages_of
from rankscope.diagnosis.segment_means import Segment, SegmentGroup, SegmentMean
from rankscope.diagnosis.segments import SEGMENTS, Segments
from rankscope.diagnosis.stages import STAGES
from rankscope.document.blocks import (
    PICTURES,
    Heatmap,
    Section,
)
from rankscope.reports.benchmark import benchmark_document
from reports.sample import sample


def shown(section: Section, kind: type[Any]) -> list[Any]:
    return [block for block in section.all_blocks if isinstance(block, kind)]


def test_every_picture_has_a_file_of_its_own() -> None:
    report = sample()
    document = benchmark_document(report)
    files = chart_files(document)
    drawings = [
        picture
        for section in document.sections
        for picture in section.all_blocks
        if isinstance(picture, PICTURES) and drawn(picture) is not None
    ]
    assert set(files) == set(drawings)
    assert len(set(files.values())) == len(files) >= 2
    made = pages_of(document, "BenchmarkComparison.md", "BenchmarkReport.html")
    for name in files.values():
        ET.fromstring(made[name])
        assert f"]({name})" in made["BenchmarkComparison.md"]
    assert made == pages_of(document, "BenchmarkComparison.md", "BenchmarkReport.html")


def test_stages_are_a_waterfall_with_ceilings() -> None:
    report = sample()
    result = STAGES.of(report.analyses)
    assert result is not None
    assert result.measure is not None
    [waterfall] = shown(STAGES.section(result), Waterfall)
    means = {stage.system: stage.measures[result.measure] for stage in result.stages}
    assert [step.label for step in waterfall.steps] == list(means)
    for step, stage in zip(waterfall.steps, result.stages, strict=True):
        assert step.value == means[stage.system]
        assert step.start == (max(means[name] for name in stage.of) if stage.of else None)
        assert step.ceiling == stage.ceiling.get(result.measure)


def test_a_thousand_groups_are_not_all_drawn() -> None:
    interval = Interval(low=0.4, high=0.6, level=0.95, method="t")
    groups = tuple(
        SegmentGroup(
            label=f"g{number}",
            n=number % 100,
            means=tuple(
                SegmentMean(system=f"s{system}", measure="nDCG@10", mean=0.5, interval=interval)
                for system in range(15)
            ),
        )
        for number in range(1000)
    )
    segment = Segment(field="facet", binned=False, groups=groups, unlabelled=0)
    result = Segments(measure="nDCG@10", baseline=None, alpha=0.05, segments=(segment,))
    [heat] = shown(SEGMENTS.section(result), Heatmap)
    assert [row.label for row in heat.rows] == [
        f"facet: g{hundred * 100 + number}" for hundred in range(10) for number in (97, 98, 99)
    ]
    assert len(heat.columns) == 12
