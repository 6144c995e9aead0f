"""What Qdrant is asked, and what it refuses: parts of requests and answers of its client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankscope.errors import InputError, shown
from rankscope.retrieval.registry import engine
from rankscope.retrieval.remote.qdrant_options import QdrantOptions
from rankscope.retrieval.remote.web import WebError, seconds_to_wait

PACKAGE = {"package": "qdrant-client", "needed_for": "the system qdrant", "extra": "qdrant"}
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
_TRUTHS = {"true": True, "false": False}


def models() -> Any:
    """Return the models of which requests are made."""
    return engine("qdrant_client.models", **PACKAGE)


def given(model: Any, **values: Any) -> Any:
    """Make a model of what is given; None if nothing is."""
    chosen = {name: value for name, value in values.items() if value is not None}
    return model(**chosen) if chosen else None


def plain(model: Any) -> dict[str, Any]:
    """Return a model as plain data."""
    content: dict[str, Any] = model.model_dump(mode="json", exclude_none=True) if model else {}
    return content


def refusal_by(error: Any, host: str, source: str) -> Exception:
    """Return in one sentence what a server refused; ``source`` is the collection."""
    status = error.status_code
    try:
        reason = error.structured()["status"]["error"]
    except (ValueError, LookupError, TypeError):
        reason = error.content.decode("utf-8", "replace")
    text = f"{host} answered {status}: {shown(' '.join(str(reason).split()), 200)}"
    if status in (401, 403):
        return InputError(f"{text}; is the key right?")
    if status == 404:
        return InputError(f"{text}; is {source} there?")
    if status == 400 and "dimension" in str(reason):
        return InputError(f"{text}; does the embedder make such vectors?")
    wait = seconds_to_wait(error.headers.get("retry-after")) if status in _AGAIN else None
    return WebError(text, status=status, may_repeat=status in _AGAIN, retry_after=wait)


def quantisation(options: QdrantOptions) -> Any:
    """Return how vectors are quantised; None: not at all."""
    known = models()
    match options.quantisation:
        case "scalar":
            scalar = known.ScalarQuantizationConfig(
                type=known.ScalarType.INT8, quantile=options.quantile
            )
            return known.ScalarQuantization(scalar=scalar)
        case "product":
            ratio = known.CompressionRatio(options.compression)
            product = known.ProductQuantizationConfig(compression=ratio)
            return known.ProductQuantization(product=product)
        case "binary":
            return known.BinaryQuantization(binary=known.BinaryQuantizationConfig())
    return None


def condition(filters: Mapping[str, list[str]], places: Mapping[str, str] | None) -> Any:
    """Return filters as Qdrant takes them; None: there are none.

    ``places`` says where our collections hold what filters look at, always as texts. None: a
    collection of the user's, whose fields may also hold whole numbers and truth values.
    """
    if not filters:
        return None
    known = models()
    if places is None:
        fields = [known.Filter(should=_typed(*item)) for item in filters.items()]
    else:
        fields = [
            known.FieldCondition(key=places[name], match=known.MatchAny(any=allowed))
            for name, allowed in filters.items()
        ]
    return known.Filter(must=fields)


def _typed(name: str, allowed: list[str]) -> list[Any]:
    """Return the ways in which a field may hold one of some texts."""
    known = models()
    whole = [int(text) for text in allowed if text.removeprefix("-").isdecimal()]
    matches = [known.MatchAny(any=allowed)]
    matches += [known.MatchAny(any=whole)] if whole else []
    matches += [known.MatchValue(value=_TRUTHS[text]) for text in allowed if text in _TRUTHS]
    return [known.FieldCondition(key=name, match=match) for match in matches]
