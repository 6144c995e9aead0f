"""Views: which function makes a document of which result.

A view is registered for the class of the result it shows. Views are in `rankscope.reports`, which
comes much later in the flow than the results; so they are looked up by class when a document is
asked for, as public names are when they are first used.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rankscope.document.blocks import Document

View = TypeVar("View", bound=Callable[..., "Document"])

_VIEWS: dict[type[Any], Callable[..., Document]] = {}


def view(result: type[Any]) -> Callable[[View], View]:
    """Register the decorated function as the view of a class of results."""

    def register(function: View) -> View:
        if result in _VIEWS:
            raise ValueError(f"{result.__name__} has two views")
        _VIEWS[result] = function
        return function

    return register


def document_of(result: object, **options: Any) -> Document:
    """Make the document of a result; ``options`` are those of its view."""
    package = import_module("rankscope.reports")
    for module in pkgutil.iter_modules(package.__path__, "rankscope.reports."):
        import_module(module.name)
    for kind in type(result).__mro__:
        if kind in _VIEWS:
            return _VIEWS[kind](result, **options)
    raise TypeError(f"there is no view of {type(result).__name__}")


class Shown:
    """Gives a result its notebook form."""

    def _repr_html_(self) -> str:
        html = import_module("rankscope.document.html")
        fragment: str = html.fragment(document_of(self))
        return fragment
