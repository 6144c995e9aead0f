r"""Secrets taken out of texts, in whatever form they are written there.

A value is recognised in upper and lower case, and as Python, JSON, HTML, web addresses (quoted
once or twice), hexadecimal digits and base64 write it (at any place of what was encoded, in both
alphabets, padded or not), and where a message was cut short inside it. It is not recognised in what
cannot be undone without it (a hash), or where somebody means to hide it (every second letter). A
value of fewer than 4 characters is hidden only where it is a word by itself, as it is: it would
take too much of any text with it.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, quote_plus

from rankscope.errors import InputError, RankscopeError

SHORT = 4
"""A value with fewer characters is hidden only where it is a word by itself."""

_ELLIPSES = ("…", "...")


@dataclass(frozen=True, slots=True)
class _Form:
    """One way in which a value is written: ``signs``, perhaps between others that go with it."""

    signs: str
    value: str
    pattern: str
    any_case: bool = True

    @property
    def needle(self) -> str:
        """What a text holds if it holds this; of any case in lower case."""
        return self.signs.lower() if self.any_case else self.signs


def _forms(value: str) -> Iterator[_Form]:
    """Yield the ways in which a value is written."""
    if len(value) < SHORT:
        yield _Form(value, value, rf"(?<!\w){re.escape(value)}(?!\w)", any_case=False)
        return
    content = value.encode("utf-8", "surrogatepass")
    quoted = quote(value, safe="", errors="replace")
    spellings = {
        value,
        repr(value)[1:-1],
        repr(repr(value))[2:-2],
        repr(content)[2:-1],
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        html.escape(value),
        quoted,
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
        quote(quoted, safe=""),
        quote_plus(quote_plus(value, errors="replace")),
        content.hex(),
    }
    for spelling in sorted(spellings):
        yield _Form(spelling, value, f"(?i:{re.escape(spelling)})")
    for offset in range(3):
        yield from _base64_forms(content, value, offset)


def _base64_forms(content: bytes, value: str, offset: int) -> Iterator[_Form]:
    """Yield what base64 makes of a value that begins so many bytes after a multiple of three.

    The first and the last sign may stand for bits of its neighbours, too.
    """
    encoded = base64.b64encode(b"\0" * offset + content).decode().rstrip("=")
    first = (0, 2, 3)[offset]
    is_shared = (offset + len(content)) % 3 != 0
    core = encoded[first : len(encoded) - is_shared]
    if len(core) < SHORT:
        return
    before = r"[\w+/-]?" if offset else ""
    after = r"(?:[\w+/-]|%2[BF])?(?:=|%3D){0,2}" if is_shared else ""
    for signs in sorted({core, core.translate(str.maketrans("+/", "-_")), quote(core, safe="")}):
        yield _Form(signs, value, f"{before}{re.escape(signs)}{after}", any_case=False)


class Hider:
    """Writes something else wherever a value occurs: ``{value: what is written instead}``.

    >>> hider = Hider({"hunter22": "${KEY}"})
    >>> hider.hide("Basic dTpodW50ZXIyMg==, HUNTER22")
    'Basic dT${KEY}, ${KEY}'
    """

    def __init__(self, replacements: Mapping[str, str]) -> None:
        self._replacements = {value: text for value, text in replacements.items() if value}
        forms: dict[tuple[str, bool], _Form] = {}
        for value in sorted(self._replacements, key=len, reverse=True):
            for form in _forms(value):
                forms.setdefault((form.signs, form.any_case), form)
        self._forms = sorted(forms.values(), key=lambda form: len(form.signs), reverse=True)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """What finds every form; what is written instead is left alone.

        The number of the group says which form it is.
        """
        instead = "|".join(map(re.escape, sorted({*self._replacements.values()})))
        forms = "|".join(f"({form.pattern})" for form in self._forms)
        return re.compile(f"{instead}|{forms}")

    def hide(self, text: str) -> str:
        """Return a text without the values."""
        lowered = text.lower()
        if any(form.needle in (lowered if form.any_case else text) for form in self._forms):
            text = self._pattern.sub(self._instead, text)
        for ellipsis in _ELLIPSES:
            if ellipsis in text:
                *cut, end = text.split(ellipsis)
                text = ellipsis.join([*map(self._hide_beginning, cut), end])
        return text

    def _instead(self, match: re.Match[str]) -> str:
        if match.lastindex is None:
            return match[0]
        return self._replacements[self._forms[match.lastindex - 1].value]

    def _hide_beginning(self, text: str) -> str:
        """Hide the beginning of a value at the end of a text: the longest that it can be."""
        tail = text[-max((len(form.signs) for form in self._forms), default=0) :]
        lowered, longest, value = tail.lower(), 0, ""
        for form in self._forms:
            end = lowered if form.any_case else tail
            if end[-SHORT:] not in form.needle:
                continue
            for length in range(min(len(form.needle), len(end)), max(longest, SHORT - 1), -1):
                if end.endswith(form.needle[:length]):
                    longest, value = length, form.value
                    break
        return f"{text[: len(text) - longest]}{self._replacements[value]}" if longest else text


@contextmanager
def hidden_in_errors(hide: Callable[[str], str]) -> Iterator[None]:
    """Within it, no exception, nor what led to it, holds a secret.

    One that does becomes an `InputError` that says the same, without what led to it.
    """
    try:
        yield
    except Exception as error:
        if _is_clean(error, hide, set()):
            raise
        kind = "" if isinstance(error, RankscopeError) else f"{type(error).__name__}: "
        raise InputError(f"{kind}{hide(str(error))}") from None


def _is_clean(error: BaseException | None, hide: Callable[[str], str], seen: set[int]) -> bool:
    """Tell whether an exception, what led to it and what is in it are as they would be hidden."""
    if error is None or id(error) in seen:
        return True
    seen.add(id(error))
    texts = [str(error), repr(error), *map(str, vars(error).values())]
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return all(hide(text) == text for text in texts) and all(
        _is_clean(led, hide, seen) for led in (error.__cause__, error.__context__, *inner)
    )
