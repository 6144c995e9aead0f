"""Statistics: how sure is a mean, is a difference real, and could it have been seen at all.

Arrays in, small frozen dataclasses out; nothing here knows qrels, runs or measures, and nothing
prints. Functions take many rows at once (a row for each run and measure, a column for each query),
so that all rows share one set of resamples. What is random takes a seed and gives the same bytes
for it, in whatever order the queries come.

SciPy is imported when a function first needs it (`rankscope.statistics.arrays.special`).
"""
