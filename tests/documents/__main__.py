"""Shows which documents differ now; ``--write`` writes them anew."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does: modules of tests by name

from documents.printing import TEXTS, differences, documents


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if "--write" in sys.argv:
            for path in TEXTS.glob("*.txt"):
                path.unlink()
            for name, text in documents():
                (TEXTS / f"{name}.txt").write_text(text)
            found = []
        else:
            found = list(differences())
        os.chdir("/")
    print("\n".join(found) or "every document is as it was written")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
