"""Any search API over HTTP as a system: a request from templates, an answer read by paths.

Each query is one request (or one for each page), asked once: `rankscope.retrieval.fetch` repeats
what fails, and keeps to the rate, the number of requests at a time and the time limit. As long as
no query was answered, what is wrong with the address, the key, the request or a path is an error
that ends the fetch. Later it is the failure of that query.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.protocol import (
    Capabilities,
    Component,
    Identity,
    Query,
    Ranking,
    System,
    check_depth,
    snapshot_of,
)
from rankscope.retrieval.registry import SYSTEMS, Context
from rankscope.retrieval.remote.api_options import HttpOptions
from rankscope.retrieval.remote.api_requests import Values, path_with_variables, search_request
from rankscope.retrieval.remote.engine_facts import (
    advice,
    ask_first,
    described,
    engine_facts,
    whole_number,
)
from rankscope.retrieval.remote.json_paths import JsonPath, NoPathError
from rankscope.retrieval.remote.placeholders import MissingValueError
from rankscope.retrieval.remote.web import REFUSED, Web, WebError
from rankscope.retrieval.vector.embedders import EMBEDDERS
from rankscope.retrieval.vector.embeddings import Embeddings

_PLAIN_WORD = "test"
"""Asked when the first query is refused: is it the query, or the request?"""

_KINDS = {
    type(None): "null",
    bool: "true or false",
    str: "a text",
    int: "a whole number that is too large",
    float: "a number with a point",
    list: "a list; add [*]",
    dict: "a table",
}
"""What JSON holds, in messages about what was expected instead."""

Pairs = list[tuple[str, float]]


@SYSTEMS.add("http", HttpOptions, summary="any search API over HTTP")
class SearchApi(System):
    """Asks a search API."""

    batch_size = 8
    capabilities = Capabilities(
        deterministic=False, exact=False, ties="any", concurrent=True, remote=True
    )

    def __init__(self, options: HttpOptions, context: Context) -> None:
        self.options: HttpOptions = options
        self.owned: list[Component] = []
        self._request = search_request(options, context)
        self._names = self._request.names()
        self._ids = path_with_variables(options, options.ids or "")
        self._scores = _path(options, options.scores)
        self._total = _path(options, options.total)
        self._errors = [path_with_variables(options, path) for path in options.errors]
        self._embeddings = self._made_embeddings(context)
        parts = urlsplit(options.url)
        verify = options.verify
        server = {
            "url": f"{parts.scheme}://{parts.netloc}",
            "verify": str(context.path(verify)) if isinstance(verify, str) else verify,
        }
        where = options.model_copy(update=server)
        self._web = Web(where, needed_for="an http system")
        self._patient_web = Web(where, needed_for="an http system", retries=2)
        self._keys = {name: key.get_secret_value() for name, key in options.keys.items()}
        self._asked: dict[str, Any] = {}
        self._snapshot, self._remarks = snapshot_of(options.snapshot, f"the API {options.url}")
        if "depth" not in self._names:
            self._remarks += ("the request does not say {{depth}}: the API decides how many",)
        self._facts = EngineFacts(
            engine="http",
            version="",
            documents=None,
            settings=described(options),
            snapshot=options.snapshot,
        )
        self._is_ready = self._was_accepted = self._was_read = False
        self._shortest: tuple[int, int] | None = None

    def _made_embeddings(self, context: Context) -> Embeddings | None:
        if self.options.embedder is None:
            return None
        return Embeddings(context.make(EMBEDDERS, self.options.embedder, self.owned), context.cache)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the user should know of the API and its answers."""
        notes = [*self._remarks, *(note for part in self.parts() for note in part.notes)]
        if self._shortest is not None:
            count, total = self._shortest
            notes.append(
                f"the API gave {count:,} documents where {total:,} match and more were asked for; "
                "if it limits the size of an answer, use the option page"
            )
        return tuple(notes)

    def parts(self) -> Sequence[Component]:
        """Return the embedder, if there is one."""
        return [] if self._embeddings is None else [self._embeddings.embedder]

    def facts(self) -> Sequence[EngineFacts]:
        """Say what the engine says of itself."""
        return [self._facts]

    def index(self, corpus: Corpus) -> None:
        """Do nothing: the API has its own documents."""

    def identity(self) -> Identity:
        """Say what exactly answers: the request, and what is read of the answer."""
        options = self.options
        embedder = None if self._embeddings is None else self._embeddings.embedder.described()
        return Identity(
            kind="http",
            name=self.name,
            version="http",
            parameters={
                "url": options.url,
                "request": self._request.plain(),
                "ids": str(self._ids),
                "scores": self._scores and str(self._scores),
                "order": options.order,
                "id_after": options.id_after,
                "page": options.page,
                "embedder": embedder,
                "query_prefix": options.query_prefix,
                "ask_first": {name: ask.plain() for name, ask in options.ask_first.items()},
            },
            snapshot=self._snapshot,
        )

    def close(self) -> None:
        """Close connections."""
        super().close()
        self._web.close()
        self._patient_web.close()

    def prepare(self) -> None:
        """Make sure that the server is there, and ask what it is.

        Raises:
            InputError: it is not, or refuses.
        """
        if self._is_ready:
            return
        began = time.perf_counter()
        self._web.reach()
        nobody = Values(Query("", ""), 1, 0, None, self._keys, {})
        self._asked = ask_first(self.options, self._patient_web, nobody)
        self._facts, notes = engine_facts(
            self.options,
            self._patient_web,
            replace(nobody, asked=self._asked),
            self.options.snapshot,
        )
        self._remarks += notes
        self._is_ready = True
        self.seconds_indexing = time.perf_counter() - began

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask each query."""
        depth = check_depth(depth)
        asked = [query for query in queries if query.text.strip()]
        if not asked:
            return [Ranking() for _ in queries]
        self.prepare()
        vectors = self._vectors(asked)
        if not self._was_accepted and len(asked) > 1:
            lacks = [self._lack(query, depth) for query in asked]
            if all(lacks):
                raise InputError(f"{lacks[0]} (none of the first {len(asked)} queries has it)")
        return [
            self._answer(query, depth, vectors[query.query_id]) if query.text.strip() else Ranking()
            for query in queries
        ]

    def _lack(self, query: Query, depth: int) -> str | None:
        """Say which value a query lacks; None if it has all that is asked for."""
        try:
            self._request.filled(self._values(query, depth, 0, []))
        except MissingValueError as error:
            return str(error)
        return None

    def _vectors(self, queries: Sequence[Query]) -> dict[str, list[float] | str | None]:
        """Return the vector of each query by its id, or in one sentence why it has none."""
        if self._embeddings is None:
            return dict.fromkeys(query.query_id for query in queries)
        texts = [self.options.query_prefix + query.text for query in queries]
        try:
            vectors: list[Any] = list(self._embeddings.of(texts))
        except InputError:
            vectors = [self._vector(text) for text in texts]
        return {
            query.query_id: vector if isinstance(vector, str) else _numbers(vector)
            for query, vector in zip(queries, vectors, strict=True)
        }

    def _vector(self, text: str) -> Any:
        if self._embeddings is None:
            return None
        try:
            return self._embeddings.of([text])[0]
        except InputError as error:
            return str(error)

    def _values(self, query: Query, size: int, offset: int, vector: list[float] | None) -> Values:
        return Values(query, size, offset, vector, self._keys, self._asked)

    def _answer(self, query: Query, depth: int, vector: list[float] | str | None) -> Ranking:
        if isinstance(vector, str):
            return Ranking.failed(vector)
        if vector is not None and not any(vector):
            return Ranking()  # it has no direction
        began = time.perf_counter()
        try:
            pairs = self._pairs(query, depth, vector)
        except MissingValueError as error:
            return Ranking.failed(str(error))
        except WebError as error:
            self._end_if_all_would_fail(error, query, depth)
            wait = getattr(error, "retry_after", None)
            return Ranking.failed(str(error), time.perf_counter() - began, retry_after=wait)
        except InputError as error:
            if not self._was_read:
                raise
            return Ranking.failed(str(error), time.perf_counter() - began)
        return Ranking.of(pairs, depth, seconds=time.perf_counter() - began)

    def _end_if_all_would_fail(self, error: WebError, query: Query, depth: int) -> None:
        """Raise if no query was answered yet, and none would be.

        A request that is refused might be so because of its query; so a plain word is asked, too.
        """
        if self._was_accepted or error.status is None:
            return
        if error.status in REFUSED:
            raise InputError(f"{error}{advice(error)}") from None
        if error.may_repeat and error.status >= 300:
            return
        vector = self._vector(self.options.query_prefix + _PLAIN_WORD)
        if isinstance(vector, str):
            return
        try:
            plain = replace(query, text=_PLAIN_WORD)
            self._pairs(plain, depth, None if vector is None else _numbers(vector))
        except WebError as second:
            if second.status == error.status:
                raise InputError(str(error)) from None

    def _pairs(self, query: Query, depth: int, vector: list[float] | None) -> Pairs:
        """Ask for as many pages as there are and are needed."""
        size = min(self.options.page or depth, depth)
        pairs: Pairs = []
        while len(pairs) < depth:
            values = self._values(query, size, len(pairs), vector)
            answer = self._request.send(self._web, values)
            self._check(answer)
            page = self._read(answer, len(pairs))
            self._was_accepted = True
            self._was_read = self._was_read or bool(page)
            pairs += page
            if self.options.page is None or len(page) < size:
                self._compare_with_total(answer, len(pairs), depth)
                break
        return pairs[:depth] if self._scores is None else pairs

    def _check(self, answer: Any) -> None:
        """Raise if an answer says that something went wrong."""
        for path in self._errors:
            problems = [problem for problem in path.find_some(answer) if problem]
            if problems:
                first = problems[0]
                text = shown(first, 200) if isinstance(first, str) else f"{path} is set"
                raise WebError(f"{self._web.host} answered with an error: {text}", status=200)

    def _read(self, answer: Any, before: int) -> Pairs:
        """Return the documents of an answer, of which there were some on earlier pages."""
        ids = [self._id(value) for value in self._located("ids", self._ids, answer)]
        if self._scores is None:
            return [(doc_id, -float(before + at)) for at, doc_id in enumerate(ids, start=1)]
        scores = self._located("scores", self._scores, answer)
        if len(ids) != len(scores):
            raise InputError(
                f"the answer has {len(ids):,} ids at {self._ids} and {len(scores):,} scores at "
                f"{self._scores}; expected as many"
            )
        sign = -1.0 if self.options.order == "ascending" else 1.0
        return [
            (doc_id, sign * self._score(value)) for doc_id, value in zip(ids, scores, strict=True)
        ]

    def _located(self, option: str, path: JsonPath, answer: Any) -> list[Any]:
        try:
            values: list[Any] = path.find(answer)
        except NoPathError as error:
            raise InputError(f"{option}: {error}") from None
        return values

    def _id(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int):
            kind = _KINDS[type(value)]
            raise InputError(f"ids: expected texts or whole numbers at {self._ids}, got {kind}")
        text = str(value)
        after = self.options.id_after
        return text.partition(after)[2] if after is not None and after in text else text

    def _score(self, value: Any) -> float:
        # some APIs write numbers as text, and JSON has whole numbers that no float can hold
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            with suppress(ValueError, OverflowError):
                return float(value)
        raise InputError(f"scores: expected numbers at {self._scores}, got {_KINDS[type(value)]}")

    def _compare_with_total(self, answer: Any, count: int, depth: int) -> None:
        """Remember an answer that is shorter than it could be."""
        totals = [] if self._total is None else self._total.find_some(answer)
        total = whole_number(totals[0]) if len(totals) == 1 else None
        if total is None or count >= min(total, depth):
            return
        if self._shortest is None or self._shortest[0] > count:
            self._shortest = count, total


def _numbers(vector: Any) -> list[float]:
    """Return a vector as JSON has it, each number as short as float32 can be written."""
    return [float(str(number)) for number in np.asarray(vector, np.float32)]


def _path(options: HttpOptions, text: str | None) -> JsonPath | None:
    return None if text is None else path_with_variables(options, text)
