"""rankscope: how good is a search or RAG system, is it really better, and why.

Everything public is a name of this module, listed in ``__init__.pyi``; each is loaded on first use,
so ``import rankscope`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _stub:
    _HOME = {
        line.split()[3]: line.split()[1].removeprefix("rankscope.")
        for line in _stub
        if line.startswith("from rankscope.")
    }
"""By public name: the module that it is defined in."""

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"rankscope.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rankscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
