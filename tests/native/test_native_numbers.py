"""Numbers of the native scan: each decimal becomes the double that Python makes of it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from reliability.native_files import number

from rankscope.tables.native import address_of, library, taken

pytestmark = pytest.mark.skipif(library() is None, reason="there is no native scan")


def parsed(texts: Sequence[str]) -> list[float] | None:
    """Read numbers as the grades of qrels; None if they are refused."""
    data = "".join(f"q 0 {place} {text}\n" for place, text in enumerate(texts)).encode()
    for result in taken(library().rs_pairs(address_of(data), len(data), 7)):
        read: list[float] = np.frombuffer(
            result.bytes_at("numbers", 8 * result.rows), np.float64
        ).tolist()
        return read
    return None


def differing(texts: Sequence[str]) -> list[tuple[str, float]]:
    read = parsed(texts)
    assert read is not None
    expected = np.array([float(text) for text in texts])
    other = np.flatnonzero(expected.view(np.int64) != np.array(read).view(np.int64))
    return [(texts[place], read[place]) for place in other[:5]]


def decimals(source: random.Random, count: int) -> list[str]:
    """Return decimals of all shapes that a double can hold."""
    texts = [number(source) for _ in range(count)]
    return [text for text in texts if abs(float(text)) < float("inf")]


def halfway(source: random.Random) -> str:
    """Return the decimal exactly between two doubles, or beside it by its last digit."""
    odd = source.randrange(2**53, 2**54) | 1  # one bit more than a double has
    places = source.randint(1, 60)
    digits = odd * 5**places  # odd / 2^places, times 10^places
    whole, rest = divmod(digits, 10**places)
    return f"{whole}.{rest:0{places}d}{source.choice(['', '0', '1', '00001'])}"


def test_decimals_of_all_shapes() -> None:
    assert differing(decimals(random.Random(1), 40_000)) == []


def test_decimals_between_two_doubles() -> None:
    source = random.Random(2)
    assert differing([halfway(source) for _ in range(5_000)]) == []


def test_doubles_as_python_and_printf_write_them() -> None:
    source = np.random.default_rng(3)
    values = source.integers(0, 2**64, 8_000, np.uint64, endpoint=False).view(np.float64)
    values = values[np.isfinite(values)]
    texts = [repr(value) for value in values.tolist()]
    texts += [f"{value:.17g}" for value in values.tolist()]
    texts += [f"{value:.6f}" for value in source.normal(10, 5, 8_000).tolist()]
    assert differing(texts) == []


@pytest.mark.parametrize("places", [0, 1, 2, 5, 16, 22, 23, 26, 27, 28, 29])
def test_digits_and_places(places: int) -> None:
    source = random.Random(places)
    texts = []
    for digits in range(1, 26):
        for _ in range(40):
            text = "".join(source.choices("0123456789", k=digits)).rjust(places + 1, "0")
            texts.append(f"{text[:-places]}.{text[-places:]}" if places else text)
        texts += [f"{'9' * digits}e{-places}", f"{'1' + '0' * (digits - 1)}e{places}"]
    assert differing(texts) == []


EDGES = ["0", "-0", "-0.0", "0.0e5", "0e22", "0e-400", "00012", "-000.5", "1e-400", "5e-324",
         "2.4703282292062327208051388330857e-324", "2.4703282292062327e-324", "2.5e-324",
         "4.9e-324", "2.2250738585072011e-308", "2.2250738585072014e-308",
         "1.7976931348623157e308", "1.7976931348623158e308", "9007199254740991",
         "9007199254740993", "9007199254740992.5", "18446744073709551615",
         "18446744073709551616", "9999999999999999999", "1e22", "1e23", "8.41e21", "9.5e-7", "1E5",
         "1e+5", "1e00005", "0." + "0" * 100 + "1", "1" * 300, "0." + "3" * 398,
         "0" * 380 + "1.5", "1." + "0" * 390 + "1"]  # fmt: skip
NO_DECIMALS = ["", "+1", ".5", "5.", "-", "-.5", "e5", "1e", "1e+", "1e-", "1.e5", "--1", "1-",
               "1e5.0", "1.2.3", "nan", "-nan", "inf", "-inf", "Infinity", "0x10", "0x1p3", "1_0",
               "1,5", "1d3", "1f", "\u0661", "½", "1\x00", "1e400", "-1e400",
               "1.7976931348623159e308", "1e123456", "1e-123456", "1" * 401, "0." + "1" * 401,
               "1\xa0", "1e\u0661", "9" * 310, "3" * 399]  # fmt: skip


def test_edges() -> None:
    assert differing(EDGES) == []


def test_what_is_no_plain_decimal_is_left_to_the_reader() -> None:
    assert [text for text in NO_DECIMALS if parsed([text]) is not None] == []
