"""Statistics: how sure is a mean, is a difference real, and could it have been seen at all.

Most modules take arrays and know nothing of qrels, runs or measures: functions take many rows at
once (a row for each run and measure, a column for each query), so that all rows share one set of
resamples. On top of them `compare`, `gate` and `power` take scores; all three go through `matrix`
(values side by side) and `pairwise` (differences, tests, corrections). What is random takes a seed
and gives the same bytes for it, in whatever order the queries come.

SciPy is imported when a function first needs it (`rankscope.statistics.arrays.special`).
"""
