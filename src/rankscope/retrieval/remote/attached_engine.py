"""Engines that search what is there already: a collection of the user's, and one of ours.

`AttachedEngine` adds to `LoadedEngine` that nothing is loaded where the user names a collection.
What it holds cannot be known by content, so the user states a snapshot, or it is asked again by
each process. It is never changed and never dropped.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, model_validator

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError
from rankscope.records.origin import EngineFacts
from rankscope.retrieval.options import Snapshot, SpecError, Text
from rankscope.retrieval.protocol import Identity, Query, Ranking, check_depth, snapshot_of
from rankscope.retrieval.remote.engine_folder import remove_folder
from rankscope.retrieval.remote.loaded_engine import LoadedEngine, LoadedOptions

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,198}[A-Za-z0-9]")


def _named(name: str) -> str:
    if not _NAME.fullmatch(name) or ".." in name:
        raise ValueError("3 to 200 letters, digits and single . _ - between them")
    return name


IndexName = Annotated[Text, AfterValidator(_named)]
"""A name that every engine takes, and that is no path."""


class AttachedOptions(LoadedOptions):
    """What an engine is given, or which of the user's collections it searches."""

    attached: ClassVar[str]
    """The option that names what is there already."""
    with_attached: ClassVar[tuple[str, ...]] = ("id_field", "snapshot")
    """Options that are about what is there already, and mean nothing without it."""
    without_attached: ClassVar[tuple[str, ...]] = ()
    """Options that shape what is made, and mean nothing where it is there already."""

    index: IndexName | None = None
    """What the index is called; if not given, a name that follows from its content."""
    id_field: Text | None = None
    """In what is there already, the field that holds the document id."""
    snapshot: Snapshot | None = None
    """What is there already, in your words, such as a date; answers are kept under it. If not
    given, they are asked for again by each process."""
    path: Text | None = None
    """A folder in which the engine keeps its files in this process. If not given: below the
    cache."""

    @property
    def existing(self) -> str | None:
        """The name of what is there already; None: the corpus is loaded."""
        name: str | None = getattr(self, self.attached)
        return name

    @model_validator(mode="after")
    def _loaded_or_attached(self) -> Self:
        given = self.model_fields_set
        if self.existing is None:
            for name in self.with_attached:
                if name in given and getattr(self, name) is not None:
                    raise SpecError(f"{name} is about the option {self.attached}; give both")
        elif self.index is not None:
            raise SpecError(
                f"give either {self.attached}, which is searched as it is, or index, which is made"
            )
        elif self.drop:
            raise SpecError(f"drop is for an index that is made, and {self.attached} is yours")
        else:
            for name in self.without_attached:
                if name in given and getattr(self, name) is not None:
                    problem = f"{name} shapes an index that is made, and {self.attached} is yours"
                    raise SpecError(f"{problem}; leave {name} out", (name,))
        return self


class AttachedEngine(LoadedEngine):
    """An engine that holds the corpus, or searches what is there already."""

    options: AttachedOptions

    @abstractmethod
    def attach(self) -> int | None:
        """Find what is there already; return the length of its vectors (None: it has none).

        Raises:
            InputError: it is not there, or cannot be searched this way.
        """

    @abstractmethod
    def disconnect(self) -> None:
        """Give back the connection; may be called more than once."""

    @property
    @abstractmethod
    def files(self) -> Path | None:
        """The folder with its files; None: there is a server, or nothing outlasts this process."""

    @property
    def is_attached(self) -> bool:
        """Whether something is searched that is there already."""
        return self.options.existing is not None

    @property
    def index_name(self) -> str:
        """What is searched is called so."""
        return self.options.existing or super().index_name

    @property
    def total(self) -> int:
        """How many documents are to be loaded: those with text."""
        return 0 if self.texts is None else sum(1 for text in self.texts.texts if text.strip())

    @property
    def source(self) -> str:
        """What messages call what is searched."""
        return f"the {self.options.attached} {self.index_name}"

    def check_content(self, stored: object) -> None:
        """Refuse an index of a name the user chose that holds something else."""
        if stored != self.content_name:
            raise InputError(
                f"{self.source} is there already and holds something else than this corpus; "
                f"name another index, or give it as the option {self.options.attached}"
            )

    def index(self, corpus: Corpus) -> None:
        """Take the corpus; what is there already does not depend on it."""
        if not self.is_attached:
            super().index(corpus)
            self.notes = (*self.notes, *self.remarks())
            return
        _, notes = snapshot_of(self.options.snapshot, f"{self.kind}: {self.source}")
        embedder_notes = () if self.embeddings is None else self.embeddings.embedder.notes
        self.notes = (*notes, *embedder_notes, *self.remarks())

    def remarks(self) -> Sequence[str]:
        """Say what a user should know of how this engine searches."""
        return ()

    def identity(self) -> Identity:
        """Say what exactly answers."""
        identity = super().identity()
        parameters = dict(identity.parameters)
        parameters.pop("verify", None)
        if not self.is_attached:
            parameters.pop("path", None)  # the same content anywhere
            return identity.model_copy(update={"parameters": parameters})
        parameters.pop("snapshot", None)
        snapshot, _ = snapshot_of(self.options.snapshot, "")
        return identity.model_copy(update={"parameters": parameters, "snapshot": snapshot})

    def facts(self) -> Sequence[EngineFacts]:
        """Say what the engine says of itself, if it was asked."""
        facts = super().facts()
        if not self.is_attached:
            return facts
        return tuple(fact.model_copy(update={"snapshot": self.options.snapshot}) for fact in facts)

    def prepare(self) -> None:
        """Open the engine; load what it does not hold yet, or find what is there."""
        if not self.is_attached:
            super().prepare()
        elif not self._ready:
            with self.speaking("open"):
                self.open()
                self._check_size(self.attach())
            self._ready = True

    def _check_size(self, size: int | None) -> None:
        if self.embeddings is None:
            return
        if size is None:
            raise InputError(f"{self.source} has no vectors to search")
        made = self.embeddings.of([self.options.query_prefix + "text"]).shape[1]
        if made != size:
            raise InputError(
                f"{self.source} has vectors of length {size}, and the embedder "
                f"{self.embeddings.embedder.name} makes vectors of length {made}; name the "
                "embedder that made them"
            )
        self._size = size

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Ask the engine each query."""
        if not self.is_attached:
            return super().search(queries, depth)
        depth = check_depth(depth)
        self.prepare()
        answers = [Ranking() for _ in queries]
        chosen = [at for at, query in enumerate(queries) if query.text.strip()]
        for at, asked in zip(chosen, self.asked([queries[at] for at in chosen]), strict=True):
            answers[at] = asked if isinstance(asked, Ranking) else self._answer(*asked, depth)
        return answers

    def reach(self) -> bool:
        """Open the folder, if it is there, or make sure that the server is."""
        is_there = self.capabilities.remote or (self.files is not None and self.files.is_dir())
        return is_there and super().reach()

    def close(self) -> None:
        """Give back the connection; an index that is not to be used again is dropped before."""
        try:
            super().close()
        finally:
            self._ready = False
            self.disconnect()

    def _take_away(self) -> None:
        """Drop the index, and remove its folder if it was made for this index alone."""
        super()._take_away()
        self.disconnect()
        if self.options.path is None and self.files is not None:
            remove_folder(self.kind, self.files)
