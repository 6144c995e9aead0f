"""What ``runs validate`` and ``cases validate`` share: file after file, all in one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.cli.output import as_typed, emit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankscope.benchmark.golden_sets import CasesValidation
    from rankscope.runs.validation import Validation


def validate_each(
    paths: Sequence[str],
    check: Callable[[str], Validation | CasesValidation],
    *,
    format: str,
    target: str | None,
) -> int:
    """Check files and show the results; a file that cannot be read does not stop the others."""
    from rankscope.cli import ANSWER_IS_NO, CANNOT_ANSWER, say
    from rankscope.cli.debugging import show_traceback
    from rankscope.document.blocks import together
    from rankscope.document.views import document_of
    from rankscope.errors import RankscopeError

    results = []
    for path in paths:
        try:
            results.append(check(path))
        except RankscopeError as error:
            show_traceback(error)
            say(as_typed(str(error)))
    if results or format == "json":
        emit(
            together("Validation", [document_of(result) for result in results]),
            format=format,
            target=target,
            data=lambda: [result.to_dict() for result in results],
        )
    if len(results) < len(paths):
        return CANNOT_ANSWER
    return 0 if all(result.ok for result in results) else ANSWER_IS_NO
