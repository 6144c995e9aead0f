"""Load tests: a system is asked at a rate that does not depend on its answers."""
