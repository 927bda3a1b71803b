"""Counts the instructions of the hot paths with callgrind, and compares them with those in instructions.json.

A count does not depend on how busy the machine is, so it can be checked in a test. A count is the cost of one more
event: the difference between a long run and a short one, in which starting and stopping cancel out.
"""

import argparse
import json
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from measure import Bus, Places, Unavailable, say

# By name: the event, the program, the fake if there is one, the numbers of the short run and the long one, and how many
# events each of them is.
PATHS = {
    "notification": ("a notified value", "Benchmarks scope", "fake-bluez {count} 0", 2000, 12000, 1),
    "scan": (
        "a change of an advertising device", "Benchmarks scan scope 100", "fake-scan {count} 50000 100", 2000, 12000,
        1),
    "read": ("a read", "Benchmarks read scope {count} 1", "fake-bluez 0 0", 300, 1300, 1),
    "serve": (
        "a value that is notified as a peripheral", "Benchmarks serve handler {count} 0", "fake-central {count} 0",
        2000, 12000, 1),
    "request": (
        "a read that a handler answers", "Benchmarks serve reads {count} 0", "fake-central {count} 0 reads", 300, 1300,
        1),
    "backend": (
        "an advertisement of 100 peripherals, simulated, `Central(backend:)`", "Benchmarks choice 0 100 {count}", "",
        20, 120, 100),
    "radio": ("the same, `Central(radios:)` with one radio", "Benchmarks choice 1 100 {count}", "", 20, 120, 100),
    "radios": (
        "an advertisement of 10 peripherals that one of five radios receives", "Benchmarks choice 5 10 {count}", "",
        100, 600, 50),
    "crowd": ("the same of 1,000 peripherals", "Benchmarks choice 5 1000 {count}", "", 3, 8, 5000),
}
# How much a count may grow. It differs a little from run to run, because the grouping of events differs.
TOLERANCE = 1.1
LIMIT = 300


def instructions(places: Places, program: str, fake: str, count: int) -> int:
    """The instructions of one run."""
    commands = [places.resolve(shlex.split(text.format(count=count))) for text in (program, fake) if text]
    if None in commands:
        raise Unavailable(f"{program} or {fake} is missing")
    output = places.work / "callgrind.out"
    with open(places.log, "ab") as log, (Bus(places, commands[1], log) if fake else nullcontext({})) as environment:
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", *commands[0]],
            env={"PATH": "/usr/bin:/bin", **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
            timeout=LIMIT)
    if result.returncode != 0 or b"incomplete" in result.stdout:
        raise Unavailable(f"{program} failed: {result.stdout.decode().strip()} (see {places.log})")
    return int(re.search(r"^(?:totals|summary): (\d+)", output.read_text(), re.MULTILINE).group(1))


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("sources", "cache", "swift", "log"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    stored = options.sources / "instructions.json"
    # By architecture, because other processors have other instructions.
    known = json.loads(stored.read_text()) if stored.exists() else {}
    expected = known.setdefault(platform.machine(), {})
    grown = []
    with tempfile.TemporaryDirectory() as work:
        places = Places(options.sources, options.cache, options.swift, Path(work), options.log)
        for name in options.names or PATHS:
            _, program, fake, few, many, events = PATHS[name]
            counts = [instructions(places, program, fake, count) for count in (few, many)]
            cost = round((counts[1] - counts[0]) / (many - few) / events)
            limit = expected.get(name, 0) * TOLERANCE
            print(f"{name}: {cost} instructions an event, {expected.get(name, 'none')} before", flush=True)
            if options.write:
                expected[name] = cost
            elif name in expected and cost > limit:
                grown.append(name)
    if options.write:
        stored.write_text(json.dumps(known, indent=4) + "\n")
    for name in grown:
        say(f"{name} costs more than {TOLERANCE} times as much as before; if intended: Scripts/instructions --write")
    return 1 if grown else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Unavailable, subprocess.TimeoutExpired) as error:
        say(error)
        sys.exit(69)
