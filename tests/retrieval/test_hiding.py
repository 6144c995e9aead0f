"""Secrets are recognised however they are written, and nothing else is taken for one."""

from __future__ import annotations

import base64
import html
import json
import random
import string
import traceback
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import InputError, shown
from rankscope.retrieval.hiding import Hider, hidden_in_errors

PLAIN = "hunter22Zq9xW7"
SIGNS = "pä?s/with+signs & 'quotes' \\ \"x\""


def _b64(before: str, after: str = "") -> Callable[[str], str]:
    return lambda value: base64.b64encode(f"{before}{value}{after}".encode()).decode()


def _url_b64(before: str, after: str = "") -> Callable[[str], str]:
    return lambda value: base64.urlsafe_b64encode(f"{before}{value}{after}".encode()).decode()


WAYS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in a sentence": lambda value: f"refused: {value}!",
    "joined to other letters": lambda value: f"key{value}key",
    "upper case": str.upper,
    "lower case": str.lower,
    "swapped case": str.swapcase,
    "title case": str.title,
    "repr": repr,
    "repr of repr": lambda value: repr(repr(value)),
    "bytes": lambda value: repr(value.encode()),
    "JSON": json.dumps,
    "JSON, not ASCII": lambda value: json.dumps(value, ensure_ascii=False),
    "HTML": html.escape,
    "URL": lambda value: quote(value, safe=""),
    "URL path": quote,
    "URL in lower case": lambda value: quote(value, safe="").lower(),
    "form": lambda value: urlencode({"key": value}),
    "URL twice": lambda value: quote(quote(value, safe=""), safe=""),
    "form twice": lambda value: quote_plus(quote_plus(value)),
    "URL user": lambda value: f"https://me:{quote(value, safe='')}@example.org/",
    "base64": _b64(""),
    "base64, one before": _b64("a"),
    "base64, two before": _b64("ab"),
    "base64, something after": _b64("", ":x"),
    "base64, between": _b64("user:", ":more"),
    "base64, unpadded": lambda value: _b64("")(value).rstrip("="),
    "base64, one before, unpadded": lambda value: _b64("a")(value).rstrip("="),
    "base64 for URLs": _url_b64(""),
    "base64 for URLs, one before": _url_b64("?"),
    "base64 for URLs, two before": _url_b64("??"),
    "base64 in a URL": lambda value: quote(_b64("a")(value), safe=""),
    "hexadecimal": lambda value: value.encode().hex(),
    "hexadecimal in upper case": lambda value: value.encode().hex().upper(),
    "cut by us": lambda value: shown(f"Bearer {value}", 15),
    "cut by others": lambda value: f"got '{value[:8]}...'",
}


@pytest.mark.parametrize("value", [PLAIN, SIGNS], ids=["plain", "signs"])
@pytest.mark.parametrize("way", WAYS)
def test_a_value_is_recognised(way: str, value: str) -> None:
    text = WAYS[way](value)
    hidden = Hider({value: "${KEY}"}).hide(text)
    assert "${KEY}" in hidden
    if not way.startswith("cut"):
        for size in (5, 6):  # no part of it is left
            for at in range(len(text) - size):
                piece = text[at : at + size]
                is_of_value = piece in way_of(way, value) and not piece.isspace()
                assert not (is_of_value and piece in hidden), piece


def way_of(way: str, value: str) -> str:
    """Return what of a text is the value's own; of base64 what does not depend on neighbours."""
    text = WAYS[way](value)
    if "base64" in way:
        return text[8:-8]
    for context in ("refused: ", "https://me:", "@example.org/", "key="):
        text = text.replace(context, "")
    return text


def test_short_values_are_words() -> None:
    hider = Hider({"80": "${PORT}", "x": "${X}"})
    assert (
        hider.hide("port 80, 8080, x=1, max, X, ODA=") == "port ${PORT}, 8080, ${X}=1, max, X, ODA="
    )
    assert Hider({"": "${EMPTY}"}).hide("nothing") == "nothing"


def test_the_longest_is_hidden_first() -> None:
    hider = Hider({"localhost": "${HOST}", "localhost:8080": "${ADDRESS}"})
    assert hider.hide("localhost:8080 LOCALHOST") == "${ADDRESS} ${HOST}"


@settings(deadline=None, max_examples=40)
@given(st.text(), st.text(min_size=4))
def test_any_text_and_any_value(text: str, value: str) -> None:
    hider = Hider({value: "${KEY}"})
    hidden = hider.hide(f"{text}{value}{text}")
    assert value not in hidden.replace("${KEY}", "") or value in "${KEY}"
    assert hider.hide(hidden) == hidden or value.lower() in "${key}"


def test_other_text_stays() -> None:
    hider = Hider({PLAIN: "${KEY}", SIGNS: "${SIGNS}"})
    source = random.Random(1)
    text = "".join(source.choices(string.printable, k=20_000)) + "..."
    assert hider.hide(text) == text


def fails(*, at: str) -> None:
    """Raise something that holds the value at one place of many."""
    held = {place: PLAIN if place == at else "fine" for place in PLACES}
    try:
        try:
            raise KeyError(held["context"])
        except KeyError:
            raise OSError(2, "not there", f"/{held['cause']}") from None
    except OSError as error:
        inner = ValueError(_b64("")(held["inner"]))
        outer = ExceptionGroup(f"all {held['text']}", [inner])
        outer.add_note(f"while asking {held['note'].upper()}")
        raise outer from error


PLACES = ("context", "cause", "inner", "text", "note")


@pytest.mark.parametrize("place", PLACES)
def test_no_exception_holds_a_value(place: str) -> None:
    with pytest.raises(InputError) as caught, hidden_in_errors(Hider({PLAIN: "${KEY}"}).hide):
        fails(at=place)
    text = "".join(traceback.format_exception(caught.value))
    assert PLAIN.lower() not in text.lower()
    assert "ExceptionGroup: all" in text


def test_an_exception_without_a_value_stays_as_it_is() -> None:
    with pytest.raises(ExceptionGroup), hidden_in_errors(Hider({PLAIN: "${KEY}"}).hide):
        fails(at="nowhere")
