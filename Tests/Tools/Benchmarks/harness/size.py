"""size PATH: prints the size of a file in bytes, as a program's line without times. Status 64 if there is no file."""

import sys
from pathlib import Path

path = Path(sys.argv[1])
if not path.is_file():
    sys.exit(64)
print(1, "complete", 0, 0, path.stat().st_size)
