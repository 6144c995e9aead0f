"""Judging: a page on this machine where people grade documents, and the log of what they said.

A pool (`judging_pool`) of queries and documents is put in an order for each rater
(`judging_order`), shown by a server (`judging_server`) and graded. `judging_desk` says what a rater
sees and does; `judgment_log` keeps it, `judgment_exports` writes it as qrels or ratings, and
`judging_agreement` says how far raters agree.
"""
