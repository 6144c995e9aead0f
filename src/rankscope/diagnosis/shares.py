"""Shares as tables show them."""

from __future__ import annotations


def share_of(count: float, total: float) -> str:
    """Write a share; what is not 0 is never written as 0%, nor what is not all as 100%.

    >>> share_of(1, 225), share_of(1, 4), share_of(1999, 2000), share_of(0, 0)
    ('0.4%', '25%', '99.9%', '0%')
    """
    share = count / total if total else 0.0
    if share in (0, 1) or 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    return f"{min(max(share, 0.001), 0.999):.1%}"
