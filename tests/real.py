"""Where real collections are; tests on them are skipped where there are none.

`RANKSCOPE_COLLECTIONS` names their folder; without it, one beside the checkout is looked at.
"""

from __future__ import annotations

import os
from pathlib import Path

COLLECTIONS = Path(
    os.environ.get("RANKSCOPE_COLLECTIONS") or Path(__file__).parents[2] / "shared" / "collections"
)
