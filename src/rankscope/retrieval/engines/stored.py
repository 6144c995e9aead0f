"""Engines with files in a folder of this process, and those that may be servers.

The first request to a server is made with our own client, which says in one sentence what is wrong
with an address or a key; then the engine's own client takes over.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from rankscope.errors import InputError
from rankscope.retrieval.engines.engine_folder import engine_folder, passing_folder, remove_folder
from rankscope.retrieval.engines.loaded import LoadedEngine, LoadedOptions
from rankscope.retrieval.options import Secret, SpecError, Text
from rankscope.retrieval.registry import Context
from rankscope.retrieval.web import REFUSED, Web, WebError, WebOptions, check_url


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


class ServerOptions(StoreOptions):
    """Where an engine is: in a folder of this process, or on a server."""

    url: Text | None = None
    """The address of a server: http:// or https://, without a user and password. If not given, the
    engine runs in this process."""
    key: Secret | None = None
    """The key the server asks for, such as ${KEY}; never recorded."""
    headers: dict[str, Secret] = Field(default_factory=dict)
    """More that is sent with every request, such as Authorization: Bearer ${KEY}; never
    recorded."""
    verify: bool | Text = True
    """Whose certificates are trusted: true for those of the system, the file of a certificate
    authority, or false for any, which is for a server of your own in a test only."""

    @field_validator("url")
    @classmethod
    def _web_address(cls, url: str | None) -> str | None:
        if url is not None:
            check_url(url)
        return url

    @model_validator(mode="after")
    def _folder_or_server(self) -> Self:
        if self.url is not None and self.path is not None:
            raise SpecError("give either path, a folder, or url, a server")
        if self.url is None and (self.key is not None or self.headers):
            raise SpecError("key and headers are for a server; give its url")
        return self


class StoredEngine(LoadedEngine):
    """An engine that keeps files in a folder of this process, or has a server that does."""

    ending: ClassVar[str]
    """What the name of a folder ends with."""
    options: StoreOptions

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        self._passing: Path | None = None

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
        folder = engine_folder(self.context, self.options.path, f"{self.index_name}.{self.ending}")
        if folder is None:
            folder = self._passing = self._passing or passing_folder(self)
        return folder

    def exists(self) -> bool:
        """Tell whether there is a folder, or a server that may hold the index."""
        return self.capabilities.remote or self.folder.is_dir()

    def _take_away(self) -> None:
        """Drop the index, and remove its folder if it was made for this index alone."""
        super()._take_away()
        self.disconnect()
        if self.options.path is None and not self.capabilities.remote:
            remove_folder(self.kind, self.folder)


class ServedEngine(StoredEngine):
    """An engine that runs in this process, or is a server at an address."""

    key_header: ClassVar[str]
    """The header in which a key is sent."""
    options: ServerOptions

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

    def promise(self, *, exact: bool, deterministic: bool, remote: bool) -> None:
        """Say what answers are like, and if a key is sent in the open."""
        super().promise(exact=exact, deterministic=deterministic, remote=remote)
        if self.headers and (self.options.url or "").startswith("http:") and not self.is_here:
            note = f"the key is sent to {self.host} unencrypted; use https"
            self.remarks = (note,)
            self.notes = (*self.notes, note)

    @property
    def is_here(self) -> bool:
        """Whether the server is on this machine, where no proxy can reach it."""
        name = urlsplit(self.options.url or "").hostname or ""
        return name in ("localhost", "::1") or name.startswith("127.")

    def first_answer(self, path: str, key: str, *, missing: str = "") -> Any:
        """Ask the server for the first time, by our own client, and return its answer.

        That says in one sentence what is wrong with an address, a certificate or a key. ``key`` is
        what an answer of this engine has; ``missing`` what to look at if there is nothing.

        Raises:
            InputError: nothing answers there, or something else, or it refuses the key.
            WebError: it cannot answer now.
        """
        options = WebOptions(
            url=self.options.url or "",
            headers={name: Secret(value) for name, value in self.headers.items()},
            verify=self.options.verify,
        )
        web = Web(options, needed_for=self.kind, extra=self.kind)
        try:
            web.reach()
            answer = web.json("GET", path)
        except WebError as error:
            if error.status in REFUSED:
                is_key = error.status in (401, 403, 407)
                remedy = "is the key right?" if is_key else missing or "is the url right?"
                raise InputError(f"{error}; {remedy}") from None
            raise
        finally:
            web.close()
        if not isinstance(answer, Mapping) or key not in answer:
            raise InputError(f"{self.host} does not answer as {self.kind} does; is the url right?")
        return answer

    def no_answer(self, error: BaseException) -> WebError:
        """Say in one sentence why a request to the server has no answer."""
        kind, text = type(error).__name__, " ".join(str(error).split())
        if "Timeout" in kind:
            return WebError(f"{self.host} did not answer in time")
        if kind in ("ConnectError", "ConnectionError"):
            return WebError(f"{self.host} cannot be reached: {text}")
        return WebError(f"{self.host} broke off: {kind}: {text[:300]}")
