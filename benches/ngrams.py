"""What character n-grams gain and cost: the tables of that section of benches/search-quality.md.

``python benches/ngrams.py --collections FOLDER --hpo FILE [--write]`` searches with words and with
n-grams, and prints Markdown tables; with ``--write`` they replace those in the docs.

``FILE`` has a term of the Human Phenotype Ontology in each line, as JSON: ``id``, ``label``,
``synonyms`` (a kind of synonym may follow in brackets) and ``definition``. The questions about them
are in ``hpo-german``; those whose term is not in the file are left out.

Misspelt questions have one edit in every word of five letters or more: a letter is left out, put
in, replaced by another, or changes places with the next.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import rankscope as rs
from quality import Collection, mean_cell, write
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.lexical.bm25 import BM25
from rankscope.retrieval.lexical.words import Analyzer
from rankscope.retrieval.protocol import Query
from rankscope.retrieval.registry import build_system

WORDS = "words, english"
SETTINGS: dict[str, dict[str, Any]] = {
    WORDS: {},
    "words, german": {"language": "german"},
    "3 to 5": {"ngrams": [3, 5]},
    "3": {"ngrams": 3},
    "4": {"ngrams": 4},
    "2 to 4": {"ngrams": [2, 4]},
    "3 to 6": {"ngrams": [3, 6]},
}
FOLDED = "3 to 5, accents taken off"
"""Not an option: accents are taken off before words are cut, to see whether they should be."""

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


class Folded(Analyzer):
    """N-grams of words without their accents: é as e, ä as a, ß as ss."""

    def words(self, text: str) -> list[str]:
        """Return the words of a text, folded."""
        apart = unicodedata.normalize("NFD", text.replace("ß", "ss"))
        return super().words("".join(c for c in apart if not "\u0300" <= c <= "\u036f"))


def edited(word: str, chance: random.Random) -> str:
    """Return a word with one edit that changes it."""
    while True:
        at = chance.randrange(len(word))
        before, letter, after = word[:at], word[at], word[at + 1 :]
        other = chance.choice(ALPHABET)
        swapped = after[:1] + letter + after[1:]
        kinds = (after, other + letter + after, other + after, swapped)
        new = before + chance.choice(kinds)
        if new != word:
            return new


def misspelt(queries: Sequence[Query], seed: int = 0) -> list[Query]:
    """Return the questions with one edit in every longer word."""
    chance = random.Random(seed)

    def spelt(query: Query) -> str:
        return re.sub(r"[^\W\d_]{5,}", lambda found: edited(found[0], chance), query.text)

    return [replace(query, text=spelt(query)) for query in queries]


def run_of(corpus: rs.Corpus, queries: Sequence[Query], name: str, cache: Path) -> rs.Run:
    """Answer questions with one setting."""
    is_folded = name == FOLDED
    spec = SETTINGS["3 to 5" if is_folded else name]
    system = build_system({"bm25": spec}, cache=None if is_folded else cache)
    if is_folded:
        assert isinstance(system, BM25)
        system.analyzer = Folded("none", (), ngrams=(3, 5))
    system.index(corpus)
    fetched = fetch(system, list(queries), depth=1000)
    assert not fetched.failures, fetched.failures
    return fetched.run


def rows(
    qrels: rs.Qrels, runs: dict[str, rs.Run], measures: Sequence[str], base: str
) -> dict[str, list[str]]:
    """Return the cells of each setting: means, and the difference to ``base`` by the first."""
    compared = rs.compare(qrels, runs, measures[0], baseline=base)
    differences = {
        pair.system: f"{pair.difference:+.3f} [{pair.interval.low:+.3f}, {pair.interval.high:+.3f}]"
        for pair in compared.pairs
    }
    cells = {}
    for name, run in runs.items():
        scores = rs.evaluate(qrels, run, measures)
        means = [mean_cell(list(scores.values(measure).values())) for measure in measures]
        cells[name] = [*means, differences.get(name, "")]
    return cells


class Phenotypes:
    """Terms of the ontology, and phrases to find them by: German, English and misspelt."""

    def __init__(self, file: Path, folder: Path) -> None:
        lines = file.read_text("utf-8").splitlines()
        self._terms = {term["id"]: term for term in map(json.loads, lines)}
        cases = [
            case
            for name in ("200cases_gemini_v1.json", "70cases_gemini_v1.json")
            for case in json.loads((folder / name).read_text("utf-8"))
            if all(term in self._terms for term in case["expected_hpo_ids"])
        ]
        gold = {str(at): case["expected_hpo_ids"] for at, case in enumerate(cases)}
        self.qrels = rs.Qrels({at: dict.fromkeys(terms, 1) for at, terms in gold.items()})
        self.german = [Query(str(at), case["text"]) for at, case in enumerate(cases)]
        self.english = [Query(str(at), case["description"]) for at, case in enumerate(cases)]

    def corpus(self, *, definitions: bool) -> rs.Corpus:
        """Return a document for each term."""
        return rs.Corpus(
            {name: {"text": _text(term, definitions)} for name, term in self._terms.items()}
        )


def _text(term: dict[str, Any], has_definition: bool) -> str:
    synonyms = [re.sub(r" \[[^\]]*\]$", "", name) for name in term["synonyms"]]
    definition = [term["definition"] or ""] if has_definition else []
    return "\n".join([term["label"], *synonyms, *definition])


def phenotype_table(phenotypes: Phenotypes, cache: Path) -> list[str]:
    """Return how phrases of each kind find their terms."""
    questions = {
        "German": phenotypes.german,
        "English": phenotypes.english,
        "English, misspelt": misspelt(phenotypes.english),
    }
    measures = ("RR", "Success@1", "Success@10")
    lines = [
        f"| searched | questions | terms | {' | '.join(measures)} | RR, difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for searched in ("names", "names and definition"):
        corpus = phenotypes.corpus(definitions=searched != "names")
        grams = [*SETTINGS][2:] if searched == "names" else ["3 to 5"]
        for asked, queries in questions.items():
            base = "words, german" if asked == "German" else WORDS
            names = dict.fromkeys([WORDS, base, *grams])
            runs = {name: run_of(corpus, queries, name, cache) for name in names}
            for name, cells in rows(phenotypes.qrels, runs, measures, base).items():
                lines.append(f"| {searched} | {asked} | {name} | {' | '.join(cells)} |")
    return lines


def accents_table(phenotypes: Phenotypes, cache: Path) -> list[str]:
    """Return what taking accents off does to German questions."""
    lines = ["| searched | accents | RR | RR, difference |", "|---|---|---|---|"]
    for searched in ("names", "names and definition"):
        corpus = phenotypes.corpus(definitions=searched != "names")
        runs = {
            accents: run_of(corpus, phenotypes.german, name, cache)
            for accents, name in {"kept": "3 to 5", "taken off": FOLDED}.items()
        }
        for accents, cells in rows(phenotypes.qrels, runs, ["RR"], "kept").items():
            lines.append(f"| {searched} | {accents} | {' | '.join(cells)} |")
    return lines


def english_table(folder: Path, cache: Path) -> list[str]:
    """Return what n-grams cost on English collections, and gain on misspelt questions."""
    lines = [
        "| collection | questions | terms | nDCG@10 | R@100 | nDCG@10, difference |",
        "|---|---|---|---|---|---|",
    ]
    for collection in (Collection(folder / name, cache) for name in ("scifact", "cranfield")):
        queries, qrels = collection.test
        for asked, texts in {"as given": queries, "misspelt": misspelt(queries)}.items():
            names = [name for name in SETTINGS if name != "words, german"]
            runs = {name: run_of(collection.corpus, texts, name, cache) for name in names}
            for name, cells in rows(qrels, runs, ("nDCG@10", "R@100"), WORDS).items():
                lines.append(f"| {collection.name} | {asked} | {name} | {' | '.join(cells)} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    known = os.environ.get("RANKSCOPE_COLLECTIONS")
    parser.add_argument("--collections", type=Path, default=known, required=known is None)
    parser.add_argument("--hpo", type=Path, required=True, help="the terms of the ontology")
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    options = parser.parse_args()
    folder = Path(options.collections)
    phenotypes = Phenotypes(options.hpo, folder / "hpo-german")
    with tempfile.TemporaryDirectory() as cache:
        tables = {
            "ngrams-phenotypes": phenotype_table(phenotypes, Path(cache)),
            "ngrams-accents": accents_table(phenotypes, Path(cache)),
            "ngrams-english": english_table(folder, Path(cache)),
        }
    for name, lines in tables.items():
        table = "\n".join(lines)
        print(table, flush=True)
        if options.write:
            write(name, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
