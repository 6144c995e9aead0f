"""Engines with files in a folder of this process, and those that may be servers.

The first request to a server is made with our own client, which says in one sentence what is wrong
with an address or a key; then the engine's own client takes over.
"""

from __future__ import annotations

import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit
from weakref import finalize

from pydantic import field_validator, model_validator

from rankscope.errors import InputError, shown
from rankscope.retrieval.engines.base import Pairs, Question
from rankscope.retrieval.engines.engine_folder import opened, remove_folder
from rankscope.retrieval.engines.loaded import LoadedEngine, LoadedOptions
from rankscope.retrieval.options import Secret, SpecError, Text
from rankscope.retrieval.registry import Context
from rankscope.retrieval.web import REFUSED, Web, WebError, WebOptions


class StoreOptions(LoadedOptions):
    """Where an engine keeps its files, and what of yours is searched there."""

    path: Text | None = None
    """A folder in which the engine keeps its files in this process, from the folder of the config.
    If not given: below the cache."""
    existing: Text | None = None
    """A collection or table of yours, which is searched as it is and never changed; nothing is
    loaded, and no corpus needed."""
    id_field: Text | None = None
    """With existing: the field that holds the document id. Of several records with one document id
    the best counts."""

    @property
    def is_attached(self) -> bool:
        """Whether something is searched that is there already."""
        return self.existing is not None

    @field_validator("path")
    @classmethod
    def _folder(cls, path: str | None) -> str | None:
        if path is not None and "://" in path:
            raise ValueError("a folder")
        return path

    @model_validator(mode="after")
    def _loaded_or_attached(self) -> Self:
        if self.existing is None and self.id_field is not None:
            raise SpecError("id_field is about the option existing; give both", ("id_field",))
        for name in ("create", "drop", "document_prefix", "fields"):
            if self.existing is not None and getattr(self, name):
                problem = f"{name} is for an index that is made, and existing is yours"
                raise SpecError(f"{problem}; leave {name} out", (name,))
        return self


class ServerOptions(StoreOptions, WebOptions):
    """Where an engine is: in a folder of this process, or on a server."""

    url: Text | None = None  # type: ignore[assignment]
    """The address of a server: http:// or https://, without a user and password. If not given, the
    engine runs in this process."""
    key: Secret | None = None
    """The key the server asks for, such as ${KEY}; never recorded."""

    @model_validator(mode="after")
    def _folder_or_server(self) -> Self:
        if self.url is not None and self.path is not None:
            raise SpecError("give either path, a folder, or url, a server")
        if self.url is None and (self.key is not None or self.headers):
            raise SpecError("key and headers are for a server; give its url")
        return self


class StoredEngine(LoadedEngine):
    """An engine that keeps files in a folder of this process, or has a server that does."""

    options: StoreOptions

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        self._passing: Path | None = None

    @abstractmethod
    def nearest(self, question: Question, depth: int, params: Mapping[str, Any]) -> Pairs:
        """Return the best records, searched with some params of the engine."""

    def exhaustive(self) -> dict[str, Any] | None:
        """Return the params with which all is searched that is stored; None: there are none."""
        return None

    def ask(self, question: Question, depth: int) -> Pairs:
        """Return the best documents; of several records of one, the first counts."""
        scores: dict[str, float] = {}
        for doc_id, score in self.nearest(question, depth, self.options.params):
            scores.setdefault(doc_id, score)
        return list(scores.items())

    def ask_stored(self, question: Question, depth: int) -> Pairs | None:
        """Search all that is stored, with the same refining."""
        params = self.exhaustive()
        if params is None:
            return None
        return self.nearest(question, depth, {**self.options.params, **params})

    @property
    def is_remote(self) -> bool:
        """Whether it is asked over the network."""
        return False

    @property
    def index_name(self) -> str:
        """What is searched is called so."""
        return self.options.existing or super().index_name

    @property
    def source(self) -> str:
        """What messages call what is searched."""
        return f"{self.kind} {self.index_name}"

    @property
    def folder(self) -> Path:
        """The folder with its files; without a path or a cache it is gone with this system."""
        if self.options.path is not None:
            return (self.context.folder or Path()) / self.options.path
        if self.context.cache is not None:
            return self.context.cache / "engines" / f"{self.index_name}.{self.kind}"
        if self._passing is None:
            self._passing = Path(tempfile.mkdtemp(prefix="rankscope-"))
            finalize(self, shutil.rmtree, self._passing, ignore_errors=True)
        return self._passing

    def exists(self) -> bool:
        """Tell whether there is a folder, or a server that may hold the index."""
        return self.is_remote or self.folder.is_dir()

    def _take_away(self) -> None:
        """Drop the index, and remove its folder if it was made for this index alone."""
        super()._take_away()
        self.disconnect()
        if self.options.path is None and not self.is_remote:
            remove_folder(self.kind, self.folder)


class ServedEngine(StoredEngine):
    """An engine that runs in this process, or is a server at an address."""

    repeats = True  # a record is sent again as the same
    key_header: ClassVar[str]
    """The header in which a key is sent."""
    main_file: ClassVar[str]
    """The file that a folder of the engine has."""
    options: ServerOptions

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        self.client: Any = None
        self._give_back: Callable[[], Any] | None = None

    @abstractmethod
    def open_folder(self, folder: Path) -> Any:
        """Return a client for a folder of this process."""

    @abstractmethod
    def open_server(self, url: str) -> tuple[Any, Callable[[], Any]]:
        """Make sure that the server is there; return a client for it, and what closes that."""

    def connect(self) -> None:
        """Open the folder, or make sure that the server is there."""
        self.disconnect()
        if self.options.url is not None:
            self.client, give_back = self.open_server(self.options.url)
        elif self.is_attached and not (self.folder / self.main_file).is_file():
            place = shown(str(self.folder))
            raise InputError(f"{self.kind} has nothing in the folder {place}; is path right?")
        else:
            self.client, give_back = opened(self.kind, self.folder, self.open_folder)
        self._give_back = finalize(self, give_back)

    def disconnect(self) -> None:
        """Close the client."""
        give_back, self.client, self._give_back = self._give_back, None, None
        if give_back is not None:
            give_back()

    @property
    def is_remote(self) -> bool:
        """Whether it is asked over the network."""
        return self.options.url is not None

    @property
    def headers(self) -> dict[str, str]:
        """What is sent with every request."""
        headers = {name: value.get_secret_value() for name, value in self.options.headers.items()}
        if self.options.key is not None:
            headers[self.key_header] = self.options.key.get_secret_value()
        return headers

    @property
    def host(self) -> str:
        """What messages call the server."""
        return urlsplit(self.options.url or "").netloc

    @property
    def is_here(self) -> bool:
        """Whether the server is on this machine, where no proxy can reach it."""
        name = urlsplit(self.options.url or "").hostname or ""
        return name in ("localhost", "::1") or name.startswith("127.")

    def remarks(self) -> tuple[str, ...]:
        """Say also if a key is sent in the open."""
        if not self.headers or not (self.options.url or "").startswith("http:") or self.is_here:
            return super().remarks()
        note = f"the key is sent to {self.host} unencrypted; use https"
        return (*super().remarks(), note)

    def first_answer(self, path: str, key: str, *, missing: str = "is the url right?") -> None:
        """Ask the server for the first time, by our own client.

        That says in one sentence what is wrong with an address, a certificate or a key. ``key`` is
        what an answer of this engine has; ``missing`` what to look at if there is nothing.

        Raises:
            InputError: nothing answers there, or something else, or it refuses the key.
            WebError: it cannot answer now.
        """
        headers = {name: Secret(value) for name, value in self.headers.items()}
        options = self.options.model_copy(update={"headers": headers})
        web = Web(options, needed_for=self.kind, extra=self.kind)
        try:
            web.reach()
            answer = web.json("GET", path)
        except WebError as error:
            if error.status in REFUSED:
                is_key = error.status in (401, 403, 407)
                raise InputError(f"{error}; {'is the key right?' if is_key else missing}") from None
            raise
        finally:
            web.close()
        if not isinstance(answer, Mapping) or key not in answer:
            raise InputError(f"{self.host} does not answer as {self.kind} does; is the url right?")

    def no_answer(self, error: BaseException) -> WebError:
        """Say in one sentence why a request to the server has no answer."""
        kind, text = type(error).__name__, " ".join(str(error).split())
        if "Timeout" in kind:
            return WebError(f"{self.host} did not answer in time")
        if kind in ("ConnectError", "ConnectionError"):
            return WebError(f"{self.host} cannot be reached: {text}")
        return WebError(f"{self.host} broke off: {kind}: {text[:300]}")
