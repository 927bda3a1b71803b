"""served PROGRAM WHAT DEVICES: the processor time of the server `PROGRAM proxy-server`.

Its client, `PROGRAM proxy scope WHAT DEVICES`, prints the result: it reads the server's clock in place of its own.
"""

import os
import subprocess
import sys


def main():
    program, *words = sys.argv[1:]
    with subprocess.Popen([program, "proxy-server"], stdout=subprocess.PIPE, text=True) as server:
        try:
            environment = {**os.environ, "FAKE": server.stdout.readline().strip(), "MEASURED": str(server.pid)}
            return subprocess.run([program, "proxy", "scope", *words], env=environment).returncode
        finally:
            server.kill()


sys.exit(main())
