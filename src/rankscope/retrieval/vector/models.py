"""Models of sentence-transformers: where they are found, and how they are loaded.

A folder is loaded as it is, without a look at the network, and known by its content. Any other name
is one on the Hugging Face hub: a copy fetched before is used as it is, and only without one is the
hub asked. Such a model is known by its revision. Code that comes with a model is not run.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from rankscope.errors import InputError
from rankscope.retrieval.options import Options, Text
from rankscope.retrieval.protocol import sentence, snapshot_of
from rankscope.retrieval.registry import Context, check_engine, engine_version

log = logging.getLogger(__name__)

MODEL_PACKAGES = ("sentence-transformers", "torch", "transformers")

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
_HUB_SECONDS = 10
_MODEL_FILES = ("modules.json", "config.json")


class ModelOptions(Options):
    """A model, and how it is run."""

    model: Text
    """The model's folder, or its name on the Hugging Face hub."""
    batch: int = Field(default=32, ge=1)
    """How many texts are read at once."""
    max_length: int | None = Field(default=None, ge=8)
    """How many tokens are read. If not given, as many as the model says."""
    device: Text | None = None
    """cpu, cuda, mps and the like. If not given, the fastest there is."""
    revision: Text | None = None
    """The commit or tag of a model on the hub. If not given, that of the copy fetched before, or
    the newest."""


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
        name = "sentence-transformers"
        check_engine("sentence_transformers", package=name, needed_for=owner, extra=name)
        self.name = options.model
        self._kind = kind
        self._options = options
        self._folder = _folder(options.model, context)
        self._loaded: Any = None

    def described(self) -> dict[str, Any]:
        """Say what model this is: a folder by what is in it, any other by name and revision."""
        return {
            "version": engine_version("sentence-transformers"),
            **self._known_by,
            "max_length": self._options.max_length,
        }

    @cached_property
    def _known_by(self) -> dict[str, str]:
        if self._folder is not None:
            return {"model": _contents(self._folder)}
        return {"model": self.name, "revision": snapshot_of(self._revision, self.name)[0]}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know: that a model is known by its name only."""
        return () if self._folder else snapshot_of(self._revision, f"the model {self.name}")[1]

    @cached_property
    def _revision(self) -> str | None:
        """The revision of a model on the hub: the stated one, the copy's, or the newest."""
        return self._options.revision or _copied(self.name) or _newest(self.name)

    def loaded(self) -> Any:
        """Return the model.

        Raises:
            InputError: it cannot be loaded, is of the other kind, or reads less than asked for.
        """
        if self._loaded is None:
            model = self._load()
            self._check(model)
            self._loaded = model
        return self._loaded

    def _load(self) -> Any:
        """Load the folder, or the copy fetched before; only if there is none, ask the hub."""
        try:
            with _quietly():
                return self._opened(local=True)
        except Exception as error:
            problem = sentence(error)
            if self._folder is not None:
                text = f"the folder {self._folder} holds no model that can be loaded: {problem}"
                raise InputError(text) from error
            if not _is_missing(error):
                text = f"the model {self.name}, fetched before, cannot be loaded: {problem}"
                raise InputError(text) from error
            log.debug("no copy of the model %s (%s)", self.name, problem)
        _reach_hub(self.name)
        try:
            return self._opened(local=False)
        except Exception as error:
            raise InputError(
                f"there is no folder {self.name}, and no model of that name can be fetched from "
                f"the hub: {sentence(error)}"
            ) from error

    def _opened(self, *, local: bool) -> Any:
        package = import_module("sentence_transformers")
        name, length = self.name, self._options.max_length
        options: dict[str, Any] = {"device": self._options.device, "local_files_only": local}
        if self._folder is None:
            options["revision"] = self._options.revision
        else:
            name = str(self._folder)
        if self._kind == "CrossEncoder":
            return package.CrossEncoder(name, max_length=length, **options)
        model = package.SentenceTransformer(name, **options)
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
            name.endswith("ForSequenceClassification") for name in saved
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


def _folder(name: str, context: Context) -> Path | None:
    """Return the folder of a model; None if the name can only be one on the hub."""
    path = context.path(name)
    if path.is_dir():
        if any((path / file).is_file() for file in _MODEL_FILES):
            return path
        raise InputError(
            f"the folder {path} holds no model: there is no {' or '.join(_MODEL_FILES)} in it"
        )
    if path.exists():
        raise InputError(
            f"{path} is a file; a model is named by its folder, or its name on the hub"
        )
    if not _HUB_NAME.fullmatch(name) or ("/" in name and path.parent.is_dir()):
        raise InputError(f"folder not found: {path}, where a model should be")
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


def _repositories(name: str) -> list[str]:
    """Return the names that a model may have on the hub; the library's own need no owner."""
    return [name] if "/" in name else [f"sentence-transformers/{name}", name]


def _copied(name: str) -> str | None:
    """Return the revision of the copy that was fetched before; None if there is none."""
    hub = import_module("huggingface_hub")
    for repository in _repositories(name):
        for file in _MODEL_FILES:
            path = hub.try_to_load_from_cache(repository, file)
            if isinstance(path, str):  # …/snapshots/REVISION/FILE
                return Path(path).parent.name
    return None


def _newest(name: str) -> str | None:
    """Ask the hub for the newest revision; None if it does not say."""
    hub = import_module("huggingface_hub")
    for repository in _repositories(name):
        try:
            info = hub.HfApi().model_info(repository, timeout=_HUB_SECONDS)
        except Exception as error:  # said when the model is loaded
            log.debug("no revision of the model %s: %s", repository, sentence(error))
        else:
            return str(info.sha) if info.sha else None
    return None


def _is_missing(error: BaseException) -> bool:
    """Tell whether an error of loading says that files are missing, rather than unusable.

    The libraries raise a plain `OSError` for it, or one of their own below `FileNotFoundError`.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, FileNotFoundError) or type(cause) is OSError:
            return True
        cause = cause.__cause__
    return False


def _reach_hub(name: str) -> None:
    """Say at once that the hub cannot be reached; loading would try for a minute."""
    hub = import_module("huggingface_hub")
    try:
        hub.utils.get_session().head(hub.constants.ENDPOINT, timeout=_HUB_SECONDS)
    except Exception as error:
        raise InputError(
            f"there is no folder {name}, and {hub.constants.ENDPOINT} cannot be reached to fetch a "
            f"model of that name: {sentence(error)}"
        ) from error
