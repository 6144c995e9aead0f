"""Views: which function makes a document of which result.

A view is found by the class of the result it shows, which is the annotation of its first argument::

    @view
    def comparison_document(comparison: Comparison) -> Document: ...

The class is known by its name and not imported: views are in `rankscope.reports`, and some results
(an experiment, what changed since another one) are made later in the flow.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rankscope.document.blocks import Document

View = TypeVar("View", bound=Callable[..., "Document"])

_VIEWS: dict[str, Callable[..., Document]] = {}


def view(function: View) -> View:
    """Register a function as the view of the class its first argument is annotated with."""
    result = next(iter(inspect.signature(function).parameters.values())).annotation
    name = result if isinstance(result, str) else result.__name__
    if name in _VIEWS:
        raise ValueError(f"{name} has two views")
    _VIEWS[name] = function
    return function


def document_of(result: object, **options: Any) -> Document:
    """Make the document of a result; ``options`` are those of its view.

    A class whose ``view_in`` names the module of its view spares loading all of them.
    """
    near = getattr(type(result), "view_in", None)
    if near is not None:
        import_module(near)
    made = _view_of(result)
    if made is None:
        package = import_module("rankscope.reports")
        for module in pkgutil.iter_modules(package.__path__, "rankscope.reports."):
            import_module(module.name)
        made = _view_of(result)
    if made is None:
        raise TypeError(f"there is no view of {type(result).__name__}")
    return made(result, **options)


def _view_of(result: object) -> Callable[..., Document] | None:
    names = (kind.__name__ for kind in type(result).__mro__)
    return next((_VIEWS[name] for name in names if name in _VIEWS), None)


class Shown:
    """Gives a result its notebook form."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from rankscope.document.html import fragment  # noqa: PLC0415

        return fragment(document_of(self))
