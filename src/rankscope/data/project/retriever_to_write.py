"""The search that is measured: put yours here."""


def search(question: str, k: int = 10) -> list[str]:
    """Return the ids of the best k documents, best first; pairs (id, score) are fine, too."""
    raise NotImplementedError("retriever.py: call your search here, and return its document ids")
