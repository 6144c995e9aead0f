"""Options of the system ``http``: what is sent to a search API, and where its answer holds what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator, model_validator

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.retrieval.options import (
    Options,
    Secret,
    SpecError,
    Text,
    TextList,
    Unexpanded,
    UnknownSpecNameError,
)
from rankscope.retrieval.remote.api_recipes import read_recipe
from rankscope.retrieval.remote.json_paths import JsonPath
from rankscope.retrieval.remote.placeholders import (
    OF_QUERY,
    Placeholder,
    check_plain,
    is_variable,
    placeholders,
    read_template,
)
from rankscope.retrieval.remote.web import WebOptions
from rankscope.retrieval.vector.embedders import EMBEDDERS

_MERGED = ("params", "variables")
"""Options of a recipe that those of the user are added to, instead of replacing them."""


class AskOptions(Options):
    """A request that is made before the first query, and where its answer holds what is wanted."""

    path: Text
    """Added to the url; variables may be in it, such as /{{index}}/_count."""
    at: str = ""
    """The path to the value in the answer; if not given, the whole answer."""
    method: Literal["GET", "POST"] = "GET"
    """GET or POST."""
    params: dict[str, Any] = Field(default_factory=dict)
    """What is sent after the ? of the address."""
    body: Any = None
    """What is sent as JSON."""

    @field_validator("at")
    @classmethod
    def _is_path(cls, at: str) -> str:
        JsonPath.parse(at)
        return at


class HttpOptions(WebOptions):
    """What is asked, and where the answer holds ids and scores."""

    url: Text
    """Where the API is: http:// or https://, without a user and password (use headers). Its path
    may hold placeholders."""
    recipe: Text | None = None
    """A known engine, such as elasticsearch, whose options are taken where none are given here."""
    search: Text | None = None
    """Which of the recipe's searches: lexical, vector, …; if not given, its first."""
    index: Text | None = None
    """What is searched there, for {{index}}."""
    variables: dict[str, Any] = Field(default_factory=dict)
    """Values of other placeholders, the same for all queries: {fields: [title, text]} for
    {{fields}}. They may hold placeholders that are filled in for each query."""
    method: Literal["GET", "POST"] | None = None
    """GET or POST; if not given, POST if there is a body."""
    path: str = ""
    """Added to the url, such as /{{index}}/_search."""
    params: dict[str, Any] = Field(default_factory=dict)
    """What is sent after the ? of the address: texts with placeholders, or lists of them."""
    body: Any = None
    """What is sent as JSON: a table or list with placeholders, JSON as text, or the name of a file
    that holds it. Placeholders: {{query}}, {{depth}}, {{vector}}, {{metadata.x}}, {{keys.x}}, and
    {{offset}} or {{page}} with the option page."""
    keys: dict[str, Secret] = Field(default_factory=dict)
    """Secrets that an API wants elsewhere than in headers: {token: "${TOKEN}"} for {{keys.token}};
    never recorded."""
    ids: Text | None = None
    """The path to the ids of documents in the answer, such as hits.hits[*]._id; needed, unless a
    recipe has it."""
    scores: Text | None = None
    """The path to their scores. If not given, documents are taken in the order of the answer."""
    order: Literal["descending", "ascending"] = "descending"
    """Whether the best document has the highest score, or, as with distances, the lowest."""
    total: Text | None = None
    """The path to how many documents match; says whether the API gives fewer than it has."""
    errors: TextList = ()
    """Paths to what is in the answer only if something went wrong, though the status is 200."""
    id_after: Text | None = None
    """Take of an id what is after the first occurrence of this text, such as :: of Vespa's ids."""
    page: Annotated[int, Field(ge=1)] | None = None
    """The most documents the API gives at once; more are asked for page by page, with {{offset}}
    or {{page}}. {{depth}} is then the size of a page."""
    embedder: Annotated[Any, EMBEDDERS] = None
    """What makes the {{vector}} of a query, as in vector. Vectors have length 1."""
    query_prefix: str = ""
    """Written before each query that is embedded, where a model asks for it."""
    ask_first: dict[str, AskOptions] = Field(default_factory=dict)
    """Values that the server is asked for once, such as the id of a collection, for {{asked.x}}."""
    version: AskOptions | None = None
    """How the engine is asked for its version, for the record."""
    count: AskOptions | None = None
    """How it is asked for the number of documents, for the record."""
    settings: AskOptions | None = None
    """How it is asked for the settings of the index, for the record."""

    @model_validator(mode="before")
    @classmethod
    def _with_recipe(cls, data: Any) -> Any:
        """Take from the recipe what is not given."""
        if not isinstance(data, Mapping) or not isinstance(data.get("recipe"), str):
            return data
        search = data.get("search")
        recipe = read_recipe(data["recipe"])
        defaults = recipe.options(search if isinstance(search, str) else None)
        merged = {**defaults, **data}
        for name in _MERGED:
            given = data.get(name, {})
            if isinstance(given, Mapping):
                merged[name] = {**defaults.get(name, {}), **given}
        return merged

    @field_validator("url")
    @classmethod
    def _without_query(cls, url: str) -> str:
        if isinstance(url, Unexpanded):
            return url
        parts = urlsplit(url)
        if parts.query or parts.fragment:
            raise InputError("the address has a part after ? or #; write it as params")
        if "{{" in parts.netloc:
            raise InputError("a placeholder may be in the path of the address only")
        return url

    @field_validator("path")
    @classmethod
    def _begins_with_slash(cls, path: str) -> str:
        if path and not path.startswith("/"):
            raise InputError(f"expected a path such as /{{{{index}}}}/_search, got {shown(path)}")
        if "?" in path.replace("?}}", "").replace("?|", ""):
            raise InputError("the path has a part after ?; write it as params")
        return path

    @field_validator("ids", "scores", "total")
    @classmethod
    def _is_path(cls, path: str | None) -> str | None:
        JsonPath.parse(path or "")
        return path

    @field_validator("errors")
    @classmethod
    def _are_paths(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            JsonPath.parse(path)
        return paths

    @field_validator("body")
    @classmethod
    def _is_template(cls, body: Any) -> Any:
        """Read JSON that is written as text; a name of a file stays."""
        if isinstance(body, str):
            return read_template(body) if body.lstrip()[:1] in ("{", "[") else body
        if body is not None and not isinstance(body, Mapping | list):
            raise InputError(f"expected a table, a list, JSON or a file, got {shown(body)}")
        check_plain(body)
        return body

    @field_validator("params", "variables")
    @classmethod
    def _are_plain(cls, table: dict[str, Any]) -> dict[str, Any]:
        check_plain(table)
        return table

    @model_validator(mode="after")
    def _makes_sense(self, info: ValidationInfo) -> Self:
        if self.search is not None and self.recipe is None:
            raise SpecError("a search is one of a recipe; name a recipe, too", ("search",))
        if self.ids is None:
            raise SpecError(
                "option ids is required: the path to the ids of documents in the answer, such as "
                "hits.hits[*]._id, or a recipe"
            )
        if info.context is not None and info.context.unexpanded:
            self._refuse_variables_of_the_environment()
        if not isinstance(self.body, str):  # a file is checked when it is read
            check_placeholders(self, self.body)
        return self

    def _refuse_variables_of_the_environment(self) -> None:
        """Keep secrets where they are known to be some."""
        for name in ("path", "params", "body", "variables"):
            if any("${" in text.replace("$${", "") for text in _texts(getattr(self, name))):
                raise SpecError(
                    "a variable of the environment is kept secret in headers and keys only; write "
                    'keys: {token: "${TOKEN}"}, and {{keys.token}} here',
                    (name,),
                )

    def known_variables(self) -> dict[str, Any]:
        """Return the variables that placeholders may name; one without a value is None."""
        return {**self.variables, "index": self.index or self.variables.get("index")}


def check_placeholders(options: HttpOptions, body: Any) -> None:
    """Refuse placeholders that nobody can fill, and a request that is the same for all queries.

    Raises:
        SpecError: what is wrong, and in which option.
    """
    sent = {"url": options.url, "path": options.path, "params": options.params, "body": body}
    asks = {**options.ask_first, "version": options.version}
    asks |= {"count": options.count, "settings": options.settings}
    others = {
        name: [ask.path, ask.params, ask.body, JsonPath.parse(ask.at).keys()]
        for name, ask in asks.items()
        if ask is not None
    }
    paths = {
        name: JsonPath.parse(getattr(options, name) or "").keys()
        for name in ("ids", "scores", "total")
    }
    named: set[str] = set()
    for name, template in {**sent, "variables": options.variables}.items():
        for placeholder in _placeholders(name, template):
            _check_name(options, placeholder, name)
            named.add(placeholder.name)
    for name, template in {**others, **paths}.items():
        for placeholder in _placeholders(name, template):
            _check_name(options, placeholder, name, any_query=False)
    _check_use(options, named)


def _check_use(options: HttpOptions, named: set[str]) -> None:
    if not named & {"query", "vector"}:
        raise SpecError(
            "neither path, params nor body holds {{query}} or {{vector}}, so all queries would be "
            "asked alike"
        )
    if ("vector" in named) is not (options.embedder is not None):
        if options.embedder is None:
            raise SpecError("{{vector}} needs an embedder, such as embedder: wordllama")
        raise SpecError("nothing holds {{vector}}, so no embedder is needed", ("embedder",))
    if options.page is not None and not named & {"offset", "page"}:
        raise SpecError("pages need {{offset}} or {{page}} in path, params or body", ("page",))


def _placeholders(option: str, template: Any) -> list[Placeholder]:
    try:
        return list(placeholders(template))
    except InputError as error:
        raise SpecError(str(error), (option,)) from None


def _check_name(
    options: HttpOptions, placeholder: Placeholder, option: str, *, any_query: bool = True
) -> None:
    name = placeholder.name
    group, _, key = name.partition(".")
    variables = options.known_variables()
    if name in OF_QUERY or group == "metadata":
        if not any_query or (group == "metadata" and not key):
            raise SpecError(f"{placeholder} is known for queries only", (option,))
        return
    if group in ("keys", "asked"):
        known: Any = options.keys if group == "keys" else options.ask_first
        if key not in known:
            unknown = UnknownNameError(f"placeholder {group}.", key, known)
            raise UnknownSpecNameError(unknown, (option,))
    elif is_variable(name):
        if name not in variables:
            names = [*OF_QUERY, "metadata.x", *variables]
            raise UnknownSpecNameError(UnknownNameError("placeholder", name, names), (option,))
        if variables[name] is None and not placeholder.may_miss:
            how = "index: NAME" if name == "index" else f"variables: {{{name}: …}}"
            raise SpecError(f"{placeholder} has no value; write {how}", (option,))


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield key
            yield from _texts(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _texts(value)
