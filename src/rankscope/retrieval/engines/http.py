"""Any search API over HTTP: a request with placeholders, an answer read by paths.

Values are put into the request by structure, never by pasting text into JSON, so no query can break
out of its place. As long as no query was answered, what is wrong with the address, the key or a
path ends the fetch; later it is the failure of that query.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote, urlsplit

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from rankscope.errors import InputError, shown
from rankscope.retrieval.engines.base import Engine, EngineOptions, Pairs, Question
from rankscope.retrieval.options import SpecError, Text, TextList, Unexpanded
from rankscope.retrieval.protocol import Identity, UnansweredError
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.vector.embedders import EMBEDDERS
from rankscope.retrieval.web import REFUSED, Web, WebError, WebOptions

Path = Text | TextList
"""Keys and places on the way into an answer: hits.0._id, or a list of them."""

_PLACEHOLDER = re.compile(r"\{(query|depth|vector|env\.\w+)\}")
_MOST_KEYS = 8


class HttpOptions(WebOptions, EngineOptions):
    """What is asked, and where the answer holds ids and scores."""

    url: Text
    """The address that is asked: http:// or https://, without a user and password (use headers).
    Its path may hold placeholders."""
    method: Literal["GET", "POST"] | None = None
    """GET or POST; if not given, POST if there is a body."""
    params: dict[str, Any] = Field(default_factory=dict)
    """What is sent after the ? of the address: texts with placeholders, or lists of them."""
    body: Any = None
    """What is sent as JSON: a table or a list. Placeholders are {query}, {depth}, {vector}, and for
    secrets {env.NAME}, a variable of the environment; one that is all of a text becomes the value
    itself."""
    hits: Path | None = None
    """The path to the list of documents in the answer, such as hits.hits. If not given, ids and
    scores lead to lists themselves."""
    ids: Path
    """The path to the id, from each hit: _id. A key after which ? is written may be missing. A key
    with a point in it is written as one of a list."""
    scores: Path | None = None
    """The path to the score, from each hit. If not given, the order of the answer counts."""
    order: Literal["descending", "ascending"] = "descending"
    """Whether the best document has the highest score, or, as with distances, the lowest."""
    errors: TextList = ()
    """Paths to what is in the answer only if something went wrong, though the status is 200."""
    embedder: Annotated[Any, EMBEDDERS] = None
    """What makes the {vector} of a query, as in vector. Vectors have length 1."""

    @field_validator("url")
    @classmethod
    def _without_query(cls, url: str) -> str:
        parts = urlsplit(url)
        if not isinstance(url, Unexpanded) and (parts.query or parts.fragment):
            raise InputError("the address has a part after ? or #; write it as params")
        return url

    @model_validator(mode="after")
    def _makes_sense(self, info: ValidationInfo) -> Self:
        if self.body is not None and not isinstance(self.body, Mapping | list):
            raise SpecError(f"expected a table or a list, got {shown(self.body)}", ("body",))
        texts = [self.url, *_texts(self.params), *_texts(self.body)]
        if info.context is not None and info.context.unexpanded:
            for name in ("params", "body"):
                if any("${" in text for text in _texts(getattr(self, name))):
                    problem = "what is written here is recorded; write {env.NAME}, which is not"
                    raise SpecError(problem, (name,))
        names = {match[1] for text in texts for match in _PLACEHOLDER.finditer(text)}
        if not names & {"query", "vector"} and not isinstance(self.url, Unexpanded):
            problem = "neither url, params nor body holds {query} or {vector}"
            raise SpecError(f"{problem}, so all queries would be asked alike")
        if "vector" in names and self.embedder is None:
            raise SpecError("{vector} needs an embedder, such as embedder: wordllama")
        if "vector" not in names and self.embedder is not None:
            raise SpecError("nothing holds {vector}, so no embedder is needed", ("embedder",))
        return self

    def variables(self) -> list[str]:
        """Return the names of the variables that hold secrets."""
        texts = [self.url, *_texts(self.params), *_texts(self.body)]
        names = (match[1] for text in texts for match in _PLACEHOLDER.finditer(text))
        return sorted({name.removeprefix("env.") for name in names if name.startswith("env.")})

    def secrets(self) -> list[str]:
        """Return the values that must not be shown."""
        held = [os.environ.get(name, "") for name in self.variables()]
        return [*super().secrets(), *filter(None, held)]


@SYSTEMS.add("http", HttpOptions, summary="any search API over HTTP")
class SearchApi(Engine):
    """Asks a search API."""

    kind = "http"
    options: HttpOptions

    def __init__(self, options: HttpOptions, context: Context) -> None:
        super().__init__(options, context)
        verify = options.verify
        verify = str(context.path(verify)) if isinstance(verify, str) else verify
        parts = urlsplit(options.url)
        where = {"url": f"{parts.scheme}://{parts.netloc}", "verify": verify}
        self._web = Web(options.model_copy(update=where), needed_for="an http system", owner=self)
        self._path = parts.path
        self._method = options.method or ("GET" if options.body is None else "POST")
        self._was_read = False

    @property
    def needs_vectors(self) -> bool:
        """Whether anything is embedded."""
        return self.options.embedder is not None

    @property
    def source(self) -> str:
        """What messages call what is searched."""
        return f"the API {self.options.url}"

    def parameters(self) -> dict[str, Any]:
        """Return the request, with its placeholders, and what is read of the answer."""
        names = ("url", "params", "body", "hits", "ids", "scores", "order")
        return {"method": self._method, **{name: getattr(self.options, name) for name in names}}

    def identity(self) -> Identity:
        """Say what exactly answers."""
        return super().identity().model_copy(update={"version": "http"})

    def connect(self) -> None:
        """Make sure that something listens, and that secrets have a value."""
        for name in self.options.variables():
            if not os.environ.get(name):
                raise InputError(f"{{env.{name}}} has no value; set {name} in the environment")
        self._web.reach()

    def disconnect(self) -> None:
        """Close connections."""
        self._web.close()

    def translated(self, error: Exception) -> Exception:
        """Let a refusal of the address or key, and a path that is wrong, end the fetch."""
        if self._was_read:
            return error
        if isinstance(error, AnswerError):
            return InputError(str(error))
        if isinstance(error, WebError) and error.status in REFUSED:
            is_key = error.status in (401, 403)
            return InputError(f"{error}; check {'the key in headers' if is_key else 'url'}")
        return error

    def ask(self, question: Question, depth: int) -> Pairs:
        """Send one request, and read its answer."""
        vector = None
        if question.vector is not None:  # each number as short as float32 can be written
            vector = [float(str(number)) for number in np.asarray(question.vector, np.float32)]
        values = {"query": question.text, "depth": depth, "vector": vector}

        def value_of(name: str) -> Any:
            variable = name.removeprefix("env.")
            return values[name] if name in values else os.environ.get(variable, "")

        path = _PLACEHOLDER.sub(lambda match: quote(_text(value_of(match[1])), safe=""), self._path)
        given = self.options.params.items()
        params = {name: _param(filled(value, value_of)) for name, value in given}
        body = None if self.options.body is None else filled(self.options.body, value_of)
        answer = self._web.json(self._method, path, body, params=params)
        pairs = self._read(answer)
        self._was_read = self._was_read or bool(pairs)
        return pairs[:depth] if self.options.scores is None else pairs

    def _read(self, answer: Any) -> Pairs:
        """Return the documents of an answer."""
        options = self.options
        for path in options.errors:
            with suppress(AnswerError):
                problem = located(answer, path)
                if problem:
                    text = shown(problem, 200) if isinstance(problem, str) else f"{path} is set"
                    raise WebError(f"{self._web.host} answered with an error: {text}", status=200)
        if options.hits is not None:
            hits = _list("hits", located(answer, options.hits))
            ids = [located(hit, options.ids) for hit in hits]
            scores = [located(hit, options.scores) for hit in hits] if options.scores else None
        else:
            ids = _list("ids", located(answer, options.ids))
            scores = _list("scores", located(answer, options.scores)) if options.scores else None
        names = [_id(value) for value in ids]
        if scores is None:
            return [(name, -float(at)) for at, name in enumerate(names, start=1)]
        if len(names) != len(scores):
            problem = f"{len(names):,} ids and {len(scores):,} scores"
            raise AnswerError(f"the answer has {problem}; expected as many")
        sign = -1.0 if options.order == "ascending" else 1.0
        return [(name, sign * _score(value)) for name, value in zip(names, scores, strict=True)]


class AnswerError(UnansweredError):
    """An answer that does not hold what it should, in one sentence."""


def filled(template: Any, value_of: Callable[[str], Any]) -> Any:
    """Put values into a template.

    >>> filled({"size": "{depth}", "q": "about {query}"}, {"depth": 3, "query": "x"}.get)
    {'size': 3, 'q': 'about x'}
    """
    if isinstance(template, Mapping):
        return {key: filled(value, value_of) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [filled(value, value_of) for value in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole is not None:
        return value_of(whole[1])
    return _PLACEHOLDER.sub(lambda match: _text(value_of(match[1])), template)


def located(data: Any, path: Path) -> Any:
    """Return what a path leads to; an empty list where a key that may be missing is.

    Raises:
        AnswerError: it leads nowhere; names keys of the answer, and no value.

    >>> located({"hits": [{"_id": "a"}]}, "hits.0._id")
    'a'
    """
    steps = path.split(".") if isinstance(path, str) else path
    value = data
    for at, step in enumerate(steps):
        key = step.removesuffix("?")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif step.endswith("?"):
            return []
        else:
            where = f"at {'.'.join(steps[:at])} the answer" if at else "the answer"
            raise AnswerError(f"{'.'.join(steps)} leads nowhere: {where} {_content(value)}")
    return value


def _content(value: Any) -> str:
    """Say what is there, for a message: keys, and never values."""
    if isinstance(value, Mapping):
        keys = [shown(key, 30) for key in value]
        more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
        return f"has {', '.join(keys[:_MOST_KEYS])}{more}" if keys else "is empty"
    return f"is {_kind(value)}"


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    kinds = {str: "a text", int: "a whole number", float: "a number", dict: "a table"}
    return kinds.get(type(value), "something else")


def _list(option: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise AnswerError(f"{option}: expected a list in the answer, got {_kind(value)}")
    return value


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise AnswerError(f"ids: expected texts or whole numbers, got {_kind(value)}")
    return str(value)


def _score(value: Any) -> float:
    # some APIs write numbers as text, and JSON has whole numbers that no float can hold
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            number = float(value)
            if math.isfinite(number):
                return number
    raise AnswerError(f"scores: expected numbers, got {_kind(value)}")


def _param(value: Any) -> str | list[str]:
    """Write a value as an address has it; a list of texts is sent as several values."""
    if isinstance(value, list) and not all(isinstance(item, float) for item in value):
        return [_text(item) for item in value]
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        yield from (text for value in data.values() for text in _texts(value))
    elif isinstance(data, list | tuple):
        yield from (text for value in data for text in _texts(value))
