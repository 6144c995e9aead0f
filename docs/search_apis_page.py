"""The page of the reference on recipes for search APIs, written from their files."""

from __future__ import annotations

from importlib.resources import files

from rankscope.retrieval.remote.api_recipes import Recipe, read_recipe, recipe_names

INTRODUCTION = """\
# Recipes for search APIs

Options of the [`http` system](../how-to/connect-a-search-api.md) for known engines, used as
`{http: {recipe: elasticsearch, url: …, index: …}}`. `search` chooses among a recipe's searches; the
first is taken if it is not given. A search that sends a vector needs an `embedder`.

Each recipe is run by a test. A *stand-in* is a server of ours that answers in the shape that the
engine's documentation describes, and refuses what it refuses; it cannot show where an engine
differs from its documentation. If you run a recipe against such an engine, please tell us what you
saw.
"""


def search_apis_page() -> str:
    """Return the page."""
    recipes = [read_recipe(name) for name in recipe_names()]
    rows = ["| recipe | engine | searches | tried against |", "|---|---|---|---|"]
    rows += [
        f"| [`{recipe.name}`](#{recipe.name}) | {recipe.title} | "
        f"{', '.join(f'`{name}`' for name in recipe.searches)} | {recipe.tried} |"
        for recipe in recipes
    ]
    return "\n".join([INTRODUCTION, *rows, "", "\n\n".join(map(_section, recipes))]) + "\n"


def _section(recipe: Recipe) -> str:
    name, value = recipe.key.split(": ", 1)
    spec = [
        "systems:",
        f"  {recipe.name}:",
        "    http:",
        f"      recipe: {recipe.name}",
        f"      url: {'https' if recipe.name.startswith('azure') else 'http'}://search.example.org",
        "      index: Products",
        f"      headers: {{{name}: {value}}}",
        "      snapshot: 2026-11-17",
        *(["      embedder: wordllama"] if "lexical" not in recipe.searches else []),
    ]
    variables = ", ".join(f"`{name}`" for name in recipe.variables)
    where = recipe.filter if recipe.filter.startswith("where: ") else f"filter: {recipe.filter}"
    file = files("rankscope") / "data" / "search_apis" / f"{recipe.name}.yaml"
    return "\n".join(
        [
            f"## {recipe.name}",
            "",
            f"{recipe.title}, tried against {recipe.tried}. {recipe.notes}",
            "",
            "```yaml",
            *spec,
            "```",
            "",
            f"Variables: {variables}. A filter by the query's field `lang`, for `variables`:",
            "",
            "```yaml",
            where.strip(),
            "```",
            "",
            "The recipe:",
            "",
            "```yaml",
            _recipe_itself(file.read_text("utf-8")),
            "```",
        ]
    )


def _recipe_itself(text: str) -> str:
    """Return what is sent and read, without what the page says already."""
    return text[text.index("\nvariables:") :].strip()
