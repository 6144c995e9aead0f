"""Words: what a text is made of, without case and punctuation; one rule for all comparisons.

Systems that retrieve have rules of their own (stems, stop words); these are for what is said about
texts: which words of a passage are covered, how rare those of a query are.
"""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w+")
_ASCII = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
"""What is no part of a word, for text in which that is quickly said."""
_UNSPACED = re.compile(
    r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
)
"""Signs of scripts without blanks between words: each counts as a word."""


def words_of(text: str) -> list[str]:
    """Return the words of a text: in Unicode's composed form, without case and punctuation.

    >>> words_of("Don't, Straße! 東京")
    ['don', 't', 'strasse', '東', '京']
    """
    if text.isascii():
        return text.lower().translate(_ASCII).split()
    text = _UNSPACED.sub(r" \1 ", unicodedata.normalize("NFC", text))
    return _WORD.findall(text.casefold())
