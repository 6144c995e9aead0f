"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("rankscope", deadline=None)  # timings never decide a test
settings.load_profile("rankscope")
