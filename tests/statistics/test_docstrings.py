"""The examples in docstrings of the statistics are right."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

from rankscope import statistics


def test_examples() -> None:
    names = [module.name for module in pkgutil.iter_modules(statistics.__path__)]
    modules = [import_module(f"{statistics.__name__}.{name}") for name in names]
    results = {module.__name__: doctest.testmod(module) for module in modules}
    assert {name: result for name, result in results.items() if result.failed} == {}
    assert sum(result.attempted for result in results.values()) > 0
