"""Models of sentence-transformers: where they are found, and how they are loaded.

A folder is loaded as it is, without a look at the network. Any other name is one on the Hugging
Face hub: a copy fetched before is used as it is, and only without one is the hub asked. Code that
comes with a model is not run.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from rankscope.errors import InputError, MissingExtraError
from rankscope.retrieval.options import REQUIRED, option, optional, text, whole
from rankscope.retrieval.python_objects import sentence
from rankscope.retrieval.registry import Context, engine_version

__all__ = ["Model", "ModelOptions"]

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A model, and how it is run."""

    model: str = option(REQUIRED, "the model's folder, or its name on the Hugging Face hub", text)
    batch: int = option(32, "how many texts are read at once", whole(1))
    max_length: int | None = option(
        None,
        "how many tokens are read; if not given, as many as the model says",
        optional(whole(8)),
    )
    device: str | None = option(
        None, "cpu, cuda, mps and the like; if not given, the fastest there is", optional(text)
    )


class Model:
    """A model of sentence-transformers, loaded when it is first needed.

    ``kind`` is the class that loads it, and ``owner`` what messages call the part that needs it.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        InputError: the name is that of a folder, and there is none or it holds no model.
    """

    def __init__(
        self,
        kind: Literal["SentenceTransformer", "CrossEncoder"],
        options: ModelOptions,
        context: Context,
        *,
        owner: str,
    ) -> None:
        _check_installed(owner)
        self.name = options.model
        self._kind = kind
        self._options = options
        self._folder = _folder(options.model, context)
        self._contents: str | None = None
        self._loaded: Any = None

    def described(self) -> dict[str, Any]:
        """Say what model this is: a folder by what is in it, any other by its name."""
        if self._folder is not None and self._contents is None:
            self._contents = _contents(self._folder)
        return {
            "version": engine_version("sentence-transformers"),
            "model": self._contents or self.name,
            "max_length": self._options.max_length,
        }

    def loaded(self) -> Any:
        """Return the model.

        Raises:
            InputError: it cannot be loaded, is of the other kind, or reads less than asked for.
        """
        if self._loaded is None:
            model = self._from_hub() if self._folder is None else self._from_folder(self._folder)
            self._check(model)
            self._loaded = model
        return self._loaded

    def _from_folder(self, folder: Path) -> Any:
        try:
            with _quietly():
                return self._made(str(folder), local=True)
        except Exception as error:
            raise InputError(
                f"the folder {folder} holds no model that can be loaded: {sentence(error)}"
            ) from None

    def _from_hub(self) -> Any:
        with suppress(Exception), _quietly():
            return self._made(self.name, local=True)
        _reach_hub(self.name)
        try:
            return self._made(self.name, local=False)
        except Exception as error:
            raise InputError(
                f"there is no folder {self.name}, and no model of that name can be fetched from "
                f"the hub: {sentence(error)}"
            ) from None

    def _made(self, name: str, *, local: bool) -> Any:
        package = import_module("sentence_transformers")
        length = self._options.max_length
        given: dict[str, Any] = {"device": self._options.device, "local_files_only": local}
        if self._kind == "CrossEncoder":
            return package.CrossEncoder(name, max_length=length, **given)
        model = package.SentenceTransformer(name, **given)
        if length is not None:
            model.max_seq_length = length
        return model

    def _check(self, model: Any) -> None:
        """Refuse what would load and give meaningless numbers."""
        inner = getattr(model, "transformers_model", None) or getattr(model, "model", None)
        config = getattr(inner, "config", None)
        saved = list(getattr(config, "architectures", None) or [])
        if self._kind == "CrossEncoder" and saved and type(inner).__name__ not in saved:
            raise InputError(
                f"the model {self.name} is no cross-encoder: it was saved as {saved[0]}, without "
                "the layer that scores a pair of texts"
            )
        if self._kind == "SentenceTransformer" and any(
            one.endswith("ForSequenceClassification") for one in saved
        ):
            raise InputError(
                f"the model {self.name} is no embedder: it was saved as {saved[0]}, which reads "
                "pairs of texts"
            )
        most, asked = getattr(config, "max_position_embeddings", None), self._options.max_length
        if most is not None and asked is not None and asked > most:
            raise InputError(
                f"the model {self.name} reads at most {most} tokens, so max_length cannot be "
                f"{asked}"
            )


def _check_installed(owner: str) -> None:
    """Look for the package without importing it, which takes seconds."""
    try:
        found = find_spec("sentence_transformers")
    except ModuleNotFoundError:
        found = None
    if found is None:
        name = "sentence-transformers"
        raise MissingExtraError(name, needed_for=owner, extra=name)


def _folder(name: str, context: Context) -> Path | None:
    """Return the folder of a model; None if the name can only be one on the hub."""
    path = context.path(name)
    if path.is_dir():
        if any((path / one).is_file() for one in ("modules.json", "config.json")):
            return path
        raise InputError(
            f"the folder {path} holds no model: there is no modules.json or config.json in it"
        )
    if path.exists():
        raise InputError(
            f"{path} is a file; a model is named by its folder, or its name on the hub"
        )
    if not _HUB_NAME.fullmatch(name) or ("/" in name and path.parent.is_dir()):
        raise InputError(f"there is no folder {path}, where a model should be")
    return None


def _contents(folder: Path) -> str:
    """Hash the names and contents of all files in a folder but hidden ones and notes."""
    running = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in name.parts)
        if hidden or path.suffix == ".md" or not path.is_file():
            continue
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        running.update(f"{name.as_posix()}\0{digest}\n".encode())
    return running.hexdigest()


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep progress bars and load reports off the terminal, for a while."""
    reports = import_module("transformers.utils.logging")
    logger = logging.getLogger("sentence_transformers")
    before = reports.get_verbosity(), reports.is_progress_bar_enabled(), logger.level
    reports.set_verbosity_error()
    reports.disable_progress_bar()
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        reports.set_verbosity(before[0])
        if before[1]:
            reports.enable_progress_bar()
        logger.setLevel(before[2])


def _reach_hub(name: str) -> None:
    """Say at once that the hub cannot be reached; loading would try for a minute."""
    hub = import_module("huggingface_hub")
    try:
        hub.utils.get_session().head(hub.constants.ENDPOINT, timeout=10)
    except Exception as error:
        raise InputError(
            f"there is no folder {name}, and {hub.constants.ENDPOINT} cannot be reached to fetch a "
            f"model of that name: {sentence(error)}"
        ) from None
