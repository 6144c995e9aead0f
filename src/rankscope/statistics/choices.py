"""The names of tests, corrections and intervals, and what each is called in a sentence.

Nothing heavy is imported here: the command line offers these names before anything is computed.
"""

from __future__ import annotations

from typing import Literal

Test = Literal["t", "permutation", "bootstrap"]
Correction = Literal["holm", "bonferroni", "bh", "none"]
Method = Literal["auto", "bca", "t"]
Family = Literal["measure", "all"]

TESTS: dict[Test, str] = {
    "t": "Student's paired t test (sign test for values 0 and 1)",
    "permutation": "paired permutation test",
    "bootstrap": "paired bootstrap test",
}

CORRECTIONS: dict[Correction, str] = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "none": "not corrected",
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
