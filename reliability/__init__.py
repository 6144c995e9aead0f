"""What rankscope withstands: fuzzing, failing disks, kills, changed code."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
if str(TESTS) not in sys.path:  # the naive twins, as pytest finds them
    sys.path.append(str(TESTS))
