"""Runs without query ids: answers to the questions of a golden list, in its order."""

from __future__ import annotations

from collections.abc import Sequence

from rankscope.errors import InputError, counted

REMEDY = "give answers by the id of their question: {query_id: answer}"


def answered_questions(answers: int, listed: Sequence[str], source: str) -> Sequence[str] | None:
    """Return the question that each of so many answers is to; None if numbers are their ids.

    Raises:
        InputError: it is not clear which answer is to which question.

    >>> answered_questions(2, ["Anasarka", "Klonus"], "run")
    ['Anasarka', 'Klonus']
    >>> answered_questions(2, ["1", "2"], "run")
    """
    numbers = [str(number) for number in range(1, len(listed) + 1)]
    if list(listed) == numbers:
        return None
    if answers != len(listed):
        raise InputError(
            f"{source}: has {counted(answers, 'answer')} without query ids to "
            f"{counted(len(listed), 'question')}; give one to each, in the order of the golden "
            f"set, or {REMEDY}"
        )
    if set(listed) == set(numbers):
        raise InputError(
            f"{source}: has answers without query ids, and the golden set numbers its questions "
            f"in another order; {REMEDY}"
        )
    return listed
