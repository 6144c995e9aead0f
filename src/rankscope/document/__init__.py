"""Documents: what every report is made of, and how it is drawn.

`blocks` says what there is to show, as data: cells carry values, intervals, markers and tones, not
text. The other modules draw a document, one for each form: terminal, Markdown, HTML, LaTeX, csv,
JUnit. They know nothing about what is shown and compute nothing.
"""
