"""Recipes: how known engines are asked over HTTP, as options of the system ``http``.

A recipe is a YAML file in ``rankscope/data/search_apis``: what it is called, which variables it
has, options that all its searches share, and its searches (``lexical``, ``vector``, …).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from rankscope.errors import UnknownNameError
from rankscope.retrieval.options import UnknownSpecNameError


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one engine is asked.

    ``tried`` says what the recipe was tried against, ``key`` how a key is sent, and ``filter`` what
    a filter looks like. ``variables`` are those with a default; ``index`` is always there.
    """

    name: str
    title: str
    tried: str
    key: str
    filter: str
    notes: str
    variables: Mapping[str, Any]
    common: Mapping[str, Any]
    searches: Mapping[str, Mapping[str, Any]]

    def options(self, search: str | None) -> dict[str, Any]:
        """Return the options of one of its searches; of the first if none is named.

        Raises:
            UnknownNameError: there is no such search.
        """
        name = next(iter(self.searches)) if search is None else search
        if name not in self.searches:
            error = UnknownNameError(f"search of the recipe {self.name}", name, self.searches)
            raise UnknownSpecNameError(error, ("search",))
        return {**self.common, **self.searches[name], "variables": dict(self.variables)}


_FOLDER = files("rankscope") / "data" / "search_apis"


def recipe_names() -> list[str]:
    """List the recipes."""
    entries = (entry.name for entry in _FOLDER.iterdir())
    return sorted(name.removesuffix(".yaml") for name in entries if name.endswith(".yaml"))


@cache
def read_recipe(name: str) -> Recipe:
    """Read a recipe.

    Raises:
        UnknownNameError: there is none of that name; names the nearest.
    """
    if name not in recipe_names():
        error = UnknownNameError("recipe", name, recipe_names())
        raise UnknownSpecNameError(error, ("recipe",))
    data = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text("utf-8"))
    return Recipe(name=name, **data)
