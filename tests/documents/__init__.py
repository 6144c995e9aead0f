"""What each command prints, and each analysis says, for the bundled collection: one document each.

Wording and layout are tested here and nowhere else: a change of words is a change of a document,
which a reader sees whole. Numbers are tested in `frozen`.

    python -m tests.documents           show what differs now
    python -m tests.documents --write   write every document anew
"""
