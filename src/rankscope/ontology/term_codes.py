"""The findings about ids of terms that a score by nearness can make."""

from __future__ import annotations

from rankscope.findings import declare

declare(
    "RS181",
    "expected-term-unknown",
    "warning",
    unit="expected id",
    advice="correct the ids, or give the release of the ontology that they are from",
    meaning="""Expected ids are not in the ontology, or are obsolete without one replacement:
    measures of nearness count them as near to nothing but themselves. `cases validate` lists
    them.""",
)

declare(
    "RS182",
    "expected-term-replaced",
    "warning",
    unit="expected id",
    advice="write the current ids",
    meaning="""Expected ids are obsolete and have a replacement, or are alternative ids of a term.
    Measures that count exact matches compare ids as they are written, so that a system with the
    current id misses; measures of nearness know that both are one term.""",
)

declare(
    "RS183",
    "retrieved-term-unknown",
    "warning",
    unit="retrieved id",
    advice="index the same release of the ontology, or map the ids",
    meaning="""Retrieved ids are not in the ontology: measures of nearness count them as near to
    nothing.""",
)

declare(
    "RS184",
    "undefined-parents",
    "warning",
    unit="id",
    advice="give the ontology with what it imports merged",
    meaning="""Terms of the ontology are said to be below ids that it does not define. These
    relations are left out, so that such terms may be roots, and less near to others than they
    are.""",
)
