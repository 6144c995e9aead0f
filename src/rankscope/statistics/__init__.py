"""Statistics: how sure is a mean, is a difference real, and could it have been seen at all.

What users call: `comparison` (compare), `gate`, `power`. Below them, from the outside in:

- `pairing`: a baseline and a candidate, found comparable; `system_pairs`, `letters`, `sentences`,
  `decision`: what a comparison says.
- `matrix`: values of systems side by side; `clusters` and `noise`: what else is drawn by chance.
- `paired_differences`, `tests`: differences of pairs, tested and corrected; `intervals`: of means.
- `groups`: groups of queries under one system; `classification`, `rater_agreement`,
  `random_ranking`: for the analyses.
- `settings`, `choices`: how systems are compared; `arrays`: what all of these are made of.

Functions take many rows at once (a row for each run and measure, a column for each query), so that
all rows share one set of resamples. What is random takes a seed and gives the same bytes for it, in
whatever order the queries come. SciPy is imported when a function first needs it
(`rankscope.statistics.arrays.special`).
"""
