"""Runs as files of all shapes, for the tests of runs in parts."""

from __future__ import annotations

import random

Row = tuple[str, str, float]
QUERIES = [f"q{number}" for number in range(12)]


def rows(seed: int, *, depth: int = 9, levels: int = 4) -> list[tuple[str, str, float]]:
    """Return the rows of a run with many ties, best first, query after query."""
    chance = random.Random(seed)
    made = []
    for query_id in QUERIES:
        docs = chance.sample([f"d{number}" for number in range(20)], chance.randint(1, depth))
        scores = sorted((chance.randint(0, levels) / 3 for _ in docs), reverse=True)
        made += [(query_id, doc_id, score) for doc_id, score in zip(docs, scores, strict=True)]
    return made


def qrels(seed: int) -> dict[str, dict[str, int]]:
    """Return judgments of most queries, and of two that no run has."""
    chance = random.Random(seed)
    return {
        query_id: {f"d{number}": chance.randint(0, 3) for number in chance.sample(range(24), 8)}
        for query_id in [*QUERIES[2:], "absent", "gone"]
    }


def text(made: list[tuple[str, str, float]], *, separator: str = " ", end: str = "\n") -> bytes:
    """Write rows as TREC lines; ranks are by place in the list."""
    place: dict[str, int] = {}
    lines = []
    for query_id, doc_id, score in made:
        place[query_id] = place.get(query_id, 0) + 1
        fields = (query_id, "Q0", doc_id, str(place[query_id]), repr(score), "sys")
        lines.append(separator.join(fields) + end)
    return "".join(lines).encode()


def ordered(made: list[tuple[str, str, float]], order: str, seed: int) -> list[Row]:
    """Return rows in another order: interleaved, shuffled, or rising."""
    chance = random.Random(seed)
    if order == "shuffled":
        return chance.sample(made, len(made))
    if order == "rising":
        return made[::-1]
    if order == "interleaved":
        place: dict[str, int] = {}
        numbered = []
        for row in made:
            place[row[0]] = place.get(row[0], 0) + 1
            numbered.append((place[row[0]], row))
        return [row for _, row in sorted(numbered, key=lambda item: item[0])]
    return made
