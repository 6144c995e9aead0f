"""The explorer: every query, system and document behind the numbers of a report, in its page."""
