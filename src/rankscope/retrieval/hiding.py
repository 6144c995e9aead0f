r"""Secrets taken out of texts, in whatever form they are written there.

A value is recognised in upper and lower case, and as Python, JSON, HTML, web addresses (quoted
once or twice), hexadecimal digits and base64 write it (at any place of what was encoded, in both
alphabets, padded or not), backwards, broken over lines, and where a message was cut short inside
it. It is not recognised in what cannot be undone without it (a hash), or where somebody means to
hide it (every second letter). A value of fewer than 4 characters is hidden only where it is a word
by itself, as it is: it would take too much of any text with it.
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

from rankscope.errors import InputError

SHORT = 4
"""A value with fewer characters is hidden only where it is a word by itself."""

_ELLIPSES = ("…", "...")
_LINE_BREAK = r"(?:[^\S\r\n]*[\r\n]\s*)?"


@dataclass(frozen=True, slots=True)
class _Form:
    """One way in which a value is written: ``signs``, perhaps between others that go with it."""

    signs: str
    value: str
    any_case: bool = True
    before: str = ""
    after: str = ""

    @property
    def needle(self) -> str:
        """What a text holds if it holds this; of any case in lower case."""
        return self.signs.lower() if self.any_case else self.signs

    def pattern(self, *, broken: bool = False) -> str:
        """Return what finds it; ``broken``: also where lines end inside it."""
        if len(self.signs) < SHORT:
            return rf"(?<!\w){re.escape(self.signs)}(?!\w)"
        signs = re.escape(self.signs)
        if broken:
            parts = (r"\s+" if sign.isspace() else re.escape(sign) for sign in self.signs)
            signs = _LINE_BREAK.join(parts)
        signs = f"(?i:{signs})" if self.any_case else signs
        return f"{self.before}{signs}{self.after}"


def _forms(value: str) -> Iterator[_Form]:
    """Yield the ways in which a value is written."""
    if len(value) < SHORT:
        yield _Form(value, value, any_case=False)
        return
    content = value.encode("utf-8", "surrogatepass")
    quoted = quote(value, safe="", errors="replace")
    spellings = {
        value,
        value[::-1],
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
    yield from (_Form(spelling, value) for spelling in sorted(spellings))
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
    before = r"[\w+/-]" if offset else ""
    after = r"(?:[\w+/-]|%2[BF])?(?:=|%3D){0,2}" if is_shared else ""
    plain = {core, core.translate(str.maketrans("+/", "-_"))}
    for signs in sorted({*plain, quote(core, safe="")}):
        yield _Form(
            signs, value, any_case=False, before=f"{before}?" if before else "", after=after
        )


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
    def _plain(self) -> re.Pattern[str]:
        return self._compiled(broken=False)

    @cached_property
    def _broken(self) -> re.Pattern[str]:
        return self._compiled(broken=True)

    def _compiled(self, *, broken: bool) -> re.Pattern[str]:
        """Return what finds every form; what is written instead is left alone.

        The number of the group says which form it is.
        """
        instead = "|".join(map(re.escape, sorted({*self._replacements.values()})))
        forms = "|".join(f"({form.pattern(broken=broken)})" for form in self._forms)
        return re.compile(f"{instead}|{forms}")

    def hide(self, text: str) -> str:
        """Return a text without the values."""
        lowered = text.lower()
        if any(form.needle in (lowered if form.any_case else text) for form in self._forms):
            text = self._plain.sub(self._instead, text)
        if "\n" in text or "\r" in text:
            text = self._hide_broken(text)
        for ellipsis in _ELLIPSES:
            if ellipsis in text:
                text = self._hide_cut(text, ellipsis)
        return text

    def _instead(self, match: re.Match[str]) -> str:
        if match.lastindex is None:
            return match[0]
        return self._replacements[self._forms[match.lastindex - 1].value]

    def _hide_broken(self, text: str) -> str:
        """Hide values that go on in the next line."""
        together = "".join(text.split())
        lowered = together.lower()
        for form in self._forms:
            needle = "".join(form.needle.split())
            if len(needle) >= SHORT and needle in (lowered if form.any_case else together):
                return self._broken.sub(self._instead, text)
        return text

    def _hide_cut(self, text: str, ellipsis: str) -> str:
        """Hide the beginnings of values before an ellipsis."""
        pieces = text.split(ellipsis)
        for at, piece in enumerate(pieces[:-1]):
            begun = self.begun(piece)
            if begun is not None:
                pieces[at] = f"{piece[: len(piece) - begun[0]]}{self._replacements[begun[1]]}"
        return ellipsis.join(pieces)

    def begun(self, text: str) -> tuple[int, str] | None:
        """Return how many signs at the end of a text are the beginning of which value, if any."""
        longest = None
        tail = text[-max((len(form.signs) for form in self._forms), default=0) :]
        lowered = tail.lower()
        for form in self._forms:
            end = lowered if form.any_case else tail
            if end[-SHORT:] not in form.needle:
                continue
            for length in range(min(len(form.needle), len(end)), SHORT - 1, -1):
                if end.endswith(form.needle[:length]):
                    if longest is None or length > longest[0]:
                        longest = length, form.value
                    break
        return longest


@contextmanager
def hidden_in_errors(hide: Callable[[str], str]) -> Iterator[None]:
    """Within it, exceptions and all that led to them are rid of secrets.

    One that cannot be changed becomes an `InputError` that says the same.
    """
    try:
        yield
    except BaseException as error:
        if scrub(error, hide):
            raise
        raise InputError(hide(str(error))) from None


def scrub(error: BaseException, hide: Callable[[str], str]) -> bool:
    """Take secrets out of an exception and all that led to it; tell whether that was possible.

    What led to an exception and cannot be changed is cut off.
    """
    seen: set[int] = set()
    return _scrubbed(error, hide, seen)


def _scrubbed(error: BaseException, hide: Callable[[str], str], seen: set[int]) -> bool:
    if id(error) in seen:
        return True
    seen.add(id(error))
    for name in ("__cause__", "__context__"):
        led = getattr(error, name)
        if led is not None and not _scrubbed(led, hide, seen):
            setattr(error, name, None)
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            if not _scrubbed(inner, hide, seen):
                return False
    if _is_clean(error, hide):
        return True
    error.args = tuple(_hidden(value, hide) for value in error.args)
    for name in (*vars(error), "filename", "filename2", "name", "path", "msg", "text"):
        value = getattr(error, name, None)
        is_notes = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if isinstance(value, str) or is_notes:
            try:
                setattr(error, name, _hidden(value, hide))
            except (AttributeError, TypeError):  # cannot be set
                continue
    return _is_clean(error, hide)


def _hidden(value: object, hide: Callable[[str], str]) -> object:
    if isinstance(value, list):
        return [_hidden(item, hide) for item in value]
    if type(value) is tuple:
        return tuple(_hidden(item, hide) for item in value)
    if isinstance(value, str):
        return hide(value)
    shown = repr(value)
    return value if hide(shown) == shown else hide(shown)


def _is_clean(error: BaseException, hide: Callable[[str], str]) -> bool:
    texts = [str(error), repr(error), *getattr(error, "__notes__", ())]
    return all(hide(text) == text for text in texts)
