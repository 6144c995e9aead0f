"""The product computes the numbers that were written down."""

from __future__ import annotations

import pytest

from frozen.freezing import SUBJECTS, VALUES, differences, made, written


@pytest.mark.parametrize("subject", SUBJECTS)
def test_numbers_have_not_changed(subject: str) -> None:
    try:
        now = made(subject)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    found = list(differences(written(subject), now))
    assert found == [], "python -m tests.frozen shows all differences"


def test_every_file_has_a_subject() -> None:
    assert sorted(path.stem for path in VALUES.glob("*.json")) == SUBJECTS


def test_a_difference_is_named() -> None:
    old = {"a": {"x": [1, 2.0]}, "b": 0.5, "gone": 1}
    new = {"a": {"x": [1, 2.0 + 1e-11]}, "b": 0.5 + 1e-14, "new": "refused"}
    assert list(differences(old, new)) == [
        "/a/x[1]: 2.0 -> 2.00000000001",
        '/gone: 1 -> "absent"',
        '/new: "absent" -> "refused"',
    ]
