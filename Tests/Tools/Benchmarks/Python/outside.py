"""outside [--until TEXT] COMMAND...: the processor time of a process, and the time from its exec to its exit.

COMMAND gets no input, and its output is discarded. Processes that it started and waited for count, too. With --until,
COMMAND writes to a terminal, so that its output is not buffered, and gets SIGTERM as soon as TEXT appears. This is for
bluetoothctl, which scans until its time is up:

    outside.py --until Marker bluetoothctl --timeout 30 scan on

bluetoothctl colors "[NEW] Device", so TEXT cannot be that. The result is incomplete when COMMAND fails or TEXT does not
appear.
"""

import os
import signal
import sys
import time


def start(command, output):
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, output, 1)]
    return os.posix_spawnp(command[0], command, os.environ, file_actions=actions)


def await_text(terminal, text):
    """Whether the text appears before the other side closes, which a terminal reports as an error."""
    seen = b""
    try:
        while text not in seen:
            seen += os.read(terminal, 4096)
    except OSError:
        return False
    return True


def main():
    command = sys.argv[1:]
    text = None
    if command[0] == "--until":
        text, command = os.fsencode(command[1]), command[2:]
    terminal, output = os.openpty() if text else (None, os.open(os.devnull, os.O_WRONLY))
    is_right = True
    wall = time.monotonic()
    process = start(command, output)
    os.close(output)
    if text:
        is_right = await_text(terminal, text)
        os.kill(process, signal.SIGTERM)
    _, status, usage = os.wait4(process, 0)
    wall = time.monotonic() - wall
    complete = is_right and status == 0
    cpu = usage.ru_utime + usage.ru_stime
    print(1, "complete" if complete else "incomplete", f"{cpu * 1e6:.2f} {wall * 1e6:.2f}", flush=True)
    return complete


sys.exit(not main())
