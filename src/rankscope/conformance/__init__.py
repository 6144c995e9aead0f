"""A conformance suite for tools that score rankings: small inputs and questions, known answers.

`cases` reads the cases (``cases.jsonl``, plain data that any tool can use), `tools` puts them to
the tools that are installed, `suite` compares the answers. A definition is not a fault: several
answers to a question can be right, and each says which definition it implies.
"""
