"""Embedders: what turns texts into vectors, and the checks that every one of them passes.

``wordllama`` works offline from the weights in its package, ``sentence-transformers`` from any
folder or name that `Model` finds. The vectors of an embedder are used after `embedded` has checked
them: right number, one length, finite, float32.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.retrieval.options import Options
from rankscope.retrieval.protocol import Component, sentence
from rankscope.retrieval.registry import Context, Registry, check_engine, engine, engine_version
from rankscope.retrieval.user_code import FunctionOptions, UserFunction
from rankscope.retrieval.vector.models import MODEL_PACKAGES, Model, ModelOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class Embedder(Component):
    """Turns texts into vectors; the same text always into the same one."""

    @abstractmethod
    def embed(self, texts: list[str]) -> Any:
        """Return one vector for each text: an array, or anything NumPy makes one of."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Say what model this is, as plain data; embeddings are kept under it."""

    def model(self) -> Mapping[str, Any]:
        """Describe the model, for the record of an experiment."""
        return self.described()

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.described()["embedder"])


EMBEDDERS: Registry[Embedder] = Registry("embedder", Embedder, callables="callable")  # type: ignore[type-abstract]
"""Every embedder, by the name under which a config uses it."""


def embedded(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """Embed texts and make sure that the answer is one: finite vectors of one length.

    Raises:
        InputError: the embedder failed, or gave something else; says for which text.
    """
    name = f"the embedder {embedder.name}"
    try:
        vectors = np.asarray(embedder.embed(list(texts)), dtype=np.float32)
    except InputError:
        raise
    except Exception as error:
        if hasattr(error, "retry_after"):  # it will work later
            raise
        raise InputError(f"{name} failed on {len(texts)} texts: {sentence(error)}") from error
    if vectors.ndim != 2:
        raise InputError(
            f"{name} must return one vector for each text, but its answer has {vectors.ndim} "
            "dimensions instead of 2"
        )
    if len(vectors) != len(texts):
        raise InputError(f"{name} returned {len(vectors)} vectors for {len(texts)} texts")
    if not vectors.shape[1]:
        raise InputError(f"{name} returned vectors of length 0")
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        at = int(np.argmin(finite))
        raise InputError(
            f"{name} returned a vector with NaN or infinity for the text {shown(texts[at])}"
        )
    return vectors


class WordLlamaOptions(Options):
    """The static model in wordllama's package."""

    dimensions: Literal[64, 128, 256] = 256
    """How many of the 256 dimensions to use."""
    case: Literal["lower", "keep"] = "lower"
    """Whether texts are brought to lower case, or kept as they are: the model tells SOUP from soup,
    and knows most words in lower case only."""


@EMBEDDERS.add("wordllama", WordLlamaOptions, summary="static vectors of 256 dimensions, offline")
class WordLlama(Embedder):
    """The mean of static token vectors."""

    packages = ("wordllama",)

    def __init__(self, options: WordLlamaOptions, context: Context) -> None:
        del context
        check_engine("wordllama", package="wordllama", needed_for="the embedder wordllama")
        self.options: WordLlamaOptions = options

    def described(self) -> dict[str, Any]:
        """Say what model this is."""
        return {
            "embedder": "wordllama",
            "version": engine_version("wordllama"),
            "model": "l2_supercat",
            "dimensions": self.options.dimensions,
            "case": self.options.case,
        }

    @cached_property
    def _weights(self) -> NDArray[np.float16]:
        """The vectors of all tokens; they stay in their file, as texts hold few of them."""
        path = _wordllama_folder() / "weights" / "l2_supercat_256.safetensors"
        with path.open("rb") as file:  # a safetensors file: length of the header, header, numbers
            begin = 8 + int.from_bytes(file.read(8), "little")
            entry = json.loads(file.read(begin - 8))["embedding.weight"]
        begin += entry["data_offsets"][0]
        return np.memmap(path, "<f2", "r", begin, tuple(entry["shape"]))

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizers = engine("tokenizers", package="wordllama", needed_for="the embedder wordllama")
        path = _wordllama_folder() / "tokenizers" / "l2_supercat_tokenizer_config.json"
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def embed(self, texts: list[str]) -> Floats:
        """Return the mean vector of each text's tokens; zero where there is no token."""
        vectors = np.zeros((len(texts), self.options.dimensions), np.float32)
        if self.options.case == "lower":
            texts = [text.lower() for text in texts]
        short = [row for row, text in enumerate(texts) if len(text) <= _PIECE]
        for low in range(0, len(short), _TOGETHER):
            rows = short[low : low + _TOGETHER]
            of_tokens = self._token_vectors([texts[at] for at in rows])
            for row, tokens in zip(rows, of_tokens, strict=True):
                if len(tokens):
                    tokens.mean(axis=0, out=vectors[row])
        for row in sorted({*range(len(texts))}.difference(short)):
            total, count = np.zeros(vectors.shape[1]), 0
            for piece in pieces_of(texts[row], _PIECE):
                [tokens] = self._token_vectors([piece])
                total += tokens.sum(axis=0, dtype=np.float64)
                count += len(tokens)
            vectors[row] = total / max(count, 1)
        return vectors

    def _token_vectors(self, texts: list[str]) -> Iterator[Floats]:
        """Yield the vectors of each text's tokens."""
        weights, size = self._weights, self.options.dimensions
        for encoded in self._tokenizer.encode_batch(texts, add_special_tokens=False):
            tokens = np.minimum(np.array(encoded.ids, np.int64), len(weights) - 1)
            yield weights[tokens, :size].astype(np.float32)


def _wordllama_folder() -> Path:
    """Return where the model is; its package is not imported, which would take 70 MB."""
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


# The tokenizer takes some 300 bytes for each character, and a token's vector 1 KB: of a text that
# is longer than a book's chapter they are made piece by piece, of others so many at a time.
_PIECE = 1 << 16
_TOGETHER = 64


def pieces_of(text: str, most: int) -> Iterator[str]:
    """Cut a text into pieces of at most so many characters, between words where there are any."""
    begin = 0
    while begin < len(text):
        end = begin + most
        if end < len(text):
            space = text.rfind(" ", begin, end)
            end = space if space > begin else end
        yield text[begin:end]
        begin = end


class PythonEmbedderOptions(FunctionOptions):
    """A function of yours."""

    function: Any
    """module:function, or the function: takes a list of texts, returns vectors."""


@EMBEDDERS.add("callable", PythonEmbedderOptions, summary="a Python function, texts to vectors")
class PythonEmbedder(Embedder):
    """A Python function that embeds."""

    def __init__(self, options: PythonEmbedderOptions, context: Context) -> None:
        self.options: PythonEmbedderOptions = options
        self._function = UserFunction(options, context, "an embedder")
        self.sources = self._function.sources
        self.capabilities = self._function.capabilities

    def described(self) -> dict[str, Any]:
        """Say what function this is."""
        return {"embedder": "callable", **self._function.described()}

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._function.described()["name"]

    def embed(self, texts: list[str]) -> Any:
        """Call it."""
        return self._function(texts)


@EMBEDDERS.add(
    "sentence-transformers",
    ModelOptions,
    summary="any model or folder of sentence-transformers",
)
class SentenceTransformers(Embedder):
    """A sentence-transformers model, loaded when it is first needed.

    Only texts of equally many tokens are embedded together, so that none is padded, and thin
    batches are filled up: the last digits of a vector would depend on the texts beside it.
    """

    packages = MODEL_PACKAGES

    def __init__(self, options: ModelOptions, context: Context) -> None:
        self.options: ModelOptions = options
        self._model = Model(
            "SentenceTransformer", options, context, owner="the embedder sentence-transformers"
        )

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What a user should know about the model."""
        return self._model.notes

    def described(self) -> dict[str, Any]:
        """Say what model this is."""
        return {"embedder": "sentence-transformers", **self._model.described()}

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"sentence-transformers {self._model.name}"

    def embed(self, texts: list[str]) -> Any:
        """Encode texts, those of one length at a time."""
        model = self._model.loaded()
        alike: dict[int, list[int]] = {}
        for at, tokens in enumerate(_token_counts(model, texts)):
            alike.setdefault(tokens, []).append(at)
        vectors: list[Any] = [None] * len(texts)
        for tokens, places in alike.items():
            for low in range(0, len(places), self.options.batch):
                part = places[low : low + self.options.batch]
                size = max(len(part), math.ceil(_FEWEST_TOKENS / tokens))
                filled = [texts[part[row % len(part)]] for row in range(size)]
                encoded = model.encode(filled, batch_size=size, show_progress_bar=False)
                for at, vector in zip(part, encoded, strict=False):
                    vectors[at] = vector
        return vectors


_FEWEST_TOKENS = 32
"""How many tokens a batch has at least; products of smaller matrices are added up in other ways."""


def _token_counts(model: Any, texts: list[str]) -> list[int]:
    """Count the tokens that a model reads of each text."""
    tokenizer, most = model.tokenizer, model.max_seq_length
    if not callable(tokenizer):  # a model of static vectors, which pads nothing
        return [1] * len(texts)
    tokens = tokenizer(texts, truncation=most is not None, max_length=most, verbose=False)
    return [max(len(ids), 1) for ids in tokens["input_ids"]]
