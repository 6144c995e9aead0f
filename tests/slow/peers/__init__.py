"""What other tools answer to small cases with known answers.

`cases` holds the cases, with the right answer and those that other tools give; `tools` asks a tool;
`page` writes docs/reference/peers.md.
"""
