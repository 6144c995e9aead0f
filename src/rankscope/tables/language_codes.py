"""Languages of case files: names and tags become codes of ISO 639-1.

``German``, ``de``, ``DE`` and ``de-DE`` all are ``de``. What is neither a name in the table nor a
tag as in BCP 47 is kept as it is written, in lower case.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankscope.files import PathLike

_NAMES = (
    "arabic ar bulgarian bg catalan ca chinese zh croatian hr czech cs danish da dutch nl "
    "english en estonian et finnish fi french fr german de greek el hebrew he hindi hi "
    "hungarian hu indonesian id irish ga italian it japanese ja korean ko latvian lv lithuanian "
    "lt maltese mt norwegian no persian fa polish pl portuguese pt romanian ro russian ru "
    "serbian sr slovak sk slovenian sl spanish es swedish sv turkish tr ukrainian uk vietnamese "
    "vi"
)
_WORDS = _NAMES.split()
CODES = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))
"""English names of languages, with their codes."""

_KNOWN = frozenset(CODES.values())
_TAG = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{1,8})*")


def language_code(text: str) -> str:
    """Return the code of a language that is given by name, by code, or as a tag with a region.

    >>> [language_code(text) for text in ("German", "DE", "de-DE", "Plattdeutsch")]
    ['de', 'de', 'de', 'plattdeutsch']
    """
    name = text.strip().lower()
    tag = _TAG.fullmatch(name)
    return CODES.get(name) or (tag[1] if tag else name)


def folder_language(path: PathLike) -> str | None:
    """Return the language that the folder of a file is named by; None if it is named otherwise.

    >>> folder_language("cases/german/tiny_v1.json"), folder_language("cases/tiny_v1.json")
    ('de', None)
    """
    if os.fspath(path) == "-":
        return None
    name = Path(os.path.abspath(path)).parent.name.lower()
    return name if name in _KNOWN else CODES.get(name)
