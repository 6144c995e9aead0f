"""The history of a gate: what all commits since an anchor say together.

A gate that tests every commit by itself misses a system that erodes in small steps, and raises a
false alarm some day if there are enough commits. Kept in a file, what all commits say against one
fixed baseline does neither: the chance of *any* false alarm, over all commits, stays below alpha.

Two tests share alpha equally (and the measures share each half): the evidence of all commits added
up (`rankscope.statistics.sequential.EProcess`), which assumes nothing but bounds, and Student's t
test of this commit at what it may spend of alpha (`spending`), which sees much sooner and is right
for many queries.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from rankscope.errors import InputError, counted
from rankscope.files import read_bytes, replacing, source_name
from rankscope.part import Part, Record
from rankscope.statistics.paired import paired_tests
from rankscope.statistics.sentences import number, p_text
from rankscope.statistics.sequential import EProcess, spending

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.statistics.arrays import FloatArray
    from rankscope.statistics.matrix import Matrix


class Watched(Part):
    """What all commits since the anchor say of one measure."""

    measure: str
    """The measure."""
    commits: int
    """How many commits were compared with the anchor."""
    p: float
    """Of the evidence of all commits together, valid at any time; an alarm up to ``limit``."""
    limit: float
    """What this test may spend of alpha."""
    commit_p: float
    """Of Student's t test of this commit alone, one-sided; an alarm up to ``commit_limit``."""
    commit_limit: float
    """What this commit may spend of alpha."""
    alarm: bool
    """Whether a drop below the anchor is shown."""
    estimate: float
    """Mean of candidate minus anchor of this commit; of less and more, where lower is better."""
    regressed: bool
    """Whether there is an alarm, and the drop of this commit is larger than the margin."""

    @property
    def sentence(self) -> str:
        """What it says, in words that follow the measure's name."""
        return (
            f"fell below the anchor by {number(-self.estimate)} over "
            f"{counted(self.commits, 'commit')} ({p_text(self.p)} for all together, where "
            f"{self.limit:.2g} is needed; {p_text(self.commit_p)} for this one, of "
            f"{self.commit_limit:.2g} that it may spend)"
        )


class History(Record):
    """Evidence against "no commit is worse than the anchor", by measure; kept as a file."""

    kind: ClassVar[str] = "gate-history"
    written_by: ClassVar[str] = "rankscope gate --anchor FILE --history FILE"

    anchor: str
    """Hash of the anchor's values: another anchor needs another history."""
    qrels: str
    """Hash of the judgments."""
    alpha: float
    """The chance of any false alarm."""
    measures: dict[str, EProcess]
    """The evidence so far, by measure; differences are gains."""

    @classmethod
    def read(cls, path: PathLike, matrix: Matrix, *, qrels: str, alpha: float) -> Self:
        """Read a history, or begin one; `InputError` if it belongs to something else."""
        anchor = _hash(matrix)
        begun = cls(anchor=anchor, qrels=qrels, alpha=alpha, measures=_begun(matrix, alpha))
        if not os.path.exists(path):
            return begun
        source = source_name(path)
        from rankscope.files import decoded  # noqa: PLC0415
        from rankscope.tables.jsontext import parse_json  # noqa: PLC0415

        text = decoded(read_bytes(path), source=source)
        data = parse_json(text, source=source)
        history = cls.from_data(data, source=source)
        differs = [
            what
            for what, is_same in (
                ("another anchor", history.anchor == anchor),
                ("other judgments", history.qrels == qrels),
                ("another alpha", history.alpha == alpha),
                ("other measures", set(history.measures) == set(begun.measures)),
            )
            if not is_same
        ]
        if differs:
            raise InputError(
                f"{source}: the history is of {' and '.join(differs)}; begin a new one in another "
                "file"
            )
        return history

    def added(self, matrix: Matrix) -> Self:
        """Return the history with one more commit: the candidate of a matrix against its anchor."""
        gains = _gains(matrix)
        measures = {name: process.update(gains[name]) for name, process in self.measures.items()}
        return self.model_copy(update={"measures": measures})

    def watched(self, matrix: Matrix, max_drop: float) -> tuple[Watched, ...]:
        """Say what it shows after this commit."""
        answers = []
        for name, gains in _gains(matrix).items():
            process = self.measures[name]
            estimate = process.estimate or 0.0
            [test] = paired_tests(gains, test="t")
            commit_p = test.p / 2 if estimate < 0 else 1 - test.p / 2
            limit = process.alpha * spending(process.commits)
            alarm = process.alarm or commit_p <= limit
            answers.append(
                Watched(
                    measure=name,
                    commits=process.commits,
                    p=process.p,
                    limit=process.alpha,
                    commit_p=commit_p,
                    commit_limit=limit,
                    alarm=alarm,
                    estimate=estimate,
                    regressed=alarm and -estimate > max_drop,
                )
            )
        return tuple(answers)

    def write(self, path: PathLike) -> None:
        """Write the file, all at once or not at all."""
        with replacing(path) as stream:
            stream.write(json.dumps(self.to_dict(), indent=2).encode() + b"\n")


def _begun(matrix: Matrix, alpha: float) -> dict[str, EProcess]:
    """Return evidence of no commit; alpha is shared by the measures and by the two tests."""
    processes = {}
    for scale in matrix.scales:
        low, high = scale.change
        if not np.isfinite([low, high]).all():
            raise InputError(f"{scale.name} has no bounds, and a history needs some")
        share = alpha / len(matrix.scales) / 2
        processes[scale.name] = EProcess(alpha=share, low=low, high=high)
    return processes


def _gains(matrix: Matrix) -> dict[str, FloatArray]:
    rows = matrix.query_differences([(0, 1)])
    return {
        scale.name: row if scale.higher_is_better else -row
        for scale, row in zip(matrix.scales, rows, strict=True)
    }


def _hash(matrix: Matrix) -> str:
    digest = hashlib.sha256("\n".join(matrix.query_ids).encode())
    for scale, table in zip(matrix.scales, matrix.values, strict=True):
        digest.update(scale.name.encode())
        digest.update(np.ascontiguousarray(table[0], dtype="<f8").tobytes())
    return digest.hexdigest()
