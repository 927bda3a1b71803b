"""size PATH: how large a file is, as a program's line: it takes no time, and has so many bytes. 64 if there is none."""

import sys
from pathlib import Path

path = Path(sys.argv[1])
if not path.is_file():
    sys.exit(64)
print(1, "complete", 0, 0, path.stat().st_size)
