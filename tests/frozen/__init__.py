"""Numbers that must not change: what the product computes for known inputs, written down.

Modules of `subjects` have functions `@subject` that ask the product and return nested dicts and
lists of numbers; `values` holds what each returned when it was checked, one JSON file a subject.
Tests compare the two to 1e-12. Where an oracle exists, the docstring names it and the test that
asks it.

    python -m tests.frozen                  show what differs now
    python -m tests.frozen --write SUBJECT  write a subject anew: a commit of its own that says why
"""
