"""Judging: a page on this machine where people grade documents, and the log of what they said.

A pool (`judging_pool`) of queries and documents comes in an order of its own for each rater, is
shown by a server (`judging_server`) and graded. `judging_desk` says what a rater sees and does;
`judgment_log` keeps it, and `judgment_exports` writes it as qrels or ratings. How far raters agree
is what `rankscope diagnose --ratings` says of these.
"""
