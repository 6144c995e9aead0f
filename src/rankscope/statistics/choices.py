"""The names of tests, corrections and intervals, and what each is called in a sentence.

Nothing heavy is imported here: the command line offers these names before anything is computed.
"""

from __future__ import annotations

from typing import Literal, get_args

Test = Literal["permutation", "bootstrap", "t", "wilcoxon", "sign"]
PairTest = Literal["max-t", "permutation", "bootstrap", "t", "wilcoxon", "sign"]
Correction = Literal["none", "bonferroni", "holm", "bh"]
Method = Literal["auto", "bca", "t"]
Family = Literal["measure", "all"]

PAIR_TESTS: dict[PairTest, str] = {
    "max-t": "step-down max-T permutation test",
    "permutation": "paired permutation test",
    "bootstrap": "paired bootstrap test",
    "t": "Student's paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
}
TESTS: tuple[Test, ...] = get_args(Test)
"""The tests of one pair by itself."""

CORRECTIONS: dict[Correction, str] = {
    "none": "not corrected",
    "bonferroni": "Bonferroni",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
}

METHODS: dict[Method, str] = {
    "auto": "Student t below 25 queries, BCa bootstrap from there on, Wilson for shares",
    "bca": "BCa bootstrap",
    "t": "Student t",
}

FAMILIES: dict[Family, str] = {
    "measure": "the pairs of each measure",
    "all": "all pairs of all measures",
}
