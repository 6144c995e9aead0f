"""Shows which frozen numbers differ now; ``--write`` writes them down anew."""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does: modules of tests by name

from frozen.freezing import SUBJECTS, differences, made, write, written

SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("subjects", nargs="*", default=[], metavar="SUBJECT")
    parser.add_argument("--write", action="store_true", help="write the numbers down anew")
    asked = parser.parse_args()
    differing = 0
    for subject in asked.subjects or SUBJECTS:
        try:
            new = made(subject)
        except FileNotFoundError as error:
            print(f"{subject}: skipped: {error}")
            continue
        if asked.write:
            write(subject, new)
            print(f"{subject}: written")
            continue
        found = list(differences(written(subject), new))
        differing += bool(found)
        print(f"{subject}: {len(found)} differences")
        for difference in islice(found, SHOWN):
            print(f"  {difference}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
