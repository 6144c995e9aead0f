"""The findings of a load test: what its numbers are about, and what they leave out."""

from __future__ import annotations

from rankscope.findings import declare

FAILED = declare(
    "RS731",
    "load-failures",
    "error",
    unit="query",
    advice="read the sentences; a rate that the system can bear has no failures",
    meaning="Queries of a load test failed; they are in no percentile.",
)
UNFINISHED = declare(
    "RS732",
    "load-unfinished",
    "error",
    unit="query",
    advice="lower the rate, or give more time with --grace",
    meaning="""Queries of a load test had no answer when it ended. They count with the time they had
    waited by then, so high percentiles are at least what is shown.""",
)
OVERLOADED = declare(
    "RS733",
    "rate-not-reached",
    "warning",
    unit="query",
    advice="lower the rate to one that the system keeps up with",
    meaning="""A system answered fewer queries in a second than arrived. Those waiting became more
    and more, so response times depend on how long the test ran.""",
)
BEHIND = declare(
    "RS734",
    "generator-behind",
    "warning",
    unit="query",
    advice="lower the rate, stop what else this machine does, or send from a machine of its own",
    meaning="""Queries were sent later than planned though nothing held them up: this machine was
    too slow, and the numbers are about it as well as about the system.""",
)
HELD_UP = declare(
    "RS735",
    "in-flight-limit",
    "warning",
    unit="query",
    advice="their waiting counts in response times; raise --most-in-flight if your clients would "
    "not wait",
    meaning="""Queries waited to be sent, as the most that may be in flight were. This waiting is
    part of response times, and not of service times.""",
)
ONE_AT_A_TIME = declare(
    "RS736",
    "one-at-a-time",
    "note",
    unit="query",
    advice="nothing has to be done; a system behind a server may answer several at a time",
    meaning="""The system can be asked one query at a time only, so queries waited for each other.
    Their waiting is part of response times.""",
)
OWN_LIMIT = declare(
    "RS737",
    "own-request-limit",
    "warning",
    unit="query",
    advice="raise jobs to measure the model, or leave it if you will run it with this limit",
    meaning="""A system lets fewer requests to a language model be under way than queries were in
    flight (option ``jobs``). Queries wait for each other inside the system, and this waiting is
    part of service times.""",
)
