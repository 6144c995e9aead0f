"""Benchmarks: from one config to runs, scores, comparisons and reports.

`run` goes through the steps, each in a module of its own: `config` is read, `collection` finds what
is searched, asked and judged, `prepare` puts them together with the `systems`, `fetching` asks
these, `check` looks at each run, `score` scores and compares, `diagnose` looks into the results,
`outcome` makes the records with the verdict, and `write` puts all of it into a `folder`.

Beside them: `verify` scores a folder's runs again, `changes` compares two folders, `listing` lists
them, `by_language` runs one benchmark per language, `targets` says what should be reached,
`case_validation` checks golden sets, `project` starts a project.
"""
