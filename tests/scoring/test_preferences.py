"""Preference measures and measures by judgment group; what NIST prints is in test_trec_eval."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from rankscope.errors import FormatError, InputError, RankscopeError
from rankscope.scoring.preferences import Groups, Kind, query_preferences, read_groups
from rankscope.scoring.trec_eval import Options, trec_eval_lines


def lines(folder: Path, judgments: str, results: str, kind: Kind, **options: Any) -> list[str]:
    (folder / "judgments").write_text(judgments)
    (folder / "results").write_text(results)
    asked = Options(relevance=kind, **options)
    return [
        " ".join(line.split())
        for line in trec_eval_lines(folder / "judgments", folder / "results", asked)
    ]


def test_subgroups_together_say_more_than_each() -> None:
    """a over b and b over c: a over c. Retrieved are b and a, so a over b is not fulfilled."""
    groups: Groups = {"g": {"s": {"a": 2.0, "b": 1.0}, "t": {"b": 3.0, "c": 1.0}}}
    found = query_preferences(groups, ["b", "x", "a"], "q")
    assert [found[f"prefs_num_prefs_{name}"] for name in ("poss", "ful", "ful_ret")] == [3, 2, 0]
    for measure in ("simp", "pair", "avgjg"):
        shares = [found[f"prefs_{measure}{suffix}"] for suffix in ("", "_ret", "_imp")]
        assert shares == [2 / 3, 0, 2 / 3], measure


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
