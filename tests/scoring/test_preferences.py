"""Preference measures and measures by judgment group; what NIST prints is in test_trec_eval."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankscope.errors import FormatError, InputError, RankscopeError
from rankscope.scoring.preferences import Groups, Kind, query_preferences, read_groups
from rankscope.scoring.trec_eval import Options, trec_eval_lines

# --- a naive twin --------------------------------------------------------------------------------


def closed(group: dict[str, dict[str, float]]) -> set[tuple[str, str]]:
    """All preferences of a group, better document first."""
    pairs = {(a, b) for part in group.values() for a, b in product(part, part) if part[a] > part[b]}
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs |= more
    return pairs


class Twin:
    """The definitions, one pair of documents after the other."""

    def __init__(self, groups: Groups, ranking: list[str]) -> None:
        judged = {doc for group in groups.values() for part in group.values() for doc in part}
        order = [doc for doc in ranking if doc in judged]
        self.cut = len(order)
        self.order = order + sorted(judged - set(order))
        self.groups = groups
        self.pairs = {name: closed(group) for name, group in groups.items()}

    def count(self, pairs: Any) -> list[int]:
        """Fulfilled and possible with both retrieved, with one; possible with none."""
        counts = [0] * 5
        for a, b in (tuple(map(self.order.index, pair)) for pair in pairs):
            above, below = a < self.cut, b < self.cut
            kind = 0 if above and below else 2 if above or below else 4
            counts[kind] += kind == 4 or (a < b if kind == 0 else above)
            counts[min(kind + 1, 4)] += kind != 4
        return counts

    def ratios(self, counts: list[int]) -> tuple[float, float, float]:
        """Over all preferences; those with both retrieved; with at least one."""
        full, fulfilled = counts[0] + counts[2], counts[1] + counts[3]
        return (
            ratio(full, fulfilled + counts[4]),
            ratio(counts[0], counts[1]),
            ratio(full, fulfilled),
        )

    def averaged(self) -> list[float]:
        """The three ratios of each group, averaged."""
        rows = [self.ratios(self.count(pairs)) for pairs in self.pairs.values()]
        return [sum(row[place] for row in rows) / len(rows) for place in range(3)]

    def by_pairs(self) -> list[float]:
        """The three means over pairs of documents of how many groups agree."""
        shares: list[list[float]] = [[], [], []]
        for i, j in product(range(len(self.order)), repeat=2):
            first, second = self.order[i], self.order[j]
            agree = sum((first, second) in pairs for pairs in self.pairs.values())
            differ = sum((second, first) in pairs for pairs in self.pairs.values())
            if i < j and agree + differ:
                share = agree / (agree + differ) if i < self.cut else 0.0
                shares[0].append(share)
                shares[1] += [share] * (j < self.cut)
                shares[2] += [share] * (i < self.cut)
        return [ratio(sum(values), len(values)) for values in shares]

    def balanced(self, *, only_retrieved: bool) -> float:
        """As many nonrelevant documents as relevant ones take part."""
        values = []
        for name, group in self.groups.items():
            levels = {doc: level for part in group.values() for doc, level in part.items()}
            chosen = self.order[: self.cut] if only_retrieved else self.order
            relevant = [doc for doc in self.order if levels.get(doc, 0) > 0]
            here = [doc for doc in chosen if doc in relevant]
            zeros = [doc for doc in self.order if levels.get(doc) == 0]
            others = [doc for doc in zeros if doc in chosen]
            extra = max(len(here) - len(others), 0)
            pairs = list(self.pairs[name])
            if len(here) < len(others):
                kept = zeros[: len(relevant if len(group) > 1 else here)]
                pairs = [(a, b) for a, b in pairs if not {a, b} & set(zeros).difference(kept)]
                if len(group) == 1:
                    pairs += product(zeros, kept)
            counts = self.count(pairs)
            full = counts[0] + (0 if only_retrieved else counts[2])
            possible = counts[1] + (0 if only_retrieved else counts[3] + counts[4])
            retrieved = sum(doc in relevant for doc in self.order[: self.cut])
            if not possible + len(relevant) * extra:
                return 0.0
            values.append((full + retrieved * extra) / (possible + len(relevant) * extra))
        return sum(values) / len(values)


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def twin_values(groups: Groups, ranking: list[str]) -> dict[str, float]:
    twin = Twin(groups, ranking)
    total = [sum(column) for column in zip(*map(twin.count, twin.pairs.values()), strict=True)]
    values = {
        "prefs_num_prefs_poss": float(total[1] + total[3] + total[4]),
        "prefs_num_prefs_ful": float(total[0] + total[2]),
        "prefs_num_prefs_ful_ret": float(total[0]),
        "prefs_avgjg_Rnonrel": twin.balanced(only_retrieved=False),
        "prefs_avgjg_Rnonrel_ret": twin.balanced(only_retrieved=True),
    }
    for place, suffix in enumerate(("", "_ret", "_imp")):
        values[f"prefs_simp{suffix}"] = twin.ratios(total)[place]
        values[f"prefs_avgjg{suffix}"] = twin.averaged()[place]
        values[f"prefs_pair{suffix}"] = twin.by_pairs()[place]
    return values


DOCUMENTS = [f"d{number}" for number in range(7)]
LEVELS = st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from([0.0, 0.0, 1.0, 2.0, 2.5]))
SUBGROUPS = st.lists(LEVELS.filter(bool), min_size=1, max_size=3).map(
    lambda parts: {f"s{number}": part for number, part in enumerate(parts)}
)
GROUPS = st.dictionaries(st.sampled_from("abc"), SUBGROUPS, min_size=1)


@settings(max_examples=60, deadline=None)
@given(GROUPS, st.permutations([*DOCUMENTS, "x"]), st.integers(0, 8))
def test_values_are_those_of_the_naive_twin(groups: Groups, docs: list[str], depth: int) -> None:
    try:
        found = query_preferences(groups, docs[:depth], "q")
    except InputError:
        assume(False)
    assert found == pytest.approx(twin_values(groups, docs[:depth]), abs=1e-12)


# --- by hand -------------------------------------------------------------------------------------


def lines(folder: Path, judgments: str, results: str, kind: Kind, **options: Any) -> list[str]:
    (folder / "judgments").write_text(judgments)
    (folder / "results").write_text(results)
    asked = Options(relevance=kind, **options)
    return [
        " ".join(line.split())
        for line in trec_eval_lines(folder / "judgments", folder / "results", asked)
    ]


PREFS = "q g s a 2\nq g s b 1\nq g s c 0\n"


def test_only_judged_documents_for_each_group(tmp_path: Path) -> None:
    results = "q Q0 a 0 3 r\nq Q0 b 0 2 r\nq Q0 c 0 1 r\n"
    asked: dict[str, Any] = {"measures": ("map_avgjg",), "judged_only": True}
    judgments = "q g c 1\nq g b 0\nq h a 0\nq h b 1\n"
    assert lines(tmp_path, judgments, results, "qrels_jg", **asked) == ["map_avgjg all 0.5000"]


@pytest.mark.parametrize(
    ("version", "complete", "expected"),
    [
        (9, False, ["num_q all 1", "prefs_num_prefs_poss all 3", "prefs_simp all 1.0000"]),
        (9, True, ["num_q all 2", "prefs_num_prefs_poss all 3", "prefs_simp all 0.5000"]),
        (10, True, ["num_q all 2", "prefs_num_prefs_poss all 4", "prefs_simp all 0.5000"]),
    ],
)
def test_missing_queries(
    tmp_path: Path, version: Literal[9, 10], complete: bool, expected: list[str]
) -> None:
    judgments = PREFS + "z g s a 1\nz g s b 0\n"
    asked = ("prefs_simp", "num_q", "prefs_num_prefs_poss")
    results = "q Q0 a 0 3 r\nq Q0 b 0 2 r\nq Q0 c 0 1 r\n"
    done = lines(
        tmp_path, judgments, results, "prefs", measures=asked, version=version, complete=complete
    )
    assert done == expected


def test_version_10_stops_at_a_missing_query(tmp_path: Path) -> None:
    judgments = PREFS + "z g s a 1\nz g s b 0\n"
    (tmp_path / "judgments").write_text(judgments)
    (tmp_path / "results").write_text("q Q0 a 0 3 r\n")
    asked = Options(measures=("prefs_simp",), per_query=True, relevance="prefs")
    printed = trec_eval_lines(tmp_path / "judgments", tmp_path / "results", asked)
    assert next(printed).split() == ["prefs_simp", "q", "0.6667"]
    with pytest.raises(InputError, match="'z'"):
        next(printed)


def test_a_broken_file_is_named_with_its_line(tmp_path: Path) -> None:
    refused: list[tuple[Kind, str, str]] = [
        ("prefs", "q g s a 1\nq g a 1\n", "judgments:2: expected 5 columns"),
        ("qrels_jg", "q g a 1 x\n", "judgments:1: expected 4 columns"),
        ("prefs", "# why\n\nq g s a high\n", "judgments:3.*'high'"),
        ("qrels_jg", "q g a nan\n", "judgments:1.*'nan'"),
        ("prefs", "q g s a 1\nq g s a 1\n", "judgments:2.*'a' appears twice"),
        ("qrels_prefs", "q g a 1\nq g a 0\n", "judgments:2.*'a' appears twice"),
        ("prefs", "# nothing\n", "judgments: expected lines"),
        ("prefs", "q g s \xff 1\n", "judgments:1.*UTF-8"),
    ]
    for kind, text, words in refused:
        (tmp_path / "judgments").write_bytes(text.encode("latin-1"))
        with pytest.raises(FormatError, match=words):
            read_groups(tmp_path / "judgments", kind)


def test_what_cannot_be_asked(tmp_path: Path) -> None:
    contradictory = [
        ("q g s a 2\nq g s b 1\nq g t b 2\nq g t a 1\n", "contradict"),
        ("q g s a 2\nq g s b 1\nq g t b 2\nq g t c 1\nq g u c 2\nq g u a 1\n", "contradict"),
        ("q g s a 2\nq g s b 0\nq g t b 2\nq g t c 1\n", "level 0"),
        (PREFS.replace("q", "z"), "none of the judged queries"),
    ]
    for text, word in contradictory:
        with pytest.raises(InputError, match=word):
            lines(tmp_path, text, "q Q0 a 0 1 r\n", "prefs", measures=("prefs_simp",))
    asked: list[tuple[Kind, dict[str, Any], str]] = [
        ("prefs", {"measures": ("map",)}, "map"),
        ("prefs", {"measures": ("map_avgjg",)}, "qrels_jg"),
        ("qrels_jg", {"measures": ("prefs",)}, "qrels_prefs"),
    ]
    for kind, options, word in asked:
        with pytest.raises(RankscopeError, match=word):
            lines(tmp_path, PREFS, "q Q0 a 0 1 r\n", kind, **options)
