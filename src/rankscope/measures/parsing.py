"""The grammar of the language of measures: characters in, names and values out.

Nothing is ever evaluated; what does not fit is one sentence that says what was expected where.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rankscope.errors import InputError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?![\w.]))"
    r"|(?P<word>\w[\w-]*)"
    r"|'(?P<single>[^'\\]*)'"
    r'|"(?P<double>[^"\\]*)"'
    r"|(?P<sign>[()\[\]{}=:,@]))"
)

_FILE = re.compile(r".*(?:[/\\]|\.(?:csv|tsv|txt|jsonl?|run|parquet|xlsx|gz|zst)$)")

ONE_LIST = "; several runs go into one list or dict, before the measures: [run_a, run_b]"
"""What to say where a run stands in the place of measures."""


class Reader:
    """Reads one measure, token by token, without ever evaluating anything."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, expected: str) -> NoReturn:
        """Stop with what was expected where the reading is."""
        if _FILE.match(self.text):
            raise InputError(f"{shown(self.text)} is no measure{ONE_LIST}")
        rest = self.text[self.at :].strip()
        seen = shown(rest, 30) if rest else "its end"
        raise InputError(
            f"cannot read the measure {shown(self.text)}: expected {expected} before {seen}"
        )

    def peek(self) -> tuple[str, str, int]:
        """Return the kind and text of the next token and where it ends."""
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            return "", "", self.at
        kind = match.lastgroup or ""
        return kind, match[kind], match.end()

    def take(self, sign: str) -> bool:
        """Take the sign if it comes next."""
        kind, token, end = self.peek()
        if kind == "sign" and token == sign:
            self.at = end
            return True
        return False

    def need(self, sign: str) -> None:
        """Take the sign, which must come next."""
        if not self.take(sign):
            self.fail(sign)

    def name(self, what: str) -> str:
        """Take a name."""
        kind, token, end = self.peek()
        if kind != "word" and not (kind == "number" and token.isdecimal()):
            self.fail(what)
        self.at = end
        return token

    def number(self) -> int | float:
        """Take a number."""
        kind, token, end = self.peek()
        if kind != "number":
            self.fail("a number")
        self.at = end
        return int(token) if re.fullmatch(r"[-+]?[0-9]{1,18}", token) else float(token)

    def value(self) -> object:
        """Take a parameter's value."""
        kind, token, end = self.peek()
        if kind in ("word", "single", "double"):
            self.at = end
            return None if kind == "word" and token == "None" else token
        if self.take("{"):
            return dict(self._entries("}", pairs=True))
        if self.take("["):
            return [key for key, _ in self._entries("]", pairs=False)]
        return self.number()

    def _entries(self, closing: str, *, pairs: bool) -> Iterator[tuple[float, float]]:
        while not self.take(closing):
            key = self.number()
            if pairs:
                self.need(":")
            yield key, self.number() if pairs else 0
            if not self.take(","):
                self.need(closing)
                return

    def parameters(self) -> dict[str, object]:
        """Take parameters up to the closing bracket."""
        params: dict[str, object] = {}
        while not self.take(")"):
            key = self.name("a parameter's name")
            self.need("=")
            if key in params:
                raise InputError(f"{shown(self.text)}: the parameter {key} is given twice")
            params[key] = self.value()
            if not self.take(","):
                self.need(")")
                break
        return params

    def cutoffs(self) -> list[int | float]:
        """Take one cutoff, or several with commas between them."""
        numbers = [self.number()]
        while self.take(","):
            numbers.append(self.number())
        return numbers


_CONTINUES = re.compile(r"\s*[-+]?[0-9.]+(?:=[-+0-9.eE]+)?\s*")


def words(text: str) -> list[str]:
    """Split a list of measures at commas and spaces outside brackets.

    A part that is nothing but a number (``recall.50,100``) or a pair (``ndcg.1=3,2=9``) belongs to
    the measure before it.
    """
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth <= 0 and sign in ", \t\r\n;":
            parts.append((text[start:at], sign))
            start = at + 1
    words: list[str] = []
    before = ""
    for part, sign in [*parts, (text[start:], "")]:
        if words and before == "," and _CONTINUES.fullmatch(part):
            words[-1] += f",{part.strip()}"
        elif part.strip():
            words.append(part.strip())
        before = sign if part.strip() or sign == "," else before
    return words
